/* The startup replay and the rescans: what is planned, from where to where, when, and when it
 * counts as done. */
#include "desk.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define DAY INT64_C(86400000)
#define HOUR INT64_C(3600000)
#define N 10000 /* items, one a minute: almost seven days */

/* The id that was given out this long before the last item, half a sample of the id clock lower. */
#define ID_BEFORE(ms) (N - (ms) / 60000 - 15)

static int set_up(void **state) {
    struct desk *d = xcalloc(1, sizeof *d);
    desk_open(d, 100);
    *state = d;
    return 0;
}

static int tear_down(void **state) {
    desk_close(*state);
    free(*state);
    return 0;
}

static void fill(struct desk *d) {
    desk_items(d, 1, N, T0 / 1000);
    desk_scanned(d, 1, N);
}

static const char *planned(struct desk *d) {
    return archive_ask(&d->a, "SELECT purpose, MIN(start_id), MAX(end_id), "
                              "SUM(end_id - start_id + 1) FROM ingest_segments "
                              "WHERE purpose <> 'mirror' GROUP BY 1 ORDER BY 1");
}

static void assert_planned(struct desk *d, const char *purpose, int64_t lo, int64_t hi) {
    char wanted[100];
    snprintf(wanted, sizeof wanted, "%s|%lld|%lld|%lld", purpose, (long long)lo, (long long)hi,
             (long long)hi - lo + 1);
    assert_string_equal(planned(d), wanted);
}

/* What a fetch thread does with all of a purpose, and the writer's housekeeping after it. */
static void do_all(struct desk *d, const char *purpose) {
    archive_ask(&d->a, "DELETE FROM ingest_segments WHERE purpose = '%s'", purpose);
}

/* The start ---------------------------------------------------------------------------------- */

static void the_replay_begins_days_before_the_anchor(void **state) {
    struct desk *d = *state;
    fill(d);
    archive_ask(&d->a, "UPDATE updater_state SET last_sse_event_at = %lld", (long long)(T0 - DAY));
    desk_begin(d);
    desk_settle(d);
    assert_string_equal(planned(d), ""); /* maxitem is not known */
    desk_maxitem(d, N + 50);
    assert_planned(d, "replay", ID_BEFORE(4 * DAY), N);
    assert_int_equal(archive_int(&d->a, "SELECT MAX(end_id - start_id + 1) FROM ingest_segments "
                                        "WHERE purpose = 'replay'"),
                     1000);
}

static void without_an_anchor_it_begins_days_before_now(void **state) {
    struct desk *d = *state;
    fill(d);
    desk_begin(d);
    desk_maxitem(d, N + 50);
    assert_planned(d, "replay", ID_BEFORE(3 * DAY), N);
}

static void an_anchor_ahead_of_the_clock_counts_as_none(void **state) {
    struct desk *d = *state;
    fill(d);
    archive_ask(&d->a, "UPDATE updater_state SET last_sse_event_at = %lld, last_rescan_at = %lld",
                (long long)(T0 + DAY), (long long)(T0 + DAY));
    desk_begin(d);
    desk_maxitem(d, N + 50);
    assert_planned(d, "replay", ID_BEFORE(3 * DAY), N);
    assert_false(metric_known(&m_rescan_age, 0));
}

static void an_anchor_before_everything_replays_everything(void **state) {
    struct desk *d = *state;
    fill(d);
    archive_ask(&d->a, "UPDATE updater_state SET last_sse_event_at = %lld, floor_id = 1",
                (long long)(T0 - 30 * DAY));
    desk_begin(d);
    desk_maxitem(d, N + 50);
    assert_planned(d, "replay", 1, N);
}

static void an_empty_archive_has_nothing_to_replay(void **state) {
    struct desk *d = *state;
    desk_begin(d);
    desk_maxitem(d, N);
    desk_after(d, 10000);
    assert_string_equal(planned(d), "");
    assert_int_equal(metric_get(&m_replay_duration, 0), 0);
}

/* The frontier stands far below while the archive is being filled; the stream stores at the top. */
static void what_the_stream_stored_above_the_frontier_is_replayed(void **state) {
    struct desk *d = *state;
    desk_items(d, 1, 200, T0 / 1000 - 5000000);
    desk_scanned(d, 1, 200);
    desk_items(d, N - 99, N, T0 / 1000);
    desk_begin(d);
    desk_maxitem(d, N + 50);
    assert_string_equal(archive_ask(&d->a, "SELECT MAX(end_id) FROM ingest_segments "
                                           "WHERE purpose = 'replay'"),
                        "10000");
    assert_true(archive_int(&d->a, "SELECT MIN(start_id) FROM ingest_segments "
                                   "WHERE purpose = 'replay'") <= N - 99);
}

