/* The sweep finds what the feed cannot tell of: claims of the dead, rows that are busy for nobody,
 * and rows that are pending and that no worker was told of, or whose key a ring has dropped. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"

#include <stdio.h>
#include <string.h>

#define PAGE 256
#define LOOK_AHEAD (2 * ENGINE_BATCH) /* what is found too early is another's by its turn */
#define SHARE_LOOK_MS 100             /* while a scan depends on it, */
#define SHARE_REST_MS 900             /* and so much more while only events do */
#define SCAN_REST_MS 1000             /* between two scans */
#define LOST_REST_MS 50     /* likewise, where a ring has dropped keys: there is much to be found */
#define DEATHS_LOOK_MS 5000 /* likewise, while rows wait whose workers have died */
#define COUNT_MS 5000       /* at least, between two countings of all rows, */
#define COUNT_REST 100      /* so many times as long as one takes, */
#define COUNT_AGAIN_MS 600000 /* and after one that had to be given up */
#define COUNT_MOST_MS 2000
#define ERROR_MAX 400

static size_t number_of(const struct engine *g, const struct work *w) {
    return (size_t)(w - g->works);
}

static void name_of(const struct engine *g, const struct work *w, char out[64]) {
    snprintf(out, 64, "%.*s", STR_FMT(engine_source(g, number_of(g, w))->spec.name));
}

static void tell_of_row(const struct engine *g, const struct work *w, const char *what,
                        struct str key, struct str why) {
    char name[64], text[120], error[ERROR_MAX];
    name_of(g, w, name);
    snprintf(text, sizeof text, "%.*s", STR_FMT(key));
    snprintf(error, sizeof error, "%.*s", STR_FMT(why));
    log_warn(what, LS("source", name), LS("key", text), LS("error", error));
}

/* A row that is free again goes straight to the lanes, before all that wait. What has no room in
 * its ring is pending, and the scan comes to it. */
static void take_swept(struct engine *g, struct work *w, const struct swept_row *r, int64_t now) {
    size_t source = number_of(g, w);
    if (r->how == SWEPT_REFUSED) {
        tell_of_row(g, w, "the table refuses that this row be freed: it is left alone for an hour",
                    r->key, r->why);
        enrich_refused(source, STEP_SWEEP);
        return;
    }
    enrich_claim(source, CLAIMS_SWEPT);
    if (r->how == SWEPT_FAILED) {
        tell_of_row(g, w, "this row has failed: its workers died, or lost it", r->key,
                    STR("max_attempts"));
        enrich_final(source, ROW_FAILED);
    } else if (r->wait_ms == 0) {
        (void)keyring_push_if_room(w->freed, r->key, FROM_SWEEP);
    } else if (now + r->wait_ms > w->deaths_until) {
        w->deaths_until = now + r->wait_ms;
    }
}

/* What was claimed before the database was back may be with somebody who could not reach it either.
 */
static enum verdict free_stale(struct engine *g, struct work *w, struct err *e) {
    struct swept_row rows[PAGE];
    size_t n = PAGE;
    enum verdict v = V_OK;
    int64_t now = engine_now(g);
    const struct sweep_ask ask = {
        .max = PAGE,
        .max_attempts = engine_source(g, number_of(g, w))->max_attempts,
        .spare_ago = g->outage.back_at ? now - g->outage.back_at : -1,
    };
    while (v == V_OK && n == PAGE) {
        fault_hit("enrich_before_sweep");
        v = store_sweep(g->store, w->source, &ask, &g->scratch, rows, &n, e);
        if (v != V_OK)
            return v;
        fault_hit("enrich_after_sweep");
        for (size_t i = 0; i < n; i++)
            take_swept(g, w, &rows[i], now);
        if (n)
            log_info("claims that nobody finished were freed", LI("rows", n));
    }
    return v;
}

