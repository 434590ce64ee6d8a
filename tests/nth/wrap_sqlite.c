/* SQLite's calls, failing as the library does: the code, and what the connection says of it until
 * the next call. */
#include "nth.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

static _Thread_local struct {
    sqlite3 *db;
    int code;
} last; /* what was made to fail; 0: nothing */

static int code_of(void) {
    switch (nth_kind()) {
    case SQL_FULL:
        return SQLITE_FULL;
    case SQL_IOERR:
        return SQLITE_IOERR_WRITE;
    case SQL_BUSY:
        return SQLITE_BUSY;
    case SQL_CORRUPT:
        return SQLITE_CORRUPT;
    default:
        return SQLITE_NOMEM;
    }
}

int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*fn)(void *, int, char **, char **),
                        void *arg, char **message);

static int fail(sqlite3 *db) {
    last.db = db;
    last.code = code_of();
    if ((last.code == SQLITE_FULL || last.code == SQLITE_IOERR_WRITE) && db &&
        !sqlite3_get_autocommit(db))
        __real_sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return last.code;
}

static void forget(void) {
    last.code = 0;
}

WRAP(int, sqlite3_open_v2, const char *path, sqlite3 **ret, int flags, const char *vfs) {
    forget();
    if (HIT(SQL_NOMEM | SQL_IOERR, sqlite3_open_v2)) {
        *ret = NULL;
        if (nth_kind() == SQL_NOMEM)
            return SQLITE_NOMEM; /* no handle at all */
        int rc = __real_sqlite3_open_v2(path, ret, flags, vfs);
        return rc == SQLITE_OK ? fail(*ret) : rc;
    }
    return __real_sqlite3_open_v2(path, ret, flags, vfs);
}

WRAP(int, sqlite3_exec, sqlite3 *db, const char *sql, int (*fn)(void *, int, char **, char **),
     void *arg, char **message) {
    forget();
    return HIT(SQL_ALL, sqlite3_exec) ? fail(db) : __real_sqlite3_exec(db, sql, fn, arg, message);
}

WRAP(int, sqlite3_prepare_v2, sqlite3 *db, const char *sql, int n, sqlite3_stmt **ret,
     const char **tail) {
    forget();
    *ret = NULL;
    return HIT(SQL_NOMEM | SQL_IOERR | SQL_BUSY | SQL_CORRUPT, sqlite3_prepare_v2)
               ? fail(db)
               : __real_sqlite3_prepare_v2(db, sql, n, ret, tail);
}

WRAP(int, sqlite3_prepare_v3, sqlite3 *db, const char *sql, int n, unsigned flags,
     sqlite3_stmt **ret, const char **tail) {
    forget();
    *ret = NULL;
    return HIT(SQL_NOMEM | SQL_IOERR | SQL_BUSY | SQL_CORRUPT, sqlite3_prepare_v3)
               ? fail(db)
               : __real_sqlite3_prepare_v3(db, sql, n, flags, ret, tail);
}

WRAP(int, sqlite3_step, sqlite3_stmt *st) {
    forget();
    return HIT(SQL_ALL, sqlite3_step) ? fail(sqlite3_db_handle(st)) : __real_sqlite3_step(st);
}

WRAP(int, sqlite3_bind_int64, sqlite3_stmt *st, int at, sqlite3_int64 v) {
    forget();
    return HIT(SQL_NOMEM, sqlite3_bind_int64) ? fail(sqlite3_db_handle(st))
                                              : __real_sqlite3_bind_int64(st, at, v);
}

WRAP(int, sqlite3_bind_null, sqlite3_stmt *st, int at) {
    forget();
    return HIT(SQL_NOMEM, sqlite3_bind_null) ? fail(sqlite3_db_handle(st))
                                             : __real_sqlite3_bind_null(st, at);
}

WRAP(int, sqlite3_bind_text64, sqlite3_stmt *st, int at, const char *p, sqlite3_uint64 n,
     void (*done)(void *), unsigned char encoding) {
    forget();
    return HIT(SQL_NOMEM, sqlite3_bind_text64)
               ? fail(sqlite3_db_handle(st))
               : __real_sqlite3_bind_text64(st, at, p, n, done, encoding);
}

WRAP(const unsigned char *, sqlite3_column_text, sqlite3_stmt *st, int col) {
    forget();
    if (!HIT(SQL_NOMEM, sqlite3_column_text))
        return __real_sqlite3_column_text(st, col);
    fail(sqlite3_db_handle(st));
    return NULL;
}

WRAP(int, sqlite3_create_function, sqlite3 *db, const char *name, int n, int form, void *arg,
     void (*fn)(sqlite3_context *, int, sqlite3_value **),
     void (*step)(sqlite3_context *, int, sqlite3_value **), void (*final)(sqlite3_context *)) {
    forget();
    return HIT(SQL_NOMEM | SQL_BUSY, sqlite3_create_function)
               ? fail(db)
               : __real_sqlite3_create_function(db, name, n, form, arg, fn, step, final);
}

/* What is said of the last failure. */

WRAP(int, sqlite3_extended_errcode, sqlite3 *db) {
    return last.code && last.db == db ? last.code : __real_sqlite3_extended_errcode(db);
}

WRAP(int, sqlite3_errcode, sqlite3 *db) {
    return last.code && last.db == db ? last.code : __real_sqlite3_errcode(db);
}

WRAP(const char *, sqlite3_errmsg, sqlite3 *db) {
    return last.code && last.db == db ? sqlite3_errstr(last.code) : __real_sqlite3_errmsg(db);
}

WRAP(int, sqlite3_system_errno, sqlite3 *db) {
    if (!last.code || last.db != db)
        return __real_sqlite3_system_errno(db);
    return last.code == SQLITE_FULL ? ENOSPC : last.code == SQLITE_IOERR_WRITE ? EIO : 0;
}
