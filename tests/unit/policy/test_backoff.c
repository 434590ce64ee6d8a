/* Waits between attempts: doubling, ceiling, bounds of the jitter, the ladder, young ids. */
#include "policy/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOUR_MS ((int64_t)3600 * 1000)

static void doubles_up_to_the_maximum(void **state UNUSED) {
    static const struct {
        struct backoff b;
        int made;
        int64_t want;
    } cases[] = {
        {{500, 30000, 0}, 1, 500},
        {{500, 30000, 0}, 2, 1000},
        {{500, 30000, 0}, 3, 2000},
        {{500, 30000, 0}, 6, 16000},
        {{500, 30000, 0}, 7, 30000},
        {{500, 30000, 0}, 8, 30000},
        {{500, 30000, 0}, 1000, 30000},
        {{500, 30000, 0}, INT32_MAX, 30000},
        {{500, 30000, 0}, 0, 500}, /* made below 1 counts as 1 */
        {{500, 30000, 0}, INT32_MIN + 1, 500},
        {{500, 500, 0}, 1, 500},
        {{500, 500, 0}, 2, 500},
        {{800, 300, 0}, 1, 300}, /* the maximum binds the first wait too */
        {{0, 30000, 0}, 5, 0},
        {{500, 0, 0}, 5, 0},
        {{1, 3, 0}, 2, 2},
        {{1, 3, 0}, 3, 3},
        {{1, INT64_MAX, 0}, 63, (int64_t)1 << 62},
        {{1, INT64_MAX, 0}, 64, INT64_MAX},
        {{1, INT64_MAX, 0}, 1000, INT64_MAX},
        {{INT64_MAX, INT64_MAX, 0}, 2, INT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (backoff_wait_ms(&cases[i].b, cases[i].made, NULL) != cases[i].want)
            fail_msg("case %zu: %lld, wanted %lld", i,
                     (long long)backoff_wait_ms(&cases[i].b, cases[i].made, NULL),
                     (long long)cases[i].want);
}

static void jitter_stays_in_its_bounds_and_reaches_both(void **state UNUSED) {
    struct rng rng = {7};
    const struct backoff b = {200, 1000, 3};
    int64_t seen[4] = {0};
    for (int i = 0; i < 1000; i++) {
        int64_t extra = backoff_wait_ms(&b, 2, &rng) - 400;
        assert_in_range(extra, 0, 3);
        seen[extra]++;
    }
    for (int i = 0; i < 4; i++)
        assert_in_range(seen[i], 150, 350);
    for (int made = 1; made <= 1000; made++)
        assert_in_range(backoff_wait_ms(&b, made, &rng), 200, 1003);
}

static void jitter_never_overflows(void **state UNUSED) {
    struct rng rng = {7};
    const struct backoff wide = {1, INT64_MAX, INT64_MAX};
    for (int made = 1; made <= 1000; made++)
        assert_true(backoff_wait_ms(&wide, made, &rng) >= 1);
}

static void ladder_climbs_and_ends(void **state UNUSED) {
    static const int64_t want[] = {5000,    30000,       120000,       600000,
                                   HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS, -1};
    for (int rung = 1; rung <= LADDER_RUNGS + 1; rung++)
        assert_int_equal(ladder_wait_ms(rung), want[rung - 1]);
    assert_int_equal(ladder_wait_ms(INT32_MAX), -1);
    assert_int_equal(ladder_wait_ms(0), 5000);
    assert_int_equal(ladder_wait_ms(-3), 5000);
}

static void young_ids(void **state UNUSED) {
    static const struct {
        int64_t id, maxitem;
        bool want;
    } cases[] = {
        {100000, 100000, true}, {80000, 100000, true},  {79999, 100000, false},
        {1, 100000, false},     {1, 20001, true},       {1, 20002, false},
        {1, 5, true},           {100001, 100000, true}, /* ahead of maxitem */
        {49000000, 0, true},                            /* maxitem not known */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (id_is_young(cases[i].id, cases[i].maxitem) != cases[i].want)
            fail_msg("case %zu", i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_up_to_the_maximum),
        cmocka_unit_test(jitter_stays_in_its_bounds_and_reaches_both),
        cmocka_unit_test(jitter_never_overflows),
        cmocka_unit_test(ladder_climbs_and_ends),
        cmocka_unit_test(young_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
