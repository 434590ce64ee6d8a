/* The inside of the engine. Private to the room; everything here belongs to the `enrich` thread but
 * the rings, which have their own lock. */
#ifndef TAIN_ENRICH_ENGINE_INT_H
#define TAIN_ENRICH_ENGINE_INT_H

#include "base/keyring.h"
#include "base/rng.h"
#include "enrich/consumer.h"
#include "enrich/engine.h"
#include "enrich/outage.h"
#include "enrich/turnstile.h"
#include "policy/backoff.h"

#define LEASE_GRACE_MS 60000 /* a claim is held for a call's longest time and this */
#define READY_MAX_MS 5000    /* a row that was claimed waits so long for another turn */
#define FOUND_EVERY 8        /* of so many keys one is of the backlog, whatever is fresh */
#define BODY_MAX ((size_t)4 * 1024 * 1024)

/* Marks in a ring: only what the feed told of counts among its events. */
enum origin { FROM_FEED, FROM_SWEEP };

/* A row that this process holds. */
struct row {
    struct arena arena; /* key, request, decision */
    size_t source;
    struct lane *lane;
    struct str key;
    int64_t token;
    int attempts;
    int slot; /* -1: the lane has none */
    bool probe;
    enum { ROW_UNUSED, ROW_READY, ROW_CALLING, ROW_ANSWERED, ROW_DECIDED } stage;
    struct str path, body;     /* ready: its request */
    struct call_result result; /* answered: body and detail are in the arena */
    bool final;                /* decided: which of the two */
    struct verdict_on_row verdict;
    struct release release;
};

struct lane {
    struct turnstile turnstile;
    const struct provider *provider;
    size_t sources[PLAN_SOURCES_MAX], n_sources, next_source;
    /* claimed, for turns that may have been lost meanwhile: these rows have the next */
    struct row *ready[ENGINE_BATCH];
    size_t n_ready;
    int64_t ready_since;
};

struct work {
    struct source *source;
    struct keyring *freed; /* by the sweep: somebody has waited for these long enough */
    struct keyring *ring;  /* what the feed told of, and what was given back */
    struct keyring *found; /* by the sweep: the backlog */
    unsigned n_pops;
    /* taken from the rings and not claimed yet: kept over a database that is away */
    struct arena picked_arena;
    struct str picked[ENGINE_BATCH];
    int picked_from[ENGINE_BATCH];
    size_t n_picked;
    /* decided and not written yet */
    struct row *finals[ENGINE_BUSY_MAX], *releases[ENGINE_BUSY_MAX];
    size_t n_finals, n_releases;
    int64_t decided_at; /* the first of them */
    atomic_bool lost;   /* since the last scan began a key was dropped, or left to another */
    /* the sweep */
    int64_t sweep_at, due_at, scanned_at, count_at;
    int64_t deaths_until; /* until then rows wait whose workers have died */
    bool scanning, tells; /* of rows that it passes by */
    /* A scan goes through our share of the backlog first, then through what others have left. */
    struct share share;
    int64_t share_at;       /* when to ask again who there is */
    bool leftovers, passed; /* the second part; in the first, something was not ours */
    struct arena cursor_arena;
    struct str cursor; /* absent: from the first */
};

struct engine {
    struct engine_options o;
    struct store *store;
    struct consumer *consumer; /* NULL: no feed */
    struct rng rng;
    struct arena scratch;
    struct lane lanes[PLAN_PROVIDERS_MAX];
    struct work works[PLAN_SOURCES_MAX];
    struct row rows[ENGINE_BUSY_MAX];
    struct row *unused[ENGINE_BUSY_MAX];
    size_t n_unused;
    struct row *answered[ENGINE_BUSY_MAX];
    size_t n_answered;
    struct outage outage; /* of the database */
    int64_t watch_at;
    atomic_int refused; /* a lane whose provider takes no key of ours, and 1; 0: none */
};

static inline int64_t engine_now(const struct engine *g) {
    return clock_mono(g->o.clock);
}
static inline const struct plan_source *engine_source(const struct engine *g, size_t i) {
    return &g->o.plan->sources[i];
}

/* The table said no: that is of one row, of its values or of a rule of the owner's. */
static inline bool row_is_refused(enum verdict v) {
    return v == V_CONFLICT || v == V_INVALID || v == V_LIMIT;
}

static inline size_t work_keys(const struct work *w) {
    return keyring_count(w->freed) + keyring_count(w->ring) + keyring_count(w->found) + w->n_picked;
}

/* engine_lane.c: turns, claims, calls. */
MUST_CHECK enum verdict lane_work(struct engine *g, struct lane *l, struct err *e);
int64_t lane_next(const struct engine *g, const struct lane *l); /* clock_mono() */

/* engine_judge.c: what an answer means for its row and its lane. */
extern const struct backoff engine_again; /* before another attempt of a row */
MUST_CHECK enum verdict judge_answered(struct engine *g, struct err *e);

/* engine_write.c: decisions into the database. */
void engine_decided(struct engine *g, struct row *r);
MUST_CHECK enum verdict write_decided(struct engine *g, bool all, struct err *e);
/* What is decided and cannot be written is given back, as if it had never been called for. */
MUST_CHECK enum verdict write_given_up(struct engine *g, struct err *e);
int64_t write_next(const struct engine *g);

/* engine_sweep.c */
MUST_CHECK enum verdict sweep_work(struct engine *g, struct work *w, struct err *e);
int64_t sweep_next(const struct engine *g, const struct work *w);

/* engine_watch.c */
MUST_CHECK enum verdict watch_lanes(struct engine *g, struct err *e);

/* engine.c */
void engine_free_row(struct engine *g, struct row *r);

#endif
