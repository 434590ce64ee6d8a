#include "web/json_pretty.h"

#define DEPTH_MAX 256 /* deeper than that everything stands on the same margin */

struct printer {
    struct strbuf *out;
    int depth;
    bool object[DEPTH_MAX]; /* what we are in at each depth; the rest are arrays */
};

static bool in_object(const struct printer *p) {
    return p->depth > 0 && p->depth <= DEPTH_MAX && p->object[p->depth - 1];
}

/* Objects alone set the margin: an array stays on the line it began on. */
static void new_line(struct printer *p) {
    strbuf_addc(p->out, '\n');
    for (int i = 0; i < p->depth && i < DEPTH_MAX; i++)
        if (p->object[i])
            strbuf_adds(p->out, "  ");
}

static void open_level(struct printer *p, char c) {
    if (p->depth < DEPTH_MAX)
        p->object[p->depth] = c == '{';
    p->depth++;
    strbuf_addc(p->out, c);
    if (c == '{')
        new_line(p);
    else
        strbuf_addc(p->out, ' ');
}

static void close_level(struct printer *p, char c) {
    p->depth--;
    if (c == '}')
        new_line(p);
    else
        strbuf_addc(p->out, ' ');
    strbuf_addc(p->out, c);
}

static size_t string_end(struct str s, size_t at) {
    for (at++; at < s.n && s.p[at] != '"'; at++)
        if (s.p[at] == '\\')
            at++;
    return at < s.n ? at + 1 : s.n;
}

static void print_mark(struct printer *p, char c) {
    if (c == ':') {
        strbuf_adds(p->out, " : ");
    } else if (c == ',') {
        strbuf_addc(p->out, ',');
        if (in_object(p))
            new_line(p);
        else
            strbuf_addc(p->out, ' ');
    } else {
        strbuf_addc(p->out, c);
    }
}

void json_pretty(struct str s, struct strbuf *out) {
    struct printer p = {.out = out};
    for (size_t at = 0; at < s.n;) {
        char c = s.p[at], next = at + 1 < s.n ? s.p[at + 1] : 0;
        if (c == '"') {
            size_t end = string_end(s, at);
            strbuf_add(out, s.p + at, end - at);
            at = end;
            continue;
        }
        if ((c == '{' && next == '}') || (c == '[' && next == ']')) {
            strbuf_adds(out, c == '{' ? "{ }" : "[ ]");
            at += 2;
            continue;
        }
        if (c == '{' || c == '[')
            open_level(&p, c);
        else if (c == '}' || c == ']')
            close_level(&p, c);
        else
            print_mark(&p, c);
        at++;
    }
    strbuf_addc(out, '\n');
}
