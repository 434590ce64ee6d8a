/* The schema: every statement fits it, and migrations happen once, whoever starts them. */
#include "fixture.h"

#include "db/db_int.h"
#include "store/health.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void every_statement_prepares(void **state) {
    struct fix *f = *state;
    struct err e;
    assert_true(sql_catalog.n == SQL_N && SQL_N > 40);
    for (int i = 0; i < sql_catalog.n; i++)
        if (db_check(f->s->db, i, &e) != V_OK)
            fail_msg("%s: %s", sql_catalog.names[i], e.msg);
}

static void nothing_is_missing(void **state) {
    struct fix *f = *state;
    struct err e;
    struct schema_damage d;
    size_t n = 0;
    while (sql_indexes[fix_kind][n])
        n++;
    assert_in_range(n, 5, 200); /* as many as are looked at */
    assert_ok(store_check_schema(f->s, &d, &e));
    if (d.n)
        fail_msg("%zu damages, the first is: %s", d.n, d.what[0]);
}

/* Each in an archive of its own: what was taken away is named. */
static void check_loss(struct fix *f, const char *sql, const char *words, bool breaks) {
    struct err e;
    struct schema_damage d;
    x(f, "%s", sql);
    assert_ok(store_check_schema(fix_open(f), &d, &e));
    assert_in_range(d.n, 1, breaks ? DAMAGES_MAX : 1); /* it is told in a few different words */
    if (!strstr(d.what[0], words))
        fail_msg("'%s' is not in: %s", words, d.what[0]);
    assert_int_equal(d.n_broken > 0, breaks);
}

static void a_lost_table(void **state) {
    check_loss(*state, "DROP TABLE kids", "kids", true);
}

static void a_lost_column(void **state) {
    check_loss(*state, "ALTER TABLE imports DROP COLUMN mark", "mark", true);
}

static void a_lost_index(void **state) {
    check_loss(*state, "DROP INDEX items_orphans", "no such index: items_orphans", false);
}

static void a_lost_constraint(void **state) {
    if (fix_kind == DB_POSTGRES) /* SQLite cannot drop one */
        check_loss(*state,
                   "ALTER TABLE ingest_segments DROP CONSTRAINT mirror_segments_never_overlap",
                   "mirror_segments_never_overlap", false);
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
        CASE(nothing_is_missing),
        CASE(a_lost_table),
        CASE(a_lost_column),
        CASE(a_lost_index),
        CASE(a_lost_constraint),
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
