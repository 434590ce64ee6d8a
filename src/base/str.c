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

/* What may stand in a JSON string as it is; not ASCII is looked at more closely. */
static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

#define BYTES_OF(c) (0x0101010101010101ULL * (c))

/* The end of the plain run at p, eight bytes at a time: a byte with its high bit set, below 0x20,
 * or equal to one of the two leaves its high bit in the sum. False alarms lie above a true one
 * only, and the last steps are taken one by one. */
static size_t plain_run(const unsigned char *p, size_t n) {
    size_t i = 0;
    for (uint64_t x; n - i >= sizeof x; i += sizeof x) {
        memcpy(&x, p + i, sizeof x);
        uint64_t quote = x ^ BYTES_OF('"'), slash = x ^ BYTES_OF('\\');
        uint64_t hit = (x - BYTES_OF(0x20)) | (quote - BYTES_OF(1)) | (slash - BYTES_OF(1)) | x;
        if (hit & BYTES_OF(0x80))
            break;
    }
    while (i < n && is_plain(p[i]))
        i++;
    return i;
}

/* The length of what can be copied as it stands: plain bytes and whole UTF-8 sequences. */
static size_t clean_run(const unsigned char *p, size_t n) {
    size_t i = 0;
    while (i < n) {
        i += plain_run(p + i, n - i);
        size_t len = i < n && p[i] >= 0x80 ? utf8_len(p + i, n - i) : 0;
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

static void add_escaped(struct strbuf *b, unsigned char c) {
    switch (c) {
    case '"':
        strbuf_add(b, "\\\"", 2);
        break;
    case '\\':
        strbuf_add(b, "\\\\", 2);
        break;
    case '\n':
        strbuf_add(b, "\\n", 2);
        break;
    case '\r':
        strbuf_add(b, "\\r", 2);
        break;
    case '\t':
        strbuf_add(b, "\\t", 2);
        break;
    default:
        if (c < 0x20)
            strbuf_addf(b, "\\u%04x", c);
        else
            strbuf_adds(b, "\xEF\xBF\xBD");
    }
}

void strbuf_add_json(struct strbuf *b, struct str s) {
    const unsigned char *p = (const unsigned char *)s.p;
    strbuf_addc(b, '"');
    for (size_t i = 0; i < s.n;) {
        size_t run = clean_run(p + i, s.n - i);
        strbuf_add(b, p + i, run);
        i += run;
        if (i < s.n)
            add_escaped(b, p[i++]);
    }
    strbuf_addc(b, '"');
}

struct str strbuf_str(const struct strbuf *b) {
    return (struct str){b->p ? b->p : "", b->n};
}
