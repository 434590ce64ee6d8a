/* What is due by the clock: the lease, the anchor, maxitem, the story lists, retries, the backlog,
 * and how it ends. */
#include "desk.h"

#include "base/log.h"
#include "mirror/realtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP 100

static int set_up(void **state) {
    struct desk *d = xcalloc(1, sizeof *d);
    desk_open(d, CAP);
    desk_begin(d);
    *state = d;
    return 0;
}

static int tear_down(void **state) {
    desk_close(*state);
    free(*state);
    return 0;
}

/* maxitem ------------------------------------------------------------------------------------ */

static void maxitem_is_asked_for_by_the_clock(void **state) {
    struct desk *d = *state;
    desk_settle(d);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 1);
    desk_after(d, 40000);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 1); /* never twice at once */
    desk_maxitem(d, 500);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 1); /* it was overdue */
    desk_maxitem(d, 510);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 0);
    desk_after(d, 14999);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 0);
    desk_after(d, 1);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 1);
    desk_answer(d, "/maxitem.json", NET_TIMEOUT, NULL);
    desk_after(d, 15000);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 1);
    assert_int_equal(d->tidings.maxitem, 510);
}

static void only_a_plain_integer_is_a_maxitem(void **state) {
    static const struct {
        const char *body;
        int64_t wanted;
    } rows[] = {
        {"123", 123},
        {"124\n", 124},
        {"120", 124},
        {"null", 124},
        {"\"200\"", 124},
        {"", 124},
        {"20x", 124},
        {"-200", 124},
        {"0", 124},
        {"1e9", 124},
        {"300.0", 124},
        {"[300]", 124},
        {"+300", 124},
        {"99999999999999999999", 124},
        {"125", 125},
        {"300                                                                 ", 125},
    };
    struct desk *d = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        desk_after(d, 15000);
        desk_answer(d, "/maxitem.json", NET_OK, rows[i].body);
        desk_settle(d);
        assert_int_equal(d->tidings.maxitem, rows[i].wanted);
    }
    assert_int_equal(archive_int(&d->a, "SELECT maxitem FROM updater_state"), 125);
}

static void maxitem_is_noted_when_it_rises_or_a_minute_has_passed(void **state) {
    struct desk *d = *state;
    desk_maxitem(d, 700);
    assert_int_equal(archive_int(&d->a, "SELECT maxitem_at FROM updater_state"), T0);
    for (int i = 1; i <= 4; i++) {
        desk_after(d, 15000);
        desk_maxitem(d, 700);
        assert_int_equal(archive_int(&d->a, "SELECT maxitem_at FROM updater_state"),
                         i < 4 ? T0 : T0 + 60000);
    }
    desk_after(d, 15000);
    desk_maxitem(d, 701);
    assert_string_equal(
        archive_ask(&d->a, "SELECT maxitem, maxitem_at - %lld FROM updater_state", (long long)T0),
        "701|75000");
}

/* Lists -------------------------------------------------------------------------------------- */

#define LISTS "SELECT name, ids, seen_at - 1700000000000 FROM lists ORDER BY name"

static void lists_are_kept(void **state) {
    static const char *const paths[] = {"/topstories.json",  "/newstories.json",
                                        "/beststories.json", "/askstories.json",
                                        "/showstories.json", "/jobstories.json"};
    struct desk *d = *state;
    int64_t before = metric_get(&m_lists_seen, 0);
    clock_advance(&d->a.clock, 5);
    desk_settle(d);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_int_equal(desk_asked(d, paths[i]), 1);
        desk_answer(d, paths[i], NET_OK, i == 0 ? "[3,1,2]" : "[7]");
    }
    clock_advance(&d->a.clock, 50); /* the writer takes its time */
    desk_settle(d);
    assert_string_equal(archive_ask(&d->a, LISTS), "ask|[7]|5 best|[7]|5 job|[7]|5 new|[7]|5 "
                                                   "show|[7]|5 top|[3,1,2]|5");
    assert_int_equal(metric_get(&m_lists_seen, 0) - before, 6);
}

