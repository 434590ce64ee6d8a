/* A table of the user's as PostgreSQL's catalogue describes it, and why it cannot be logged, if so.
 */
#include "store/cdc_int.h"

struct looking {
    struct arena *a;
    struct cdc_shape *t;
    char kind; /* relkind */
    bool found, temporary, ours, system, usage, trigger, reading, hidden, to_log;
    struct str who;
};

static enum verdict take_relation(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    l->found = true;
    l->t->oid = db_row_int(row, 0);
    l->t->schema = arena_str(l->a, db_row_text(row, 1));
    l->t->name = arena_str(l->a, db_row_text(row, 2));
    l->kind = db_row_text(row, 3).p[0];
    l->temporary = db_row_int(row, 4) == 1;
    l->ours = db_row_int(row, 5) == 1;
    l->system = db_row_int(row, 6) == 1;
    l->t->by_row = db_row_int(row, 7) == 1;
    l->usage = db_row_int(row, 8) == 1;
    l->trigger = db_row_int(row, 9) == 1 || !l->to_log;
    l->reading = db_row_int(row, 10) == 1;
    l->hidden = db_row_int(row, 11) == 1;
    l->who = arena_str(l->a, db_row_text(row, 12));
    l->t->anothers = db_row_int(row, 13) == 1;
    l->t->partitioned = l->kind == 'p';
    return V_OK;
}

static const char *kind_of(char kind) {
    switch (kind) {
    case 'v':
        return "a view: install its tables instead";
    case 'm':
        return "a materialized view: install its tables instead";
    case 'f':
        return "a foreign table: its changes are made elsewhere, where no trigger of ours is";
    case 'S':
        return "a sequence";
    case 'r':
    case 'p':
        return NULL;
    default:
        return "not a table";
    }
}

static void refuse(struct looking *l) {
    CLEANUP(strbuf_release) struct strbuf b, name;
    strbuf_init(&b, 4096);
    strbuf_init(&name, 1024);
    cdc_add_name(&name, l->t->schema);
    strbuf_addc(&name, '.');
    cdc_add_name(&name, l->t->name);
    if (l->system)
        strbuf_addf(&b, "%s is %s", name.p,
                    l->temporary ? "a temporary table: it goes with its session"
                                 : "a system catalogue");
    else if (l->ours)
        strbuf_addf(&b, "%s is in the archive's own schema; items and users are logged already",
                    name.p);
    else if (kind_of(l->kind))
        strbuf_addf(&b, "%s is %s", name.p, kind_of(l->kind));
    else if (!l->usage)
        strbuf_addf(&b, "%.*s may not use the schema of %s: GRANT USAGE ON SCHEMA ... TO it",
                    STR_FMT(l->who), name.p);
    else if (!l->trigger || !l->reading)
        strbuf_addf(&b, "%.*s may not %s %s: its owner has to GRANT SELECT, TRIGGER ON %s TO it",
                    STR_FMT(l->who), l->trigger ? "read" : "put a trigger on", name.p, name.p);
    else if (l->hidden)
        strbuf_addf(&b,
                    "row security hides rows of %s from %.*s: make that the table's owner, or "
                    "give it BYPASSRLS",
                    name.p, STR_FMT(l->who));
    if (b.n)
        l->t->refusal = arena_str(l->a, strbuf_str(&b));
}

static enum verdict take_column(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    struct cdc_shape *t = l->t;
    if (t->n_columns == CDC_COLUMNS_MAX)
        return V_LIMIT;
    struct cdc_column *c = &t->columns[t->n_columns++];
    *c = (struct cdc_column){
        .name = arena_str(l->a, db_row_text(row, 0)),
        .type = arena_str(l->a, db_row_text(row, 1)),
        .key_place = (int)db_row_int(row, 2),
        .equals = arena_str(l->a, db_row_text(row, 3)),
        .plain = db_row_int(row, 4) == 1,
        .settings = (unsigned)db_row_int(row, 5),
    };
    if (c->key_place > 0 && c->key_place <= CDC_KEY_MAX) {
        t->key[c->key_place - 1] = c;
        t->n_key++;
    }
    return V_OK;
}

enum verdict cdc_pg_look(struct store *s, const struct cdc_name *n, bool to_log, struct arena *a,
                         struct cdc_shape *ret, struct err *e) {
    struct str schema = n->schema.p ? n->schema : STR("public");
    struct str low = n->schema.p ? n->schema_low : schema;
    struct looking l = {.a = a, .t = ret, .to_log = to_log};
    *ret = (struct cdc_shape){0};
    enum verdict v = db_run(s->db, SQL_CDC_RELATION,
                            DB_VALS(DBT(schema), DBT(low), DBT(n->name), DBT(n->name_low)),
                            take_relation, &l, e);
    if (v != V_OK)
        return v;
    if (!l.found)
        return err_set(e, V_NOT_FOUND, "cdc", 0, "there is no table %.*s.%.*s%s", STR_FMT(schema),
                       STR_FMT(n->name),
                       str_starts(low, "pg_temp") ? "; a temporary one goes with its session" : "");
    refuse(&l);
    if (ret->refusal.p)
        return V_OK;
    ret->columns = arena_zalloc(a, CDC_COLUMNS_MAX * sizeof *ret->columns);
    return db_run(s->db, SQL_CDC_COLUMNS, DB_VALS(DBI(ret->oid)), take_column, &l, e);
}
