/* The functions that log a table on PostgreSQL. One per table, so that every statement in it is
 * planned once and no name is looked up at run time; see cdc_pg_text.c on what may stand in it.
 *
 * A trigger of the user's may change the same table while a statement's own triggers wait. What is
 * inside logs first, though it happened last. So it leaves a mark, and what is outside then reads
 * its rows again instead of believing what it was handed: those that are gone it passes over, since
 * whoever took them away has said so. */
#include "store/cdc_pg_int.h"

/* As tain_now_ms(), whose text depends on the path. */
#define CLOCK "(extract(epoch FROM pg_catalog.clock_timestamp())" OP("*") "1000)::pg_catalog.int8"
#define NOW                                                                                    \
    "CASE WHEN pg_catalog.current_setting('tain.now_ms', true)" OP(                            \
        "<>") "'' THEN pg_catalog.current_setting('tain.now_ms')::pg_catalog.int8 ELSE " CLOCK \
              " END"
#define STATEMENT "extract(epoch FROM pg_catalog.statement_timestamp())::pg_catalog.text"
#define ZONE "pg_catalog.current_setting('timezone')"

/* The time zone is the one setting that most tables need, and most sessions have it right: then it
 * costs less to look than to set it. */
static bool zoned(const struct cdc_pg_text *x) {
    return cdc_pg_bare(x->t, x->w) && cdc_pg_settings(x->t, x->w);
}

static void write_keys(const struct cdc_pg_text *x, bool again) {
    cdc_pg_write_piece(x, KEYS_LEFT, again);
    cdc_pg_write_piece(x, KEYS_COME, again);
    cdc_pg_write_piece(x, KEYS_STAYED, again);
}

static void write_single(const struct cdc_pg_text *x, const char *op, const char *action,
                         const char *rows, const char *old) {
    strbuf_addf(x->out, "            %s\n" INDENT, op);
    cdc_pg_write_one(x, action, rows, old);
}

/* Most statements change one row, and nothing is within another: these are logged at once. All
 * others find no row here. */
static void write_singles(const struct cdc_pg_text *x) {
    CLEANUP(strbuf_release) struct strbuf number;
    strbuf_init(&number, 2048);
    struct cdc_pg_text inner = *x;
    inner.out = &number;
    cdc_pg_add_sequence(&inner);
    inner.out = x->out;
    inner.batch = number.p;
    inner.at = NOW;
    strbuf_addf(x->out,
                "        IF pg_catalog.pg_trigger_depth()" OP("=") "1 AND NOT " IS_OP(
                    "TRUNCATE") " AND coalesce(pg_catalog.current_setting('tain.nested_%d', true), "
                                "'')" OP("=") "''%s THEN\n",
                x->w->number,
                zoned(x) ? " AND (" ZONE OP("=") "'UTC' OR " ZONE OP("=") "'Etc/UTC')" : "");
    write_single(&inner, "IF " IS_OP("INSERT") " THEN", "insert", x->new_rows, NULL);
    write_single(&inner, "ELSIF " IS_OP("UPDATE") " THEN", "update", x->new_rows,
                 x->t->n_key ? x->old_rows : NULL);
    write_single(&inner, "ELSE", "delete", x->old_rows, NULL);
    strbuf_adds(x->out, "            END IF;\n"
                        "            IF FOUND THEN\n"
                        "                RETURN NULL;\n"
                        "            END IF;\n"
                        "        END IF;\n");
}

/* Sums of hashes: whether the old keys and the new ones are the same set, without remembering them.
 */
static void add_key_sum(const struct cdc_pg_text *x, const char *rows) {
    strbuf_adds(x->out, "(SELECT pg_catalog.sum(pg_catalog.hashtextextended(");
    cdc_pg_add_key_text(x->out, x->t, "r");
    strbuf_addf(x->out, ", 0)) FROM %s AS r)", rows);
}

