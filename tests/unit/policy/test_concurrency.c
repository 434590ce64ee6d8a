/* The adaptive window: its bounds, when it grows, when and how often it shrinks. */
#include "policy/concurrency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void starts_within_its_bounds(void **state UNUSED) {
    static const struct {
        int start, ceiling, limit, floor;
    } cases[] = {
        {64, 256, 64, CONCURRENCY_FLOOR},
        {64, 16, 16, CONCURRENCY_FLOOR},
        {64, 64, 64, CONCURRENCY_FLOOR},
        {64, 2, 2, 2},
        {64, 1, 1, 1},
        {64, 0, 1, 1},
        {64, -5, 1, 1},
        {0, 256, CONCURRENCY_FLOOR, CONCURRENCY_FLOOR},
        {-9, 256, CONCURRENCY_FLOOR, CONCURRENCY_FLOOR},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct concurrency c;
        concurrency_init(&c, cases[i].start, cases[i].ceiling);
        if (concurrency_limit(&c) != cases[i].limit || c.floor != cases[i].floor)
            fail_msg("case %zu: limit %d, floor %d", i, concurrency_limit(&c), c.floor);
    }
}

/* `n` answers at one instant, the window in full use. */
static void answers(struct concurrency *c, int n, int64_t now_ms, double latency_ms) {
    for (int i = 0; i < n; i++)
        concurrency_ok(c, now_ms, latency_ms, concurrency_limit(c));
}

static void grows_by_a_step_per_window(void **state UNUSED) {
    struct concurrency c;
    concurrency_init(&c, 16, 64);
    answers(&c, 16, 0, 50);
    assert_in_range(concurrency_limit(&c), 16, 17);
    answers(&c, 2, 0, 50);
    assert_int_equal(concurrency_limit(&c), 17);
    struct concurrency wide;
    concurrency_init(&wide, 64, 256);
    answers(&wide, 64 + 4, 0, 50);
    assert_in_range(concurrency_limit(&wide), 67, 69);
}

static void stops_at_the_ceiling(void **state UNUSED) {
    struct concurrency c;
    concurrency_init(&c, 64, 100);
    for (int i = 0; i < 20000; i++) {
        concurrency_ok(&c, i, 50, concurrency_limit(&c));
        assert_true(c.limit <= 100);
    }
    assert_int_equal(concurrency_limit(&c), 100);
    concurrency_init(&c, 1, 1);
    answers(&c, 100, 0, 50);
    assert_int_equal(concurrency_limit(&c), 1);
}

static void grows_only_when_in_use(void **state UNUSED) {
    static const struct {
        int inflight;
        bool grows;
    } cases[] = {{0, false}, {1, false}, {32, false}, {47, false}, {48, true}, {64, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct concurrency c;
        concurrency_init(&c, 64, 256);
        concurrency_ok(&c, 0, 50, cases[i].inflight);
        if ((c.limit > 64) != cases[i].grows)
            fail_msg("inflight %d: limit %f", cases[i].inflight, c.limit);
        if (!cases[i].grows)
            assert_true(c.limit == 64);
    }
}

static void one_decrease_per_half_second(void **state UNUSED) {
    static const struct {
        int64_t at_ms;
        int want;
    } steps[] = {
        {1000, 70}, {1000, 70}, {1001, 70}, {1499, 70}, {1500, 49},
        {1501, 49}, {1999, 49}, {2000, 34}, {9000, 24},
    };
    struct concurrency c;
    concurrency_init(&c, 100, 256);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        concurrency_overload(&c, steps[i].at_ms);
        if (concurrency_limit(&c) != steps[i].want)
            fail_msg("step %zu: %d, wanted %d", i, concurrency_limit(&c), steps[i].want);
    }
}

static void first_decrease_counts_at_any_time(void **state UNUSED) {
    static const int64_t times[] = {0, 1, 499, 1700000000000, -5};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct concurrency c;
        concurrency_init(&c, 100, 256);
        concurrency_overload(&c, times[i]);
        assert_int_equal(concurrency_limit(&c), 70);
    }
}

static void stops_at_the_floor_and_comes_back(void **state UNUSED) {
    struct concurrency c;
    concurrency_init(&c, 64, 256);
    int64_t now = 0;
    for (int i = 0; i < 100; i++, now += 500) {
        concurrency_overload(&c, now);
        assert_true(concurrency_limit(&c) >= CONCURRENCY_FLOOR);
    }
    assert_int_equal(concurrency_limit(&c), CONCURRENCY_FLOOR);
    int round_trips = 0;
    for (; concurrency_limit(&c) < 256 && round_trips < 1000; round_trips++, now += 100)
        answers(&c, concurrency_limit(&c), now, 100);
    assert_in_range(round_trips, 50, 100);
}

