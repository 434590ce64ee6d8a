#include "hn/article_int.h"

#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 32
#define VALUE_MAX ((size_t)4096)
#define ATTRIBUTES_MAX 12
#define DEPTH_MAX 400 /* of elements that end by a tag of their own */

struct cursor {
    struct str s;
    size_t at;
    struct strbuf *out;
    size_t open, dropped; /* elements that are open, and those that were too deep to be opened */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char peek(const struct cursor *c, size_t ahead) {
    return c->at + ahead < c->s.n ? c->s.p[c->at + ahead] : '\0';
}

static void skip_past(struct cursor *c, const char *mark) {
    size_t n = strlen(mark);
    const char *found = memmem(c->s.p + c->at, c->s.n - c->at, mark, n);
    c->at = found ? (size_t)(found - c->s.p) + n : c->s.n;
}

static void add_escaped(struct strbuf *out, struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '<':
            strbuf_adds(out, "&lt;");
            break;
        case '>':
            strbuf_adds(out, "&gt;");
            break;
        case '"':
            strbuf_adds(out, "&quot;");
            break;
        default:
            strbuf_addc(out, s.p[i]);
        }
    }
}

/* The name at the cursor, lower-case. Answers its length; 0 when it is none that we know what to
 * do with. */
static size_t read_name(struct cursor *c, char name[NAME_MAX_BYTES]) {
    size_t n = 0;
    for (char ch; (ch = peek(c, 0)) && !is_blank(ch) && ch != '/' && ch != '>'; c->at++, n++)
        if (n < NAME_MAX_BYTES - 1)
            name[n] = (char)(ch >= 'A' && ch <= 'Z' ? ch + 32 : ch);
    name[n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES - 1] = '\0';
    for (size_t i = 0; i < n && i < NAME_MAX_BYTES - 1; i++)
        if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9') && name[i] != '-')
            return 0;
    return n < NAME_MAX_BYTES ? n : 0;
}

static struct str read_value(struct cursor *c) {
    char quote = peek(c, 0);
    size_t from;
    if (quote == '"' || quote == '\'') {
        from = ++c->at;
        const char *end = memchr(c->s.p + c->at, quote, c->s.n - c->at);
        size_t to = end ? (size_t)(end - c->s.p) : c->s.n;
        c->at = end ? to + 1 : to;
        return (struct str){c->s.p + from, to - from};
    }
    for (from = c->at; c->at < c->s.n && !is_blank(peek(c, 0)) && peek(c, 0) != '>'; c->at++)
        ;
    return (struct str){c->s.p + from, c->at - from};
}

static void skip_blanks(struct cursor *c) {
    while (c->at < c->s.n && is_blank(c->s.p[c->at]))
        c->at++;
}

/* One attribute; false at the end of the tag. */
static bool read_attribute(struct cursor *c, struct str *ret_name, struct str *ret_value) {
    while (c->at < c->s.n && (is_blank(peek(c, 0)) || peek(c, 0) == '/'))
        c->at++;
    if (c->at >= c->s.n || peek(c, 0) == '>')
        return false;
    size_t from = c->at++; /* whatever it is, even '=' */
    while (c->at < c->s.n && !is_blank(peek(c, 0)) && !strchr("/>=", peek(c, 0)))
        c->at++;
    *ret_name = (struct str){c->s.p + from, c->at - from};
    *ret_value = STR("");
    skip_blanks(c);
    if (peek(c, 0) == '=') {
        c->at++;
        skip_blanks(c);
        *ret_value = read_value(c);
    }
    return true;
}

static void add_attribute(struct strbuf *out, struct str name, struct str value) {
    static const char *const wanted[] = {"class", "id",       "role",    "hidden", "aria-hidden",
                                         "style", "href",     "name",    "rel",    "content",
                                         "lang",  "property", "itemprop"};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        if (name.n != strlen(wanted[i]) || strncasecmp(name.p, wanted[i], name.n) != 0)
            continue;
        size_t n = value.n;
        if (n > VALUE_MAX)
            for (n = VALUE_MAX; n > 0 && ((unsigned char)value.p[n] & 0xC0) == 0x80;)
                n--;
        strbuf_addc(out, ' ');
        strbuf_adds(out, wanted[i]);
        strbuf_adds(out, "=\"");
        add_escaped(out, (struct str){value.p, n});
        strbuf_addc(out, '"');
    }
}

