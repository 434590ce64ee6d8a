/* Fills the templates of a source's statements. Every name is quoted and every text a literal;
 * only the filter, which was checked, stands as it is. */
#include "store/claims_int.h"

#include <string.h>

static bool is_pg(const struct source *src) {
    return store_is_shared(src->store);
}

static enum db_kind kind_of(const struct source *src) {
    return is_pg(src) ? DB_POSTGRES : DB_SQLITE;
}

static void add_table(const struct source *src, struct strbuf *out) {
    cdc_add_name(out, src->shape.schema);
    strbuf_addc(out, '.');
    cdc_add_name(out, src->shape.name);
}

static void add_bare(const struct source *src, struct strbuf *out) {
    cdc_add_name(out, src->shape.name);
}

static void add_qualified(const struct source *src, struct str column, struct strbuf *out) {
    add_bare(src, out);
    strbuf_addc(out, '.');
    cdc_add_name(out, column);
}

static void add_key(const struct source *src, struct strbuf *out) {
    cdc_add_name(out, src->key->name);
}

static void add_status(const struct source *src, struct strbuf *out) {
    cdc_add_name(out, src->status->name);
}

static void add_source(const struct source *src, struct strbuf *out) {
    cdc_add_text(out, kind_of(src), src->spec.name);
}

static void add_state(const struct source *src, enum source_state state, struct strbuf *out) {
    cdc_add_text(out, kind_of(src), src->spec.states[state]);
}

static void add_pending(const struct source *src, struct strbuf *out) {
    add_state(src, ROW_PENDING, out);
}

static void add_busy(const struct source *src, struct strbuf *out) {
    add_state(src, ROW_BUSY, out);
}

static void add_match(const struct source *src, struct strbuf *out) {
    add_state(src, ROW_MATCH, out);
}

static void add_no_match(const struct source *src, struct strbuf *out) {
    add_state(src, ROW_NO_MATCH, out);
}

static void add_failed(const struct source *src, struct strbuf *out) {
    add_state(src, ROW_FAILED, out);
}

static void add_filter(const struct source *src, struct strbuf *out) {
    strbuf_adds(out, src->spec.filter.p ? "(" : "(1 = 1");
    strbuf_add_str(out, src->spec.filter);
    strbuf_addc(out, ')');
}

static void add_key_type(const struct source *src, struct strbuf *out) {
    static const char *const pg[] = {"bigint", "text", "uuid"};
    static const char *const sqlite[] = {"INTEGER", "TEXT", "TEXT"};
    strbuf_adds(out, (is_pg(src) ? pg : sqlite)[src->key_kind]);
}

/* The key of a claim that may be from a time when the source was another table. */
static void add_key_of_claim(const struct source *src, struct strbuf *out) {
    static const char *const guarded[] = {
        "CASE WHEN tain_s.tain_key ~ '^-?[0-9]{1,19}$' THEN tain_s.tain_key::bigint END",
        "tain_s.tain_key",
        "CASE WHEN tain_s.tain_key ~ '^[0-9a-f-]{36}$' THEN tain_s.tain_key::uuid END"};
    strbuf_adds(out, guarded[src->key_kind]);
}

static void add_key_there(const struct source *src, struct strbuf *out) {
    if (!src->key_nullable)
        return;
    strbuf_adds(out, " AND ");
    add_qualified(src, src->key->name, out);
    strbuf_adds(out, " IS NOT NULL");
}

static void add_status_type(const struct source *src, struct strbuf *out) {
    strbuf_add_str(out, src->status->type);
}

/* Their column, their database's clock. */
static void add_since_now(const struct source *src, struct strbuf *out) {
    if (src->since_kind == SINCE_NONE)
        return;
    strbuf_adds(out, ", ");
    cdc_add_name(out, src->since->name);
    if (src->since_kind == SINCE_MS)
        strbuf_adds(out, is_pg(src) ? " = (SELECT tain_now_ms())" : " = tain_now_ms()");
    else
        strbuf_adds(out, is_pg(src) ? " = now()"
                                    : " = strftime('%Y-%m-%d %H:%M:%f', tain_now_ms() / 1000.0, "
                                      "'unixepoch')");
}

static void add_since_none(const struct source *src, struct strbuf *out) {
    if (src->since_kind == SINCE_NONE)
        return;
    strbuf_adds(out, ", ");
    cdc_add_name(out, src->since->name);
    strbuf_adds(out, " = NULL");
}

/* Busy for so long that nobody is at work; where nothing is said of it, at once. */
static void add_stale(const struct source *src, struct strbuf *out) {
    if (src->since_kind == SINCE_NONE) {
        strbuf_adds(out, "(1 = 1)");
        return;
    }
    CLEANUP(strbuf_release) struct strbuf since;
    strbuf_init(&since, 4096);
    add_qualified(src, src->since->name, &since);
    strbuf_addf(out, "(%s IS NULL OR ", since.p);
    if (src->since_kind == SINCE_MS)
        strbuf_addf(out, "%s < %s - %d", since.p,
                    is_pg(src) ? "(SELECT tain_now_ms())" : "tain_now_ms()", SWEEP_GRACE_MS);
    else if (is_pg(src))
        strbuf_addf(out, "%s < now() - interval '%d milliseconds'", since.p, SWEEP_GRACE_MS);
    else
        strbuf_addf(out, "julianday(%s) < julianday((tain_now_ms() - %d) / 1000.0, 'unixepoch')",
                    since.p, SWEEP_GRACE_MS);
    strbuf_addc(out, ')');
}

