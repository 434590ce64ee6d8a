#include "mirror/writer.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "policy/backoff.h"
#include "store/status.h"

#include <poll.h>
#include <stdlib.h>

#define PLAN_EVERY_MS 1000
#define CLOCK_EVERY_MS 10000
#define STATUS_EVERY_MS 5000
#define LOW_WATER 16
#define STOP_DB_GRACE_MS 3000 /* a database that is down does not delay a stop for longer */

struct writer {
    struct writer_options o;
    struct rng rng;
    /* A batch could not be written: later ones must not move their cursors over it. V_OK: none. */
    enum verdict broken;
    struct err why;
    int64_t next_plan, next_clock, next_status;
    _Atomic int64_t covered, down_since;
};

struct writer *writer_new(const struct writer_options *o) {
    struct writer *w = xcalloc(1, sizeof *w);
    w->o = *o;
    w->rng = rng_fresh();
    return w;
}

void writer_free(struct writer *w) {
    free(w);
}

int64_t writer_covered(const struct writer *w) {
    return atomic_load(&w->covered);
}

int64_t writer_db_down_ms(const struct writer *w) {
    int64_t since = atomic_load(&w->down_since);
    return since ? clock_mono(w->o.clock) - since : 0;
}

static enum verdict sample_clock(struct writer *w, struct err *e) {
    int64_t before = clock_mono(w->o.clock), now_db;
    enum verdict v = store_now(w->o.store, &now_db, e);
    if (v != V_OK)
        return v;
    int64_t after = clock_mono(w->o.clock);
    atomic_store(w->o.db_offset_ms, now_db - (before + after) / 2);
    w->next_clock = after + CLOCK_EVERY_MS;
    return V_OK;
}

static enum verdict plan_now(struct writer *w, struct err *e) {
    struct plan_report report;
    enum verdict v = store_reclaim(w->o.store, e);
    if (v == V_OK)
        v = plan_step(w->o.store, &w->o.plan, LOW_WATER, &report, e);
    if (v != V_OK)
        return v;
    atomic_store(&w->covered, report.covered);
    metric_set(&m_frontier, 0, report.frontier.id);
    metric_set(&m_frontier_waiting, 0, report.frontier.excluding_waiting);
    metric_set(&m_frontier_lag, 0, w->o.maxitem - report.frontier.excluding_waiting);
    int64_t total = w->o.plan.window.hi - w->o.plan.window.lo + 1;
    metric_set(&m_progress, 0, report.covered * 10000 / total);
    w->next_plan = clock_mono(w->o.clock) + PLAN_EVERY_MS;
    return V_OK;
}

static enum verdict read_status(struct writer *w, struct err *e) {
    int64_t waiting, dead;
    enum verdict v =
        store_unresolved(w->o.store, w->o.plan.window.lo, w->o.plan.window.hi, &waiting, &dead, e);
    if (v == V_OK)
        metric_set(&m_dead_letters, 0, dead);
    w->next_status = clock_mono(w->o.clock) + STATUS_EVERY_MS;
    return v;
}

static enum verdict claim(struct writer *w, struct job *j) {
    char holder[200];
    process_identity(holder, sizeof holder);
    const struct range *win = &w->o.plan.window;
    enum verdict v =
        store_claim(w->o.store, holder, win->lo, win->hi, &j->arena, &j->claim, &j->err);
    if (v != V_NOT_FOUND)
        return v;
    v = plan_now(w, &j->err); /* perhaps there is more to plan, or someone's lease ran out */
    if (v == V_OK)
        v = store_claim(w->o.store, holder, win->lo, win->hi, &j->arena, &j->claim, &j->err);
    if (v != V_NOT_FOUND)
        return v;
    v = store_window_work(w->o.store, win->lo, win->hi, &j->work, &j->err);
    return v == V_OK ? V_NOT_FOUND : v;
}

static enum verdict apply(struct writer *w, struct job *j) {
    if (w->broken != V_OK) {
        j->err = w->why;
        return w->broken;
    }
    int64_t before = clock_mono(w->o.clock);
    enum verdict v = store_apply(w->o.store, j->batch, &j->stats, &j->err);
    metric_observe(&m_db_seconds, clock_mono(w->o.clock) - before);
    metric_observe(&m_db_batch_items, (int64_t)j->batch->n_items);
    return v;
}

