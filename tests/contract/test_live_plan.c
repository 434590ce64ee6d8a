/* Ranges that the updater wants fetched, and the times that find them. */
#include "fixture.h"

#include "store/live.h"

#include <string.h>

#define SEGMENTS                                                                            \
    "SELECT start_id, end_id, scan_cursor_id, status FROM ingest_segments WHERE purpose = " \
    "'%s' ORDER BY start_id, segment_id"

static int64_t plan(struct fix *f, enum purpose p, int64_t lo, int64_t hi, int64_t width) {
    struct err e;
    int64_t n = -1;
    assert_ok(store_plan_range(f->s, p, lo, hi, width, &n, &e));
    return n;
}

static int64_t open_segments(struct fix *f, enum purpose p) {
    struct err e;
    int64_t n = -1;
    assert_ok(store_open_segments(f->s, p, &n, &e));
    return n;
}

static void a_range_is_cut_to_width(void **state) {
    struct fix *f = *state;
    assert_int_equal(plan(f, PURPOSE_RESCAN, 101, 350, 100), 3);
    assert_q("101|200|100|pending 201|300|200|pending 301|350|300|pending", f, SEGMENTS, "rescan");
    assert_int_equal(plan(f, PURPOSE_GAP, 7, 7, 100), 1);
    assert_q("7|7|6|pending", f, SEGMENTS, "gap");
    assert_int_equal(plan(f, PURPOSE_REPLAY, 8, 7, 100), 0);
    assert_int_equal(plan(f, PURPOSE_REPLAY, -5, 3, 100), 1);
    assert_q("1|3|0|pending", f, SEGMENTS, "replay");
    assert_int_equal(open_segments(f, PURPOSE_RESCAN), 3);
    assert_int_equal(open_segments(f, PURPOSE_GAP), 1);
    assert_int_equal(open_segments(f, PURPOSE_MIRROR), 0);
    struct err e;
    int64_t n;
    assert_int_equal(store_plan_range(f->s, PURPOSE_MIRROR, 1, 10, 10, &n, &e), V_INVALID);
    assert_int_equal(store_plan_range(f->s, PURPOSE_GAP, 1, 10, 0, &n, &e), V_INVALID);
    assert_int_equal(store_plan_range(f->s, PURPOSE_GAP, 1, INT64_MAX - 1, 1000, &n, &e), V_LIMIT);
}

/* A range is planned again, further on: what is open is not done twice, and nothing is lost. */
static void an_open_range_makes_room(void **state) {
    struct fix *f = *state;
    plan(f, PURPOSE_RESCAN, 1, 400, 100);
    plan(f, PURPOSE_REPLAY, 150, 250, 100);
    plan(f, PURPOSE_GAP, 150, 250, 100);
    assert_int_equal(plan(f, PURPOSE_RESCAN, 151, 350, 100), 2);
    assert_q("1|100|0|pending 101|150|100|pending 151|250|150|pending 251|350|250|pending "
             "351|400|350|pending",
             f, SEGMENTS, "rescan");
    assert_q("150|249|149|pending 250|250|249|pending", f, SEGMENTS, "replay");
    assert_q("150|249|149|pending 250|250|249|pending", f, SEGMENTS, "gap");
    /* the same once more, as after a lost answer */
    assert_int_equal(plan(f, PURPOSE_RESCAN, 151, 350, 100), 2);
    assert_int_equal(open_segments(f, PURPOSE_RESCAN), 5);
    /* within one segment: it stays whole, and is done twice */
    assert_int_equal(plan(f, PURPOSE_RESCAN, 20, 30, 100), 1);
    assert_q("1|100 20|30", f,
             "SELECT start_id, end_id FROM ingest_segments WHERE purpose = 'rescan' "
             "AND start_id < 101 ORDER BY start_id");
}

static void gaps_are_promises(void **state) {
    struct fix *f = *state;
    plan(f, PURPOSE_GAP, 1, 20, 10);
    assert_int_equal(plan(f, PURPOSE_GAP, 5, 15, 100), 1);
    assert_q("1|10|0|pending 5|15|4|pending 11|20|10|pending", f, SEGMENTS, "gap");
}

