/* Ids that are not plain successes: their rows, the dead letters, and how they go away again. */
#include "fixture.h"

static const char item7[] = "{'id':7,'type':'story','title':'seven'}";

static void an_exception_says_everything(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, false);
    struct batch_exception *ex = put_exception(b, 7, EXC_RETRY_WAIT, "http_5xx");
    ex->attempts = 3;
    ex->rung = 2;
    ex->next_retry_at = T0 + 5000;
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.waiting, 1);
    char expected[120];
    snprintf(expected, sizeof expected, "7|%lld|retry_wait|3|2|%lld|it did not work|http_5xx|%lld",
             (long long)c.segment_id, (long long)T0 + 5000, (long long)T0);
    assert_q(expected, f,
             "SELECT item_id, segment_id, state, attempts, rung, next_retry_at, last_error, "
             "failure_class, updated_at FROM ingest_exceptions");
    assert_int_equal(qi(f, "SELECT unresolved_count FROM ingest_segments"), 1);
    assert_q("", f, "SELECT * FROM ingest_dlq_items");
}

static void a_later_trouble_replaces_the_row(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    for (int i = 1; i <= 3; i++) {
        struct batch *b = batch_for(&c, 10, false);
        put_exception(b, 7, EXC_RETRY_WAIT, i < 3 ? "timeout" : "reset")->attempts = i;
        apply_ok(f->s, b);
    }
    assert_q("7|retry_wait|3|reset", f,
             "SELECT item_id, state, attempts, failure_class FROM ingest_exceptions");
}

static void missing_becomes_stored_later(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 7, EXC_TERMINAL_MISSING, "null_old");
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.missing, 1);
    assert_int_equal(st.status, SEG_DONE);
    assert_q("done|0", f, "SELECT status, unresolved_count FROM ingest_segments");
    /* it turns up after all, by another way */
    c = claim_new(f, PURPOSE_GAP, 7, 7);
    b = batch_for(&c, 7, true);
    put_item(b, T0, item7);
    st = apply_ok(f->s, b);
    assert_int_equal(st.inserted, 1);
    assert_int_equal(st.resolved, 1);
    assert_q("", f, "SELECT * FROM ingest_exceptions");
    assert_q("seven", f, "SELECT title FROM items");
}

static void dead_letter_is_queued_in_the_same_transaction(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    const char *before = dump(f);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 7, EXC_DEAD_LETTER, "garbage")->attempts = 8;
    struct apply_stats st;
    struct err e;
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_apply(f->s, b, &st, &e), V_RETRY);
    assert_string_equal(dump(f), before);
    st = apply_ok(f->s, b);
    assert_int_equal(st.dead, 1);
    assert_int_equal(st.status, SEG_DEAD_LETTER);
    assert_q("catchup|7|dead_letter|garbage|8|it did not work|-", f,
             "SELECT source, item_id, state, failure_class, attempts, last_error, resolved_at "
             "FROM ingest_dlq_items");
    assert_int_equal(qi(f, "SELECT first_at FROM ingest_dlq_items"), T0);
    assert_q("dead_letter|1|it did not work|garbage", f,
             "SELECT status, unresolved_count, last_error, failure_class FROM ingest_segments");
}

static void success_resolves_a_dead_letter(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, false);
    put_exception(b, 7, EXC_DEAD_LETTER, "garbage")->attempts = 8;
    apply_ok(f->s, b);
    fix_advance(f, 1000);
    b = batch_for(&c, 10, true);
    put_item(b, T0 + 900, item7);
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.resolved, 1);
    assert_int_equal(st.status, SEG_DONE);
    assert_q("resolved", f, "SELECT state FROM ingest_dlq_items");
    assert_int_equal(qi(f, "SELECT resolved_at FROM ingest_dlq_items"), T0 + 1000);
    assert_q("", f, "SELECT * FROM ingest_exceptions");
    /* and it can die again, with its first time kept */
    c = claim_new(f, PURPOSE_REPLAY, 7, 7);
    b = batch_for(&c, 7, true);
    put_exception(b, 7, EXC_DEAD_LETTER, "wrong_id")->attempts = 8;
    fix_advance(f, 1000);
    apply_ok(f->s, b);
    assert_q("dead_letter|wrong_id|-", f,
             "SELECT state, failure_class, resolved_at FROM ingest_dlq_items");
    assert_int_equal(qi(f, "SELECT first_at FROM ingest_dlq_items"), T0);
    assert_int_equal(qi(f, "SELECT last_at FROM ingest_dlq_items"), T0 + 2000);
}

static void dead_letter_alone_in_the_queue_is_resolved_too(void **state) {
    struct fix *f = *state;
    x(f, "INSERT INTO ingest_dlq_items (source, item_id, state, attempts, first_at, last_at) "
         "VALUES ('realtime', 7, 'retry_wait', 3, 1, 1), ('rescan', 8, 'dead_letter', 3, 1, 1)");
    store_item(f, T0, item7);
    assert_q("7|resolved 8|dead_letter", f,
             "SELECT item_id, state FROM ingest_dlq_items ORDER BY item_id");
}

