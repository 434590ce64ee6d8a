/* Lanes: the limit in any window, the share of it that is used, and what keeps a lane from calling.
 */
#include "policy/lane.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)
#define T0 (INT64_C(1700000000) * SECOND)
#define MS(us) ((us) / 1000)

static const struct lane_limits per_minute = {50, 60000, 5};
static const struct lane_limits open_ended = {0, 60000, 0};

static struct lane_grant take(struct lane_state *st, const struct lane_limits *l, int64_t now,
                              int want, int free_slots) {
    struct lane_grant g;
    lane_take(st, l, now, want, free_slots, &g);
    return g;
}

static enum lane_why why(struct lane_state *st, int64_t now) {
    return take(st, &per_minute, now, 1, 5).why;
}

/* --- the limit, by simulation --- */

enum use { USE_SOONEST, USE_LATEST, USE_ANYHOW };

struct sim {
    struct lane_limits l;
    int holders;
    int64_t length_us;
    enum use use;
    int lost_percent; /* of the turns */
    int64_t stall_us; /* a holder looks again after up to this */
};

struct starts {
    int64_t *at;
    size_t n, cap;
};

static void start_at(struct starts *s, int64_t t) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->at = xrealloc(s->at, s->cap * sizeof s->at[0]);
    }
    s->at[s->n++] = t;
}

