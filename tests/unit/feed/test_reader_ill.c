/* The reader when its bell is deaf, its database away, a standby, or another one than before. */
#include "reader_scene.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_deaf_bell_is_noticed(void **state UNUSED) {
    set_up(NULL);
    fake_log.role_is_taken = true;
    live(5000);
    fake_log_diary();
    int64_t lost = metric_get(&m_feed_deaf, 0);
    fake_log.deaf = true;
    live(FEED_PROBE_MS + FEED_PROBE_LATE_MS + 10);
    assert_int_equal(metric_get(&m_feed_deaf, 0), lost + 1);
    assert_int_equal(metric_get(&m_feed_listening, 0), 0);
    assert_int_equal(times(fake_log_diary(), 'l'), 1); /* another one, which is deaf too */
    live(FEED_PROBE_LATE_MS + 10);
    fake_log_diary();
    live(50000);
    const char *diary = fake_log_diary();
    assert_int_equal(times(diary, 'l'), 0); /* the third can wait */
    assert_in_range(times(diary, 's'), 900, 1001);
    fake_log.deaf = false;
    live(20000);
    assert_int_equal(times(fake_log_diary(), 'l'), 1);
    assert_int_equal(metric_get(&m_feed_listening, 0), 1);
}

static void a_bell_that_breaks_is_replaced_before_the_next_look(void **state UNUSED) {
    set_up(NULL);
    live(3000);
    fake_log_diary();
    fake_log.bell_breaks = true;
    fake_log.state.head++; /* while nobody listened */
    reader_wait(reader, 0);
    step();
    const char *diary = fake_log_diary();
    assert_before(diary, 'l', 's');
    receives(11);
}

static void a_database_that_is_away(void **state UNUSED) {
    set_up(NULL);
    struct err e;
    int wait_ms;
    live(3000);
    assert_int_equal(feed_down_ms(reader), 0);
    fake_log.answer = V_RETRY;
    for (int i = 0; i < 5; i++) {
        clock_advance(&now, 1000);
        assert_int_equal(feed_reader_step(reader, &wait_ms, &e), V_RETRY);
        assert_int_equal(wait_ms, FEED_TROUBLE_MS);
        assert_int_equal(feed_down_ms(reader), i * 1000);
    }
    fake_log.answer = V_OK;
    fake_log.state.head += 3;
    fake_log_diary();
    step();
    const char *diary = fake_log_diary();
    assert_int_equal(diary[0], 'r');
    assert_before(diary, 'l', 's');
    assert_non_null(strchr(diary, 'a')); /* the role was the old connection's */
    assert_int_equal(feed_down_ms(reader), 0);
    for (int64_t pos = 11; pos <= 13; pos++)
        receives(pos);
}

/* Called in the middle of a statement, which takes its time. */
static void answer_late(void) {
    clock_advance(&now, 40000);
    assert_int_equal(feed_down_ms(reader), 40000);
    assert_int_equal(feed_silence_ms(reader), 0);
}

static void a_statement_that_does_not_return_is_the_databases_fault(void **state UNUSED) {
    set_up(NULL);
    live(3000);
    fake_log.state.head++;
    fake_log.before = answer_late;
    feed_ring(reader);
    step();
    receives(11);
    assert_int_equal(feed_down_ms(reader), 0);
    assert_int_equal(feed_silence_ms(reader), 0);
}

static void hang(void *connection UNUSED) {
    clock_advance(&now, 40000);
    assert_int_equal(feed_down_ms(reader), 0);
    assert_int_equal(feed_silence_ms(reader), 40000);
    bell++;
}

static void a_thread_that_hangs_elsewhere_is_silent(void **state UNUSED) {
    set_up(NULL);
    feed_leave(client);
    client = feed_join(hub, &(struct feed_join){.since = {0, -1}, .wake = hang});
    live(3000);
    gets_nothing();
    bell = 0;
    fake_log.state.head++;
    feed_ring(reader);
    step();
    assert_int_equal(bell, 1);
    assert_int_equal(feed_silence_ms(reader), 0);
    clock_advance(&now, 7000); /* nor does it step any more */
    assert_int_equal(feed_silence_ms(reader), 7000);
    assert_int_equal(feed_down_ms(reader), 0);
}