static void write_update(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, "        ELSIF " IS_OP("UPDATE") " THEN\n"
                                                         "            IF tain_again THEN\n");
    write_keys(x, true);
    strbuf_adds(x->out, "            ELSIF ");
    add_key_sum(x, x->old_rows);
    strbuf_adds(x->out, OP("="));
    add_key_sum(x, x->new_rows);
    strbuf_adds(x->out, " THEN\n");
    cdc_pg_write_plain(x, "update", x->new_rows);
    strbuf_adds(x->out, "            ELSE\n");
    write_keys(x, false);
    strbuf_adds(x->out, "            END IF;\n");
}

static void write_keyed(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, "        IF " IS_OP("INSERT") " THEN\n"
                                                      "            IF tain_again THEN\n");
    cdc_pg_write_piece(x, ROWS_INSERTED, true);
    strbuf_adds(x->out, "            ELSE\n");
    cdc_pg_write_plain(x, "insert", x->new_rows);
    strbuf_adds(x->out, "            END IF;\n");
    write_update(x);
    strbuf_adds(x->out, "        ELSIF " IS_OP("DELETE") " THEN\n"
                                                         "            IF tain_again THEN\n");
    cdc_pg_write_piece(x, ROWS_DELETED, true);
    strbuf_adds(x->out, "            ELSE\n");
    cdc_pg_write_plain(x, "delete", x->old_rows);
    strbuf_adds(x->out, "            END IF;\n");
}

static void write_keyless(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, "        IF tain_again AND NOT " IS_OP("TRUNCATE") " THEN\n");
    cdc_pg_write_resync(x, "resync");
    strbuf_adds(x->out, "        ELSIF " IS_OP("INSERT") " THEN\n");
    cdc_pg_write_plain(x, "insert", x->new_rows);
    strbuf_adds(x->out, "        ELSIF " IS_OP("UPDATE") " THEN\n");
    cdc_pg_write_plain(x, "update", x->new_rows);
    strbuf_adds(x->out, "        ELSIF " IS_OP("DELETE") " THEN\n");
    cdc_pg_write_plain(x, "delete", x->old_rows);
}

/* A note has the number that its change would have had: taken while the row is still locked. */
static void write_note(const struct cdc_pg_text *x, const char *op, const char *one,
                       const char *two) {
    strbuf_addf(x->out, "            %s INSERT INTO ", op);
    cdc_pg_add_ours(x->out, x->s);
    strbuf_adds(x->out, "cdc_failures (batch, table_id, action, key, error, at) SELECT ");
    cdc_pg_add_sequence(x);
    strbuf_addf(
        x->out,
        ", %d, pg_catalog.lower(TG_OP), d.k, pg_catalog.left(tain_why, 500), tain_at FROM (SELECT ",
        x->w->number);
    cdc_pg_add_key(x->out, x->t, "r");
    strbuf_addf(x->out, " AS k FROM %s AS r", one);
    if (two) {
        strbuf_adds(x->out, " UNION SELECT ");
        cdc_pg_add_key(x->out, x->t, "r");
        strbuf_addf(x->out, " FROM %s AS r ORDER BY 1", two);
    }
    strbuf_adds(x->out, ") AS d;\n");
}

