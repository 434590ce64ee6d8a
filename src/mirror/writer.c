#include "mirror/writer.h"

#include "base/log.h"
#include "mirror/group.h"
#include "mirror/indexer.h"
#include "mirror/logkeeper.h"
#include "mirror/metrics.h"
#include "mirror/outcome.h"
#include "mirror/patience.h"
#include "mirror/recent.h"
#include "mirror/tell.h"
#include "store/live.h"
#include "store/status.h"

#include <stdlib.h>
#include <string.h>

#define PLAN_EVERY_MS 1000
#define CLOCK_EVERY_MS 10000
#define STATUS_EVERY_MS 5000
#define LOW_WATER 16

struct writer {
    struct writer_options o;
    struct patience patience;
    /* A batch could not be written: later ones must not move their cursors over it. V_OK: none. */
    enum verdict broken;
    struct err why;
    struct group group;
    struct recent recent;
    struct indexer indexer;
    struct logkeeper log;
    bool indexing;         /* nothing else waited, and there is more to index */
    struct job *set_aside; /* came after a group and is no part of it */
    int64_t next_plan, next_clock, next_status;
    _Atomic int64_t covered, busy_since; /* since when a job keeps the database, 0 = none does */
};

struct writer *writer_new(const struct writer_options *o) {
    struct writer *w = xcalloc(1, sizeof *w);
    w->o = *o;
    w->patience = (struct patience){.store = o->store,
                                    .clock = o->clock,
                                    .stop = o->stop,
                                    .max_outage_ms = o->max_outage_ms,
                                    .rng = rng_fresh()};
    indexer_init(&w->indexer, o->clock, o->store, o->index_share);
    logkeeper_init(&w->log, o->clock, o->store, o->feed_keep_ms, o->feed_keep_rows);
    w->recent = (struct recent){.days = o->recent_days, .floor = o->plan.window.lo};
    group_init(&w->group);
    return w;
}

void writer_free(struct writer *w) {
    if (!w)
        return;
    group_release(&w->group);
    free(w);
}

int64_t writer_covered(const struct writer *w) {
    return atomic_load(&w->covered);
}

