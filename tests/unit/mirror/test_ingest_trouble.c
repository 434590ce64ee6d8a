/* The ingest core when the upstream is ill, the lease is lost, or someone says stop. */
#include "rig.h"

#include "base/fault.h"
#include "mirror/ingest_int.h"
#include "mirror/metrics.h"

#include <string.h>

#define FAR 10000000
#define HELD \
    "SELECT COUNT(*) FROM ingest_segments WHERE status = 'in_progress' OR holder IS NOT NULL"

/* One minute of trouble at the upstream costs no id anything. */
static void outage_of_a_minute(const char *fault, const char *illness) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 600}, .maxitem = FAR, .faults = {fault}});
    bool ill = false;
    enum ingest_end end = INGEST_RUNNING;
    for (int64_t until = patience(); patient(until) && end == INGEST_RUNNING;) {
        const char *is = ingest_illness(r.ingest);
        r.step_ms = is ? 1000 : 5;
        if (is) {
            ill = true;
            assert_string_equal(is, illness);
        }
        end = rig_round(&r);
    }
    assert_true(ill);
    assert_int_equal(end, INGEST_FINISHED);
    assert_null(ingest_illness(r.ingest));
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 600);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_exceptions"), 0);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_dlq_items"), 0);
    rig_close(&r);
}

static void a_minute_of_503(void **state UNUSED) {
    outage_of_a_minute("all:status=503:after=200:for=60s", "http_5xx");
}

static void a_minute_of_garbage(void **state UNUSED) {
    outage_of_a_minute("all:garbage:after=150:for=60s", "garbage");
}

static void a_minute_of_resets_from_the_start(void **state UNUSED) {
    outage_of_a_minute("all:reset:for=60s", "reset");
}

static void ill_means_one_probe_at_a_time(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 600}, .maxitem = FAR, .faults = {"all:status=503:after=100"}});
    for (int64_t until = patience(); patient(until) && !ingest_illness(r.ingest);)
        rig_round(&r);
    assert_non_null(ingest_illness(r.ingest));
    for (int64_t until = patience();
         patient(until) && (!r.ingest->health.probes || http_inflight(r.http));)
        rig_round(&r); /* what was in flight comes home */
    /* the first probe failed: no id has paid, neither those before nor those in flight */
    assert_true(r.ingest->waiting.n > 10);
    for (size_t i = 0; i < r.ingest->waiting.n; i++)
        assert_int_equal(r.ingest->waiting.at[i]->attempts, 0);
    int64_t before = metric_get(&m_http_requests, NET_HTTP_5XX);
    r.step_ms = 500;
    for (int n = 0; n < 60; n++)
        rig_round(&r);
    /* 30 seconds: probes after 0.5, 1, 2, 4, 8 and 15 s, and no more */
    assert_in_range(metric_get(&m_http_requests, NET_HTTP_5XX) - before, 2, 8);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_dlq_items"), 0);
    rig_set_faults(&r, NULL);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 600);
    rig_close(&r);
}

/* An id that failed and is on its way again when the upstream turns out to be ill. */
static void an_id_in_flight_gets_its_attempt_back(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 100}, .maxitem = FAR});
    struct ingest *g = r.ingest;
    const struct claim claim = {.segment_id = 1, .start_id = 1, .end_id = 10};
    struct segrun *run = segrun_new(&claim, 0, 0);
    struct fetch *flying = ingest_new_fetch(g), *probe = ingest_new_fetch(g);
    *flying = (struct fetch){.run = run, .id = 5, .attempts = 2};
    probe->id = 1;
    ingest_fly(g, flying);
    ingest_fly(g, probe);
    for (int n = 1; n <= HEALTH_MIN_RESULTS; n++) /* one of them is of id 5 */
        health_note(&g->health, n, NET_HTTP_5XX, ingest_now(g));
    assert_true(g->health.ill);
    ingest_done(g, &(struct http_result){.tag = probe, .cls = NET_HTTP_5XX, .retry_after_ms = -1});
    assert_int_equal(flying->attempts, 1);
    ingest_land(g, flying);
    ingest_drop_fetch(g, flying);
    segrun_free(run);
    rig_close(&r);
}

static void an_outage_without_end_ends_the_run(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 600},
                                       .maxitem = FAR,
                                       .max_outage_ms = 120000,
                                       .faults = {"all:status=503:after=100"}});
    enum ingest_end end = INGEST_RUNNING;
    for (int64_t until = patience(); patient(until) && end == INGEST_RUNNING;) {
        r.step_ms = ingest_illness(r.ingest) ? 2000 : 5;
        end = rig_round(&r);
    }
    assert_int_equal(end, INGEST_OUTAGE);
    assert_non_null(strstr(ingest_error(r.ingest)->msg, "120 s"));
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_dlq_items"), 0);
    assert_int_equal(archive_int(&r.a, HELD), 0);
    rig_check_cursors(&r);
    /* and the next run goes on from there */
    rig_set_faults(&r, NULL);
    rig_again(&r);
    r.step_ms = 5;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 600);
    rig_close(&r);
}

