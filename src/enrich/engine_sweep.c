/* The sweep finds what the feed cannot tell of: claims of the dead, rows that are busy for nobody,
 * and rows that are pending and that no worker was told of, or whose key a ring has dropped. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"

#include <string.h>

#define PAGE 256
#define SCAN_REST_MS 1000
#define COUNT_MS 5000 /* at least, between two countings of all rows */

static size_t number_of(const struct engine *g, const struct work *w) {
    return (size_t)(w - g->works);
}

/* Frees what the dead held. What has no room in the ring is pending, and the scan comes to it. */
static enum verdict free_stale(struct engine *g, struct work *w, struct err *e) {
    struct str keys[PAGE];
    size_t n = PAGE;
    enum verdict v = V_OK;
    while (v == V_OK && n == PAGE) {
        fault_hit("enrich_in_sweep");
        v = store_sweep(g->store, w->source, PAGE, &g->scratch, keys, &n, e);
        if (v != V_OK)
            return v;
        for (size_t i = 0; i < n; i++) {
            enrich_claim(number_of(g, w), CLAIMS_SWEPT);
            (void)keyring_push_if_room(w->ring, keys[i], FROM_SWEEP);
        }
        if (n)
            log_info("claims that nobody finished were freed", LI("rows", n));
    }
    return v;
}

static enum verdict recheck(struct engine *g, struct work *w, struct err *e) {
    int64_t age = engine_source(g, number_of(g, w))->recheck_ms, n = 0;
    if (age <= 0)
        return V_OK;
    enum verdict v = store_recheck(g->store, w->source, age, CLAIM_BATCH_MAX, &n, e);
    if (v == V_OK && n)
        log_info("rows without a match are looked up again", LI("rows", n));
    return v;
}

static void begin_scan(struct work *w, int64_t now) {
    w->scanning = true;
    w->scan_again_at = now + SCAN_REST_MS;
    w->cursor_n = -1;
    w->due_at = NO_DEADLINE;
}

/* A page is read when half of the ring is free, so that it has room for all of it. */
static size_t page_size(const struct engine *g, const struct work *w) {
    size_t room = keyring_room(w->ring), ring = g->o.ring ? g->o.ring : ENGINE_RING;
    if (room * 2 < ring)
        return 0;
    return room < PAGE ? room : PAGE;
}

static enum verdict scan(struct engine *g, struct work *w, size_t page, struct err *e) {
    struct str keys[PAGE], after = STR_NONE;
    size_t n;
    if (w->cursor_n >= 0)
        after = (struct str){w->cursor, (size_t)w->cursor_n};
    enum verdict v = store_pending(g->store, w->source, after, page, &g->scratch, keys, &n, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < n; i++)
        (void)keyring_push_if_room(w->ring, keys[i], FROM_SWEEP);
    w->scanning = n == page && keys[n - 1].n <= KEYRING_KEY_MAX;
    if (w->scanning) {
        memcpy(w->cursor, keys[n - 1].p, keys[n - 1].n);
        w->cursor_n = (int)keys[n - 1].n;
    }
    return V_OK;
}

static enum verdict count(struct engine *g, struct work *w, struct err *e) {
    struct source_counts counts;
    int64_t began = engine_now(g);
    enum verdict v = store_source_count(g->store, w->source, &counts, e);
    if (v != V_OK)
        return v;
    enrich_rows(number_of(g, w), &counts);
    int64_t now = engine_now(g), rest = 20 * (now - began);
    w->count_at = now + (rest > COUNT_MS ? rest : COUNT_MS);
    return V_OK;
}

/* When a row that had to wait may be pending again; not a scan for each of them. */
static int64_t due(const struct work *w) {
    return w->due_at > w->scan_again_at ? w->due_at : w->scan_again_at;
}

enum verdict sweep_work(struct engine *g, struct work *w, struct err *e) {
    int64_t now = engine_now(g);
    enum verdict v = V_OK;
    if (now >= w->sweep_at) {
        v = free_stale(g, w, e);
        if (v == V_OK)
            v = recheck(g, w, e);
        if (v != V_OK)
            return v;
        w->sweep_at = now + ENGINE_SWEEP_MS;
        begin_scan(w, now);
    } else if (w->due_at != NO_DEADLINE && now >= due(w) && !w->scanning) {
        begin_scan(w, now);
    }
    size_t page = w->scanning ? page_size(g, w) : 0;
    if (page)
        v = scan(g, w, page, e);
    if (v == V_OK && now >= w->count_at)
        v = count(g, w, e);
    return v;
}

int64_t sweep_next(const struct engine *g, const struct work *w) {
    int64_t next = w->sweep_at < w->count_at ? w->sweep_at : w->count_at;
    if (w->scanning)
        return page_size(g, w) ? engine_now(g) : next;
    return w->due_at != NO_DEADLINE && due(w) < next ? due(w) : next;
}
