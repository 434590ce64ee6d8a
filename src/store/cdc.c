/* Which tables are logged. A number stands for a table as it was asked for: with other columns, or
 * open to the public, it gets another one, so that what was logged before is never shown by a rule
 * that came later. */
#include "store/cdc.h"

#include "store/cdc_int.h"
#include "store/feed.h"

#include <strings.h>

struct entry {
    int64_t number; /* 0: none */
    struct str schema, name, columns;
    bool is_public;
    struct arena *a;
};

static enum verdict take_entry(void *ctx, const struct db_row *row) {
    struct entry *en = ctx;
    en->number = db_row_int(row, 0);
    en->schema = arena_str(en->a, db_row_text(row, 1));
    en->name = arena_str(en->a, db_row_text(row, 2));
    en->is_public = db_row_int(row, 3) == 1;
    en->columns = arena_str(en->a, db_row_text(row, 4));
    return V_OK;
}

static enum verdict find(struct store *s, const struct cdc_name *n, bool built_in, struct arena *a,
                         struct entry *ret, struct err *e) {
    struct str schema = n->schema, low = n->schema_low;
    if (!schema.p)
        schema = low = store_is_shared(s) ? STR("public") : STR("main");
    *ret = (struct entry){.a = a};
    return db_run(
        s->db, SQL_CDC_FIND,
        DB_VALS(DBT(schema), DBT(low), DBT(n->name), DBT(n->name_low), DBI(built_in ? 1 : 0)),
        take_entry, ret, e);
}

enum verdict cdc_look(struct store *s, const struct cdc_name *n, bool to_log, struct arena *a,
                      struct cdc_shape *ret, struct err *e) {
    return store_is_shared(s) ? cdc_pg_look(s, n, to_log, a, ret, e)
                              : cdc_sqlite_look(s, n, a, ret, e);
}

/* Case is what SQLite never minds and PostgreSQL folds. */
const struct cdc_column *cdc_column_of(const struct cdc_shape *t, struct str name) {
    for (size_t i = 0; i < t->n_columns; i++)
        if (str_eq(t->columns[i].name, name))
            return &t->columns[i];
    for (size_t i = 0; i < t->n_columns; i++) {
        struct str own = t->columns[i].name;
        if (own.n == name.n && strncasecmp(own.p, name.p, name.n) == 0)
            return &t->columns[i];
    }
    return NULL;
}

bool cdc_choose(const struct cdc_shape *t, const struct str *names, size_t n, struct arena *a,
                struct cdc_want *w, struct str *ret_missing) {
    w->columns = n ? arena_alloc(a, n * sizeof(struct cdc_column *)) : NULL;
    w->n_columns = 0;
    for (size_t i = 0; i < n; i++) {
        const struct cdc_column *c = cdc_column_of(t, names[i]);
        if (!c) {
            *ret_missing = names[i];
            return false;
        }
        bool twice = false;
        for (size_t k = 0; k < w->n_columns; k++)
            twice = twice || w->columns[k] == c;
        if (!twice)
            w->columns[w->n_columns++] = c;
    }
    return true;
}

static struct str json_of(struct arena *a, const struct cdc_column *const *columns, size_t n) {
    struct str *names = arena_alloc(a, (n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = columns[i]->name;
    return cdc_names_json(a, names, n);
}

static enum verdict run_script(struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                               int gone, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf script;
    strbuf_init(&script, CDC_SCRIPT_MAX);
    bool pg = store_is_shared(s);
    if (gone && pg)
        cdc_pg_remove(s, gone, &script);
    else if (gone)
        cdc_sqlite_remove(gone, &script);
    if (t && pg)
        cdc_pg_install(s, t, w, &script);
    else if (t)
        cdc_sqlite_install(t, w, &script);
    if (script.overflow)
        return err_set(e, V_INVALID, "cdc", 0, "the table has too many columns");
    return db_script(s->db, script.p, e);
}

/* The number to log under: the one it has when nothing else is asked for now, or a new one. */
static enum verdict enter(struct store *s, const struct cdc_shape *t, const struct cdc_install *ask,
                          struct cdc_want *w, struct arena *a, int *ret_gone, struct err *e) {
    struct cdc_name exact = {t->schema, t->schema, t->name, t->name};
    struct str key = json_of(a, t->key, t->n_key);
    struct str columns = w->columns ? json_of(a, w->columns, w->n_columns) : STR_NONE;
    struct entry old;
    enum verdict v = find(s, &exact, false, a, &old, e);
    if (v == V_OK && !old.number) /* it may be known by another name */
        v = db_run(s->db, SQL_CDC_BY_TRIGGER, DB_VALS(DBI(t->oid), DBT(t->name)), take_entry, &old,
                   e);
    if (v != V_OK)
        return v;
    bool same_table = str_eq(old.schema, t->schema) && str_eq(old.name, t->name);
    if (old.number && same_table && old.is_public == ask->is_public &&
        str_eq(old.columns, columns)) {
        w->number = (int)old.number;
        return db_run(s->db, SQL_CDC_UPDATE, DB_VALS(DBI(old.number), DBT(key)), NULL, NULL, e);
    }
    if (old.number)
        v = db_run(s->db, SQL_CDC_RETIRE, DB_VALS(DBI(old.number)), NULL, NULL, e);
    int64_t number = 0;
    if (v == V_OK)
        v = db_run_int(s->db, SQL_CDC_ADD,
                       DB_VALS(DBT(t->schema), DBT(t->name), DBI(ask->is_public ? 1 : 0), DBT(key),
                               DBT(columns)),
                       &number, e);
    if (v == V_OK && old.number)
        v = db_run(s->db, SQL_CDC_MOVE_FAILURES, DB_VALS(DBI(old.number), DBI(number)), NULL, NULL,
                   e);
    w->number = (int)number;
    *ret_gone = (int)old.number;
    return v;
}

/* A key goes out with every event; who publishes one must have said so. */
static const struct cdc_column *unlisted_key(const struct cdc_shape *t, const struct cdc_want *w) {
    for (size_t i = 0; i < t->n_key; i++) {
        bool listed = false;
        for (size_t k = 0; k < w->n_columns; k++)
            listed = listed || w->columns[k] == t->key[i];
        if (!listed)
            return t->key[i];
    }
    return NULL;
}

static enum verdict install(struct store *s, const struct cdc_install *ask,
                            const struct cdc_name *n, struct arena *a, struct cdc_shape *t,
                            struct cdc_want *w, struct err *e) {
    struct str missing;
    int gone = 0;
    enum verdict v = cdc_look(s, n, true, a, t, e);
    if (v == V_NOT_FOUND)
        return V_INVALID;
    if (v == V_OK)
        v = store_cdc_watch(s, e);
    if (v != V_OK)
        return v;
    if (t->refusal.p)
        return err_set(e, V_INVALID, "cdc", 0, "%.*s", STR_FMT(t->refusal));
    if (!cdc_choose(t, ask->columns, ask->n_columns, a, w, &missing))
        return err_set(e, V_INVALID, "cdc", 0, "%.*s has no column %.*s", STR_FMT(t->name),
                       STR_FMT(missing));
    const struct cdc_column *unlisted = ask->is_public ? unlisted_key(t, w) : NULL;
    if (unlisted)
        return err_set(e, V_INVALID, "cdc", 0,
                       "%.*s is of the key of %.*s, which is in every event: name it in the list "
                       "of columns too if the public may see it",
                       STR_FMT(unlisted->name), STR_FMT(t->name));
    v = enter(s, t, ask, w, a, &gone, e);
    if (v == V_OK)
        v = run_script(s, t, w, gone, e);
    return v == V_OK ? cdc_remark(s, w->number, gone, e) : v;
}

static struct str joined(struct arena *a, const struct cdc_column *const *columns, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, CDC_SCRIPT_MAX);
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(&b, i ? "," : "");
        strbuf_add_str(&b, columns[i]->name);
    }
    return arena_str(a, n ? strbuf_str(&b) : STR(""));
}

