/* What the archive says of itself. */
#include "fixture.h"

#include "store/status.h"

#include <string.h>

static void an_empty_archive_knows_nothing(void **state) {
    struct fix *f = *state;
    struct archive_state st;
    struct archive_status status;
    struct err e;
    int64_t id = -1;
    assert_ok(store_state(f->s, &st, &e));
    assert_int_equal(st.floor_id + st.frontier_id + st.frontier_excluding_waiting + st.maxitem, 0);
    assert_ok(store_status(f->s, &status, &e));
    assert_int_equal(status.items + status.dead_letters, 0);
    assert_int_equal(status.n_stalled, 0);
    assert_ok(store_any_item(f->s, &id, &e));
    assert_int_equal(id, 0);
}

static void state_is_kept(void **state) {
    struct fix *f = *state;
    struct archive_state st;
    struct err e;
    int64_t now;
    assert_ok(store_now(f->s, &now, &e));
    assert_int_equal(now, T0);
    assert_ok(store_note_maxitem(f->s, 12345, &e));
    assert_ok(store_set_frontier(f->s, 100, 120, &e));
    assert_ok(store_lower_floor(f->s, 50, &e));
    assert_ok(store_lower_floor(f->s, 60, &e)); /* never up */
    assert_ok(store_state(f->s, &st, &e));
    assert_int_equal(st.floor_id, 50);
    assert_int_equal(st.frontier_id, 100);
    assert_int_equal(st.frontier_excluding_waiting, 120);
    assert_int_equal(st.maxitem, 12345);
    assert_int_equal(st.maxitem_at, T0);
    assert_ok(store_lower_floor(f->s, 7, &e));
    assert_ok(store_state(f->s, &st, &e));
    assert_int_equal(st.floor_id, 7);
    assert_int_equal(store_is_shared(f->s), fix_kind == DB_POSTGRES);
}

static void counts_and_stalls(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_item(b, T0, "{'id':1,'type':'story'}");
    put_item(b, T0, "{'id':2,'type':'comment','parent':1,'deleted':true}");
    put_exception(b, 3, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 4, EXC_DEAD_LETTER, "garbage");
    apply_ok(f->s, b);
    claim_new(f, PURPOSE_MIRROR, 11, 20);
    add_segment(f, PURPOSE_MIRROR, 21, 30);
    struct archive_status st;
    struct err e;
    assert_ok(store_status(f->s, &st, &e));
    assert_int_equal(st.items, 2);
    assert_int_equal(st.dead_letters, 1);
    assert_int_equal(st.segments[SEG_DEAD_LETTER], 1);
    assert_int_equal(st.segments[SEG_IN_PROGRESS], 1);
    assert_int_equal(st.segments[SEG_PENDING], 1);
    assert_int_equal(st.segments[SEG_DONE], 0);
    assert_int_equal(st.exceptions[EXC_TERMINAL_MISSING], 1);
    assert_int_equal(st.exceptions[EXC_DEAD_LETTER], 1);
    struct archive_counts counts;
    assert_ok(store_counts(f->s, &counts, &e));
    assert_memory_equal(counts.segments, st.segments, sizeof st.segments);
    assert_int_equal(counts.dead_letters, 1);
    assert_int_equal(st.n_stalled, 1);
    assert_int_equal(st.stalled[0].status, SEG_DEAD_LETTER);
    assert_string_equal(st.stalled[0].last_error, "it did not work");
    assert_string_equal(st.stalled[0].failure_class, "garbage");
    fix_advance(f, LEASE_MS + 5);
    assert_ok(store_status(f->s, &st, &e));
    assert_int_equal(st.n_stalled, 2);
    assert_int_equal(st.stalled[1].start_id, 11);
    assert_int_equal(st.stalled[1].heartbeat_age_ms, LEASE_MS + 5);
    assert_string_equal(st.stalled[1].holder, "me");
}

static void what_is_only_rechecked_is_not_stalled(void **state) {
    struct fix *f = *state;
    struct archive_status st;
    struct err e;
    static const char *const why[][2] = {
        {"null_young", NULL}, {"delayed", "null_young"}, {"null_young", "timeout"}};
    for (size_t i = 0; i < ARRAY_LEN(why); i++) {
        int64_t lo = 1 + 10 * (int64_t)i;
        struct claim c = claim_new(f, PURPOSE_MIRROR, lo, lo + 9);
        struct batch *b = batch_for(&c, lo + 9, true);
        for (int k = 0; k < 2 && why[i][k]; k++)
            put_exception(b, lo + 1 + k, EXC_RETRY_WAIT, why[i][k])->next_retry_at = T0 + 1;
        put_exception(b, lo + 5, EXC_TERMINAL_MISSING, "null_old");
        apply_ok(f->s, b);
    }
    assert_ok(store_status(f->s, &st, &e));
    assert_int_equal(st.segments[SEG_RETRY_WAIT], 3);
    assert_int_equal(st.n_stalled, 1);
    assert_int_equal(st.stalled[0].start_id, 21);
}

static void unresolved_of_a_window(void **state) {
    struct fix *f = *state;
    for (int64_t lo = 1; lo < 40; lo += 10) {
        struct claim c = claim_new(f, PURPOSE_MIRROR, lo, lo + 9);
        struct batch *b = batch_for(&c, lo + 9, true);
        put_exception(b, lo + 1, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 1;
        put_exception(b, lo + 2, EXC_DEAD_LETTER, "garbage");
        put_exception(b, lo + 3, EXC_PENDING, "straggler");
        put_exception(b, lo + 4, EXC_TERMINAL_MISSING, "null_old");
        apply_ok(f->s, b);
    }
    struct err e;
    int64_t waiting, dead;
    assert_ok(store_unresolved(f->s, 11, 30, &waiting, &dead, &e));
    assert_int_equal(waiting, 4);
    assert_int_equal(dead, 2);
    assert_ok(store_unresolved(f->s, 1000, 2000, &waiting, &dead, &e));
    assert_int_equal(waiting + dead, 0);
}

static void a_failure_is_noted_on_its_segment(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 5, false);
    const struct err why = {.domain = "x", .msg = "the disk is full"};
    store_note_failure(f->s, b, &why);
    batch_free(b);
    assert_q("in_progress|the disk is full|fatal", f,
             "SELECT status, last_error, failure_class FROM ingest_segments");
}

static void a_canary_is_alive(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t id;
    store_item(f, T0, "{'id':5,'type':'story'}");
    store_item(f, T0, "{'id':7,'type':'story','dead':true}");
    store_item(f, T0, "{'id':8,'deleted':true}");
    assert_ok(store_any_item(f->s, &id, &e));
    assert_int_equal(id, 5);
}

int status_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(an_empty_archive_knows_nothing),
        CASE(state_is_kept),
        CASE(counts_and_stalls),
        CASE(what_is_only_rechecked_is_not_stalled),
        CASE(unresolved_of_a_window),
        CASE(a_failure_is_noted_on_its_segment),
        CASE(a_canary_is_alive),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