/* Many ids are bad, but the upstream is not: they pay, the run goes on. */
static void bad_ids_do_not_look_like_an_outage(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 400},
                                       .maxitem = FAR,
                                       .width = 100,
                                       .max_attempts = 3,
                                       .faults = {"range=101-300:status=500"}});
    r.step_ms = 20;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 200);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_exceptions "
                                       "WHERE state = 'dead_letter'"),
                     200);
    rig_check_cursors(&r);
    rig_close(&r);
}

/* Too few ids are left to tell an outage by their number: before they are given up, one that worked
 * before is asked for. */
static void an_outage_that_meets_few_ids(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 30},
                                       .maxitem = FAR,
                                       .max_attempts = 3,
                                       .concurrency = 1, /* no good answer overtaken by a bad one */
                                       .faults = {"all:status=503:after=25:for=60s"}});
    r.step_ms = 20;
    for (int64_t until = patience(); patient(until) && !ingest_illness(r.ingest);)
        assert_int_equal(rig_round(&r), INGEST_RUNNING);
    assert_string_equal(ingest_illness(r.ingest), "http_5xx");
    r.step_ms = 500;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 30);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_dlq_items"), 0);
    rig_close(&r);
}

/* The same, but it is the id: the probe is well, and the id had its attempts, not one more. */
static void a_bad_id_at_the_end(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 30},
                                       .maxitem = FAR,
                                       .max_attempts = 3,
                                       .faults = {"id=30:delay=100:status=500"}});
    r.step_ms = 20;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 29);
    assert_int_equal(archive_int(&r.a, "SELECT attempts FROM ingest_dlq_items"), 3);
    assert_int_equal(rig_asked(&r, 30), 3);
    rig_close(&r);
}

/* One id asks for an hour of patience: it waits by itself, and no longer than any retry. */
static void retry_after_of_one_id(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 300},
                                       .maxitem = FAR,
                                       .max_attempts = 3,
                                       .faults = {"id=50:status=503:retry_after=3600"}});
    for (int64_t until = patience();
         patient(until) && archive_int(&r.a, "SELECT COUNT(*) FROM items") < 299;) {
        assert_int_equal(rig_round(&r), INGEST_RUNNING);
        assert_int_equal(r.ingest->not_before_mono, 0);
    }
    r.step_ms = 100;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(rig_asked(&r, 50), 3);
    rig_close(&r);
}

/* Many ids ask for it: the lane pauses, for as long as they say. */
static void retry_after_of_the_upstream(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 300},
                                       .maxitem = FAR,
                                       .faults = {"range=40-60:status=429:retry_after=7:times=1"}});
    for (int64_t until = patience(); patient(until) && !ingest_illness(r.ingest);)
        assert_int_equal(rig_round(&r), INGEST_RUNNING);
    assert_string_equal(ingest_illness(r.ingest), "retry_after");
    int64_t left = r.ingest->not_before_mono - clock_mono(&r.a.clock);
    assert_in_range(left, 1, 7000);
    r.step_ms = 50;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_null(ingest_illness(r.ingest));
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 300);
    rig_close(&r);
}

/* The database refuses a batch, and then one item of it: that one is given up, nothing else. */
static void an_item_that_cannot_be_stored(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 40}, .maxitem = FAR});
    fault_setup("apply_refuse:1:fail,apply_refuse:5:fail");
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    fault_setup(NULL);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 39);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_dlq_items "
                                       "WHERE failure_class = 'unstorable' AND attempts = 1"),
                     1);
    rig_check_cursors(&r);
    rig_close(&r);
}

static void stop_releases_the_leases(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 500}, .maxitem = FAR, .faults = {"share=0.3:delay=150"}});
    while (archive_int(&r.a, "SELECT COUNT(*) FROM items") < 60)
        assert_int_equal(rig_round(&r), INGEST_RUNNING);
    assert_true(archive_int(&r.a, HELD) > 0);
    stop_raise(&r.stop);
    int64_t begin = clock_mono(&r.a.clock);
    r.step_ms = 50;
    assert_int_equal(rig_run(&r), INGEST_STOPPED);
    assert_in_range(clock_mono(&r.a.clock) - begin, 0, 5000);
    assert_int_equal(archive_int(&r.a, HELD), 0);
    rig_check_cursors(&r);
    int64_t stored = archive_int(&r.a, "SELECT COUNT(*) FROM items");
    assert_in_range(stored, 60, 499);
    rig_set_faults(&r, NULL);
    rig_again(&r);
    r.step_ms = 5;
    int64_t before = metric_get(&m_http_requests, NET_OK);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 500);
    assert_int_equal(metric_get(&m_http_requests, NET_OK) - before, 500 - stored);
    rig_close(&r);
}