static void garbage_and_failures_leave_a_list_as_it_was(void **state) {
    static const struct {
        enum net_class cls;
        const char *body;
    } rows[] = {{NET_OK, "null"},     {NET_OK, "<html>"},   {NET_OK, ""},
                {NET_OK, "[1,2"},     {NET_HTTP_5XX, NULL}, {NET_TIMEOUT, NULL},
                {NET_OK, "\"text\""}, {NET_TOO_LARGE, NULL}};
    struct desk *d = *state;
    desk_settle(d);
    desk_answer(d, "/topstories.json", NET_OK, "[3,1,2]");
    desk_settle(d);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        desk_after(d, 59999);
        assert_int_equal(desk_asked(d, "/topstories.json"), 0);
        desk_after(d, 1);
        desk_answer(d, "/topstories.json", rows[i].cls, rows[i].body);
        desk_settle(d);
        assert_string_equal(archive_ask(&d->a, LISTS), "top|[3,1,2]|0");
    }
    desk_after(d, 60000);
    desk_answer(d, "/topstories.json", NET_OK, "[]");
    desk_settle(d);
    assert_string_equal(archive_ask(&d->a, LISTS), "top|[]|540000");
}

/* The lease and the anchor ------------------------------------------------------------------- */

#define LEFT "SELECT updater_lease_until - 1700000000000 FROM updater_state"

static void the_lease_is_renewed(void **state) {
    struct desk *d = *state;
    desk_settle(d);
    desk_after(d, LEASE / 4 - 1);
    assert_int_equal(archive_int(&d->a, LEFT), LEASE);
    desk_after(d, 1);
    assert_int_equal(archive_int(&d->a, LEFT), LEASE + LEASE / 4);
}

static void a_lost_lease_is_the_end(void **state) {
    struct desk *d = *state;
    desk_settle(d);
    archive_ask(&d->a, "UPDATE updater_state SET updater_token = updater_token + 1");
    clock_advance(&d->a.clock, LEASE / 4);
    assert_int_equal(desk_step(d), V_OK);
    desk_write(d);
    assert_int_equal(desk_step(d), V_CONFLICT);
    assert_non_null(strstr(d->err.msg, "another updater"));
    assert_int_equal(desk_step(d), V_CONFLICT);
}

/* A renewal goes out alone; what came while it slept waits for its answer. */
static void after_a_long_sleep_it_asks_first(void **state) {
    struct desk *d = *state;
    desk_settle(d);
    clock_advance(&d->a.clock, LEASE);
    desk_answer(d, "/topstories.json", NET_OK, "[3,1,2]");
    desk_answer(d, "/maxitem.json", NET_OK, "500");
    assert_int_equal(desk_step(d), V_OK);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 0);
    assert_int_equal(desk_write(d), 1);
    assert_int_equal(archive_int(&d->a, "SELECT count(*) FROM lists"), 0);
    desk_settle(d);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 1);
    assert_int_equal(archive_int(&d->a, "SELECT count(*) FROM lists"), 1);
}

#define ANCHOR "SELECT COALESCE(last_sse_event_at, 0) FROM updater_state"

static void the_anchor_is_persisted_by_the_clock(void **state) {
    struct desk *d = *state;
    desk_maxitem(d, 1000);
    d->tidings.last_event_at = T0 + 7;
    desk_after(d, 59999);
    assert_int_equal(archive_int(&d->a, ANCHOR), 0);
    desk_after(d, 1);
    assert_int_equal(archive_int(&d->a, ANCHOR), T0 + 7);
    d->tidings.last_event_at = T0 + 61000;
    desk_after(d, 60000);
    assert_int_equal(archive_int(&d->a, ANCHOR), T0 + 61000);
}

/* A life too short to plan the replay must not shorten the next one's. */
static void the_anchor_waits_for_the_replay(void **state) {
    struct desk *d = *state;
    archive_ask(&d->a, "UPDATE updater_state SET last_sse_event_at = 1690000000000");
    desk_settle(d);
    d->tidings.last_event_at = T0 + 7;
    desk_after(d, 120000); /* maxitem is not known */
    assert_int_equal(archive_int(&d->a, ANCHOR), INT64_C(1690000000000));
    desk_maxitem(d, 1000);
    desk_after(d, 60000);
    assert_int_equal(archive_int(&d->a, ANCHOR), T0 + 7);
}

/* Retries ------------------------------------------------------------------------------------ */

