/* How much of the write thread's time the search index gets, and what a failure does. The store's
 * part is played by the test: a step takes as long as it says, by a manual clock. */
#include "mirror/indexer.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "store/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct {
    struct clock clock;
    int64_t waiting;     /* items */
    double ms_per_item;  /* how long each takes */
    int failing;         /* so many steps fail */
    int steps, recovers; /* how often it was called */
    size_t largest;
} play;

enum verdict store_index_step(struct store *s UNUSED, size_t max_items, int64_t *ret_done,
                              struct err *e) {
    play.steps++;
    *ret_done = 0;
    if (play.failing > 0) {
        play.failing--;
        return err_set(e, V_FATAL, "test", 0, "the index is broken");
    }
    int64_t n = play.waiting < (int64_t)max_items ? play.waiting : (int64_t)max_items;
    play.waiting -= n;
    play.largest = max_items > play.largest ? max_items : play.largest;
    clock_advance(&play.clock, (int64_t)((double)n * play.ms_per_item));
    *ret_done = n;
    return V_OK;
}

enum verdict store_index_lag(struct store *s UNUSED, int64_t *ret_ids, int64_t *ret_since,
                             struct err *e UNUSED) {
    *ret_ids = play.waiting;
    *ret_since = play.waiting ? 5000 : 0;
    return V_OK;
}

enum verdict store_index_all(struct store *s UNUSED, struct err *e UNUSED) {
    return V_OK;
}

enum verdict store_recover(struct store *s UNUSED, struct err *e UNUSED) {
    play.recovers++;
    return V_OK;
}

static struct indexer begin(int64_t waiting, double ms_per_item, double share) {
    struct indexer x;
    play.waiting = waiting;
    play.ms_per_item = ms_per_item;
    play.failing = play.steps = play.recovers = 0;
    play.largest = 0;
    clock_manual_init(&play.clock, 1000, 0);
    indexer_init(&x, &play.clock, NULL, share);
    return x;
}

/* So much time passes with other jobs, of 10 ms each; answers how much of it the index took. */
static int64_t under_load(struct indexer *x, int64_t ms) {
    int64_t from = clock_mono(&play.clock), took = 0;
    while (clock_mono(&play.clock) - from < ms) {
        clock_advance(&play.clock, 10);
        int64_t before = clock_mono(&play.clock);
        indexer_wake(x);
        indexer_turn(x, false);
        took += clock_mono(&play.clock) - before;
    }
    return took;
}

static void all_it_wants_when_idle(void **state UNUSED) {
    struct indexer x = begin(10000, 0.1, 0);
    int64_t before = metric_get(&m_index_items, 0);
    while (indexer_turn(&x, true))
        ;
    assert_int_equal(play.waiting, 0);
    assert_int_equal(metric_get(&m_index_items, 0) - before, 10000);
    assert_int_equal(clock_mono(&play.clock), 2000);
    /* and then it looks now and then, or when it is told to */
    int steps = play.steps;
    assert_false(indexer_turn(&x, true));
    assert_int_equal(play.steps, steps);
    clock_advance(&play.clock, 1000);
    assert_false(indexer_turn(&x, true));
    assert_int_equal(play.steps, steps + 1);
    play.waiting = 1;
    assert_false(indexer_turn(&x, true));
    indexer_wake(&x);
    assert_true(indexer_turn(&x, true));
    assert_int_equal(play.waiting, 0);
}

static void nothing_when_busy_without_a_share(void **state UNUSED) {
    struct indexer x = begin(10000, 0.1, 0);
    assert_int_equal(under_load(&x, 60000), 0);
    assert_int_equal(play.steps, 0);
}

static void a_tenth_when_never_idle(void **state UNUSED) {
    static const double pace[] = {0.01, 0.1, 1, 5};
    for (size_t i = 0; i < ARRAY_LEN(pace); i++) {
        struct indexer x = begin(INT64_C(1) << 40, pace[i], 0.1);
        int64_t took = under_load(&x, 60000);
        assert_in_range(took, 60000 * 8 / 100, 60000 * 11 / 100);
    }
}

/* Hours of quiet are not saved up for later. */
static void credit_has_a_limit(void **state UNUSED) {
    struct indexer x = begin(0, 0.1, 0.1);
    clock_advance(&play.clock, 3600000);
    play.waiting = 1000000;
    assert_in_range(under_load(&x, 1000), 100, 450);
}

static void steps_are_as_large_as_fits_the_time(void **state UNUSED) {
    struct indexer x = begin(INT64_C(1) << 40, 0.05, 0);
    for (int i = 0; i < 20; i++)
        indexer_turn(&x, true);
    assert_in_range(x.items, 1500, 2500); /* 100 ms */
    play.ms_per_item = 20;
    for (int i = 0; i < 3; i++)
        indexer_turn(&x, true);
    assert_int_equal(x.items, 20);
    play.ms_per_item = 0;
    for (int i = 0; i < 30; i++)
        indexer_turn(&x, true);
    assert_int_equal(x.items, 5000);
}

static void a_failure_is_counted_and_waits(void **state UNUSED) {
    struct indexer x = begin(1000, 0.1, 0.1);
    int64_t before = metric_get(&m_index_failures, 0);
    play.failing = 8;
    assert_false(indexer_turn(&x, true));
    assert_int_equal(play.recovers, 1);
    indexer_wake(&x); /* a batch that was written is no reason to try again at once */
    assert_false(indexer_turn(&x, true));
    assert_int_equal(play.steps, 1);
    int64_t from = clock_mono(&play.clock);
    while (play.failing) {
        clock_advance(&play.clock, 100);
        indexer_turn(&x, true);
    }
    assert_int_equal(clock_mono(&play.clock) - from,
                     1000 + 2000 + 4000 + 8000 + 16000 + 32000 + 60000);
    assert_int_equal(metric_get(&m_index_failures, 0) - before, 8);
    assert_int_equal(play.waiting, 1000);
    clock_advance(&play.clock, 60000);
    assert_true(indexer_turn(&x, true));
    assert_int_equal(play.waiting, 800);
}

static void the_lag_is_measured(void **state UNUSED) {
    struct indexer x = begin(77, 0.1, 0.1);
    struct err e;
    assert_int_equal(indexer_measure(&x, 12500, &e), V_OK);
    assert_int_equal(metric_get(&m_index_lag_ids, 0), 77);
    assert_int_equal(metric_get(&m_index_lag_seconds, 0), 7500);
    play.waiting = 0;
    assert_int_equal(indexer_measure(&x, 12500, &e), V_OK);
    assert_int_equal(metric_get(&m_index_lag_seconds, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_it_wants_when_idle),
        cmocka_unit_test(nothing_when_busy_without_a_share),
        cmocka_unit_test(a_tenth_when_never_idle),
        cmocka_unit_test(credit_has_a_limit),
        cmocka_unit_test(steps_are_as_large_as_fits_the_time),
        cmocka_unit_test(a_failure_is_counted_and_waits),
        cmocka_unit_test(the_lag_is_measured),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    return cmocka_run_group_tests_name("mirror/indexer", tests, NULL, NULL);
}
