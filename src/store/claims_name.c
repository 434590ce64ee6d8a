/* A source's name is the first half of its claims' keys: it must mean one table for all workers. A
 * lock that lasts as long as the connection says which. */
#include "store/claims_int.h"

struct elsewhere {
    struct arena *a;
    struct str table, host;
};

static enum verdict take_elsewhere(void *ctx, const struct db_row *row) {
    struct elsewhere *x = ctx;
    x->table = arena_str(x->a, db_row_text(row, 0));
    x->host = arena_str(x->a, db_row_text(row, 1));
    return V_OK;
}

enum verdict store_source_take_name(struct store *s, struct source *src, struct err *e) {
    struct elsewhere x = {.a = &s->scratch};
    struct str name = src->spec.name;
    arena_reset(&s->scratch);
    /* the lock first: of two that begin at once, each sees the other */
    enum verdict v =
        db_run(s->db, SQL_SOURCE_TAKE_NAME, DB_VALS(DBT(name), DBI(src->shape.oid)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SOURCE_NAME_ELSEWHERE, DB_VALS(DBT(name), DBI(src->shape.oid)),
                   take_elsewhere, &x, e);
    if (v != V_OK || !x.table.p)
        return v;
    return err_set(e, V_CONFLICT, "source", 0,
                   "source %.*s: its table is %.*s.%.*s here, and %.*s for a worker on %.*s that "
                   "runs: give one of them another name, or stop that one",
                   STR_FMT(name), STR_FMT(src->shape.schema), STR_FMT(src->shape.name),
                   STR_FMT(x.table), STR_FMT(x.host));
}

static enum verdict take_share(void *ctx, const struct db_row *row) {
    struct share *ret = ctx;
    ret->of = db_row_int(row, 0);
    ret->mine = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_source_share(struct store *s, struct source *src, struct share *ret,
                                struct err *e) {
    *ret = (struct share){.of = 1, .by_number = src->key_kind == KEY_INT};
    return db_run(s->db, SQL_SOURCE_SHARE, DB_VALS(DBT(src->spec.name), DBI(src->shape.oid)),
                  take_share, ret, e);
}
