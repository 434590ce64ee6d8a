/* First a turn, then a row for it: so nobody who waits is behind a turn that somebody reserved. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"

#include <stdio.h>
#include <string.h>

#define NOT_SENT_MS 1000 /* too much is under way */
#define FEW 4            /* rows of which there are so many times fewer than before wait for more */

static size_t at_most(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t keys_waiting(const struct engine *g, const struct lane *l) {
    size_t n = 0;
    for (size_t i = 0; i < l->n_sources; i++)
        n += work_keys(&g->works[l->sources[i]]);
    return n;
}

/* What has just changed goes before the backlog, which somebody may have been waiting for as long
 * as that takes; but not at its cost alone. */
static int pop(struct work *w, char key[KEYRING_KEY_MAX + 1], int *ret_from) {
    int n = keyring_pop(w->freed, key, ret_from);
    if (n >= 0)
        return n;
    bool fresh = ++w->n_pops % FOUND_EVERY;
    n = keyring_pop(fresh ? w->ring : w->found, key, ret_from);
    return n >= 0 ? n : keyring_pop(fresh ? w->found : w->ring, key, ret_from);
}

/* Keys out of the rings, which stay picked until they are claimed. */
static void pick(struct work *w, size_t want) {
    char key[KEYRING_KEY_MAX + 1];
    int from, n;
    if (w->n_picked == 0)
        arena_reset(&w->picked_arena);
    while (w->n_picked < want && (n = pop(w, key, &from)) >= 0) {
        w->picked[w->n_picked] = arena_str(&w->picked_arena, (struct str){key, (size_t)n});
        w->picked_from[w->n_picked++] = from;
    }
}

static void fail_row(struct engine *g, struct row *r, const char *class, const struct err *e) {
    r->final = true;
    r->verdict =
        (struct verdict_on_row){.key = r->key,
                                .token = r->token,
                                .state = ROW_FAILED,
                                .error_class = str_of(class),
                                .error = plan_redacted(g->o.plan, str_of(e->msg), &r->arena)};
    engine_decided(g, r);
}

static void release_row(struct engine *g, struct row *r) {
    r->final = false;
    r->release = (struct release){.key = r->key, .token = r->token};
    engine_decided(g, r);
}

static void start_call(struct engine *g, struct row *r) {
    const struct plan_source *src = engine_source(g, r->source);
    struct lane *l = r->lane;
    struct err e = {0};
    r->probe = l->turnstile.probe;
    enum verdict v =
        g->o.caller->start(g->o.caller, l->provider, src->request.method, r->path, r->body, r, &e);
    if (v == V_INVALID) { /* and it will not become a request by being tried again */
        fail_row(g, r, "request", &e);
        return;
    }
    if (v != V_OK) {
        r->final = false;
        r->release = (struct release){.key = r->key, .token = r->token, .wait_ms = NOT_SENT_MS};
        engine_decided(g, r);
        return;
    }
    fault_hit("enrich_call_started");
    r->stage = ROW_CALLING;
    r->slot = turnstile_use(&l->turnstile);
}

static void take_row(struct engine *g, struct lane *l, size_t source, const struct row_claim *c) {
    struct row *r = g->unused[--g->n_unused];
    r->source = source;
    r->lane = l;
    r->key = arena_str(&r->arena, c->key);
    r->token = c->token;
    r->attempts = c->attempts;
    r->slot = -1;
    struct err e = {0};
    enum verdict v =
        request_fill(&engine_source(g, source)->request, c->row, &r->arena, &r->path, &r->body, &e);
    if (v != V_OK) {
        fail_row(g, r, "request", &e);
        return;
    }
    r->stage = ROW_READY;
    if (l->n_ready == 0)
        l->ready_since = engine_now(g);
    l->ready[l->n_ready++] = r;
}

static void note_claim(size_t source, const struct row_claim *c, int from) {
    static const enum enrich_event_result results[] = {
        [CLAIM_WON] = EVENT_WON, [CLAIM_LOST] = EVENT_LOST, [CLAIM_IGNORED] = EVENT_IGNORED};
    if (from == FROM_FEED)
        enrich_event(source, results[c->result]);
    if (c->result != CLAIM_IGNORED)
        enrich_claim(source, c->result == CLAIM_WON ? CLAIMS_WON : CLAIMS_LOST);
    if (c->result == CLAIM_LOST && log_enabled(LOG_DEBUG)) {
        char key[120];
        snprintf(key, sizeof key, "%.*s", STR_FMT(c->key));
        log_debug("a sibling has this row: nothing to do", LS("key", key));
    }
}

static void forget_picked(struct work *w, size_t n) {
    w->n_picked -= n;
    memmove(w->picked, w->picked + n, w->n_picked * sizeof w->picked[0]);
    memmove(w->picked_from, w->picked_from + n, w->n_picked * sizeof w->picked_from[0]);
}

/* The first n that were picked. */
static enum verdict claim_first(struct engine *g, struct lane *l, size_t source, size_t n,
                                struct err *e) {
    struct work *w = &g->works[source];
    struct row_claim *claims = arena_zalloc(&g->scratch, n * sizeof *claims);
    fault_hit("enrich_before_claim");
    enum verdict v =
        store_claim_rows(g->store, w->source, w->picked, n, str_of(g->o.holder),
                         l->provider->timeout_ms + LEASE_GRACE_MS, &g->scratch, claims, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_after_claim");
    int from[ENGINE_BATCH];
    memcpy(from, w->picked_from, n * sizeof from[0]);
    forget_picked(w, n);
    for (size_t i = 0; i < n; i++) {
        note_claim(source, &claims[i], from[i]);
        if (claims[i].result == CLAIM_WON)
            take_row(g, l, source, &claims[i]);
    }
    return V_OK;
}

/* The table does not let this row be claimed: it stays as it is, and is tried again with the next
 * sweep. */
static void pass_over(struct engine *g, size_t source, const struct err *e) {
    struct work *w = &g->works[source];
    char key[120];
    snprintf(key, sizeof key, "%.*s", STR_FMT(w->picked[0]));
    log_warn("the table refuses that this row be claimed", LS("key", key), LE(e));
    enrich_refused(source, STEP_CLAIM);
    if (w->picked_from[0] == FROM_FEED)
        enrich_event(source, EVENT_IGNORED);
    forget_picked(w, 1);
}

static enum verdict claim(struct engine *g, struct lane *l, size_t source, size_t want,
                          struct err *e) {
    struct work *w = &g->works[source];
    pick(w, at_most(want, ENGINE_BATCH));
    size_t n = at_most(w->n_picked, want);
    if (n == 0)
        return V_OK;
    enum verdict v = claim_first(g, l, source, n, e);
    if (!row_is_refused(v))
        return v;
    for (v = V_OK; v == V_OK && n > 0; n--) { /* one of them, so each by itself */
        v = claim_first(g, l, source, 1, e);
        if (!row_is_refused(v))
            continue;
        pass_over(g, source, e);
        v = V_OK;
    }
    return v;
}

/* The sources of a lane take turns. */
static size_t next_source(struct engine *g, struct lane *l) {
    for (size_t k = 0; k < l->n_sources; k++) {
        size_t source = l->sources[(l->next_source + k) % l->n_sources];
        if (work_keys(&g->works[source]) == 0)
            continue;
        l->next_source = (l->next_source + k + 1) % l->n_sources;
        return source;
    }
    return l->sources[0];
}

/* The claim took time: turns that are lost by now are not used, and rows without one wait for the
 * next. */
static void start_ready(struct engine *g, struct lane *l) {
    int64_t now = engine_now(g);
    int due = turnstile_has(&l->turnstile, now) ? turnstile_due(&l->turnstile, now) : 0;
    size_t n = at_most((size_t)due, l->n_ready);
    for (size_t i = 0; i < n; i++)
        start_call(g, l->ready[i]);
    l->n_ready -= n;
    memmove(l->ready, l->ready + n, l->n_ready * sizeof(struct row *));
}

/* A lane that is blocked for long keeps no rows from others, nor beyond their lease. */
static void release_ready(struct engine *g, struct lane *l, int64_t now) {
    if (l->n_ready == 0 || now < l->ready_since + READY_MAX_MS)
        return;
    for (size_t i = 0; i < l->n_ready; i++)
        release_row(g, l->ready[i]);
    l->n_ready = 0;
}

/* Rows that have been claimed, or could be. */
static size_t rows_waiting(const struct engine *g, const struct lane *l) {
    return l->n_ready ? l->n_ready : at_most(keys_waiting(g, l), g->n_unused);
}

static enum verdict use_turns(struct engine *g, struct lane *l, struct err *e) {
    struct turnstile *t = &l->turnstile;
    enum verdict v = V_OK;
    size_t rows, asked = 0;
    while (v == V_OK && (rows = rows_waiting(g, l)) > asked / FEW) {
        int64_t now = engine_now(g);
        if (!turnstile_has(t, now)) {
            size_t want = turnstile_wants(t, at_most(rows, ENGINE_BATCH));
            if (now < t->ask_at || want == 0)
                break;
            v = turnstile_ask(t, g->store, want, now, e);
            if (v != V_OK || t->turns.n == 0)
                break;
        }
        int due = turnstile_due(t, now);
        if (due == 0)
            break;
        if (l->n_ready == 0) {
            asked += at_most((size_t)due, rows);
            v = claim(g, l, next_source(g, l), at_most((size_t)due, rows), e);
        }
        start_ready(g, l);
    }
    return v;
}

enum verdict lane_work(struct engine *g, struct lane *l, struct err *e) {
    enum verdict v = use_turns(g, l, e);
    if (v != V_OK)
        return v;
    int64_t now = engine_now(g);
    release_ready(g, l, now);
    return turnstile_tidy(&l->turnstile, g->store, now, e);
}

int64_t lane_next(const struct engine *g, const struct lane *l) {
    int64_t next = turnstile_next(&l->turnstile, rows_waiting(g, l) > 0);
    if (l->n_ready && l->ready_since + READY_MAX_MS < next)
        next = l->ready_since + READY_MAX_MS;
    return next;
}
