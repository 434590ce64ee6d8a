/* What must be true of every safe text, read by eyes that know nothing of how it was made: the
 * known tags only, in the one form they are written in, nested in order; everything else is text
 * in which no character could begin or end markup. */
#ifndef TAIN_TESTS_HN_HTML_CHECK_H
#define TAIN_TESTS_HN_HTML_CHECK_H

#include "base/str.h"

#include <string.h>

#define HTML_CHECK_DEPTH 64

/* The length of `wanted` when s begins with it, else 0. */
static inline size_t html_check_at(struct str s, const char *wanted) {
    return str_starts(s, wanted) ? strlen(wanted) : 0;
}

/* The length of one character that stands for itself, or of an entity; 0 when it is neither. */
static inline size_t html_check_char(struct str s) {
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"};
    unsigned char c = (unsigned char)s.p[0];
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (html_check_at(s, entities[i]))
            return strlen(entities[i]);
    if (strchr("&<>\"'", c) || (c < ' ' && c != '\n' && c != '\t') || c == 0x7F)
        return 0; /* strchr finds NUL too */
    return utf8_len((const unsigned char *)s.p, s.n);
}

/* The length of a link's opening tag, 0 when it has another form or leads to another place. */
static inline size_t html_check_link(struct str s) {
    static const char end[] = "\" rel=\"nofollow noopener noreferrer\">";
    size_t n = html_check_at(s, "<a href=\"");
    bool followed = false;
    static const char *const schemes[] = {"http://", "https://", "mailto:"};
    for (size_t i = 0; n && i < ARRAY_LEN(schemes); i++) {
        size_t scheme = strlen(schemes[i]);
        followed |= s.n - n > scheme && strncasecmp(s.p + n, schemes[i], scheme) == 0;
    }
    if (!followed)
        return 0;
    while (n < s.n && s.p[n] != '"') {
        size_t c = html_check_char((struct str){s.p + n, s.n - n});
        if (c == 0 || (unsigned char)s.p[n] <= ' ')
            return 0;
        n += c;
    }
    size_t rest = html_check_at((struct str){s.p + n, s.n - n}, end);
    return rest ? n + rest : 0;
}

/* NULL, or the first place where something is wrong. */
static inline const char *html_check(struct str s) {
    static const char *const names[] = {"p>", "i>", "b>", "pre>", "code>", "a>"};
    size_t open[HTML_CHECK_DEPTH], depth = 0;
    while (s.n) {
        size_t n = 0, i, link = html_check_link(s);
        bool closing = html_check_at(s, "</") != 0;
        struct str name = {s.p + (closing ? 2 : 1), s.n > 2 ? s.n - (closing ? 2 : 1) : 0};
        for (i = 0; s.p[0] == '<' && !link && i < ARRAY_LEN(names) && !n; i++)
            n = html_check_at(name, names[i]);
        if (s.p[0] != '<') {
            n = html_check_char(s);
            if (n == 0)
                return s.p;
        } else if (closing) {
            if (!n || depth == 0 || open[--depth] != i - 1)
                return s.p;
            n += 2;
        } else {
            if ((!n && !link) || depth == HTML_CHECK_DEPTH || (n && i == ARRAY_LEN(names)))
                return s.p; /* an <a> without its address is none of ours */
            open[depth++] = link ? ARRAY_LEN(names) - 1 : i - 1;
            n = link ? link : n + 1;
        }
        s = (struct str){s.p + n, s.n - n};
    }
    return depth ? s.p : NULL;
}

/* The same of a text for our own pages: a link within the site has one of two forms, and everything
 * else is as ever. `scratch` is emptied and used; what is answered lies in it. */
static inline const char *html_check_page(struct str s, struct strbuf *scratch) {
    static const char *const pages[] = {"/item?id=", "/user?id="};
    size_t from = 0;
    strbuf_clear(scratch);
    for (size_t i = 0; i < s.n; i++) {
        struct str rest = {s.p + i, s.n - i};
        size_t n = html_check_at(rest, "<a href=\"");
        struct str href = {rest.p + n, rest.n - n};
        if (!n || (!str_starts(href, pages[0]) && !str_starts(href, pages[1])))
            continue;
        const char *quote = memchr(href.p, '"', href.n);
        if (!quote || quote[1] != '>')
            return rest.p;
        for (const char *p = href.p + strlen(pages[0]); p < quote; p++)
            if (!strchr("0123456789#-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *p))
                return rest.p;
        strbuf_add(scratch, s.p + from, i - from);
        strbuf_adds(scratch, "<a href=\"http://e\" rel=\"nofollow noopener noreferrer\">");
        from = (size_t)(quote + 2 - s.p);
    }
    strbuf_add(scratch, s.p + from, s.n - from);
    return html_check(strbuf_str(scratch));
}

#endif
