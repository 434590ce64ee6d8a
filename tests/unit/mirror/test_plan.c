/* Planning against a real archive: what becomes segments, how few rows remain, and the frontier. */
#include "archive.h"

#include "mirror/plan.h"

#include <stdlib.h>

static int set_up(void **state) {
    struct archive *a = xcalloc(1, sizeof *a);
    archive_open(a);
    *state = a;
    return 0;
}

static int tear_down(void **state) {
    archive_close(*state);
    free(*state);
    return 0;
}

static struct plan_report step(struct archive *a, struct plan *p, int low_water) {
    struct plan_report r;
    struct err e;
    assert_ok(plan_step(a->s, p, low_water, &r, &e));
    return r;
}

#define SEGMENTS "SELECT start_id, end_id FROM ingest_segments ORDER BY start_id"

/* A window, a width, and what is planned for it. */
static void windows_become_segments(void **state) {
    static const struct {
        struct range window;
        int64_t width;
        const char *wanted;
    } rows[] = {
        {{1, 30}, 10, "1|10 11|20 21|30"},
        {{1, 31}, 10, "1|10 11|20 21|30 31|31"},
        {{5, 14}, 10, "5|14"},
        {{5, 15}, 10, "5|14 15|15"},
        {{7, 7}, 1000, "7|7"},
        {{1, 5}, 1, "1|1 2|2 3|3 4|4 5|5"},
        {{1, 999}, 1000, "1|999"},
        {{1, 1000}, 1000, "1|1000"},
        {{1, 1001}, 1000, "1|1000 1001|1001"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct archive a;
        archive_open(&a);
        struct plan p = {.window = rows[i].window, .width = rows[i].width};
        struct plan_report r = step(&a, &p, 16);
        assert_string_equal(archive_ask(&a, SEGMENTS), rows[i].wanted);
        assert_true(r.all_planned);
        assert_int_equal(r.planned_new, archive_int(&a, "SELECT COUNT(*) FROM ingest_segments"));
        assert_int_equal(archive_int(&a, "SELECT SUM(end_id - start_id + 1) FROM ingest_segments"),
                         rows[i].window.hi - rows[i].window.lo + 1);
        assert_int_equal(step(&a, &p, 16).planned_new, 0);
        archive_close(&a);
    }
    (void)state;
}

static void gaps_are_filled_and_nothing_overlaps(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {21, 30}, .width = 10};
    step(a, &p, 100);
    p.window = (struct range){45, 47};
    step(a, &p, 100);
    p.window = (struct range){15, 60};
    assert_int_equal(step(a, &p, 100).planned_new, 5);
    assert_string_equal(archive_ask(a, SEGMENTS), "15|20 21|30 31|40 41|44 45|47 48|57 58|60");
    p.window = (struct range){16, 59};
    assert_int_equal(step(a, &p, 100).planned_new, 0);
}

static void planned_lazily(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 1000000}, .width = 1000};
    struct plan_report r = step(a, &p, 16);
    assert_int_equal(r.planned_new, 64);
    assert_false(r.all_planned);
    assert_int_equal(step(a, &p, 16).planned_new, 0); /* enough is pending */
    struct err e;
    struct arena arena;
    arena_init(&arena);
    for (int i = 0; i < 48; i++) {
        struct claim c;
        assert_ok(store_claim(a->s, "me", &(struct claim_ask){1, 1000000, PURPOSE_RESCAN}, &arena,
                              &c, &e));
    }
    assert_int_equal(step(a, &p, 16).planned_new, 0); /* 16 are */
    struct claim c;
    assert_ok(
        store_claim(a->s, "me", &(struct claim_ask){1, 1000000, PURPOSE_RESCAN}, &arena, &c, &e));
    assert_int_equal(step(a, &p, 16).planned_new, 64);
    assert_int_equal(archive_int(a, "SELECT MAX(end_id) FROM ingest_segments"), 128000);
    arena_release(&arena);
}

/* Works through a claimed segment: nothing but outcomes, without items. */
static struct batch *finish(const struct claim *c) {
    struct batch *b = batch_new();
    b->segment_id = c->segment_id;
    b->lease_token = c->lease_token;
    b->end_id = c->end_id;
    b->purpose = c->purpose;
    b->cursor = c->end_id;
    b->release = true;
    return b;
}

static void except(struct batch *b, int64_t id, enum exception_state state, const char *cls) {
    struct batch_exception *x = batch_add_exception(b);
    x->id = id;
    x->state = state;
    x->cls = cls;
    x->next_retry_at = state == EXC_RETRY_WAIT ? T0 + 3600000 : DB_NULL;
    x->error = STR("for the test");
}

