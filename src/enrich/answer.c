#include "enrich/answer.h"

#include "enrich/answer_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

PRINTF_LIKE(4, 5)
static void say(struct answer *ret, struct arena *a, enum answer_kind kind, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ret->kind = kind;
    ret->error = arena_str(a, str_of(text));
}

/* The whole body is looked at before any of it is believed. */
static bool is_json(struct str body, struct arena *a, struct json_read *ret) {
    struct json_read r;
    json_read_init(&r, a, body);
    *ret = r;
    json_skip(&r);
    return json_at_end(&r);
}

/* The first bytes, so that whoever reads the log sees whether it is a page of HTML. */
static void say_not_json(struct str body, struct arena *a, struct answer *ret) {
    char start[41];
    size_t n = 0;
    for (; n < body.n && n < sizeof start - 1; n++)
        start[n] = body.p[n] >= ' ' && body.p[n] <= '~' ? body.p[n] : '?';
    start[n] = '\0';
    say(ret, a, ANSWER_GARBAGE, "no JSON, or nested too deep: %zu bytes, beginning with: %s",
        body.n, start);
}

/* False: the answer has not the shape that the match rule expects. */
static bool look_for_match(const struct answer_rules *r, const struct json_read *root,
                           bool *ret_match) {
    struct json_read at;
    struct path_step step;
    struct str rest = r->match;
    *ret_match = false;
    enum path_found found = path_find(root, r->match, &at);
    if (found == PATH_THERE)
        *ret_match = json_counts(at);
    if (found != PATH_ABSENT)
        return found == PATH_THERE;
    path_next(&rest, true, &step);
    enum json_kind kind = json_peek(&(struct json_read){root->p, root->end, root->a, root->bad});
    if (rest.n == 0)
        return kind == (step.name.p ? JSON_OBJECT : JSON_ARRAY);
    struct str first = {r->match.p, r->match.n - rest.n};
    return !step.name.p || path_find(root, first, &at) == PATH_THERE;
}

static bool is_unsure(const struct answer_rules *r, const struct json_read *root,
                      struct str *ret_which) {
    for (size_t i = 0; i < r->n_unsure; i++) {
        struct json_read at;
        *ret_which = r->unsure[i];
        if (path_find(root, r->unsure[i], &at) == PATH_THERE && json_counts(at))
            return true;
    }
    return false;
}

/* Most rules of a map look into the same object: it is searched for once. */
struct parent {
    struct str path; /* absent: none yet */
    enum path_found found;
    struct json_read at;
};

/* The length of the path without its last step; 0 when it has one only. */
static size_t parent_length(struct str path) {
    struct str rest = path;
    struct path_step step;
    size_t length = 0;
    for (bool first = true; path_next(&rest, first, &step); first = false)
        if (rest.n > 0)
            length = path.n - rest.n;
    return length;
}

/* The last step by itself is a path of its own once its dot is gone. */
static enum path_found find_by_parent(struct parent *p, const struct json_read *root,
                                      struct str path, struct json_read *ret) {
    size_t n = parent_length(path);
    struct str parent = {path.p, n}, last = {path.p + n, path.n - n};
    if (n == 0)
        return path_find(root, path, ret);
    if (!str_eq(p->path, parent)) {
        p->path = parent;
        p->found = path_find(root, parent, &p->at);
    }
    if (p->found != PATH_THERE)
        return p->found;
    if (last.p[0] == '.')
        last = (struct str){last.p + 1, last.n - 1};
    return path_find(&p->at, last, ret);
}

struct reading {
    const struct answer_rules *rules;
    const struct source_column *(*column)(void *ctx, size_t i);
    void *ctx;
    struct arena *a;
    struct answer *ret;
};

static bool add_values(struct reading *g, const struct json_read *root, struct strbuf *out) {
    struct parent parent = {0};
    strbuf_addc(out, '{');
    for (size_t i = 0; i < g->rules->n_map; i++) {
        const struct map_rule *rule = &g->rules->map[i];
        struct json_read at;
        struct str error = STR_NONE;
        enum path_found found = find_by_parent(&parent, root, rule->from, &at);
        if (found == PATH_ASTRAY) {
            say(g->ret, g->a, ANSWER_GARBAGE, "%.*s: leads into something else",
                STR_FMT(rule->from));
            return false;
        }
        if (i > 0)
            strbuf_addc(out, ',');
        strbuf_add_json(out, rule->column);
        strbuf_addc(out, ':');
        const struct source_column *column = g->column ? g->column(g->ctx, i) : NULL;
        if (!value_add(rule, found == PATH_THERE ? &at : NULL, column, out, &error)) {
            say(g->ret, g->a, ANSWER_MISFIT, "%.*s from %.*s: %.*s", STR_FMT(rule->column),
                STR_FMT(rule->from), STR_FMT(error));
            return false;
        }
    }
    strbuf_addc(out, '}');
    if (out->overflow)
        say(g->ret, g->a, ANSWER_MISFIT, "the values are longer than %zu bytes", out->max);
    return !out->overflow;
}

static void read_match(struct reading *g, const struct json_read *root) {
    struct strbuf out;
    strbuf_init(&out, 2 * ANSWER_MAX);
    if (add_values(g, root, &out)) {
        g->ret->kind = ANSWER_MATCH;
        g->ret->values = arena_str(g->a, strbuf_str(&out));
    }
    strbuf_release(&out);
}

void answer_read(const struct answer_rules *r, struct str body,
                 const struct source_column *(*column)(void *ctx, size_t i), void *ctx,
                 struct arena *a, struct answer *ret) {
    struct json_read root;
    struct str which;
    bool match;
    *ret = (struct answer){.kind = ANSWER_NO_MATCH};
    if (body.n > ANSWER_MAX)
        say(ret, a, ANSWER_GARBAGE, "%zu bytes, more than %zu", body.n, ANSWER_MAX);
    else if (!is_json(body, a, &root))
        say_not_json(body, a, ret);
    else if (look_for_match(r, &root, &match) && match)
        read_match(&(struct reading){r, column, ctx, a, ret}, &root);
    else if (is_unsure(r, &root, &which))
        say(ret, a, ANSWER_UNSURE, "no match, but %.*s is set: not to be believed", STR_FMT(which));
    else if (!look_for_match(r, &root, &match))
        say(ret, a, ANSWER_GARBAGE, "not of the shape: %.*s leads nowhere", STR_FMT(r->match));
}
