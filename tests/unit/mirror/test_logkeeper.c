/* When the write thread numbers and prunes the change log, and what a failure does. The store's
 * part is played by the test, by a manual clock. */
#include "mirror/logkeeper.h"

#include "base/log.h"
#include "store/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct {
    struct clock clock;
    bool shared;
    size_t waiting; /* without a position */
    int64_t old;    /* to be dropped, a thousand a step */
    int failing;    /* so many calls fail */
    int publishes, prunes, recovers;
} play;

bool store_is_shared(const struct store *s UNUSED) {
    return play.shared;
}

enum verdict store_recover(struct store *s UNUSED, struct err *e UNUSED) {
    play.recovers++;
    return V_OK;
}

static enum verdict answer(struct err *e) {
    if (play.failing == 0)
        return V_OK;
    play.failing--;
    return err_set(e, V_RETRY, "test", 0, "the database is away");
}

enum verdict store_feed_publish(struct store *s UNUSED, size_t max, size_t *ret_n, struct err *e) {
    play.publishes++;
    *ret_n = play.waiting < max ? play.waiting : max;
    play.waiting -= *ret_n;
    return answer(e);
}

enum verdict store_feed_prune(struct store *s UNUSED, int64_t age_ms, int64_t rows, int64_t *ret_n,
                              struct err *e) {
    assert_int_equal(age_ms, 777);
    assert_int_equal(rows, 55);
    play.prunes++;
    *ret_n = play.old < 1000 ? play.old : 1000;
    play.old -= *ret_n;
    return answer(e);
}

/* The first turn, when everything is due, is over. */
static struct logkeeper begin(bool shared) {
    struct logkeeper k;
    play.shared = shared;
    play.waiting = 0;
    play.old = play.failing = 0;
    clock_manual_init(&play.clock, 1000, 0);
    logkeeper_init(&k, &play.clock, NULL, 777, 55);
    logkeeper_turn(&k);
    play.publishes = play.prunes = play.recovers = 0;
    return k;
}

static void pass(struct logkeeper *k, int64_t ms) {
    clock_advance(&play.clock, ms);
    logkeeper_turn(k);
}

static void news_is_numbered_soon(void **state UNUSED) {
    struct logkeeper k = begin(true);
    assert_int_equal(logkeeper_wait_ms(&k, 500), 500);
    pass(&k, 1000);
    logkeeper_wrote(&k, true);
    assert_int_equal(logkeeper_wait_ms(&k, 500), 0);
    pass(&k, 0);
    assert_int_equal(play.publishes, 1);
    for (int i = 0; i < 100; i++) { /* a batch each millisecond */
        logkeeper_wrote(&k, true);
        assert_in_range(logkeeper_wait_ms(&k, 500), 0, 25);
        pass(&k, 1);
    }
    assert_int_equal(play.publishes, 5);
    assert_int_equal(play.prunes, 0);
}

static void what_may_be_history_has_time(void **state UNUSED) {
    struct logkeeper k = begin(true);
    pass(&k, 5000);
    logkeeper_wrote(&k, false);
    pass(&k, 999);
    assert_int_equal(play.publishes, 0);
    logkeeper_wrote(&k, false); /* the first one counts */
    pass(&k, 1);
    assert_int_equal(play.publishes, 1);
}

static void more_than_fits_follows_at_once(void **state UNUSED) {
    struct logkeeper k = begin(true);
    play.waiting = 25000;
    pass(&k, 1000);
    logkeeper_wrote(&k, true);
    for (int i = 0; i < 3; i++)
        pass(&k, 0);
    assert_int_equal(play.waiting, 0);
}

static void a_file_is_only_pruned(void **state UNUSED) {
    struct logkeeper k = begin(false);
    pass(&k, 1000);
    logkeeper_wrote(&k, true);
    assert_int_equal(logkeeper_wait_ms(&k, 500), 500);
    pass(&k, 30000);
    assert_int_equal(play.publishes + play.prunes, 0);
    pass(&k, 30000);
    assert_int_equal(play.prunes, 1);
}

static void old_rows_go_a_little_at_a_time(void **state UNUSED) {
    struct logkeeper k = begin(true);
    play.old = 25500;
    pass(&k, 60000);
    assert_int_equal(play.old, 15500);
    pass(&k, 999);
    assert_int_equal(play.old, 15500);
    pass(&k, 1);
    pass(&k, 1000);
    assert_int_equal(play.old, 0);
}

static void no_limit_no_pruning(void **state UNUSED) {
    struct logkeeper k = begin(true);
    k.keep_rows = 0;
    pass(&k, 60000);
    pass(&k, 60000);
    assert_int_equal(play.prunes, 0);
}

static void a_failure_is_tried_again_later(void **state UNUSED) {
    struct logkeeper k = begin(true);
    pass(&k, 1000);
    play.failing = 2;
    logkeeper_wrote(&k, true);
    pass(&k, 0);
    assert_int_equal(play.recovers, 1);
    logkeeper_wrote(&k, true); /* does not hurry it */
    pass(&k, 999);
    assert_int_equal(play.publishes, 1);
    pass(&k, 1);
    assert_int_equal(play.recovers, 2);
    pass(&k, 1999);
    assert_int_equal(play.publishes, 2);
    logkeeper_finish(&k); /* nor does the end */
    assert_int_equal(play.publishes, 2);
    pass(&k, 1);
    assert_int_equal(play.publishes, 3);
    assert_int_equal(k.failures, 0);
    logkeeper_finish(&k);
    assert_int_equal(play.publishes, 4);
}

int main(void) {
    log_setup(LOG_ERROR, LOG_TEXT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(news_is_numbered_soon),
        cmocka_unit_test(what_may_be_history_has_time),
        cmocka_unit_test(more_than_fits_follows_at_once),
        cmocka_unit_test(a_file_is_only_pruned),
        cmocka_unit_test(old_rows_go_a_little_at_a_time),
        cmocka_unit_test(no_limit_no_pruning),
        cmocka_unit_test(a_failure_is_tried_again_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
