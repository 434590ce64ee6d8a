/* Statements that are made at run time, beside those of the catalogue. */
#include "fixture.h"

#include <string.h>

static enum verdict take_text(void *ctx, const struct db_row *row) {
    struct strbuf *out = ctx;
    strbuf_adds(out, out->n ? " " : "");
    strbuf_add_str(out, db_row_text(row, 0));
    return V_OK;
}

static void run_like_the_others(void **state) {
    struct fix *f = *state;
    struct db *db = f->s->db;
    struct err e;
    int add, get;
    CLEANUP(strbuf_release) struct strbuf seen;
    strbuf_init(&seen, 1000);
    char text[200];
    x(f, "CREATE TABLE made (a BIGINT, b TEXT)");
    strcpy(text, fix_kind == DB_POSTGRES
                     ? "INSERT INTO made SELECT * FROM unnest($1::bigint[], $2::text[])"
                       " RETURNING b"
                     : "INSERT INTO made VALUES (?1, ?2) RETURNING b");
    assert_ok(db_add(db, "made add", text, &add, &e));
    memset(text, 'x', sizeof text - 1); /* it was copied */
    assert_ok(db_add(db, "made get",
                     fix_kind == DB_POSTGRES ? "SELECT b FROM made WHERE a >= $1 ORDER BY a"
                                             : "SELECT b FROM made WHERE a >= ?1 ORDER BY a",
                     &get, &e));
    assert_true(add >= sql_catalog.n && get > add);
    const int64_t numbers[] = {1, 2, 3};
    const struct str texts[] = {STR("one"), STR("two"), STR("three")};
    const struct db_col cols[] = {DB_INTS(numbers), DB_TEXTS(texts)};
    assert_ok(db_each(db, add, cols, 2, 3, take_text, &seen, &e));
    assert_string_equal(seen.p, "one two three");
    assert_int_equal(db_changes(db), 3);
    strbuf_clear(&seen);
    assert_ok(db_run(db, get, DB_VALS(DBI(2)), take_text, &seen, &e));
    assert_string_equal(seen.p, "two three");
    assert_ok(db_check(db, get, &e));
    x(f, "DROP TABLE made");
    assert_int_equal(db_run(db, get, DB_VALS(DBI(2)), NULL, NULL, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "made get: "));
}

static void a_number_is_given_again(void **state) {
    struct fix *f = *state;
    struct db *db = f->s->db;
    struct err e;
    int first, second, third;
    int64_t n;
    assert_ok(db_add(db, "first", "SELECT 1", &first, &e));
    assert_ok(db_add(db, "second", "SELECT 2", &second, &e));
    assert_ok(db_run_int(db, first, DB_NO_VALS, &n, &e));
    /* also where the database cannot be told that it is gone */
    assert_ok(db_begin(db, &e));
    if (fix_kind == DB_POSTGRES)
        assert_int_not_equal(db_script(db, "nonsense", &e), V_OK);
    db_drop(db, first);
    db_rollback(db);
    assert_ok(db_add(db, "third", "SELECT 3", &third, &e));
    assert_int_equal(third, first);
    assert_ok(db_run_int(db, third, DB_NO_VALS, &n, &e));
    assert_int_equal(n, 3);
    assert_ok(db_run_int(db, second, DB_NO_VALS, &n, &e));
    assert_int_equal(n, 2);
}

static void there_is_a_maximum(void **state) {
    struct fix *f = *state;
    struct db *db = f->s->db;
    struct err e;
    int stmt = 0;
    enum verdict v = V_OK;
    for (int i = 0; i < DB_MADE_MAX; i++)
        assert_ok(db_add(db, "one of many", "SELECT 1", &stmt, &e));
    v = db_add(db, "one too many", "SELECT 1", &stmt, &e);
    assert_int_equal(v, V_LIMIT);
    db_drop(db, stmt);
    assert_ok(db_add(db, "one of many", "SELECT 1", &stmt, &e));
}

static void they_outlive_the_connection(void **state) {
    struct fix *f = *state;
    struct db *db = f->s->db;
    struct err e;
    int64_t n, pid;
    int stmt, pid_stmt;
    if (fix_kind != DB_POSTGRES)
        skip();
    assert_ok(db_add(db, "one", "SELECT 7", &stmt, &e));
    assert_ok(db_add(db, "pid", "SELECT pg_backend_pid()", &pid_stmt, &e));
    assert_ok(db_run_int(db, stmt, DB_NO_VALS, &n, &e));
    assert_ok(db_run_int(db, pid_stmt, DB_NO_VALS, &pid, &e));
    x(f, "SELECT pg_terminate_backend(%lld, 60000)", (long long)pid);
    assert_int_equal(db_run_int(db, stmt, DB_NO_VALS, &n, &e), V_RETRY);
    assert_ok(db_recover(db, &e));
    assert_ok(db_run_int(db, stmt, DB_NO_VALS, &n, &e));
    assert_int_equal(n, 7);
}

int made_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(run_like_the_others),
        CASE(a_number_is_given_again),
        CASE(there_is_a_maximum),
        CASE(they_outlive_the_connection),
    };
    return cmocka_run_group_tests_name("made", tests, NULL, NULL);
}