static void what_is_held_stays(void **state) {
    struct fix *f = *state;
    plan(f, PURPOSE_RESCAN, 1, 20, 10);
    struct claim c = claim_one(f, 1, 100);
    assert_int_equal(c.start_id, 1);
    assert_int_equal(plan(f, PURPOSE_RESCAN, 1, 20, 10), 2);
    assert_q("1|10|0|in_progress 1|10|0|pending 11|20|10|pending", f, SEGMENTS, "rescan");
    struct batch *b = batch_for(&c, 10, true);
    put_item(b, T0, "{'id':4,'type':'story'}");
    apply_ok(f->s, b);
    assert_q("1|10|0|pending 11|20|10|pending", f, SEGMENTS, "rescan");
}

/* A rescan of 1 .. 30 that is at rest with trouble at these ids. */
static void at_rest_with(struct fix *f, const int64_t *waiting, size_t n_waiting,
                         const int64_t *dead, size_t n_dead) {
    struct claim c = claim_new(f, PURPOSE_RESCAN, 1, 30);
    struct batch *b = batch_for(&c, 30, true);
    for (size_t i = 0; i < n_waiting; i++)
        put_exception(b, waiting[i], EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 500;
    for (size_t i = 0; i < n_dead; i++)
        put_exception(b, dead[i], EXC_DEAD_LETTER, "timeout");
    apply_ok(f->s, b);
}
#define IDS(...) ((const int64_t[]){__VA_ARGS__}), ARRAY_LEN(((const int64_t[]){__VA_ARGS__}))
#define RESTING                                                                     \
    "SELECT end_id, scan_cursor_id, status, unresolved_count FROM ingest_segments " \
    "WHERE start_id = 1 ORDER BY segment_id"

static void trouble_outside_stays(void **state) {
    struct fix *f = *state;
    at_rest_with(f, IDS(5, 25), IDS(6, 26));
    plan(f, PURPOSE_RESCAN, 21, 40, 100);
    assert_q("20|20|retry_wait|2", f, RESTING);
    assert_q("5|retry_wait 6|dead_letter", f,
             "SELECT item_id, state FROM ingest_exceptions ORDER BY item_id");
    /* the letter that lost its exception is on its way again; it is no letter any more */
    assert_q("6|dead_letter 26|retry_wait", f,
             "SELECT item_id, state FROM ingest_dlq_items ORDER BY item_id");
    fix_advance(f, 500);
    reclaim(f);
    struct claim c = claim_one(f, 1, 100);
    assert_int_equal(c.end_id, 20);
    assert_int_equal(c.n_exceptions, 2);
}

static void a_rest_without_trouble_is_done(void **state) {
    struct fix *f = *state;
    at_rest_with(f, IDS(25), IDS(26));
    plan(f, PURPOSE_RESCAN, 21, 40, 100);
    assert_q("20|20|done|0", f, RESTING);
    reclaim(f);
    assert_q("21|40|20|pending", f, SEGMENTS, "rescan");
    assert_q("", f, "SELECT * FROM ingest_exceptions");
}

static void only_the_dead_are_left(void **state) {
    struct fix *f = *state;
    at_rest_with(f, IDS(25), IDS(6));
    plan(f, PURPOSE_RESCAN, 21, 40, 100);
    assert_q("20|20|dead_letter|1", f, RESTING);
}

/* From above: the lower part is planned anew, the rest of the segment keeps its cursor. */
static void the_upper_part_stays(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_REPLAY, 100, 200);
    struct batch *b = batch_for(&c, 170, true);
    put_exception(b, 110, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 500;
    put_exception(b, 160, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 500;
    apply_ok(f->s, b);
    plan(f, PURPOSE_REPLAY, 50, 150, 1000);
    assert_q("50|150|49|pending|0 151|200|170|pending|1", f,
             "SELECT start_id, end_id, scan_cursor_id, status, unresolved_count "
             "FROM ingest_segments ORDER BY start_id");
    plan(f, PURPOSE_REPLAY, 140, 180, 1000);
    assert_q("50|139|49|0 140|180|139|0 181|200|180|0", f,
             "SELECT start_id, end_id, scan_cursor_id, unresolved_count FROM ingest_segments "
             "ORDER BY start_id");
    assert_q("", f, "SELECT * FROM ingest_exceptions");
}

/* The same id is a letter of the mirror, too: that one stays. */
static void letters_of_others_stay(void **state) {
    struct fix *f = *state;
    at_rest_with(f, IDS(25), IDS(26));
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 30);
    struct batch *b = batch_for(&c, 30, true);
    put_exception(b, 26, EXC_DEAD_LETTER, "http_5xx");
    apply_ok(f->s, b);
    b = live_batch(f);
    put_exception(b, 27, EXC_DEAD_LETTER, "http_5xx");
    apply_live_ok(f, b);
    plan(f, PURPOSE_RESCAN, 21, 40, 100);
    assert_q("26|catchup|dead_letter 26|rescan|dead_letter 27|realtime|dead_letter", f,
             "SELECT item_id, source, state FROM ingest_dlq_items ORDER BY item_id, source");
    assert_q("mirror|dead_letter|1", f,
             "SELECT purpose, status, unresolved_count FROM ingest_segments "
             "WHERE purpose = 'mirror'");
}

static void a_plan_that_fails_changes_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t n = -1;
    plan(f, PURPOSE_RESCAN, 1, 400, 100);
    const char *was = dump(f);
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_plan_range(f->s, PURPOSE_RESCAN, 101, 500, 100, &n, &e), V_RETRY);
    assert_int_equal(n, 0);
    assert_string_equal(dump(f), was);
    assert_ok(store_recover(f->s, &e));
    assert_int_equal(plan(f, PURPOSE_RESCAN, 101, 500, 100), 4);
}