static void add_failed(struct desk *d, int n, int attempts, int rung) {
    for (int i = 1; i <= n; i++)
        archive_ask(&d->a,
                    "INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts,"
                    " rung, next_retry_at, first_at, last_at) VALUES ('realtime', %d, "
                    "'retry_wait', '%s', %d, %d, %lld, 1, 1)",
                    i, rung ? "null_young" : "http_5xx", attempts, rung,
                    (long long)(T0 + 2000 + i));
}

static void what_failed_comes_back_to_the_queue(void **state) {
    struct desk *d = *state;
    add_failed(d, 2, 3, 2);
    desk_settle(d);
    assert_int_equal(keyqueue_stats(d->ids).waiting, 0);
    desk_after(d, 2001);
    struct key_ticket t[4];
    assert_int_equal(keyqueue_take(d->ids, t, 4, 0), 1);
    assert_int_equal(t[0].key, 1);
    assert_int_equal(t[0].level, level_of(3, 2));
    assert_int_equal(t[0].flags, 0);
    keyqueue_done(d->ids, 1);
    desk_after(d, 1000);
    assert_int_equal(keyqueue_take(d->ids, t, 4, 0), 1);
    assert_int_equal(t[0].key, 2);
    keyqueue_done(d->ids, 2);
    desk_after(d, 58999);
    assert_int_equal(keyqueue_take(d->ids, t, 4, 0), 0); /* held meanwhile */
    desk_after(d, 2000);
    assert_int_equal(keyqueue_take(d->ids, t, 4, 0), 2);
    keyqueue_done(d->ids, 1);
    keyqueue_done(d->ids, 2);
}

static void what_failed_gives_way_to_what_is_new(void **state) {
    struct desk *d = *state;
    struct key_ticket t[CAP];
    desk_settle(d);
    for (int i = 0; i < CAP; i++)
        keyqueue_offer(d->ids, (struct key_ticket){.key = 1000 + i}, false);
    add_failed(d, 3, 1, 0);
    desk_after(d, 5000);
    assert_int_equal(keyqueue_stats(d->ids).waiting, CAP);
    assert_int_equal(keyqueue_stats(d->ids).refused, 0);
    for (int i = 0; i < CAP / 2; i++) /* half full still */
        assert_int_equal(keyqueue_take(d->ids, t, 1, 0), 1);
    desk_after(d, 1000);
    assert_int_equal(keyqueue_stats(d->ids).waiting, CAP / 2);
    assert_int_equal(keyqueue_take(d->ids, t, 1, 0), 1);
    desk_after(d, 1000);
    assert_int_equal(keyqueue_stats(d->ids).waiting, CAP / 2 - 1 + 3);
}

static void what_does_not_fit_comes_later(void **state) {
    struct desk *d = *state;
    struct key_ticket t[CAP];
    add_failed(d, CAP + 20, 1, 0);
    desk_settle(d);
    desk_after(d, 4000);
    assert_int_equal(keyqueue_stats(d->ids).waiting, CAP);
    assert_int_equal(keyqueue_stats(d->ids).refused, 1); /* it does not insist */
    size_t n = keyqueue_take(d->ids, t, CAP, 0);
    assert_int_equal(n, CAP);
    for (size_t i = 0; i < n; i++) {
        archive_ask(&d->a, "DELETE FROM ingest_dlq_items WHERE item_id = %lld",
                    (long long)t[i].key);
        keyqueue_done(d->ids, t[i].key);
    }
    desk_after(d, 61000);
    assert_int_equal(keyqueue_stats(d->ids).waiting, 20);
}

static void the_backlog_is_counted(void **state) {
    struct desk *d = *state;
    add_failed(d, 5, 1, 0);
    archive_ask(&d->a, "UPDATE ingest_dlq_items SET failure_class = 'delayed', rung = 1 "
                       "WHERE item_id <= 2");
    desk_settle(d);
    assert_int_equal(metric_get(&m_live_dlq, 0), 3);
    assert_int_equal(metric_get(&m_null_backlog, 0), 2);
    archive_ask(&d->a, "DELETE FROM ingest_dlq_items");
    desk_after(d, 4999);
    assert_int_equal(metric_get(&m_live_dlq, 0), 3);
    desk_after(d, 1);
    assert_int_equal(metric_get(&m_live_dlq, 0), 0);
}

/* The end ------------------------------------------------------------------------------------ */

