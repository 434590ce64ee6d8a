/* The functions that log a table on PostgreSQL. One per table, so that every statement in it is
 * planned once and no name is looked up at run time.
 *
 * What is written here must hold in any session of the user's, whatever its settings: names are
 * quoted and have their schema, operators too. Statements that join are not kept (EXECUTE): a plan
 * made for one row would be kept for a million.
 *
 * Each statement here makes a batch of the log; its number is drawn first, while the rows are
 * locked.
 *
 * A trigger of the user's may change the same table while a statement's own triggers wait. What is
 * inside logs first, though it happened last. So it leaves a mark, and what is outside then reads
 * its rows again instead of believing what it was handed: those that are gone it passes over, since
 * whoever took them away has said so. */
#include "store/cdc_int.h"
#include "store/feed.h"

#define PG DB_POSTGRES

/* What is being written, and from where it takes its rows. */
struct text {
    struct strbuf *out;
    const struct store *s;
    const struct cdc_shape *t;
    const struct cdc_want *w;
    const char *old_rows, *new_rows;
    const char *batch, *at; /* of what is logged: its number, and when */
    bool dynamic;           /* the text will be within an EXECUTE */
};

static void add_ours(struct strbuf *out, const struct store *s) {
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
static void add_key(struct strbuf *out, const struct cdc_shape *t, const char *row) {
    if (!t->n_key) {
        strbuf_adds(out, "NULL::text");
        return;
    }
    strbuf_adds(out, "concat(");
    for (size_t i = 0; i < t->n_key; i++) {
        cdc_add_member(out, PG, i ? "," : "{", t->key[i]->name);
        strbuf_adds(out, t->key[i]->plain ? ", " : ", to_json(");
        add_column(out, row, t->key[i]);
        strbuf_adds(out, t->key[i]->plain ? ", " : "), ");
    }
    strbuf_adds(out, "'}')");
}

/* The key as a text that differs when anything does, whatever the type thinks equal. */
static void add_key_text(struct strbuf *out, const struct cdc_shape *t, const char *row) {
    strbuf_adds(out, "(ROW(");
    for (size_t i = 0; i < t->n_key; i++) {
        strbuf_adds(out, i ? ", " : "");
        add_column(out, row, t->key[i]);
    }
    strbuf_adds(out, ")::text COLLATE \"C\")");
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
    strbuf_addf(out, "row_to_json(%s.*)::text", w->columns ? "tain_c" : row);
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

static void add_log(const struct text *x) {
    strbuf_adds(x->out, "INSERT INTO ");
    add_ours(x->out, x->s);
    strbuf_adds(x->out, "change_log (batch, at, part, n, bytes, table_id, action, keys, data) ");
}

/* "(SELECT key AS k, JSON AS j FROM", up to the row source. OFFSET 0 at its end has the JSON made
 * once. */
static void add_pair(const struct text *x, const char *row) {
    strbuf_adds(x->out, "(SELECT ");
    add_key(x->out, x->t, row);
    strbuf_adds(x->out, " AS k, ");
    add_data(x->out, x->w, row);
    strbuf_adds(x->out, " AS j FROM ");
}

/* The beginning of a statement, up to the row source. What it logs goes several to a row, see
 * change_log. */
static void add_begin(const struct text *x, const char *row, const char *action) {
    add_log(x);
    strbuf_addf(x->out,
                "SELECT %s, %s, c.part, count(*), coalesce(sum(octet_length(c.j)), 0), %d, '%s', "
                "array_agg(c.k), array_agg(c.j) FROM (SELECT d.k, CASE WHEN octet_length(d.j) <= "
                "%zu THEN d.j END AS j, sum(octet_length(d.j) + 32) "
                "OVER (ROWS UNBOUNDED PRECEDING) / 131072 AS part FROM ",
                x->batch, x->at, x->w->number, action, FEED_DATA_MAX);
    add_pair(x, row);
}

static void add_end(const struct text *x) {
    strbuf_adds(x->out, " OFFSET 0) AS d) AS c GROUP BY c.part");
}

/* " AS r JOIN the table AS t", or " AS r": the rows as they are now, or as they were handed over.
 */
static void add_source(const struct text *x, const char *rows, bool again) {
    strbuf_addf(x->out, "%s AS r", rows);
    if (again) {
        strbuf_adds(x->out, " JOIN ");
        add_table(x->out, x->t);
        strbuf_adds(x->out, " AS t ON ");
        add_match(x->out, x->t, "t", "r");
    }
    add_chosen(x->out, x->w, again ? "t" : "r");
}

static void write_rows(const struct text *x, const char *action, const char *rows, bool again) {
    add_begin(x, again ? "t" : "r", action);
    add_source(x, rows, again);
    add_end(x);
}

static void add_gone(const struct text *x) {
    strbuf_adds(x->out, "NOT EXISTS (SELECT 1 FROM ");
    add_table(x->out, x->t);
    strbuf_adds(x->out, " AS t WHERE ");
    add_match(x->out, x->t, "t", "r");
    strbuf_addc(x->out, ')');
}

/* Rows that a DELETE took away, and that no one brought back. */
static void write_deleted(const struct text *x) {
    add_begin(x, "r", "delete");
    add_source(x, x->old_rows, false);
    strbuf_adds(x->out, " WHERE ");
    add_gone(x);
    add_end(x);
}

/* Keys that an UPDATE left. */
static void write_left(const struct text *x, bool again) {
    add_begin(x, "r", "delete");
    add_source(x, x->old_rows, false);
    strbuf_addf(x->out, " WHERE NOT EXISTS (SELECT 1 FROM %s AS n WHERE ", x->new_rows);
    add_key_text(x->out, x->t, "n");
    strbuf_adds(x->out, " = ");
    add_key_text(x->out, x->t, "r");
    strbuf_adds(x->out, ")");
    if (again) {
        strbuf_adds(x->out, " AND ");
        add_gone(x);
    }
    add_end(x);
}

/* Keys that it came to, or those it stayed with. */
static void write_moved(const struct text *x, bool again, bool stayed) {
    add_begin(x, again ? "t" : "r", stayed ? "update" : "insert");
    add_source(x, x->new_rows, again);
    strbuf_addf(x->out, " WHERE %sEXISTS (SELECT 1 FROM %s AS o WHERE ", stayed ? "" : "NOT ",
                x->old_rows);
    add_key_text(x->out, x->t, "o");
    strbuf_adds(x->out, " = ");
    add_key_text(x->out, x->t, "r");
    strbuf_adds(x->out, ")");
    add_end(x);
}

static void add_sequence(const struct text *x) {
    CLEANUP(strbuf_release) struct strbuf name;
    strbuf_init(&name, 1024);
    add_ours(&name, x->s);
    strbuf_adds(&name, "change_log_batch_seq");
    strbuf_adds(x->out, "nextval(");
    cdc_add_text(x->out, PG, strbuf_str(&name));
    strbuf_addc(x->out, ')');
}

#define INDENT "                "

static void begin_batch(const struct text *x) {
    strbuf_adds(x->out, INDENT "tain_batch := ");
    add_sequence(x);
    strbuf_adds(x->out, ";\n" INDENT);
}

/* No row, but what is to be said of the whole table. */
static void write_resync(const struct text *x, const char *action) {
    begin_batch(x);
    add_log(x);
    strbuf_addf(x->out, "VALUES (tain_batch, tain_at, 0, 1, 0, %d, '%s', '{NULL}', '{NULL}');\n",
                x->w->number, action);
}

/* A statement of the function, as it stands or behind an EXECUTE. */
enum piece { ROWS_INSERTED, ROWS_DELETED, KEYS_LEFT, KEYS_STAYED, KEYS_COME };

static void write_piece(const struct text *x, enum piece p, bool again) {
    CLEANUP(strbuf_release) struct strbuf sql;
    strbuf_init(&sql, CDC_SCRIPT_MAX);
    struct text inner = *x;
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

static void write_keys(const struct text *x, bool again) {
    write_piece(x, KEYS_LEFT, again);
    write_piece(x, KEYS_COME, again);
    write_piece(x, KEYS_STAYED, again);
}

/* One row, as it was handed over; with `old`, that has its key still. */
static void write_one(const struct text *x, const char *action, const char *rows, const char *old) {
    add_log(x);
    strbuf_addf(x->out,
                "SELECT %s, %s, 0, 1, coalesce(octet_length(c.j), 0), %d, '%s', ARRAY[c.k], "
                "ARRAY[c.j] FROM (SELECT d.k, CASE WHEN octet_length(d.j) <= %zu THEN d.j END AS j "
                "FROM ",
                x->batch, x->at, x->w->number, action, FEED_DATA_MAX);
    add_pair(x, "r");
    add_source(x, rows, false);
    if (old) {
        strbuf_addf(x->out, " JOIN %s AS o ON ", old);
        add_key_text(x->out, x->t, "o");
        strbuf_adds(x->out, " = ");
        add_key_text(x->out, x->t, "r");
    }
    if (!x->t->by_row)
        strbuf_addf(x->out, " WHERE (SELECT 1 FROM %s OFFSET 1 LIMIT 1) IS NULL", rows);
    strbuf_adds(x->out, " OFFSET 0) AS d) AS c;\n");
}

static void write_single(const struct text *x, const char *op, const char *action, const char *rows,
                         const char *old) {
    strbuf_addf(x->out, "            %s\n" INDENT, op);
    write_one(x, action, rows, old);
}

/* Most statements change one row, and nothing is within another: these are logged at once. All
 * others find no row here. */
static void write_singles(const struct text *x) {
    CLEANUP(strbuf_release) struct strbuf number, now;
    strbuf_init(&number, 2048);
    strbuf_init(&now, 1024);
    struct text inner = *x;
    inner.out = &number;
    add_sequence(&inner);
    add_ours(&now, x->s);
    strbuf_adds(&now, "tain_now_ms()");
    inner = *x;
    inner.batch = number.p;
    inner.at = now.p;
    strbuf_addf(x->out,
                "        IF pg_trigger_depth() = 1 AND TG_OP <> 'TRUNCATE' AND "
                "coalesce(current_setting('tain.nested_%d', true), '') = '' THEN\n",
                x->w->number);
    write_single(&inner, "IF TG_OP = 'INSERT' THEN", "insert", x->new_rows, NULL);
    write_single(&inner, "ELSIF TG_OP = 'UPDATE' THEN", "update", x->new_rows,
                 x->t->n_key ? x->old_rows : NULL);
    write_single(&inner, "ELSE", "delete", x->old_rows, NULL);
    strbuf_adds(x->out, "            END IF;\n"
                        "            IF FOUND THEN\n"
                        "                RETURN NULL;\n"
                        "            END IF;\n"
                        "        END IF;\n");
}

static void write_plain(const struct text *x, const char *action, const char *rows) {
    begin_batch(x);
    if (x->t->by_row) {
        write_one(x, action, rows, NULL);
    } else {
        write_rows(x, action, rows, false);
        strbuf_adds(x->out, ";\n");
    }
}

/* Sums of hashes: whether the old keys and the new ones are the same set, without remembering them.
 */
static void add_key_sum(const struct text *x, const char *rows) {
    strbuf_adds(x->out, "(SELECT sum(hashtextextended(");
    add_key_text(x->out, x->t, "r");
    strbuf_addf(x->out, ", 0)) FROM %s AS r)", rows);
}

static void write_update(const struct text *x) {
    strbuf_adds(x->out, "        ELSIF TG_OP = 'UPDATE' THEN\n"
                        "            IF tain_again THEN\n");
    write_keys(x, true);
    strbuf_adds(x->out, "            ELSIF ");
    add_key_sum(x, x->old_rows);
    strbuf_adds(x->out, " = ");
    add_key_sum(x, x->new_rows);
    strbuf_adds(x->out, " THEN\n");
    write_plain(x, "update", x->new_rows);
    strbuf_adds(x->out, "            ELSE\n");
    write_keys(x, false);
    strbuf_adds(x->out, "            END IF;\n");
}

static void write_keyed(const struct text *x) {
    strbuf_adds(x->out, "        IF TG_OP = 'INSERT' THEN\n"
                        "            IF tain_again THEN\n");
    write_piece(x, ROWS_INSERTED, true);
    strbuf_adds(x->out, "            ELSE\n");
    write_plain(x, "insert", x->new_rows);
    strbuf_adds(x->out, "            END IF;\n");
    write_update(x);
    strbuf_adds(x->out, "        ELSIF TG_OP = 'DELETE' THEN\n"
                        "            IF tain_again THEN\n");
    write_piece(x, ROWS_DELETED, true);
    strbuf_adds(x->out, "            ELSE\n");
    write_plain(x, "delete", x->old_rows);
    strbuf_adds(x->out, "            END IF;\n");
}

static void write_keyless(const struct text *x) {
    strbuf_adds(x->out, "        IF tain_again AND TG_OP <> 'TRUNCATE' THEN\n");
    write_resync(x, "resync");
    strbuf_adds(x->out, "        ELSIF TG_OP = 'INSERT' THEN\n");
    write_plain(x, "insert", x->new_rows);
    strbuf_adds(x->out, "        ELSIF TG_OP = 'UPDATE' THEN\n");
    write_plain(x, "update", x->new_rows);
    strbuf_adds(x->out, "        ELSIF TG_OP = 'DELETE' THEN\n");
    write_plain(x, "delete", x->old_rows);
}

/* A note has the number that its change would have had: taken while the row is still locked. */
static void write_note(const struct text *x, const char *op, const char *one, const char *two) {
    strbuf_addf(x->out, "            %s INSERT INTO ", op);
    add_ours(x->out, x->s);
    strbuf_adds(x->out, "cdc_failures (batch, table_id, action, key, error, at) SELECT ");
    add_sequence(x);
    strbuf_addf(x->out, ", %d, lower(TG_OP), d.k, left(tain_why, 500), tain_at FROM (SELECT ",
                x->w->number);
    add_key(x->out, x->t, "r");
    strbuf_addf(x->out, " AS k FROM %s AS r", one);
    if (two) {
        strbuf_adds(x->out, " UNION SELECT ");
        add_key(x->out, x->t, "r");
        strbuf_addf(x->out, " FROM %s AS r ORDER BY 1", two);
    }
    strbuf_adds(x->out, ") AS d;\n");
}

static void write_handler(const struct text *x) {
    const char *now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    strbuf_addf(x->out,
                "    EXCEPTION WHEN OTHERS THEN\n"
                "        GET STACKED DIAGNOSTICS tain_why = MESSAGE_TEXT;\n"
                "        tain_at := %s;\n"
                "        BEGIN\n",
                now);
    if (x->t->n_key) {
        write_note(x,
                   x->t->anothers ? "IF tain_strange THEN RAISE; ELSIF TG_OP = 'INSERT' THEN"
                                  : "IF TG_OP = 'INSERT' THEN",
                   x->new_rows, NULL);
        write_note(x, "ELSIF TG_OP = 'DELETE' THEN", x->old_rows, NULL);
        write_note(x, "ELSIF TG_OP = 'UPDATE' THEN", x->old_rows, x->new_rows);
        strbuf_adds(x->out, "            ELSE RAISE; END IF;\n");
    } else {
        strbuf_adds(x->out, "            RAISE;\n");
    }
    strbuf_adds(x->out, "        EXCEPTION WHEN OTHERS THEN\n"
                        "            BEGIN\n"
                        "                INSERT INTO ");
    add_ours(x->out, x->s);
    strbuf_addf(x->out,
                "cdc_failures (table_id, action, error, at) VALUES (%d, lower(TG_OP), "
                "left(tain_why, 500), tain_at);\n"
                "            EXCEPTION WHEN OTHERS THEN\n"
                "                RAISE WARNING 'tain: a change of %% is neither logged nor noted: "
                "%%', TG_RELID::regclass, tain_why;\n"
                "            END;\n"
                "        END;\n"
                "    END;\n"
                "    RETURN NULL;\n"
                "END\n",
                x->w->number);
}

/* Before anything is made JSON, keys too; then only the table is noted. */
static void write_caution(const struct text *x) {
    if (!x->t->anothers)
        return;
    strbuf_adds(x->out, "        tain_strange := ");
    cdc_pg_add_strange(x->out);
    strbuf_adds(x->out, ";\n"
                        "        IF tain_strange THEN\n"
                        "            RAISE EXCEPTION 'a cast of a stranger''s';\n"
                        "        END IF;\n");
}

static void write_marks(const struct text *x) {
    strbuf_addf(x->out,
                "        tain_mark := current_setting('tain.nested_%d', true);\n"
                "        tain_depth := pg_trigger_depth();\n"
                "        IF tain_mark <> '' THEN\n"
                "            tain_again := split_part(tain_mark, '/', 1) = extract(epoch FROM "
                "statement_timestamp())::text AND split_part(tain_mark, '/', 2)::int > "
                "tain_depth;\n"
                "        END IF;\n"
                "        IF tain_depth > 1 AND NOT tain_again THEN\n"
                "            PERFORM set_config('tain.nested_%d', extract(epoch FROM "
                "statement_timestamp())::text || '/' || tain_depth, true);\n"
                "        END IF;\n",
                x->w->number, x->w->number);
}

void cdc_pg_body(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                 struct strbuf *out) {
    const struct text x = {
        .out = out,
        .s = s,
        .t = t,
        .w = w,
        .old_rows = t->by_row ? "(SELECT OLD.*)" : "tain_old",
        .new_rows = t->by_row ? "(SELECT NEW.*)" : "tain_new",
        .batch = "tain_batch",
        .at = "tain_at",
        .dynamic = !t->by_row,
    };
    if (cdc_pg_settings(t, w)) /* said here, since by its body a function is known to be current */
        strbuf_addf(out, "-- with settings of its own: %u\n", cdc_pg_settings(t, w));
    strbuf_adds(out, "#variable_conflict use_variable\n"
                     "DECLARE\n"
                     "    tain_at bigint;\n"
                     "    tain_batch bigint;\n"
                     "    tain_depth int;\n"
                     "    tain_mark text;\n"
                     "    tain_again boolean := false;\n"
                     "    tain_why text;\n");
    strbuf_adds(out, t->anothers ? "    tain_strange boolean := true;\n" : "");
    strbuf_adds(out, "BEGIN\n"
                     "    BEGIN\n");
    write_caution(&x);
    if (!t->by_row)
        write_singles(&x);
    strbuf_adds(out, "        tain_at := ");
    add_ours(out, s);
    strbuf_adds(out, "tain_now_ms();\n");
    write_marks(&x);
    if (t->n_key)
        write_keyed(&x);
    else
        write_keyless(&x);
    strbuf_adds(out, "        ELSE\n");
    write_resync(&x, "truncate");
    strbuf_adds(out, "        END IF;\n");
    write_handler(&x);
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
    add_key_text(out, t, "t");
    strbuf_adds(out, " = ");
    add_key_text(out, t, "r");
    add_chosen(out, w, "t");
    strbuf_adds(out, " OFFSET 0) AS d");
}
