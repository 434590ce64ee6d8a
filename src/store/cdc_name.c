/* Names of tables and columns: as people write them, as SQL wants them, and as they are kept. */
#include "hn/json_read.h"
#include "store/cdc_int.h"

#include <string.h>

#define NAME_MAX_BYTES 255
#define JSON_MAX ((size_t)1024 * 1024)

static struct str lowered(struct arena *a, struct str s) {
    char *p = arena_alloc(a, s.n + 1);
    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + ('a' - 'A') : s.p[i]);
    p[s.n] = '\0';
    return (struct str){p, s.n};
}

/* One part, up to a dot or the end; what is left stays in *rest. */
static bool take_part(struct str *rest, struct arena *a, struct str *ret, struct str *ret_low) {
    const char *p = rest->p, *end = rest->p + rest->n;
    char *out = arena_alloc(a, rest->n + 1);
    size_t n = 0;
    bool quoted = p < end && *p == '"';
    if (quoted) {
        for (p++; p < end && !(*p == '"' && (p + 1 == end || p[1] != '"')); p++) {
            out[n++] = *p;
            p += *p == '"';
        }
        if (p++ >= end)
            return false;
    } else {
        for (; p < end && *p != '.' && *p != '"'; p++)
            out[n++] = *p;
    }
    out[n] = '\0';
    *rest = (struct str){p, (size_t)(end - p)};
    *ret = (struct str){out, n};
    *ret_low = quoted ? *ret : lowered(a, *ret);
    return n > 0 && n <= NAME_MAX_BYTES && !memchr(out, '\0', n) && (p == end || *p == '.');
}

enum verdict cdc_name_parse(struct str text, struct arena *a, struct cdc_name *ret, struct err *e) {
    struct cdc_name n = {0};
    struct str rest = text;
    bool good = text.n > 0 && take_part(&rest, a, &n.name, &n.name_low);
    if (good && rest.n) {
        rest = (struct str){rest.p + 1, rest.n - 1};
        n.schema = n.name;
        n.schema_low = n.name_low;
        good = take_part(&rest, a, &n.name, &n.name_low) && rest.n == 0;
    }
    if (!good)
        return err_set(e, V_INVALID, "cdc", 0,
                       "'%.*s' does not name a table: give TABLE or SCHEMA.TABLE, and a name with "
                       "a dot or a quote in it in double quotes",
                       (int)(text.n < 200 ? text.n : 200), text.p ? text.p : "");
    *ret = n;
    return V_OK;
}

void cdc_add_name(struct strbuf *out, struct str name) {
    strbuf_addc(out, '"');
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '"')
            strbuf_addc(out, '"');
        strbuf_addc(out, name.p[i]);
    }
    strbuf_addc(out, '"');
}

/* A backslash means nothing on SQLite. A session of PostgreSQL may have settings by which it does;
 * behind an E it always does. */
void cdc_add_text(struct strbuf *out, enum db_kind kind, struct str text) {
    bool slashed = kind == DB_POSTGRES && text.n && memchr(text.p, '\\', text.n);
    strbuf_adds(out, slashed ? "E'" : "'");
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || (text.p[i] == '\\' && slashed))
            strbuf_addc(out, text.p[i]);
        strbuf_addc(out, text.p[i]);
    }
    strbuf_addc(out, '\'');
}

void cdc_add_member(struct strbuf *out, enum db_kind kind, const char *before, struct str name) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, JSON_MAX);
    strbuf_adds(&b, before);
    strbuf_add_json(&b, name);
    strbuf_addc(&b, ':');
    cdc_add_text(out, kind, strbuf_str(&b));
}

struct str cdc_names_json(struct arena *a, const struct str *names, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, JSON_MAX);
    strbuf_addc(&b, '[');
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(&b, i ? "," : "");
        strbuf_add_json(&b, names[i]);
    }
    strbuf_addc(&b, ']');
    return arena_str(a, strbuf_str(&b));
}

bool cdc_names_read(struct arena *a, struct str json, struct str **ret, size_t *ret_n) {
    struct json_read r;
    bool first = true;
    json_read_init(&r, a, json);
    *ret = arena_alloc(a, CDC_COLUMNS_MAX * sizeof **ret);
    *ret_n = 0;
    if (json_peek(&r) != JSON_ARRAY)
        return false;
    json_enter(&r);
    while (json_next_element(&r, &first)) {
        if (*ret_n == CDC_COLUMNS_MAX || json_peek(&r) != JSON_STRING)
            return false;
        if (json_text(&r, &(*ret)[*ret_n]))
            ++*ret_n;
    }
    return !r.bad;
}