/* One second of calm at `best`, then `n` answers at `slow`, spread over ten seconds. */
static int limit_after(double best, double slow, int n) {
    struct concurrency c;
    concurrency_init(&c, 64, 64);
    for (int i = 0; i < 1000; i++)
        concurrency_ok(&c, i, best, 64);
    assert_int_equal(concurrency_limit(&c), 64);
    for (int i = 0; i < n; i++)
        concurrency_ok(&c, 1000 + (int64_t)i * 10000 / n, slow, 64);
    return concurrency_limit(&c);
}

static void latency_shrinks_only_far_above_its_best(void **state UNUSED) {
    static const struct {
        double best, slow;
        bool shrinks;
    } cases[] = {
        {0, 0, false},     {0.3, 15, false}, /* a saturated loopback */
        {0.3, 190, false}, {1, 201, false},  /* the best rises a little meanwhile */
        {1, 300, true},    {0, 300, true},     {50, 190, false},  {50, 240, false},
        {50, 400, true},   {100, 390, false}, /* over 200 ms above, not 4 times */
        {100, 700, true},  {400, 1500, false}, {400, 2500, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int limit = limit_after(cases[i].best, cases[i].slow, 2000);
        if ((limit < 64) != cases[i].shrinks)
            fail_msg("case %zu: limit %d", i, limit);
    }
}

static void one_slow_answer_is_not_overload(void **state UNUSED) {
    assert_int_equal(limit_after(20, 2000, 1), 64);
    assert_true(limit_after(20, 2000, 100) < 64);
}

static void latency_decrease_waits_a_round_trip(void **state UNUSED) {
    struct concurrency c;
    concurrency_init(&c, 100, 100);
    concurrency_ok(&c, 0, 10, 100);
    int decreases = 0;
    for (int64_t now = 1; now <= 4000; now++) {
        double before = c.limit;
        concurrency_ok(&c, now, 2000, 100);
        decreases += c.limit < before;
    }
    /* 500 ms apart while the smoothed latency is below that, then about 2 s */
    assert_in_range(decreases, 2, 4);
}

static void a_window_that_is_slow_does_not_grow(void **state UNUSED) {
    struct concurrency c;
    concurrency_init(&c, 64, 256);
    concurrency_ok(&c, 0, 10, 1);
    for (int i = 0; i < 300; i++)
        concurrency_ok(&c, 1, 2000, 1);
    double before = c.limit;
    answers(&c, 100, 2, 2000);
    assert_true(c.limit <= before);
}

static void the_best_follows_a_lasting_change(void **state UNUSED) {
    struct concurrency c;
    concurrency_init(&c, 64, 64);
    concurrency_ok(&c, 0, 100, 64);
    for (int64_t now = 1; now < 5000; now += 10)
        concurrency_ok(&c, now, 1000, 64);
    assert_true(c.best_ms < 200); /* slowly */
    for (int64_t now = 5000; now < 600000; now += 10)
        concurrency_ok(&c, now, 1000, 64);
    assert_true(c.best_ms > 900);
    assert_int_equal(concurrency_limit(&c), 64); /* and the window has grown back */
    concurrency_ok(&c, 600000, 1000, 64);
    double before = c.best_ms;
    concurrency_ok(&c, 599000, 1500, 64); /* a clock that goes back does no harm */
    assert_true(c.best_ms >= before && c.best_ms < 1001);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_within_its_bounds),
        cmocka_unit_test(grows_by_a_step_per_window),
        cmocka_unit_test(stops_at_the_ceiling),
        cmocka_unit_test(grows_only_when_in_use),
        cmocka_unit_test(one_decrease_per_half_second),
        cmocka_unit_test(first_decrease_counts_at_any_time),
        cmocka_unit_test(stops_at_the_floor_and_comes_back),
        cmocka_unit_test(latency_shrinks_only_far_above_its_best),
        cmocka_unit_test(one_slow_answer_is_not_overload),
        cmocka_unit_test(latency_decrease_waits_a_round_trip),
        cmocka_unit_test(a_window_that_is_slow_does_not_grow),
        cmocka_unit_test(the_best_follows_a_lasting_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
