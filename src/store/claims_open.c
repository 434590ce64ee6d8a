/* A source is opened: its table is looked up, what the spec says is held against it, and its
 * statements are made and shown to the database. */
#include "store/claims_int.h"

#include <stdio.h>
#include <stdlib.h>

/* What is at fault, for whoever knows where it was written. */
struct blame {
    const char *field;
    size_t index;
};

const struct source_field *source_field(const struct source *src, const struct cdc_column *c) {
    return &src->fields[c - src->shape.columns];
}

static enum db_kind kind_of(const struct source *src) {
    return db_kind(src->store->db);
}

static void copy_spec(struct source *src, const struct source_spec *from) {
    struct arena *a = &src->arena;
    struct source_spec *to = &src->spec;
    *to = *from;
    to->name = arena_str(a, from->name);
    to->table = arena_str(a, from->table);
    to->key = arena_str(a, from->key);
    to->status = arena_str(a, from->status);
    to->since = arena_str(a, from->since);
    to->filter = arena_str(a, from->filter);
    for (int i = 0; i < ROW_STATES; i++)
        to->states[i] = arena_str(a, from->states[i]);
    struct str *names = arena_alloc(a, (from->n_inputs + from->n_outputs + 1) * sizeof *names);
    for (size_t i = 0; i < from->n_inputs; i++)
        names[i] = arena_str(a, from->inputs[i]);
    for (size_t i = 0; i < from->n_outputs; i++)
        names[from->n_inputs + i] = arena_str(a, from->outputs[i]);
    to->inputs = names;
    to->outputs = names + from->n_inputs;
}

struct fields {
    struct source *src;
    size_t n;
};

static enum verdict take_field(void *ctx, const struct db_row *row) {
    struct fields *f = ctx;
    if (f->n == f->src->shape.n_columns)
        return V_RETRY; /* a column came between two looks */
    f->src->fields[f->n++] = (struct source_field){
        .name = arena_str(&f->src->arena, db_row_text(row, 0)),
        .type_id = db_row_int(row, 1),
        .modifier = db_row_int(row, 2),
        .type = arena_str(&f->src->arena, db_row_text(row, 3)),
        .nullable = db_row_int(row, 4) == 1,
        .readable = db_row_int(row, 5) == 1,
        .writable = db_row_int(row, 6) == 1,
        .unique = db_row_int(row, 7) == 1,
    };
    return V_OK;
}

static enum verdict look(struct source *src, struct blame *b, struct err *e) {
    struct cdc_name n;
    b->field = "table";
    enum verdict v = cdc_name_parse(src->spec.table, &src->arena, &n, e);
    if (v == V_OK)
        v = cdc_look(src->store, &n, false, &src->arena, &src->shape, e);
    if (v == V_NOT_FOUND)
        return V_INVALID;
    if (v != V_OK)
        return v;
    if (src->shape.refusal.p)
        return err_set(e, V_INVALID, "source", 0, "%.*s", STR_FMT(src->shape.refusal));
    struct fields f = {.src = src};
    src->fields = arena_zalloc(&src->arena, (src->shape.n_columns + 1) * sizeof *src->fields);
    v = db_run(src->store->db, SQL_SOURCE_COLUMNS,
               DB_VALS(DBI(src->shape.oid), DBT(src->shape.name)), take_field, &f, e);
    if (v == V_OK && f.n != src->shape.n_columns)
        return err_set(e, V_RETRY, "source", 0, "the table is being changed");
    return v;
}

static enum verdict find(const struct source *src, struct str name, bool write,
                         const struct cdc_column **ret, struct err *e) {
    const struct cdc_column *c = name.p ? cdc_column_of(&src->shape, name) : NULL;
    if (!c)
        return err_set(e, V_INVALID, "source", 0, "%.*s has no column '%.*s'",
                       STR_FMT(src->shape.name), STR_FMT(name));
    const struct source_field *f = source_field(src, c);
    if (write && !f->writable)
        return err_set(e, V_INVALID, "source", 0,
                       "column %.*s cannot be written: it is generated, or GRANT UPDATE ON it is "
                       "needed",
                       STR_FMT(c->name));
    if (!write && !f->readable)
        return err_set(e, V_INVALID, "source", 0, "column %.*s cannot be read: GRANT SELECT ON it",
                       STR_FMT(c->name));
    *ret = c;
    return V_OK;
}

