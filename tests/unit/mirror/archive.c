#include "archive.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void archive_open(struct archive *a) {
    struct err e;
    char uri[100];
    strcpy(a->dir, "/tmp/tain-mirror-XXXXXX");
    assert_non_null(mkdtemp(a->dir));
    snprintf(uri, sizeof uri, "sqlite:%s/t.db", a->dir);
    clock_manual_init(&a->clock, 1000000, T0);
    const struct store_options o = {
        .uri = uri, .clock = &a->clock, .schema_rule = SCHEMA_MIGRATE, .revisions = REVISIONS_NONE};
    assert_ok(store_open(&o, &a->s, &e));
    assert_int_equal(sqlite3_open(uri + strlen("sqlite:"), &a->raw), SQLITE_OK);
}

void archive_close(struct archive *a) {
    static const char *const files[] = {"t.db", "t.db-wal", "t.db-shm"};
    store_close(a->s);
    sqlite3_close(a->raw);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[100];
        snprintf(path, sizeof path, "%s/%s", a->dir, files[i]);
        unlink(path);
    }
    rmdir(a->dir);
}

PRINTF_LIKE(2, 0)
static void ask(struct archive *a, const char *fmt, va_list ap) {
    char sql[1024];
    vsnprintf(sql, sizeof sql, fmt, ap);
    sqlite3_stmt *st;
    struct strbuf out;
    strbuf_init(&out, sizeof a->answer - 1);
    if (sqlite3_prepare_v2(a->raw, sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(a->raw));
    while (sqlite3_step(st) == SQLITE_ROW)
        for (int c = 0; c < sqlite3_column_count(st); c++) {
            const char *text = (const char *)sqlite3_column_text(st, c);
            strbuf_addf(&out, "%s%s", c ? "|" : out.n ? " " : "", text ? text : "-");
        }
    sqlite3_finalize(st);
    snprintf(a->answer, sizeof a->answer, "%s", out.p ? out.p : "");
    strbuf_release(&out);
}

const char *archive_ask(struct archive *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ask(a, fmt, ap);
    va_end(ap);
    return a->answer;
}

int64_t archive_int(struct archive *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ask(a, fmt, ap);
    va_end(ap);
    int64_t v;
    if (!str_to_i64(str_of(a->answer), &v))
        fail_msg("%s gave '%s', not a number", fmt, a->answer);
    return v;
}