static void delayed_is_stored_and_waits(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_item(b, T0, "{'id':7,'type':'comment','parent':1,'text':'[delayed]'}");
    struct batch_exception *ex = put_exception(b, 7, EXC_RETRY_WAIT, "delayed");
    ex->rung = 1;
    ex->next_retry_at = T0 + 5000;
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.inserted, 1);
    assert_int_equal(st.waiting, 1);
    assert_int_equal(st.status, SEG_RETRY_WAIT);
    assert_q("[delayed]", f, "SELECT text FROM items");
    /* the next rung: still delayed, the item unchanged */
    fix_advance(f, 6000);
    reclaim(f);
    c = claim_one(f, 1, 10);
    assert_int_equal(c.n_exceptions, 1);
    b = batch_for(&c, 10, true);
    put_item(b, T0 + 6000, "{'id':7,'type':'comment','parent':1,'text':'[delayed]'}");
    ex = put_exception(b, 7, EXC_RETRY_WAIT, "delayed");
    ex->rung = 2;
    ex->next_retry_at = T0 + 36000;
    st = apply_ok(f->s, b);
    assert_int_equal(st.unchanged, 1);
    assert_q("2", f, "SELECT rung FROM ingest_exceptions");
    /* and then its words */
    fix_advance(f, 60000);
    reclaim(f);
    c = claim_one(f, 1, 10);
    b = batch_for(&c, 10, true);
    put_item(b, T0 + 66000, "{'id':7,'type':'comment','parent':1,'text':'words'}");
    st = apply_ok(f->s, b);
    assert_int_equal(st.changed, 1);
    assert_int_equal(st.status, SEG_DONE);
    assert_q("", f, "SELECT * FROM ingest_exceptions");
}

static void straggler_row_goes_when_the_answer_comes(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, false);
    put_exception(b, 7, EXC_PENDING, "straggler");
    assert_int_equal(apply_ok(f->s, b).waiting, 1);
    assert_q("pending|-", f, "SELECT state, next_retry_at FROM ingest_exceptions");
    b = batch_for(&c, 10, true);
    put_item(b, T0, item7);
    assert_int_equal(apply_ok(f->s, b).status, SEG_DONE);
    assert_q("", f, "SELECT * FROM ingest_exceptions");
    assert_q("done|0", f, "SELECT status, unresolved_count FROM ingest_segments");
}

/* Another path stored the id while this segment only got failures for it. */
static void failure_of_a_stored_id_is_no_trouble_of_the_mirror(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_GAP, 7, 7);
    struct batch *b = batch_for(&c, 7, true);
    put_item(b, T0, item7);
    apply_ok(f->s, b);
    c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    b = batch_for(&c, 10, true);
    put_exception(b, 7, EXC_DEAD_LETTER, "http_5xx");
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.dead, 0);
    assert_int_equal(st.status, SEG_DONE);
    assert_q("", f, "SELECT * FROM ingest_dlq_items");
}

/* A replay that failed wants to be tried again, though the item is stored. */
static void failure_of_a_replay_stays(void **state) {
    struct fix *f = *state;
    store_item(f, T0, item7);
    struct claim c = claim_new(f, PURPOSE_REPLAY, 7, 7);
    struct batch *b = batch_for(&c, 7, true);
    put_exception(b, 7, EXC_RETRY_WAIT, "http_5xx")->next_retry_at = T0 + 1000;
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.waiting, 1);
    assert_int_equal(st.status, SEG_RETRY_WAIT);
}

static void sources_of_dead_letters(void **state) {
    struct fix *f = *state;
    static const enum purpose purposes[] = {PURPOSE_MIRROR, PURPOSE_GAP, PURPOSE_REPLAY,
                                            PURPOSE_RESCAN};
    for (size_t i = 0; i < ARRAY_LEN(purposes); i++) {
        int64_t id = 10 + (int64_t)i;
        struct claim c = claim_new(f, purposes[i], id, id);
        struct batch *b = batch_for(&c, id, true);
        put_exception(b, id, EXC_DEAD_LETTER, "garbage");
        apply_ok(f->s, b);
    }
    assert_q("10|catchup 11|catchup 12|catchup 13|rescan", f,
             "SELECT item_id, source FROM ingest_dlq_items ORDER BY item_id");
}

/* What a last_error may hold is not ours to choose. */
static void errors_of_any_bytes_are_kept(void **state) {
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = {{"caf\xc3\xa9", 5}, {"cut caf\xc3", 8}, {"\xff\xfe", 2}, {"a\0b", 3}, {"", 0}};
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct batch *b = batch_for(&c, 0, false);
        put_exception(b, 7, EXC_DEAD_LETTER, "garbage")->error =
            (struct str){rows[i].bytes, rows[i].n};
        assert_int_equal(apply_ok(f->s, b).dead, 1);
    }
}

static void many_at_once(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 400);
    struct batch *b = batch_for(&c, 400, true);
    for (int64_t id = 1; id <= 400; id++)
        put_exception(b, id, (enum exception_state)(id % EXC_N), "timeout")->next_retry_at = T0;
    struct apply_stats st = apply_ok(f->s, b);
    assert_int_equal(st.missing, 100);
    assert_int_equal(st.waiting, 200);
    assert_int_equal(st.dead, 100);
    assert_int_equal(st.status, SEG_RETRY_WAIT);
    assert_int_equal(qi(f, "SELECT unresolved_count FROM ingest_segments"), 300);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM ingest_dlq_items"), 100);
}

int exception_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(an_exception_says_everything),
        CASE(a_later_trouble_replaces_the_row),
        CASE(missing_becomes_stored_later),
        CASE(dead_letter_is_queued_in_the_same_transaction),
        CASE(success_resolves_a_dead_letter),
        CASE(dead_letter_alone_in_the_queue_is_resolved_too),
        CASE(delayed_is_stored_and_waits),
        CASE(straggler_row_goes_when_the_answer_comes),
        CASE(failure_of_a_stored_id_is_no_trouble_of_the_mirror),
        CASE(failure_of_a_replay_stays),
        CASE(sources_of_dead_letters),
        CASE(errors_of_any_bytes_are_kept),
        CASE(many_at_once),
    };
    return cmocka_run_group_tests_name("exceptions", tests, NULL, NULL);
}