static enum verdict check_key(struct source *src, struct err *e) {
    enum verdict v = find(src, src->spec.key, false, &src->key, e);
    if (v != V_OK)
        return v;
    const struct source_field *f = source_field(src, src->key);
    if (!f->unique)
        return err_set(e, V_INVALID, "source", 0,
                       "column %.*s is not a key: it needs a unique index of its own, without a "
                       "condition",
                       STR_FMT(src->key->name));
    if (!source_key_kind(kind_of(src), src, f))
        return err_set(e, V_INVALID, "source", 0,
                       "column %.*s is %.*s: a key is an integer, a text%s",
                       STR_FMT(src->key->name), STR_FMT(f->type),
                       store_is_shared(src->store) ? " or a uuid" : "");
    return V_OK;
}

static enum verdict check_since(struct source *src, struct err *e) {
    if (!src->spec.since.p)
        return V_OK;
    enum verdict v = find(src, src->spec.since, true, &src->since, e);
    if (v != V_OK)
        return v;
    const struct source_field *f = source_field(src, src->since);
    if (!source_since_kind(kind_of(src), src, f))
        return err_set(e, V_INVALID, "source", 0,
                       "column %.*s is %.*s: it must be a timestamp, or a bigint for milliseconds",
                       STR_FMT(src->since->name), STR_FMT(f->type));
    if (!f->nullable)
        return err_set(e, V_INVALID, "source", 0,
                       "column %.*s is NOT NULL: there is nothing to write in a row that nobody "
                       "works on",
                       STR_FMT(src->since->name));
    return V_OK;
}

static enum verdict check_inputs(struct source *src, struct blame *b, struct err *e) {
    size_t n = src->spec.n_inputs;
    src->inputs = arena_zalloc(&src->arena, (n + 1) * sizeof(struct cdc_column *));
    for (b->index = 0; b->index < n; b->index++) {
        enum verdict v = find(src, src->spec.inputs[b->index], false, &src->inputs[b->index], e);
        if (v != V_OK)
            return v;
    }
    return V_OK;
}

/* A path into JSON knows no way to write these on SQLite. */
static bool is_path_name(struct str name) {
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '"' || name.p[i] == '\\' || (unsigned char)name.p[i] < ' ')
            return false;
    return true;
}

static enum verdict check_output(struct source *src, size_t i, struct err *e) {
    struct str name = src->spec.outputs[i];
    enum verdict v = find(src, name, true, &src->outputs[i], e);
    if (v != V_OK)
        return v;
    const struct cdc_column *c = src->outputs[i];
    if (c == src->key || c == src->status || c == src->since)
        return err_set(e, V_INVALID, "source", 0, "column %.*s is not for results",
                       STR_FMT(c->name));
    for (size_t k = 0; k < i; k++)
        if (src->outputs[k] == c)
            return err_set(e, V_INVALID, "source", 0, "column %.*s is there twice",
                           STR_FMT(c->name));
    if (kind_of(src) == DB_SQLITE && !is_path_name(name))
        return err_set(e, V_INVALID, "source", 0,
                       "on SQLite a column for results has no quote, backslash or control "
                       "character in its name");
    source_describe(kind_of(src), source_field(src, c), &src->output_types[i]);
    return V_OK;
}

static enum verdict check_outputs(struct source *src, struct blame *b, struct err *e) {
    size_t n = src->spec.n_outputs;
    src->outputs = arena_zalloc(&src->arena, (n + 1) * sizeof(struct cdc_column *));
    src->output_types = arena_zalloc(&src->arena, (n + 1) * sizeof *src->output_types);
    enum verdict v = V_OK;
    for (b->index = 0; v == V_OK && b->index < n; b->index += v == V_OK)
        v = check_output(src, b->index, e);
    return v;
}

enum verdict source_probe(const struct source *src, const char *text, struct err *e) {
    struct db *db = src->store->db;
    int stmt;
    enum verdict v = db_add(db, "probe", text, &stmt, e);
    if (v != V_OK)
        return v;
    v = db_check(db, stmt, e);
    db_drop(db, stmt);
    return v == V_RETRY ? V_RETRY : v == V_OK ? V_OK : V_INVALID;
}

static enum verdict check_filter(struct source *src, struct err *e) {
    if (!src->spec.filter.p)
        return V_OK;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, SOURCE_SQL_MAX);
    enum verdict v = source_filter_check(kind_of(src), src->spec.filter, e);
    if (v == V_OK)
        v = source_fill(src, "SELECT 1 FROM {table} WHERE {filter}", &b, e);
    return v == V_OK ? source_probe(src, b.p, e) : v;
}

