/* Ages of updates: buckets at their edges, quantiles of known histograms, the window they ask for.
 */
#include "policy/ages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DAY 86400
#define NOW 1700000000
enum { B_10S = 0, B_30S = 1, B_DAY = 11, B_3D = 13, B_4D = 14, B_30D = 20, B_90D = 21 };

static void bounds_rise(void **state UNUSED) {
    for (int i = 1; i < AGES_BOUNDS; i++)
        assert_true(ages_bounds[i] > ages_bounds[i - 1]);
    assert_int_equal(ages_bounds[0], 10);
    assert_int_equal(ages_bounds[B_DAY], DAY);
    assert_int_equal(ages_bounds[B_3D], 3 * DAY);
    assert_int_equal(ages_bounds[B_4D], 4 * DAY);
    assert_int_equal(ages_bounds[B_30D], 30 * DAY);
    assert_int_equal(ages_bounds[AGES_BOUNDS - 1], 365 * DAY);
    assert_true(AGES_N <= 32); /* what a batch carries */
}

static void buckets(void **state UNUSED) {
    static const struct {
        int64_t time;
        bool has_time;
        int want;
    } cases[] = {
        {NOW, true, B_10S},
        {NOW - 10, true, B_10S},
        {NOW - 11, true, B_30S},
        {NOW - 30, true, B_30S},
        {NOW - DAY, true, B_DAY},
        {NOW - DAY - 1, true, B_DAY + 1},
        {NOW - 365 * DAY, true, AGES_BOUNDS - 1},
        {NOW - 365 * DAY - 1, true, AGES_OLDER},
        {1, true, AGES_OLDER},
        {NOW + 1, true, B_10S}, /* clocks differ a little */
        {NOW + 60, true, B_10S},
        {NOW + 61, true, AGES_FUTURE},
        {INT64_MAX, true, AGES_FUTURE},
        {NOW, false, AGES_NO_TIME},
        {0, true, AGES_NO_TIME},
        {INT64_MIN, true, AGES_NO_TIME},
        {-5, true, AGES_NO_TIME},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int got = ages_bucket(NOW, cases[i].time, cases[i].has_time);
        if (got != cases[i].want)
            fail_msg("case %zu: bucket %d, wanted %d", i, got, cases[i].want);
    }
}

static void only_ages_are_counted(void **state UNUSED) {
    struct ages a = {0};
    assert_int_equal(ages_count(&a), 0);
    a.n[B_10S] = 3;
    a.n[AGES_OLDER] = 4;
    a.n[AGES_NO_TIME] = 100;
    a.n[AGES_FUTURE] = 1000;
    assert_int_equal(ages_count(&a), 7);
    a.n[B_30S] = -2; /* damaged */
    assert_int_equal(ages_count(&a), 7);
}

static void quantiles(void **state UNUSED) {
    static const struct {
        int64_t n_10s, n_30s, n_3d, n_4d, older;
        double share;
        int64_t want;
    } cases[] = {
        {0, 0, 0, 0, 0, 0.5, -1},
        {10, 0, 0, 0, 0, 0.5, 5},
        {10, 0, 0, 0, 0, 1, 10},
        {10, 0, 0, 0, 0, 7, 10},
        {10, 0, 0, 0, 0, 0, 1}, /* the first of ten */
        {10, 0, 0, 0, 0, -1, 1},
        {0, 10, 0, 0, 0, 0.5, 20},
        {50, 50, 0, 0, 0, 0.5, 10},
        {50, 50, 0, 0, 0, 0.75, 20},
        {0, 0, 1, 0, 0, 0.5, 3 * DAY}, /* one alone lies at its upper bound */
        {0, 0, 4, 0, 0, 0.5, 2 * DAY + DAY / 2},
        {99, 0, 0, 1, 0, 0.99, 10},
        {98, 0, 0, 2, 0, 0.99, 3 * DAY + DAY / 2},
        {99, 0, 0, 0, 1, 0.99, 10},
        {98, 0, 0, 0, 2, 0.99, INT64_MAX},
        {0, 0, 0, 0, 5, 0.01, INT64_MAX},
        {95, 0, 0, 0, 5, 0.95, 10},
        {950, 0, 0, 0, 50, 0.95, 10},
        {29, 0, 0, 0, 71, 0.29, 10}, /* 0.29 * 100 is a little more than 29 in binary */
        {57, 0, 0, 0, 43, 0.57, 10},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ages a = {0};
        a.n[B_10S] = cases[i].n_10s;
        a.n[B_30S] = cases[i].n_30s;
        a.n[B_3D] = cases[i].n_3d;
        a.n[B_4D] = cases[i].n_4d;
        a.n[AGES_OLDER] = cases[i].older;
        a.n[AGES_NO_TIME] = a.n[AGES_FUTURE] = 12345;
        int64_t got = ages_quantile(&a, cases[i].share);
        if (got != cases[i].want)
            fail_msg("case %zu: %lld, wanted %lld", i, (long long)got, (long long)cases[i].want);
    }
}

static void every_share_rounds_within_its_bucket(void **state UNUSED) {
    for (int percent = 1; percent < 100; percent++)
        for (int64_t times = 1; times <= 1000000; times *= 10) {
            struct ages a = {0};
            a.n[B_10S] = percent * times;
            a.n[AGES_OLDER] = (100 - percent) * times;
            assert_int_equal(ages_quantile(&a, percent / 100.0), 10);
        }
}

static void recommended_days(void **state UNUSED) {
    static const struct {
        int64_t n_10s;
        int bucket;
        int64_t n;
        int want;
    } cases[] = {
        {99, B_4D, 0, 0}, /* too few to tell */
        {100, B_4D, 0, 1},          {99, B_4D, 1, 1},           {0, B_DAY, 1000, 1},
        {0, B_3D, 1000, 3},         {900, B_3D, 100, 3},        {900, B_4D, 100, 4},
        {0, B_30D, 1000, 30},       {0, B_90D, 1000, 30}, /* never more */
        {900, AGES_OLDER, 100, 30}, {99, AGES_NO_TIME, 100, 0}, {99, AGES_FUTURE, 100, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ages a = {0};
        a.n[B_10S] = cases[i].n_10s;
        a.n[cases[i].bucket] = cases[i].n;
        int got = ages_recommend_days(&a);
        if (got != cases[i].want)
            fail_msg("case %zu: %d days, wanted %d", i, got, cases[i].want);
    }
}

static void the_share_in_a_window(void **state) {
    (void)state;
    struct ages a = {0};
    assert_true(ages_share(&a, 3) == 0);
    a.n[B_10S] = 30;
    a.n[B_3D] = 20;
    a.n[B_90D] = 50;
    a.n[AGES_NO_TIME] = 1000;
    assert_true(ages_share(&a, 1) == 0.3);
    assert_true(ages_share(&a, 3) == 0.5);
    assert_true(ages_share(&a, 30) == 0.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_rise),
        cmocka_unit_test(buckets),
        cmocka_unit_test(only_ages_are_counted),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(every_share_rounds_within_its_bucket),
        cmocka_unit_test(recommended_days),
        cmocka_unit_test(the_share_in_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
