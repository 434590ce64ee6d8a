#include "rows.h"

#include "db/db_int.h"

#include <sqlite3.h>
#include <string.h>

static const struct row {
    const char *name;
    int code;
    enum verdict v;
} rows[] = {
    {"OK", SQLITE_OK, V_OK},
    {"BUSY", SQLITE_BUSY, V_RETRY},
    {"BUSY_SNAPSHOT", SQLITE_BUSY_SNAPSHOT, V_RETRY},
    {"BUSY_RECOVERY", SQLITE_BUSY_RECOVERY, V_RETRY},
    {"LOCKED", SQLITE_LOCKED, V_RETRY},
    {"LOCKED_SHAREDCACHE", SQLITE_LOCKED_SHAREDCACHE, V_RETRY},
    {"PROTOCOL", SQLITE_PROTOCOL, V_RETRY},
    {"SCHEMA", SQLITE_SCHEMA, V_RETRY},
    {"INTERRUPT", SQLITE_INTERRUPT, V_STOPPED},
    {"CONSTRAINT", SQLITE_CONSTRAINT, V_CONFLICT},
    {"CONSTRAINT_PRIMARYKEY", SQLITE_CONSTRAINT_PRIMARYKEY, V_CONFLICT},
    {"CONSTRAINT_CHECK", SQLITE_CONSTRAINT_CHECK, V_CONFLICT},
    {"TOOBIG", SQLITE_TOOBIG, V_LIMIT},
    {"FULL", SQLITE_FULL, V_FATAL},
    {"ERROR", SQLITE_ERROR, V_FATAL},
    {"CORRUPT", SQLITE_CORRUPT, V_FATAL},
    {"NOTADB", SQLITE_NOTADB, V_FATAL},
    {"IOERR", SQLITE_IOERR, V_FATAL},
    {"IOERR_FSYNC", SQLITE_IOERR_FSYNC, V_FATAL},
    {"CANTOPEN", SQLITE_CANTOPEN, V_FATAL},
    {"READONLY", SQLITE_READONLY, V_FATAL},
    {"READONLY_DBMOVED", SQLITE_READONLY_DBMOVED, V_FATAL},
    {"PERM", SQLITE_PERM, V_FATAL},
    {"AUTH", SQLITE_AUTH, V_FATAL},
    {"MISUSE", SQLITE_MISUSE, V_FATAL},
    {"NOMEM", SQLITE_NOMEM, V_FATAL},
    {"RANGE", SQLITE_RANGE, V_FATAL},
    {"a code of the future", 77, V_FATAL},
};

static void check(void **state) {
    const struct row *r = *state;
    assert_string_equal(verdict_name(sqlite_verdict(r->code)), verdict_name(r->v));
    const struct err e = {.domain = "sqlite", .code = r->code}, other = {.domain = "http"};
    assert_int_equal(db_is_read_only(&e), strcmp(r->name, "READONLY") == 0);
    assert_false(db_is_read_only(&other));
}

int main(void) {
    return RUN_ROWS("sqlite_verdict", rows, check);
}
