/* Gaps and cuts: tables for the edges, and a comparison with a bitmap for everything else. */
#include "policy/ranges.h"

#include "base/rng.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_OUT 16

/* An all-zero range ends a list: no id is 0. */
static size_t list_len(const struct range *r, size_t cap) {
    size_t n = 0;
    while (n < cap && r[n].lo != 0)
        n++;
    return n;
}

static void assert_ranges(size_t row, const struct range *got, size_t n, const struct range *want,
                          size_t cap) {
    if (n != list_len(want, cap))
        fail_msg("case %zu: %zu ranges, wanted %zu", row, n, list_len(want, cap));
    for (size_t i = 0; i < n; i++)
        if (got[i].lo != want[i].lo || got[i].hi != want[i].hi)
            fail_msg("case %zu, range %zu: %lld-%lld", row, i, (long long)got[i].lo,
                     (long long)got[i].hi);
}

static void gaps(void **state UNUSED) {
    static const struct {
        struct range window, covered[4], want[4];
    } cases[] = {
        {{1, 10}, {{0}}, {{1, 10}}},
        {{7, 7}, {{0}}, {{7, 7}}},
        {{7, 7}, {{7, 7}}, {{0}}},
        {{7, 7}, {{1, 6}, {8, 9}}, {{7, 7}}},
        {{1, 10}, {{1, 10}}, {{0}}},
        {{5, 10}, {{1, 20}}, {{0}}}, /* reaches beyond on both sides */
        {{5, 10}, {{1, 5}}, {{6, 10}}},
        {{5, 10}, {{1, 4}}, {{5, 10}}},
        {{5, 10}, {{10, 20}}, {{5, 9}}},
        {{5, 10}, {{11, 20}}, {{5, 10}}},
        {{1, 10}, {{4, 6}}, {{1, 3}, {7, 10}}},
        {{1, 10}, {{2, 9}}, {{1, 1}, {10, 10}}},
        {{1, 10}, {{3, 3}, {5, 5}}, {{1, 2}, {4, 4}, {6, 10}}},
        {{1, 10}, {{1, 3}, {4, 6}, {7, 10}}, {{0}}}, /* neighbours leave nothing between */
        {{1, 10}, {{1, 3}, {5, 6}, {7, 9}}, {{4, 4}, {10, 10}}},
        {{10, 1}, {{0}}, {{0}}},                        /* an empty window */
        {{1, 10}, {{2, 8}, {3, 4}}, {{1, 1}, {9, 10}}}, /* overlap is tolerated */
        {{1, INT64_MAX}, {{1, 5}, {9, INT64_MAX}}, {{6, 8}}},
        {{1, INT64_MAX}, {{1, 5}}, {{6, INT64_MAX}}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct range out[MAX_OUT];
        size_t n = ranges_gaps(cases[i].window, cases[i].covered, list_len(cases[i].covered, 4),
                               out, MAX_OUT);
        assert_ranges(i, out, n, cases[i].want, 4);
    }
}

static void gaps_stop_at_the_room_there_is(void **state UNUSED) {
    const struct range covered[] = {{3, 3}, {5, 5}, {7, 7}};
    struct range out[5] = {{0}};
    for (size_t max = 0; max <= 5; max++) {
        memset(out, 0, sizeof out);
        size_t n = ranges_gaps((struct range){1, 9}, covered, 3, out, max);
        assert_int_equal(n, max < 4 ? max : 4);
        if (n < 5)
            assert_int_equal(out[n].lo, 0); /* nothing is written behind it */
    }
    assert_int_equal(ranges_gaps((struct range){1, 9}, NULL, 0, out, 5), 1);
}

static void cuts(void **state UNUSED) {
    static const struct {
        struct range gaps[3];
        int64_t width;
        struct range want[6];
    } cases[] = {
        {{{1, 10}}, 10, {{1, 10}}},
        {{{1, 10}}, 11, {{1, 10}}},
        {{{1, 10}}, 1000, {{1, 10}}},
        {{{1, 10}}, 9, {{1, 9}, {10, 10}}},
        {{{1, 10}}, 5, {{1, 5}, {6, 10}}},
        {{{1, 10}}, 4, {{1, 4}, {5, 8}, {9, 10}}},
        {{{5, 8}}, 1, {{5, 5}, {6, 6}, {7, 7}, {8, 8}}},
        {{{5, 6}}, 0, {{5, 5}, {6, 6}}}, /* a width below 1 counts as 1 */
        {{{5, 6}}, -7, {{5, 5}, {6, 6}}},
        {{{7, 7}}, 1000, {{7, 7}}},
        {{{1, 3}, {5, 9}}, 4, {{1, 3}, {5, 8}, {9, 9}}}, /* never across two gaps */
        {{{1, 3}, {4, 6}}, 1000, {{1, 3}, {4, 6}}},
        {{{1, 2000}}, 1000, {{1, 1000}, {1001, 2000}}},
        {{{1, 2001}}, 1000, {{1, 1000}, {1001, 2000}, {2001, 2001}}},
        {{{INT64_MAX - 2, INT64_MAX}}, 2, {{INT64_MAX - 2, INT64_MAX - 1}, {INT64_MAX, INT64_MAX}}},
        {{{1, INT64_MAX}}, INT64_MAX, {{1, INT64_MAX}}},
        {{{0}}, 10, {{0}}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct range out[MAX_OUT];
        size_t n =
            ranges_cut(cases[i].gaps, list_len(cases[i].gaps, 3), cases[i].width, out, MAX_OUT);
        assert_ranges(i, out, n, cases[i].want, 6);
    }
}

static void cuts_stop_at_the_room_there_is(void **state UNUSED) {
    const struct range two[] = {{1, 4}, {11, 14}};
    struct range out[6] = {{0}};
    assert_int_equal(ranges_cut(two, 2, 2, out, 3), 3);
    assert_int_equal(out[2].lo, 11);
    assert_int_equal(out[2].hi, 12);
    assert_int_equal(out[3].lo, 0);
    assert_int_equal(ranges_cut(two, 2, 2, out, 0), 0);
    assert_int_equal(ranges_cut(two, 2, 2, out, 6), 4);
    /* a huge gap costs only what there is room for */
    const struct range all = {1, INT64_MAX};
    assert_int_equal(ranges_cut(&all, 1, 1000, out, 6), 6);
    assert_int_equal(out[5].hi, 6000);
}

static void cuts_from_the_high_end(void **state UNUSED) {
    static const struct {
        struct range gaps[3];
        int64_t width;
        struct range want[6];
    } cases[] = {
        {{{1, 10}}, 10, {{1, 10}}},
        {{{1, 10}}, 11, {{1, 10}}},
        {{{1, 10}}, 9, {{2, 10}, {1, 1}}},
        {{{1, 10}}, 4, {{7, 10}, {3, 6}, {1, 2}}},
        {{{5, 6}}, 0, {{6, 6}, {5, 5}}},
        {{{1, 3}, {5, 9}}, 4, {{6, 9}, {5, 5}, {1, 3}}}, /* never across two gaps */
        {{{1, 2001}}, 1000, {{1002, 2001}, {2, 1001}, {1, 1}}},
        {{{INT64_MAX - 2, INT64_MAX}},
         2,
         {{INT64_MAX - 1, INT64_MAX}, {INT64_MAX - 2, INT64_MAX - 2}}},
        {{{1, INT64_MAX}}, INT64_MAX, {{1, INT64_MAX}}},
        {{{0}}, 10, {{0}}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct range out[MAX_OUT];
        size_t n = ranges_cut_down(cases[i].gaps, list_len(cases[i].gaps, 3), cases[i].width, out,
                                   MAX_OUT);
        assert_ranges(i, out, n, cases[i].want, 6);
    }
    const struct range all = {1, INT64_MAX};
    struct range out[6];
    assert_int_equal(ranges_cut_down(&all, 1, 1000, out, 6), 6);
    assert_int_equal(out[5].lo, INT64_MAX - 6000 + 1);
    assert_int_equal(ranges_cut_down(&all, 1, 1000, out, 0), 0);
}

static void counts(void **state UNUSED) {
    const struct range r[] = {{1, 1}, {3, 12}, {100, 199}};
    assert_int_equal(ranges_count(r, 0), 0);
    assert_int_equal(ranges_count(r, 1), 1);
    assert_int_equal(ranges_count(r, 3), 111);
}

#define IDS 200

static size_t random_covered(struct rng *rng, struct range *out, size_t max, bool *bitmap) {
    size_t n = 0;
    for (int64_t id = 1 + (int64_t)rng_below(rng, 20); n < max && id < IDS;) {
        int64_t hi = id + (int64_t)rng_below(rng, 15);
        if (hi >= IDS)
            hi = IDS - 1;
        out[n++] = (struct range){id, hi};
        for (int64_t k = id; k <= hi; k++)
            bitmap[k] = true;
        id = hi + 1 + (int64_t)rng_below(rng, 12); /* 0 apart: neighbours that touch */
    }
    return n;
}

/* Every cut lies in the window, is within the width, ascends, and they are exactly the clear bits.
 */
static void check_plan(const struct range *cut, size_t n, struct range window, int64_t width,
                       const bool *covered) {
    bool planned[IDS] = {false};
    for (size_t i = 0; i < n; i++) {
        assert_true(cut[i].lo <= cut[i].hi);
        assert_true(cut[i].hi - cut[i].lo < width);
        assert_true(cut[i].lo >= window.lo && cut[i].hi <= window.hi);
        assert_true(i == 0 || cut[i].lo > cut[i - 1].hi);
        for (int64_t id = cut[i].lo; id <= cut[i].hi; id++)
            planned[id] = true;
    }
    int64_t count = 0;
    for (int64_t id = 0; id < IDS; id++) {
        bool wanted = id >= window.lo && id <= window.hi && !covered[id];
        if (planned[id] != wanted)
            fail_msg("id %lld: planned %d, wanted %d", (long long)id, planned[id], wanted);
        count += wanted;
    }
    assert_int_equal(ranges_count(cut, n), count);
}

static void agrees_with_a_bitmap(void **state UNUSED) {
    struct rng rng = {2024};
    for (int round = 0; round < 5000; round++) {
        bool bitmap[IDS] = {false};
        struct range covered[40], gap[64], cut[IDS] = {{0, 0}};
        size_t n = random_covered(&rng, covered, rng_below(&rng, 40), bitmap);
        struct range window = {1 + (int64_t)rng_below(&rng, IDS - 1), 0};
        window.hi = window.lo + (int64_t)rng_below(&rng, (uint64_t)(IDS - window.lo));
        int64_t width = 1 + (int64_t)rng_below(&rng, 25);
        size_t gaps_n = ranges_gaps(window, covered, n, gap, ARRAY_LEN(gap));
        for (size_t i = 1; i < gaps_n; i++)
            assert_true(gap[i].lo > gap[i - 1].hi + 1); /* as few gaps as possible */
        check_plan(cut, ranges_cut(gap, gaps_n, width, cut, ARRAY_LEN(cut)), window, width, bitmap);
        struct range down[IDS] = {{0, 0}};
        size_t n_down = ranges_cut_down(gap, gaps_n, width, down, ARRAY_LEN(down));
        for (size_t i = 0; i < n_down; i++)
            cut[n_down - 1 - i] = down[i];
        check_plan(cut, n_down, window, width, bitmap);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps),
        cmocka_unit_test(gaps_stop_at_the_room_there_is),
        cmocka_unit_test(cuts),
        cmocka_unit_test(cuts_stop_at_the_room_there_is),
        cmocka_unit_test(counts),
        cmocka_unit_test(agrees_with_a_bitmap),
        cmocka_unit_test(cuts_from_the_high_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