static void apply(struct archive *a, struct batch *b) {
    struct apply_stats st;
    struct err e;
    assert_ok(store_apply(a->s, b, &st, &e));
    batch_free(b);
}

static bool work_one(struct archive *a, const struct plan *p, int64_t trouble,
                     enum exception_state state, const char *cls) {
    struct err e;
    struct claim c;
    struct arena arena;
    arena_init(&arena);
    enum verdict v = store_claim(
        a->s, "me",
        &(struct claim_ask){p->window.lo, p->window.hi, PURPOSE_RESCAN, p->newest_first}, &arena,
        &c, &e);
    if (v == V_OK) {
        struct batch *b = finish(&c);
        if (trouble >= c.start_id && trouble <= c.end_id)
            except(b, trouble, state, cls);
        apply(a, b);
    }
    arena_release(&arena);
    return v == V_OK;
}

static void few_rows_remain_of_many_ids(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 200000}, .width = 1000};
    int64_t most = 0, last = 0;
    struct plan_report r;
    step(a, &p, 16);
    for (int n = 0; n < 200; n++) {
        assert_true(work_one(a, &p, 123456, EXC_TERMINAL_MISSING, "null_old"));
        if (n % 20 == 19) {
            r = step(a, &p, 16);
            assert_true(r.frontier.id > last); /* it rises with the work, in order */
            last = r.frontier.id;
            int64_t rows = archive_int(a, "SELECT COUNT(*) FROM ingest_segments");
            most = rows > most ? rows : most;
        }
    }
    assert_false(work_one(a, &p, 0, EXC_PENDING, ""));
    r = step(a, &p, 16);
    assert_int_equal(r.frontier.id, 200000);
    assert_int_equal(r.covered, 200000);
    assert_true(r.all_planned);
    assert_in_range(most, 1, 100);
    assert_string_equal(archive_ask(a, SEGMENTS), "1|200000");
    assert_string_equal(archive_ask(a, "SELECT x.item_id, s.start_id FROM ingest_exceptions x "
                                       "JOIN ingest_segments s USING (segment_id)"),
                        "123456|1");
}

static void merged_only_where_all_is_well(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 70}, .width = 10};
    step(a, &p, 16);
    for (int n = 0; n < 6; n++) /* the last one stays pending */
        assert_true(work_one(a, &p, 35, EXC_DEAD_LETTER, "garbage"));
    struct plan_report r = step(a, &p, 0);
    assert_int_equal(r.merged, 3);
    assert_string_equal(archive_ask(a, SEGMENTS), "1|30 31|40 41|60 61|70");
    assert_int_equal(r.frontier.id, 34);
    assert_int_equal(r.frontier.excluding_waiting, 34);
    assert_int_equal(r.covered, 60);
}

static void never_merged_across_a_hole(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 20}, .width = 10};
    step(a, &p, 16);
    while (work_one(a, &p, 0, EXC_PENDING, ""))
        ;
    p.window = (struct range){31, 50};
    step(a, &p, 16);
    while (work_one(a, &p, 0, EXC_PENDING, ""))
        ;
    struct plan_report r = step(a, &p, 0);
    assert_string_equal(archive_ask(a, SEGMENTS), "1|20 31|50");
    assert_int_equal(r.frontier.id, 20);
    p.window = (struct range){1, 50};
    step(a, &p, 16);
    assert_true(work_one(a, &p, 0, EXC_PENDING, ""));
    r = step(a, &p, 0);
    assert_string_equal(archive_ask(a, SEGMENTS), "1|50");
    assert_int_equal(r.frontier.id, 50);
}

