/* The small interface over SQLite: parameters, rows, NULLs, transactions, busy neighbours. */
#include "db/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ADD, GET, COUNT, BAD, NOW, UPDATE };
static const char *const names[] = {"add", "get", "count", "bad", "now", "update"};
static const char *const sql[] = {
    "INSERT INTO t (a, b) VALUES (?1, ?2)",
    "SELECT a, b FROM t WHERE a IS ?1 ORDER BY b",
    "SELECT COUNT(*) FROM t",
    "SELECT nonsense FROM nowhere",
    "SELECT tain_now_ms()",
    "UPDATE t SET b = 'x' WHERE a >= ?1",
};
static const struct db_catalog catalog = {6, names, {sql, sql}};

struct fix {
    char dir[64], uri[100];
    struct clock clock;
    struct db *db, *other;
};

#define assert_ok(call)                                   \
    do {                                                  \
        enum verdict ok_ = (call);                        \
        if (ok_ != V_OK)                                  \
            fail_msg("%s: %s", verdict_name(ok_), e.msg); \
    } while (0)

static int set_up(void **state) {
    struct fix *f = xcalloc(1, sizeof *f);
    struct err e;
    strcpy(f->dir, "/tmp/tain-db-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->uri, sizeof f->uri, "sqlite:%s/t.db", f->dir);
    clock_manual_init(&f->clock, 1, 123456789);
    struct db_options o = {.uri = f->uri, .catalog = &catalog, .clock = &f->clock};
    assert_ok(db_open(&o, &f->db, &e));
    assert_ok(db_script(f->db, "CREATE TABLE t (a INTEGER UNIQUE, b TEXT)", &e));
    assert_ok(db_open(&o, &f->other, &e));
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fix *f = *state;
    static const char *const files[] = {"t.db", "t.db-wal", "t.db-shm"};
    db_close(f->db);
    db_close(f->other);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[100];
        snprintf(path, sizeof path, "%s/%s", f->dir, files[i]);
        unlink(path);
    }
    rmdir(f->dir);
    free(f);
    return 0;
}

static int64_t count(struct db *db) {
    struct err e;
    int64_t n = -1;
    assert_ok(db_run_int(db, COUNT, DB_NO_VALS, &n, &e));
    return n;
}

struct seen {
    int n;
    int64_t a;
    char b[40];
    size_t b_len;
    bool b_null;
};

static enum verdict see(void *ctx, const struct db_row *row) {
    struct seen *s = ctx;
    struct str b = db_row_text(row, 1);
    s->n++;
    s->a = db_row_int(row, 0);
    s->b_null = b.p == NULL;
    s->b_len = b.n;
    if (b.p && b.n)
        memcpy(s->b, b.p, b.n < sizeof s->b ? b.n : sizeof s->b - 1);
    return V_OK;
}

static void values_go_there_and_back(void **state) {
    struct fix *f = *state;
    static const struct {
        int64_t a;
        struct str b;
    } rows[] = {{1, {"one", 3}},          {-5, {NULL, 0}},           {0, {"", 0}},
                {INT64_MAX, {"a\0b", 3}}, {INT64_MIN + 1, {"x", 1}}, {DB_NULL, {"null", 4}}};
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_ok(db_run(f->db, ADD, DB_VALS(DBI(rows[i].a), DBT(rows[i].b)), NULL, NULL, &e));
        assert_int_equal(db_changes(f->db), 1);
        struct seen s = {0};
        assert_ok(db_run(f->db, GET, DB_VALS(DBI(rows[i].a)), see, &s, &e));
        assert_int_equal(s.n, 1);
        assert_true(s.a == rows[i].a);
        assert_int_equal(s.b_null, rows[i].b.p == NULL);
        assert_int_equal(s.b_len, rows[i].b.n);
        if (s.b_len)
            assert_memory_equal(s.b, rows[i].b.p, s.b_len);
    }
}

