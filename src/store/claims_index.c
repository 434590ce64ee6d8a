/* Does the table have the two partial indexes that the sweep relies on? What an index is called
 * and how its condition is written does not matter, only whether the planner can use it: that is
 * asked of the planner itself, on PostgreSQL with an empty copy of the table that is rolled back
 * again, on SQLite by INDEXED BY. */
#include "store/claims_int.h"

#include <string.h>

#define INDEXES_MAX 64

/* One of the two, as templates; {first} is its column. */
struct wanted {
    struct str column;
    const char *condition, *end; /* of its name on SQLite */
};

struct found {
    struct arena *a;
    struct str names[INDEXES_MAX], conditions[INDEXES_MAX];
    size_t n;
};

static enum verdict take_index(void *ctx, const struct db_row *row) {
    struct found *f = ctx;
    if (f->n == INDEXES_MAX)
        return V_OK;
    f->names[f->n] = arena_str(f->a, db_row_text(row, 0));
    f->conditions[f->n++] = arena_str(f->a, db_row_text(row, 1));
    return V_OK;
}

static enum verdict take_plan(void *ctx, const struct db_row *row) {
    bool *used = ctx;
    struct str line = db_row_text(row, 0);
    *used = *used || (line.p && strstr(line.p, "tain_shape_i"));
    return V_OK;
}

static enum verdict ask_plan(struct store *s, const char *text, bool *ret, struct err *e) {
    int stmt;
    enum verdict v = db_add(s->db, "explain", text, &stmt, e);
    if (v != V_OK)
        return v;
    v = db_run(s->db, stmt, DB_NO_VALS, take_plan, ret, e);
    db_drop(s->db, stmt);
    return v;
}

static enum verdict serves_pg(struct store *s, const struct source *src, const struct wanted *w,
                              struct str condition, bool *ret, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, SOURCE_SQL_MAX);
    strbuf_adds(&b, "CREATE INDEX tain_shape_i ON pg_temp.tain_shape (");
    cdc_add_name(&b, w->column);
    strbuf_addf(&b, ") WHERE %.*s", STR_FMT(condition));
    enum verdict v = db_script(s->db, b.p, e);
    strbuf_clear(&b);
    strbuf_adds(&b, "EXPLAIN SELECT 1 FROM pg_temp.tain_shape AS ");
    cdc_add_name(&b, src->shape.name);
    strbuf_adds(&b, " WHERE ");
    if (v == V_OK)
        v = source_fill(src, w->condition, &b, e);
    if (v == V_OK)
        v = ask_plan(s, b.p, ret, e);
    if (v == V_OK)
        v = db_script(s->db, "DROP INDEX pg_temp.tain_shape_i", e);
    return v;
}

static enum verdict serves_sqlite(struct store *s, const struct source *src, const struct wanted *w,
                                  struct str name, bool *ret, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf b;
    int stmt;
    strbuf_init(&b, SOURCE_SQL_MAX);
    enum verdict v = source_fill(src, "SELECT 1 FROM {table} INDEXED BY ", &b, e);
    cdc_add_name(&b, name);
    strbuf_adds(&b, " WHERE ");
    if (v == V_OK)
        v = source_fill(src, w->condition, &b, e);
    if (v == V_OK)
        v = db_add(s->db, "explain", b.p, &stmt, e);
    if (v != V_OK)
        return v;
    *ret = db_check(s->db, stmt, e) == V_OK; /* "no query solution" where it cannot be used */
    db_drop(s->db, stmt);
    return V_OK;
}

static enum verdict has_index(struct store *s, const struct source *src, const struct wanted *w,
                              bool *ret, struct err *e) {
    struct found f = {.a = &s->scratch};
    *ret = false;
    enum verdict v = db_run(s->db, SQL_SOURCE_INDEXES,
                            DB_VALS(DBI(src->shape.oid), DBT(src->shape.name), DBT(w->column)),
                            take_index, &f, e);
    for (size_t i = 0; i < f.n && v == V_OK && !*ret; i++)
        v = store_is_shared(s) ? serves_pg(s, src, w, f.conditions[i], ret, e)
                               : serves_sqlite(s, src, w, f.names[i], ret, e);
    return v;
}

static enum verdict write_index(const struct source *src, const struct wanted *w, struct arena *a,
                                struct str *ret, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf b, name;
    strbuf_init(&b, SOURCE_SQL_MAX);
    strbuf_init(&name, 1024);
    strbuf_add_str(&name, src->shape.name);
    strbuf_adds(&name, w->end);
    if (store_is_shared(src->store)) {
        strbuf_adds(&b, "CREATE INDEX CONCURRENTLY ON ");
    } else {
        strbuf_adds(&b, "CREATE INDEX ");
        cdc_add_name(&b, strbuf_str(&name));
        strbuf_adds(&b, " ON ");
    }
    enum verdict v = source_fill(src, store_is_shared(src->store) ? "{table}" : "{name}", &b, e);
    strbuf_adds(&b, " (");
    cdc_add_name(&b, w->column);
    strbuf_adds(&b, ") WHERE ");
    if (v == V_OK)
        v = source_fill(src, w->condition, &b, e);
    if (v == V_OK)
        *ret = arena_str(a, strbuf_str(&b));
    return v;
}

static enum verdict list_missing(struct store *s, const struct source *src, struct arena *a,
                                 struct str ret[2], size_t *ret_n, struct err *e) {
    const struct wanted both[] = {
        {src->since ? src->since->name : src->key->name, "{status} = {busy}", "_busy"},
        {src->key->name,
         src->spec.filter.p ? "{status} = {pending} AND {filter}" : "{status} = {pending}",
         "_pending"},
    };
    enum verdict v = V_OK;
    for (size_t i = 0; i < ARRAY_LEN(both) && v == V_OK; i++) {
        bool there;
        v = has_index(s, src, &both[i], &there, e);
        if (v == V_OK && !there)
            v = write_index(src, &both[i], a, &ret[*ret_n], e);
        *ret_n += v == V_OK && !there;
    }
    return v;
}

enum verdict store_source_missing_indexes(struct store *s, struct source *src, struct arena *a,
                                          struct str ret[2], size_t *ret_n, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf copy;
    strbuf_init(&copy, SOURCE_SQL_MAX);
    *ret_n = 0;
    arena_reset(&s->scratch);
    if (!store_is_shared(s))
        return list_missing(s, src, a, ret, ret_n, e);
    enum verdict v = source_fill(src, "CREATE TEMPORARY TABLE tain_shape (LIKE {table})", &copy, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_script(s->db, copy.p, e);
    if (v == V_OK)
        v = list_missing(s, src, a, ret, ret_n, e);
    db_rollback(s->db);
    return v;
}
