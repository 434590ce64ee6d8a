#include "db/db_int.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_WAIT_MS 10000
#define SETUP_PAUSE_MS 20

struct sqlite_db {
    struct db head;
    sqlite3 *handle;
    sqlite3_stmt **prepared;
    const struct clock *clock;
};

static struct sqlite_db *self_of(struct db *db) {
    return (struct sqlite_db *)db;
}

static enum verdict failed(struct sqlite_db *s, struct err *e) {
    int code = sqlite3_extended_errcode(s->handle), primary = code & 0xff;
    int system = sqlite3_system_errno(s->handle);
    bool from_system =
        system && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL);
    return err_set(e, sqlite_verdict(code), "sqlite", code, "%s%s%s", sqlite3_errmsg(s->handle),
                   from_system ? ": " : "", from_system ? strerror(system) : "");
}

static void sqlite_close(struct db *db) {
    struct sqlite_db *s = self_of(db);
    for (size_t i = 0; i < db_numbers(db->catalog); i++)
        sqlite3_finalize(s->prepared[i]);
    free(s->prepared);
    sqlite3_close(s->handle);
    free(s);
}

static enum verdict sqlite_script(struct db *db, const char *sql, struct err *e) {
    struct sqlite_db *s = self_of(db);
    return sqlite3_exec(s->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? V_OK : failed(s, e);
}

static enum verdict sqlite_ask_int(struct db *db, const char *sql, int64_t *ret, struct err *e) {
    struct sqlite_db *s = self_of(db);
    sqlite3_stmt *st = NULL;
    enum verdict v = V_OK;
    if (sqlite3_prepare_v2(s->handle, sql, -1, &st, NULL) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_ROW)
        v = failed(s, e);
    else
        *ret = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return v;
}

static enum verdict prepare(struct sqlite_db *s, int stmt, sqlite3_stmt **ret, struct err *e) {
    if (!s->prepared[stmt] &&
        sqlite3_prepare_v3(s->handle, db_text(&s->head, stmt), -1, SQLITE_PREPARE_PERSISTENT,
                           &s->prepared[stmt], NULL) != SQLITE_OK)
        return failed(s, e);
    *ret = s->prepared[stmt];
    return V_OK;
}

static enum verdict sqlite_check(struct db *db, int stmt, struct err *e) {
    sqlite3_stmt *st;
    return prepare(self_of(db), stmt, &st, e);
}

static void sqlite_forget(struct db *db, int stmt) {
    struct sqlite_db *s = self_of(db);
    sqlite3_finalize(s->prepared[stmt]);
    s->prepared[stmt] = NULL;
}

static int bind_int(sqlite3_stmt *st, int at, int64_t v) {
    return v == DB_NULL ? sqlite3_bind_null(st, at) : sqlite3_bind_int64(st, at, v);
}

static int bind_text(sqlite3_stmt *st, int at, struct str s) {
    return s.p ? sqlite3_bind_text64(st, at, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8)
               : sqlite3_bind_null(st, at);
}

/* Runs a bound statement to its end and makes it ready for the next use. */
static enum verdict step_all(struct sqlite_db *s, sqlite3_stmt *st, db_row_fn *fn, void *ctx,
                             struct err *e) {
    bool torn = false;
    struct db_row row = {.driver = s->head.driver, .answer = st, .torn = &torn};
    enum verdict v = V_OK;
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW && v == V_OK && !torn)
        if (fn)
            v = fn(ctx, &row);
    if (torn)
        v = err_set(e, sqlite_verdict(SQLITE_NOMEM), "sqlite", SQLITE_NOMEM, "out of memory");
    else if (v != V_OK)
        err_set(e, v, "sqlite", 0, "the answer has a row that makes no sense");
    else if (rc != SQLITE_DONE)
        v = failed(s, e);
    sqlite3_reset(st);
    return v;
}

/* A statement over tables of the user's that can still be made has failed for a row: a function of
 * its filter, say, did not take a value. What is wrong with the statement itself stays wrong. */