static void a_stop_persists_and_waits_for_everything(void **state) {
    struct desk *d = *state;
    desk_maxitem(d, 1000);
    desk_answer(d, "/newstories.json", NET_OK, "[9]");
    d->tidings.last_event_at = T0 + 99;
    clock_advance(&d->a.clock, 1000);
    assert_int_equal(desk_step(d), V_OK);
    stop_raise(&d->stop);
    assert_int_equal(desk_step(d), V_OK);
    desk_write(d);
    assert_int_equal(desk_step(d), V_OK); /* calls are out */
    desk_cancel_calls(d);
    enum verdict v;
    while ((v = desk_step(d)) == V_OK)
        assert_true(desk_write(d) > 0);
    assert_int_equal(v, V_STOPPED);
    assert_int_equal(archive_int(&d->a, ANCHOR), T0 + 99);
    assert_string_equal(archive_ask(&d->a, "SELECT name FROM lists"), "new");
    assert_int_equal(desk_asked(d, "/maxitem.json"), 0);
}

static void nothing_is_begun_after_a_stop(void **state) {
    struct desk *d = *state;
    stop_raise(&d->stop);
    assert_int_equal(desk_step(d), V_STOPPED);
    assert_int_equal(desk_write(d), 0);
    assert_int_equal(desk_asked(d, "/maxitem.json"), 0);
}

static void verdicts_of_the_writer(void **state) {
    static const struct {
        enum verdict said, wanted;
    } rows[] = {
        {V_INVALID, V_OK},   {V_LIMIT, V_OK},
        {V_NOT_FOUND, V_OK}, {V_CONFLICT, V_OK}, /* of what the lease does not fence */
        {V_FATAL, V_FATAL},  {V_STOPPED, V_STOPPED},
    };
    (void)state;
    log_setup(LOG_ERROR, LOG_TEXT); /* it complains of them, and is right to */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct desk d;
        desk_open(&d, CAP);
        desk_begin(&d);
        assert_int_equal(desk_step(&d), V_OK);
        desk_refuse(&d, rows[i].said);
        desk_write(&d);
        desk_cancel_calls(&d);
        enum verdict v = desk_step(&d);
        for (int k = 0; k < 3 && v == V_OK; k++) {
            desk_write(&d);
            desk_cancel_calls(&d);
            v = desk_step(&d);
        }
        assert_int_equal(v, rows[i].wanted);
        if (v == V_FATAL)
            assert_non_null(strstr(d.err.msg, "the writer will not"));
        desk_close(&d);
    }
}

static void without_a_writer_it_stops(void **state) {
    struct desk *d = *state;
    queue_close(&d->to_writer);
    assert_int_equal(desk_step(d), V_OK); /* calls are out */
    desk_cancel_calls(d);
    assert_int_equal(desk_step(d), V_STOPPED);
}

static void without_a_fetch_service_it_goes_on(void **state) {
    struct desk *d = *state;
    queue_close(&d->calls.queue);
    desk_settle(d);
    desk_after(d, LEASE / 4);
    assert_int_equal(archive_int(&d->a, LEFT), LEASE + LEASE / 4);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(maxitem_is_asked_for_by_the_clock),
        CASE(only_a_plain_integer_is_a_maxitem),
        CASE(maxitem_is_noted_when_it_rises_or_a_minute_has_passed),
        CASE(lists_are_kept),
        CASE(garbage_and_failures_leave_a_list_as_it_was),
        CASE(the_lease_is_renewed),
        CASE(a_lost_lease_is_the_end),
        CASE(after_a_long_sleep_it_asks_first),
        CASE(the_anchor_is_persisted_by_the_clock),
        CASE(the_anchor_waits_for_the_replay),
        CASE(what_failed_comes_back_to_the_queue),
        CASE(what_failed_gives_way_to_what_is_new),
        CASE(what_does_not_fit_comes_later),
        CASE(the_backlog_is_counted),
        CASE(a_stop_persists_and_waits_for_everything),
        CASE(nothing_is_begun_after_a_stop),
        cmocka_unit_test(verdicts_of_the_writer),
        CASE(without_a_writer_it_stops),
        CASE(without_a_fetch_service_it_goes_on),
    };
    return cmocka_run_group_tests_name("mirror/chores", tests, NULL, NULL);
}
