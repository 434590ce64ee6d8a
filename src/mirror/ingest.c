#include "mirror/ingest.h"

#include "mirror/ingest_int.h"
#include "mirror/metrics.h"

#include <stdlib.h>

#define START_CONCURRENCY 64

int64_t ingest_now(const struct ingest *g) {
    return clock_mono(g->o.clock);
}

int64_t ingest_now_db(const struct ingest *g) {
    return clock_mono(g->o.clock) + atomic_load(g->o.db_offset_ms);
}

struct ingest *ingest_new(const struct ingest_options *o) {
    struct ingest *g = xcalloc(1, sizeof *g);
    g->o = *o;
    g->rng = (struct rng){o->seed};
    concurrency_init(&g->window, START_CONCURRENCY, o->concurrency);
    health_init(&g->health);
    g->last_ok_id = o->canary;
    return g;
}

void ingest_free(struct ingest *g) {
    ingest_close_calls(g);
    http_cancel_all(g->o.http);
    while (g->open) {
        struct segrun *next = g->open->next;
        segrun_free(g->open);
        g->open = next;
    }
    while (g->oldest) {
        struct fetch *next = g->oldest->next;
        free(g->oldest);
        g->oldest = next;
    }
    while (g->free_fetches) {
        struct fetch *next = g->free_fetches->next;
        free(g->free_fetches);
        g->free_fetches = next;
    }
    for (size_t i = 0; i < g->waiting.n; i++)
        free(g->waiting.at[i]);
    free(g->waiting.at);
    for (int i = 0; i < g->n_idle_jobs; i++) {
        arena_release(&g->idle_jobs[i]->arena);
        free(g->idle_jobs[i]);
    }
    for (int i = 0; i < g->n_idle_batches; i++)
        batch_free(g->idle_batches[i]);
    free(g);
}

const struct err *ingest_error(const struct ingest *g) {
    return &g->err;
}

const char *ingest_illness(const struct ingest *g) {
    return atomic_load(&g->illness);
}

struct fetch *ingest_new_fetch(struct ingest *g) {
    struct fetch *f = g->free_fetches;
    if (f)
        g->free_fetches = f->next;
    else
        f = xmalloc(sizeof *f);
    *f = (struct fetch){0};
    return f;
}

void ingest_drop_fetch(struct ingest *g, struct fetch *f) {
    f->next = g->free_fetches;
    g->free_fetches = f;
}

static bool is_probe(const struct fetch *f) {
    return !f->run && !f->call;
}

void ingest_fly(struct ingest *g, struct fetch *f) {
    if (!g->first_maxitem)
        g->first_maxitem = atomic_load_explicit(g->o.maxitem, memory_order_relaxed);
    if (f->id && !is_probe(f))
        idset_add(&g->flying_ids, f->id);
    f->prev = g->newest;
    f->next = NULL;
    if (g->newest)
        g->newest->next = f;
    else
        g->oldest = f;
    g->newest = f;
    g->n_flying++;
}

void ingest_land(struct ingest *g, struct fetch *f) {
    if (f->id && !is_probe(f))
        idset_remove(&g->flying_ids, f->id);
    if (f->prev)
        f->prev->next = f->next;
    else
        g->oldest = f->next;
    if (f->next)
        f->next->prev = f->prev;
    else
        g->newest = f->prev;
    f->prev = f->next = NULL;
    g->n_flying--;
}

void ingest_fail(struct ingest *g, enum ingest_end end, const struct err *e) {
    if (g->end == INGEST_FATAL)
        return;
    if (e)
        g->err = *e;
    g->end = end;
}

enum lane lane_of(enum purpose purpose) {
    switch (purpose) {
    case PURPOSE_GAP:
        return LANE_GAP;
    case PURPOSE_MIRROR:
        return LANE_CATCHUP;
    default:
        return LANE_RESCAN;
    }
}

static bool belongs(void *run, void *tag) {
    return ((struct fetch *)tag)->run == run;
}

static bool is_of_run(const struct fetch *f, const void *run) {
    return f->run == run;
}

void ingest_forget_run(struct ingest *g, struct segrun *r) {
    http_cancel_if(g->o.http, belongs, r);
    for (struct fetch *f = g->oldest, *next; f; f = next) {
        next = f->next;
        if (f->run == r) {
            ingest_land(g, f);
            ingest_drop_fetch(g, f);
        }
    }
    heap_take_if(&g->waiting, is_of_run, r, ingest_drop_fetch, g);
    r->in_flight = r->waiting = 0;
}

static void notice_stop(struct ingest *g) {
    if (g->end == INGEST_RUNNING && stop_raised(g->o.stop))
        g->end = INGEST_STOPPED;
    if (g->end == INGEST_RUNNING &&
        health_ill_for_ms(&g->health, ingest_now(g)) > g->o.max_outage_ms) {
        err_set(&g->err, V_RETRY, "upstream", 0,
                "the upstream gave no good answer for %lld s (%s); what was stored is safe",
                (long long)(g->o.max_outage_ms / 1000), ingest_illness(g));
        g->end = INGEST_OUTAGE;
    }
    if (g->end == INGEST_RUNNING && g->nothing_left && !g->n_open && !g->jobs_out)
        g->end = INGEST_FINISHED;
    if (g->end != INGEST_RUNNING && !g->stop_mono)
        g->stop_mono = ingest_now(g);
}

/* After a stop: a little time for what is in flight, then everything is given back. True: over. */
static bool wind_down(struct ingest *g) {
    int64_t waited = ingest_now(g) - g->stop_mono;
    bool hurry = g->end == INGEST_FATAL || g->end == INGEST_OUTAGE || g->health.ill;
    bool enough = g->n_flying == 0 || hurry || waited >= STOP_GRACE_MS;
    ingest_cancel_calls(g, enough);
    if (enough)
        ingest_release_all(g);
    /* A segment that is being claimed for us is ours to give back, too. */
    return (enough && g->n_open == 0 && !g->claim_asked) || waited >= STOP_LIMIT_MS;
}

static int64_t wake_at(const struct ingest *g, int64_t deadline) {
    int64_t at = g->end == INGEST_RUNNING ? ingest_next_start(g) : ingest_now(g) + 20;
    return at < deadline ? at : deadline;
}

/* Before the wait of a step and after it: what a reader sees is never older than that. */
static void measure(const struct ingest *g) {
    metric_set(&m_waiting, 0, (int64_t)g->waiting.n);
    metric_set(&m_http_inflight, 0, g->n_flying);
    metric_set(&m_http_window, 0, concurrency_limit(&g->window));
    metric_set(&m_upstream_ill, 0, ingest_illness(g) != NULL);
}

enum ingest_end ingest_step(struct ingest *g, int64_t deadline) {
    ingest_take_answers(g);
    ingest_take_calls(g);
    notice_stop(g);
    ingest_ask_for_work(g);
    ingest_start_fetches(g);
    measure(g);
    http_step(g->o.http, wake_at(g, deadline), ingest_done, g);
    ingest_deliver_answers(g);
    ingest_flush(g);
    measure(g);
    if (g->end == INGEST_RUNNING || !g->stop_mono)
        return INGEST_RUNNING;
    if (g->end != INGEST_FINISHED && !wind_down(g))
        return INGEST_RUNNING;
    ingest_close_calls(g);
    return g->end;
}