static void each_row_of_columns(void **state) {
    struct fix *f = *state;
    static const int64_t a[] = {3, 1, 2};
    static const struct str b[] = {{"c", 1}, {"a", 1}, {NULL, 0}};
    const struct db_col cols[] = {DB_INTS(a), DB_TEXTS(b)};
    struct err e;
    assert_ok(db_each(f->db, ADD, cols, 2, 3, NULL, NULL, &e));
    assert_int_equal(db_changes(f->db), 3);
    assert_int_equal(count(f->db), 3);
    assert_ok(db_each(f->db, ADD, cols, 2, 0, NULL, NULL, &e));
    assert_int_equal(db_changes(f->db), 0);
    assert_ok(db_run(f->db, UPDATE, DB_VALS(DBI(2)), NULL, NULL, &e));
    assert_int_equal(db_changes(f->db), 2);
}

static void no_row_is_not_found(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t v = 42;
    assert_int_equal(db_run_int(f->db, GET, DB_VALS(DBI(9)), &v, &e), V_NOT_FOUND);
    assert_int_equal(v, 42);
    assert_non_null(strstr(e.msg, "get"));
}

static enum verdict say_stop(void *ctx, const struct db_row *row UNUSED) {
    ++*(int *)ctx;
    return V_LIMIT;
}

static void a_callback_may_end_it(void **state) {
    struct fix *f = *state;
    struct err e = {0};
    int calls = 0;
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(1), DBC("x")), NULL, NULL, &e));
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(DB_NULL), DBC("y")), NULL, NULL, &e));
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(DB_NULL), DBC("z")), NULL, NULL, &e));
    assert_int_equal(db_run(f->db, GET, DB_VALS(DBI(DB_NULL)), say_stop, &calls, &e), V_LIMIT);
    assert_int_equal(calls, 1);
    assert_ok(db_begin(f->db, &e)); /* the statement does not stay open */
    assert_ok(db_commit(f->db, &e));
}

static void transactions(void **state) {
    struct fix *f = *state;
    struct err e;
    db_rollback(f->db); /* harmless */
    assert_ok(db_begin(f->db, &e));
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(1), DBC("x")), NULL, NULL, &e));
    assert_int_equal(count(f->other), 0);
    db_rollback(f->db);
    assert_int_equal(count(f->db), 0);
    assert_ok(db_begin(f->db, &e));
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(1), DBC("x")), NULL, NULL, &e));
    assert_ok(db_commit(f->db, &e));
    assert_int_equal(count(f->other), 1);
}

static void recover_rolls_back(void **state) {
    struct fix *f = *state;
    struct err e;
    assert_ok(db_begin(f->db, &e));
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(1), DBC("x")), NULL, NULL, &e));
    assert_ok(db_recover(f->db, &e));
    assert_int_equal(count(f->db), 0);
    assert_ok(db_begin(f->other, &e));
    assert_ok(db_commit(f->other, &e));
}

static void errors_name_the_statement(void **state) {
    struct fix *f = *state;
    struct err e;
    assert_int_equal(db_run(f->db, BAD, DB_NO_VALS, NULL, NULL, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "bad: "));
    assert_string_equal(e.domain, "sqlite");
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(1), DBC("x")), NULL, NULL, &e));
    assert_int_equal(db_run(f->db, ADD, DB_VALS(DBI(1), DBC("x")), NULL, NULL, &e), V_CONFLICT);
    assert_ok(db_run(f->db, ADD, DB_VALS(DBI(2), DBC("x")), NULL, NULL, &e));
}

static void the_clock_is_ours(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t now;
    assert_ok(db_run_int(f->db, NOW, DB_NO_VALS, &now, &e));
    assert_int_equal(now, 123456789);
    clock_advance(&f->clock, 11);
    assert_ok(db_run_int(f->db, NOW, DB_NO_VALS, &now, &e));
    assert_int_equal(now, 123456800);
}

static void must_exist_creates_nothing(void **state) {
    struct fix *f = *state;
    char uri[120];
    snprintf(uri, sizeof uri, "sqlite:%s/none.db", f->dir);
    struct db_options o = {.uri = uri, .catalog = &catalog, .must_exist = true};
    struct db *db = NULL;
    struct err e;
    assert_int_equal(db_open(&o, &db, &e), V_FATAL);
    assert_int_not_equal(access(uri + 7, F_OK), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(values_go_there_and_back),
        CASE(each_row_of_columns),
        CASE(no_row_is_not_found),
        CASE(a_callback_may_end_it),
        CASE(transactions),
        CASE(recover_rolls_back),
        CASE(errors_name_the_statement),
        CASE(the_clock_is_ours),
        CASE(must_exist_creates_nothing),
    };
    return cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
}
