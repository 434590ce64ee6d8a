/* What becomes of a segment: at its release, when others resolve its trouble, when a person writes
 * to its exceptions, and when neighbours are merged. */
#include "fixture.h"

static void status_at_release(void **state) {
    static const struct {
        int64_t cursor;
        int waiting, pending, missing, dead;
        enum segment_status status;
        int64_t unresolved;
    } rows[] = {
        {10, 0, 0, 0, 0, SEG_DONE, 0},        {10, 0, 0, 2, 0, SEG_DONE, 0},
        {10, 1, 0, 1, 0, SEG_RETRY_WAIT, 1},  {10, 0, 1, 0, 0, SEG_RETRY_WAIT, 1},
        {10, 1, 0, 0, 2, SEG_RETRY_WAIT, 3},  {10, 0, 0, 0, 2, SEG_DEAD_LETTER, 2},
        {10, 0, 0, 3, 1, SEG_DEAD_LETTER, 1}, {9, 0, 0, 0, 0, SEG_PENDING, 0},
        {9, 1, 0, 0, 1, SEG_PENDING, 2},      {0, 0, 0, 0, 0, SEG_PENDING, 0},
    };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        x(f, "DELETE FROM ingest_segments");
        x(f, "DELETE FROM ingest_exceptions");
        struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
        struct batch *b = batch_for(&c, rows[i].cursor, true);
        int64_t id = 1;
        for (int n = 0; n < rows[i].waiting; n++)
            put_exception(b, id++, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 1;
        for (int n = 0; n < rows[i].pending; n++)
            put_exception(b, id++, EXC_PENDING, "straggler");
        for (int n = 0; n < rows[i].missing; n++)
            put_exception(b, id++, EXC_TERMINAL_MISSING, "null_old");
        for (int n = 0; n < rows[i].dead; n++)
            put_exception(b, id++, EXC_DEAD_LETTER, "garbage");
        struct apply_stats st = apply_ok(f->s, b);
        assert_true(st.released);
        assert_int_equal(st.status, rows[i].status);
        assert_q(segment_fsm.states[rows[i].status], f, "SELECT status FROM ingest_segments");
        assert_int_equal(qi(f, "SELECT unresolved_count FROM ingest_segments"), rows[i].unresolved);
        assert_q("-|0", f, "SELECT holder, lease_until FROM ingest_segments");
    }
}

static void everything_but_the_mirror_vanishes_when_done(void **state) {
    struct fix *f = *state;
    for (int p = PURPOSE_GAP; p < PURPOSE_N; p++) {
        struct claim c = claim_new(f, (enum purpose)p, 1, 10);
        struct batch *b = batch_for(&c, 10, true);
        if (p == PURPOSE_GAP)
            put_exception(b, 3, EXC_TERMINAL_MISSING, "null_old");
        assert_int_equal(apply_ok(f->s, b).status, SEG_DONE);
        assert_q("", f, "SELECT * FROM ingest_segments");
        assert_q("", f, "SELECT * FROM ingest_exceptions");
    }
}

static void they_stay_while_something_is_open(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_REPLAY, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 3, EXC_DEAD_LETTER, "garbage");
    assert_int_equal(apply_ok(f->s, b).status, SEG_DEAD_LETTER);
    assert_q("replay|dead_letter", f, "SELECT purpose, status FROM ingest_segments");
}

/* A segment of each trouble, whose id another path then stores. */
static int64_t released_with(struct fix *f, enum purpose p, int64_t lo, enum exception_state st) {
    struct claim c = claim_new(f, p, lo, lo + 9);
    struct batch *b = batch_for(&c, lo + 9, true);
    put_exception(b, lo + 3, st, "timeout")->next_retry_at = T0 + 3600000;
    apply_ok(f->s, b);
    return c.segment_id;
}

static void store_by_gap(struct fix *f, int64_t id) {
    struct claim c = claim_new(f, PURPOSE_GAP, id, id);
    struct batch *b = batch_for(&c, id, true);
    char json[60];
    snprintf(json, sizeof json, "{'id':%lld,'type':'story'}", (long long)id);
    put_item(b, T0, json);
    apply_ok(f->s, b);
}

