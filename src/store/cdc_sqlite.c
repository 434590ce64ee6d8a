/* A table of the user's as SQLite describes it, and why it cannot be logged, if so. */
#include "store/cdc_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct looking {
    struct arena *a;
    struct cdc_shape *t;
    struct str kind;
    bool found, without_rowid;
    /* of the unique index that is being read */
    struct str index;
    bool broken, partial, of_key;
    size_t n;
    const struct cdc_column *members[CDC_KEY_MAX];
    struct str orders[CDC_KEY_MAX]; /* the collation of each */
    bool lax;                       /* one of them takes different texts for equal */
    struct strbuf uniques;
};

static bool same_name(struct str a, struct str b) {
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Tables that migrations make, and the one that counts them. */
static bool is_ours(struct str name) {
    static const char *const ways[] = {"CREATE TABLE ", "CREATE VIRTUAL TABLE "};
    for (size_t i = 0; i < sql_n_migrations; i++)
        for (size_t w = 0; w < ARRAY_LEN(ways); w++)
            for (const char *p = sql_migrations[i].sql[DB_SQLITE]; (p = strstr(p, ways[w]));) {
                p += strlen(ways[w]);
                if (same_name(name, (struct str){p, strcspn(p, " (\n")}))
                    return true;
            }
    return same_name(name, STR("schema_migrations"));
}

static enum verdict take_relation(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    l->found = true;
    l->t->name = arena_str(l->a, db_row_text(row, 0));
    l->kind = arena_str(l->a, db_row_text(row, 1));
    l->without_rowid = db_row_int(row, 2) == 1;
    return V_OK;
}

static void refuse(struct looking *l) {
    const char *why = NULL;
    if (str_starts(l->t->name, "sqlite_"))
        why = "a table of SQLite's own";
    else if (is_ours(l->t->name))
        why = "one of the archive's own; items and users are logged already";
    else if (str_eqc(l->kind, "view"))
        why = "a view: install its tables instead";
    else if (str_eqc(l->kind, "virtual") || str_eqc(l->kind, "shadow"))
        why = "a virtual table or part of one: SQLite has no triggers for it";
    if (!why)
        return;
    char text[400];
    snprintf(text, sizeof text, "%.*s is %s", (int)(l->t->name.n < 200 ? l->t->name.n : 200),
             l->t->name.p, why);
    l->t->refusal = arena_str(l->a, str_of(text));
}

static enum verdict take_column(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    struct cdc_shape *t = l->t;
    if (t->n_columns == CDC_COLUMNS_MAX)
        return V_LIMIT;
    struct cdc_column *c = &t->columns[t->n_columns++];
    *c = (struct cdc_column){
        .name = arena_str(l->a, db_row_text(row, 0)),
        .settled = db_row_int(row, 1) == 1, /* here: it is never NULL */
        .key_place = (int)db_row_int(row, 2),
    };
    if (c->key_place > 0 && c->key_place <= CDC_KEY_MAX) {
        t->key[c->key_place - 1] = c;
        t->n_key++;
    }
    return V_OK;
}

static const struct cdc_column *column_of(const struct cdc_shape *t, struct str name) {
    for (size_t i = 0; i < t->n_columns && name.p; i++)
        if (same_name(t->columns[i].name, name))
            return &t->columns[i];
    return NULL;
}

static void finish_index(struct looking *l) {
    /* a row with the very key of the new one is no other row, whatever becomes of it */
    bool whole = l->n > 0 && !l->broken && (!l->of_key || l->lax);
    bool full = !l->of_key;
    for (size_t i = 0; i < l->n; i++)
        full = full && l->members[i]->settled;
    if (whole && full && !l->partial && l->t->n_key == 0) {
        for (size_t i = 0; i < l->n; i++)
            l->t->key[i] = l->members[i];
        l->t->n_key = l->n;
    } else if (whole) {
        strbuf_adds(&l->uniques, l->uniques.n ? " OR (" : "(");
        for (size_t i = 0; i < l->n; i++) {
            strbuf_adds(&l->uniques, i ? " AND r." : "r.");
            cdc_add_name(&l->uniques, l->members[i]->name);
            strbuf_adds(&l->uniques, " = NEW.");
            cdc_add_name(&l->uniques, l->members[i]->name);
            strbuf_adds(&l->uniques, " COLLATE ");
            cdc_add_name(&l->uniques, l->orders[i]);
        }
        strbuf_addc(&l->uniques, ')');
    }
    l->n = 0;
    l->broken = l->lax = false;
}

static enum verdict take_unique(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    struct str index = db_row_text(row, 0);
    if (!str_eq(index, l->index)) {
        finish_index(l);
        l->index = arena_str(l->a, index);
        l->partial = db_row_int(row, 1) == 1;
        l->of_key = db_row_int(row, 2) == 1;
    }
    const struct cdc_column *c = column_of(l->t, db_row_text(row, 3));
    if (!c || l->n == CDC_KEY_MAX) {
        l->broken = true;
        return V_OK;
    }
    l->orders[l->n] = arena_str(l->a, db_row_text(row, 4));
    l->lax = l->lax || !same_name(l->orders[l->n], STR("BINARY"));
    l->members[l->n++] = c;
    return V_OK;
}

static struct str rowid_of(const struct looking *l) {
    static const char *const names[] = {"rowid", "_rowid_", "oid"};
    for (size_t i = 0; i < ARRAY_LEN(names) && !l->without_rowid; i++)
        if (!column_of(l->t, str_of(names[i])))
            return str_of(names[i]);
    return STR_NONE;
}

static enum verdict read_columns(struct store *s, struct looking *l, struct err *e) {
    struct str name = l->t->name;
    l->t->columns = arena_zalloc(l->a, CDC_COLUMNS_MAX * sizeof *l->t->columns);
    enum verdict v = db_run(s->db, SQL_CDC_COLUMNS, DB_VALS(DBT(name)), take_column, l, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_CDC_UNIQUES, DB_VALS(DBT(name)), take_unique, l, e);
    if (v != V_OK)
        return v;
    finish_index(l);
    l->t->rowid = rowid_of(l);
    if (l->uniques.n)
        l->t->uniques = arena_str(l->a, strbuf_str(&l->uniques));
    if (!l->t->rowid.p && l->t->n_key == 0)
        l->t->refusal =
            STR("it has neither a key nor a number of its rows that could be asked for: "
                "three columns of it are named like that");
    return V_OK;
}

enum verdict cdc_sqlite_look(struct store *s, const struct cdc_name *n, struct arena *a,
                             struct cdc_shape *ret, struct err *e) {
    struct looking l = {.a = a, .t = ret};
    *ret = (struct cdc_shape){.schema = STR("main")};
    enum verdict v = db_run(s->db, SQL_CDC_RELATION,
                            DB_VALS(DBT(n->schema), DBT(n->schema), DBT(n->name), DBT(n->name)),
                            take_relation, &l, e);
    if (v != V_OK)
        return v;
    if (!l.found || (n->schema.p && !same_name(n->schema, STR("main"))))
        return err_set(e, V_NOT_FOUND, "cdc", 0, "there is no table %.*s%s%.*s", STR_FMT(n->schema),
                       n->schema.p ? "." : "", STR_FMT(n->name));
    refuse(&l);
    if (ret->refusal.p)
        return V_OK;
    strbuf_init(&l.uniques, CDC_SCRIPT_MAX);
    v = read_columns(s, &l, e);
    strbuf_release(&l.uniques);
    return v;
}
