/* Pace: the shared schedule, leases spent evenly, and the rate that several holders keep together.
 */
#include "policy/rate.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND 1000000

static void reserves_in_sequence(void **state UNUSED) {
    int64_t tat = 0;
    assert_int_equal(gcra_reserve(&tat, 5 * SECOND, 1000, 10), 5 * SECOND);
    assert_int_equal(tat, 5 * SECOND + 10000);
    assert_int_equal(gcra_reserve(&tat, 5 * SECOND, 1000, 1), 5 * SECOND + 10000);
    assert_int_equal(tat, 5 * SECOND + 11000);
    assert_int_equal(gcra_reserve(&tat, 5 * SECOND + 500, 1000, 1), 5 * SECOND + 11000);
}

static void idle_time_is_not_saved_up(void **state UNUSED) {
    int64_t tat = 0;
    gcra_reserve(&tat, 1 * SECOND, 10, 1);
    int64_t later = 3600LL * SECOND;
    assert_int_equal(gcra_reserve(&tat, later, 10, 1), later);
    assert_int_equal(gcra_reserve(&tat, later, 10, 1), later + SECOND / 10);
    assert_int_equal(gcra_reserve(&tat, later, 10, 1), later + 2 * SECOND / 10);
}

static void spans(void **state UNUSED) {
    static const struct {
        double rate;
        int n;
        int64_t span;
    } cases[] = {
        {1000, 1, 1000},
        {1000, 1000, SECOND},
        {0.5, 1, 2 * SECOND},
        {3, 1, 333334},
        {3, 3, SECOND},
        {7, 5, 714286},
        {30000, 1, 34},
        {30000, 6000, 200000},
        {980, 98, 100000},
        {1e9, 1, 1},
        {1000, 0, 0},
        {1000, -4, 0},
        {1e-300, 1, (int64_t)1 << 60}, /* a rate near nothing saturates */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t tat = 0;
        assert_int_equal(gcra_reserve(&tat, 0, cases[i].rate, cases[i].n), 0);
        if (tat != cases[i].span)
            fail_msg("case %zu: %lld, wanted %lld", i, (long long)tat, (long long)cases[i].span);
    }
}

static void saturated_state_does_not_overflow(void **state UNUSED) {
    int64_t tat = 0;
    for (int i = 0; i < 100; i++)
        assert_true(gcra_reserve(&tat, SECOND, 1e-300, INT32_MAX) >= SECOND);
    assert_true(tat > 0);
}

static void no_rate_is_no_limit(void **state UNUSED) {
    int64_t tat = 77 * SECOND;
    assert_int_equal(gcra_reserve(&tat, 5, 0, 100), 5);
    assert_int_equal(gcra_reserve(&tat, 5, -1, 100), 5);
    assert_int_equal(tat, 77 * SECOND);
}

