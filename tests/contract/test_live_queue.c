/* What the live stream could not get: handed out when due, written down at a stop, decided by a
 * person. */
#include "fixture.h"

#include "store/letters.h"
#include "store/live.h"

#include <string.h>

#define HOLD 60000

static void put_waiting(struct fix *f, int64_t id, const char *cls, int64_t due) {
    struct batch *b = live_batch(f);
    struct batch_exception *ex = put_exception(b, id, EXC_RETRY_WAIT, cls);
    ex->attempts = (int)id;
    ex->rung = (int)id + 1;
    ex->next_retry_at = due;
    apply_live_ok(f, b);
}

/* "id:attempts:rung ..." of what is due. */
static const char *due(struct fix *f, size_t max) {
    struct due_item items[16];
    struct err e;
    size_t n = 99;
    assert_in_range(max, 0, ARRAY_LEN(items));
    assert_ok(store_live_due(f->s, HOLD, items, max, &n, &e));
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 4096);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&out, "%s%lld:%d:%d", i ? " " : "", (long long)items[i].id, items[i].attempts,
                    items[i].rung);
    return arena_strdup(&f->arena, out.p ? out.p : "");
}

static void due_in_order_and_once(void **state) {
    struct fix *f = *state;
    assert_string_equal(due(f, 16), "");
    put_waiting(f, 3, "timeout", T0 + 3000);
    put_waiting(f, 2, "timeout", T0 + 1000);
    put_waiting(f, 1, "null_young", T0 + 2000);
    put_waiting(f, 9, "timeout", T0 + 900000);
    assert_string_equal(due(f, 16), "");
    fix_advance(f, 1000);
    assert_string_equal(due(f, 16), "2:2:3");
    assert_string_equal(due(f, 16), "");
    fix_advance(f, 2000);
    assert_string_equal(due(f, 1), "1:1:2");
    assert_string_equal(due(f, 16), "3:3:4");
    assert_string_equal(due(f, 16), "");
    /* nobody came back with an answer */
    fix_advance(f, HOLD - 2000);
    assert_string_equal(due(f, 16), "2:2:3");
    fix_advance(f, 2000);
    assert_string_equal(due(f, 0), "");
    assert_string_equal(due(f, 16), "1:1:2 3:3:4");
}

/* Rows of other sources are the business of their segments. */
static void only_what_the_stream_named(void **state) {
    struct fix *f = *state;
    x(f, "INSERT INTO ingest_dlq_items (source, item_id, state, attempts, next_retry_at, first_at, "
         "last_at) VALUES ('catchup', 1, 'retry_wait', 0, 0, 0, 0), "
         "('rescan', 2, 'retry_wait', 0, 0, 0, 0), ('realtime', 3, 'dead_letter', 0, 0, 0, 0), "
         "('realtime', 4, 'resolved', 0, 0, 0, 0), ('realtime', 5, 'retry_wait', 0, 0, 0, 0)");
    assert_string_equal(due(f, 16), "5:0:0");
}

static void a_failed_hand_out_changes_nothing(void **state) {
    struct fix *f = *state;
    put_waiting(f, 1, "timeout", T0);
    const char *was = dump(f);
    struct due_item item;
    struct err e;
    size_t n = 99;
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_live_due(f->s, HOLD, &item, 1, &n, &e), V_RETRY);
    assert_int_equal(n, 0);
    assert_string_equal(dump(f), was);
    assert_string_equal(due(f, 16), "1:1:2");
}

static void spilled_ids_are_due_at_once(void **state) {
    struct fix *f = *state;
    struct err e;
    put_waiting(f, 1, "timeout", T0 + 900000);
    struct batch *b = live_batch(f);
    put_exception(b, 2, EXC_DEAD_LETTER, "http_5xx")->attempts = 9;
    apply_live_ok(f, b);
    put_waiting(f, 3, "null_young", T0 + 1000);
    b = live_batch(f);
    put_item(b, T0, "{'id':3,'type':'story'}");
    apply_live_ok(f, b);
    fix_advance(f, 10);
    static const int64_t ids[] = {1, 2, 3, 4, 4, 70000, 1};
    assert_ok(store_live_spill(f->s, ids, ARRAY_LEN(ids), &e));
    assert_ok(store_live_spill(f->s, NULL, 0, &e));
    assert_q("1|timeout|retry_wait 2|http_5xx|retry_wait 3|spilled|retry_wait "
             "4|spilled|retry_wait 70000|spilled|retry_wait",
             f, "SELECT item_id, failure_class, state FROM ingest_dlq_items ORDER BY item_id");
    assert_string_equal(due(f, 16), "1:1:2 2:9:0 3:0:0 4:0:0 70000:0:0");
    assert_q("0", f, "SELECT COUNT(*) FROM ingest_dlq_items WHERE resolved_at IS NOT NULL");
    /* once more, as after a lost answer */
    assert_ok(store_live_spill(f->s, ids, ARRAY_LEN(ids), &e));
    assert_string_equal(due(f, 16), "1:1:2 2:9:0 3:0:0 4:0:0 70000:0:0");
}