/* What stands in the way of which frontier. */
static void two_frontiers(void **state) {
    static const struct {
        enum exception_state state;
        const char *cls;
        int64_t frontier, excluding;
    } rows[] = {
        {EXC_TERMINAL_MISSING, "null_old", 30, 30}, {EXC_RETRY_WAIT, "null_young", 14, 30},
        {EXC_RETRY_WAIT, "delayed", 14, 30},        {EXC_RETRY_WAIT, "http_5xx", 14, 14},
        {EXC_PENDING, "straggler", 14, 14},         {EXC_DEAD_LETTER, "garbage", 14, 14},
        {EXC_PENDING, "null_young", 14, 14},        {EXC_RETRY_WAIT, "http_404", 14, 14},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct archive a;
        archive_open(&a);
        struct plan p = {.window = {1, 30}, .width = 10};
        struct frontier f;
        struct err e;
        step(&a, &p, 16);
        while (work_one(&a, &p, 15, rows[i].state, rows[i].cls))
            ;
        struct plan_report r = step(&a, &p, 0);
        assert_int_equal(r.frontier.id, rows[i].frontier);
        assert_int_equal(r.frontier.excluding_waiting, rows[i].excluding);
        assert_ok(plan_frontier(a.s, &f, &e));
        assert_int_equal(f.id, rows[i].frontier);
        assert_int_equal(f.excluding_waiting, rows[i].excluding);
        assert_int_equal(archive_int(&a, "SELECT frontier_id FROM updater_state"),
                         rows[i].frontier);
        archive_close(&a);
    }
    (void)state;
}

static void the_frontier_counts_from_the_floor(void **state) {
    struct archive *a = *state;
    struct err e;
    struct frontier f;
    assert_ok(plan_frontier(a->s, &f, &e));
    assert_int_equal(f.id, 0);
    assert_ok(store_lower_floor(a->s, 101, &e));
    struct plan p = {.window = {101, 120}, .width = 10};
    assert_int_equal(step(a, &p, 16).frontier.id, 100);
    while (work_one(a, &p, 0, EXC_PENDING, ""))
        ;
    assert_int_equal(step(a, &p, 16).frontier.id, 120);
    assert_ok(store_lower_floor(a->s, 91, &e)); /* a later run from below */
    assert_int_equal(step(a, &p, 16).frontier.id, 90);
}

static void a_cursor_half_way_counts(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 10}, .width = 10};
    step(a, &p, 16);
    struct arena arena;
    arena_init(&arena);
    struct claim c;
    struct err e;
    assert_ok(store_claim(a->s, "me", &(struct claim_ask){1, 10, PURPOSE_RESCAN}, &arena, &c, &e));
    struct batch *b = finish(&c);
    b->cursor = 7;
    b->release = false;
    except(b, 6, EXC_PENDING, "straggler");
    apply(a, b);
    assert_int_equal(step(a, &p, 16).frontier.id, 5);
    assert_int_equal(step(a, &p, 16).covered, 7);
    arena_release(&arena);
}

static void a_replay_is_planned_once_and_lowers_nothing(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 25}, .width = 10};
    step(a, &p, 16);
    while (work_one(a, &p, 0, EXC_PENDING, ""))
        ;
    step(a, &p, 16);
    struct plan again = {.window = {6, 40}, .width = 10, .replay = true};
    struct plan_report r = step(a, &again, 16);
    assert_int_equal(r.frontier.id, 25);
    assert_string_equal(archive_ask(a, "SELECT purpose, start_id, end_id FROM ingest_segments "
                                       "ORDER BY purpose, start_id"),
                        "mirror|1|25 mirror|26|35 mirror|36|40 replay|6|15 replay|16|25");
    assert_int_equal(step(a, &again, 16).planned_new, 0);
    while (work_one(a, &again, 0, EXC_PENDING, ""))
        ;
    r = step(a, &again, 16);
    assert_int_equal(r.planned_new, 0);
    assert_int_equal(r.frontier.id, 40);
    assert_string_equal(archive_ask(a, "SELECT purpose, start_id, end_id FROM ingest_segments"),
                        "mirror|1|40");
}

/* An empty archive: the newest ids first, history behind them, and the frontier stays where it is
 * until all of it is there. */
static void newest_first_down_to_the_floor(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 100005}, .width = 1000, .newest_first = true};
    struct plan_report r = step(a, &p, 16);
    assert_int_equal(r.planned_new, 64);
    assert_false(r.all_planned);
    assert_int_equal(r.recent_from, 100006);
    assert_int_equal(archive_int(a, "SELECT MIN(start_id) FROM ingest_segments"), 36006);
    int64_t newest = 100005, rows = 0, worked = 0;
    while (work_one(a, &p, 50000, EXC_TERMINAL_MISSING, "null_old")) {
        worked++;
        newest = newest > 1000 ? newest - 1000 : 0;
        r = step(a, &p, 16);
        assert_int_equal(r.recent_from, newest + 1);
        assert_int_equal(r.frontier.id, newest ? 0 : 100005);
        int64_t now = archive_int(a, "SELECT COUNT(*) FROM ingest_segments");
        rows = now > rows ? now : rows;
    }
    assert_int_equal(worked, 101);
    assert_in_range(rows, 16, 66);
    assert_string_equal(archive_ask(a, SEGMENTS), "1|100005");
    assert_int_equal(r.covered, 100005);
}