/* A row of its own, since a function takes a hundred arguments at most. */
static void add_row_pg(const struct source *src, struct strbuf *out) {
    if (!src->spec.n_inputs) {
        strbuf_adds(out, "'{}'");
        return;
    }
    strbuf_adds(out, "(SELECT row_to_json(tain_in) FROM (SELECT ");
    for (size_t i = 0; i < src->spec.n_inputs; i++) {
        strbuf_adds(out, i ? ", " : "");
        add_qualified(src, src->inputs[i]->name, out);
        strbuf_adds(out, " AS ");
        cdc_add_name(out, src->spec.inputs[i]);
    }
    strbuf_adds(out, ") AS tain_in)");
}

/* Qualified everywhere: SQLite takes an unknown name in quotes for a text, if it stands alone.
 * Truth values and JSON are plain numbers and texts to SQLite, and bytes no JSON at all. */
static void add_input_sqlite(const struct source *src, size_t i, struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf c;
    struct source_column type;
    strbuf_init(&c, 1024);
    add_qualified(src, src->inputs[i]->name, &c);
    source_describe(DB_SQLITE, source_field(src, src->inputs[i]), &type);
    if (type.type == COLUMN_BOOL)
        strbuf_addf(out,
                    "json(CASE WHEN %s IS NULL THEN 'null' WHEN %s THEN 'true' ELSE 'false' END)",
                    c.p, c.p);
    else if (type.type == COLUMN_JSON)
        strbuf_addf(out, "json(CASE WHEN json_valid(%s) THEN %s ELSE json_quote(%s) END)", c.p, c.p,
                    c.p);
    else
        strbuf_addf(out, "CASE typeof(%s) WHEN 'blob' THEN hex(%s) ELSE %s END", c.p, c.p, c.p);
}

static void add_row_sqlite(const struct source *src, struct strbuf *out) {
    strbuf_adds(out, "json_object(");
    for (size_t i = 0; i < src->spec.n_inputs; i++) {
        strbuf_adds(out, i ? ", " : "");
        cdc_add_text(out, DB_SQLITE, src->spec.inputs[i]);
        strbuf_adds(out, ", ");
        add_input_sqlite(src, i, out);
    }
    strbuf_addc(out, ')');
}

static void add_row(const struct source *src, struct strbuf *out) {
    if (is_pg(src))
        add_row_pg(src, out);
    else
        add_row_sqlite(src, out);
}

/* Columns, values and their source: all columns at once, so that what is said of the row is looked
 * up and read once. */
static void add_set_names(const struct source *src, struct strbuf *out) {
    for (size_t i = 0; i < src->spec.n_outputs; i++) {
        strbuf_adds(out, ", ");
        cdc_add_name(out, src->outputs[i]->name);
    }
}

static void add_set_values(const struct source *src, struct strbuf *out) {
    for (size_t i = 0; i < src->spec.n_outputs; i++) {
        strbuf_adds(out, ", CASE WHEN tain_n.v ? ");
        cdc_add_text(out, DB_POSTGRES, src->spec.outputs[i]);
        strbuf_adds(out, " THEN tain_v.");
        cdc_add_name(out, src->spec.outputs[i]);
        strbuf_adds(out, " ELSE ");
        add_qualified(src, src->outputs[i]->name, out);
        strbuf_adds(out, " END");
    }
}

static void add_set_from(const struct source *src, struct strbuf *out) {
    if (!src->spec.n_outputs)
        return;
    strbuf_adds(out, ", jsonb_to_record(tain_n.v) AS tain_v (");
    for (size_t i = 0; i < src->spec.n_outputs; i++) {
        strbuf_adds(out, i ? ", " : "");
        cdc_add_name(out, src->spec.outputs[i]);
        strbuf_addc(out, ' ');
        strbuf_add_str(out, src->outputs[i]->type);
    }
    strbuf_addc(out, ')');
}

static void add_set_sqlite(const struct source *src, size_t i, struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf path, literal;
    strbuf_init(&path, 1024);
    strbuf_init(&literal, 2048);
    strbuf_adds(&path, "$.");
    cdc_add_name(&path, src->spec.outputs[i]);
    cdc_add_text(&literal, DB_SQLITE, strbuf_str(&path));
    strbuf_addf(out, " = CASE json_type(?3, %s) WHEN 'null' THEN NULL", literal.p);
    if (src->output_types[i].type == COLUMN_TEXT)
        strbuf_adds(out, " WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'");
    bool json = src->output_types[i].type == COLUMN_JSON;
    strbuf_addf(out, json ? " ELSE coalesce(?3 -> %s, " : " ELSE coalesce(json_extract(?3, %s), ",
                literal.p);
    add_qualified(src, src->outputs[i]->name, out);
    strbuf_adds(out, ") END");
}

