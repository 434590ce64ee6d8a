/* The two drivers: a table is made, rows are written in a transaction and read again. */
#include "scenarios.h"

#include "db/db.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 5
#define ALL_ROWS "1=one 2=- 3=three 4=- 5=five "

enum { PUT, PUT_ALL, GET };
static const char *const names[] = {"put", "put_all", "get"};
static const char *const lite[] = {
    "INSERT INTO t VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    "INSERT INTO t VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    "SELECT id, word FROM t WHERE id >= ?1 ORDER BY id",
};
static const char *const pg[] = {
    "INSERT INTO t VALUES ($1, $2) ON CONFLICT DO NOTHING",
    "INSERT INTO t SELECT * FROM unnest($1, $2) ON CONFLICT DO NOTHING",
    "SELECT id, word FROM t WHERE id >= $1 ORDER BY id",
};
static const struct db_catalog catalog = {3, names, {lite, pg}};

static char uri[400], schema[40];
static bool is_pg;

/* What is there, asked by another connection: -1 without a table. */
static int rows_there(void) {
    int n = -1;
    if (is_pg) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.t", schema);
        PGconn *c = PQconnectdb(uri);
        PGresult *r = PQexec(c, sql);
        n = PQresultStatus(r) == PGRES_TUPLES_OK ? atoi(PQgetvalue(r, 0, 0)) : -1;
        PQclear(r);
        PQfinish(c);
        return n;
    }
    sqlite3 *c = NULL;
    sqlite3_stmt *st = NULL;
    if (sqlite3_open(uri + strlen("sqlite:"), &c) == SQLITE_OK &&
        sqlite3_prepare_v2(c, "SELECT count(*) FROM t", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(c);
    return n;
}

static int rows_there_quietly(void) {
    nth_off();
    int n = rows_there();
    nth_on();
    return n;
}

static void tell_server(const char *sql) {
    nth_off();
    PGconn *c = PQconnectdb(uri);
    PQclear(PQexec(c, sql));
    PQfinish(c);
    nth_on();
}

static enum verdict take(void *ctx, const struct db_row *row) {
    struct str word = db_row_text(row, 1);
    strbuf_addf(ctx, "%d=%.*s ", (int)db_row_int(row, 0), word.p ? (int)word.n : 1,
                word.p ? word.p : "-");
    return V_OK;
}

static enum verdict write_rows(struct db *db, struct err *e) {
    static const int64_t ids[] = {3, 4, 5};
    static const struct str words[] = {{"three", 5}, {NULL, 0}, {"five", 4}};
    const struct db_col cols[] = {DB_INTS(ids), DB_TEXTS(words)};
    enum verdict v = db_begin(db, e);
    if (v == V_OK)
        v = db_run(db, PUT, DB_VALS(DBI(1), DBC("one")), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(db, PUT, DB_VALS(DBI(2), DBT(STR_NONE)), NULL, NULL, e);
    if (v == V_OK)
        v = db_each(db, PUT_ALL, cols, 2, 3, NULL, NULL, e);
    if (v == V_OK)
        v = db_commit(db, e);
    if (v != V_OK)
        db_rollback(db);
    return v;
}

static enum verdict read_rows(struct db *db, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf got;
    strbuf_init(&got, 1000);
    enum verdict v = db_run(db, GET, DB_VALS(DBI(1)), take, &got, e);
    nth_judge("db_run", v, e, v != V_OK || strcmp(got.p, ALL_ROWS) == 0);
    return v;
}

static enum verdict use_made(struct db *db, struct err *e) {
    int stmt;
    enum verdict v = db_add(db, "made", "SELECT 7", &stmt, e);
    if (v != V_OK)
        return v;
    int64_t seven = 0;
    v = db_check(db, stmt, e);
    if (v == V_OK)
        v = db_run_int(db, stmt, DB_NO_VALS, &seven, e);
    nth_judge("a made statement", v, e, seven == 7);
    db_drop(db, stmt);
    return v;
}

/* SQLite: one that fails for a row is no broken statement, and it is asked whether it is. */
static enum verdict use_refused(struct db *db, struct err *e) {
    int stmt;
    enum verdict v = db_add(db, "refused", "SELECT abs(-9223372036854775807 - 1)", &stmt, e);
    if (v != V_OK)
        return v;
    int64_t n = 0;
    bool fired = nth_fired();
    v = db_run_int(db, stmt, DB_NO_VALS, &n, e);
    nth_check(v == V_INVALID || (!fired && nth_fired() && v != V_OK), "%s: %s", verdict_name(v),
              e->msg);
    db_drop(db, stmt);
    return v == V_INVALID ? V_OK : v;
}

static enum verdict hear_bell(struct db *db, struct err *e) {
    bool rung = false;
    enum verdict v = db_listen(db, "nth_bell", e);
    if (v == V_OK)
        tell_server("NOTIFY nth_bell");
    for (int i = 0; v == V_OK && !rung && i < 1000; i++)
        v = db_wait_notice(db, -1, 1000, &rung, e);
    nth_judge("db_wait_notice", v, e, rung);
    return v;
}

static enum verdict all_of_it(struct db *db, struct err *e) {
    enum verdict v =
        db_script(db, "CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY, word TEXT)", e);
    if (!nth_judge("db_script", v, e, rows_there_quietly() >= 0))
        return v;
    v = write_rows(db, e);
    int there = rows_there_quietly();
    nth_judge("the transaction", v, e, there == ROWS);
    nth_check(there == 0 || there == ROWS, "half a transaction: %d rows", there);
    if (v == V_OK)
        v = read_rows(db, e);
    if (v == V_OK)
        v = use_made(db, e);
    if (v == V_OK)
        v = is_pg ? hear_bell(db, e) : use_refused(db, e);
    return v;
}

/* As a worker does: after V_RETRY it recovers and tries again, after another it begins anew. */
static void play(void) {
    struct err e = {0};
    struct db *db = NULL;
    enum verdict v = V_FATAL;
    const struct db_options o = {.uri = uri, .schema = schema, .catalog = &catalog};
    nth_on();
    for (int tries = 0; tries < 3 && v != V_OK; tries++) {
        bool recover = db && v == V_RETRY;
        if (!recover) {
            db_close(db);
            db = NULL;
        }
        v = recover ? db_recover(db, &e) : db_open(&o, &db, &e);
        if (nth_judge(recover ? "db_recover" : "db_open", v, &e, db))
            v = all_of_it(db, &e);
    }
    nth_off();
    nth_check(v == V_OK, "it does not heal: %s", e.msg);
    nth_check(rows_there() == ROWS, "%d rows in the end", rows_there());
    db_close(db);
}

void db_sqlite(void) {
    snprintf(uri, sizeof uri, "sqlite:%s/t.db", nth_folder());
    play();
}

void db_postgres(void) {
    is_pg = true;
    snprintf(uri, sizeof uri, "%s", getenv("TAIN_TEST_PG"));
    snprintf(schema, sizeof schema, "nth_%d", (int)getpid());
    char sql[100];
    snprintf(sql, sizeof sql, "CREATE SCHEMA %s", schema);
    tell_server(sql);
    play();
    snprintf(sql, sizeof sql, "DROP SCHEMA %s CASCADE", schema);
    tell_server(sql);
    nth_off();
}
