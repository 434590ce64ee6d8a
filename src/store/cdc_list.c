/* The tables that are logged, and what is wrong with any of them. */
#include "store/cdc_int.h"

#include <stdio.h>

#define LIST_MAX 10000

struct row {
    struct cdc_table table;
    struct str columns_json;
    struct str column_gone; /* absent: none that is listed */
};

struct listing {
    struct arena *a;
    struct row *rows;
    size_t n;
};

static struct str joined(struct arena *a, struct str json) {
    struct str *names;
    size_t n;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, CDC_SCRIPT_MAX);
    if (!cdc_names_read(a, json, &names, &n))
        return json;
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(&b, i ? "," : "");
        strbuf_add_str(&b, names[i]);
    }
    return arena_str(a, b.n ? strbuf_str(&b) : STR(""));
}

static enum verdict take_row(void *ctx, const struct db_row *row) {
    struct listing *l = ctx;
    if (l->n == LIST_MAX)
        return V_LIMIT;
    struct row *r = &l->rows[l->n++];
    r->table = (struct cdc_table){
        .number = (int)db_row_int(row, 0),
        .schema = arena_str(l->a, db_row_text(row, 1)),
        .name = arena_str(l->a, db_row_text(row, 2)),
        .built_in = db_row_int(row, 3) == 1,
        .is_public = db_row_int(row, 4) == 1,
        .key = joined(l->a, db_row_text(row, 5)),
        .failures = db_row_int(row, 7),
    };
    r->columns_json = arena_str(l->a, db_row_text(row, 6));
    if (r->columns_json.p)
        r->table.columns = joined(l->a, r->columns_json);
    return V_OK;
}

struct triggers {
    struct arena *a;
    int64_t on, all;
    bool by_row;
    struct str elsewhere, body;
    struct str off_at; /* a partition where one is switched off */
};

static enum verdict take_triggers(void *ctx, const struct db_row *row) {
    struct triggers *g = ctx;
    g->on = db_row_int(row, 0);
    g->all = db_row_int(row, 1);
    g->by_row = db_row_int(row, 2) == 1;
    g->elsewhere = arena_str(g->a, db_row_text(row, 3));
    g->body = arena_str(g->a, db_row_text(row, 4));
    g->off_at = arena_str(g->a, db_row_text(row, 5));
    return V_OK;
}

static struct str say(struct arena *a, const char *what, struct str name, const char *then) {
    char text[600];
    snprintf(text, sizeof text, "%s%.*s%s", what, (int)(name.n < 200 ? name.n : 200),
             name.p ? name.p : "", then);
    return arena_str(a, str_of(text));
}

#define AGAIN ": install it again"

/* The body as it would be written now: it differs when the table has changed since, or this program
 * has. */
static bool is_current(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                       const struct triggers *g) {
    CLEANUP(strbuf_release) struct strbuf body;
    struct cdc_shape like = *t;
    strbuf_init(&body, CDC_SCRIPT_MAX);
    if (!store_is_shared(s))
        cdc_sqlite_body(t, w, &body);
    for (int i = 0; i < 2 && store_is_shared(s); i++) {
        /* whoever asks for the list need not be who installed it */
        like.anothers = i == 0 ? t->anothers : !t->anothers;
        strbuf_clear(&body);
        cdc_pg_body(s, &like, w, &body);
        if (str_eq(g->body, strbuf_str(&body)))
            return true;
    }
    return str_eq(g->body, strbuf_str(&body));
}

static void judge(const struct store *s, struct arena *a, struct row *r, const struct cdc_shape *t,
                  const struct triggers *g) {
    struct cdc_want w = {.number = r->table.number};
    struct str *names = NULL;
    size_t n = 0;
    int64_t wanted = !store_is_shared(s) ? 3 : t->by_row ? 2 : 4;
    if (!store_is_shared(s) && t->uniques.p && t->n_key)
        wanted += 2;
    if (t->refusal.p)
        r->table.trouble = t->refusal;
    else if (g->all < wanted && g->all > 0 && g->by_row == t->by_row)
        r->table.trouble = say(a, "a trigger of it is gone", STR(""), AGAIN);
    else if (g->all == 0)
        r->table.trouble = say(a, "its triggers are gone", STR(""), AGAIN);
    else if (g->on < g->all)
        r->table.trouble = say(a, "a trigger of it is switched off", STR(""), AGAIN);
    else if (g->off_at.p)
        r->table.trouble = say(a, "a trigger of it is switched off on ", g->off_at, AGAIN);
    else if (g->by_row != t->by_row)
        r->table.trouble =
            say(a, "it became a partition or a parent, or ceased to be one", STR(""), AGAIN);
    else if (r->columns_json.p && !cdc_names_read(a, r->columns_json, &names, &n))
        r->table.trouble = say(a, "its list of columns cannot be read", STR(""), AGAIN);
    else if (!cdc_choose(t, names, n, a, &w, &r->column_gone))
        r->table.trouble =
            say(a, "its column ", r->column_gone, " is gone: install it again without");
    else if (!is_current(s, t, &w, g))
        r->table.trouble = say(
            a, "its columns, its key or its name have changed since, or tain has", STR(""), AGAIN);
}

