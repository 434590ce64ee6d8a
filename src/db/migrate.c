#include "db/migrate.h"

#include "db/db_int.h"

#include <stdio.h>

static const char *const table_exists[] = {
    [DB_SQLITE] = "SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'",
    [DB_POSTGRES] = "SELECT (to_regclass('schema_migrations') IS NOT NULL)::int",
};

enum verdict db_schema_version(struct db *db, int *ret, struct err *e) {
    int64_t exists, version = 0;
    enum verdict v = db->driver->ask_int(db, table_exists[db->kind], &exists, e);
    if (v == V_OK && exists)
        v = db->driver->ask_int(db, "SELECT COALESCE(MAX(version), 0) FROM schema_migrations",
                                &version, e);
    *ret = (int)version;
    return v;
}

/* One updater of the schema at a time. SQLite's BEGIN IMMEDIATE is such a lock already. */
static enum verdict lock_and_prepare(struct db *db, const char *schema, struct err *e) {
    char sql[512] = "";
    int n = 0;
    if (db->kind == DB_POSTGRES)
        n = snprintf(sql, sizeof sql,
                     "SET LOCAL lock_timeout TO 0; SET LOCAL statement_timeout TO 0;"
                     "SELECT pg_advisory_xact_lock(7496942);"
                     /* IF NOT EXISTS asks for the right to create one all the same */
                     "DO $$ BEGIN IF to_regnamespace('\"%s\"') IS NULL THEN"
                     " CREATE SCHEMA \"%s\"; END IF; END $$;",
                     schema, schema);
    snprintf(sql + n, sizeof sql - (size_t)n,
             "CREATE TABLE IF NOT EXISTS schema_migrations"
             " (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
    return db_script(db, sql, e);
}

static enum verdict apply_one(struct db *db, const struct migration *m, struct err *e) {
    enum verdict v = db_script(db, m->sql[db->kind], e);
    if (v != V_OK)
        return err_wrap(e, v, "migration %d (%s)", m->version, m->name);
    char sql[256];
    snprintf(sql, sizeof sql, "INSERT INTO schema_migrations VALUES (%d, '%s', tain_now_ms())",
             m->version, m->name);
    return db_script(db, sql, e);
}

static enum verdict apply_missing(struct db *db, const char *schema, const struct migration *all,
                                  size_t n, struct migrate_report *ret, struct err *e) {
    enum verdict v = lock_and_prepare(db, schema, e);
    if (v == V_OK)
        v = db_schema_version(db, &ret->before, e);
    ret->after = ret->before;
    if (v == V_OK && ret->before > (int)n)
        v = err_set(e, V_FATAL, "schema", ret->before,
                    "the database has schema version %d, this tain knows %zu: use a newer tain",
                    ret->before, n);
    for (size_t i = 0; i < n && v == V_OK; i++) {
        if (all[i].version <= ret->before)
            continue;
        v = apply_one(db, &all[i], e);
        ret->after = all[i].version;
    }
    return v;
}

enum verdict db_migrate(struct db *db, const char *schema, const struct migration *all, size_t n,
                        struct migrate_report *ret, struct err *e) {
    enum verdict v = db_schema_version(db, &ret->before, e);
    ret->after = ret->before;
    if (v != V_OK || ret->before == (int)n)
        return v;
    v = db_begin(db, e);
    if (v == V_OK)
        v = apply_missing(db, schema, all, n, ret, e);
    if (v == V_OK)
        v = db_commit(db, e);
    if (v != V_OK)
        db_rollback(db);
    return v;
}