static void backlog_by_kind(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t failed, rechecks;
    assert_ok(store_live_backlog(f->s, &failed, &rechecks, &e));
    assert_int_equal(failed, 0);
    assert_int_equal(rechecks, 0);
    put_waiting(f, 1, "timeout", T0 + 1000);
    put_waiting(f, 2, "null_young", T0 + 1000);
    put_waiting(f, 3, "delayed", T0 + 1000);
    put_waiting(f, 4, "http_404", T0 + 1000);
    put_waiting(f, 5, "timeout", T0 + 1000);
    struct batch *b = live_batch(f);
    put_item(b, T0, "{'id':5,'type':'story'}");
    put_exception(b, 6, EXC_DEAD_LETTER, "timeout");
    apply_live_ok(f, b);
    x(f, "INSERT INTO ingest_dlq_items (source, item_id, state, attempts, next_retry_at, first_at, "
         "last_at) VALUES ('realtime', 7, 'retry_wait', 0, 0, 0, 0)"); /* of no class */
    assert_ok(store_live_backlog(f->s, &failed, &rechecks, &e));
    assert_int_equal(failed, 3);
    assert_int_equal(rechecks, 2);
}

static void what_was_resolved_long_ago_goes(void **state) {
    struct fix *f = *state;
    const int64_t day = 24 * 3600 * 1000;
    x(f,
      "INSERT INTO ingest_dlq_items (source, item_id, state, attempts, first_at, last_at, "
      "resolved_at) VALUES ('realtime', 1, 'resolved', 0, 0, 0, %lld), "
      "('realtime', 2, 'resolved', 0, 0, 0, %lld), ('catchup', 1, 'resolved', 0, 0, 0, 0), "
      "('realtime', 3, 'dead_letter', 0, 0, 0, NULL)",
      (long long)(T0 - 8 * day), (long long)(T0 - 6 * day));
    put_waiting(f, 4, "timeout", T0);
    assert_string_equal(due(f, 16), "4:4:5");
    assert_q("catchup|1 realtime|2 realtime|3 realtime|4", f,
             "SELECT source, item_id FROM ingest_dlq_items ORDER BY source, item_id");
}

static const struct letter_choice all = {1, INT64_MAX, NULL};

static void a_replayed_letter_is_due_with_fresh_attempts(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    struct batch_exception *ex = put_exception(b, 7, EXC_DEAD_LETTER, "http_401");
    ex->attempts = 9;
    ex->rung = 7;
    apply_live_ok(f, b);
    assert_string_equal(due(f, 16), "");
    struct err e;
    int64_t n, lo, hi;
    fix_advance(f, 100);
    assert_ok(store_replay_letters(f->s, &all, &n, &lo, &hi, &e));
    assert_int_equal(n, 1);
    assert_string_equal(due(f, 16), "7:0:0");
    assert_ok(store_count_letters(f->s, &all, &n, &e));
    assert_int_equal(n, 0);
    /* it fails again and is given up again */
    b = live_batch(f);
    put_exception(b, 7, EXC_DEAD_LETTER, "http_401")->attempts = 3;
    apply_live_ok(f, b);
    assert_ok(store_count_letters(f->s, &all, &n, &e));
    assert_int_equal(n, 1);
}

/* An id with a letter of the mirror too: each goes its way. */
static void replayed_in_both_places(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 7, EXC_DEAD_LETTER, "http_5xx")->attempts = 8;
    apply_ok(f->s, b);
    b = live_batch(f);
    put_exception(b, 7, EXC_DEAD_LETTER, "http_5xx")->attempts = 9;
    apply_live_ok(f, b);
    struct err e;
    int64_t n, lo, hi;
    assert_ok(store_replay_letters(f->s, &all, &n, &lo, &hi, &e));
    assert_int_equal(n, 1);
    assert_q("catchup|8|retry_wait realtime|0|retry_wait", f,
             "SELECT source, attempts, state FROM ingest_dlq_items ORDER BY source");
    assert_string_equal(due(f, 16), "7:0:0");
    assert_q("pending", f, "SELECT status FROM ingest_segments");
}

static void a_letter_of_the_stream_can_be_accepted(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    put_exception(b, 7, EXC_DEAD_LETTER, "http_401");
    put_exception(b, 8, EXC_DEAD_LETTER, "timeout");
    apply_live_ok(f, b);
    struct err e;
    int64_t n, stored;
    const struct letter_choice choice = {1, INT64_MAX, "http_401"};
    assert_ok(store_accept_letters(f->s, &choice, "gone", &n, &stored, &e));
    assert_int_equal(n, 1);
    assert_q("7|resolved 8|dead_letter", f,
             "SELECT item_id, state FROM ingest_dlq_items ORDER BY item_id");
    assert_q("", f, "SELECT * FROM ingest_exceptions");
    assert_ok(store_count_letters(f->s, &all, &n, &e));
    assert_int_equal(n, 1);
}

int live_queue_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(due_in_order_and_once),
        CASE(only_what_the_stream_named),
        CASE(a_failed_hand_out_changes_nothing),
        CASE(spilled_ids_are_due_at_once),
        CASE(backlog_by_kind),
        CASE(what_was_resolved_long_ago_goes),
        CASE(a_replayed_letter_is_due_with_fresh_attempts),
        CASE(replayed_in_both_places),
        CASE(a_letter_of_the_stream_can_be_accepted),
    };
    return cmocka_run_group_tests_name("live queue", tests, NULL, NULL);
}
