/* The triggers that log a table on SQLite. They know only what SQLite knows by itself, so that any
 * program may write the table; and nothing in them can fail for what a row holds: JSON functions
 * refuse a BLOB and know no infinity, so values are written one by one.
 *
 * A trigger logs the row as it is in the table, not as it was handed over: another trigger may have
 * changed it meanwhile, and have logged that already.
 *
 * REPLACE takes rows away without a word when they stand in the way of a unique index. So they are
 * noted before, in cdc_failures, and when the new row is there, those of them that are gone are
 * logged as deleted. */
#include "store/cdc_int.h"
#include "store/feed.h"

#define LITE DB_SQLITE
#define CHUNK 40 /* columns in one pair of brackets: an expression must not be too deep */
#define NOW "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"

static void add_column(struct strbuf *out, const char *row, const struct cdc_column *c) {
    strbuf_addf(out, "%s.", row);
    cdc_add_name(out, c->name);
}

/* A value as JSON: numbers exact, infinities and BLOBs as texts, as PostgreSQL would write them. */
static void add_value(struct strbuf *out, const char *row, const struct cdc_column *c) {
    CLEANUP(strbuf_release) struct strbuf v;
    strbuf_init(&v, 4096);
    add_column(&v, row, c);
    strbuf_addf(out,
                "CASE typeof(%s) WHEN 'text' THEN json_quote(%s) WHEN 'integer' THEN %s WHEN "
                "'blob' THEN '\"\\\\x' || lower(hex(%s)) || '\"' WHEN 'real' THEN CASE WHEN %s > "
                "1.7976931348623157e308 THEN '\"Infinity\"' WHEN %s < -1.7976931348623157e308 THEN "
                "'\"-Infinity\"' WHEN CAST(printf('%%!.15g', %s) AS REAL) = %s THEN "
                "printf('%%!.15g', %s) ELSE printf('%%!.17g', %s) END ELSE 'null' END",
                v.p, v.p, v.p, v.p, v.p, v.p, v.p, v.p, v.p, v.p);
}

static void add_object(struct strbuf *out, const char *row, const struct cdc_column *const *columns,
                       size_t n) {
    strbuf_adds(out, "(''");
    for (size_t i = 0; i < n; i++) {
        if (i && i % CHUNK == 0)
            strbuf_adds(out, ") || (''");
        strbuf_adds(out, " || ");
        cdc_add_member(out, LITE, i ? "," : "{", columns[i]->name);
        strbuf_adds(out, " || ");
        add_value(out, row, columns[i]);
    }
    strbuf_adds(out, " || '}')");
}

static void add_key(struct strbuf *out, const struct cdc_shape *t, const char *row) {
    if (t->n_key)
        add_object(out, row, t->key, t->n_key);
    else
        strbuf_adds(out, "NULL");
}

static void add_size(struct strbuf *out, const char *row, const struct cdc_column *const *columns,
                     size_t n) {
    strbuf_adds(out, "(0");
    for (size_t i = 0; i < n; i++) {
        if (i && i % CHUNK == 0)
            strbuf_adds(out, ") + (0");
        strbuf_adds(out, " + ifnull(length(CAST(");
        add_column(out, row, columns[i]);
        strbuf_adds(out, " AS BLOB)), 0)");
    }
    strbuf_addc(out, ')');
}

static void add_data(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w,
                     const char *row) {
    const struct cdc_column *all[CDC_COLUMNS_MAX];
    size_t n = w->columns ? w->n_columns : t->n_columns;
    for (size_t i = 0; i < n; i++)
        all[i] = w->columns ? w->columns[i] : &t->columns[i];
    strbuf_adds(out, "CASE WHEN ");
    add_size(out, row, all, n);
    strbuf_addf(out, " <= %zu THEN ", FEED_DATA_MAX);
    add_object(out, row, all, n);
    strbuf_adds(out, " END");
}

/* Which row of the table it is. */
static void add_place(struct strbuf *out, const struct cdc_shape *t, const char *a, const char *b) {
    if (t->rowid.p) {
        strbuf_addf(out, "%s.%s = %s.%s", a, t->rowid.p, b, t->rowid.p);
        return;
    }
    for (size_t i = 0; i < t->n_key; i++) {
        strbuf_adds(out, i ? " AND " : "");
        add_column(out, a, t->key[i]);
        strbuf_adds(out, " = ");
        add_column(out, b, t->key[i]);
    }
}

/* Whether both have the same key, to the letter; the first comparison is the one that an index of
 * the column's own collation serves. */
static void add_same_key(struct strbuf *out, const struct cdc_shape *t, const char *a,
                         const char *b) {
    strbuf_addc(out, '(');
    for (size_t i = 0; i < t->n_key; i++) {
        strbuf_adds(out, i ? " AND " : "");
        add_column(out, a, t->key[i]);
        strbuf_adds(out, " IS ");
        add_column(out, b, t->key[i]);
        strbuf_adds(out, " AND ");
        add_column(out, a, t->key[i]);
        strbuf_adds(out, " COLLATE BINARY IS ");
        add_column(out, b, t->key[i]);
    }
    strbuf_adds(out, t->n_key ? ")" : "1)");
}