/* Filled newest first: everything that is there is young, and below it there is nothing yet. */
static void nothing_is_replayed_where_history_is_missing(void **state) {
    struct desk *d = *state;
    desk_items(d, N - 999, N, T0 / 1000);
    desk_scanned(d, N - 999, N);
    archive_ask(&d->a, "UPDATE updater_state SET floor_id = 1");
    desk_begin(d);
    desk_maxitem(d, N + 50);
    assert_planned(d, "replay", N - 999, N);
}

static void a_segment_that_was_not_scanned_is_not_replayed(void **state) {
    struct desk *d = *state;
    desk_items(d, 1, 9000, T0 / 1000 - 60000);
    desk_scanned(d, 1, 9000);
    archive_ask(&d->a, "INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id) "
                       "VALUES (9001, 10000, 'mirror', 9000)");
    desk_begin(d);
    desk_maxitem(d, N + 50);
    assert_planned(d, "replay", ID_BEFORE(3 * DAY), 9000);
}

static void the_replay_is_timed_and_happens_once(void **state) {
    struct desk *d = *state;
    fill(d);
    desk_begin(d);
    desk_maxitem(d, N + 50);
    desk_after(d, 7000);
    assert_int_equal(metric_get(&m_replay_duration, 0), 0);
    do_all(d, "replay");
    desk_after(d, 2000);
    assert_in_range(metric_get(&m_replay_duration, 0), 7000, 9000);
    desk_after(d, HOUR);
    assert_string_equal(planned(d), "");
    metric_set(&m_replay_duration, 0, 0);
}

/* Rescans ------------------------------------------------------------------------------------ */

#define LAST_RESCAN "SELECT COALESCE(last_rescan_at, 0) FROM updater_state"

/* A start whose replay is over. */
static void begin(struct desk *d, int64_t last_rescan_at) {
    fill(d);
    if (last_rescan_at)
        archive_ask(&d->a, "UPDATE updater_state SET last_rescan_at = %lld",
                    (long long)last_rescan_at);
    desk_begin(d);
    desk_maxitem(d, N + 50);
    do_all(d, "replay");
    desk_after(d, 2000);
}

static void never_rescanned_begins_one_interval_after_the_start(void **state) {
    struct desk *d = *state;
    begin(d, 0);
    desk_after(d, 6 * HOUR - 2001);
    assert_string_equal(planned(d), "");
    assert_false(metric_known(&m_rescan_age, 0));
    desk_after(d, 1);
    desk_after(d, 1000);
    assert_planned(d, "rescan", ID_BEFORE(DAY * 3 / 2 - 6 * HOUR - 1000), N);
}

static void a_rescan_counts_from_when_it_was_planned(void **state) {
    struct desk *d = *state;
    begin(d, T0 - 5 * HOUR);
    assert_string_equal(planned(d), "");
    assert_int_equal(metric_get(&m_rescan_age, 0), 5 * HOUR + 2000);
    desk_after(d, HOUR - 2000);
    assert_planned(d, "rescan", ID_BEFORE(DAY * 3 / 2 - HOUR), N);
    desk_after(d, HOUR);
    assert_int_equal(archive_int(&d->a, LAST_RESCAN), T0 - 5 * HOUR);
    do_all(d, "rescan");
    desk_after(d, 2000);
    assert_int_equal(archive_int(&d->a, LAST_RESCAN), T0 + HOUR);
    assert_int_equal(metric_get(&m_rescan_age, 0), HOUR + 2000);
    desk_after(d, 5 * HOUR - 2001);
    assert_string_equal(planned(d), "");
    desk_after(d, 1001);
    assert_memory_equal(planned(d), "rescan", 6);
}

static void an_outage_is_followed_by_a_rescan_at_once(void **state) {
    struct desk *d = *state;
    begin(d, T0);
    d->tidings.outages = 1;
    desk_after(d, 1000);
    assert_planned(d, "rescan", ID_BEFORE(DAY * 3 / 2 - 3000), N);
    int64_t id = archive_int(&d->a, "SELECT MAX(segment_id) FROM ingest_segments");
    desk_after(d, 10000);
    assert_int_equal(archive_int(&d->a, "SELECT MAX(segment_id) FROM ingest_segments"), id);
    d->tidings.outages = 2; /* what was rescanned before is doubtful again */
    desk_after(d, 1000);
    assert_true(archive_int(&d->a, "SELECT MAX(segment_id) FROM ingest_segments") > id);
    assert_planned(d, "rescan", ID_BEFORE(DAY * 3 / 2 - 14000), N);
}

