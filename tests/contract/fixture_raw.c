#include "fixture_raw.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

struct raw {
    enum db_kind kind;
    sqlite3 *lite;
    PGconn *pg;
};

struct raw *raw_open(enum db_kind kind, const char *uri, const char *schema) {
    struct raw *r = xcalloc(1, sizeof *r);
    r->kind = kind;
    if (kind == DB_SQLITE) {
        sqlite3_open(uri + strlen("sqlite:"), &r->lite);
        sqlite3_busy_timeout(r->lite, 10000);
        return r;
    }
    char sql[200];
    r->pg = PQconnectdb(uri);
    snprintf(sql, sizeof sql, "SET client_min_messages TO error; SET search_path TO \"%s\"",
             schema);
    PQclear(PQexec(r->pg, sql));
    return r;
}

void raw_close(struct raw *r) {
    if (!r)
        return;
    sqlite3_close(r->lite);
    PQfinish(r->pg);
    free_ptr(&r);
}

const char *raw_error(struct raw *r) {
    return r->kind == DB_SQLITE ? sqlite3_errmsg(r->lite) : PQerrorMessage(r->pg);
}

static void add_value(struct strbuf *out, int col, const char *text, bool truth) {
    if (col > 0)
        strbuf_addc(out, '|');
    if (!text)
        text = "-";
    else if (truth)
        text = *text == 't' ? "1" : "0";
    strbuf_adds(out, text);
}

static bool run_lite(struct raw *r, const char *sql, struct strbuf *out) {
    while (sql && *sql) {
        sqlite3_stmt *st;
        if (sqlite3_prepare_v2(r->lite, sql, -1, &st, &sql) != SQLITE_OK)
            return false;
        int rc;
        while ((rc = sqlite3_step(st)) == SQLITE_ROW && out) {
            if (out->n)
                strbuf_addc(out, ' ');
            for (int c = 0; c < sqlite3_column_count(st); c++)
                add_value(out, c, (const char *)sqlite3_column_text(st, c), false);
        }
        sqlite3_finalize(st);
        if (rc != SQLITE_DONE && rc != SQLITE_ROW && rc != SQLITE_OK)
            return false;
    }
    return true;
}

static bool run_pg(struct raw *r, const char *sql, struct strbuf *out) {
    PGresult *res = PQexec(r->pg, sql);
    ExecStatusType status = PQresultStatus(res);
    for (int i = 0; out && i < PQntuples(res); i++) {
        if (out->n)
            strbuf_addc(out, ' ');
        for (int c = 0; c < PQnfields(res); c++)
            add_value(out, c, PQgetisnull(res, i, c) ? NULL : PQgetvalue(res, i, c),
                      PQftype(res, c) == 16);
    }
    PQclear(res);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

bool raw_run(struct raw *r, const char *sql, struct strbuf *out) {
    return r->kind == DB_SQLITE ? run_lite(r, sql, out) : run_pg(r, sql, out);
}
