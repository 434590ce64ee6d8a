#include "db/db.h"

#include "base/fault.h"
#include "db/db_int.h"

#include <stdlib.h>
#include <string.h>

enum verdict db_open(const struct db_options *o, struct db **ret, struct err *e) {
    if (strncmp(o->uri, "sqlite:", 7) == 0 && o->uri[7])
        return sqlite_open(o, o->uri + 7, ret, e);
    if (strncmp(o->uri, "postgres://", 11) == 0 || strncmp(o->uri, "postgresql://", 13) == 0)
        return pg_open(o, ret, e);
    return err_set(e, V_INVALID, "config", 0,
                   "the database must be sqlite:PATH or postgres://..., not '%.40s'", o->uri);
}

void db_close(struct db *db) {
    if (!db)
        return;
    struct db_made *made = db->made;
    db->driver->close(db);
    for (size_t i = 0; made && i < DB_MADE_MAX; i++) {
        free(made[i].name);
        free(made[i].sql);
    }
    free(made);
}

enum db_kind db_kind(const struct db *db) {
    return db->kind;
}

const char *db_text(const struct db *db, int stmt) {
    int n = db->catalog->n;
    return stmt < n ? db->catalog->sql[db->kind][stmt] : db->made[stmt - n].sql;
}

static const char *name_of(const struct db *db, int stmt) {
    int n = db->catalog->n;
    return stmt < n ? db->catalog->names[stmt] : db->made[stmt - n].name;
}

enum verdict db_add(struct db *db, const char *name, const char *sql, int *ret_stmt,
                    struct err *e) {
    if (!db->made)
        db->made = xcalloc(DB_MADE_MAX, sizeof *db->made);
    int i = 0;
    while (i < DB_MADE_MAX && db->made[i].sql)
        i++;
    if (i == DB_MADE_MAX)
        return err_set(e, V_LIMIT, "db", 0, "more than %d statements", DB_MADE_MAX);
    db->made[i] = (struct db_made){.name = xstrdup(name), .sql = xstrdup(sql)};
    *ret_stmt = db->catalog->n + i;
    return V_OK;
}

void db_drop(struct db *db, int stmt) {
    struct db_made *m = &db->made[stmt - db->catalog->n];
    db->driver->forget(db, stmt);
    free(m->name);
    free(m->sql);
    *m = (struct db_made){0};
}

static enum verdict begin(struct db *db, const char *sql, struct err *e) {
    enum verdict v = db->driver->script(db, sql, e);
    db->in_transaction = v == V_OK;
    return v;
}

enum verdict db_begin(struct db *db, struct err *e) {
    return begin(db, db->driver->begin, e);
}

enum verdict db_begin_read(struct db *db, struct err *e) {
    return begin(db, db->driver->begin_read, e);
}

enum verdict db_commit(struct db *db, struct err *e) {
    if (fault_hit("db_before_commit"))
        return err_set(e, V_RETRY, "fault", 0, "injected failure before commit");
    enum verdict v = db->driver->script(db, "COMMIT", e);
    if (v == V_OK) {
        db->in_transaction = false;
        fault_hit("db_after_commit");
    }
    return v;
}

void db_rollback(struct db *db) {
    if (!db->in_transaction)
        return;
    db->in_transaction = false;
    if (db->driver->script(db, "ROLLBACK", NULL) != V_OK) {
        /* the connection is gone, and the transaction with it */
    }
}

enum verdict db_run(struct db *db, int stmt, const struct db_val *vals, size_t n, db_row_fn *fn,
                    void *ctx, struct err *e) {
    enum verdict v = db->driver->run(db, stmt, vals, n, fn, ctx, e);
    return v == V_OK || v == V_STOPPED ? v : err_wrap(e, v, "%s", name_of(db, stmt));
}

static enum verdict take_int(void *ctx, const struct db_row *row) {
    int64_t *first = ctx;
    if (first[1] == 0)
        first[0] = db_row_int(row, 0);
    first[1]++;
    return V_OK;
}

enum verdict db_run_int(struct db *db, int stmt, const struct db_val *vals, size_t n, int64_t *ret,
                        struct err *e) {
    int64_t value_and_rows[2] = {0, 0};
    enum verdict v = db_run(db, stmt, vals, n, take_int, value_and_rows, e);
    if (v != V_OK)
        return v;
    if (value_and_rows[1] == 0)
        return err_set(e, V_NOT_FOUND, "db", 0, "%s: no row", name_of(db, stmt));
    *ret = value_and_rows[0];
    return V_OK;
}

enum verdict db_each(struct db *db, int stmt, const struct db_col *cols, size_t n_cols,
                     size_t n_rows, db_row_fn *fn, void *ctx, struct err *e) {
    db->changes = 0;
    if (n_rows == 0)
        return V_OK;
    enum verdict v = db->driver->each(db, stmt, cols, n_cols, n_rows, fn, ctx, e);
    return v == V_OK || v == V_STOPPED ? v : err_wrap(e, v, "%s", name_of(db, stmt));
}

enum verdict db_check(struct db *db, int stmt, struct err *e) {
    return db->driver->check(db, stmt, e);
}

int64_t db_changes(const struct db *db) {
    return db->changes;
}

bool db_is_read_only(const struct err *e) {
    if (!e->domain)
        return false;
    return strcmp(e->domain, "sqlite") == 0     ? sqlite_is_read_only(e->code)
           : strcmp(e->domain, "postgres") == 0 ? pg_is_read_only(e->code)
                                                : false;
}

bool db_is_duplicate(const struct err *e, const char *table) {
    return e->domain && strcmp(e->domain, "postgres") == 0 &&
           pg_is_duplicate(e->code, e->msg, table);
}

bool db_is_refused(const struct err *e, const char *check) {
    return e->domain && strcmp(e->domain, "postgres") == 0 && pg_is_refused(e->code, e->msg, check);
}

enum verdict db_script(struct db *db, const char *sql, struct err *e) {
    return db->driver->script(db, sql, e);
}

static enum verdict no_doorbell(struct err *e) {
    return err_set(e, V_INVALID, "db", 0, "only PostgreSQL has a doorbell");
}

enum verdict db_listen(struct db *db, const char *channel, struct err *e) {
    return db->driver->listen ? db->driver->listen(db, channel, e) : no_doorbell(e);
}

enum verdict db_wait_notice(struct db *db, int wake_fd, int timeout_ms, bool *ret_rung,
                            struct err *e) {
    *ret_rung = false;
    return db->driver->wait_notice ? db->driver->wait_notice(db, wake_fd, timeout_ms, ret_rung, e)
                                   : no_doorbell(e);
}

enum verdict db_recover(struct db *db, struct err *e) {
    db_rollback(db);
    return db->driver->recover(db, e);
}

int64_t db_row_int(const struct db_row *row, int col) {
    return row->driver->row_int(row, col);
}

struct str db_row_text(const struct db_row *row, int col) {
    return row->driver->row_text(row, col);
}