enum verdict store_cdc_install(struct store *s, const struct cdc_install *ask, struct arena *a,
                               struct cdc_table *ret, struct err *e) {
    struct cdc_name n;
    struct cdc_shape t;
    struct cdc_want w = {0};
    if (ask->is_public && !ask->n_columns)
        return err_set(e, V_INVALID, "cdc", 0,
                       "a public table needs a list of columns: what is not in it stays private");
    if (ask->n_columns > CDC_COLUMNS_MAX)
        return err_set(e, V_INVALID, "cdc", 0, "more than %d columns", CDC_COLUMNS_MAX);
    enum verdict v = cdc_name_parse(ask->table, a, &n, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, install(s, ask, &n, a, &t, &w, e), e);
    if (v != V_OK)
        return v;
    *ret = (struct cdc_table){
        .number = w.number,
        .schema = t.schema,
        .name = t.name,
        .is_public = ask->is_public,
        .present = true,
        .key = joined(a, t.key, t.n_key),
        .columns = w.columns ? joined(a, w.columns, w.n_columns) : STR_NONE,
    };
    return V_OK;
}

static enum verdict remove_one(struct store *s, const struct entry *en, struct err *e) {
    enum verdict v = run_script(s, NULL, NULL, (int)en->number, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_CDC_DROP_FAILURES, DB_VALS(DBI(en->number)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_CDC_RETIRE, DB_VALS(DBI(en->number)), NULL, NULL, e);
    return v;
}

static enum verdict find_installed(struct store *s, const struct cdc_name *n, struct arena *a,
                                   struct entry *ret, struct err *e) {
    struct entry ours;
    enum verdict v = find(s, n, false, a, ret, e);
    if (v != V_OK || ret->number)
        return v;
    v = find(s, n, true, a, &ours, e);
    if (v == V_OK && ours.number)
        return err_set(e, V_INVALID, "cdc", 0,
                       "%.*s is one of the archive's own, and always logged", STR_FMT(ours.name));
    return v == V_OK ? err_set(e, V_NOT_FOUND, "cdc", 0, "%.*s%s%.*s is not installed",
                               STR_FMT(n->schema), n->schema.p ? "." : "", STR_FMT(n->name))
                     : v;
}

enum verdict store_cdc_remove(struct store *s, struct str table, struct err *e) {
    struct cdc_name n;
    struct entry en;
    arena_reset(&s->scratch);
    enum verdict v = cdc_name_parse(table, &s->scratch, &n, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = find_installed(s, &n, &s->scratch, &en, e);
    if (v == V_OK)
        v = remove_one(s, &en, e);
    return store_end(s, v, e);
}

enum verdict store_feed_heal(struct store *s, int64_t *ret_n, struct err *e) {
    *ret_n = 0;
    if (!store_is_shared(s))
        return db_run(s->db, SQL_CDC_HEAL, DB_VALS(DBI(CDC_HEAL_ROWS)), NULL, NULL, e);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    /* publishers wait meanwhile: rather give up and come again */
    v = db_script(s->db, "SET LOCAL lock_timeout TO '200ms'; SET LOCAL statement_timeout TO '5s'",
                  e);
    if (v == V_OK)
        v = db_run_int(s->db, SQL_CDC_HEAL, DB_VALS(DBI(CDC_HEAL_ROWS)), ret_n, e);
    return store_end(s, v, e);
}
