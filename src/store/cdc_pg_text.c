/* The statements that log changes of a table on PostgreSQL, which cdc_pg_body.c puts together to a
 * function.
 *
 * What is written here must hold in any session of the user's, whatever its settings, and must run
 * no code of his: names are quoted and have their schema, those of functions, types and operators
 * too. Statements that join are not kept (EXECUTE): a plan made for one row would be kept for a
 * million.
 *
 * Each statement here makes a batch of the log; its number is drawn first, while the rows are
 * locked. */
#include "store/cdc_pg_int.h"
#include "store/feed.h"

#define PG DB_POSTGRES

void cdc_pg_add_ours(struct strbuf *out, const struct store *s) {
    cdc_add_name(out, str_of(s->schema));
    strbuf_addc(out, '.');
}

static void add_table(struct strbuf *out, const struct cdc_shape *t) {
    strbuf_adds(out, t->partitioned ? "" : "ONLY ");
    cdc_add_name(out, t->schema);
    strbuf_addc(out, '.');
    cdc_add_name(out, t->name);
}

static void add_column(struct strbuf *out, const char *row, const struct cdc_column *c) {
    strbuf_addf(out, "%s.", row);
    cdc_add_name(out, c->name);
}

/* The key as a JSON object. */
void cdc_pg_add_key(struct strbuf *out, const struct cdc_shape *t, const char *row) {
    if (!t->n_key) {
        strbuf_adds(out, "NULL::pg_catalog.text");
        return;
    }
    strbuf_adds(out, "pg_catalog.concat(");
    for (size_t i = 0; i < t->n_key; i++) {
        cdc_add_member(out, PG, i ? "," : "{", t->key[i]->name);
        strbuf_adds(out, t->key[i]->plain ? ", " : ", pg_catalog.to_json(");
        add_column(out, row, t->key[i]);
        strbuf_adds(out, t->key[i]->plain ? ", " : "), ");
    }
    strbuf_adds(out, "'}')");
}

/* The key as a text that differs when anything does, whatever the type thinks equal. */
void cdc_pg_add_key_text(struct strbuf *out, const struct cdc_shape *t, const char *row) {
    strbuf_adds(out, "(ROW(");
    for (size_t i = 0; i < t->n_key; i++) {
        strbuf_adds(out, i ? ", " : "");
        add_column(out, row, t->key[i]);
    }
    strbuf_adds(out, ")::pg_catalog.text COLLATE pg_catalog.\"C\")");
}

static void add_match(struct strbuf *out, const struct cdc_shape *t, const char *a, const char *b) {
    for (size_t i = 0; i < t->n_key; i++) {
        strbuf_adds(out, i ? " AND " : "");
        add_column(out, a, t->key[i]);
        strbuf_addf(out, " %.*s ", STR_FMT(t->key[i]->equals));
        add_column(out, b, t->key[i]);
    }
}

/* The row as JSON: "c" stands for it when columns are chosen, and then add_chosen() follows in
 * FROM. */
static void add_data(struct strbuf *out, const struct cdc_want *w, const char *row) {
    strbuf_addf(out, "pg_catalog.row_to_json(%s.*)::pg_catalog.text", w->columns ? "tain_c" : row);
}

static void add_chosen(struct strbuf *out, const struct cdc_want *w, const char *row) {
    if (!w->columns)
        return;
    strbuf_adds(out, " CROSS JOIN LATERAL (SELECT ");
    for (size_t i = 0; i < w->n_columns; i++) {
        strbuf_adds(out, i ? ", " : "");
        add_column(out, row, w->columns[i]);
    }
    strbuf_adds(out, ") AS tain_c");
}

static void add_log(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, "INSERT INTO ");
    cdc_pg_add_ours(x->out, x->s);
    strbuf_adds(x->out, "change_log (batch, at, part, n, bytes, table_id, action, keys, data) ");
}

/* "(SELECT key AS k, JSON AS j FROM", up to the row source. OFFSET 0 at its end has the JSON made
 * once. */
static void add_pair(const struct cdc_pg_text *x, const char *row) {
    strbuf_adds(x->out, "(SELECT ");
    cdc_pg_add_key(x->out, x->t, row);
    strbuf_adds(x->out, " AS k, ");
    add_data(x->out, x->w, row);
    strbuf_adds(x->out, " AS j FROM ");
}

