/* The schema: every statement fits it, and migrations happen once, whoever starts them. */
#include "fixture.h"

#include "db/db_int.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void lite_prepares(const char *path, int stmt) {
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    const char *tail = "";
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_create_function(db, "tain_now_ms", 0, SQLITE_UTF8, NULL,
                            (void (*)(sqlite3_context *, int, sqlite3_value **))abort, NULL, NULL);
    int rc = sqlite3_prepare_v2(db, sql_catalog.sql[DB_SQLITE][stmt], -1, &st, &tail);
    if (rc != SQLITE_OK || *tail)
        fail_msg("%s: %s %s", sql_catalog.names[stmt], sqlite3_errmsg(db), tail);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

static void every_statement_prepares(void **state) {
    struct fix *f = *state;
    assert_true(sql_catalog.n == SQL_N && SQL_N > 40);
    if (fix_kind == DB_SQLITE) {
        for (int i = 0; i < sql_catalog.n; i++)
            lite_prepares(f->uri + strlen("sqlite:"), i);
        return;
    }
    PGconn *pg = PQconnectdb(f->uri);
    char sql[120];
    snprintf(sql, sizeof sql, "SET search_path TO \"%s\"", f->schema);
    PQclear(PQexec(pg, sql));
    for (int i = 0; i < sql_catalog.n; i++) {
        /* the driver names the types; here only where the text does not say enough by itself */
        static const Oid types[] = {0, 20, 20};
        bool vague = i == SQL_PROVIDER_RESERVE;
        PGresult *r = PQprepare(pg, sql_catalog.names[i], sql_catalog.sql[DB_POSTGRES][i],
                                vague ? 3 : 0, vague ? types : NULL);
        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            fail_msg("%s: %s", sql_catalog.names[i], PQerrorMessage(pg));
        PQclear(r);
    }
    PQfinish(pg);
}

static void twice_is_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    struct migrate_report r;
    store_item(f, T0, "{'id':1,'type':'story'}");
    const char *before = dump(f), *applied = q(f, "SELECT * FROM schema_migrations");
    assert_ok(store_migrate(f->s, &r, &e));
    assert_int_equal(r.before, sql_n_migrations);
    assert_int_equal(r.after, sql_n_migrations);
    assert_string_equal(dump(f), before);
    assert_q(applied, f, "SELECT * FROM schema_migrations");
}

static void first_report_counts_from_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    struct migrate_report r;
    struct store_options o = fix_options(f);
    o.schema_rule = SCHEMA_IGNORE;
    assert_ok(store_open(&o, &f->all[f->n_stores++], &e));
    assert_ok(store_migrate(f->all[0], &r, &e));
    assert_int_equal(r.before, 0);
    assert_int_equal(r.after, sql_n_migrations);
}

static void *open_archive(void *arg) {
    struct fix *f = arg;
    struct store_options o = fix_options(f);
    struct store *s = NULL;
    static _Thread_local struct err e;
    if (store_open(&o, &s, &e) != V_OK)
        return e.msg[0] ? strdup(e.msg) : strdup("?");
    store_close(s);
    return NULL;
}

static void many_at_once(void **state) {
    struct fix *f = *state;
    pthread_t threads[6];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_archive, f), 0);
    char *trouble = NULL;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *msg;
        pthread_join(threads[i], &msg);
        if (msg)
            trouble = msg;
    }
    if (trouble)
        fail_msg("%s", trouble);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM schema_migrations"), sql_n_migrations);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM updater_state"), 1);
}

static enum verdict open_with(struct fix *f, enum schema_rule rule, bool must_exist) {
    struct store_options o = fix_options(f);
    o.schema_rule = rule;
    o.must_exist = must_exist;
    struct store *s = NULL;
    struct err e;
    enum verdict v = store_open(&o, &s, &e);
    if (v == V_OK)
        store_close(s);
    return v;
}

static void newer_schema_is_refused(void **state) {
    struct fix *f = *state;
    x(f, "INSERT INTO schema_migrations VALUES (9999, 'from_the_future', 1)");
    const char *before = dump(f);
    assert_int_equal(open_with(f, SCHEMA_MIGRATE, false), V_FATAL);
    assert_int_equal(open_with(f, SCHEMA_REQUIRE, false), V_FATAL);
    assert_int_equal(open_with(f, SCHEMA_IGNORE, false), V_OK);
    assert_string_equal(dump(f), before);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM schema_migrations"), sql_n_migrations + 1);
}

static void older_schema_is_named(void **state) {
    struct fix *f = *state;
    assert_int_equal(open_with(f, SCHEMA_REQUIRE, true), V_OK);
    x(f, "DELETE FROM schema_migrations");
    assert_int_equal(open_with(f, SCHEMA_REQUIRE, true), V_NOT_FOUND);
}

static void nothing_there_is_not_found(void **state) {
    struct fix *f = *state;
    assert_int_equal(open_with(f, SCHEMA_REQUIRE, false), V_NOT_FOUND);
    assert_int_equal(open_with(f, SCHEMA_IGNORE, false), V_OK);
    if (fix_kind == DB_POSTGRES) {
        assert_q("", f, "SELECT nspname FROM pg_namespace WHERE nspname = '%s'", f->schema);
        return;
    }
    char path[400];
    snprintf(path, sizeof path, "%s/none.db", f->dir);
    struct store_options o = fix_options(f);
    char uri[420];
    snprintf(uri, sizeof uri, "sqlite:%s", path);
    o.uri = uri;
    o.must_exist = true;
    struct store *s;
    struct err e;
    assert_int_equal(store_open(&o, &s, &e), V_NOT_FOUND);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_failing_migration_leaves_nothing(void **state) {
    struct fix *f = *state;
    const struct migration broken[] = {
        {1, "good", {"CREATE TABLE first_one (a INTEGER)", "CREATE TABLE first_one (a INTEGER)"}},
        {2, "bad", {"CREATE TABLE second (; nonsense", "CREATE TABLE second (; nonsense"}},
    };
    struct store_options o = fix_options(f);
    o.schema_rule = SCHEMA_IGNORE;
    struct err e;
    assert_ok(store_open(&o, &f->all[f->n_stores++], &e));
    struct migrate_report r;
    if (fix_kind == DB_POSTGRES) /* the first of ours makes it */
        x(f,
          "CREATE SCHEMA \"%s\"; CREATE FUNCTION \"%s\".tain_now_ms() RETURNS bigint "
          "LANGUAGE sql AS 'SELECT 1::bigint'",
          f->schema, f->schema);
    assert_int_equal(db_migrate(f->all[0]->db, f->schema, broken, 2, &r, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "migration 2 (bad)"));
    int version = -1;
    assert_ok(db_schema_version(f->all[0]->db, &version, &e));
    assert_int_equal(version, 0);
    assert_q("0", f,
             fix_kind == DB_POSTGRES
                 ? "SELECT COUNT(*) FROM pg_class WHERE relname = 'first_one'"
                 : "SELECT COUNT(*) FROM sqlite_master WHERE name = 'first_one'");
}

int migrate_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_statement_prepares),
        CASE(twice_is_nothing),
        BARE_CASE(first_report_counts_from_nothing),
        BARE_CASE(many_at_once),
        CASE(newer_schema_is_refused),
        CASE(older_schema_is_named),
        BARE_CASE(nothing_there_is_not_found),
        BARE_CASE(a_failing_migration_leaves_nothing),
    };
    return cmocka_run_group_tests_name("migrate", tests, NULL, NULL);
}