int64_t writer_db_down_ms(const struct writer *w) {
    int64_t since = atomic_load(&w->busy_since), down = patience_down_ms(&w->patience);
    int64_t busy = since ? clock_mono(w->o.clock) - since : 0;
    return busy > down ? busy : down;
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

static void follow(struct writer *w) {
    int64_t maxitem = atomic_load(w->o.maxitem);
    if (w->o.follow && maxitem > w->o.plan.window.hi)
        w->o.plan.window.hi = maxitem;
}

/* A replay goes over ids that are covered already. */
static int64_t outcomes(void) {
    int64_t n = 0;
    for (int i = 0; i < ITEMS_N_OUTCOMES; i++)
        n += metric_get(&m_items, i);
    return n;
}

/* While nobody has heard of a maxitem there is no telling what is lacking. */
static void measure(const struct writer *w, const struct plan_report *r) {
    int64_t maxitem = atomic_load(w->o.maxitem), lag = maxitem - r->frontier.excluding_waiting;
    int64_t total = w->o.plan.window.hi - w->o.plan.window.lo + 1;
    int64_t through = w->o.plan.replay ? outcomes() : r->covered;
    int64_t share = total <= 0 || through >= total ? 10000 : through * 10000 / total;
    bool known = w->o.plan.window.hi > 0; /* it may have come after the plan was made */
    metric_set(&m_frontier_lag, 0, !known ? METRIC_NONE : lag > 0 ? lag : 0);
    metric_set(&m_progress, 0, known ? share : METRIC_NONE);
}

static enum verdict plan_now(struct writer *w, struct err *e) {
    struct plan_report report;
    follow(w);
    enum verdict v = store_reclaim(w->o.store, e);
    if (v == V_OK)
        v = plan_step(w->o.store, &w->o.plan, LOW_WATER, &report, e);
    if (v != V_OK)
        return v;
    atomic_store(&w->covered, report.covered);
    metric_set(&m_frontier, 0, report.frontier.id);
    metric_set(&m_frontier_waiting, 0, report.frontier.excluding_waiting);
    measure(w, &report);
    int64_t now = clock_mono(w->o.clock);
    w->next_plan = now + PLAN_EVERY_MS;
    if (!w->o.follow)
        return V_OK;
    return recent_look(&w->recent, w->o.store, report.recent_from,
                       now + atomic_load(w->o.db_offset_ms), e);
}

static enum verdict read_status(struct writer *w, struct err *e) {
    int64_t waiting, dead;
    struct archive_counts counts;
    int64_t now = clock_mono(w->o.clock);
    w->next_status = now + STATUS_EVERY_MS;
    enum verdict v =
        store_unresolved(w->o.store, w->o.plan.window.lo, w->o.plan.window.hi, &waiting, &dead, e);
    if (v == V_OK)
        v = store_counts(w->o.store, &counts, e);
    if (v != V_OK)
        return v;
    metric_set(&m_dead_letters, 0, dead);
    metric_set(&m_all_dead_letters, 0, counts.dead_letters);
    for (int i = 0; i < SEG_N; i++)
        metric_set(&m_segments, i, counts.segments[i]);
    return indexer_measure(&w->indexer, now + atomic_load(w->o.db_offset_ms), e);
}

static enum verdict claim(struct writer *w, struct job *j) {
    char holder[200];
    process_identity(holder, sizeof holder);
    static const enum purpose last[LANE_N] = {
        [LANE_GAP] = PURPOSE_GAP, [LANE_CATCHUP] = PURPOSE_MIRROR, [LANE_RESCAN] = PURPOSE_RESCAN};
    const struct range *win = &w->o.plan.window;
    const struct claim_ask ask = {win->lo, win->hi, last[j->last_lane], w->o.plan.newest_first};
    enum verdict v = store_claim(w->o.store, holder, &ask, &j->arena, &j->claim, &j->err);
    if (v != V_NOT_FOUND || w->o.follow) /* an endless run is planned for by the clock */
        return v;
    v = plan_now(w, &j->err); /* perhaps there is more to plan, or someone's lease ran out */
    if (v == V_OK)
        v = store_claim(w->o.store, holder, &ask, &j->arena, &j->claim, &j->err);
    if (v != V_NOT_FOUND)
        return v;
    v = store_window_work(w->o.store, win->lo, win->hi, &j->work, &j->err);
    return v == V_OK ? V_NOT_FOUND : v;
}

/* A batch of the live stream has no segment. What an updater looks at again is not what it catches
 * up with. */
static enum item_source source_of(const struct writer *w, const struct batch *b) {
    if (!b->segment_id)
        return SOURCE_REALTIME;
    bool again = b->purpose == PURPOSE_REPLAY || b->purpose == PURPOSE_RESCAN;
    return w->o.follow && again ? SOURCE_RESCAN : SOURCE_CATCHUP;
}

static enum verdict apply_once(struct writer *w, struct batch *b, struct apply_stats *ret,
                               struct err *e) {
    int64_t before = clock_mono(w->o.clock);
    enum verdict v = b->segment_id ? store_apply(w->o.store, b, ret, e)
                                   : store_apply_live(w->o.store, b, ret, e);
    indexer_wake(&w->indexer);
    if (v != V_OK)
        return v;
    logkeeper_wrote(&w->log, !b->segment_id || b->purpose != PURPOSE_MIRROR);
    count_written(source_of(w, b), ret, b->n_items, clock_mono(w->o.clock) - before);
    if (w->o.wrote)
        w->o.wrote(w->o.wrote_arg);
    return v;
}

static void add_stats(struct apply_stats *sum, const struct apply_stats *s) {
    sum->inserted += s->inserted;
    sum->changed += s->changed;
    sum->unchanged += s->unchanged;
    sum->stale += s->stale;
    sum->revisions += s->revisions;
    sum->kids += s->kids;
}

/* The database refuses a value in this batch. Each item goes by itself; those that are refused
 * again become dead letters, and the rest of the batch follows. One bad id never stops a run. */
static enum verdict apply_one_by_one(struct writer *w, struct job *j) {
    struct batch *b = j->batch, one = *b; /* derived already: its arena is not written to */
    struct apply_stats sum = {0}, each;
    one.n_exceptions = 0;
    one.release = false;
    one.cursor = 0; /* the cursor never goes back: this leaves it where it is */
    memset(one.ages, 0, sizeof one.ages);
    enum verdict v = V_OK;
    size_t n = b->n_items, had = b->n_exceptions;
    for (size_t i = 0; i < n && v == V_OK; i++) {
        one.items = &b->items[i];
        one.n_items = 1;
        v = apply_once(w, &one, &each, &j->err);
        add_stats(&sum, &each);
        if (v != V_INVALID && v != V_LIMIT)
            continue;
        struct batch_exception *x = batch_add_exception(b);
        x->id = b->items[i].item.id;
        x->state = EXC_DEAD_LETTER;
        x->attempts = 1;
        x->cls = fail_class_name(FAIL_UNSTORABLE);
        x->error = arena_str(&b->arena, str_of(j->err.msg));
        v = V_OK;
    }
    b->n_items = 0;
    if (v == V_OK)
        v = apply_once(w, b, &each, &j->err);
    b->n_items = n;
    if (v != V_OK) { /* the batch is whole again, to be tried once more */
        b->n_exceptions = had;
        return v;
    }
    add_stats(&each, &sum);
    j->stats = each;
    return v;
}

static enum verdict apply(struct writer *w, struct job *j) {
    if (w->broken != V_OK && j->batch->segment_id) {
        j->err = w->why;
        return w->broken;
    }
    enum verdict v = apply_once(w, j->batch, &j->stats, &j->err);
    if (v == V_INVALID || v == V_LIMIT)
        v = apply_one_by_one(w, j);
    return v;
}

static enum verdict do_job(struct writer *w, struct job *j) {
    switch (j->kind) {
    case JOB_BATCH:
        return apply(w, j);
    case JOB_CLAIM:
        return claim(w, j);
    case JOB_TURNS:
        return store_reserve_turns(w->o.store, w->o.provider, w->o.rps, j->n_turns,
                                   &j->turns_wait_us, &j->err);
    case JOB_RUN:
        break;
    }
    logkeeper_wrote(&w->log, true);
    return j->run(w->o.store, j->arg, &j->err);
}

static void settle(struct writer *w, struct job *j) {
    atomic_store(&w->busy_since, clock_mono(w->o.clock));
    for (;;) {
        j->verdict = do_job(w, j);
        if (j->verdict != V_RETRY)
            break;
        enum verdict v = patience_bear(&w->patience, &j->err);
        if (v != V_OK) {
            j->verdict = v;
            break;
        }
    }
    bool answered = j->verdict == V_OK || j->verdict == V_NOT_FOUND || j->verdict == V_CONFLICT;
    if (answered)
        patience_well(&w->patience);
    if (j->kind == JOB_BATCH && j->batch->segment_id && j->verdict != V_OK &&
        j->verdict != V_CONFLICT && w->broken == V_OK) {
        w->broken = j->verdict;
        w->why = j->err;
        if (j->verdict == V_FATAL)
            store_note_failure(w->o.store, j->batch, &j->err);
    }
    atomic_store(&w->busy_since, 0);
    if (j->kind == JOB_BATCH)
        tell_written(j);
}

static void answer(struct writer *w, struct job *j) {
    settle(w, j);
    mailbox_put(j->reply, j);
}

/* Together with all others of its kind that wait right behind it. */
static void answer_live(struct writer *w, struct job *first) {
    group_begin(&w->group);
    for (struct job *j = first; j; j = queue_pop(w->o.in, 0)) {
        if (!group_takes(&w->group, j)) {
            w->set_aside = j;
            break;
        }
        group_add(&w->group, j);
    }
    if (w->group.n == 1) {
        answer(w, first);
        return;
    }
    struct job whole = {.kind = JOB_BATCH, .batch = w->group.whole};
    settle(w, &whole);
    group_answer(&w->group, &whole);
}

static enum verdict prepare(struct writer *w, struct err *e) {
    for (;;) {
        enum verdict v = sample_clock(w, e);
        if (v == V_OK)
            v = plan_now(w, e);
        if (v == V_OK)
            patience_well(&w->patience);
        if (v == V_RETRY)
            v = patience_bear(&w->patience, e); /* a peer that starts too may be in the way */
        else
            return v;
        if (v != V_OK)
            return v;
    }
}

/* On the caller's thread; afterwards the patience is the write thread's. */
enum verdict writer_prepare(struct writer *w, struct err *e) {
    w->patience.waiting = w->o.waiting;
    w->patience.waiting_arg = w->o.waiting_arg;
    enum verdict v = prepare(w, e);
    w->patience.waiting = NULL;
    return v;
}

/* An empty archive has just heard of the first maxitem: there is something to plan for. */
static bool heard_first(const struct writer *w) {
    const struct range *win = &w->o.plan.window;
    return w->o.follow && win->hi < win->lo && atomic_load(w->o.maxitem) >= win->lo;
}

/* What is due by the clock. Trouble here is met again, and handled, by the next job. */
static void do_periodic(struct writer *w) {
    struct err e;
    enum verdict v = V_OK;
    int64_t now = clock_mono(w->o.clock);
    if (now >= w->next_clock)
        v = sample_clock(w, &e);
    if (v == V_OK && (now >= w->next_plan || heard_first(w)))
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

/* A stop waits for nobody, but what is stored by then is to be heard of. */
static void tend_log(struct writer *w, bool last) {
    if (w->broken != V_OK)
        return;
    atomic_store(&w->busy_since, clock_mono(w->o.clock));
    if (last)
        logkeeper_finish(&w->log);
    else
        logkeeper_turn(&w->log);
    atomic_store(&w->busy_since, 0);
}

/* The last of a step. What was broken is not for the indexer to look at, and a stop waits for
 * nobody. */
static void index_some(struct writer *w, bool idle) {
    w->indexing = false;
    if (stop_raised(w->o.stop) || w->broken != V_OK)
        return;
    atomic_store(&w->busy_since, clock_mono(w->o.clock));
    bool more = indexer_turn(&w->indexer, idle);
    atomic_store(&w->busy_since, 0);
    w->indexing = idle && more;
}

bool writer_step(struct writer *w, int wait_ms) {
    int patience = w->indexing ? 0 : logkeeper_wait_ms(&w->log, wait_ms);
    /* Nobody has waited long enough to call it quiet: the log is due, and the next batch may be. */
    bool cut_short = !w->indexing && patience < wait_ms;
    struct job *j = w->set_aside ? w->set_aside : queue_pop(w->o.in, patience);
    w->set_aside = NULL;
    if (j && j->kind == JOB_BATCH && !j->batch->segment_id)
        answer_live(w, j);
    else if (j)
        answer(w, j);
    do_periodic(w);
    bool more = j != NULL || !queue_is_closed(w->o.in);
    tend_log(w, !more);
    index_some(w, j == NULL && !cut_short);
    return more;
}
