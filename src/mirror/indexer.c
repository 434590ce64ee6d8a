#include "mirror/indexer.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "store/search.h"

#define STEP_MS 100 /* how long a step should take; a job that comes meanwhile waits for it */
#define ITEMS_FIRST 200
#define ITEMS_LEAST 20
#define ITEMS_MOST 5000
#define LOOK_MS 1000 /* how often to look when nothing is known to wait */
#define CREDIT_MAX_MS 200.0
#define FAILED_MS 1000
#define FAILED_MAX_MS 60000

void indexer_init(struct indexer *x, const struct clock *clock, struct store *store, double share) {
    *x = (struct indexer){.clock = clock,
                          .store = store,
                          .share = share,
                          .items = ITEMS_FIRST,
                          .counted = clock_mono(clock)};
}

void indexer_wake(struct indexer *x) {
    if (!x->failures)
        x->next_look = 0;
}

/* Time that passes is worth its share. A long quiet time is no reason to be in the way later. */
static void earn(struct indexer *x, int64_t now) {
    x->credit_ms += (double)(now - x->counted) * x->share;
    x->counted = now;
    if (x->credit_ms > CREDIT_MAX_MS)
        x->credit_ms = CREDIT_MAX_MS;
}

/* The next step is as large as would have filled the time, and at most twice as large as this. */
static void fit(struct indexer *x, int64_t took_ms) {
    size_t fits = took_ms > 0 ? x->items * STEP_MS / (size_t)took_ms : 2 * x->items;
    fits = fits > 2 * x->items ? 2 * x->items : fits;
    x->items = fits < ITEMS_LEAST ? ITEMS_LEAST : fits > ITEMS_MOST ? ITEMS_MOST : fits;
}

static void fail(struct indexer *x, enum verdict v, const struct err *why, int64_t now) {
    struct err e;
    int64_t wait = FAILED_MS;
    for (int i = 0; i < x->failures && wait < FAILED_MAX_MS; i++)
        wait *= 2;
    x->failures++;
    x->next_look = now + (wait < FAILED_MAX_MS ? wait : FAILED_MAX_MS);
    metric_add(&m_index_failures, 0, 1);
    log_warn("search indexing failed and will be tried again", LS("class", verdict_name(v)),
             LI("wait_ms", x->next_look - now), LE(why));
    if (store_recover(x->store, &e) != V_OK) {
        /* the next job will wait for the database */
    }
}

bool indexer_turn(struct indexer *x, bool idle) {
    int64_t now = clock_mono(x->clock), done = 0;
    struct err e;
    earn(x, now);
    if (now < x->next_look || (!idle && (x->share <= 0 || x->credit_ms <= 0)))
        return false;
    enum verdict v = store_index_step(x->store, x->items, &done, &e);
    int64_t after = clock_mono(x->clock);
    if (!idle)
        x->credit_ms -= (double)(after - now);
    x->counted = after; /* its own time earns nothing */
    if (v != V_OK) {
        fail(x, v, &e, after);
        return false;
    }
    if (x->failures)
        log_info("search indexing works again");
    x->failures = 0;
    metric_add(&m_index_items, 0, done);
    if (done == 0)
        x->next_look = after + LOOK_MS;
    else if (done >= (int64_t)x->items)
        fit(x, after - now);
    return done > 0;
}

enum verdict indexer_measure(struct indexer *x, int64_t now_db, struct err *e) {
    int64_t ids, since;
    enum verdict v = store_index_lag(x->store, &ids, &since, e);
    if (v != V_OK)
        return v;
    metric_set(&m_index_lag_ids, 0, ids);
    metric_set(&m_index_lag_seconds, 0, since && since < now_db ? now_db - since : 0);
    return V_OK;
}
