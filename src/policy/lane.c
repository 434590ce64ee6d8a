#include "policy/lane.h"

#define SECOND_US INT64_C(1000000)
#define SLACK_US                                                                    \
    (60 * SECOND_US) /* a state further ahead than it can be plus this: wrong clock \
                      */
#define SLACK_MS (SLACK_US / 1000)
#define AHEAD_US (SECOND_US / 2)    /* the longest a single turn is given out ahead of its time */
#define GOOD_MAX_US (5 * SECOND_US) /* so that a pause is kept by all soon */
#define HALF_OPEN_LOOK_MS 1000      /* how often to ask what became of another one's probe */
#define LEASES_PER_SECOND 5

const char *lane_why_name(enum lane_why w) {
    static const char *const names[LANE_WHYS] = {
        [LANE_GO] = "go",           [LANE_PACED] = "paced",
        [LANE_FULL] = "full",       [LANE_NOT_BEFORE] = "not_before",
        [LANE_BREAKER] = "breaker", [LANE_PAUSED] = "paused",
    };
    return (size_t)w < ARRAY_LEN(names) ? names[w] : "?";
}

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static bool has_rate(const struct lane_limits *l) {
    return l->per_window > 0 && l->window_ms > 0;
}

static int64_t window_us(const struct lane_limits *l) {
    return min64(l->window_ms, LANE_WINDOW_MAX_MS) * 1000;
}

/* n turns at 0.98 of the limit, rounded up: a rate is a promise not to be faster. */
static int64_t span_us(const struct lane_limits *l, int n) {
    if (!has_rate(l))
        return 0;
    __int128 parts = (__int128)98 * l->per_window;
    return (int64_t)(((__int128)n * window_us(l) * 100 + parts - 1) / parts);
}

/* Rounded down, so that the turns of a lease do not outrun its span: with a whole lease that is a
 * millisecond early at most, which the quarter that good_us() leaves covers. */
static int64_t interval_us(const struct lane_limits *l) {
    return has_rate(l) ? (int64_t)((__int128)window_us(l) * 100 / ((__int128)98 * l->per_window))
                       : 0;
}

/* per_window turns span window / 0.98. A window can thus catch one too many only when one of them
 * is used later than the difference: a turn is good for three quarters of it. */
static int64_t good_us(const struct lane_limits *l) {
    if (!has_rate(l))
        return SECOND_US;
    int64_t w = window_us(l);
    return min64((w * 100 / 98 - w) / 4 * 3, GOOD_MAX_US);
}

int lane_lease_most(const struct lane_limits *l) {
    if (!has_rate(l))
        return LANE_LEASE_MAX;
    __int128 n = (__int128)l->per_window * SECOND_US / window_us(l) / LEASES_PER_SECOND;
    return n < 1 ? 1 : n > LANE_LEASE_MAX ? LANE_LEASE_MAX : (int)n;
}

static int64_t ahead_us(const struct lane_limits *l) {
    int64_t lease = span_us(l, lane_lease_most(l));
    return min64(max64(span_us(l, 1), lease / 2), AHEAD_US);
}

/* What no clock that is right has written. */
static void mend(struct lane_state *st, const struct lane_limits *l, int64_t now_us) {
    int64_t now_ms = now_us / 1000;
    if (st->tat_us > now_us + SLACK_US + AHEAD_US + span_us(l, lane_lease_most(l)))
        st->tat_us = now_us;
    if (st->not_before_ms > now_ms + LANE_WAIT_MAX_MS + SLACK_MS)
        st->not_before_ms = 0;
    if (st->breaker_until_ms > now_ms + LANE_WAIT_MAX_MS + SLACK_MS)
        st->breaker_until_ms = now_ms;
}

static void refuse(struct lane_grant *ret, enum lane_why why, int64_t wait_ms) {
    ret->why = why;
    ret->wait_ms = wait_ms;
}

static int64_t wait_for(int64_t until_ms, int64_t now_us) {
    return until_ms - now_us / 1000;
}

/* Whether the provider may be called at all. */
static bool may_call(const struct lane_state *st, int64_t now_us, struct lane_grant *ret) {
    int64_t breaker_ms = wait_for(st->breaker_until_ms, now_us);
    int64_t asked_ms = wait_for(st->not_before_ms, now_us);
    if (st->pause != LANE_RUNS)
        refuse(ret, LANE_PAUSED, -1);
    else if (asked_ms > 0)
        refuse(ret, LANE_NOT_BEFORE, asked_ms);
    else if (st->breaker == BREAKER_OPEN && breaker_ms > 0)
        refuse(ret, LANE_BREAKER, breaker_ms);
    else if (st->breaker == BREAKER_HALF_OPEN && breaker_ms > 0)
        refuse(ret, LANE_BREAKER, min64(breaker_ms, HALF_OPEN_LOOK_MS));
    else
        return true;
    return false;
}

/* When it may: whether there is a turn and a slot. Who waits for a slot looks now and then, since
 * it is another process that gives it back. */
static bool has_room(const struct lane_state *st, const struct lane_limits *l, int64_t now_us,
                     int free_slots, struct lane_grant *ret) {
    int64_t early_us = has_rate(l) ? st->tat_us - now_us - ahead_us(l) : 0;
    int64_t paced_ms = early_us > 0 ? (early_us + 999) / 1000 : 0;
    int64_t look_ms = max64(50, min64(span_us(l, 1) / 4000, 500));
    if (l->slots > 0 && free_slots <= 0)
        refuse(ret, LANE_FULL, max64(paced_ms, look_ms));
    else if (paced_ms > 0)
        refuse(ret, LANE_PACED, paced_ms);
    else
        return true;
    return false;
}

