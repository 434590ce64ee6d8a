/* Whatever fails on the way, the transaction is gone as a whole, and the same batch applied again
 * gives the same figures. */
#include "fixture.h"

#include <string.h>

#define N_STEPS 9 /* of store_apply */

static void before(struct fix *f) {
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':11,'type':'story','title':'old','kids':[12,13]}");
    put_item(b, T0, "{'id':12,'type':'comment','parent':11,'text':'same'}");
    put_item(b, T0 + 9, "{'id':13,'type':'comment','parent':11,'text':'newer'}");
    put_item(b, T0, "{'id':20,'type':'comment','parent':19,'text':'orphan'}");
    put_exception(b, 14, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 1000;
    apply_ok(f->s, b);
}

static struct batch *batch_with_everything(struct fix *f) {
    struct batch *b = wide_batch(f);
    b->cursor = 30;
    put_item(b, T0 + 5, "{'id':11,'type':'story','title':'new','kids':[13,15]}");
    put_item(b, T0 + 5, "{'id':12,'type':'comment','parent':11,'text':'same'}");
    put_item(b, T0 + 5, "{'id':13,'type':'comment','parent':11,'text':'older'}");
    put_item(b, T0 + 5, "{'id':14,'type':'comment','parent':11,'text':'at last'}");
    put_item(b, T0 + 5, "{'id':19,'type':'comment','parent':11,'text':'a late parent'}");
    put_exception(b, 16, EXC_DEAD_LETTER, "garbage");
    put_exception(b, 17, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 18, EXC_RETRY_WAIT, "reset")->next_retry_at = T0 + 99;
    put_exception(b, 12, EXC_TERMINAL_MISSING, "null_old");
    return b;
}

static void check_result(struct fix *f, const struct apply_stats *st) {
    assert_counts(*st, 2, 1, 1, 1);
    assert_int_equal(st->revisions, 1);
    assert_int_equal(st->kids, 2);
    assert_int_equal(st->missing, 1);
    assert_int_equal(st->waiting, 1);
    assert_int_equal(st->dead, 1);
    assert_int_equal(st->resolved, 1);
    assert_q("11|11 12|11 13|11 14|11 19|11 20|11", f,
             "SELECT id, story_id FROM items ORDER BY id");
    assert_q("16|dead_letter 17|terminal_missing 18|retry_wait", f,
             "SELECT item_id, state FROM ingest_exceptions ORDER BY item_id");
    assert_int_equal(qi(f, "SELECT unresolved_count FROM ingest_segments"), 2);
    assert_int_equal(qi(f, "SELECT scan_cursor_id FROM ingest_segments"), 30);
}

static void fail_and_repeat(struct fix *f, const char *fault) {
    before(f);
    const char *was = dump(f);
    struct batch *b = batch_with_everything(f);
    struct apply_stats st;
    struct err e;
    fault_setup(fault);
    assert_int_equal(store_apply(f->s, b, &st, &e), V_RETRY);
    assert_string_equal(dump(f), was);
    assert_ok(store_recover(f->s, &e));
    st = apply_ok(f->s, b);
    check_result(f, &st);
}

static void undisturbed(void **state) {
    struct fix *f = *state;
    before(f);
    struct apply_stats st = apply_ok(f->s, batch_with_everything(f));
    check_result(f, &st);
}

static void after_step_1(void **state) {
    fail_and_repeat(*state, "apply_step:1:fail");
}
static void after_step_2(void **state) {
    fail_and_repeat(*state, "apply_step:2:fail");
}
static void after_step_3(void **state) {
    fail_and_repeat(*state, "apply_step:3:fail");
}
static void after_step_4(void **state) {
    fail_and_repeat(*state, "apply_step:4:fail");
}
static void after_step_5(void **state) {
    fail_and_repeat(*state, "apply_step:5:fail");
}
static void after_step_6(void **state) {
    fail_and_repeat(*state, "apply_step:6:fail");
}
static void after_step_7(void **state) {
    fail_and_repeat(*state, "apply_step:7:fail");
}
static void after_step_8(void **state) {
    fail_and_repeat(*state, "apply_step:8:fail");
}
static void after_step_9(void **state) {
    fail_and_repeat(*state, "apply_step:9:fail");
}
static void after_step_10(void **state) {
    fail_and_repeat(*state, "apply_step:10:fail");
}
static void before_the_commit(void **state) {
    fail_and_repeat(*state, "db_before_commit:1:fail");
}

static void no_step_was_forgotten(void **state) {
    struct fix *f = *state;
    before(f);
    fault_setup("apply_step:11:fail");
    apply_ok(f->s, batch_with_everything(f));
}

static void a_claim_that_fails_leaves_the_segment(void **state) {
    struct fix *f = *state;
    add_segment(f, PURPOSE_MIRROR, 1, 10);
    const char *was = dump(f);
    struct claim c;
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(try_claim(f, f->s, 1, 10, &c), V_RETRY);
    assert_string_equal(dump(f), was);
    assert_int_equal(try_claim(f, f->s, 1, 10, &c), V_OK);
    assert_int_equal(c.lease_token, 1);
}

/* The server ends the session in the middle: the store gets a new one and goes on. */
static void a_lost_connection_is_replaced(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    before(f);
    struct batch *b = batch_with_everything(f);
    const char *was = dump(f);
    x(f, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
         "WHERE application_name = 'tain' AND pid <> pg_backend_pid()");
    struct apply_stats st;
    struct err e;
    assert_int_equal(store_apply(f->s, b, &st, &e), V_RETRY);
    assert_string_equal(dump(f), was);
    assert_ok(store_recover(f->s, &e));
    fix_advance(f, 0);
    st = apply_ok(f->s, b);
    check_result(f, &st);
}

/* What refuses writes is a standby by now: the next connection may find the primary. */
static void a_session_that_cannot_write_is_replaced(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    before(f);
    struct batch *b = batch_with_everything(f);
    struct apply_stats st;
    struct err e;
    assert_ok(db_script(f->s->db, "SET default_transaction_read_only TO on", &e));
    for (int i = 0; i < 2; i++) { /* also where nobody called for a recovery in between */
        assert_int_equal(store_apply(f->s, b, &st, &e), V_RETRY);
        assert_true(store_is_read_only(&e));
    }
    assert_ok(store_recover(f->s, &e));
    fix_advance(f, 0);
    st = apply_ok(f->s, b);
    check_result(f, &st);
}

int fault_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(undisturbed),
        CASE(after_step_1),
        CASE(after_step_2),
        CASE(after_step_3),
        CASE(after_step_4),
        CASE(after_step_5),
        CASE(after_step_6),
        CASE(after_step_7),
        CASE(after_step_8),
        CASE(after_step_9),
        CASE(after_step_10),
        CASE(before_the_commit),
        CASE(no_step_was_forgotten),
        CASE(a_claim_that_fails_leaves_the_segment),
        CASE(a_lost_connection_is_replaced),
        CASE(a_session_that_cannot_write_is_replaced),
    };
    _Static_assert(N_STEPS == 9, "one test per step");
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
