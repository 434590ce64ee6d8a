/* First a turn, then a row for it: so nobody who waits is behind a turn that somebody reserved. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"

#include <stdio.h>
#include <string.h>

#define PAUSED_LOOK_MS 2000 /* a lane that was paused: has anyone resumed it? */
#define FULL_LOOK_MS 50
#define NOT_SENT_MS 1000 /* too much is under way */

static size_t at_most(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t keys_waiting(const struct engine *g, const struct lane *l) {
    size_t n = 0;
    for (size_t i = 0; i < l->n_sources; i++)
        n += work_keys(&g->works[l->sources[i]]);
    return n;
}

void lane_drop_turns(struct lane *l) {
    for (size_t i = 0; i < l->n_slots; i++)
        l->give_back[l->n_give_back++] = l->slots[i];
    l->n_slots = 0;
    l->probe_back = l->probe_back || (l->probe && l->used < l->turns.n);
    l->turns.n = l->used = 0;
}

/* Turns whose time is over are not to be used any more; nor are their slots needed. */
static bool has_turns(struct lane *l, int64_t now_us) {
    for (int next = lane_next_turn(&l->turns, l->used, now_us); l->used < next; l->used++) {
        if (l->n_slots)
            l->give_back[l->n_give_back++] = l->slots[--l->n_slots];
        l->probe_back = l->probe;
    }
    if (l->used < l->turns.n)
        return true;
    lane_drop_turns(l);
    return false;
}

static void take_grant(struct lane *l, const struct lane_turns *t, int64_t now) {
    const struct lane_grant *grant = &t->grant;
    l->why = grant->why;
    l->troubled = t->troubled;
    if (grant->why != LANE_GO) {
        int64_t wait = grant->wait_ms;
        if (grant->why == LANE_PAUSED)
            wait = PAUSED_LOOK_MS;
        else if (wait < 0)
            wait = FULL_LOOK_MS;
        l->ask_at = now + (wait > 0 ? wait : 1);
        return;
    }
    l->turns = *grant;
    l->turns.start_us += now * 1000;
    l->turns.until_us += now * 1000;
    l->used = 0;
    l->probe = grant->probe;
    l->open = l->open && grant->probe;
    l->n_slots = t->n_slots;
    memcpy(l->slots, t->slots, t->n_slots * sizeof l->slots[0]);
}

static enum verdict ask_turns(struct engine *g, struct lane *l, size_t want, struct err *e) {
    struct lane_turns turns;
    const struct lane_ask ask = {
        .name = l->provider->name,
        .holder = str_of(g->o.holder),
        .want = (int)want,
        .hold_ms = l->provider->timeout_ms + SLOT_GRACE_MS,
        .give_back = l->give_back,
        .n_give_back = l->n_give_back,
        .probe_back = l->probe_back,
    };
    int64_t now = engine_now(g);
    enum verdict v = store_lane_take(g->store, &ask, &turns, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_turns_taken");
    l->n_give_back = 0;
    l->probe_back = false;
    take_grant(l, &turns, now);
    enrich_lane_state(l->index, l->why, l->why == LANE_GO ? 0 : l->ask_at - now);
    return V_OK;
}

/* What has just changed goes before the backlog, which somebody may have been waiting for as long
 * as that takes; but not at its cost alone. */
static int pop(struct work *w, char key[KEYRING_KEY_MAX + 1], int *ret_from) {
    bool fresh = ++w->n_pops % FOUND_EVERY;
    int n = keyring_pop(fresh ? w->ring : w->found, key, ret_from);
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
    r->verdict = (struct verdict_on_row){.key = r->key,
                                         .token = r->token,
                                         .state = ROW_FAILED,
                                         .error_class = str_of(class),
                                         .error = arena_str(&r->arena, str_of(e->msg))};
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
    r->probe = l->probe;
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
    l->in_flight++;
    l->used++;
    if (l->n_slots)
        r->slot = l->slots[--l->n_slots];
    metric_set(&m_enrich_in_flight, l->index, l->in_flight);
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

/* Slots, and a probe that nobody used. */
enum verdict lane_give_back(struct engine *g, struct lane *l, struct err *e) {
    struct lane_turns none;
    const struct lane_ask ask = {
        .name = l->provider->name,
        .holder = str_of(g->o.holder),
        .give_back = l->give_back,
        .n_give_back = l->n_give_back,
        .probe_back = l->probe_back,
    };
    fault_hit("enrich_before_give_back");
    enum verdict v = l->probe_back ? store_lane_take(g->store, &ask, &none, e)
                                   : store_lane_give_back(g->store, ask.name, ask.holder,
                                                          l->give_back, l->n_give_back, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_after_give_back");
    l->n_give_back = 0;
    l->probe_back = false;
    return V_OK;
}

static bool has_to_give_back(const struct lane *l) {
    return l->n_give_back || l->probe_back;
}

/* The claim took time: turns that are lost by now are not used, and rows without one wait for the
 * next. */
static void start_ready(struct engine *g, struct lane *l) {
    int64_t now_us = engine_now(g) * 1000;
    int due = has_turns(l, now_us) ? lane_turns_due(&l->turns, l->used, now_us) : 0;
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

/* A provider in trouble is not run over: one call at a time, until one goes well. */
static size_t turns_wanted(const struct lane *l, size_t rows) {
    if (l->cautious)
        return l->in_flight ? 0 : 1;
    return at_most(rows, ENGINE_BATCH);
}

/* Rows that have been claimed, or could be. */
static size_t rows_waiting(const struct engine *g, const struct lane *l) {
    return l->n_ready ? l->n_ready : at_most(keys_waiting(g, l), g->n_unused);
}

static enum verdict use_turns(struct engine *g, struct lane *l, struct err *e) {
    enum verdict v = V_OK;
    size_t rows;
    while (v == V_OK && (rows = rows_waiting(g, l)) > 0) {
        int64_t now = engine_now(g);
        if (!has_turns(l, now * 1000)) {
            size_t want = turns_wanted(l, rows);
            if (now < l->ask_at || want == 0)
                break;
            v = ask_turns(g, l, want, e);
            if (v != V_OK || l->turns.n == 0)
                break;
        }
        int due = lane_turns_due(&l->turns, l->used, now * 1000);
        if (due == 0)
            break;
        if (l->n_ready == 0)
            v = claim(g, l, next_source(g, l), at_most((size_t)due, rows), e);
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
    if (l->turns.n && !has_turns(l, now * 1000))
        l->give_by = now; /* somebody else may wait for these slots */
    return has_to_give_back(l) && now >= l->give_by ? lane_give_back(g, l, e) : V_OK;
}

/* When the last of the turns in hand is lost, and its slot with it, or the probe that it is. */
static int64_t turns_end(const struct lane *l) {
    if (l->turns.n == 0 || (l->n_slots == 0 && !l->probe))
        return NO_DEADLINE;
    return (l->turns.until_us + (l->turns.n - 1) * l->turns.interval_us) / 1000 + 1;
}

int64_t lane_next(const struct engine *g, const struct lane *l) {
    int64_t next = has_to_give_back(l) ? l->give_by : NO_DEADLINE, when = turns_end(l);
    if (when < next)
        next = when;
    if (l->n_ready && l->ready_since + READY_MAX_MS < next)
        next = l->ready_since + READY_MAX_MS;
    if (rows_waiting(g, l) == 0)
        return next;
    if (l->used < l->turns.n)
        when = (l->turns.start_us + l->used * l->turns.interval_us + 999) / 1000;
    else
        when = turns_wanted(l, 1) ? l->ask_at : NO_DEADLINE;
    return when < next ? when : next;
}
