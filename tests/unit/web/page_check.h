/* What must be true of every page of ours, read by eyes that know nothing of how it was made: known
 * tags with known attributes in double quotes, closed in order; no handler, no style, no address
 * with another scheme than http, https and mailto; a script element only with our own source, and
 * nothing in it. Everything else is text in which no character could begin or end markup. */
#ifndef TAIN_TESTS_WEB_PAGE_CHECK_H
#define TAIN_TESTS_WEB_PAGE_CHECK_H

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PAGE_CHECK_DEPTH 600

struct page_check {
    struct str open[PAGE_CHECK_DEPTH];
    size_t depth;
    char why[160];
};

static inline bool page_check_in(struct str word, const char *words) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, " %.*s ", STR_FMT(word));
    return word.n && word.n < 40 && strstr(words, wanted) != NULL;
}

static inline struct str page_check_word(struct str s) {
    size_t n = 0;
    while (n < s.n && (((s.p[n] | 32) >= 'a' && (s.p[n] | 32) <= 'z') || s.p[n] == '-' ||
                       (s.p[n] >= '0' && s.p[n] <= '9')))
        n++;
    return (struct str){s.p, n};
}

/* Text, or the value of an attribute: entities of ours, and no character that means something. */
static inline bool page_check_text(struct str s) {
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#x27;", "&#39;"};
    for (size_t i = 0, n; i < s.n; i += n) {
        struct str rest = {s.p + i, s.n - i};
        unsigned char c = (unsigned char)s.p[i];
        n = utf8_len((const unsigned char *)rest.p, rest.n);
        if (c == '&') {
            n = 0;
            for (size_t k = 0; k < ARRAY_LEN(entities); k++)
                if (str_starts(rest, entities[k]))
                    n = strlen(entities[k]);
        }
        if (!n || c == '<' || c == '>' || c == '"' || (c < ' ' && c != '\n' && c != '\t'))
            return false;
    }
    return true;
}

static inline bool page_check_address(struct str v) {
    return str_starts(v, "/") || str_starts(v, "#") ||
           (v.n > 7 && strncasecmp(v.p, "http://", 7) == 0) ||
           (v.n > 8 && strncasecmp(v.p, "https://", 8) == 0) || str_starts(v, "mailto:");
}

static inline bool page_check_attribute(struct page_check *k, struct str name, struct str value) {
    static const char known[] =
        " lang charset name content rel type href src class id tabindex role action method "
        "placeholder aria-label aria-current aria-hidden maxlength autocomplete enterkeyhint value "
        "aria-labelledby data-link data-pending data-wait data-state data-say http-equiv "
        "viewBox width height cx cy r d x y preserveAspectRatio datetime title start open min max ";
    bool address = page_check_in(name, " href src action ");
    if (!page_check_in(name, known))
        snprintf(k->why, sizeof k->why, "attribute %.*s", STR_FMT(name));
    else if (!page_check_text(value) || (address && memchr(value.p, '\n', value.n)))
        snprintf(k->why, sizeof k->why, "value of %.*s", STR_FMT(name));
    else if (address && (!page_check_address(value) || str_starts(value, "//")))
        snprintf(k->why, sizeof k->why, "address %.*s", STR_FMT(value));
    return !k->why[0];
}

/* Attributes up to the end of the tag; answers what is left behind the '>', p NULL when wrong. */
static inline struct str page_check_attributes(struct page_check *k, struct str s, bool *ret_self) {
    *ret_self = false;
    while (s.n && s.p[0] == ' ') {
        struct str name = page_check_word((struct str){s.p + 1, s.n - 1});
        const char *at = name.p + name.n, *end = s.p + s.n, *quote = NULL;
        struct str value = STR("");
        if (end - at > 2 && at[0] == '=' && at[1] == '"') {
            quote = memchr(at + 2, '"', (size_t)(end - at - 2));
            if (!quote)
                return STR_NONE;
            value = (struct str){at + 2, (size_t)(quote - at - 2)};
            at = quote + 1;
        }
        if (!page_check_attribute(k, name, value))
            return STR_NONE;
        s = (struct str){at, (size_t)(end - at)};
    }
    if (s.n > 1 && s.p[0] == '/') {
        *ret_self = true;
        s = (struct str){s.p + 1, s.n - 1};
    }
    return s.n && s.p[0] == '>' ? (struct str){s.p + 1, s.n - 1} : STR_NONE;
}

static inline struct str page_check_tag(struct page_check *k, struct str s) {
    static const char known[] =
        " html head title body main header footer nav section article details summary h1 h2 h3 p "
        "div span a abbr ul ol li form input button script link meta time svg circle path i b pre "
        "code meter em dl dt dd figure figcaption rect label select option mark noscript ";
    bool closing = s.n > 1 && s.p[1] == '/', self;
    struct str name = page_check_word((struct str){s.p + 1 + closing, s.n - 1 - closing});
    struct str rest = {name.p + name.n, s.n - (size_t)(name.p + name.n - s.p)};
    if (!page_check_in(name, known))
        return STR_NONE;
    if (closing) {
        bool fits = k->depth && str_eq(k->open[--k->depth], name) && rest.n && rest.p[0] == '>';
        return fits ? (struct str){rest.p + 1, rest.n - 1} : STR_NONE;
    }
    rest = page_check_attributes(k, rest, &self);
    if (rest.p && !self && !page_check_in(name, " meta link input ")) {
        if (k->depth == PAGE_CHECK_DEPTH || (str_eqc(name, "script") && !str_starts(rest, "</")))
            return STR_NONE;
        k->open[k->depth++] = name;
    }
    return rest;
}

/* NULL, or the place where something is wrong; k->why says what where it is known. */
static inline const char *page_check(struct page_check *k, struct str s) {
    static const char doctype[] = "<!DOCTYPE html>\n";
    k->depth = 0;
    k->why[0] = '\0';
    if (str_starts(s, doctype))
        s = (struct str){s.p + strlen(doctype), s.n - strlen(doctype)};
    while (s.n) {
        const char *less = memchr(s.p, '<', s.n);
        struct str text = {s.p, less ? (size_t)(less - s.p) : s.n};
        if (!page_check_text(text))
            return text.p;
        s = (struct str){text.p + text.n, s.n - text.n};
        if (!s.n)
            break;
        const char *here = s.p;
        s = page_check_tag(k, s);
        if (!s.p)
            return here;
    }
    return k->depth ? s.p : NULL;
}

#endif