static enum verdict recheck(struct engine *g, struct work *w, struct err *e) {
    int64_t age = engine_source(g, number_of(g, w))->recheck_ms;
    struct rechecked got;
    if (age <= 0)
        return V_OK;
    enum verdict v = store_recheck(g->store, w->source, age, CLAIM_BATCH_MAX, &g->scratch, &got, e);
    fault_hit("enrich_after_recheck");
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < got.n_refused; i++) {
        tell_of_row(g, w, "the table refuses that this row without a match be looked up again",
                    got.refused[i].key, got.refused[i].why);
        enrich_refused(number_of(g, w), STEP_SWEEP);
    }
    if (got.n)
        log_info("rows without a match are looked up again", LI("rows", got.n));
    return V_OK;
}

static void begin_scan(struct work *w, int64_t now, bool tells) {
    w->scanning = true;
    w->tells = tells;
    w->scanned_at = now;
    w->leftovers = w->passed = false;
    w->cursor = STR_NONE;
    w->due_at = now < w->deaths_until ? now + DEATHS_LOOK_MS : NO_DEADLINE;
    atomic_store(&w->lost, false);
}

/* What a ring has dropped is looked for as soon as the ring is empty, not at the next sweep: before
 * that, the rows would be found that are in it. */
static bool has_lost(const struct work *w) {
    return atomic_load(&w->lost) && keyring_count(w->ring) == 0;
}

/* A page is read when half of the ring is free, so that it has room for all of it. What others may
 * be about to claim is looked for when there is nothing else. */
static size_t page_size(const struct engine *g, const struct work *w) {
    size_t room = keyring_room(w->found), ring = g->o.ring ? g->o.ring : ENGINE_RING;
    size_t most = w->leftovers ? 1 : LOOK_AHEAD;
    if (room * 2 < ring || ring - room >= most)
        return 0;
    return room < PAGE ? room : PAGE;
}

static void offer_found(const struct engine *g, struct work *w, struct str key) {
    char name[64];
    if (key.n <= KEYRING_KEY_MAX) {
        (void)keyring_push_if_room(w->found, key, FROM_SWEEP);
        return;
    }
    name_of(g, w, name);
    log_warn("a key is too long: its row is left alone", LS("source", name), LI("bytes", key.n),
             LI("most", KEYRING_KEY_MAX));
}

/* It is met by every scan, and told of by those that come with a sweep. */
static void pass_by(const struct engine *g, const struct work *w, const struct row_refusal *r) {
    enrich_refused(number_of(g, w), STEP_FILTER);
    if (w->tells)
        tell_of_row(g, w, "the filter cannot be evaluated for this row: it is passed over", r->key,
                    r->why);
}

static bool is_ours(struct work *w, struct str key) {
    bool ours = share_has(&w->share, key);
    w->passed = w->passed || !ours;
    return ours;
}

static enum verdict find_share(struct engine *g, struct work *w, struct err *e) {
    int64_t now = engine_now(g);
    if (now < w->share_at)
        return V_OK;
    w->share_at = now + SHARE_LOOK_MS;
    return store_source_share(g->store, w->source, &w->share, e);
}

/* Behind the page; behind what is others' as well. */
static void move_cursor(struct work *w, struct str last) {
    char text[32];
    int64_t skipped;
    if (!w->leftovers && last.p && share_skip(&w->share, last, &skipped)) {
        w->passed = true;
        snprintf(text, sizeof text, "%lld", (long long)skipped);
        last = str_of(text);
    }
    arena_reset(&w->cursor_arena);
    w->cursor = arena_str(&w->cursor_arena, last);
}

static enum verdict scan(struct engine *g, struct work *w, size_t page, struct err *e) {
    struct row_page found;
    enum verdict v = find_share(g, w, e);
    if (v == V_OK)
        v = store_pending(g->store, w->source, w->cursor, page, &g->scratch, &found, e);
    w->scanning = v == V_RETRY;
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < found.n; i++)
        if (w->leftovers || is_ours(w, found.keys[i]))
            offer_found(g, w, found.keys[i]);
    for (size_t i = 0; i < found.n_refused; i++)
        if (is_ours(w, found.refused[i].key) != w->leftovers)
            pass_by(g, w, &found.refused[i]);
    move_cursor(w, found.last);
    w->scanning = found.last.p || (w->passed && !w->leftovers);
    w->leftovers = w->leftovers || !found.last.p;
    return V_OK;
}

