#include "enrich/turnstile.h"

#include "base/fault.h"
#include "base/log.h"
#include "enrich/enrich_metrics.h"

#include <stdio.h>
#include <string.h>

#define RESUMED_LOOK_MS 2000 /* a lane that is paused, or has to wait: has anyone resumed it? */
#define FULL_LOOK_MS 50
#define SLOT_GRACE_MS 15000   /* a slot is held for a call's longest time and this */
#define GIVE_BACK_MS 1000     /* a slot waits so long for a question that takes it along */
#define WAIT_DEFAULT_MS 30000 /* 429 that says nothing */
#define ERROR_MAX 400

size_t turnstile_wants(const struct turnstile *t, size_t n) {
    if (t->cautious && n)
        return t->in_flight ? 0 : 1;
    return n;
}

void turnstile_drop(struct turnstile *t) {
    for (size_t i = 0; i < t->n_slots; i++)
        t->give_back[t->n_give_back++] = t->slots[i];
    t->n_slots = 0;
    t->probe_back = t->probe_back || (t->probe && t->used < t->turns.n);
    t->turns.n = t->used = 0;
}

bool turnstile_has(struct turnstile *t, int64_t now) {
    if (t->turns.n == 0)
        return false;
    for (int next = lane_next_turn(&t->turns, t->used, now * 1000); t->used < next; t->used++) {
        if (t->n_slots)
            t->give_back[t->n_give_back++] = t->slots[--t->n_slots];
        t->probe_back = t->probe;
    }
    if (t->used < t->turns.n)
        return true;
    turnstile_drop(t);
    return false;
}

int turnstile_due(const struct turnstile *t, int64_t now) {
    return t->turns.n ? lane_turns_due(&t->turns, t->used, now * 1000) : 0;
}

static void take_grant(struct turnstile *t, const struct lane_turns *got, int64_t now) {
    const struct lane_grant *grant = &got->grant;
    t->why = grant->why;
    t->troubled = got->troubled;
    if (grant->why != LANE_GO) {
        int64_t wait = grant->wait_ms;
        if (wait < 0)
            wait = grant->why == LANE_PAUSED ? RESUMED_LOOK_MS : FULL_LOOK_MS;
        enrich_lane_state(t->index, t->why, wait);
        t->ask_at = now + (wait < 1 ? 1 : wait < RESUMED_LOOK_MS ? wait : RESUMED_LOOK_MS);
        return;
    }
    enrich_lane_state(t->index, t->why, 0);
    t->turns = *grant;
    t->turns.start_us += now * 1000;
    t->turns.until_us += now * 1000;
    t->used = 0;
    t->probe = grant->probe;
    t->open = t->open && grant->probe;
    t->n_slots = got->n_slots;
    memcpy(t->slots, got->slots, got->n_slots * sizeof t->slots[0]);
}

