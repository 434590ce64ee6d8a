#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct str str_of(const char *cstring) {
    return (struct str){cstring, cstring ? strlen(cstring) : 0};
}

bool str_eq(struct str a, struct str b) {
    if (!a.p || !b.p)
        return a.p == b.p;
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

bool str_eqc(struct str a, const char *cstring) {
    return str_eq(a, str_of(cstring));
}

bool str_starts(struct str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.p && s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool str_ends(struct str s, const char *suffix) {
    size_t n = strlen(suffix);
    return s.p && s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

bool str_to_i64(struct str s, int64_t *ret) {
    char copy[32];
    if (!s.p || s.n == 0 || s.n >= sizeof copy)
        return false;
    if (s.p[0] != '-' && (s.p[0] < '0' || s.p[0] > '9'))
        return false;
    memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    char *end;
    errno = 0;
    long long v = strtoll(copy, &end, 10);
    if (errno || end != copy + s.n)
        return false;
    *ret = v;
    return true;
}

void strbuf_init(struct strbuf *b, size_t max) {
    *b = (struct strbuf){.max = max};
}

void strbuf_release(struct strbuf *b) {
    free(b->p);
    *b = (struct strbuf){.max = b->max};
}

void strbuf_clear(struct strbuf *b) {
    b->n = 0;
    b->overflow = false;
    if (b->p)
        b->p[0] = '\0';
}

static bool strbuf_room(struct strbuf *b, size_t n) {
    if (b->overflow || n > b->max || b->n > b->max - n) {
        b->overflow = true;
        return false;
    }
    if (b->n + n + 1 > b->cap) {
        size_t cap = b->cap ? b->cap : 64;
        while (cap < b->n + n + 1)
            cap *= 2;
        b->p = xrealloc(b->p, cap);
        b->cap = cap;
    }
    return true;
}

void strbuf_add(struct strbuf *b, const void *bytes, size_t n) {
    if (!strbuf_room(b, n))
        return;
    if (n)
        memcpy(b->p + b->n, bytes, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void strbuf_addc(struct strbuf *b, char c) {
    strbuf_add(b, &c, 1);
}

void strbuf_adds(struct strbuf *b, const char *cstring) {
    strbuf_add(b, cstring, strlen(cstring));
}

void strbuf_add_str(struct strbuf *b, struct str s) {
    strbuf_add(b, s.p, s.n);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && strbuf_room(b, (size_t)n)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

size_t utf8_len(const unsigned char *p, size_t n) {
    if (n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || n < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xED && p[1] > 0x9F;
    bool beyond = p[0] == 0xF4 && p[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : len;
}

void strbuf_add_json(struct strbuf *b, struct str s) {
    strbuf_addc(b, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\') {
            strbuf_addc(b, '\\');
            strbuf_addc(b, (char)c);
            i++;
        } else if (c < 0x20) {
            const char *shorthand = c == '\n'   ? "\\n"
                                    : c == '\r' ? "\\r"
                                    : c == '\t' ? "\\t"
                                                : NULL;
            if (shorthand)
                strbuf_adds(b, shorthand);
            else
                strbuf_addf(b, "\\u%04x", c);
            i++;
        } else {
            size_t len = utf8_len((const unsigned char *)s.p + i, s.n - i);
            if (len)
                strbuf_add(b, s.p + i, len);
            else
                strbuf_adds(b, "\xEF\xBF\xBD");
            i += len ? len : 1;
        }
    }
    strbuf_addc(b, '"');
}

struct str strbuf_str(const struct strbuf *b) {
    return (struct str){b->p ? b->p : "", b->n};
}