static void turns_are_not_saved_up(void **state UNUSED) {
    static const struct {
        int used;
        int64_t now, slack;
        int want;
    } cases[] = {
        {0, 999, 0, 0},    {0, 1000, 0, 0},   {0, 1100, 0, 1},        {0, 1100, 100, 0},
        {0, 1250, 100, 1}, {2, 1250, 100, 2}, {0, 1900, 250, 7},      {0, 99999999, 250, 7},
        {9, 5000, 250, 9}, {10, 5000, 0, 10}, {0, 1900, 99999999, 0}, {3, 0, 0, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct turns t = {.start_us = 1000, .interval_us = 100, .n = 10, .used = cases[i].used};
        turns_forfeit(&t, cases[i].now, cases[i].slack);
        if (t.used != cases[i].want)
            fail_msg("case %zu: %d", i, t.used);
    }
    struct turns none = {0};
    turns_forfeit(&none, 5000, 100);
    assert_int_equal(none.used, 0);
}

static void turns_are_even(void **state UNUSED) {
    struct turns t = {.start_us = 1000, .interval_us = 100, .n = 3};
    assert_int_equal(turns_wait_us(&t, 0), 1000);
    assert_int_equal(turns_wait_us(&t, 999), 1);
    assert_int_equal(turns_wait_us(&t, 1000), 0);
    turns_take(&t);
    assert_int_equal(turns_wait_us(&t, 1000), 100);
    turns_take(&t);
    assert_int_equal(turns_wait_us(&t, 1100), 100);
    assert_int_equal(turns_wait_us(&t, 5000), 0);
    turns_take(&t);
    assert_int_equal(turns_wait_us(&t, 5000), -1);
    turns_take(&t);
    assert_int_equal(t.used, 3);
    const struct turns none = {0};
    assert_int_equal(turns_wait_us(&none, 5000), -1);
    const struct turns late = {.start_us = 0, .interval_us = 2 * SECOND, .n = 5000, .used = 4999};
    assert_int_equal(turns_wait_us(&late, 0), 9998LL * SECOND);
}

static void lease_sizes(void **state UNUSED) {
    static const struct {
        double rate;
        int want;
    } cases[] = {
        {0.01, 1},   {1, 1},       {5, 1},       {9.9, 1},     {10, 2},   {1000, 200},
        {4999, 999}, {5000, 1000}, {5001, 1000}, {1e18, 1000}, {0, 1000}, {-1, 1000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (turns_lease_size(cases[i].rate) != cases[i].want)
            fail_msg("case %zu: %d", i, turns_lease_size(cases[i].rate));
}

/* Holders that share one tat, each taking leases and spending them as fast as it may. */
struct pace {
    double rate;
    int holders;
    int stride_us; /* how often a holder looks, at random up to this */
    int idle_from_s, idle_to_s;
};

#define MAX_HOLDERS 8

static int64_t taken_in_a_minute(const struct pace *p, int64_t *ret_worst_second) {
    struct rng rng = {42};
    struct turns held[MAX_HOLDERS] = {0};
    int64_t tat = 0, taken = 0, second = -1, in_second = 0;
    *ret_worst_second = 0;
    for (int64_t now = 0; now < 60LL * SECOND;
         now += 1 + (int64_t)rng_below(&rng, (uint64_t)p->stride_us)) {
        if (now / SECOND != second) {
            second = now / SECOND;
            in_second = 0;
        }
        if (second >= p->idle_from_s && second < p->idle_to_s)
            continue;
        struct turns *t = &held[rng_below(&rng, (uint64_t)p->holders)];
        if (turns_wait_us(t, now) < 0) {
            int n = turns_lease_size(p->rate);
            *t = (struct turns){.interval_us = (int64_t)(SECOND / p->rate), .n = n};
            t->start_us = gcra_reserve(&tat, now, p->rate, n);
        }
        while (turns_wait_us(t, now) == 0) {
            turns_take(t);
            taken++;
            in_second++;
        }
        if (in_second > *ret_worst_second)
            *ret_worst_second = in_second;
    }
    return taken;
}

static void several_holders_keep_one_rate(void **state UNUSED) {
    static const struct pace cases[] = {
        {1000, 1, 500, 0, 0}, {1000, 4, 500, 0, 0}, {1000, 8, 200, 0, 0},
        {50, 3, 2000, 0, 0},  {3, 2, 5000, 0, 0},   {20000, 5, 100, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct pace *p = &cases[i];
        int64_t worst, taken = taken_in_a_minute(p, &worst);
        int64_t most = (int64_t)(p->rate * 60) + 1;
        int64_t least = most - 2 - (int64_t)p->holders * turns_lease_size(p->rate);
        if (taken > most || taken < least)
            fail_msg("case %zu: %lld taken, not in %lld..%lld", i, (long long)taken,
                     (long long)least, (long long)most);
        int64_t slack = (int64_t)p->holders * turns_lease_size(p->rate) + 2;
        if (worst > (int64_t)p->rate + slack)
            fail_msg("case %zu: %lld in one second", i, (long long)worst);
    }
}

static void an_idle_half_minute_is_lost(void **state UNUSED) {
    const struct pace p = {1000, 4, 500, 20, 50};
    int64_t worst, taken = taken_in_a_minute(&p, &worst);
    int64_t leases = 4LL * turns_lease_size(p.rate);
    assert_in_range(taken, 30000 - 2 * leases, 30000 + leases);
    assert_in_range(worst, 900, 1000 + 2 * leases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserves_in_sequence),
        cmocka_unit_test(idle_time_is_not_saved_up),
        cmocka_unit_test(spans),
        cmocka_unit_test(saturated_state_does_not_overflow),
        cmocka_unit_test(no_rate_is_no_limit),
        cmocka_unit_test(turns_are_even),
        cmocka_unit_test(turns_are_not_saved_up),
        cmocka_unit_test(lease_sizes),
        cmocka_unit_test(several_holders_keep_one_rate),
        cmocka_unit_test(an_idle_half_minute_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