static enum verdict of_row(struct sqlite_db *s, int stmt, enum verdict v) {
    sqlite3_stmt *again = NULL;
    if (v != V_FATAL || stmt < s->head.catalog->n ||
        (sqlite3_errcode(s->handle) & 0xff) != SQLITE_ERROR)
        return v;
    int rc = sqlite3_prepare_v2(s->handle, db_text(&s->head, stmt), -1, &again, NULL);
    sqlite3_finalize(again);
    return rc == SQLITE_OK ? V_INVALID : v;
}

/* Rows that the last statement touched itself; not those that triggers of it did. The library
 * remembers those of an earlier statement when this one touched none. */
static int64_t touched(struct sqlite_db *s, int64_t total_before) {
    return sqlite3_total_changes64(s->handle) == total_before ? 0 : sqlite3_changes64(s->handle);
}

static enum verdict sqlite_run(struct db *db, int stmt, const struct db_val *vals, size_t n,
                               db_row_fn *fn, void *ctx, struct err *e) {
    struct sqlite_db *s = self_of(db);
    sqlite3_stmt *st = NULL;
    enum verdict v = prepare(s, stmt, &st, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < n; i++) {
        int at = (int)i + 1;
        int rc =
            vals[i].type == DB_INT ? bind_int(st, at, vals[i].i) : bind_text(st, at, vals[i].s);
        if (rc != SQLITE_OK)
            return failed(s, e);
    }
    int64_t before = sqlite3_total_changes64(s->handle);
    v = of_row(s, stmt, step_all(s, st, fn, ctx, e));
    db->changes = touched(s, before);
    return v;
}

static enum verdict sqlite_each(struct db *db, int stmt, const struct db_col *cols, size_t n_cols,
                                size_t n_rows, db_row_fn *fn, void *ctx, struct err *e) {
    struct sqlite_db *s = self_of(db);
    sqlite3_stmt *st = NULL;
    enum verdict v = prepare(s, stmt, &st, e);
    for (size_t r = 0; r < n_rows && v == V_OK; r++) {
        for (size_t c = 0; c < n_cols; c++) {
            int rc = cols[c].type == DB_INT ? bind_int(st, (int)c + 1, cols[c].ints[r])
                                            : bind_text(st, (int)c + 1, cols[c].texts[r]);
            if (rc != SQLITE_OK)
                return failed(s, e);
        }
        int64_t before = sqlite3_total_changes64(s->handle);
        v = of_row(s, stmt, step_all(s, st, fn, ctx, e));
        db->changes += touched(s, before);
    }
    return v;
}

static enum verdict sqlite_recover(struct db *db, struct err *e UNUSED) {
    struct sqlite_db *s = self_of(db);
    if (!sqlite3_get_autocommit(s->handle))
        sqlite3_exec(s->handle, "ROLLBACK", NULL, NULL, NULL);
    return V_OK;
}

static int64_t sqlite_row_int(const struct db_row *row, int col) {
    sqlite3_stmt *st = row->answer;
    return sqlite3_column_type(st, col) == SQLITE_NULL ? DB_NULL : sqlite3_column_int64(st, col);
}

static struct str sqlite_row_text(const struct db_row *row, int col) {
    sqlite3_stmt *st = row->answer;
    const char *p = (const char *)sqlite3_column_text(st, col);
    if (!p && sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM)
        *row->torn = true; /* it looks like a NULL, and is none */
    return (struct str){p, p ? (size_t)sqlite3_column_bytes(st, col) : 0};
}

static const struct db_driver driver = {
    .close = sqlite_close,
    .script = sqlite_script,
    .ask_int = sqlite_ask_int,
    .run = sqlite_run,
    .each = sqlite_each,
    .check = sqlite_check,
    .forget = sqlite_forget,
    .recover = sqlite_recover,
    .row_int = sqlite_row_int,
    .row_text = sqlite_row_text,
    .begin = "BEGIN IMMEDIATE",
    .begin_read = "BEGIN",
};

