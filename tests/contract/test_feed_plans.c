/* How PostgreSQL goes about the change log once somebody has counted it: nearly all of it has its
 * position then, and what is to get one next is still many rows. */
#include "fixture.h"

#include "db/db_int.h"
#include "store/feed.h"
#include "store/statements.h"

#include <string.h>

#define ROWS 400

/* Of a numbering that is done and taken back. */
static const char *plan_of_numbering(struct fix *f, const char *mode) {
    x(f, "SET plan_cache_mode TO %s", mode);
    x(f, "PREPARE asked (bigint, text) AS %s", db_text(f->s->db, SQL_FEED_NUMBER));
    x(f, "BEGIN");
    const char *plan =
        q(f, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE asked (%d, 'nobody')", 2 * ROWS);
    x(f, "ROLLBACK; DEALLOCATE asked");
    return plan;
}

static void numbering_looks_at_each_row_once(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n = 0;
    if (fix_kind == DB_SQLITE)
        skip();
    for (int i = 0; i < ROWS; i++)
        log_changes(f, 100, 1, T0);
    assert_ok(store_feed_publish(f->s, (size_t)2 * ROWS, &n, &e));
    assert_int_equal(n, ROWS);
    x(f, "ANALYZE change_log");
    for (int i = 0; i < ROWS; i++)
        log_changes(f, 100, 1, T0);
    static const char *const modes[] = {"force_custom_plan", "force_generic_plan"};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        char all[40];
        snprintf(all, sizeof all, "rows=%d", ROWS);
        const char *plan = plan_of_numbering(f, modes[i]);
        if (!strstr(plan, all) || strstr(plan, "Rows Removed by Join Filter"))
            fail_msg("%s: %s", modes[i], plan);
    }
}

/* Nobody is to change rows of the log. Where somebody does, one may not be found in its place: then
 * no row has a position, rather than that one is given out twice later. */
static void a_row_that_cannot_be_numbered_keeps_all_back(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n = 0;
    if (fix_kind == DB_SQLITE)
        skip();
    for (int i = 0; i < 3; i++)
        log_changes(f, 100, 2, T0);
    x(f, "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS"
         " $$ BEGIN RETURN CASE WHEN NEW.pos = 3 THEN NULL ELSE NEW END; END $$");
    x(f, "CREATE TRIGGER leave BEFORE UPDATE ON change_log FOR EACH ROW EXECUTE FUNCTION leave()");
    assert_int_equal(store_feed_publish(f->s, 100, &n, &e), V_RETRY);
    assert_q("0", f, "SELECT head FROM feed_state");
    assert_q("3", f, "SELECT COUNT(*) FROM change_log WHERE pos IS NULL");
    x(f, "DROP TRIGGER leave ON change_log");
    assert_ok(store_feed_publish(f->s, 100, &n, &e));
    assert_int_equal(n, 6);
    assert_q("1 3 5", f, "SELECT pos FROM change_log ORDER BY batch");
}

int feed_plan_tests(void) {
    static const struct CMUnitTest tests[] = {CASE(numbering_looks_at_each_row_once),
                                              CASE(a_row_that_cannot_be_numbered_keeps_all_back)};
    return cmocka_run_group_tests_name("feed plans", tests, NULL, NULL);
}