static void add_into_log(struct strbuf *out, const struct cdc_want *w, const char *action) {
    strbuf_addf(out,
                "    INSERT INTO change_log (table_id, action, key, data, at)\n"
                "    SELECT %d, %s, ",
                w->number, action);
}

static void write_now(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w,
                      const char *action) {
    add_into_log(out, w, action);
    add_key(out, t, "r");
    strbuf_adds(out, ", ");
    add_data(out, t, w, "r");
    strbuf_adds(out, ", " NOW "\n    FROM ");
    cdc_add_name(out, t->name);
    strbuf_adds(out, " AS r WHERE ");
    add_place(out, t, "r", "NEW");
    strbuf_adds(out, ";\n");
}

static void write_gone(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w,
                       bool moved) {
    add_into_log(out, w, "'delete'");
    add_key(out, t, "OLD");
    strbuf_adds(out, ", ");
    add_data(out, t, w, "OLD");
    strbuf_adds(out, ", " NOW "\n    WHERE ");
    if (moved) {
        strbuf_adds(out, "NOT ");
        add_same_key(out, t, "OLD", "NEW");
        strbuf_adds(out, " AND ");
    }
    strbuf_adds(out, "NOT EXISTS (SELECT 1 FROM ");
    cdc_add_name(out, t->name);
    strbuf_adds(out, " AS r WHERE ");
    if (t->n_key)
        add_same_key(out, t, "r", "OLD");
    else
        add_place(out, t, "r", "OLD");
    strbuf_adds(out, ");\n");
}

static void begin(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w,
                  const char *name, const char *event) {
    strbuf_addf(out, "CREATE TRIGGER tain_cdc_%d_%s %s ON ", w->number, name, event);
    cdc_add_name(out, t->name);
    strbuf_adds(out, " FOR EACH ROW BEGIN\n");
}

/* Rows that stand in the way of the new one. */
static void write_noting(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w,
                         const char *name, const char *event) {
    begin(out, t, w, name, event);
    strbuf_adds(out, "    INSERT INTO cdc_failures (seq, table_id, action, key, error, at)\n"
                     "    SELECT ");
    strbuf_addf(out, "%s%s, %d, 'delete', ", t->rowid.p ? "r." : "",
                t->rowid.p ? t->rowid.p : "NULL", w->number);
    add_key(out, t, "r");
    strbuf_adds(out, ", 'may be replaced', " NOW " FROM ");
    cdc_add_name(out, t->name);
    strbuf_addf(out, " AS r WHERE (%.*s) AND NOT ", STR_FMT(t->uniques));
    add_same_key(out, t, "r", "NEW");
    if (event[7] == 'U') {
        strbuf_adds(out, " AND NOT ");
        add_same_key(out, t, "r", "OLD");
    }
    strbuf_adds(out, ";\nEND;\n");
}

static void write_noted(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w) {
    strbuf_addf(out,
                "    INSERT INTO change_log (table_id, action, key, at)\n"
                "    SELECT %d, 'delete', f.key, " NOW " FROM cdc_failures AS f\n"
                "    WHERE f.table_id = %d AND NOT EXISTS (SELECT 1 FROM ",
                w->number, w->number);
    cdc_add_name(out, t->name);
    strbuf_adds(out, " AS r WHERE ");
    if (t->rowid.p) {
        strbuf_addf(out, "r.%s = f.seq", t->rowid.p);
    } else {
        add_key(out, t, "r");
        strbuf_adds(out, " = f.key");
    }
    strbuf_addf(out, ");\n    DELETE FROM cdc_failures WHERE table_id = %d;\n", w->number);
}

void cdc_sqlite_body(const struct cdc_shape *t, const struct cdc_want *w, struct strbuf *out) {
    bool noting = t->uniques.p && t->n_key;
    CLEANUP(strbuf_release) struct strbuf action;
    strbuf_init(&action, CDC_SCRIPT_MAX);
    strbuf_adds(&action, "CASE WHEN ");
    add_same_key(&action, t, "OLD", "NEW");
    strbuf_adds(&action, " THEN 'update' ELSE 'insert' END");
    if (noting) {
        write_noting(out, t, w, "insert_first", "BEFORE INSERT");
        write_noting(out, t, w, "update_first", "BEFORE UPDATE");
    }
    begin(out, t, w, "insert", "AFTER INSERT");
    if (noting)
        write_noted(out, t, w);
    write_now(out, t, w, "'insert'");
    strbuf_adds(out, "END;\n");
    begin(out, t, w, "update", "AFTER UPDATE");
    if (noting)
        write_noted(out, t, w);
    if (t->n_key)
        write_gone(out, t, w, true);
    write_now(out, t, w, action.p);
    strbuf_adds(out, "END;\n");
    begin(out, t, w, "delete", "AFTER DELETE");
    write_gone(out, t, w, false);
    strbuf_adds(out, "END;\n");
}

void cdc_sqlite_install(const struct cdc_shape *t, const struct cdc_want *w, struct strbuf *out) {
    cdc_sqlite_remove(w->number, out);
    cdc_sqlite_body(t, w, out);
}

void cdc_sqlite_remove(int number, struct strbuf *out) {
    static const char *const names[] = {"insert_first", "update_first", "insert", "update",
                                        "delete"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        strbuf_addf(out, "DROP TRIGGER IF EXISTS tain_cdc_%d_%s;\n", number, names[i]);
}