static void judge_ours(const struct store *s, struct arena *a, struct cdc_table *t,
                       const struct triggers *g) {
    if (g->all < (store_is_shared(s) ? 4 : 3)) {
        t->trouble = STR("a trigger of it is gone, so that not all its changes are heard");
    } else if (g->on < g->all) {
        t->trouble = STR("a trigger of it is switched off, so that not all its changes are heard");
        t->mend = cdc_mend_enable(a, t);
    }
}

static enum verdict look_at(struct store *s, struct arena *a, struct row *r, struct err *e) {
    struct cdc_name n = {r->table.schema, r->table.schema, r->table.name, r->table.name};
    struct cdc_shape t = {0};
    struct triggers g = {.a = a};
    enum verdict v = V_OK;
    bool gone = false;
    if (!r->table.built_in) {
        v = cdc_look(s, &n, true, a, &t, e);
        gone = v == V_NOT_FOUND;
    }
    if (v == V_OK || gone)
        v = db_run(s->db, SQL_CDC_TRIGGERS,
                   DB_VALS(DBI(r->table.number), DBI(t.oid), DBT(r->table.name)), take_triggers, &g,
                   e);
    if (v != V_OK)
        return v;
    if (r->table.built_in) {
        judge_ours(s, a, &r->table, &g);
    } else if (gone) {
        r->table.trouble = g.elsewhere.p
                               ? say(a, "it is called ", g.elsewhere,
                                     " now: remove it under this name and install it under that")
                               : STR("the table is gone: remove it");
        r->table.mend = cdc_mend_remove(a, &r->table);
    } else {
        judge(s, a, r, &t, &g);
        if (r->table.trouble.p && !t.refusal.p)
            r->table.mend = cdc_mend_install(a, &r->table, r->columns_json, r->column_gone);
    }
    r->table.present = !r->table.trouble.p;
    return V_OK;
}

enum verdict store_cdc_list(struct store *s, struct arena *a, const struct cdc_table **ret,
                            size_t *ret_n, struct err *e) {
    struct listing l = {.a = a, .rows = xcalloc(LIST_MAX, sizeof *l.rows)};
    CLEANUP(free_ptr) struct row *rows = l.rows;
    enum verdict v = db_run(s->db, SQL_CDC_LIST, DB_NO_VALS, take_row, &l, e);
    for (size_t i = 0; i < l.n && v == V_OK; i++)
        v = look_at(s, a, &rows[i], e);
    if (v != V_OK)
        return v;
    struct cdc_table *out = arena_alloc(a, (l.n + 1) * sizeof *out);
    for (size_t i = 0; i < l.n; i++)
        out[i] = rows[i].table;
    *ret = out;
    *ret_n = l.n;
    return V_OK;
}

struct naming {
    struct arena *a;
    struct cdc_known *out;
    size_t n;
};

static enum verdict take_known(void *ctx, const struct db_row *row) {
    struct naming *l = ctx;
    l->out[l->n++] = (struct cdc_known){
        .schema = arena_str(l->a, db_row_text(row, 0)),
        .name = arena_str(l->a, db_row_text(row, 1)),
        .built_in = db_row_int(row, 2) == 1,
        .is_public = db_row_int(row, 3) == 1,
        .removed = db_row_int(row, 4) == 1,
    };
    return V_OK;
}

enum verdict store_cdc_known(struct store *s, struct arena *a, const struct cdc_known **ret,
                             size_t *ret_n, struct err *e) {
    struct naming l = {.a = a, .out = xcalloc(LIST_MAX, sizeof *l.out)};
    CLEANUP(free_ptr) struct cdc_known *all = l.out;
    enum verdict v = db_run(s->db, SQL_CDC_KNOWN, DB_VALS(DBI(LIST_MAX)), take_known, &l, e);
    if (v != V_OK)
        return v;
    struct cdc_known *out = arena_alloc(a, (l.n + 1) * sizeof *out);
    for (size_t i = 0; i < l.n; i++)
        out[i] = all[i];
    *ret = out;
    *ret_n = l.n;
    return V_OK;
}
