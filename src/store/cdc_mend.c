/* The command that mends a table's trouble, as it is typed into a shell. */
#include "store/cdc_int.h"

#include <string.h>

static bool is_plain(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", s.p[i]))
            return false;
    return s.n > 0;
}

/* In single quotes, where nothing but they have a meaning. */
static void add_quoted(struct strbuf *out, struct str s) {
    strbuf_addc(out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'')
            strbuf_adds(out, "'\\'");
        strbuf_addc(out, s.p[i]);
    }
    strbuf_addc(out, '\'');
}

static void add_table(struct strbuf *out, const struct cdc_table *t) {
    CLEANUP(strbuf_release) struct strbuf name;
    strbuf_init(&name, 1024);
    if (is_plain(t->schema) && is_plain(t->name)) {
        strbuf_addf(out, " --table %.*s.%.*s", STR_FMT(t->schema), STR_FMT(t->name));
        return;
    }
    cdc_add_name(&name, t->schema);
    strbuf_addc(&name, '.');
    cdc_add_name(&name, t->name);
    strbuf_adds(out, " --table ");
    add_quoted(out, strbuf_str(&name));
}

/* All that are logged, but the one that is gone. */
static void add_columns(struct strbuf *out, const struct str *names, size_t n, struct str gone) {
    CLEANUP(strbuf_release) struct strbuf list;
    bool plain = true;
    strbuf_init(&list, CDC_SCRIPT_MAX);
    for (size_t i = 0; i < n; i++) {
        if (gone.p && str_eq(names[i], gone))
            continue;
        strbuf_adds(&list, list.n ? "," : "");
        strbuf_add_str(&list, names[i]);
        plain = plain && is_plain(names[i]);
    }
    if (!list.n)
        return;
    strbuf_adds(out, " --columns ");
    if (plain)
        strbuf_add_str(out, strbuf_str(&list));
    else
        add_quoted(out, strbuf_str(&list));
}

struct str cdc_mend_install(struct arena *a, const struct cdc_table *t, struct str columns_json,
                            struct str gone) {
    CLEANUP(strbuf_release) struct strbuf b;
    struct str *names = NULL;
    size_t n = 0;
    strbuf_init(&b, CDC_SCRIPT_MAX);
    strbuf_adds(&b, "tain cdc install");
    add_table(&b, t);
    if (columns_json.p && cdc_names_read(a, columns_json, &names, &n))
        add_columns(&b, names, n, gone);
    if (t->is_public)
        strbuf_adds(&b, " --public");
    return arena_str(a, strbuf_str(&b));
}

struct str cdc_mend_remove(struct arena *a, const struct cdc_table *t) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, CDC_SCRIPT_MAX);
    strbuf_adds(&b, "tain cdc remove");
    add_table(&b, t);
    return arena_str(a, strbuf_str(&b));
}

struct str cdc_mend_enable(struct arena *a, const struct cdc_table *t) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, CDC_SCRIPT_MAX);
    strbuf_adds(&b, "ALTER TABLE ");
    cdc_add_name(&b, t->schema);
    strbuf_addc(&b, '.');
    cdc_add_name(&b, t->name);
    strbuf_adds(&b, " ENABLE TRIGGER USER");
    return arena_str(a, strbuf_str(&b));
}
