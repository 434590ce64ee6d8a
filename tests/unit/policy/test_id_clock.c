/* The id as a clock, over made-up archives whose truth is known: id N is given out at second
 * START + 7 N, and what is stored may be missing, ahead, or set back. */
#include "policy/id_clock.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 1160000000
#define STEP 7
#define YEAR (365 * 86400LL)

struct archive {
    int64_t first, last;       /* stored; none when last < first */
    int64_t hole_lo, hole_hi;  /* not stored; none when 0 */
    int every;                 /* only each so many-th id is stored */
    int missing, ahead, reset; /* of 100 ids */
    int calls;
    int fail_at; /* the so many-th call fails; 0: none */
};

static int64_t truth(int64_t id) {
    return START + STEP * id;
}

static bool stored(const struct archive *a, int64_t id) {
    return (id < a->hole_lo || id > a->hole_hi) && id % (a->every ? a->every : 1) == 0;
}

/* False: the item has no time. */
static bool time_of(const struct archive *a, int64_t id, int64_t *ret) {
    int die = (int)(rng_mix((uint64_t)id) % 100);
    *ret = truth(id);
    if (die < a->missing)
        return false;
    die -= a->missing;
    if (die >= 0 && die < a->ahead)
        *ret += 30 * YEAR;
    die -= a->ahead;
    if (die >= 0 && die < a->reset)
        *ret -= 2 * YEAR;
    return true;
}

static enum verdict sample(void *ctx, int64_t id, int64_t *ret_times, size_t max, size_t *ret_n,
                           int64_t *ret_last_id, struct err *e) {
    struct archive *a = ctx;
    *ret_n = 0;
    if (++a->calls == a->fail_at)
        return err_set(e, V_RETRY, "test", 0, "no answer");
    if (id < a->first)
        id = a->first;
    for (; id <= a->last && *ret_n < max; id++) {
        if (id >= a->hole_lo && id < a->hole_hi)
            id = a->hole_hi;
        if (stored(a, id) && time_of(a, id, &ret_times[*ret_n]))
            (*ret_n)++;
        *ret_last_id = id;
    }
    return V_OK;
}

static int64_t find(struct archive *a, int64_t instant, int64_t lo, int64_t hi) {
    int64_t id = -1;
    struct err e;
    a->calls = 0;
    assert_int_equal(id_clock_find(instant, lo, hi, sample, a, &id, &e), V_OK);
    return id;
}

static int log2_up(int64_t n) {
    int bits = 0;
    while ((1LL << bits) < n)
        bits++;
    return bits;
}

/* At most a sample too low, never too high, and few questions. `width` is how many ids a sample
 * reaches over. */
static void check(struct archive *a, int64_t lo, int64_t hi, int64_t width) {
    for (int64_t i = 0; i <= 50; i++) {
        int64_t want = lo + (hi - lo) / 50 * i;
        int64_t got = find(a, truth(want), lo, hi);
        if (got > want || got < want - width)
            fail_msg("wanted %lld, found %lld", (long long)want, (long long)got);
        assert_true(a->calls <= log2_up(hi - lo + 2) + 1);
    }
}

static void times_in_order(void **state UNUSED) {
    struct archive a = {.first = 1, .last = 50000000};
    check(&a, 1, 50000000, ID_CLOCK_SAMPLE);
    check(&a, 30000000, 30010000, ID_CLOCK_SAMPLE);
}

