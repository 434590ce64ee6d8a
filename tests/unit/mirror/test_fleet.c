/* The updater as a whole, through outages, silence, gaps and its own death, in virtual time. */
#include "fleet.h"

#include <stdio.h>
#include <string.h>

static void mutate(struct fleet *f, int64_t lo, int64_t hi, bool quiet) {
    struct err e;
    int64_t n;
    assert_ok(demo_mutate(f->demo, lo, hi, CORPUS_EDIT, quiet, &n, &e));
    assert_true(n > 0);
}

static void it_follows_the_upstream(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 500});
    fleet_until_true(&f, "first start");
    fleet_until_connected(&f, true);
    mutate(&f, 30, 60, false);
    demo_set_maxitem(f.demo, 520, false);
    fleet_until_true(&f, "named changes");
    fleet_until(&f, "1", "SELECT SUM(n) > 30 FROM update_ages");
    fleet_until(&f, "1", "SELECT COUNT(*) > 0 FROM users");
    fleet_until(&f, "6", "SELECT COUNT(*) FROM lists");
    fleet_close(&f);
}

/* New ids that the stream keeps to itself are found by the incremental catch-up. */
static void new_ids_are_found_without_the_stream(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 300});
    fleet_until_true(&f, "first start");
    demo_set_maxitem(f.demo, 340, true);
    fleet_pass(&f, 16000, 50);
    fleet_until(&f, "340", "SELECT frontier_excluding_waiting FROM updater_state");
    fleet_close(&f);
}

/* Ten minutes without an upstream: what changed meanwhile, inside the rescan window, is repaired
 * without a restart. */
static void an_outage_of_ten_minutes(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 600});
    fleet_until_true(&f, "first start");
    fleet_until_connected(&f, true);
    demo_set_down(f.demo, true);
    fleet_until_connected(&f, false);
    fleet_pass(&f, 600000, 1000);
    mutate(&f, 100, 140, true);
    demo_set_maxitem(f.demo, 640, true);
    demo_set_down(f.demo, false);
    f.step_ms = 50;
    fleet_until_true(&f, "after ten minutes");
    assert_int_equal(f.tidings.outages, 1);
    fleet_until(&f, "1", "SELECT last_rescan_at > 0 FROM updater_state");
    fleet_until_connected(&f, true);
    fleet_close(&f);
}

/* A short one is no reason to rescan: what the stream named meanwhile is polled. */
static void a_short_outage_is_polled_over(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 300, .faults = {"stream:status=503"}});
    fleet_until_true(&f, "first start");
    assert_false(atomic_load(&f.tidings.connected));
    mutate(&f, 40, 44, false);
    f.step_ms = 50;
    fleet_until_true(&f, "polling");
    assert_int_equal(f.tidings.outages, 0);
    fleet_close(&f);
}

static void a_silent_stream_is_dead_after_a_minute(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 300});
    fleet_until_true(&f, "first start");
    fleet_until_connected(&f, true);
    demo_stream_do(f.demo, DEED_SILENCE);
    mutate(&f, 50, 55, false);
    fleet_pass(&f, 40000, 500);
    assert_true(atomic_load(&f.tidings.connected));
    f.step_ms = 500;
    fleet_until_connected(&f, false);
    f.step_ms = 20;
    fleet_until_true(&f, "after a silence");
    fleet_close(&f);
}

/* The gap after a reconnect: a few ids through the queue, many as segments. */
static void gaps_are_filled(void **unused UNUSED) {
    static const struct {
        int64_t grown, queue_max;
        const char *what;
    } cases[] = {{20, 1000, "a small gap"}, {300, 50, "a large gap"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fleet f;
        fleet_open(&f,
                   &(struct fleet_options){.maxitem = 300, .gap_queue_max = cases[i].queue_max});
        fleet_until_true(&f, "first start");
        fleet_until_connected(&f, true);
        demo_set_maxitem(f.demo, 300 + cases[i].grown, true);
        demo_stream_do(f.demo, DEED_RESET);
        fleet_until_connected(&f, false);
        fleet_until_connected(&f, true);
        fleet_until_true(&f, cases[i].what);
        fleet_close(&f);
    }
}

/* One wild answer for maxitem around a reconnect: nothing is planned for it. */
static void a_wild_maxitem_is_not_believed(void **unused UNUSED) {
    struct tidings t = {0};
    assert_false(tidings_maxitem(&t, INT64_C(1) << 60));
    assert_true(tidings_maxitem(&t, 50000000));
    assert_false(tidings_maxitem(&t, 500000000));
    assert_true(tidings_maxitem(&t, 49000000));
    assert_int_equal(t.maxitem, 50000000);
    assert_true(tidings_maxitem(&t, 50001000));
    assert_int_equal(t.maxitem, 50001000);
}

/* Killed, blind for two hours, started again: replays from the anchor minus the window. */
static void a_killed_updater_replays_from_its_anchor(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 2000, .replay_days = 0.05});
    fleet_until_true(&f, "first start");
    fleet_until_connected(&f, true);
    fleet_pass(&f, 61000, 100);
    fleet_until(&f, "1", "SELECT last_sse_event_at > 0 FROM updater_state");
    int64_t anchor = archive_int(&f.a, "SELECT last_sse_event_at FROM updater_state");
    assert_true(anchor > T0);
    clock_advance(&f.a.clock, 2 * 3600000);
    mutate(&f, 1500, 1999, true); /* the youngest hour */
    fleet_kill_and_start(&f);
    fleet_until(&f, "1", "SELECT COUNT(*) > 0 FROM ingest_segments WHERE purpose = 'replay'");
    /* 0.05 days are 4,320 s, at 7 s per id about 617 ids below the anchor */
    int64_t from = archive_int(&f.a, "SELECT MIN(start_id) FROM ingest_segments "
                                     "WHERE purpose = 'replay'");
    int64_t wanted = 2000 - (4320 - (anchor - T0) / 1000) / 7;
    assert_in_range(from, wanted - 40, wanted + 1);
    fleet_until_true(&f, "replay");
    fleet_close(&f);
}

