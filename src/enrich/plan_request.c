#include "enrich/plan_int.h"

#include <stdio.h>
#include <string.h>

static bool has_variable(const struct conf_entry *c) {
    return c && strstr(c->shown.p, "${");
}

/* What quotes the template may quote what the environment put there, whole or in part. */
static void hide_quotes(char *message) {
    static const char *const before[] = {" near ", ", not: "};
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        char *at = strstr(message, before[i]);
        if (at)
            *at = '\0';
    }
}

/* Checked as the row's own request will be made; the message begins with what is at fault. */
static enum verdict check(struct plan_reader *r, const struct conf_section *s,
                          struct plan_source *src, struct str *columns, size_t *ret_n) {
    struct err e;
    int line = 0;
    if (request_check(&src->request, r->a, columns, SOURCE_COLUMNS_MAX, ret_n, &line, &e) == V_OK)
        return V_OK;
    char key[16] = "";
    snprintf(key, sizeof key, "%.*s", (int)strcspn(e.msg, ":"), e.msg);
    const struct conf_entry *c = conf_get(s, key);
    if (has_variable(c))
        hide_quotes(e.msg);
    return plan_bad(r, (c ? c->line : s->line) + line, "%s", e.msg);
}

/* Where a column is named first. */
static int line_of_place(const struct conf_entry *body, const struct conf_entry *path,
                         struct str column) {
    char place[REQUEST_COLUMN_NAME_MAX + 3];
    snprintf(place, sizeof place, "{%.*s}", STR_FMT(column));
    if (strstr(path->text.p, place))
        return path->line;
    const char *at = body ? strstr(body->text.p, place) : NULL;
    int line = body ? body->line : path->line;
    for (const char *p = body ? body->text.p : NULL; p && at && p < at; p++)
        line += *p == '\n';
    return line;
}

enum verdict plan_read_request(struct plan_reader *r, const struct conf_section *s,
                               struct plan_source *ret) {
    static const char *const methods[] = {"GET", "POST"};
    const struct conf_entry *body = conf_get(s, "body"), *path = conf_get(s, "path");
    int method = body ? 1 : 0;
    size_t n;
    ret->lines.request = s->line;
    enum verdict v = plan_get_text(r, s, "path", 4000, "\"/...\"", &ret->request.path);
    if (v == V_OK)
        v = plan_get_text(r, s, "body", 100000, NULL, &ret->request.body);
    if (v == V_OK)
        v = plan_get_word(r, s, "method", methods, ARRAY_LEN(methods), &method);
    if (v != V_OK)
        return v;
    ret->request.method = str_of(methods[method]);
    struct str *columns = arena_alloc(r->a, SOURCE_COLUMNS_MAX * sizeof *columns);
    v = check(r, s, ret, columns, &n);
    if (v != V_OK)
        return v;
    int *lines = arena_alloc(r->a, (n + 1) * sizeof *lines);
    for (size_t i = 0; i < n; i++)
        lines[i] = line_of_place(body, path, columns[i]);
    ret->lines.inputs = lines;
    ret->spec.inputs = columns;
    ret->spec.n_inputs = n;
    return V_OK;
}