static void away_from_the_start(void **state UNUSED) {
    set_up(NULL);
    struct feed_state st;
    struct err e;
    int wait_ms;
    fake_log.answer = V_RETRY;
    assert_int_equal(feed_reader_step(reader, &wait_ms, &e), V_RETRY);
    assert_false(feed_hub_ready(hub, &st));
    fake_log.answer = V_OK;
    step();
    assert_true(feed_hub_ready(hub, &st));
}

static void a_standby_is_looked_at(void **state UNUSED) {
    set_up(NULL);
    fake_log.standby = true;
    struct feed_state st;
    live(2000);
    assert_true(feed_hub_ready(hub, &st));
    fake_log_diary();
    live(10000);
    const char *diary = fake_log_diary();
    assert_in_range(times(diary, 's'), 38, 42);
    assert_int_equal(times(diary, 'o'), 0);
    fake_log.state.head++;
    live(FEED_STANDBY_MS + 1);
    receives(11);
    fake_log.standby = false; /* promoted */
    fake_log.waiting = 1;
    live(2000);
    receives(12);
    assert_non_null(strchr(fake_log_diary(), 'l'));
}

static void a_replica_writes_nothing(void **state UNUSED) {
    const struct feed_options o = {.read_only = true, .keep_ms = 1, .keep_rows = 1};
    set_up(&o);
    fake_log.waiting = 1;
    fake_log.waiting_age = 10000;
    fake_log.to_prune = 1;
    live(30000);
    const char *diary = fake_log_diary();
    assert_null(strpbrk(diary, "pxha"));
}

static void a_replica_that_is_a_standby(void **state UNUSED) {
    const struct feed_options o = {.read_only = true};
    set_up(&o);
    fake_log.standby = true;
    live(2000);
    fake_log_diary();
    live(10000);
    const char *diary = fake_log_diary();
    assert_null(strpbrk(diary, "pxha"));
    assert_in_range(times(diary, 's'), 38, 42);
    assert_in_range(times(diary, 'l'), 1, 3);
    fake_log.standby = false;
    live(12000);
    assert_int_equal(metric_get(&m_feed_listening, 0), 1);
}

static void a_new_life_of_the_database(void **state UNUSED) {
    set_up(NULL);
    live(1000);
    fake_log.waiting = 5;
    live(100);
    for (int64_t pos = 11; pos <= 15; pos++)
        receives(pos);
    gets_nothing();
    fake_log.state = (struct feed_state){.epoch = EPOCH + 1, .head = 14, .oldest = 1};
    fake_log.common = 12;
    live(1100);
    struct feed_taken t;
    assert_int_equal(feed_take(client, &t), FEED_GAP);
    assert_int_equal(t.from.pos, 15);
    assert_int_equal(t.to.epoch, EPOCH + 1);
    assert_int_equal(t.to.pos, 12);
    receives(13);
    receives(14);
    gets_nothing();
}

static void begin_another_life(void) {
    if (fake_log.state.epoch == EPOCH)
        fake_log.state.epoch++;
    fake_log.common = 10;
}

/* What was read may be of the new life, whatever the state said before. */
static void an_epoch_begins_between_state_and_reading(void **state UNUSED) {
    set_up(NULL);
    live(1000);
    fake_log.before = begin_another_life;
    fake_log.waiting = 1;
    live(100);
    struct feed_taken t;
    assert_int_equal(feed_take(client, &t), FEED_EVENT);
    assert_int_equal(t.event->id.epoch, EPOCH + 1);
    assert_int_equal(t.event->id.pos, 11);
    feed_event_drop(t.event);
    struct feed_counts counts;
    feed_hub_count(hub, &counts);
    assert_int_equal(counts.added, 1); /* and never under the old name */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_deaf_bell_is_noticed),
        TEST(a_bell_that_breaks_is_replaced_before_the_next_look),
        TEST(a_database_that_is_away),
        TEST(a_statement_that_does_not_return_is_the_databases_fault),
        TEST(a_thread_that_hangs_elsewhere_is_silent),
        TEST(away_from_the_start),
        TEST(a_standby_is_looked_at),
        TEST(a_replica_writes_nothing),
        TEST(a_replica_that_is_a_standby),
        TEST(a_new_life_of_the_database),
        TEST(an_epoch_begins_between_state_and_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