/* What a finalize says of a column is set; of what it is silent, nothing changes. */
static void add_sets_sqlite(const struct source *src, struct strbuf *out) {
    for (size_t i = 0; i < src->spec.n_outputs; i++) {
        strbuf_adds(out, ", ");
        cdc_add_name(out, src->outputs[i]->name);
        add_set_sqlite(src, i, out);
    }
}

static void add_now(const struct source *src, struct strbuf *out) {
    strbuf_adds(out, is_pg(src) ? "(SELECT tain_now_ms())" : "tain_now_ms()");
}

/* A time that was written by a clock far ahead of ours holds nobody back. */
static void add_waiting(const struct source *src, struct strbuf *out) {
    strbuf_adds(out, "EXISTS (SELECT 1 FROM claims AS tain_x WHERE tain_x.source = ");
    add_source(src, out);
    strbuf_adds(out, " AND tain_x.key = CAST(");
    add_qualified(src, src->key->name, out);
    strbuf_adds(out, " AS TEXT) AND tain_x.next_try_at > ");
    add_now(src, out);
    strbuf_adds(out, " AND tain_x.updated_at <= ");
    add_now(src, out);
    strbuf_addf(out, " + %d)", CLOCK_SLACK_MS);
}

static void add_grace(const struct source *src UNUSED, struct strbuf *out) {
    strbuf_addf(out, "%d", SWEEP_GRACE_MS);
}

static void add_slack(const struct source *src UNUSED, struct strbuf *out) {
    strbuf_addf(out, "%d", CLOCK_SLACK_MS);
}

static void add_refused(const struct source *src UNUSED, struct strbuf *out) {
    strbuf_addf(out, "%d", SWEEP_REFUSED_MS - SWEEP_GRACE_MS);
}

/* Of a claim: nobody works on it any more. */
static void add_lapsed(const struct source *src, struct strbuf *out) {
    strbuf_adds(out, "(lease_until < ");
    add_now(src, out);
    strbuf_addf(out, " - %d OR updated_at > ", SWEEP_GRACE_MS);
    add_now(src, out);
    strbuf_addf(out, " + %d)", CLOCK_SLACK_MS);
}

/* How long a row waits at most whose worker has died again: each somewhere within it, so that what
 * died together does not come again together, and only one of them is left to blame. */
static void add_death_wait(const struct source *src UNUSED, struct strbuf *out) {
    strbuf_adds(out, "CASE tain_c.attempts WHEN 2 THEN 120000 WHEN 3 THEN 480000"
                     " WHEN 4 THEN 1920000 ELSE 3600000 END");
}

static void add_death(const struct source *src UNUSED, struct strbuf *out) {
    strbuf_adds(out, "'attempt ' || tain_c.attempts ||"
                     " ' has no end: its worker died, or lost the row'");
}

static const struct {
    const char *name;
    void (*add)(const struct source *src, struct strbuf *out);
} places[] = {
    {"table", add_table},
    {"name", add_bare},
    {"key", add_key},
    {"status", add_status},
    {"source", add_source},
    {"pending", add_pending},
    {"busy", add_busy},
    {"match", add_match},
    {"no_match", add_no_match},
    {"failed", add_failed},
    {"filter", add_filter},
    {"key_type", add_key_type},
    {"key_of_claim", add_key_of_claim},
    {"key_there", add_key_there},
    {"status_type", add_status_type},
    {"since_now", add_since_now},
    {"since_none", add_since_none},
    {"stale", add_stale},
    {"row", add_row},
    {"sets", add_sets_sqlite},
    {"set_names", add_set_names},
    {"set_values", add_set_values},
    {"set_from", add_set_from},
    {"now", add_now},
    {"waiting", add_waiting},
    {"grace", add_grace},
    {"slack", add_slack},
    {"lapsed", add_lapsed},
    {"refused", add_refused},
    {"death", add_death},
    {"death_wait", add_death_wait},
};

static bool fill_place(const struct source *src, struct str name, struct strbuf *out) {
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (str_eqc(name, places[i].name)) {
            places[i].add(src, out);
            return true;
        }
    return false;
}

enum verdict source_fill(const struct source *src, const char *text, struct strbuf *out,
                         struct err *e) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "{");
        strbuf_add(out, p, n);
        p += n;
        if (!*p)
            break;
        struct str name = {p + 1, strcspn(p + 1, "}")};
        if (!fill_place(src, name, out))
            return err_set(e, V_FATAL, "source", 0, "a template names {%.*s}", STR_FMT(name));
        p += name.n + 2;
    }
    return out->overflow ? err_set(e, V_LIMIT, "source", 0, "its statements are too long") : V_OK;
}