static void what_others_resolve_settles_the_segment(void **state) {
    struct fix *f = *state;
    released_with(f, PURPOSE_MIRROR, 10, EXC_RETRY_WAIT);
    released_with(f, PURPOSE_MIRROR, 20, EXC_DEAD_LETTER);
    released_with(f, PURPOSE_MIRROR, 30, EXC_RETRY_WAIT);
    store_by_gap(f, 13);
    store_by_gap(f, 23);
    reclaim(f);
    assert_q("10|done|0 20|done|0 30|retry_wait|1", f,
             "SELECT start_id, status, unresolved_count FROM ingest_segments ORDER BY start_id");
    assert_q("33", f, "SELECT item_id FROM ingest_exceptions");
}

static void a_settled_replay_vanishes_too(void **state) {
    struct fix *f = *state;
    released_with(f, PURPOSE_REPLAY, 10, EXC_RETRY_WAIT);
    released_with(f, PURPOSE_GAP, 20, EXC_DEAD_LETTER);
    store_by_gap(f, 13);
    store_by_gap(f, 23);
    reclaim(f);
    assert_q("", f, "SELECT start_id, purpose, status FROM ingest_segments");
    assert_q("", f, "SELECT * FROM ingest_exceptions");
}

static void only_dead_letters_left_is_dead_letter(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    struct batch *b = batch_for(&c, 19, true);
    put_exception(b, 12, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 3600000;
    put_exception(b, 15, EXC_DEAD_LETTER, "garbage");
    assert_int_equal(apply_ok(f->s, b).status, SEG_RETRY_WAIT);
    store_by_gap(f, 12);
    reclaim(f);
    assert_q("dead_letter|1", f, "SELECT status, unresolved_count FROM ingest_segments");
}

static void due_segments_wake(void **state) {
    struct fix *f = *state;
    released_with(f, PURPOSE_MIRROR, 10, EXC_RETRY_WAIT);
    reclaim(f);
    assert_q("retry_wait", f, "SELECT status FROM ingest_segments");
    fix_advance(f, 3600000 - 1);
    reclaim(f);
    assert_q("retry_wait", f, "SELECT status FROM ingest_segments");
    fix_advance(f, 1);
    reclaim(f);
    assert_q("pending", f, "SELECT status FROM ingest_segments");
    struct claim c = claim_one(f, 1, 100);
    assert_int_equal(c.cursor, 19);
    assert_int_equal(c.n_exceptions, 1);
    assert_int_equal(c.exceptions[0].id, 13);
    assert_int_equal(c.exceptions[0].state, EXC_RETRY_WAIT);
}

/* `UPDATE ingest_exceptions SET state = 'pending'` is how a person asks for another try. */
static void a_hand_written_pending_is_honoured(void **state) {
    struct fix *f = *state;
    released_with(f, PURPOSE_MIRROR, 10, EXC_DEAD_LETTER);
    released_with(f, PURPOSE_MIRROR, 20, EXC_TERMINAL_MISSING);
    released_with(f, PURPOSE_MIRROR, 30, EXC_RETRY_WAIT);
    released_with(f, PURPOSE_MIRROR, 40, EXC_DEAD_LETTER);
    assert_q("dead_letter done retry_wait dead_letter", f,
             "SELECT status FROM ingest_segments ORDER BY start_id");
    x(f, "UPDATE ingest_exceptions SET state = 'pending' WHERE item_id < 40");
    reclaim(f);
    assert_q("pending pending pending dead_letter", f,
             "SELECT status FROM ingest_segments ORDER BY start_id");
    struct claim c = claim_one(f, 20, 29);
    assert_int_equal(c.exceptions[0].state, EXC_PENDING);
    struct batch *b = batch_for(&c, 29, true);
    put_item(b, T0, "{'id':23,'type':'story'}");
    assert_int_equal(apply_ok(f->s, b).status, SEG_DONE);
    assert_q("done|0", f,
             "SELECT status, unresolved_count FROM ingest_segments WHERE start_id = 20");
}

static void wake_leaves_held_segments_alone(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    struct batch *b = batch_for(&c, 12, false);
    put_exception(b, 11, EXC_PENDING, "straggler");
    apply_ok(f->s, b);
    reclaim(f);
    assert_q("in_progress", f, "SELECT status FROM ingest_segments");
    assert_int_equal(apply_verdict(f->s, batch_for(&c, 12, false)), V_OK);
}

static struct segment_row row_at(struct fix *f, int64_t start) {
    struct segment_list l = {0};
    struct segment_row found = {0};
    struct err e;
    assert_ok(store_segments(f->s, PURPOSE_MIRROR, &l, &e));
    for (size_t i = 0; i < l.n; i++)
        if (l.rows[i].start_id == start)
            found = l.rows[i];
    segment_list_release(&l);
    assert_int_equal(found.start_id, start);
    return found;
}

static void finish_segment(struct fix *f, int64_t lo, int64_t hi, int64_t missing) {
    struct claim c = claim_new(f, PURPOSE_MIRROR, lo, hi);
    struct batch *b = batch_for(&c, hi, true);
    if (missing)
        put_exception(b, missing, EXC_TERMINAL_MISSING, "null_old");
    assert_int_equal(apply_ok(f->s, b).status, SEG_DONE);
}

static void merge_moves_exceptions_along(void **state) {
    struct fix *f = *state;
    finish_segment(f, 1, 10, 4);
    finish_segment(f, 11, 20, 15);
    finish_segment(f, 21, 30, 21);
    finish_segment(f, 31, 40, 40);
    add_segment(f, PURPOSE_GAP, 12, 13);
    struct segment_row keep = row_at(f, 1);
    struct err e;
    assert_ok(store_plan_begin(f->s, &e));
    enum verdict v = store_merge(f->s, &keep, 30, &e);
    assert_ok(store_plan_end(f->s, v, &e));
    assert_q("1|30|30|mirror|done 12|13|11|gap|pending 31|40|40|mirror|done", f,
             "SELECT start_id, end_id, scan_cursor_id, purpose, status FROM ingest_segments "
             "ORDER BY start_id");
    assert_q("4|1 15|1 21|1 40|31", f,
             "SELECT x.item_id, s.start_id FROM ingest_exceptions x JOIN ingest_segments s "
             "ON s.segment_id = x.segment_id ORDER BY x.item_id");
}

static void a_segment_row_shows_what_blocks_it(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 2, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 4, EXC_RETRY_WAIT, "null_young")->next_retry_at = T0 + 5000;
    put_exception(b, 5, EXC_RETRY_WAIT, "delayed")->next_retry_at = T0 + 5000;
    put_exception(b, 7, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 5000;
    put_exception(b, 9, EXC_DEAD_LETTER, "garbage");
    apply_ok(f->s, b);
    struct segment_row row = row_at(f, 1);
    assert_int_equal(row.blocked_at, 4);
    assert_int_equal(row.hard_at, 7);
    assert_int_equal(row.unresolved, 4);
    assert_int_equal(row.cursor, 10);
    assert_int_equal(row.status, SEG_RETRY_WAIT);
}

int segment_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(status_at_release),
        CASE(everything_but_the_mirror_vanishes_when_done),
        CASE(they_stay_while_something_is_open),
        CASE(what_others_resolve_settles_the_segment),
        CASE(a_settled_replay_vanishes_too),
        CASE(only_dead_letters_left_is_dead_letter),
        CASE(due_segments_wake),
        CASE(a_hand_written_pending_is_honoured),
        CASE(wake_leaves_held_segments_alone),
        CASE(merge_moves_exceptions_along),
        CASE(a_segment_row_shows_what_blocks_it),
    };
    return cmocka_run_group_tests_name("segments", tests, NULL, NULL);
}