static void absent_ids_in_their_order(void **state) {
    struct fix *f = *state;
    struct err e;
    store_item(f, T0, "{'id':20,'type':'story'}");
    store_item(f, T0, "{'id':7,'type':'story'}");
    static const int64_t ids[] = {30, 20, 5, 30, 7, 1};
    int64_t absent[ARRAY_LEN(ids)];
    size_t n = 99;
    assert_ok(store_absent_ids(f->s, ids, ARRAY_LEN(ids), absent, &n, &e));
    assert_int_equal(n, 4);
    assert_int_equal(absent[0], 30);
    assert_int_equal(absent[1], 5);
    assert_int_equal(absent[2], 30);
    assert_int_equal(absent[3], 1);
    assert_ok(store_absent_ids(f->s, ids, 0, absent, &n, &e));
    assert_int_equal(n, 0);
}

static void times_by_id(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t times[3], last = 0;
    size_t n = 99;
    assert_ok(store_item_times(f->s, 5, times, 3, &n, &last, &e));
    assert_int_equal(n, 0);
    assert_int_equal(last, 5);
    store_item(f, T0, "{'id':10,'type':'story','time':1000}");
    store_item(f, T0, "{'id':20,'type':'story'}");
    store_item(f, T0, "{'id':25,'type':'story','time':0}");
    store_item(f, T0, "{'id':30,'type':'story','time':999}");
    store_item(f, T0, "{'id':40,'type':'story','time':4102444800}");
    store_item(f, T0, "{'id':50,'type':'story','time':1002}");
    static const struct {
        int64_t from;
        size_t n;
        int64_t times[3], last;
    } cases[] = {
        {1, 3, {1000, 999, 4102444800}, 40},
        {10, 3, {1000, 999, 4102444800}, 40},
        {11, 3, {999, 4102444800, 1002}, 50},
        {41, 1, {1002, 0, 0}, 50},
        {50, 1, {1002, 0, 0}, 50},
        {51, 0, {0, 0, 0}, 51},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_ok(store_item_times(f->s, cases[i].from, times, 3, &n, &last, &e));
        assert_int_equal(n, cases[i].n);
        assert_int_equal(last, cases[i].last);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(times[k], cases[i].times[k]);
    }
}

int live_plan_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_range_is_cut_to_width),
        CASE(an_open_range_makes_room),
        CASE(gaps_are_promises),
        CASE(what_is_held_stays),
        CASE(trouble_outside_stays),
        CASE(a_rest_without_trouble_is_done),
        CASE(only_the_dead_are_left),
        CASE(the_upper_part_stays),
        CASE(letters_of_others_stay),
        CASE(a_plan_that_fails_changes_nothing),
        CASE(times_by_id),
        CASE(absent_ids_in_their_order),
    };
    return cmocka_run_group_tests_name("live plan", tests, NULL, NULL);
}
