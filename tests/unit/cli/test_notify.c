#include "cli/notify.h"
#include "mirror/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char told[4096]; /* every message, each with a '|' behind it */

static void listen_in(const char *state) {
    strncat(told, state, sizeof told - strlen(told) - 2);
    strcat(told, "|");
}

static const char *heard(void) {
    static char copy[sizeof told];
    memcpy(copy, told, sizeof told);
    told[0] = '\0';
    return copy;
}

static struct clock clk;

static struct notify listener(int64_t watchdog_ms) {
    clock_manual_init(&clk, 1000, 0);
    heard();
    return (struct notify){.clock = &clk, .send = listen_in, .watchdog_ms = watchdog_ms};
}

static void without_a_socket_nothing_happens(void **state) {
    (void)state;
    struct notify n;
    const struct updater_view up = {.role = UPDATER_ACTIVE};
    const struct progress_view progress = {.total_ids = 10};
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "5000000", 1);
    clock_manual_init(&clk, 1000, 0);
    notify_init(&n, &clk);
    assert_null(n.send);
    assert_int_equal(n.watchdog_ms, 0);
    notify_updater(&n, &up);
    notify_catchup(&n, &progress, 0);
    notify_patience(&n);
    notify_ready(&n);
    notify_status(&n, "x");
    notify_alive(&n, 0);
    notify_stopping(&n, "x");
    assert_false(n.ready || n.stopping);
    unsetenv("WATCHDOG_USEC");
}