static int earlier(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void use_grant(const struct sim *m, const struct lane_grant *g, struct rng *rng,
                      struct starts *s) {
    for (int i = 0; i < g->n; i++) {
        int64_t from = g->start_us + i * g->interval_us, to = g->until_us + i * g->interval_us - 1;
        if ((int)rng_below(rng, 100) < m->lost_percent)
            continue;
        bool late = m->use == USE_LATEST || (m->use == USE_ANYHOW && rng_below(rng, 3) == 0);
        start_at(s, m->use == USE_SOONEST ? from
                    : late                ? to
                                          : from + (int64_t)rng_below(rng, (uint64_t)(to - from)));
    }
}

static struct starts run(const struct sim *m, uint64_t seed) {
    struct rng rng = {seed};
    struct lane_state st = {0};
    struct starts s = {0};
    int most = lane_lease_most(&m->l);
    for (int64_t now = T0; now < T0 + m->length_us;) {
        int want = 1 + (int)rng_below(&rng, (uint64_t)most * 2);
        struct lane_grant g = take(&st, &m->l, now, want, 0);
        if (g.why == LANE_GO) {
            assert_in_range(g.n, 1, want < most ? want : most);
            assert_true(g.start_us >= now && g.until_us > g.start_us);
            use_grant(m, &g, &rng, &s);
        } else {
            assert_int_equal(g.why, LANE_PACED);
            assert_true(g.wait_ms > 0);
            now += g.wait_ms * 1000;
        }
        if (m->stall_us)
            now += (int64_t)rng_below(&rng, (uint64_t)m->stall_us);
    }
    if (s.n)
        qsort(s.at, s.n, sizeof s.at[0], earlier);
    while (s.n && s.at[s.n - 1] >= T0 + m->length_us)
        s.n--;
    return s;
}

static void assert_limit(const struct sim *m, const struct starts *s, uint64_t seed) {
    size_t most = (size_t)m->l.per_window;
    for (size_t i = 0; i + most < s->n; i++)
        if (s->at[i + most] - s->at[i] <= m->l.window_ms * 1000)
            fail_msg("seed %llu: %d per %lld ms, but %zu within %lld us", (unsigned long long)seed,
                     m->l.per_window, (long long)m->l.window_ms, most + 1,
                     (long long)(s->at[i + most] - s->at[i]));
}

static void no_window_holds_more_than_its_limit(void **state UNUSED) {
    static const struct lane_limits limits[] = {
        {50, 60000, 0},  {1, 60000, 0},       {30, 60000, 0}, {6000, 60000, 0}, {100, 1000, 0},
        {7777, 1000, 0}, {10000, 3600000, 0}, {5, 1000, 0},   {1, 1000, 0},     {60000, 1000, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            struct sim m = {.l = limits[i], .use = (enum use)(seed % 3)};
            m.lost_percent = seed % 2 ? 0 : 20;
            m.stall_us = seed % 4 ? limits[i].window_ms * 1000 / limits[i].per_window : 0;
            m.length_us = limits[i].window_ms * 1000 * (limits[i].per_window > 5000 ? 3 : 20);
            struct starts s = run(&m, seed);
            assert_true(s.n > 0);
            assert_limit(&m, &s, seed);
            free(s.at);
        }
}

static void under_load_the_budget_is_used(void **state UNUSED) {
    static const struct lane_limits limits[] = {
        {50, 60000, 0},  {1, 60000, 0},       {6000, 60000, 0},  {100, 1000, 0},
        {7777, 1000, 0}, {10000, 3600000, 0}, {100000, 1000, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        int windows = limits[i].per_window == 1 ? 1000 : limits[i].per_window > 5000 ? 3 : 60;
        const struct sim m = {.l = limits[i],
                              .length_us = limits[i].window_ms * 1000 * windows,
                              .use = USE_SOONEST,
                              .stall_us = 2000};
        struct starts s = run(&m, 7);
        size_t budget = (size_t)limits[i].per_window * (size_t)windows;
        if (s.n * 100 < budget * 95 || s.n > budget)
            fail_msg("case %zu: %zu of %zu", i, s.n, budget);
        assert_limit(&m, &s, 7);
        free(s.at);
    }
}

/* --- pace --- */

static void turns_are_paced(void **state UNUSED) {
    struct lane_state st = {0};
    struct lane_grant g = take(&st, &per_minute, T0, 10, 5);
    assert_int_equal(g.why, LANE_GO);
    assert_int_equal(g.n, 1);
    assert_int_equal(g.start_us, T0);
    assert_int_equal(st.tat_us - T0, 1224490); /* 60 s / 49, rounded up */
    assert_in_range(g.until_us - T0, SECOND / 2, SECOND);
    g = take(&st, &per_minute, T0, 1, 5);
    assert_int_equal(g.why, LANE_PACED);
    assert_int_equal(g.n, 0);
    assert_int_equal(g.wait_ms, 725); /* half a second ahead of its time */
    assert_int_equal(st.tat_us - T0, 1224490);
    g = take(&st, &per_minute, T0 + g.wait_ms * 1000, 1, 5);
    assert_int_equal(g.why, LANE_GO);
    assert_int_equal(g.start_us, T0 + 1224490);
}

static void idle_time_is_not_saved_up(void **state UNUSED) {
    struct lane_state st = {0};
    take(&st, &per_minute, T0, 1, 5);
    int64_t later = T0 + 3600 * SECOND;
    assert_int_equal(take(&st, &per_minute, later, 50, 50).n, 1);
    assert_int_equal(why(&st, later), LANE_PACED);
}

static void nothing_is_taken_by_a_look(void **state UNUSED) {
    struct lane_state st = {.breaker = BREAKER_OPEN, .breaker_until_ms = MS(T0)};
    const struct lane_state before = st;
    struct lane_grant g = take(&st, &per_minute, T0, 0, 5);
    assert_int_equal(g.why, LANE_GO);
    assert_int_equal(g.n, 0);
    assert_memory_equal(&st, &before, sizeof st);
    assert_int_equal(take(&st, &per_minute, T0, -3, 5).n, 0);
}

static void lease_sizes(void **state UNUSED) {
    static const struct {
        struct lane_limits l;
        int most;
    } cases[] = {
        {{50, 60000, 0}, 1},      {{1, 60000, 0}, 1},      {{599, 60000, 0}, 1},
        {{600, 60000, 0}, 2},     {{6000, 60000, 0}, 20},  {{100, 1000, 0}, 20},
        {{10000, 3600000, 0}, 1}, {{5000, 1000, 0}, 1000}, {{INT32_MAX, 1000, 0}, 1000},
        {{0, 60000, 0}, 1000},    {{0, 0, 0}, 1000},       {{1, LANE_WINDOW_MAX_MS, 0}, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (lane_lease_most(&cases[i].l) != cases[i].most)
            fail_msg("case %zu: %d", i, lane_lease_most(&cases[i].l));
}

static void without_a_limit_all_go(void **state UNUSED) {
    struct lane_state st = {0};
    for (int i = 0; i < 5; i++) {
        struct lane_grant g = take(&st, &open_ended, T0, 5000, 0);
        assert_int_equal(g.why, LANE_GO);
        assert_int_equal(g.n, LANE_LEASE_MAX);
        assert_int_equal(g.start_us, T0);
        assert_int_equal(lane_turns_due(&g, 0, T0), LANE_LEASE_MAX);
        assert_int_equal(lane_next_turn(&g, 3, T0), 3);
        assert_int_equal(lane_next_turn(&g, 3, g.until_us), LANE_LEASE_MAX);
    }
    assert_int_equal(st.tat_us, 0);
}

static void slots_bound_a_lease(void **state UNUSED) {
    const struct lane_limits l = {0, 60000, 8};
    struct lane_state st = {0};
    assert_int_equal(take(&st, &l, T0, 100, 3).n, 3);
    struct lane_grant g = take(&st, &l, T0, 100, 0);
    assert_int_equal(g.why, LANE_FULL);
    assert_int_equal(g.n, 0);
    assert_true(g.wait_ms > 0);
    const struct lane_limits fast = {60000, 60000, 8};
    assert_int_equal(take(&st, &fast, T0, 100, 5).n, 5);
    assert_int_equal(take(&st, &fast, T0, 100, -1).why, LANE_FULL);
}

static void each_turn_has_its_own_time(void **state UNUSED) {
    const struct lane_grant g = {
        .why = LANE_GO, .n = 4, .start_us = 1000, .interval_us = 100, .until_us = 1150};
    static const struct {
        int64_t now;
        int used, next, due;
    } cases[] = {
        {0, 0, 0, 0},    {999, 0, 0, 0},  {1000, 0, 0, 1}, {1000, 1, 1, 0}, {1100, 0, 0, 2},
        {1149, 0, 0, 2}, {1150, 0, 1, 1}, {1250, 0, 2, 1}, {1250, 3, 3, 0}, {1349, 0, 2, 2},
        {1449, 0, 3, 1}, {1450, 0, 4, 0}, {9999, 2, 4, 0}, {1000, 4, 4, 0}, {1000, 9, 4, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int next = lane_next_turn(&g, cases[i].used, cases[i].now);
        int due = lane_turns_due(&g, next, cases[i].now);
        if (next != cases[i].next || due != cases[i].due)
            fail_msg("case %zu: %d %d", i, next, due);
    }
}

/* --- what keeps it --- */

static void a_wait_is_kept(void **state UNUSED) {
    struct lane_state st = {0};
    assert_false(lane_report(&st, LANE_WAIT, 30000, MS(T0)));
    struct lane_grant g = take(&st, &per_minute, T0, 1, 5);
    assert_int_equal(g.why, LANE_NOT_BEFORE);
    assert_int_equal(g.wait_ms, 30000);
    lane_report(&st, LANE_WAIT, 10000, MS(T0)); /* shorter: the longer one stays */
    assert_int_equal(why(&st, T0 + 29999 * 1000), LANE_NOT_BEFORE);
    assert_int_equal(why(&st, T0 + 30000 * 1000), LANE_GO);
    assert_int_equal(st.failures, 0);
    lane_report(&st, LANE_WAIT, -1, MS(T0 + 60 * SECOND));
    assert_int_equal(st.not_before_ms, MS(T0) + 60000 + LANE_WAIT_UNSAID_MS);
    lane_report(&st, LANE_WAIT, INT64_MAX, MS(T0));
    assert_int_equal(st.not_before_ms, MS(T0) + LANE_WAIT_MAX_MS);
}

static bool failed(struct lane_state *st, int64_t now) {
    return lane_report(st, LANE_TRANSIENT, -1, MS(now));
}

static void trip(struct lane_state *st, int64_t now) {
    for (int i = 1; i < LANE_TRIP_AFTER; i++)
        assert_false(failed(st, now));
    assert_int_equal(st->breaker, BREAKER_CLOSED);
    assert_true(failed(st, now));
    assert_int_equal(st->breaker, BREAKER_OPEN);
}

static void failures_in_a_row_open_it(void **state UNUSED) {
    struct lane_state st = {0};
    for (int i = 0; i < 4; i++)
        failed(&st, T0);
    assert_false(lane_report(&st, LANE_OK, -1, MS(T0)));
    assert_int_equal(st.failures, 0);
    trip(&st, T0);
    struct lane_grant g = take(&st, &per_minute, T0, 1, 5);
    assert_int_equal(g.why, LANE_BREAKER);
    assert_int_equal(g.wait_ms, LANE_OPEN_MS);
    /* what was under way does not make it worse */
    for (int i = 0; i < 20; i++)
        assert_false(failed(&st, T0 + SECOND));
    assert_int_equal(st.breaker_until_ms, MS(T0) + LANE_OPEN_MS);
}

static void one_probe_goes_first(void **state UNUSED) {
    struct lane_state st = {0};
    int64_t now = T0;
    trip(&st, now);
    now += LANE_OPEN_MS * 1000;
    assert_int_equal(why(&st, now - 1000), LANE_BREAKER);
    struct lane_grant g = take(&st, &open_ended, now, 100, 0);
    assert_int_equal(g.why, LANE_GO);
    assert_int_equal(g.n, 1);
    assert_true(g.probe);
    for (int i = 0; i < 59; i++) {
        g = take(&st, &open_ended, now + i * SECOND, 100, 0);
        assert_int_equal(g.why, LANE_BREAKER);
        assert_in_range(g.wait_ms, 1, 1000);
    }
    assert_true(lane_report(&st, LANE_OK, -1, MS(now)));
    g = take(&st, &open_ended, now, 100, 0);
    assert_int_equal(g.n, 100);
    assert_false(g.probe);
    assert_int_equal(st.trips, 0);
}

static void a_lost_probe_is_replaced(void **state UNUSED) {
    struct lane_state st = {0};
    trip(&st, T0);
    int64_t now = T0 + LANE_OPEN_MS * 1000;
    assert_true(take(&st, &open_ended, now, 1, 0).probe);
    assert_int_equal(take(&st, &open_ended, now + 59999 * 1000, 1, 0).why, LANE_BREAKER);
    now += LANE_PROBE_MS * 1000;
    assert_true(take(&st, &open_ended, now, 1, 0).probe);
    assert_int_equal(take(&st, &open_ended, now, 1, 0).why, LANE_BREAKER);
    lane_return_probe(&st, MS(now)); /* and one that was not used at once */
    assert_true(take(&st, &open_ended, now, 1, 0).probe);
    lane_report(&st, LANE_OK, -1, MS(now));
    lane_return_probe(&st, MS(now));
    assert_int_equal(st.breaker, BREAKER_CLOSED);
}

static void the_wait_doubles(void **state UNUSED) {
    static const int64_t waits[] = {5000, 10000, 20000, 40000, 80000, 160000, 300000, 300000};
    struct lane_state st = {0};
    int64_t now = T0;
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        if (i == 0)
            trip(&st, now);
        else
            assert_true(failed(&st, now)); /* the probe's */
        assert_int_equal(take(&st, &open_ended, now, 1, 0).wait_ms, waits[i]);
        now += waits[i] * 1000;
        assert_true(take(&st, &open_ended, now, 1, 0).probe);
    }
    lane_report(&st, LANE_OK, -1, MS(now));
    trip(&st, now);
    assert_int_equal(take(&st, &open_ended, now, 1, 0).wait_ms, LANE_OPEN_MS);
}

static void a_probe_waits_for_turn_and_slot(void **state UNUSED) {
    struct lane_state st = {0};
    trip(&st, T0);
    int64_t now = T0 + LANE_OPEN_MS * 1000;
    assert_int_equal(take(&st, &per_minute, now, 1, 0).why, LANE_FULL);
    assert_int_equal(st.breaker, BREAKER_OPEN);
    st.tat_us = now + 2 * SECOND;
    assert_int_equal(take(&st, &per_minute, now, 1, 5).why, LANE_PACED);
    assert_int_equal(st.breaker, BREAKER_OPEN);
    assert_true(take(&st, &per_minute, now + 2 * SECOND, 1, 5).probe);
}

static void a_probe_that_must_wait_decides_nothing(void **state UNUSED) {
    struct lane_state st = {0};
    trip(&st, T0);
    int64_t now = T0 + LANE_OPEN_MS * 1000;
    assert_true(take(&st, &open_ended, now, 1, 0).probe);
    assert_false(lane_report(&st, LANE_WAIT, 7000, MS(now)));
    assert_int_equal(take(&st, &open_ended, now + 6999 * 1000, 1, 0).why, LANE_NOT_BEFORE);
    assert_true(take(&st, &open_ended, now + 7000 * 1000, 1, 0).probe);
    assert_int_equal(st.trips, 1);
}

static void a_refusal_pauses_it(void **state UNUSED) {
    struct lane_state st = {0};
    assert_true(lane_report(&st, LANE_AUTH, -1, MS(T0)));
    assert_false(lane_report(&st, LANE_AUTH, -1, MS(T0)));
    assert_false(lane_report(&st, LANE_OK, -1, MS(T0))); /* of another call, under way before */
    struct lane_grant g = take(&st, &per_minute, T0 + 9999 * SECOND, 1, 5);
    assert_int_equal(g.why, LANE_PAUSED);
    assert_int_equal(g.wait_ms, -1);
    assert_int_equal(st.pause, LANE_PAUSED_AUTH);
    st = (struct lane_state){.pause = LANE_PAUSED_BY_HAND};
    assert_false(lane_report(&st, LANE_AUTH, -1, MS(T0)));
    assert_int_equal(st.pause, LANE_PAUSED_BY_HAND);
}

static void a_wrong_clock_freezes_nothing(void **state UNUSED) {
    const int64_t far = T0 + 86400 * SECOND;
    struct lane_state st = {.tat_us = far, .not_before_ms = MS(far)};
    struct lane_grant g = take(&st, &per_minute, T0, 1, 5);
    assert_int_equal(g.why, LANE_GO);
    assert_int_equal(g.start_us, T0);
    st = (struct lane_state){.breaker = BREAKER_OPEN, .breaker_until_ms = MS(far)};
    assert_true(take(&st, &per_minute, T0, 1, 5).probe);
    st = (struct lane_state){.breaker = BREAKER_HALF_OPEN, .breaker_until_ms = MS(far)};
    assert_true(take(&st, &per_minute, T0, 1, 5).probe);
    st = (struct lane_state){.not_before_ms = MS(far)};
    lane_report(&st, LANE_WAIT, 1000, MS(T0));
    assert_int_equal(st.not_before_ms, MS(T0) + 1000);
    st = (struct lane_state){.tat_us = INT64_MIN / 2, .not_before_ms = INT64_MIN / 2};
    assert_int_equal(why(&st, T0), LANE_GO);
    /* a turn an hour ahead is right where there is one in an hour */
    const struct lane_limits hourly = {1, 3600000, 0};
    st = (struct lane_state){0};
    assert_int_equal(take(&st, &hourly, T0, 1, 0).why, LANE_GO);
    g = take(&st, &hourly, T0, 1, 0);
    assert_int_equal(g.why, LANE_PACED);
    assert_in_range(g.wait_ms, 3600000, 3700000);
}

static void every_reason_has_a_name(void **state UNUSED) {
    for (int i = 0; i < LANE_WHYS; i++)
        assert_string_not_equal(lane_why_name((enum lane_why)i), "?");
    assert_string_equal(lane_why_name(LANE_WHYS), "?");
    assert_string_equal(lane_why_name(LANE_NOT_BEFORE), "not_before");
}

static void budget_of_the_coming_window(void **state) {
    (void)state;
    const struct lane_limits l = {.per_window = 50, .window_ms = 60000, .slots = 5};
    const int64_t now = INT64_C(1700000000000000);
    struct lane_state st = {0};
    struct lane_grant g;
    assert_int_equal(lane_budget_left(&st, &l, now), 49); /* 0.98 of it */
    lane_take(&st, &l, now, 1, 5, &g);
    assert_int_equal(lane_budget_left(&st, &l, now), 48);
    st.not_before_ms = now / 1000 + 30000;
    assert_in_range(lane_budget_left(&st, &l, now), 24, 25);
    st.not_before_ms = now / 1000 + 60000;
    assert_int_equal(lane_budget_left(&st, &l, now), 0);
    st.not_before_ms = 0;
    st.breaker = BREAKER_OPEN;
    st.breaker_until_ms = now / 1000 + 45000;
    assert_in_range(lane_budget_left(&st, &l, now), 12, 13);
    st.breaker = BREAKER_CLOSED;
    st.pause = LANE_PAUSED_BY_HAND;
    assert_int_equal(lane_budget_left(&st, &l, now), 0);
    assert_int_equal(lane_budget_left(&st, &(struct lane_limits){.slots = 5}, now), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_window_holds_more_than_its_limit),
        cmocka_unit_test(budget_of_the_coming_window),
        cmocka_unit_test(under_load_the_budget_is_used),
        cmocka_unit_test(turns_are_paced),
        cmocka_unit_test(idle_time_is_not_saved_up),
        cmocka_unit_test(nothing_is_taken_by_a_look),
        cmocka_unit_test(lease_sizes),
        cmocka_unit_test(without_a_limit_all_go),
        cmocka_unit_test(slots_bound_a_lease),
        cmocka_unit_test(each_turn_has_its_own_time),
        cmocka_unit_test(a_wait_is_kept),
        cmocka_unit_test(failures_in_a_row_open_it),
        cmocka_unit_test(one_probe_goes_first),
        cmocka_unit_test(a_lost_probe_is_replaced),
        cmocka_unit_test(the_wait_doubles),
        cmocka_unit_test(a_probe_waits_for_turn_and_slot),
        cmocka_unit_test(a_probe_that_must_wait_decides_nothing),
        cmocka_unit_test(a_refusal_pauses_it),
        cmocka_unit_test(a_wrong_clock_freezes_nothing),
        cmocka_unit_test(every_reason_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
