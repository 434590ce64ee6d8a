/* From options to segments: the window of a run, and its plan around the segments that exist. */
#include "policy/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* start, end, limit, ignore_highest, frontier, maxitem; lo 0 = empty */
static const struct {
    struct window_ask ask;
    struct range want;
} window_cases[] = {
    /* from the frontier to maxitem */
    {{0, 0, 0, false, 0, 100}, {1, 100}},
    {{0, 0, 0, false, 60, 100}, {61, 100}},
    {{0, 0, 0, false, 99, 100}, {100, 100}},
    {{0, 0, 0, false, 100, 100}, {0}},
    {{0, 0, 0, false, 120, 100}, {0}},
    {{0, 0, 0, false, 499, 600}, {500, 600}}, /* a floor of 500, nothing proved */
    {{0, 0, 0, true, 60, 100}, {61, 100}},
    {{0, 0, 0, false, -1, 100}, {1, 100}},
    /* a start */
    {{10, 0, 0, false, 60, 100}, {10, 100}},
    {{70, 0, 0, false, 60, 100}, {70, 100}},
    {{100, 0, 0, false, 0, 100}, {100, 100}},
    {{101, 0, 0, false, 0, 100}, {0}}, /* beyond maxitem */
    {{101, 0, 0, true, 0, 100}, {0}},
    /* an end */
    {{0, 80, 0, false, 60, 100}, {61, 80}},
    {{0, 61, 0, false, 60, 100}, {61, 61}},
    {{0, 60, 0, false, 60, 100}, {0}},
    {{10, 20, 0, false, 60, 100}, {10, 20}},
    {{10, 10, 0, false, 60, 100}, {10, 10}},
    {{20, 10, 0, false, 60, 100}, {0}},
    {{10, 100, 0, false, 0, 100}, {10, 100}},
    {{10, 101, 0, false, 0, 100}, {10, 100}}, /* clamped */
    {{10, 500, 0, false, 0, 100}, {10, 100}},
    {{10, 500, 0, true, 0, 100}, {10, 500}}, /* unless told not to */
    {{200, 500, 0, false, 0, 100}, {0}},
    {{200, 500, 0, true, 0, 100}, {200, 500}},
    /* a limit of n is n ids */
    {{0, 0, 1, false, 0, 100}, {1, 1}},
    {{0, 0, 10, false, 0, 100}, {1, 10}},
    {{0, 0, 10, false, 60, 100}, {61, 70}},
    {{5, 0, 10, false, 60, 100}, {5, 14}},
    {{91, 0, 10, false, 0, 100}, {91, 100}},
    {{92, 0, 10, false, 0, 100}, {92, 100}},
    {{92, 0, 10, true, 0, 100}, {92, 101}},
    {{101, 0, 10, true, 0, 100}, {101, 110}},
    {{0, 0, INT64_MAX, false, 60, 100}, {61, 100}},
    /* a limit together with an end: the smaller wins */
    {{11, 20, 5, false, 0, 100}, {11, 15}},
    {{11, 20, 9, false, 0, 100}, {11, 19}},
    {{11, 20, 10, false, 0, 100}, {11, 20}},
    {{11, 20, 11, false, 0, 100}, {11, 20}},
    {{11, 20, 500, false, 0, 100}, {11, 20}},
    {{95, 200, 50, false, 0, 100}, {95, 100}},
    {{95, 200, 50, true, 0, 100}, {95, 144}},
    {{95, 120, 50, true, 0, 100}, {95, 120}},
    {{20, 10, 5, false, 0, 100}, {0}},
    /* maxitem not known */
    {{0, 0, 0, false, 60, 0}, {0}},
    {{10, 0, 0, true, 60, 0}, {0}},
    {{10, 20, 0, false, 60, 0}, {10, 20}},
    {{10, 0, 5, false, 60, 0}, {10, 14}},
    {{10, 0, 5, true, 60, 0}, {10, 14}},
    /* nothing overflows */
    {{10, INT64_MAX, 0, true, 0, 100}, {10, INT64_MAX}},
    {{10, INT64_MAX, INT64_MAX, true, 0, 100}, {10, INT64_MAX}},
    {{10, 0, INT64_MAX, true, 0, 100}, {10, INT64_MAX}},
    {{1, 0, INT64_MAX, true, 0, 100}, {1, INT64_MAX}},
};