/* What stands in them is no markup, and no text for readers. */
static bool is_raw(const char *name) {
    static const char *const raw[] = {"script", "style",   "textarea", "xmp",
                                      "iframe", "noembed", "noframes", NULL};
    return article_is_one_of(str_of(name), raw);
}

/* An element that stays open until its tag ends it: the only way down. */
static bool goes_down(const char *name) {
    static const char *const stays[] = {
        "area",  "base",  "br",   "col",   "dd",     "dt",    "embed", "hr",     "img",
        "input", "li",    "link", "meta",  "option", "p",     "param", "source", "tbody",
        "td",    "tfoot", "th",   "thead", "tr",     "track", "wbr",   NULL};
    return !article_is_one_of(str_of(name), stays);
}

/* Whether the tag is to be written. The text of what is too deep stands in what is above it. */
static bool enters(struct cursor *c, const char *name) {
    if (!goes_down(name))
        return true;
    bool fits = c->open < DEPTH_MAX;
    c->open += fits;
    c->dropped += !fits;
    return fits;
}

static bool leaves(struct cursor *c, const char *name) {
    if (!goes_down(name))
        return true;
    bool was_open = c->dropped == 0 && c->open > 0;
    c->open -= was_open;
    c->dropped -= c->dropped > 0;
    return was_open;
}

/* Where "</name" begins, or the end. */
static size_t end_of(const struct cursor *c, const char *name) {
    size_t n = strlen(name);
    for (size_t at = c->at; at + n + 2 <= c->s.n; at++) {
        const char *p = memchr(c->s.p + at, '<', c->s.n - at);
        if (!p)
            break;
        at = (size_t)(p - c->s.p);
        if (at + n + 2 <= c->s.n && p[1] == '/' && strncasecmp(p + 2, name, n) == 0)
            return at;
    }
    return c->s.n;
}

static void open_tag(struct cursor *c) {
    char name[NAME_MAX_BYTES];
    struct str attribute, value;
    int taken = 0;
    c->at++;
    bool known = read_name(c, name) > 0, raw = known && is_raw(name);
    known = known && (raw || enters(c, name));
    if (known && !raw) {
        strbuf_addc(c->out, '<');
        strbuf_adds(c->out, name);
    }
    while (read_attribute(c, &attribute, &value)) {
        size_t before = c->out->n;
        if (known && !raw && taken < ATTRIBUTES_MAX)
            add_attribute(c->out, attribute, value);
        taken += c->out->n > before;
    }
    c->at += c->at < c->s.n; /* the '>' */
    if (known && !raw)
        strbuf_addc(c->out, '>');
    if (raw) {
        c->at = end_of(c, name);
        skip_past(c, ">");
    } else if (known && strcmp(name, "title") == 0) {
        size_t end = end_of(c, name);
        add_escaped(c->out, (struct str){c->s.p + c->at, end - c->at});
        c->at = end;
    }
}

static void close_tag(struct cursor *c) {
    char name[NAME_MAX_BYTES];
    c->at += 2;
    if (read_name(c, name) > 0 && leaves(c, name)) {
        strbuf_adds(c->out, "</");
        strbuf_adds(c->out, name);
        strbuf_addc(c->out, '>');
    }
    skip_past(c, ">");
}

static void skip_comment(struct cursor *c) {
    if (peek(c, 4) == '>') {
        c->at += 5;
    } else if (peek(c, 4) == '-' && peek(c, 5) == '>') {
        c->at += 6;
    } else {
        c->at += 4;
        skip_past(c, "-->");
    }
}

static void markup(struct cursor *c) {
    if (is_letter(peek(c, 1))) {
        open_tag(c);
    } else if (peek(c, 1) == '/' && is_letter(peek(c, 2))) {
        close_tag(c);
    } else if (peek(c, 1) == '!' && peek(c, 2) == '-' && peek(c, 3) == '-') {
        skip_comment(c);
    } else if (peek(c, 1) == '!' || peek(c, 1) == '?' || peek(c, 1) == '/') {
        skip_past(c, ">");
    } else {
        strbuf_adds(c->out, "&lt;");
        c->at++;
    }
}

void article_tame(struct str html, struct strbuf *out) {
    struct cursor c = {.s = html, .out = out};
    while (c.at < html.n && !out->overflow) {
        const char *p = memchr(html.p + c.at, '<', html.n - c.at);
        size_t text = (p ? (size_t)(p - html.p) : html.n) - c.at;
        strbuf_add(out, html.p + c.at, text);
        c.at += text;
        if (p)
            markup(&c);
    }
}