static enum verdict do_job(struct writer *w, struct job *j) {
    switch (j->kind) {
    case JOB_BATCH:
        return apply(w, j);
    case JOB_CLAIM:
        return claim(w, j);
    case JOB_TURNS:
        break;
    }
    return store_reserve_turns(w->o.store, w->o.provider, w->o.rps, j->n_turns, &j->turns_wait_us,
                               &j->err);
}

static bool gave_up(const struct writer *w) {
    int64_t down = writer_db_down_ms(w);
    return down > w->o.max_outage_ms || (stop_raised(w->o.stop) && down > STOP_DB_GRACE_MS);
}

static void pause_for(const struct writer *w, int64_t ms) {
    struct pollfd stop = {.fd = w->o.stop->fd, .events = POLLIN};
    poll(&stop, stop_raised(w->o.stop) ? 0 : 1, (int)ms); /* a stop ends the pause */
}

/* Passing trouble: wait, get the connection back. V_OK: it is worth another try. */
static enum verdict get_over_it(struct writer *w, int tries, struct err *e) {
    static const struct backoff pace = {.initial_ms = 50, .max_ms = 2000, .jitter_ms = 50};
    metric_add(&m_db_retries, 0, 1);
    if (!atomic_load(&w->down_since))
        atomic_store(&w->down_since, clock_mono(w->o.clock));
    if (tries == 3)
        log_warn("the database does not answer; trying on", LE(e));
    if (gave_up(w) && stop_raised(w->o.stop))
        return err_wrap(e, V_STOPPED, "stopped while the database was away");
    if (gave_up(w))
        return err_wrap(e, V_FATAL, "the database was away for too long");
    struct err why;
    if (store_recover(w->o.store, &why) == V_OK && tries == 1)
        return V_OK; /* a conflict or a short hiccup: again at once */
    pause_for(w, backoff_wait_ms(&pace, tries, &w->rng));
    enum verdict v = store_recover(w->o.store, &why);
    if (v != V_OK)
        *e = why;
    return v == V_RETRY ? V_OK : v;
}

static void recovered(struct writer *w, int tries) {
    atomic_store(&w->down_since, 0);
    if (tries >= 3)
        log_info("the database answers again", LI("tries", tries));
}

static void answer(struct writer *w, struct job *j) {
    int tries = 0;
    for (;;) {
        j->verdict = do_job(w, j);
        if (j->verdict != V_RETRY)
            break;
        enum verdict v = get_over_it(w, ++tries, &j->err);
        if (v != V_OK) {
            j->verdict = v;
            break;
        }
    }
    bool answered = j->verdict == V_OK || j->verdict == V_NOT_FOUND || j->verdict == V_CONFLICT;
    if (answered && tries)
        recovered(w, tries);
    if (j->kind == JOB_BATCH && j->verdict != V_OK && j->verdict != V_CONFLICT &&
        w->broken == V_OK) {
        w->broken = j->verdict;
        w->why = j->err;
        if (j->verdict == V_FATAL)
            store_note_failure(w->o.store, j->batch, &j->err);
    }
    queue_push(w->o.out, j);
    w->o.wake(w->o.wake_arg);
}

enum verdict writer_prepare(struct writer *w, struct err *e) {
    for (int tries = 0;;) {
        enum verdict v = sample_clock(w, e);
        if (v == V_OK)
            v = plan_now(w, e);
        if (v == V_OK && tries)
            recovered(w, tries);
        if (v == V_RETRY)
            v = get_over_it(w, ++tries, e); /* a peer that starts too may be in the way */
        else
            return v;
        if (v != V_OK)
            return v;
    }
}

/* What is due by the clock. Trouble here is met again, and handled, by the next job. */
static void do_periodic(struct writer *w) {
    struct err e;
    enum verdict v = V_OK;
    int64_t now = clock_mono(w->o.clock);
    if (now >= w->next_clock)
        v = sample_clock(w, &e);
    if (v == V_OK && now >= w->next_plan)
        v = plan_now(w, &e);
    if (v == V_OK && now >= w->next_status)
        v = read_status(w, &e);
    if (v == V_OK)
        return;
    log_debug("housekeeping failed", LE(&e));
    w->next_plan = now + PLAN_EVERY_MS;
    if (store_recover(w->o.store, &e) != V_OK) {
        /* the next job will wait for the database */
    }
}

bool writer_step(struct writer *w, int wait_ms) {
    struct job *j = queue_pop(w->o.in, wait_ms);
    if (j)
        answer(w, j);
    do_periodic(w);
    return j != NULL || !queue_is_closed(w->o.in);
}