/* The beginning of a statement, up to the row source. What it logs goes several to a row, see
 * change_log. */
static void add_begin(const struct cdc_pg_text *x, const char *row, const char *action) {
    add_log(x);
    strbuf_addf(x->out,
                "SELECT %s, %s, c.part, pg_catalog.count(*), "
                "coalesce(pg_catalog.sum(pg_catalog.octet_length(c.j)), 0), %d, '%s', "
                "pg_catalog.array_agg(c.k), pg_catalog.array_agg(c.j) FROM (SELECT d.k, "
                "CASE WHEN pg_catalog.octet_length(d.j)" OP(
                    "<=") "%zu THEN d.j END AS j, "
                          "pg_catalog.sum(pg_catalog.octet_length(d.j)" OP(
                              "+") "32) "
                                   "OVER (ROWS UNBOUNDED PRECEDING)" OP("/") "131072 AS part FROM ",
                x->batch, x->at, x->w->number, action, FEED_DATA_MAX);
    add_pair(x, row);
}

static void add_end(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, " OFFSET 0) AS d) AS c GROUP BY c.part");
}

/* " AS r JOIN the table AS t", or " AS r": the rows as they are now, or as they were handed over.
 */
static void add_source(const struct cdc_pg_text *x, const char *rows, bool again) {
    strbuf_addf(x->out, "%s AS r", rows);
    if (again) {
        strbuf_adds(x->out, " JOIN ");
        add_table(x->out, x->t);
        strbuf_adds(x->out, " AS t ON ");
        add_match(x->out, x->t, "t", "r");
    }
    add_chosen(x->out, x->w, again ? "t" : "r");
}

static void write_rows(const struct cdc_pg_text *x, const char *action, const char *rows,
                       bool again) {
    add_begin(x, again ? "t" : "r", action);
    add_source(x, rows, again);
    add_end(x);
}

static void add_gone(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, "NOT EXISTS (SELECT 1 FROM ");
    add_table(x->out, x->t);
    strbuf_adds(x->out, " AS t WHERE ");
    add_match(x->out, x->t, "t", "r");
    strbuf_addc(x->out, ')');
}

/* Rows that a DELETE took away, and that no one brought back. */
static void write_deleted(const struct cdc_pg_text *x) {
    add_begin(x, "r", "delete");
    add_source(x, x->old_rows, false);
    strbuf_adds(x->out, " WHERE ");
    add_gone(x);
    add_end(x);
}

/* Keys that an UPDATE left. */
static void write_left(const struct cdc_pg_text *x, bool again) {
    add_begin(x, "r", "delete");
    add_source(x, x->old_rows, false);
    strbuf_addf(x->out, " WHERE NOT EXISTS (SELECT 1 FROM %s AS n WHERE ", x->new_rows);
    cdc_pg_add_key_text(x->out, x->t, "n");
    strbuf_adds(x->out, OP("="));
    cdc_pg_add_key_text(x->out, x->t, "r");
    strbuf_adds(x->out, ")");
    if (again) {
        strbuf_adds(x->out, " AND ");
        add_gone(x);
    }
    add_end(x);
}

/* Keys that it came to, or those it stayed with. */
static void write_moved(const struct cdc_pg_text *x, bool again, bool stayed) {
    add_begin(x, again ? "t" : "r", stayed ? "update" : "insert");
    add_source(x, x->new_rows, again);
    strbuf_addf(x->out, " WHERE %sEXISTS (SELECT 1 FROM %s AS o WHERE ", stayed ? "" : "NOT ",
                x->old_rows);
    cdc_pg_add_key_text(x->out, x->t, "o");
    strbuf_adds(x->out, OP("="));
    cdc_pg_add_key_text(x->out, x->t, "r");
    strbuf_adds(x->out, ")");
    add_end(x);
}

void cdc_pg_add_sequence(const struct cdc_pg_text *x) {
    CLEANUP(strbuf_release) struct strbuf name;
    strbuf_init(&name, 1024);
    cdc_pg_add_ours(&name, x->s);
    strbuf_adds(&name, "change_log_batch_seq");
    strbuf_adds(x->out, "pg_catalog.nextval(");
    cdc_add_text(x->out, PG, strbuf_str(&name));
    strbuf_addc(x->out, ')');
}

static void begin_batch(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, INDENT "tain_batch := ");
    cdc_pg_add_sequence(x);
    strbuf_adds(x->out, ";\n" INDENT);
}