static void wrong_times_move_nothing(void **state UNUSED) {
    static const struct {
        int missing, ahead, reset;
        int64_t width;
    } cases[] = {
        {10, 0, 0, 2 * ID_CLOCK_SAMPLE},   {60, 0, 0, 6 * ID_CLOCK_SAMPLE},
        {0, 15, 0, 2 * ID_CLOCK_SAMPLE},   {0, 0, 15, 2 * ID_CLOCK_SAMPLE},
        {10, 10, 10, 2 * ID_CLOCK_SAMPLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct archive a = {.first = 1,
                            .last = 1000000,
                            .missing = cases[i].missing,
                            .ahead = cases[i].ahead,
                            .reset = cases[i].reset};
        check(&a, 1, 900000, cases[i].width);
    }
}

static void the_ends(void **state UNUSED) {
    struct archive a = {.first = 1, .last = 10000};
    assert_int_equal(find(&a, 0, 1, 10000), 1);
    assert_int_equal(find(&a, START - YEAR, 1, 10000), 1);
    assert_int_equal(find(&a, START - YEAR, 500, 10000), 500);
    assert_int_equal(find(&a, truth(10000) + YEAR, 1, 10000), 10001);
    assert_int_equal(find(&a, INT64_MAX, 1, 10000), 10001);
    assert_int_equal(find(&a, truth(5000), 6000, 10000), 6000); /* all younger */
    assert_int_equal(find(&a, truth(7000), 1, 5000), 5001);     /* all older */
    assert_int_equal(find(&a, truth(1), 7, 7), 7);
    assert_int_equal(find(&a, truth(9), 7, 7), 7); /* its neighbours are, which is near enough */
    assert_int_equal(find(&a, truth(900), 7, 7), 8);
    assert_int_equal(find(&a, truth(9), 8, 7), 8); /* an empty range */
    assert_int_equal(find(&a, truth(9), 8, 2), 8);
}

static void an_empty_archive(void **state UNUSED) {
    struct archive a = {.first = 1, .last = 0};
    assert_int_equal(find(&a, truth(5), 1, 50000000), 1);
    assert_int_equal(find(&a, truth(5), 77, 50000000), 77);
    assert_true(a.calls <= 27);
    assert_int_equal(find(&a, truth(5), 1, INT64_MAX), 1);
    assert_true(a.calls <= 64);
}

/* Nobody knows how old the ids in a hole are: all of them count as young, if what follows is. */
static void holes(void **state UNUSED) {
    struct archive a = {.first = 1, .last = 1000000, .hole_lo = 200001, .hole_hi = 800000};
    check(&a, 1, 200000, ID_CLOCK_SAMPLE);
    check(&a, 800001 + ID_CLOCK_SAMPLE, 1000000, ID_CLOCK_SAMPLE);
    int64_t got = find(&a, truth(500000), 1, 1000000);
    assert_in_range(got, 200001 - ID_CLOCK_SAMPLE, 200001);
    got = find(&a, truth(900000), 1, 1000000);
    assert_in_range(got, 900000 - ID_CLOCK_SAMPLE, 900000);

    struct archive sparse = {.first = 1, .last = 10000000, .every = 1000};
    check(&sparse, 1, 9900000, 1000 * ID_CLOCK_SAMPLE);
}

/* Ids above what is stored may be young: the search ends where knowledge does. */
static void the_top_is_not_stored(void **state UNUSED) {
    struct archive a = {.first = 1, .last = 600000};
    assert_int_equal(find(&a, truth(700000), 1, 1000000), 600001);
    assert_in_range(find(&a, truth(599000), 1, 1000000), 599000 - ID_CLOCK_SAMPLE, 599000);
    struct archive high = {.first = 400001, .last = 1000000};
    assert_int_equal(find(&high, truth(300000), 1, 1000000), 1);
    assert_in_range(find(&high, truth(500000), 1, 1000000), 500000 - ID_CLOCK_SAMPLE, 500000);
}

static void a_failing_sample_ends_the_search(void **state UNUSED) {
    for (int n = 1; n <= 5; n++) {
        struct archive a = {.first = 1, .last = 10000, .fail_at = n};
        int64_t id = -1;
        struct err e = {0};
        assert_int_equal(id_clock_find(truth(5000), 1, 10000, sample, &a, &id, &e), V_RETRY);
        assert_string_equal(e.msg, "no answer");
        assert_int_equal(id, -1);
        assert_int_equal(a.calls, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_in_order),
        cmocka_unit_test(wrong_times_move_nothing),
        cmocka_unit_test(the_ends),
        cmocka_unit_test(an_empty_archive),
        cmocka_unit_test(holes),
        cmocka_unit_test(the_top_is_not_stored),
        cmocka_unit_test(a_failing_sample_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