static void windows(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(window_cases); i++) {
        struct range got = {0, 0};
        bool any = window_resolve(&window_cases[i].ask, &got);
        const struct range *want = &window_cases[i].want;
        if (any != (want->lo != 0) || got.lo != want->lo || got.hi != want->hi)
            fail_msg("case %zu: %d, %lld-%lld", i, any, (long long)got.lo, (long long)got.hi);
    }
}

/* The whole way a run plans. Segments are listed up to the first all-zero one. */
static const struct {
    struct window_ask ask;
    struct range existing[4];
    int64_t width;
    struct range want[6];
} plan_cases[] = {
    {{0, 0, 0, false, 0, 2500}, {{0}}, 1000, {{1, 1000}, {1001, 2000}, {2001, 2500}}},
    {{0, 0, 0, false, 0, 2000}, {{0}}, 1000, {{1, 1000}, {1001, 2000}}},
    {{0, 0, 0, false, 0, 2001}, {{0}}, 1000, {{1, 1000}, {1001, 2000}, {2001, 2001}}},
    {{0, 0, 1000, false, 0, 9999}, {{0}}, 1000, {{1, 1000}}},
    {{0, 0, 1001, false, 0, 9999}, {{0}}, 1000, {{1, 1000}, {1001, 1001}}},
    {{0, 0, 1, false, 0, 9999}, {{0}}, 1000, {{1, 1}}},
    {{0, 0, 3, false, 0, 9999}, {{0}}, 1, {{1, 1}, {2, 2}, {3, 3}}},
    /* the frontier stands inside a segment that is in work: it is not planned again */
    {{0, 0, 0, false, 400, 2500}, {{1, 1000}}, 1000, {{1001, 2000}, {2001, 2500}}},
    {{0, 0, 0, false, 1000, 1500}, {{1, 1000}}, 1000, {{1001, 1500}}},
    {{0, 0, 0, false, 0, 1000}, {{1, 1000}}, 1000, {{0}}},
    /* around segments that other runs left */
    {{0, 0, 0, false, 0, 100},
     {{31, 40}, {61, 70}},
     20,
     {{1, 20}, {21, 30}, {41, 60}, {71, 90}, {91, 100}}},
    {{35, 65, 0, false, 0, 100}, {{31, 40}, {61, 70}}, 20, {{41, 60}}},
    {{31, 40, 0, false, 0, 100}, {{31, 40}, {61, 70}}, 20, {{0}}},
    {{30, 41, 0, false, 0, 100}, {{31, 40}, {61, 70}}, 20, {{30, 30}, {41, 41}}},
    /* clamped, limited, beyond */
    {{90, 200, 0, false, 0, 100}, {{95, 95}}, 20, {{90, 94}, {96, 100}}},
    {{90, 0, 8, false, 0, 100}, {{95, 95}}, 20, {{90, 94}, {96, 97}}},
    {{90, 200, 12, true, 0, 100}, {{95, 95}}, 20, {{90, 94}, {96, 101}}},
    {{200, 0, 0, false, 0, 100}, {{0}}, 20, {{0}}},
};

static void plans(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(plan_cases); i++) {
        struct range window, gaps[8], cut[8];
        size_t existing = 0, n = 0;
        while (existing < 4 && plan_cases[i].existing[existing].lo)
            existing++;
        if (window_resolve(&plan_cases[i].ask, &window))
            n = ranges_cut(gaps, ranges_gaps(window, plan_cases[i].existing, existing, gaps, 8),
                           plan_cases[i].width, cut, 8);
        for (size_t k = 0; k < n; k++)
            if (cut[k].lo != plan_cases[i].want[k].lo || cut[k].hi != plan_cases[i].want[k].hi)
                fail_msg("case %zu, segment %zu: %lld-%lld", i, k, (long long)cut[k].lo,
                         (long long)cut[k].hi);
        if (n < 6 && plan_cases[i].want[n].lo)
            fail_msg("case %zu: only %zu segments", i, n);
    }
}

static void limits_count_ids_at_every_start(void **state UNUSED) {
    for (int64_t start = 1; start <= 30; start++)
        for (int64_t limit = 1; limit <= 30; limit++) {
            struct range w;
            const struct window_ask ask = {.start_id = start, .limit = limit, .maxitem = 40};
            assert_true(window_resolve(&ask, &w));
            int64_t left = 40 - start + 1;
            assert_int_equal(w.lo, start);
            assert_int_equal(ranges_count(&w, 1), limit < left ? limit : left);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),
        cmocka_unit_test(plans),
        cmocka_unit_test(limits_count_ids_at_every_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