static void the_environment_says_how_patient(void **state) {
    (void)state;
    static const struct {
        const char *usec, *pid;
        int64_t ms;
    } rows[] = {
        {NULL, NULL, 0}, {"60000000", NULL, 60000}, {"500", NULL, 1}, {"60000000", "1", 0},
        {"0", NULL, 0},  {"soon", NULL, 0},
    };
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct notify n;
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
        if (rows[i].usec)
            setenv("WATCHDOG_USEC", rows[i].usec, 1);
        if (rows[i].pid)
            setenv("WATCHDOG_PID", rows[i].pid, 1);
        notify_init(&n, &clk);
        assert_non_null(n.send);
        assert_int_equal(n.watchdog_ms, rows[i].ms);
        notify_ready(&n); /* into the void, and that is fine */
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

static void ready_and_stopping_are_told_once(void **state) {
    (void)state;
    struct notify n = listener(0);
    notify_ready(&n);
    notify_ready(&n);
    assert_string_equal(heard(), "READY=1|");
    notify_stopping(&n, "going");
    notify_stopping(&n, "going");
    assert_string_equal(heard(), "STOPPING=1\nSTATUS=going|");
    notify_stopping(&n, "broken:\nfor good");
    assert_string_equal(heard(), "STATUS=broken: for good|");
    notify_ready(&n);
    clock_advance(&clk, 60000);
    notify_status(&n, "still here");
    notify_alive(&n, 0);
    assert_string_equal(heard(), "");
}

static void a_status_is_told_when_it_changes(void **state) {
    (void)state;
    struct notify n = listener(0);
    notify_status(&n, "one");
    notify_status(&n, "two"); /* too soon */
    assert_string_equal(heard(), "STATUS=one|");
    clock_advance(&clk, 2000);
    notify_status(&n, "one");
    assert_string_equal(heard(), "");
    notify_status(&n, "two");
    assert_string_equal(heard(), "STATUS=two|");

    char large[1000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    clock_advance(&clk, 2000);
    notify_status(&n, large);
    assert_int_equal(strlen(heard()), strlen("STATUS=|") + NOTIFY_STATUS_MAX - 1);
    clock_advance(&clk, 2000);
    notify_status(&n, large); /* the same, as far as it was told */
    assert_string_equal(heard(), "");
}

static void the_watchdog_is_fed_by_the_living(void **state) {
    (void)state;
    struct notify n = listener(60000);
    notify_alive(&n, 0);
    assert_string_equal(heard(), ""); /* it does not watch before the start is over */
    notify_ready(&n);
    heard();
    int beats = 0;
    for (int ms = 0; ms < 60000; ms += 100) {
        notify_alive(&n, 200);
        beats += *heard() != '\0';
        clock_advance(&clk, 100);
    }
    assert_int_equal(beats, 4);
    notify_alive(&n, 30001); /* a thread hangs */
    assert_string_equal(heard(), "");
    clock_advance(&clk, 30000);
    notify_alive(&n, 60001);
    assert_string_equal(heard(), "");
    notify_alive(&n, 30000); /* it moves again: at once */
    assert_string_equal(heard(), "WATCHDOG=1|");
}

static void how_an_updater_comes_up(void **state) {
    (void)state;
    struct notify n = listener(60000);
    struct updater_view v = {.role = UPDATER_STANDBY, .db_down_ms = 6000, .workers = 8};
    notify_updater(&n, &v); /* nothing is known yet */
    assert_string_equal(heard(), "STATUS=standby; the database does not answer for 6s|");
    clock_advance(&clk, 2000);
    v.db_down_ms = 0;
    notify_updater(&n, &v);
    assert_string_equal(heard(), "READY=1|STATUS=standby: another updater is active|WATCHDOG=1|");

    clock_advance(&clk, 2000);
    metric_set(&m_frontier_waiting, 0, 40123456);
    metric_set(&m_frontier_lag, 0, METRIC_NONE);
    v = (struct updater_view){.role = UPDATER_ACTIVE, .workers_alive = 8, .workers = 8};
    notify_updater(&n, &v);
    assert_string_equal(heard(), "STATUS=active: frontier 40,123,456, the upstream was not heard "
                                 "of yet; stream down; 0 queued; 8 of 8 workers|");
    clock_advance(&clk, 2000);
    metric_set(&m_frontier_lag, 0, 1012);
    metric_set(&m_queue_depth, 0, 3);
    v = (struct updater_view){
        .role = UPDATER_ACTIVE, .connected = true, .workers_alive = 8, .workers = 8};
    notify_updater(&n, &v);
    assert_string_equal(heard(), "STATUS=active: frontier 40,123,456, 1,012 behind; stream up; "
                                 "3 queued; 8 of 8 workers|");
    clock_advance(&clk, 15000);
    v.connected = false;
    v.illness = "http_5xx";
    v.silence_ms = 31000;
    notify_updater(&n, &v); /* and the watchdog goes hungry */
    assert_string_equal(heard(), "STATUS=active: frontier 40,123,456, 1,012 behind; stream down; "
                                 "3 queued; 8 of 8 workers; the upstream is ill: http_5xx; "
                                 "a thread has not moved for 31s|");
    v.stopping = true;
    notify_updater(&n, &v);
    notify_updater(&n, &v);
    assert_string_equal(heard(), "STOPPING=1\nSTATUS=stopping: writing down what is left|");
}

static void an_active_one_is_ready_whatever_the_database_does(void **state) {
    (void)state;
    struct notify n = listener(0);
    const struct updater_view v = {.role = UPDATER_ACTIVE, .db_down_ms = 20};
    notify_updater(&n, &v);
    assert_memory_equal(heard(), "READY=1|", 8);
}

static void how_a_catchup_stands(void **state) {
    (void)state;
    struct notify n = listener(0);
    struct progress_view v = {.total_ids = 1000,
                              .done_ids = 500,
                              .rate_per_s = 1234,
                              .eta_s = 252,
                              .frontier = 40123456,
                              .phase = "catching up"};
    notify_catchup(&n, &v, 0);
    assert_string_equal(heard(), "READY=1|STATUS=catching up: 50.0%, 1,234/s, 4m 12s left; "
                                 "frontier 40,123,456|");
    clock_advance(&clk, 2000);
    v.eta_s = -1;
    v.dead_letters = 2;
    v.paused = true;
    v.pause_reason = "rate_limited";
    notify_catchup(&n, &v, 0);
    assert_string_equal(heard(), "STATUS=catching up: 50.0%, 1,234/s; frontier 40,123,456; "
                                 "dead letters: 2; paused: rate_limited|");
}

static void a_catchup_feeds_the_watchdog(void **state) {
    (void)state;
    struct notify n = listener(60000);
    const struct progress_view v = {.total_ids = 10, .done_ids = 5, .phase = "catching up"};
    notify_patience(&n); /* nobody waits yet */
    notify_catchup(&n, &v, 0);
    assert_string_equal(heard(),
                        "READY=1|STATUS=catching up: 50.0%, 0.0/s; frontier 0|WATCHDOG=1|");
    clock_advance(&clk, 15000);
    notify_catchup(&n, &v, 31000);
    assert_string_equal(heard(), "STATUS=catching up: 50.0%, 0.0/s; frontier 0; "
                                 "a thread has not moved for 31s|");
    clock_advance(&clk, 2000);
    notify_catchup(&n, &v, 0);
    assert_string_equal(heard(), "STATUS=catching up: 50.0%, 0.0/s; frontier 0|WATCHDOG=1|");
    notify_patience(&n);
    notify_patience(&n);
    assert_string_equal(heard(), "WATCHDOG_USEC=3600000000|");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_socket_nothing_happens),
        cmocka_unit_test(the_environment_says_how_patient),
        cmocka_unit_test(ready_and_stopping_are_told_once),
        cmocka_unit_test(a_status_is_told_when_it_changes),
        cmocka_unit_test(the_watchdog_is_fed_by_the_living),
        cmocka_unit_test(how_an_updater_comes_up),
        cmocka_unit_test(an_active_one_is_ready_whatever_the_database_does),
        cmocka_unit_test(how_a_catchup_stands),
        cmocka_unit_test(a_catchup_feeds_the_watchdog),
    };
    return cmocka_run_group_tests_name("cli/notify", tests, NULL, NULL);
}