static int how_many(const struct lane_state *st, const struct lane_limits *l, int want,
                    int free_slots) {
    int n = min64(want, lane_lease_most(l)) > 0 ? (int)min64(want, lane_lease_most(l)) : 0;
    if (l->slots > 0 && n > free_slots)
        n = free_slots;
    return st->breaker != BREAKER_CLOSED && n > 1 ? 1 : n;
}

void lane_take(struct lane_state *st, const struct lane_limits *l, int64_t now_us, int want,
               int free_slots, struct lane_grant *ret) {
    *ret = (struct lane_grant){.why = LANE_GO};
    mend(st, l, now_us);
    if (!may_call(st, now_us, ret) || !has_room(st, l, now_us, free_slots, ret))
        return;
    ret->n = how_many(st, l, want, free_slots);
    ret->start_us = has_rate(l) ? max64(st->tat_us, now_us) : now_us;
    ret->interval_us = interval_us(l);
    ret->until_us = ret->start_us + good_us(l);
    if (ret->n == 0)
        return;
    if (has_rate(l))
        st->tat_us = ret->start_us + span_us(l, ret->n);
    if (st->breaker != BREAKER_CLOSED) {
        st->breaker = BREAKER_HALF_OPEN;
        st->breaker_until_ms = ret->start_us / 1000 + LANE_PROBE_MS;
        ret->probe = true;
    }
}

int64_t lane_budget_left(const struct lane_state *st, const struct lane_limits *l, int64_t now_us) {
    if (!has_rate(l))
        return -1;
    struct lane_state now = *st;
    mend(&now, l, now_us);
    int64_t from = max64(max64(now.tat_us, now_us), now.not_before_ms * 1000);
    if (now.breaker != BREAKER_CLOSED)
        from = max64(from, now.breaker_until_ms * 1000);
    int64_t left = now_us + window_us(l) - from, each = max64(span_us(l, 1), 1);
    return now.pause != LANE_RUNS || left <= 0 ? 0 : (left + each - 1) / each;
}

void lane_return_probe(struct lane_state *st, int64_t now_ms) {
    if (st->breaker != BREAKER_HALF_OPEN)
        return;
    st->breaker = BREAKER_OPEN;
    st->breaker_until_ms = now_ms;
}

int lane_next_turn(const struct lane_grant *g, int used, int64_t now_us) {
    if (now_us < g->until_us + used * g->interval_us)
        return used < g->n ? used : g->n;
    if (g->interval_us == 0)
        return g->n;
    int64_t first = (now_us - g->until_us) / g->interval_us + 1;
    return first < g->n ? (int)first : g->n;
}

int lane_turns_due(const struct lane_grant *g, int used, int64_t now_us) {
    if (now_us < g->start_us || used >= g->n)
        return 0;
    int64_t came = g->interval_us > 0 ? (now_us - g->start_us) / g->interval_us + 1 : g->n;
    came = min64(came, g->n);
    return came > used ? (int)came - used : 0;
}

static void open_breaker(struct lane_state *st, int64_t now_ms) {
    int64_t wait = LANE_OPEN_MS;
    for (int i = 0; i < st->trips && wait < LANE_OPEN_MAX_MS; i++)
        wait *= 2;
    st->breaker = BREAKER_OPEN;
    st->breaker_until_ms = now_ms + min64(wait, LANE_OPEN_MAX_MS);
    if (wait < LANE_OPEN_MAX_MS)
        st->trips++;
}

static bool on_ok(struct lane_state *st) {
    bool was_open = st->breaker != BREAKER_CLOSED;
    st->breaker = BREAKER_CLOSED;
    st->breaker_until_ms = 0;
    st->failures = st->trips = 0;
    return was_open;
}

static bool on_failure(struct lane_state *st, int64_t now_ms) {
    if (st->breaker == BREAKER_OPEN)
        return false;
    if (st->failures < LANE_TRIP_AFTER)
        st->failures++;
    if (st->breaker == BREAKER_CLOSED && st->failures < LANE_TRIP_AFTER)
        return false;
    open_breaker(st, now_ms);
    return true;
}

/* A probe that was told to wait has decided nothing: the next one goes after the wait. */
static void on_wait(struct lane_state *st, int64_t retry_after_ms, int64_t now_ms) {
    int64_t wait = retry_after_ms < 0 ? LANE_WAIT_UNSAID_MS : retry_after_ms;
    int64_t until = now_ms + min64(wait, LANE_WAIT_MAX_MS);
    if (st->not_before_ms > now_ms + LANE_WAIT_MAX_MS + SLACK_MS || st->not_before_ms < until)
        st->not_before_ms = until;
    if (st->breaker != BREAKER_HALF_OPEN)
        return;
    st->breaker = BREAKER_OPEN;
    st->breaker_until_ms = until;
}

bool lane_report(struct lane_state *st, enum lane_result r, int64_t retry_after_ms,
                 int64_t now_ms) {
    switch (r) {
    case LANE_OK:
        return on_ok(st);
    case LANE_TRANSIENT:
        return on_failure(st, now_ms);
    case LANE_WAIT:
        on_wait(st, retry_after_ms, now_ms);
        return false;
    case LANE_AUTH:
        break;
    }
    if (st->pause != LANE_RUNS)
        return false;
    st->pause = LANE_PAUSED_AUTH;
    return true;
}
