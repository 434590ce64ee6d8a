/* Repairs: segments that any window takes, and what becomes of what they find. */
#include "fixture.h"

#include "store/status.h"

static void any_window_takes_a_repair(void **state) {
    struct fix *f = *state;
    struct claim c;
    for (int p = 0; p < PURPOSE_N; p++)
        add_segment(f, (enum purpose)p, 101 + 100 * p, 110 + 100 * p);
    struct err e;
    struct window_work w;
    assert_ok(store_window_work(f->s, 5000, 6000, &w, &e));
    assert_int_equal(w.pending, 2);
    assert_int_equal(w.unfinished, 2);
    c = claim_one(f, 5000, 6000);
    assert_int_equal(c.purpose, PURPOSE_GAP);
    c = claim_one(f, 5000, 6000);
    assert_int_equal(c.purpose, PURPOSE_RESCAN);
    assert_int_equal(try_claim(f, f->s, 5000, 6000, &c), V_NOT_FOUND);
    assert_int_equal(claim_one(f, 1, 6000).purpose, PURPOSE_MIRROR);
    assert_int_equal(claim_one(f, 1, 6000).purpose, PURPOSE_REPLAY);
}

static void where_repairs_stand(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t lo, hi;
    add_segment(f, PURPOSE_MIRROR, 1, 1000);
    assert_ok(store_repairs(f->s, &lo, &hi, &e));
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 0);
    add_segment(f, PURPOSE_GAP, 50, 60);
    add_segment(f, PURPOSE_RESCAN, 700, 701);
    assert_ok(store_repairs(f->s, &lo, &hi, &e));
    assert_int_equal(lo, 50);
    assert_int_equal(hi, 701);
}

static void what_repairs_leave_open_counts_everywhere(void **state) {
    struct fix *f = *state;
    struct err e;
    struct claim c = claim_new(f, PURPOSE_GAP, 50, 52);
    struct batch *b = batch_for(&c, 52, true);
    put_exception(b, 50, EXC_DEAD_LETTER, "http_5xx");
    put_exception(b, 51, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 400;
    put_exception(b, 52, EXC_TERMINAL_MISSING, "null_old");
    apply_ok(f->s, b);
    int64_t waiting, dead;
    assert_ok(store_unresolved(f->s, 5000, 6000, &waiting, &dead, &e));
    assert_int_equal(waiting, 1);
    assert_int_equal(dead, 1);
    struct window_work w;
    assert_ok(store_window_work(f->s, 5000, 6000, &w, &e));
    assert_int_equal(w.failure_due_ms, 400);
}

/* The gap goes when it is done; what it found to be missing stays where the proof is. */
static void a_gap_hands_over_what_is_missing(void **state) {
    struct fix *f = *state;
    struct claim m = claim_new(f, PURPOSE_MIRROR, 1, 100);
    apply_ok(f->s, batch_for(&m, 80, true));
    struct claim c = claim_new(f, PURPOSE_GAP, 50, 90);
    struct batch *b = batch_for(&c, 90, true);
    put_exception(b, 50, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 85, EXC_TERMINAL_MISSING, "null_old"); /* the mirror comes by here itself */
    put_item(b, T0, "{'id':51,'type':'story'}");
    apply_ok(f->s, b);
    assert_q("50|1|terminal_missing|null_old|it did not work", f,
             "SELECT item_id, segment_id, state, failure_class, last_error FROM "
             "ingest_exceptions");
    assert_q("1|mirror", f, "SELECT segment_id, purpose FROM ingest_segments");
}

/* The last id of a gap is settled by another path: the janitor ends it, and hands over too. */
static void so_does_a_gap_that_is_swept(void **state) {
    struct fix *f = *state;
    struct claim m = claim_new(f, PURPOSE_MIRROR, 1, 100);
    apply_ok(f->s, batch_for(&m, 100, true));
    struct claim c = claim_new(f, PURPOSE_GAP, 50, 51);
    struct batch *b = batch_for(&c, 51, true);
    put_exception(b, 50, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 51, EXC_DEAD_LETTER, "http_5xx");
    apply_ok(f->s, b);
    x(f, "DELETE FROM ingest_exceptions WHERE item_id = 51");
    reclaim(f);
    assert_q("50|1", f, "SELECT item_id, segment_id FROM ingest_exceptions");
    assert_q("1", f, "SELECT segment_id FROM ingest_segments");
}

/* A holder that dies between its last batch and the release leaves nothing to be claimed. */
static void a_segment_with_nothing_to_do_settles(void **state) {
    struct fix *f = *state;
    static const struct {
        const char *state, *due, *status;
    } cases[] = {
        {"terminal_missing", "NULL", "done"},
        {"dead_letter", "NULL", "dead_letter"},
        {"retry_wait", "1700000009999", "retry_wait"},
        {"retry_wait", "1699999999999", "pending"},
        {"retry_wait", "NULL", "pending"}, /* nobody knows until when: at once */
        {"pending", "NULL", "pending"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t id = add_segment(f, PURPOSE_MIRROR, 1 + 10 * (int64_t)i, 10 + 10 * (int64_t)i);
        x(f, "UPDATE ingest_segments SET scan_cursor_id = end_id WHERE segment_id = %lld",
          (long long)id);
        x(f,
          "INSERT INTO ingest_exceptions (item_id, segment_id, state, next_retry_at, updated_at) "
          "VALUES (%lld, %lld, '%s', %s, 0)",
          5 + 10 * (long long)i, (long long)id, cases[i].state, cases[i].due);
        reclaim(f);
        assert_q(cases[i].status, f, "SELECT status FROM ingest_segments WHERE segment_id = %lld",
                 (long long)id);
    }
}

static void a_believed_null_resolves_the_dead_letter(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 3);
    struct batch *b = batch_for(&c, 3, true);
    put_exception(b, 2, EXC_DEAD_LETTER, "http_5xx");
    apply_ok(f->s, b);
    x(f, "UPDATE ingest_exceptions SET state = 'pending'");
    reclaim(f);
    c = claim_one(f, 1, 3);
    b = batch_for(&c, 3, true);
    put_exception(b, 2, EXC_TERMINAL_MISSING, "null_old");
    apply_ok(f->s, b);
    assert_q("resolved", f, "SELECT state FROM ingest_dlq_items");
}

int repair_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(any_window_takes_a_repair),
        CASE(where_repairs_stand),
        CASE(what_repairs_leave_open_counts_everywhere),
        CASE(a_gap_hands_over_what_is_missing),
        CASE(so_does_a_gap_that_is_swept),
        CASE(a_segment_with_nothing_to_do_settles),
        CASE(a_believed_null_resolves_the_dead_letter),
    };
    return cmocka_run_group_tests_name("repairs", tests, NULL, NULL);
}