enum verdict turnstile_ask(struct turnstile *t, struct store *s, size_t want, int64_t now,
                           struct err *e) {
    struct lane_turns turns;
    const struct lane_ask ask = {
        .name = t->name,
        .holder = t->holder,
        .want = (int)want,
        .hold_ms = t->call_ms + SLOT_GRACE_MS,
        .give_back = t->give_back,
        .n_give_back = t->n_give_back,
        .probe_back = t->probe_back,
    };
    enum verdict v = store_lane_take(s, &ask, &turns, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_turns_taken");
    t->n_give_back = 0;
    t->probe_back = false;
    take_grant(t, &turns, now);
    return V_OK;
}

int turnstile_use(struct turnstile *t) {
    t->used++;
    t->in_flight++;
    metric_set(&m_enrich_in_flight, t->index, t->in_flight);
    return t->n_slots ? t->slots[--t->n_slots] : -1;
}

void turnstile_ended(struct turnstile *t, int slot, int64_t now) {
    t->in_flight--;
    if (slot >= 0)
        t->give_back[t->n_give_back++] = slot;
    t->give_by = now + GIVE_BACK_MS;
    if (t->why == LANE_FULL)
        t->ask_at = 0;
    metric_set(&m_enrich_in_flight, t->index, t->in_flight);
}

void turnstile_undo(struct turnstile *t, int slot, bool probe) {
    t->in_flight--;
    if (slot >= 0)
        t->give_back[t->n_give_back++] = slot;
    t->probe_back = t->probe_back || probe;
    metric_set(&m_enrich_in_flight, t->index, t->in_flight);
}

/* A wait that comes with no trouble is part of every day. */
static bool is_worth_a_line(const struct turn_report *r, const struct lane_told *told) {
    return told->changed || (r->result == LANE_WAIT && r->err_class);
}

static void log_lane(const struct turnstile *t, const struct turn_report *r, int64_t wait_ms) {
    char name[LANE_NAME_MAX + 1], error[ERROR_MAX];
    snprintf(name, sizeof name, "%.*s", STR_FMT(t->name));
    snprintf(error, sizeof error, "%.*s", STR_FMT(r->error));
    if (r->result == LANE_WAIT) {
        log_warn("the provider asks us to wait", LS("lane", name), LS("class", r->err_class),
                 LI("wait_ms", wait_ms < LANE_WAIT_MAX_MS ? wait_ms : LANE_WAIT_MAX_MS));
        return;
    }
    log_warn(r->result == LANE_AUTH ? "the provider refuses us: the lane is paused"
             : r->result == LANE_OK ? "the provider is well again"
                                    : "the provider is ill: its lane waits",
             LS("lane", name), LS("class", r->err_class ? r->err_class : "ok"), LS("error", error));
}

enum verdict turnstile_tell(struct turnstile *t, struct store *s, const struct turn_report *r,
                            struct err *e) {
    struct lane_told told;
    t->cautious = r->result != LANE_OK;
    t->failures = 0;
    if (r->result == LANE_OK && !t->troubled && !r->probe && !t->open)
        return V_OK;
    int64_t wait = r->retry_after_ms >= 0 ? r->retry_after_ms : WAIT_DEFAULT_MS;
    enum verdict v = store_lane_report(s, t->name, r->result, wait, &told, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_lane_told");
    t->troubled = r->result != LANE_OK;
    t->open = told.open;
    t->open_ms = told.open_ms;
    t->failures = told.failures;
    if (r->result != LANE_OK)
        turnstile_drop(t); /* what was granted to a lane that was well */
    if (is_worth_a_line(r, &told))
        log_lane(t, r, wait);
    return V_OK;
}

static bool has_to_give_back(const struct turnstile *t) {
    return t->n_give_back || t->probe_back;
}

/* Slots, and a probe that nobody used. */
static enum verdict give_back(struct turnstile *t, struct store *s, struct err *e) {
    struct lane_turns none;
    const struct lane_ask ask = {
        .name = t->name,
        .holder = t->holder,
        .give_back = t->give_back,
        .n_give_back = t->n_give_back,
        .probe_back = t->probe_back,
    };
    fault_hit("enrich_before_give_back");
    enum verdict v = t->probe_back ? store_lane_take(s, &ask, &none, e)
                                   : store_lane_give_back(s, t->name, t->holder, t->give_back,
                                                          t->n_give_back, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_after_give_back");
    t->n_give_back = 0;
    t->probe_back = false;
    return V_OK;
}

enum verdict turnstile_tidy(struct turnstile *t, struct store *s, int64_t now, struct err *e) {
    if (now == NO_DEADLINE)
        turnstile_drop(t);
    else if (t->turns.n && !turnstile_has(t, now))
        t->give_by = now; /* somebody else may wait for these slots */
    return has_to_give_back(t) && now >= t->give_by ? give_back(t, s, e) : V_OK;
}

/* When the last of the turns in hand is lost, and its slot with it, or the probe that it is. */
static int64_t turns_end(const struct turnstile *t) {
    if (t->turns.n == 0 || (t->n_slots == 0 && !t->probe))
        return NO_DEADLINE;
    return (t->turns.until_us + (t->turns.n - 1) * t->turns.interval_us) / 1000 + 1;
}

int64_t turnstile_next(const struct turnstile *t, bool work) {
    int64_t next = has_to_give_back(t) ? t->give_by : NO_DEADLINE, when = turns_end(t);
    if (when < next)
        next = when;
    if (!work)
        return next;
    if (t->used < t->turns.n)
        when = (t->turns.start_us + t->used * t->turns.interval_us + 999) / 1000;
    else
        when = turnstile_wants(t, 1) ? t->ask_at : NO_DEADLINE;
    return when < next ? when : next;
}
