#include "enrich/request.h"

#include "enrich/json_copy.h"
#include "enrich/request_int.h"

#include <string.h>

struct cell {
    struct str name;
    struct json_read at; /* stands before the value */
};

struct row {
    struct cell cells[REQUEST_COLUMNS_MAX];
    size_t n;
};

/* A name given twice counts as given last, as everywhere here. */
static struct cell *cell_of(struct row *row, struct str name) {
    for (size_t i = 0; i < row->n; i++)
        if (str_eq(row->cells[i].name, name))
            return &row->cells[i];
    return NULL;
}

static enum verdict read_row(struct row *row, struct str text, struct arena *a, struct err *e) {
    struct json_read r;
    struct str name;
    bool first = true;
    row->n = 0;
    json_read_init(&r, a, text);
    if (json_peek(&r) != JSON_OBJECT)
        return err_set(e, V_INVALID, "request", 0, "the row is no JSON object");
    json_enter(&r);
    while (json_next_member(&r, &first, &name)) {
        struct cell *c = cell_of(row, name);
        if (!c && row->n == REQUEST_COLUMNS_MAX)
            return err_set(e, V_LIMIT, "request", 0, "the row has more than %d columns",
                           REQUEST_COLUMNS_MAX);
        if (!c)
            c = &row->cells[row->n++];
        *c = (struct cell){name, r};
        json_skip(&r);
    }
    return json_at_end(&r) ? V_OK : err_set(e, V_INVALID, "request", 0, "the row is broken JSON");
}

struct fill {
    struct row row;
    struct arena *a;
    struct err *e;
};

static enum verdict find(struct fill *f, struct str name, struct json_read *ret) {
    const struct cell *c = cell_of(&f->row, name);
    if (!c)
        return err_set(f->e, V_INVALID, "request", 0, "the row has no column %.*s", STR_FMT(name));
    *ret = c->at;
    return V_OK;
}

/* Texts and places joined. */
static enum verdict fill_text(struct fill *f, struct str text, struct strbuf *out) {
    struct piece p;
    while (piece_next(&text, &p)) {
        struct json_read value;
        if (p.kind == PIECE_TEXT) {
            strbuf_add_str(out, p.text);
            continue;
        }
        enum verdict v = find(f, p.text, &value);
        if (v != V_OK)
            return v;
        json_copy_text(&value, out);
    }
    return V_OK;
}

static bool is_one_place(struct str text, struct str *ret_name) {
    struct piece p;
    if (!piece_next(&text, &p) || p.kind != PIECE_PLACE || text.n > 0)
        return false;
    *ret_name = p.text;
    return true;
}

static enum verdict fill_string(struct fill *f, struct str text, struct strbuf *out) {
    struct str name;
    if (is_one_place(text, &name)) {
        struct json_read value;
        enum verdict v = find(f, name, &value);
        if (v == V_OK)
            json_copy_value(&value, out);
        return v;
    }
    struct strbuf joined;
    strbuf_init(&joined, REQUEST_MAX);
    enum verdict v = fill_text(f, text, &joined);
    strbuf_add_json(out, strbuf_str(&joined));
    out->overflow |= joined.overflow;
    strbuf_release(&joined);
    return v;
}

static enum verdict fill_value(struct fill *f, struct json_read *r, struct strbuf *out);

static enum verdict fill_list(struct fill *f, struct json_read *r, bool object,
                              struct strbuf *out) {
    struct str key;
    bool first = true;
    json_enter(r);
    strbuf_addc(out, object ? '{' : '[');
    for (bool begun = false;; begun = true) {
        if (!(object ? json_next_member(r, &first, &key) : json_next_element(r, &first)))
            break;
        if (begun)
            strbuf_addc(out, ',');
        if (object) {
            strbuf_add_json(out, key);
            strbuf_addc(out, ':');
        }
        enum verdict v = fill_value(f, r, out);
        if (v != V_OK)
            return v;
    }
    strbuf_addc(out, object ? '}' : ']');
    return V_OK;
}

/* The template was checked: it is JSON, and nested no deeper than json_read goes. */
static enum verdict fill_value(struct fill *f, struct json_read *r, struct strbuf *out) {
    struct str text;
    switch (json_peek(r)) {
    case JSON_STRING:
        return json_text(r, &text) ? fill_string(f, text, out) : V_OK;
    case JSON_OBJECT:
        return fill_list(f, r, true, out);
    case JSON_ARRAY:
        return fill_list(f, r, false, out);
    default:
        json_copy_value(r, out);
        return V_OK;
    }
}

static void add_encoded(struct strbuf *out, struct str s) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c && strchr(plain, c))
            strbuf_addc(out, (char)c);
        else
            strbuf_addf(out, "%%%02X", c);
    }
}

/* A client, a proxy or the service would resolve such a step, and another path would be asked. */
static bool has_dot_step(struct str path) {
    const char *query = memchr(path.p, '?', path.n);
    const char *end = query ? query : path.p + path.n;
    for (const char *p = path.p; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return true;
        p += n + 1;
    }
    return false;
}

static enum verdict fill_path(struct fill *f, struct str path, struct strbuf *out) {
    struct piece p;
    struct strbuf text;
    strbuf_init(&text, REQUEST_PATH_MAX);
    enum verdict v = V_OK;
    while (v == V_OK && piece_next(&path, &p)) {
        struct json_read value;
        if (p.kind == PIECE_TEXT) {
            strbuf_add_str(out, p.text);
            continue;
        }
        strbuf_clear(&text);
        v = find(f, p.text, &value);
        if (v == V_OK)
            json_copy_text(&value, &text);
        add_encoded(out, strbuf_str(&text));
        out->overflow |= text.overflow;
    }
    strbuf_release(&text);
    if (v == V_OK && has_dot_step(strbuf_str(out)))
        return err_set(f->e, V_INVALID, "request", 0,
                       "the row's values make a path with dots for a step");
    return v;
}

static enum verdict too_long(const struct strbuf *b, const char *what, struct err *e) {
    if (!b->overflow)
        return V_OK;
    return err_set(e, V_LIMIT, "request", 0, "the row makes a %s of more than %zu bytes", what,
                   b->max);
}

static enum verdict fill_into(struct fill *f, const struct request_template *t, struct strbuf *path,
                              struct strbuf *body) {
    struct json_read r;
    enum verdict v = fill_path(f, t->path, path);
    if (v == V_OK)
        v = too_long(path, "path", f->e);
    if (v != V_OK || !t->body.p)
        return v;
    json_read_init(&r, f->a, t->body);
    v = fill_value(f, &r, body);
    return v == V_OK ? too_long(body, "body", f->e) : v;
}

enum verdict request_fill(const struct request_template *t, struct str row, struct arena *a,
                          struct str *ret_path, struct str *ret_body, struct err *e) {
    struct fill f = {.a = a, .e = e};
    struct strbuf path, body;
    enum verdict v = read_row(&f.row, row, a, e);
    if (v != V_OK)
        return v;
    strbuf_init(&path, REQUEST_PATH_MAX);
    strbuf_init(&body, REQUEST_MAX);
    v = fill_into(&f, t, &path, &body);
    if (v == V_OK) {
        *ret_path = arena_str(a, strbuf_str(&path));
        *ret_body = t->body.p ? arena_str(a, strbuf_str(&body)) : STR_NONE;
    }
    strbuf_release(&path);
    strbuf_release(&body);
    return v;
}