static void write_handler(const struct cdc_pg_text *x) {
    strbuf_adds(x->out, "    EXCEPTION WHEN OTHERS THEN\n"
                        "        GET STACKED DIAGNOSTICS tain_why = MESSAGE_TEXT;\n"
                        "        tain_at := " CLOCK ";\n"
                        "        BEGIN\n");
    if (x->t->n_key) {
        write_note(x,
                   x->t->anothers ? "IF tain_strange THEN RAISE; ELSIF " IS_OP("INSERT") " THEN"
                                  : "IF " IS_OP("INSERT") " THEN",
                   x->new_rows, NULL);
        write_note(x, "ELSIF " IS_OP("DELETE") " THEN", x->old_rows, NULL);
        write_note(x, "ELSIF " IS_OP("UPDATE") " THEN", x->old_rows, x->new_rows);
        strbuf_adds(x->out, "            ELSE RAISE; END IF;\n");
    } else {
        strbuf_adds(x->out, "            RAISE;\n");
    }
    strbuf_adds(x->out, "        EXCEPTION WHEN OTHERS THEN\n"
                        "            BEGIN\n"
                        "                INSERT INTO ");
    cdc_pg_add_ours(x->out, x->s);
    strbuf_addf(x->out,
                "cdc_failures (table_id, action, error, at) VALUES (%d, "
                "pg_catalog.lower(TG_OP), pg_catalog.left(tain_why, 500), tain_at);\n"
                "            EXCEPTION WHEN OTHERS THEN\n"
                "                RAISE WARNING 'tain: a change of %% is neither logged nor noted: "
                "%%', TG_RELID::pg_catalog.regclass, tain_why;\n"
                "            END;\n"
                "        END;\n"
                "    END;\n"
                "    RETURN NULL;\n"
                "END\n",
                x->w->number);
}

/* Before anything is made JSON, keys too; then only the table is noted. */
static void write_caution(const struct cdc_pg_text *x) {
    if (!x->t->anothers)
        return;
    strbuf_adds(x->out, "        tain_strange := ");
    cdc_pg_add_strange(x->out);
    strbuf_adds(x->out, ";\n"
                        "        IF tain_strange THEN\n"
                        "            RAISE EXCEPTION 'a cast of a stranger''s';\n"
                        "        END IF;\n");
}

static void write_marks(const struct cdc_pg_text *x) {
    strbuf_addf(x->out,
                "        tain_mark := pg_catalog.current_setting('tain.nested_%d', true);\n"
                "        tain_depth := pg_catalog.pg_trigger_depth();\n"
                "        IF tain_mark" OP(
                    "<>") "'' THEN\n"
                          "            tain_again := pg_catalog.split_part(tain_mark, '/', 1)" OP(
                              "=") STATEMENT
                " AND pg_catalog.split_part(tain_mark, '/', 2)::pg_catalog.int4" OP(
                    ">") "tain_depth;\n"
                         "        END IF;\n"
                         "        IF tain_depth" OP(
                             ">") "1 AND NOT tain_again THEN\n"
                                  "            PERFORM pg_catalog.set_config('tain.nested_%d', "
                                  "pg_catalog.concat(" STATEMENT ", '/', tain_depth), true);\n"
                                  "        END IF;\n",
                x->w->number, x->w->number);
}

void cdc_pg_body(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                 struct strbuf *out) {
    const struct cdc_pg_text x = {
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
                     "    tain_at pg_catalog.int8;\n"
                     "    tain_batch pg_catalog.int8;\n"
                     "    tain_depth pg_catalog.int4;\n"
                     "    tain_mark pg_catalog.text;\n"
                     "    tain_zone pg_catalog.text;\n"
                     "    tain_again pg_catalog.bool := false;\n"
                     "    tain_why pg_catalog.text;\n");
    strbuf_adds(out, t->anothers ? "    tain_strange pg_catalog.bool := true;\n" : "");
    strbuf_adds(out, "BEGIN\n"
                     "    BEGIN\n");
    write_caution(&x);
    if (!t->by_row)
        write_singles(&x);
    if (zoned(&x))
        strbuf_adds(out, "        tain_zone := " ZONE ";\n"
                         "        PERFORM pg_catalog.set_config('timezone', 'UTC', true);\n");
    strbuf_adds(out, "        tain_at := " NOW ";\n");
    write_marks(&x);
    if (t->n_key)
        write_keyed(&x);
    else
        write_keyless(&x);
    strbuf_adds(out, "        ELSE\n");
    cdc_pg_write_resync(&x, "truncate");
    strbuf_adds(out, "        END IF;\n");
    if (zoned(&x))
        strbuf_adds(out, "        PERFORM pg_catalog.set_config('timezone', tain_zone, true);\n");
    write_handler(&x);
}
