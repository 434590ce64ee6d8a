/* The names of a source's states: does the status column take them? */
#include "store/claims_int.h"

#define CHECKS_MAX 16

struct checks {
    struct arena *a;
    struct str list[CHECKS_MAX];
    size_t n;
};

static enum verdict take_check(void *ctx, const struct db_row *row) {
    struct checks *c = ctx;
    if (c->n < CHECKS_MAX)
        c->list[c->n++] = arena_str(c->a, db_row_text(row, 0));
    return V_OK;
}

/* Asks what a constraint says of a row that has nothing but this state. */
static enum verdict ask_check(const struct source *src, struct str state, struct str check,
                              int64_t *ret, struct err *e) {
    struct db *db = src->store->db;
    CLEANUP(strbuf_release) struct strbuf b;
    int stmt;
    strbuf_init(&b, SOURCE_SQL_MAX);
    strbuf_addf(&b, "SELECT (%.*s) IS NOT FALSE FROM (SELECT ", STR_FMT(check));
    cdc_add_text(&b, DB_POSTGRES, state);
    enum verdict v = source_fill(src, "::{status_type} AS {status}) AS {name}", &b, e);
    if (v == V_OK)
        v = db_add(db, "check of a state", b.p, &stmt, e);
    if (v != V_OK)
        return v;
    v = db_run_int(db, stmt, DB_NO_VALS, ret, e);
    db_drop(db, stmt);
    return v;
}

static enum verdict check_constraints(struct source *src, struct str state, struct err *e) {
    struct checks c = {.a = &src->arena};
    enum verdict v =
        db_run(src->store->db, SQL_SOURCE_CHECKS,
               DB_VALS(DBI(src->shape.oid), DBT(src->shape.name), DBT(src->status->name)),
               take_check, &c, e);
    for (size_t i = 0; i < c.n && v == V_OK; i++) {
        int64_t good = 1;
        v = ask_check(src, state, c.list[i], &good, e);
        if (v == V_OK && !good)
            return err_set(e, V_INVALID, "source", 0,
                           "column %.*s does not take '%.*s': CHECK (%.*s)",
                           STR_FMT(src->status->name), STR_FMT(state), STR_FMT(c.list[i]));
    }
    return v;
}

enum verdict source_state_check(struct source *src, size_t i, struct err *e) {
    enum db_kind kind = db_kind(src->store->db);
    const struct str *states = src->spec.states;
    struct source_column column;
    source_describe(kind, source_field(src, src->status), &column);
    if (!states[i].p || !states[i].n || states[i].n > SOURCE_STATE_MAX)
        return err_set(e, V_INVALID, "source", 0, "a state must have a name, of at most %d bytes",
                       SOURCE_STATE_MAX);
    for (size_t k = 0; k < i; k++)
        if (str_eq(states[k], states[i]))
            return err_set(e, V_INVALID, "source", 0, "two states are called '%.*s'",
                           STR_FMT(states[i]));
    if (column.max_chars && (int64_t)states[i].n > column.max_chars)
        return err_set(e, V_INVALID, "source", 0, "'%.*s' is too long for column %.*s",
                       STR_FMT(states[i]), STR_FMT(src->status->name));
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, SOURCE_SQL_MAX);
    enum verdict v = source_fill(src, "SELECT 1 FROM {table} WHERE {status} = ", &b, e);
    cdc_add_text(&b, kind, states[i]);
    if (v == V_OK)
        v = source_probe(src, b.p, e);
    return v == V_OK ? check_constraints(src, states[i], e) : v;
}
