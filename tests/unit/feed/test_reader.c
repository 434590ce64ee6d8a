/* The reader: numbers, reads and tells, and does its chores. */
#include "reader_scene.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void listens_before_it_looks(void **state UNUSED) {
    set_up(NULL);
    struct feed_state st;
    fake_log.waiting = 3;
    assert_false(feed_hub_ready(hub, &st));
    step();
    const char *diary = fake_log_diary();
    assert_before(diary, 'l', 's');
    assert_before(diary, 'n', 's'); /* "now" is behind what is committed */
    assert_true(feed_hub_ready(hub, &st));
    assert_int_equal(st.head, 13);
    gets_nothing();
}

static void numbers_and_tells(void **state UNUSED) {
    set_up(NULL);
    live(1000);
    fake_log.waiting = 2;
    live(FEED_PUBLISH_MS + 1);
    receives(11);
    receives(12);
    gets_nothing();
}

static void a_ring_from_within_is_heard_at_once(void **state UNUSED) {
    set_up(NULL);
    fake_log.role_is_taken = true;
    live(1000);
    fake_log.waiting = 1;
    fake_log.waiting_age = 0;
    step();
    gets_nothing();
    feed_ring(reader);
    step();
    receives(11);
}

static void nobody_numbers_twice(void **state UNUSED) {
    set_up(NULL);
    fake_log.role_is_taken = true;
    live(3000);
    fake_log_diary();
    fake_log.waiting = 1;
    fake_log.waiting_age = 900;
    live(5000);
    assert_int_equal(times(fake_log_diary(), 'p'), 0);
    fake_log.waiting_age = 1100; /* whoever has the role does not do its work */
    live(1001);
    assert_int_equal(times(fake_log_diary(), 'n'), 1);
    live(10);
    receives(11);
}

static void the_role_is_taken_over(void **state UNUSED) {
    set_up(NULL);
    fake_log.role_is_taken = true;
    live(2000);
    fake_log.role_is_taken = false;
    live(1001);
    fake_log_diary();
    live(1000);
    assert_in_range(times(fake_log_diary(), 'p'), 35, 41);
}

static void with_a_bell_it_looks_once_a_second(void **state UNUSED) {
    set_up(NULL);
    fake_log.role_is_taken = true;
    live(3000);
    assert_int_equal(metric_get(&m_feed_listening, 0), 1);
    fake_log_diary();
    live(9000);
    assert_in_range(times(fake_log_diary(), 's'), 8, 12);
    fake_log.state.head++; /* someone else has numbered, and rings */
    fake_log.rings = 1;
    live(2);
    receives(11);
}

/* Each question is a way to the database and back; what comes later will ring. */
static void a_look_asks_once(void **state UNUSED) {
    set_up(NULL);
    fake_log.role_is_taken = true;
    live(1500);
    fake_log_diary();
    fake_log.state.head += 3;
    fake_log.rings = 1;
    reader_wait(reader, 0);
    step();
    assert_string_equal(fake_log_diary(), "sR");
    for (int64_t pos = 11; pos <= 13; pos++)
        receives(pos);
}

static void sqlite_is_looked_at(void **state UNUSED) {
    fake_log.sqlite = true;
    set_up(NULL);
    live(1000);
    const char *diary = fake_log_diary();
    assert_null(strpbrk(diary, "plban"));
    assert_in_range(times(diary, 's'), 18, 22);
    fake_log.state.head++;
    live(FEED_POLL_MS + 1);
    receives(11);
}

static void while_it_is_busy_it_is_looked_at_more_often(void **state UNUSED) {
    fake_log.sqlite = true;
    set_up(NULL);
    live(1000);
    fake_log.state.head++;
    live(FEED_POLL_MS + 1);
    receives(11);
    fake_log.state.head++;
    live(FEED_BUSY_POLL_MS + 1);
    receives(12);
    fake_log_diary();
    live(FEED_BUSY_MS - FEED_BUSY_POLL_MS);
    assert_in_range(times(fake_log_diary(), 's'), 37, 41);
    live(100);
    fake_log_diary();
    live(1000); /* nothing came any more */
    assert_in_range(times(fake_log_diary(), 's'), 18, 22);
}

static void prunes_when_it_is_due(void **state UNUSED) {
    const struct feed_options o = {.keep_ms = 1000, .keep_rows = 5};
    set_up(&o);
    live(1000);
    assert_int_equal(times(fake_log_diary(), 'x'), 1);
    fake_log.state.head = 1000;
    fake_log.to_prune = 300;
    live(FEED_PRUNE_MS);
    assert_int_equal(fake_log.to_prune, 0);
    assert_int_equal(times(fake_log_diary(), 'x'), 31);
    struct feed_state st;
    live(1001);
    feed_hub_ready(hub, &st);
    assert_int_equal(st.oldest, 301);
}

/* However much there is to be dropped. */
static void news_do_not_wait_for_pruning(void **state UNUSED) {
    const struct feed_options o = {.keep_ms = 1000, .keep_rows = 5};
    fake_log_begin(EPOCH, 5000);
    set_up(&o);
    live(1000);
    fake_log.to_prune = 1000;
    clock_advance(&now, FEED_PRUNE_MS);
    step();
    fake_log_diary();
    for (int64_t pos = 5001; pos <= 5003; pos++) {
        fake_log.waiting = 1;
        clock_advance(&now, FEED_PUBLISH_MS);
        step();
        receives(pos);
        const char *diary = fake_log_diary();
        assert_int_equal(times(diary, 'x'), 1);
        assert_before(diary, 'R', 'x');
    }
    assert_true(fake_log.to_prune > 0);
}

static void heals_what_the_triggers_could_not(void **state UNUSED) {
    set_up(NULL);
    live(1000);
    fake_log.to_heal = 2;
    live(6000);
    receives(11);
    receives(12);
}

static void far_behind_it_goes_on_in_rounds(void **state UNUSED) {
    set_up(NULL);
    live(1000);
    fake_log.state.head += 100000;
    fake_log.rings = 1;
    int steps = 0;
    reader_wait(reader, 0);
    for (int wait_ms = 0; wait_ms == 0; steps++)
        wait_ms = step();
    assert_in_range(steps, 3, 6);
    assert_int_equal(reader->at.pos, 100010);
}

static void the_thread_starts_and_stops(void **state UNUSED) {
    set_up(NULL);
    const struct feed_options o = {.hub = hub, .clock = &clock_machine};
    struct feed_reader *r;
    struct err e;
    assert_int_equal(feed_start(&o, &r, &e), V_OK);
    feed_ring(r);
    feed_stop(r);
    feed_stop(NULL);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(listens_before_it_looks),
        TEST(numbers_and_tells),
        TEST(a_ring_from_within_is_heard_at_once),
        TEST(nobody_numbers_twice),
        TEST(the_role_is_taken_over),
        TEST(with_a_bell_it_looks_once_a_second),
        TEST(a_look_asks_once),
        TEST(sqlite_is_looked_at),
        TEST(while_it_is_busy_it_is_looked_at_more_often),
        TEST(prunes_when_it_is_due),
        TEST(news_do_not_wait_for_pruning),
        TEST(heals_what_the_triggers_could_not),
        TEST(far_behind_it_goes_on_in_rounds),
        TEST(the_thread_starts_and_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