/* Killed in the midst of a burst: the next life has the whole truth. */
static void killed_at_any_time(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 400});
    for (int i = 0; i < 6; i++) {
        for (int n = 0; n < 3 + 7 * i; n++)
            fleet_round(&f);
        mutate(&f, 20 + i, 300 + i, false);
        fleet_round(&f);
        fleet_kill_and_start(&f);
    }
    fleet_until_true(&f, "six lives");
    fleet_close(&f);
}

/* A queue of 16 before 200 named ids: the reader waits, nothing is dropped. */
static void a_full_queue_drops_nothing(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 400, .channel = 16});
    fleet_until_true(&f, "first start");
    fleet_until_connected(&f, true);
    mutate(&f, 100, 299, false);
    fleet_until_true(&f, "a full queue");
    assert_true(keyqueue_stats(f.ids).refused > 0);
    fleet_close(&f);
}

/* An empty archive, newest first: the last hours are there while history is still missing, the
 * frontier waits for all of it, and a life that ends in between costs nothing. */
static void the_newest_first_and_history_behind(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 6000, .recent_days = 0.05});
    /* 4,320 s at 7 s per id */
    fleet_until(&f, "1", "SELECT COUNT(*) > 550 FROM items WHERE id > 6000 - 617");
    assert_in_range(archive_int(&f.a, "SELECT COUNT(*) FROM items WHERE id < 3000"), 0, 1000);
    assert_int_equal(archive_int(&f.a, "SELECT COUNT(*) FROM ingest_segments WHERE "
                                       "purpose = 'mirror' AND start_id < 3000 "
                                       "AND scan_cursor_id >= start_id"),
                     0);
    assert_int_equal(archive_int(&f.a, "SELECT frontier_id FROM updater_state"), 0);
    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < 5; n++)
            fleet_round(&f);
        fleet_kill_and_start(&f);
        assert_int_equal(archive_int(&f.a, "SELECT frontier_id FROM updater_state"), 0);
    }
    demo_set_maxitem(f.demo, 6040, true);
    fleet_until_true(&f, "newest first");
    f.step_ms = 100;
    fleet_until(&f, "6040", "SELECT frontier_excluding_waiting FROM updater_state");
    fleet_until(&f, "1", "SELECT MIN(start_id) FROM ingest_segments WHERE purpose = 'mirror'");
    assert_int_equal(archive_int(&f.a, "SELECT COUNT(*) FROM items c JOIN items p ON "
                                       "p.id = c.parent WHERE c.story_id IS NULL AND "
                                       "p.story_id IS NOT NULL"),
                     0);
    fleet_close(&f);
}

/* The stories of the lists are there before the mirror comes to them. */
static void stories_of_lists_come_first(void **unused UNUSED) {
    struct fleet f;
    fleet_open(&f, &(struct fleet_options){.maxitem = 6000, .recent_days = 0.05});
    fleet_until(&f, "6", "SELECT COUNT(*) FROM lists");
    fleet_until(&f, "0",
                "SELECT COUNT(*) FROM lists l, json_each(l.ids) j WHERE NOT EXISTS "
                "(SELECT 1 FROM items i WHERE i.id = j.value)");
    assert_int_equal(archive_int(&f.a, "SELECT COUNT(*) < 3000 FROM items"), 1);
    fleet_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_the_upstream),
        cmocka_unit_test(new_ids_are_found_without_the_stream),
        cmocka_unit_test(an_outage_of_ten_minutes),
        cmocka_unit_test(a_short_outage_is_polled_over),
        cmocka_unit_test(a_silent_stream_is_dead_after_a_minute),
        cmocka_unit_test(gaps_are_filled),
        cmocka_unit_test(a_wild_maxitem_is_not_believed),
        cmocka_unit_test(a_killed_updater_replays_from_its_anchor),
        cmocka_unit_test(killed_at_any_time),
        cmocka_unit_test(a_full_queue_drops_nothing),
        cmocka_unit_test(the_newest_first_and_history_behind),
        cmocka_unit_test(stories_of_lists_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
