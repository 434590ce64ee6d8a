/* Puts the functions of cdc_pg_text.c and their triggers in place, or takes them away. */
#include "store/cdc_int.h"

#include <stdio.h>

#define PG DB_POSTGRES
#define SETTING_ZONE 1u

/* By bit, as cdc.pg.sql says which type depends on which. */
static const char *const settings[] = {
    "timezone TO 'UTC'",           "extra_float_digits TO 1", "bytea_output TO 'hex'",
    "intervalstyle TO 'postgres'", "datestyle TO 'ISO, YMD'",
};

unsigned cdc_pg_settings(const struct cdc_shape *t, const struct cdc_want *w) {
    unsigned all = 0;
    for (size_t i = 0; i < t->n_key; i++)
        all |= t->key[i]->settings;
    for (size_t i = 0; w->columns && i < w->n_columns; i++)
        all |= w->columns[i]->settings;
    for (size_t i = 0; !w->columns && i < t->n_columns; i++)
        all |= t->columns[i].settings;
    return all;
}

bool cdc_pg_bare(const struct cdc_shape *t, const struct cdc_want *w) {
    return cdc_pg_settings(t, w) <= SETTING_ZONE && !t->anothers;
}

/* Each of them costs time in every statement, so there are none that no column needs. */
static void add_settings(struct strbuf *out, const struct cdc_shape *t, const struct cdc_want *w) {
    unsigned wanted = cdc_pg_settings(t, w);
    strbuf_adds(out, " SET search_path TO pg_catalog, pg_temp");
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (wanted & 1u << i)
            strbuf_addf(out, " SET %s", settings[i]);
}

static void add_function(const struct store *s, const char *name, int number, const char *args,
                         struct strbuf *out) {
    cdc_add_name(out, str_of(s->schema));
    strbuf_addf(out, ".%s_%d(%s)", name, number, args);
}

void cdc_pg_add_strange(struct strbuf *out) {
    strbuf_adds(out, "EXISTS (SELECT 1 FROM pg_catalog.pg_cast AS c"
                     " JOIN pg_catalog.pg_proc AS p ON p.oid = c.castfunc"
                     " JOIN pg_catalog.pg_roles AS o ON o.oid = p.proowner"
                     " WHERE NOT o.rolsuper AND o.rolname <> current_user)");
}

static void write_again(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                        struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf body;
    strbuf_init(&body, CDC_SCRIPT_MAX);
    if (t->anothers) {
        strbuf_adds(&body, "BEGIN\n    IF ");
        cdc_pg_add_strange(&body);
        strbuf_adds(&body, " THEN RAISE EXCEPTION 'a cast of a stranger''s'; END IF;\n"
                           "    RETURN QUERY ");
    }
    cdc_pg_again(t, w, &body);
    strbuf_adds(&body, t->anothers ? ";\nEND" : "");
    strbuf_adds(out, "CREATE OR REPLACE FUNCTION ");
    add_function(s, "cdc_again", w->number, "json", out);
    strbuf_adds(out, " RETURNS SETOF text LANGUAGE ");
    strbuf_adds(out, t->anothers ? "plpgsql VOLATILE" : "sql VOLATILE");
    add_settings(out, t, w);
    strbuf_adds(out, " AS ");
    cdc_add_text(out, PG, strbuf_str(&body));
    strbuf_adds(out, ";\nREVOKE ALL ON FUNCTION ");
    add_function(s, "cdc_again", w->number, "json", out);
    strbuf_adds(out, " FROM PUBLIC;\n");
}

/* The names begin with what sorts before any letter, so that they fire before the user's own. */
static void write_trigger(const struct store *s, const struct cdc_shape *t,
                          const struct cdc_want *w, const char *name, const char *clause,
                          struct strbuf *out) {
    char full[80];
    snprintf(full, sizeof full, "!%.40s_cdc_%s", s->schema, name);
    strbuf_adds(out, "CREATE TRIGGER ");
    cdc_add_name(out, str_of(full));
    strbuf_addf(out, " AFTER %s ON ", name[0] == 'r' ? "INSERT OR UPDATE OR DELETE" : name);
    cdc_add_name(out, t->schema);
    strbuf_addc(out, '.');
    cdc_add_name(out, t->name);
    strbuf_addf(out, "%s EXECUTE FUNCTION ", clause);
    add_function(s, "cdc_log", w->number, "", out);
    strbuf_adds(out, ";\n");
}

void cdc_pg_install(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                    struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf body;
    strbuf_init(&body, CDC_SCRIPT_MAX);
    cdc_pg_body(s, t, w, &body);
    cdc_pg_remove(s, w->number, out);
    strbuf_adds(out, "CREATE FUNCTION ");
    add_function(s, "cdc_log", w->number, "", out);
    strbuf_adds(out, " RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER");
    if (!cdc_pg_bare(t, w))
        add_settings(out, t, w);
    strbuf_adds(out, " AS ");
    cdc_add_text(out, PG, strbuf_str(&body));
    strbuf_adds(out, ";\nREVOKE ALL ON FUNCTION ");
    add_function(s, "cdc_log", w->number, "", out);
    strbuf_adds(out, " FROM PUBLIC;\n");
    if (t->n_key)
        write_again(s, t, w, out);
    if (t->by_row) {
        write_trigger(s, t, w, "row", " FOR EACH ROW", out);
    } else {
        write_trigger(s, t, w, "insert", " REFERENCING NEW TABLE AS tain_new FOR EACH STATEMENT",
                      out);
        write_trigger(s, t, w, "update",
                      " REFERENCING OLD TABLE AS tain_old NEW TABLE AS tain_new FOR EACH STATEMENT",
                      out);
        write_trigger(s, t, w, "delete", " REFERENCING OLD TABLE AS tain_old FOR EACH STATEMENT",
                      out);
    }
    write_trigger(s, t, w, "truncate", " FOR EACH STATEMENT", out);
    if (body.overflow)
        out->overflow = true;
}

/* The triggers go with their function; without it they could be dropped by the table's owner only.
 */
void cdc_pg_remove(const struct store *s, int number, struct strbuf *out) {
    strbuf_adds(out, "DROP FUNCTION IF EXISTS ");
    add_function(s, "cdc_log", number, "", out);
    strbuf_adds(out, " CASCADE;\nDROP FUNCTION IF EXISTS ");
    add_function(s, "cdc_again", number, "json", out);
    strbuf_adds(out, ";\n");
}
