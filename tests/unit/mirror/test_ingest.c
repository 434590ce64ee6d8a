/* The ingest core without threads: what each kind of answer leads to, and how runs end. */
#include "rig.h"

#include "mirror/metrics.h"

#include <string.h>

#define EXCEPTIONS \
    "SELECT item_id, state, attempts, rung, failure_class FROM ingest_exceptions ORDER BY 1"
#define FAR 10000000 /* a maxitem that makes every id of a test old */

static void expect(struct rig *r, const char *wanted, const char *sql) {
    const char *is = archive_ask(&r->a, "%s", sql);
    if (strcmp(is, wanted) != 0)
        fail_msg("%s answers '%s', not '%s'", sql, is, wanted);
}

static void everything_of_the_window_and_nothing_else(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {31, 330}, .maxitem = FAR});
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "300|31|330", "SELECT COUNT(*), MIN(id), MAX(id) FROM items");
    expect(&r, "", EXCEPTIONS);
    expect(&r, "0", "SELECT COUNT(*) FROM ingest_segments WHERE status <> 'done'");
    for (int64_t id = 29; id <= 332; id++)
        assert_int_equal(rig_asked(&r, id), id >= 31 && id <= 330);
    rig_close(&r);
}

static void a_second_run_asks_for_nothing(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 120}, .maxitem = FAR});
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    rig_again(&r);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    for (int64_t id = 1; id <= 120; id++)
        assert_int_equal(rig_asked(&r, id), 1);
    rig_close(&r);
}

static void a_failure_that_passes(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 40},
                                       .maxitem = FAR,
                                       .faults = {"id=7:status=500:times=7", "id=9:reset:times=2",
                                                  "id=11:truncate:times=1"}});
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "40", "SELECT COUNT(*) FROM items");
    expect(&r, "", EXCEPTIONS);
    assert_int_equal(rig_asked(&r, 7), 8);
    assert_int_equal(rig_asked(&r, 9), 3);
    assert_int_equal(rig_asked(&r, 11), 2);
    rig_close(&r);
}

static void dead_after_exactly_so_many_attempts(void **state UNUSED) {
    static const int attempts[] = {1, 3, 8};
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        struct rig r;
        rig_open(&r, &(struct rig_options){.window = {1, 40},
                                           .maxitem = FAR,
                                           .max_attempts = attempts[i],
                                           .faults = {"id=7:status=500", "id=9:garbage",
                                                      "id=11:wrong_id", "id=13:truncate"}});
        assert_int_equal(rig_run(&r), INGEST_FINISHED);
        char wanted[300];
        snprintf(wanted, sizeof wanted,
                 "7|dead_letter|%d|0|http_5xx 9|dead_letter|%d|0|garbage "
                 "11|dead_letter|%d|0|wrong_id 13|dead_letter|%d|0|truncated",
                 attempts[i], attempts[i], attempts[i], attempts[i]);
        expect(&r, wanted, EXCEPTIONS);
        expect(&r, "4|4", "SELECT COUNT(*), SUM(state = 'dead_letter') FROM ingest_dlq_items");
        expect(&r, "36", "SELECT COUNT(*) FROM items");
        expect(&r, "dead_letter|4|40",
               "SELECT status, unresolved_count, scan_cursor_id FROM ingest_segments");
        assert_int_equal(rig_asked(&r, 7), attempts[i]);
        assert_int_equal(rig_asked(&r, 9), attempts[i]);
        rig_close(&r);
    }
}

static void attempts_are_remembered_between_runs(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 40}, .maxitem = FAR, .faults = {"id=7:status=500"}});
    int64_t before = metric_get(&m_retries, 0);
    while (metric_get(&m_retries, 0) < before + 3)
        assert_int_equal(rig_round(&r), INGEST_RUNNING);
    stop_raise(&r.stop);
    assert_int_equal(rig_run(&r), INGEST_STOPPED);
    assert_in_range(archive_int(&r.a, "SELECT attempts FROM ingest_exceptions"), 3, 6);
    rig_again(&r);
    clock_advance(&r.a.clock, 1000);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "7|dead_letter|8|0|http_5xx", EXCEPTIONS);
    assert_in_range(rig_asked(&r, 7), 8, 9); /* one may have been in flight at the stop */
    rig_close(&r);
}