/* No row, but what is to be said of the whole table. */
void cdc_pg_write_resync(const struct cdc_pg_text *x, const char *action) {
    begin_batch(x);
    add_log(x);
    strbuf_addf(x->out, "VALUES (tain_batch, tain_at, 0, 1, 0, %d, '%s', '{NULL}', '{NULL}');\n",
                x->w->number, action);
}

void cdc_pg_write_piece(const struct cdc_pg_text *x, enum cdc_pg_piece p, bool again) {
    CLEANUP(strbuf_release) struct strbuf sql;
    strbuf_init(&sql, CDC_SCRIPT_MAX);
    struct cdc_pg_text inner = *x;
    inner.out = &sql;
    inner.batch = x->dynamic ? "$1" : x->batch;
    inner.at = x->dynamic ? "$2" : x->at;
    if (p == ROWS_INSERTED)
        write_rows(&inner, "insert", x->new_rows, again);
    else if (p == ROWS_DELETED)
        write_deleted(&inner);
    else if (p == KEYS_LEFT)
        write_left(&inner, again);
    else
        write_moved(&inner, again, p == KEYS_STAYED);
    begin_batch(x);
    if (x->dynamic) {
        strbuf_adds(x->out, "EXECUTE ");
        cdc_add_text(x->out, PG, strbuf_str(&sql));
        strbuf_adds(x->out, " USING tain_batch, tain_at");
    } else {
        strbuf_add_str(x->out, strbuf_str(&sql));
    }
    strbuf_adds(x->out, ";\n");
}

/* One row, as it was handed over; with `old`, that has its key still. */
void cdc_pg_write_one(const struct cdc_pg_text *x, const char *action, const char *rows,
                      const char *old) {
    add_log(x);
    strbuf_addf(x->out,
                "SELECT %s, %s, 0, 1, coalesce(pg_catalog.octet_length(c.j), 0), %d, '%s', "
                "ARRAY[c.k], ARRAY[c.j] FROM (SELECT d.k, "
                "CASE WHEN pg_catalog.octet_length(d.j)" OP("<=") "%zu THEN d.j END AS j FROM ",
                x->batch, x->at, x->w->number, action, FEED_DATA_MAX);
    add_pair(x, "r");
    add_source(x, rows, false);
    if (old) {
        strbuf_addf(x->out, " JOIN %s AS o ON ", old);
        cdc_pg_add_key_text(x->out, x->t, "o");
        strbuf_adds(x->out, OP("="));
        cdc_pg_add_key_text(x->out, x->t, "r");
    }
    if (!x->t->by_row)
        strbuf_addf(x->out, " WHERE (SELECT 1 FROM %s OFFSET 1 LIMIT 1) IS NULL", rows);
    strbuf_adds(x->out, " OFFSET 0) AS d) AS c;\n");
}

void cdc_pg_write_plain(const struct cdc_pg_text *x, const char *action, const char *rows) {
    begin_batch(x);
    if (x->t->by_row) {
        cdc_pg_write_one(x, action, rows, NULL);
    } else {
        write_rows(x, action, rows, false);
        strbuf_adds(x->out, ";\n");
    }
}

/* What healing asks: a row by its key, as it would be logged now. */
void cdc_pg_again(const struct cdc_shape *t, const struct cdc_want *w, struct strbuf *out) {
    strbuf_addf(out, "SELECT CASE WHEN octet_length(d.j) <= %zu THEN d.j END FROM (SELECT ",
                FEED_DATA_MAX);
    add_data(out, w, "t");
    strbuf_adds(out, " AS j FROM json_to_record($1) AS r(");
    for (size_t i = 0; i < t->n_key; i++) {
        strbuf_adds(out, i ? ", " : "");
        cdc_add_name(out, t->key[i]->name);
        strbuf_addf(out, " %.*s", STR_FMT(t->key[i]->type));
    }
    strbuf_adds(out, ") JOIN ");
    add_table(out, t);
    strbuf_adds(out, " AS t ON ");
    add_match(out, t, "t", "r");
    strbuf_adds(out, " AND ");
    cdc_pg_add_key_text(out, t, "t");
    strbuf_adds(out, " = ");
    cdc_pg_add_key_text(out, t, "r");
    add_chosen(out, w, "t");
    strbuf_adds(out, " OFFSET 0) AS d");
}