static void a_slow_rescan_is_not_begun_anew(void **state) {
    struct desk *d = *state;
    begin(d, T0 - 6 * HOUR);
    int64_t id = archive_int(&d->a, "SELECT MAX(segment_id) FROM ingest_segments");
    desk_after(d, 2000);
    desk_after(d, 20 * HOUR);
    assert_int_equal(archive_int(&d->a, "SELECT MAX(segment_id) FROM ingest_segments"), id);
    do_all(d, "rescan");
    desk_after(d, 2000);
    desk_after(d, 1000);
    assert_true(archive_int(&d->a, "SELECT MAX(segment_id) FROM ingest_segments") > id);
}

/* What may be left of a rescan, and whether it is finished all the same. */
static void what_is_left_of_a_rescan(void **state) {
    static const struct {
        const char *status, *state, *cls;
        bool finished, next;
    } rows[] = {
        {"done", NULL, NULL, true, true},
        {"retry_wait", "retry_wait", "null_young", true, true},
        {"retry_wait", "retry_wait", "delayed", true, true},
        {"dead_letter", "dead_letter", "http_5xx", true, true},
        {"retry_wait", "retry_wait", "http_5xx", false, true},
        {"retry_wait", "retry_wait", "http_403", false, true},
        {"in_progress", NULL, NULL, false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct desk d;
        desk_open(&d, 100);
        begin(&d, T0 - 6 * HOUR);
        archive_ask(&d.a,
                    "UPDATE ingest_segments SET status = '%s', scan_cursor_id = end_id "
                    "WHERE purpose = 'rescan'",
                    rows[i].status);
        if (rows[i].state)
            archive_ask(&d.a,
                        "INSERT INTO ingest_exceptions (item_id, segment_id, state, "
                        "failure_class, updated_at) SELECT end_id, segment_id, '%s', '%s', 1 "
                        "FROM ingest_segments WHERE purpose = 'rescan'",
                        rows[i].state, rows[i].cls);
        int64_t id = archive_int(&d.a, "SELECT MAX(segment_id) FROM ingest_segments");
        desk_after(&d, 2000);
        desk_settle(&d);
        assert_int_equal(archive_int(&d.a, LAST_RESCAN) >= T0, rows[i].finished);
        desk_after(&d, 6 * HOUR);
        assert_int_equal(archive_int(&d.a, "SELECT MAX(segment_id) FROM ingest_segments") > id,
                         rows[i].next);
        desk_close(&d);
    }
}

static void a_rescan_of_nothing_is_done_at_once(void **state) {
    struct desk *d = *state;
    desk_begin(d);
    desk_maxitem(d, N);
    d->tidings.outages = 1;
    desk_after(d, 1000);
    desk_settle(d);
    assert_string_equal(planned(d), "");
    assert_int_equal(archive_int(&d->a, LAST_RESCAN), T0 + 1000);
}

static void a_rescan_that_could_not_be_planned_is_owed(void **state) {
    struct desk *d = *state;
    begin(d, T0);
    d->tidings.outages = 1;
    clock_advance(&d->a.clock, 1000);
    assert_int_equal(desk_step(d), V_OK);
    while (queue_depth(&d->to_writer))
        desk_refuse(d, V_LIMIT);
    desk_settle(d);
    assert_string_equal(planned(d), "");
    desk_after(d, 10000);
    assert_memory_equal(planned(d), "rescan", 6);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_replay_begins_days_before_the_anchor),
        CASE(without_an_anchor_it_begins_days_before_now),
        CASE(an_anchor_ahead_of_the_clock_counts_as_none),
        CASE(an_anchor_before_everything_replays_everything),
        CASE(an_empty_archive_has_nothing_to_replay),
        CASE(what_the_stream_stored_above_the_frontier_is_replayed),
        CASE(nothing_is_replayed_where_history_is_missing),
        CASE(a_segment_that_was_not_scanned_is_not_replayed),
        CASE(the_replay_is_timed_and_happens_once),
        CASE(never_rescanned_begins_one_interval_after_the_start),
        CASE(a_rescan_counts_from_when_it_was_planned),
        CASE(an_outage_is_followed_by_a_rescan_at_once),
        CASE(a_slow_rescan_is_not_begun_anew),
        cmocka_unit_test(what_is_left_of_a_rescan),
        CASE(a_rescan_of_nothing_is_done_at_once),
        CASE(a_rescan_that_could_not_be_planned_is_owed),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    return cmocka_run_group_tests_name("mirror/chores_scan", tests, NULL, NULL);
}