/* It has been asked for, and the writer has not come to it yet. */
static void stop_waits_for_a_segment_that_is_being_claimed(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 500}, .maxitem = FAR});
    assert_int_equal(ingest_step(r.ingest, clock_mono(&r.a.clock)), INGEST_RUNNING);
    stop_raise(&r.stop);
    for (int i = 0; i < 3; i++) {
        clock_advance(&r.a.clock, 20);
        assert_int_equal(ingest_step(r.ingest, clock_mono(&r.a.clock)), INGEST_RUNNING);
    }
    r.step_ms = 50;
    assert_int_equal(rig_run(&r), INGEST_STOPPED);
    assert_int_equal(archive_int(&r.a, HELD), 0);
    rig_close(&r);
}

static void stop_does_not_wait_for_the_slow(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 100}, .maxitem = FAR, .faults = {"id=7:delay=9000"}});
    while (archive_int(&r.a, "SELECT COUNT(*) FROM items") < 20)
        rig_round(&r);
    stop_raise(&r.stop);
    int64_t begin = clock_mono(&r.a.clock);
    r.step_ms = 100;
    assert_int_equal(rig_run(&r), INGEST_STOPPED);
    assert_in_range(clock_mono(&r.a.clock) - begin, 2000, 4600);
    assert_int_equal(archive_int(&r.a, HELD), 0);
    rig_check_cursors(&r);
    rig_close(&r);
}

/* Someone took the segment over: its late answers are dropped, and the run goes on. */
static void a_lost_lease_is_let_go(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 200}, .maxitem = FAR, .faults = {"id=7:delay=30000"}});
    while (archive_int(&r.a, "SELECT COUNT(*) FROM items") < 40)
        rig_round(&r);
    rig_set_faults(&r, NULL); /* for whoever asks for it again */
    int64_t lost = metric_get(&m_leases_lost, 0);
    archive_ask(&r.a, "UPDATE ingest_segments SET lease_token = lease_token + 1, "
                      "holder = 'another:1:1:x:1' WHERE start_id = 1");
    r.step_ms = 1000; /* the next batch finds out, or a heartbeat */
    while (metric_get(&m_leases_lost, 0) == lost)
        assert_int_equal(rig_round(&r), INGEST_RUNNING);
    assert_int_equal(metric_get(&m_leases_lost, 0), lost + 1);
    clock_advance(&r.a.clock, LEASE_MS + 1); /* the other one died too */
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 200);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM ingest_segments "
                                       "WHERE status <> 'done'"),
                     0);
    rig_close(&r);
}

static void a_long_answer_is_kept_alive_by_heartbeats(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 40}, .maxitem = FAR, .faults = {"id=7:delay=1200"}});
    while (archive_int(&r.a, "SELECT COUNT(*) FROM items") < 20)
        rig_round(&r);
    r.step_ms = 4000; /* well over a lease in all */
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_int_equal(archive_int(&r.a, "SELECT COUNT(*) FROM items"), 40);
    assert_int_equal(archive_int(&r.a, "SELECT attempts FROM ingest_segments"), 1);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_minute_of_503),
        cmocka_unit_test(a_minute_of_garbage),
        cmocka_unit_test(a_minute_of_resets_from_the_start),
        cmocka_unit_test(ill_means_one_probe_at_a_time),
        cmocka_unit_test(an_id_in_flight_gets_its_attempt_back),
        cmocka_unit_test(an_outage_without_end_ends_the_run),
        cmocka_unit_test(bad_ids_do_not_look_like_an_outage),
        cmocka_unit_test(an_outage_that_meets_few_ids),
        cmocka_unit_test(a_bad_id_at_the_end),
        cmocka_unit_test(retry_after_of_one_id),
        cmocka_unit_test(retry_after_of_the_upstream),
        cmocka_unit_test(an_item_that_cannot_be_stored),
        cmocka_unit_test(stop_releases_the_leases),
        cmocka_unit_test(stop_waits_for_a_segment_that_is_being_claimed),
        cmocka_unit_test(stop_does_not_wait_for_the_slow),
        cmocka_unit_test(a_lost_lease_is_let_go),
        cmocka_unit_test(a_long_answer_is_kept_alive_by_heartbeats),
    };
    return cmocka_run_group_tests_name("ingest_trouble", tests, NULL, NULL);
}