/* Nobody's calls wait for long for a figure. A table that is too large for it is counted rarely, or
 * never, and the figures stay as they were. */
static enum verdict count(struct engine *g, struct work *w, struct err *e) {
    struct source_counts counts;
    char name[64];
    int64_t began = engine_now(g);
    enum verdict v = store_source_count_within(g->store, w->source, COUNT_MOST_MS, &counts, e);
    if (v == V_RETRY)
        return v;
    int64_t now = engine_now(g), rest = COUNT_REST * (now - began);
    w->count_at = now + (v == V_OK ? rest > COUNT_MS ? rest : COUNT_MS : COUNT_AGAIN_MS);
    if (v == V_OK)
        enrich_rows(number_of(g, w), &counts);
    if (v != V_LIMIT)
        return v;
    name_of(g, w, name);
    log_warn("counting the rows takes too long: their figures are not kept", LS("source", name));
    return V_OK;
}

/* When to scan again: a row that had to wait may be pending. Not a scan for each of them. */
static int64_t due(const struct work *w) {
    int64_t rested = w->scanned_at + SCAN_REST_MS;
    if (has_lost(w))
        return w->scanned_at + LOST_REST_MS;
    return w->due_at > rested ? w->due_at : rested;
}

/* What a row of this table spoils (a filter that divides by its nothing, a trigger that says no) is
 * told, and left for the next time: other rows and other sources go on. */
static enum verdict tolerate(const struct engine *g, const struct work *w, const char *what,
                             enum verdict v, const struct err *e) {
    if (!row_is_refused(v))
        return v;
    char name[64];
    name_of(g, w, name);
    log_error(what, LS("source", name), LE(e));
    return V_OK;
}

/* A connection that was made anew has to say so again. Nothing is ended here: whoever comes later
 * is told at start. */
static enum verdict keep_name(struct engine *g, struct work *w, struct err *e) {
    return tolerate(g, w, "two tables have one name of a source",
                    store_source_take_name(g->store, w->source, e), e);
}

static enum verdict sweep(struct engine *g, struct work *w, struct err *e) {
    enum verdict named = keep_name(g, w, e);
    if (named != V_OK)
        return named;
    enum verdict v =
        tolerate(g, w, "a row hinders the sweep of its source", free_stale(g, w, e), e);
    return v == V_OK ? tolerate(g, w, "rows without a match cannot be looked up again",
                                recheck(g, w, e), e)
                     : v;
}

enum verdict sweep_work(struct engine *g, struct work *w, struct err *e) {
    int64_t now = engine_now(g);
    enum verdict v = V_OK;
    if (now >= w->sweep_at) {
        v = sweep(g, w, e);
        if (v != V_OK)
            return v;
        w->sweep_at = now + ENGINE_SWEEP_MS;
        begin_scan(w, now, true);
    } else if (now >= due(w) && !w->scanning) {
        begin_scan(w, now, false);
    }
    if (now >= w->share_at + SHARE_REST_MS)
        v = find_share(g, w, e);
    size_t page = v == V_OK && w->scanning ? page_size(g, w) : 0;
    if (page)
        v = tolerate(g, w, "a row hinders the scan of its source", scan(g, w, page, e), e);
    if (v == V_OK && now >= w->count_at)
        v = tolerate(g, w, "the rows of this source cannot be counted", count(g, w, e), e);
    return v;
}

int64_t sweep_next(const struct engine *g, const struct work *w) {
    int64_t next = w->sweep_at < w->count_at ? w->sweep_at : w->count_at;
    if (w->scanning)
        return page_size(g, w) ? engine_now(g) : next;
    int64_t when = due(w);
    return when < next ? when : next;
}