static void fn_now_ms(sqlite3_context *ctx, int n UNUSED, sqlite3_value **args UNUSED) {
    sqlite3_result_int64(ctx, clock_real(sqlite3_user_data(ctx)));
}

/* WAL with a sync per commit: what was said to be stored survives a power cut. The WAL may grow to
 * 32 MiB before it is copied back, so that hot pages are written once and not eight times. */
static const char settings[] = "PRAGMA page_size=8192;" /* of a new file; a tenth less work */
                               "PRAGMA journal_mode=WAL;"
                               "PRAGMA synchronous=FULL;"
                               "PRAGMA wal_autocheckpoint=4000;"
                               "PRAGMA journal_size_limit=67108864;"
                               "PRAGMA cache_size=-12000;"
                               "PRAGMA temp_store=MEMORY;"
                               "PRAGMA foreign_keys=ON;";

/* Two that make a new file a WAL one at once would wait for each other for ever, so the library
 * does not wait at all: whoever loses tries again. */
static enum verdict set_up(struct sqlite_db *s, struct err *e) {
    enum verdict v = sqlite_script(&s->head, settings, e);
    for (int waited = 0; v == V_RETRY && waited < BUSY_WAIT_MS; waited += SETUP_PAUSE_MS) {
        poll(NULL, 0, SETUP_PAUSE_MS);
        v = sqlite_script(&s->head, settings, e);
    }
    return v;
}

static enum verdict configure(struct sqlite_db *s, const struct db_options *o, struct err *e) {
    sqlite3_busy_timeout(s->handle, BUSY_WAIT_MS);
    sqlite3_extended_result_codes(s->handle, 1);
    s->clock = o->clock ? o->clock : &clock_machine;
    if (sqlite3_create_function(s->handle, "tain_now_ms", 0, SQLITE_UTF8, (void *)s->clock,
                                fn_now_ms, NULL, NULL) != SQLITE_OK)
        return failed(s, e);
    return set_up(s, e);
}

/* Nobody reads the library's count of its memory, for which each allocation of every thread would
 * wait at one lock. Only before its first use can it be told. */
static void tell_library(void) {
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* The library would make it readable for everyone. Links, and tables of one's own, are nobody
 * else's business; the files beside it get the same mode. What cannot be made here the library will
 * tell of. Not by open(): to close a descriptor would drop the locks that another thread may have.
 */
static void make_private(const char *path) {
    if (*path && *path != ':')
        (void)mknod(path, S_IFREG | 0640, 0);
}

enum verdict sqlite_open(const struct db_options *o, const char *path, struct db **ret,
                         struct err *e) {
    static pthread_once_t told = PTHREAD_ONCE_INIT;
    pthread_once(&told, tell_library);
    struct sqlite_db *s = xcalloc(1, sizeof *s);
    s->head = (struct db){.driver = &driver, .kind = DB_SQLITE, .catalog = o->catalog};
    s->prepared = xcalloc(db_numbers(o->catalog), sizeof(sqlite3_stmt *));
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (o->must_exist ? 0 : SQLITE_OPEN_CREATE);
    enum verdict v = V_OK;
    if (!o->must_exist)
        make_private(path);
    if (sqlite3_open_v2(path, &s->handle, flags, NULL) != SQLITE_OK)
        v = failed(s, e);
    /* The library would blame the files beside it, which a read-only place cannot hold. */
    if (v == V_OK && access(path, W_OK) != 0 && errno != ENOENT)
        v = err_set(e, V_FATAL, "sqlite", errno, "it cannot be written: %s", strerror(errno));
    if (v == V_OK)
        v = configure(s, o, e);
    if (v != V_OK) {
        sqlite_close(&s->head);
        return err_wrap(e, v == V_RETRY ? V_RETRY : V_FATAL, "cannot open %s", path);
    }
    *ret = &s->head;
    return V_OK;
}