/* New ids are planned at once and claimed first, however much history is pending, and do not make
 * more of it pending. */
static void what_is_new_goes_before_history(void **state) {
    struct archive *a = *state;
    struct plan p = {.window = {1, 1000000}, .width = 1000, .newest_first = true};
    step(a, &p, 16);
    for (int64_t i = 1; i <= 20; i++) {
        p.window.hi = 1000000 + 3 * i;
        assert_int_equal(step(a, &p, 16).planned_new, 1);
    }
    assert_int_equal(archive_int(a, "SELECT COUNT(*) FROM ingest_segments"), 84);
    for (int i = 0; i < 20; i++)
        assert_true(work_one(a, &p, 0, EXC_PENDING, ""));
    assert_int_equal(archive_int(a, "SELECT MIN(start_id) FROM ingest_segments "
                                    "WHERE status = 'done'"),
                     1000001);
    struct plan_report r = step(a, &p, 16);
    assert_int_equal(r.planned_new, 0);
    assert_int_equal(r.recent_from, 1000001); /* the anchor is where it began */
    assert_true(work_one(a, &p, 0, EXC_PENDING, ""));
    assert_int_equal(step(a, &p, 16).recent_from, 999001);
    /* back after a blind day */
    p.window.hi += 15000;
    r = step(a, &p, 16);
    assert_int_equal(r.planned_new, 15);
    assert_int_equal(r.recent_from, 1015061);
}

/* History waits for a rescan, what is new does not. */
static void history_waits_for_a_rescan(void **state) {
    struct archive *a = *state;
    struct err e;
    struct plan p = {.window = {1, 200000}, .width = 1000, .newest_first = true};
    step(a, &p, 16);
    for (int i = 0; i < 60; i++)
        assert_true(work_one(a, &p, 0, EXC_PENDING, ""));
    int64_t lo = 199001, hi = 200000, added;
    assert_ok(store_add_segments(a->s, PURPOSE_RESCAN, &lo, &hi, 1, &added, &e));
    assert_int_equal(step(a, &p, 16).planned_new, 0);
    p.window.hi = 200002;
    assert_int_equal(step(a, &p, 16).planned_new, 1);
    for (int i = 0; i < 6; i++) /* the rescan comes last */
        assert_true(work_one(a, &p, 0, EXC_PENDING, ""));
    assert_int_equal(step(a, &p, 16).planned_new, 64);
}

/* One archive, now from the low end, now from the high one, in the midst of either. */
static void the_direction_may_change(void **state) {
    struct archive *a = *state;
    struct plan up = {.window = {1, 300000}, .width = 1000, .newest_first = true};
    struct plan along = {.window = {1, 300000}, .width = 700};
    for (int turn = 0; turn < 8; turn++) {
        struct plan *p = turn % 2 ? &up : &along;
        for (int n = 0; n < 17; n++) {
            step(a, p, 16);
            assert_true(work_one(a, p, 0, EXC_PENDING, ""));
        }
        assert_int_equal(archive_int(a, "SELECT COUNT(*) FROM ingest_segments x JOIN "
                                        "ingest_segments y ON x.segment_id < y.segment_id AND "
                                        "x.start_id <= y.end_id AND y.start_id <= x.end_id"),
                         0);
    }
    /* the second turn was not held up by what the first had left pending */
    assert_int_equal(step(a, &up, 16).recent_from <= 300001 - 17000, 1);
    struct plan_report r;
    do
        r = step(a, &up, 16);
    while (work_one(a, &up, 0, EXC_PENDING, ""));
    assert_int_equal(r.frontier.id, 300000);
    assert_string_equal(archive_ask(a, SEGMENTS), "1|300000");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_become_segments),
        CASE(gaps_are_filled_and_nothing_overlaps),
        CASE(planned_lazily),
        CASE(few_rows_remain_of_many_ids),
        CASE(merged_only_where_all_is_well),
        CASE(never_merged_across_a_hole),
        cmocka_unit_test(two_frontiers),
        CASE(the_frontier_counts_from_the_floor),
        CASE(a_cursor_half_way_counts),
        CASE(a_replay_is_planned_once_and_lowers_nothing),
        CASE(newest_first_down_to_the_floor),
        CASE(what_is_new_goes_before_history),
        CASE(history_waits_for_a_rescan),
        CASE(the_direction_may_change),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