static enum verdict check_states(struct source *src, struct blame *b, struct err *e) {
    enum verdict v = V_OK;
    for (b->index = 0; v == V_OK && b->index < ROW_STATES; b->index += v == V_OK)
        v = source_state_check(src, b->index, e);
    return v;
}

static enum verdict check_sizes(const struct source_spec *spec, struct blame *b, struct err *e) {
    b->field = "name";
    if (!spec->name.p || !spec->name.n || spec->name.n > SOURCE_NAME_MAX)
        return err_set(e, V_INVALID, "source", 0, "a source has a name, of at most %d bytes",
                       SOURCE_NAME_MAX);
    b->field = spec->n_inputs > SOURCE_COLUMNS_MAX ? "inputs" : "outputs";
    if (spec->n_inputs > SOURCE_COLUMNS_MAX || spec->n_outputs > SOURCE_COLUMNS_MAX)
        return err_set(e, V_INVALID, "source", 0, "more than %d columns", SOURCE_COLUMNS_MAX);
    return V_OK;
}

static enum verdict check(struct source *src, struct blame *b, struct err *e) {
    enum verdict v = look(src, b, e);
    if (v == V_OK) {
        b->field = "key";
        v = check_key(src, e);
    }
    if (v == V_OK) {
        b->field = "status";
        v = find(src, src->spec.status, true, &src->status, e);
    }
    if (v == V_OK) {
        b->field = "since";
        v = check_since(src, e);
    }
    if (v == V_OK) {
        b->field = "filter";
        v = check_filter(src, e);
    }
    if (v == V_OK) {
        b->field = "states";
        v = check_states(src, b, e);
    }
    if (v == V_OK) {
        b->field = "inputs";
        v = check_inputs(src, b, e);
    }
    if (v == V_OK) {
        b->field = "outputs";
        v = check_outputs(src, b, e);
    }
    return v;
}

static enum verdict make_statement(struct source *src, const struct source_template *t, int *ret,
                                   struct err *e) {
    CLEANUP(strbuf_release) struct strbuf sql;
    char name[SOURCE_NAME_MAX + 64];
    strbuf_init(&sql, SOURCE_SQL_MAX);
    enum verdict v = source_fill(src, t->text, &sql, e);
    snprintf(name, sizeof name, "source %.*s: %s", STR_FMT(src->spec.name), t->name);
    if (v == V_OK)
        v = db_add(src->store->db, name, sql.p, ret, e);
    if (v == V_OK)
        v = db_check(src->store->db, *ret, e);
    return v;
}

static enum verdict make_statements(struct source *src, struct blame *b, struct err *e) {
    const struct source_template *all =
        store_is_shared(src->store) ? source_templates_pg : source_templates_sqlite;
    enum verdict v = V_OK;
    *b = (struct blame){.field = "table"};
    for (int i = 0; i < SRC_N && v == V_OK; i++)
        if (all[i].text)
            v = make_statement(src, &all[i], &src->stmts[i], e);
    return v;
}

enum verdict store_source_open(struct store *s, const struct source_spec *spec, struct source **ret,
                               const char **ret_field, size_t *ret_index, struct err *e) {
    struct source *src = xcalloc(1, sizeof *src);
    struct blame b = {.field = "table"};
    src->store = s;
    arena_init(&src->arena);
    for (int i = 0; i < SRC_N; i++)
        src->stmts[i] = -1;
    enum verdict v = check_sizes(spec, &b, e);
    if (v == V_OK) {
        copy_spec(src, spec);
        v = check(src, &b, e);
    }
    if (v == V_OK)
        v = make_statements(src, &b, e);
    if (v != V_OK) {
        *ret_field = b.field;
        *ret_index = b.index;
        store_source_close(src);
        return v;
    }
    *ret = src;
    return V_OK;
}

void store_source_close(struct source *src) {
    if (!src)
        return;
    for (int i = 0; i < SRC_N; i++)
        if (src->stmts[i] >= 0)
            db_drop(src->store->db, src->stmts[i]);
    arena_release(&src->arena);
    free(src);
}

const struct source_column *source_output(const struct source *src, size_t i) {
    return &src->output_types[i];
}

struct str source_schema(const struct source *src) {
    return src->shape.schema;
}

struct str source_table(const struct source *src) {
    return src->shape.name;
}

struct str source_status(const struct source *src) {
    return src->status->name;
}

struct str source_key(const struct source *src) {
    return src->key->name;
}