static void nulls_old_and_young(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 40}, .maxitem = 20020, .faults = {"id=5:null", "id=30:null"}});
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "5|terminal_missing|0|0|null_old 30|retry_wait|0|1|null_young", EXCEPTIONS);
    expect(&r, "retry_wait|1|40",
           "SELECT status, unresolved_count, scan_cursor_id FROM ingest_segments");
    /* five seconds from the answer, which was written down up to a second later */
    assert_in_range(archive_int(&r.a, "SELECT next_retry_at - updated_at FROM ingest_exceptions "
                                      "WHERE item_id = 30"),
                    3000, 5000);
    rig_close(&r);
}

static void the_ladder_is_climbed_while_the_run_may_wait(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 40},
                                       .wait_ms = 60000,
                                       .faults = {"id=5:null:times=2", "id=6:status=404:times=1"}});
    r.step_ms = 100;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "40", "SELECT COUNT(*) FROM items");
    expect(&r, "", EXCEPTIONS);
    assert_int_equal(rig_asked(&r, 5), 3);
    assert_int_equal(rig_asked(&r, 6), 2);
    rig_close(&r);
}

static void delayed_text_is_stored_and_waits(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 40}, .maxitem = FAR});
    int64_t comment = 1;
    while (!corpus_parent(demo_corpus(r.demo), comment))
        comment++;
    char spec[40], wanted[60];
    snprintf(spec, sizeof spec, "id=%lld:delayed", (long long)comment);
    snprintf(wanted, sizeof wanted, "%lld|retry_wait|0|1|delayed", (long long)comment);
    rig_set_faults(&r, spec);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, wanted, EXCEPTIONS);
    assert_string_equal(
        archive_ask(&r.a, "SELECT text FROM items WHERE id = %lld", (long long)comment),
        "[delayed]");
    rig_close(&r);
}

static void a_straggler_lets_the_cursor_pass(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){
                     .window = {1, 40}, .maxitem = FAR, .faults = {"id=7:delay=30000"}});
    rig_until(&r, "1", "SELECT COUNT(*) >= 20 FROM items");
    expect(&r, "", EXCEPTIONS);
    clock_advance(&r.a.clock, 6000);
    rig_until(&r, "7|pending|0|0|straggler", EXCEPTIONS);
    rig_until(&r, "40", "SELECT scan_cursor_id FROM ingest_segments");
    expect(&r, "39", "SELECT COUNT(*) FROM items");
    rig_check_cursors(&r);
    /* the answer never comes; the next run asks again */
    stop_raise(&r.stop);
    r.step_ms = 100;
    assert_int_equal(rig_run(&r), INGEST_STOPPED);
    expect(&r, "1|1",
           "SELECT status IN ('retry_wait', 'pending'), unresolved_count "
           "FROM ingest_segments WHERE holder IS NULL");
    rig_set_faults(&r, NULL);
    rig_again(&r);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "40", "SELECT COUNT(*) FROM items");
    expect(&r, "", EXCEPTIONS);
    expect(&r, "done|0", "SELECT status, unresolved_count FROM ingest_segments");
    rig_close(&r);
}

static void a_late_answer_is_as_good_as_any(void **state UNUSED) {
    struct rig r;
    rig_open(
        &r, &(struct rig_options){.window = {1, 40}, .maxitem = FAR, .faults = {"id=7:delay=500"}});
    r.step_ms = 1000;
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "40", "SELECT COUNT(*) FROM items");
    expect(&r, "", EXCEPTIONS);
    expect(&r, "done|0", "SELECT status, unresolved_count FROM ingest_segments");
    assert_int_equal(rig_asked(&r, 7), 1);
    rig_close(&r);
}

static void the_rate_is_kept(void **state UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 60}, .maxitem = FAR, .rps = 100});
    int64_t begin = clock_mono(&r.a.clock);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    expect(&r, "60", "SELECT COUNT(*) FROM items");
    assert_in_range(clock_mono(&r.a.clock) - begin, 590, 5000);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_of_the_window_and_nothing_else),
        cmocka_unit_test(a_second_run_asks_for_nothing),
        cmocka_unit_test(a_failure_that_passes),
        cmocka_unit_test(dead_after_exactly_so_many_attempts),
        cmocka_unit_test(attempts_are_remembered_between_runs),
        cmocka_unit_test(nulls_old_and_young),
        cmocka_unit_test(the_ladder_is_climbed_while_the_run_may_wait),
        cmocka_unit_test(delayed_text_is_stored_and_waits),
        cmocka_unit_test(a_straggler_lets_the_cursor_pass),
        cmocka_unit_test(a_late_answer_is_as_good_as_any),
        cmocka_unit_test(the_rate_is_kept),
    };
    return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
