/* The frontier: a table of segment states, and a comparison with ids counted one by one. */
#include "policy/ranges.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_SEGMENTS 5

/* {ids}, done, cursor, blocked_at */
static const struct {
    int64_t floor;
    struct segment_view segments[MAX_SEGMENTS];
    int64_t want;
} cases[] = {
    {1, {{{0}}}, 0},
    {500, {{{0}}}, 499},
    /* whole segments */
    {1, {{{1, 10}, true, 10, 0}}, 10},
    {1, {{{1, 10}, true, 10, 0}, {{11, 20}, true, 20, 0}}, 20},
    {1, {{{1, 10}, true, 0, 0}}, 10}, /* done needs no cursor */
    {1, {{{1, 1}, true, 1, 0}, {{2, 2}, true, 2, 0}, {{3, 9}, true, 9, 0}}, 9},
    /* holes between segments */
    {1, {{{1, 10}, true, 10, 0}, {{12, 20}, true, 20, 0}}, 10},
    {1, {{{2, 10}, true, 10, 0}}, 0},
    {1, {{{5, 10}, true, 10, 0}, {{11, 20}, true, 20, 0}}, 0},
    {1, {{{1, 10}, true, 10, 0}, {{11, 20}, true, 20, 0}, {{31, 40}, true, 40, 0}}, 20},
    /* cursors */
    {1, {{{1, 10}, false, 0, 0}}, 0},
    {1, {{{1, 10}, false, 1, 0}}, 1},
    {1, {{{1, 10}, false, 9, 0}}, 9},
    {1, {{{1, 10}, false, 10, 0}, {{11, 20}, false, 15, 0}}, 15},
    {1, {{{1, 10}, false, 99, 0}}, 10}, /* a cursor never reaches beyond its segment */
    {1, {{{1, 10}, true, 10, 0}, {{11, 20}, false, 0, 0}, {{21, 30}, true, 30, 0}}, 10},
    {1, {{{1, 10}, true, 10, 0}, {{11, 20}, false, 10, 0}, {{21, 30}, true, 30, 0}}, 10},
    {1, {{{1, 10}, true, 10, 0}, {{11, 20}, false, 19, 0}, {{21, 30}, true, 30, 0}}, 19},
    /* ids without a final outcome */
    {1, {{{1, 10}, false, 10, 1}}, 0},
    {1, {{{1, 10}, false, 10, 2}}, 1},
    {1, {{{1, 10}, false, 10, 10}, {{11, 20}, true, 20, 0}}, 9},
    {1, {{{1, 10}, false, 5, 7}}, 5}, /* the cursor is lower than the trouble */
    {1, {{{1, 10}, false, 7, 7}}, 6},
    {1, {{{1, 10}, true, 10, 0}, {{11, 20}, false, 20, 11}, {{21, 30}, true, 30, 0}}, 10},
    {1, {{{1, 10}, true, 10, 4}}, 3}, /* done or not: what is blocked is not proved */
    /* floors */
    {11, {{{11, 20}, true, 20, 0}}, 20},
    {11, {{{12, 20}, true, 20, 0}}, 10},
    {11, {{{1, 5}, false, 0, 1}, {{11, 20}, true, 20, 0}}, 20}, /* below it nothing counts */
    {11, {{{1, 5}, false, 0, 1}, {{6, 10}, true, 10, 0}, {{11, 20}, false, 13, 0}}, 13},
    {11, {{{1, 30}, true, 30, 0}}, 30}, /* in the middle of a segment */
    {11, {{{1, 30}, false, 15, 0}}, 15},
    {11, {{{1, 30}, false, 10, 0}}, 10},
    {11, {{{1, 30}, false, 5, 0}}, 10}, /* never below floor - 1 */
    {11, {{{1, 30}, false, 30, 3}}, 10},
    {11, {{{1, 10}, true, 10, 0}}, 10},
    {1, {{{1, INT64_MAX}, true, 0, 0}}, INT64_MAX},
};

static void frontiers(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = 0;
        while (n < MAX_SEGMENTS && cases[i].segments[n].ids.lo)
            n++;
        int64_t got = frontier_of(cases[i].floor, cases[i].segments, n);
        if (got != cases[i].want)
            fail_msg("case %zu: %lld, wanted %lld", i, (long long)got, (long long)cases[i].want);
    }
    assert_int_equal(frontier_of(1, NULL, 0), 0);
}

#define IDS 120

static struct segment_view random_segment(struct rng *rng, int64_t lo, bool *final) {
    struct segment_view s = {.ids = {lo, lo + (int64_t)rng_below(rng, 12)}};
    if (s.ids.hi >= IDS)
        s.ids.hi = IDS - 1;
    int64_t width = s.ids.hi - lo + 1;
    s.done = rng_below(rng, 4) != 0;
    s.cursor = s.done ? s.ids.hi : lo - 1 + (int64_t)rng_below(rng, (uint64_t)width + 1);
    for (int64_t id = lo; id <= s.cursor; id++) {
        final[id] = s.done || rng_below(rng, 20) != 0;
        if (!final[id] && !s.blocked_at)
            s.blocked_at = id;
    }
    return s;
}

static void agrees_with_counting(void **state UNUSED) {
    struct rng rng = {99};
    int64_t beyond_floor = 0;
    for (int round = 0; round < 5000; round++) {
        bool final[IDS + 1] = {false};
        struct segment_view segments[IDS];
        size_t n = 0;
        int64_t floor = 1 + (int64_t)rng_below(&rng, 10), lo = floor;
        while (lo < IDS) {
            segments[n] = random_segment(&rng, lo, final);
            lo = segments[n++].ids.hi + 1 + (rng_below(&rng, 10) == 0);
        }
        int64_t want = floor - 1;
        while (final[want + 1])
            want++;
        assert_int_equal(frontier_of(floor, segments, n), want);
        beyond_floor += want >= floor;
    }
    assert_in_range(beyond_floor, 1000, 4999);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontiers),
        cmocka_unit_test(agrees_with_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
