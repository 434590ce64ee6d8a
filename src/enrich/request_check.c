#include "enrich/request.h"

#include "enrich/request_int.h"
#include "hn/json_read.h"

struct check {
    struct arena *a;
    struct str *columns;
    size_t max, n;
    const char *what; /* "path" or "body" */
    struct err *e;
};

static enum verdict add_column(struct check *c, struct str name) {
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->columns[i], name))
            return V_OK;
    if (c->n == c->max)
        return err_set(c->e, V_INVALID, "config", 0, "%s: names more than %zu columns", c->what,
                       c->max);
    c->columns[c->n++] = arena_str(c->a, name);
    return V_OK;
}

static enum verdict check_pieces(struct check *c, struct str text) {
    struct piece p;
    while (piece_next(&text, &p)) {
        enum verdict v = p.kind == PIECE_PLACE ? add_column(c, p.text) : V_OK;
        if (v != V_OK)
            return v;
    }
    if (text.n == 0)
        return V_OK;
    return err_set(c->e, V_INVALID, "config", 0,
                   "%s: write a place as {column} and a brace as {{ or }}, not: %.*s", c->what,
                   (int)(text.n < 40 ? text.n : 40), text.p);
}

static enum verdict check_path(struct check *c, struct str path) {
    if (path.n == 0 || path.p[0] != '/')
        return err_set(c->e, V_INVALID, "config", 0, "path: must begin with a slash");
    enum verdict v = check_pieces(c, path);
    if (v != V_OK)
        return v;
    for (struct piece p; piece_next(&path, &p);)
        for (size_t i = 0; p.kind == PIECE_TEXT && i < p.text.n; i++)
            if (p.text.p[i] <= ' ' || p.text.p[i] > '~' || p.text.p[i] == '#')
                return err_set(c->e, V_INVALID, "config", 0,
                               "path: percent-encode blanks, # and what is not ASCII");
    return V_OK;
}

/* The body is known to be JSON, and not too deep. */
static enum verdict check_value(struct check *c, struct json_read *r) {
    struct str text;
    bool first = true;
    enum verdict v = V_OK;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_STRING)
        return json_text(r, &text) ? check_pieces(c, text) : V_OK;
    if (kind != JSON_ARRAY && kind != JSON_OBJECT) {
        json_skip(r);
        return V_OK;
    }
    json_enter(r);
    while (v == V_OK &&
           (kind == JSON_ARRAY ? json_next_element(r, &first) : json_next_member(r, &first, &text)))
        v = check_value(c, r);
    return v;
}

static enum verdict check_json(struct check *c, struct str body, int *ret_line) {
    enum verdict v = request_check_json(body, ret_line, c->e);
    if (v != V_OK)
        return v;
    struct json_read r;
    json_read_init(&r, c->a, body);
    json_skip(&r);
    if (json_at_end(&r))
        return V_OK;
    return err_set(c->e, V_INVALID, "config", 0, "body: nested more than %d deep", JSON_DEPTH_MAX);
}

static enum verdict check_body(struct check *c, struct str body, int *ret_line) {
    if (body.n > REQUEST_MAX)
        return err_set(c->e, V_INVALID, "config", 0, "body: longer than %zu bytes", REQUEST_MAX);
    enum verdict v = check_json(c, body, ret_line);
    if (v != V_OK)
        return v;
    struct json_read r;
    json_read_init(&r, c->a, body);
    v = check_value(c, &r);
    for (const char *p = body.p; v != V_OK && p < (const char *)r.p; p++)
        *ret_line += *p == '\n';
    return v;
}

enum verdict request_check(const struct request_template *t, struct arena *a, struct str *columns,
                           size_t max, size_t *ret_n, int *ret_line, struct err *e) {
    struct check c = {.a = a, .columns = columns, .max = max, .what = "path", .e = e};
    int line = 0;
    enum verdict v = V_OK;
    bool get = str_eqc(t->method, "GET");
    if (!get && !str_eqc(t->method, "POST"))
        return err_set(e, V_INVALID, "config", 0, "method: GET or POST");
    if (get && t->body.p)
        return err_set(e, V_INVALID, "config", 0, "body: a GET has none; write method = POST");
    v = check_path(&c, t->path);
    c.what = "body";
    if (v == V_OK && t->body.p)
        v = check_body(&c, t->body, &line);
    if (ret_line)
        *ret_line = line;
    *ret_n = c.n;
    return v;
}
