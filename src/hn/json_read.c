#include "hn/json_read.h"

#include <endian.h>
#include <string.h>

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL
#define REPLACEMENT "\xEF\xBF\xBD"
#define DIGITS_MAX 40 /* more significant digits than any int64 has, with room for zeros */

void json_read_init(struct json_read *r, struct arena *a, struct str body) {
    const unsigned char *p = (const unsigned char *)(body.p ? body.p : "");
    *r = (struct json_read){.p = p, .end = p + body.n, .a = a};
}

static bool fail(struct json_read *r) {
    r->bad = true;
    r->p = r->end;
    return false;
}

static inline void skip_space(struct json_read *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
}

static inline bool take(struct json_read *r, unsigned char c) {
    skip_space(r);
    if (r->p >= r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

enum json_kind json_peek(struct json_read *r) {
    skip_space(r);
    if (r->p >= r->end)
        return JSON_NOTHING;
    switch (*r->p) {
    case '"':
        return JSON_STRING;
    case '[':
        return JSON_ARRAY;
    case '{':
        return JSON_OBJECT;
    case 'n':
        return JSON_NULL;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    default:
        return *r->p == '-' || (*r->p >= '0' && *r->p <= '9') ? JSON_NUMBER : JSON_NOTHING;
    }
}

void json_enter(struct json_read *r) {
    if (r->p < r->end)
        r->p++;
}

/* Steps over the comma before any but the first entry; false at the closing bracket. */
static bool next_entry(struct json_read *r, bool *first, unsigned char close) {
    if (take(r, close))
        return false;
    if (!*first && !take(r, ','))
        return fail(r);
    *first = false;
    skip_space(r);
    return r->p < r->end ? true : fail(r);
}

bool json_next_element(struct json_read *r, bool *first) {
    return next_entry(r, first, ']');
}

/* The first byte that cannot be copied as it is: a quote, a backslash, NUL or not ASCII. Eight
 * bytes at a time; a borrow can only raise false alarms above a true one, so the lowest is right.
 */
static inline const unsigned char *plain_run(const unsigned char *p, const unsigned char *end) {
    while (end - p >= 8) {
        uint64_t x;
        memcpy(&x, p, sizeof x);
        x = le64toh(x);
        uint64_t quote = x ^ (ONES * '"'), slash = x ^ (ONES * '\\');
        uint64_t hit = ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | ((x - ONES) & ~x);
        hit = (hit | x) & HIGHS;
        if (hit)
            return p + (__builtin_ctzll(hit) >> 3);
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\' && *p != '\0' && *p < 0x80)
        p++;
    return p;
}

/* The quote that ends the string p is in, or NULL. */
static const unsigned char *closing_quote(const unsigned char *p, const unsigned char *end) {
    for (;;) {
        p = plain_run(p, end);
        if (p >= end)
            return NULL;
        if (*p == '"')
            return p;
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    }
}

static int hex4(const unsigned char *p, const unsigned char *end) {
    int v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int c = p[i], d;
        if (c >= '0' && c <= '9')
            d = c - '0';
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            d = (c | 32) - 'a' + 10;
        else
            return -1;
        v = v << 4 | d;
    }
    return v;
}

static char *put_code_point(char *to, unsigned c) {
    if (c == 0 || (c >= 0xD800 && c <= 0xDFFF))
        c = 0xFFFD;
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

/* p stands behind "\u". A high half without its low one is replaced alone: what follows it is
 * read for itself. */
static const unsigned char *unicode_escape(const unsigned char *p, const unsigned char *end,
                                           char **to) {
    int high = hex4(p, end);
    if (high < 0)
        return NULL;
    p += 4;
    unsigned c = (unsigned)high;
    if (c >= 0xD800 && c <= 0xDBFF && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int low = hex4(p + 2, end);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            c = 0x10000 + ((c - 0xD800) << 10) + ((unsigned)low - 0xDC00);
            p += 6;
        }
    }
    *to = put_code_point(*to, c);
    return p;
}

/* p stands at the backslash. NULL when there is no such escape. */
static const unsigned char *escape(const unsigned char *p, const unsigned char *end, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (end - p < 2)
        return NULL;
    if (p[1] == 'u')
        return unicode_escape(p + 2, end, to);
    const char *at = p[1] ? strchr(from, p[1]) : NULL;
    if (!at)
        return NULL;
    *(*to)++ = into[at - from];
    return p + 2;
}

/* The string from..close has something to decode. A byte becomes three at the most. */
static bool decode_string(struct json_read *r, const unsigned char *from,
                          const unsigned char *close, struct str *ret) {
    char *text = arena_alloc(r->a, (size_t)(close - from) * 3 + 1), *to = text;
    for (const unsigned char *p = from; p < close;) {
        const unsigned char *stop = plain_run(p, close);
        memcpy(to, p, (size_t)(stop - p));
        to += stop - p;
        p = stop;
        if (p == close)
            break;
        if (*p == '\\') {
            p = escape(p, close, &to);
            if (!p)
                return fail(r);
            continue;
        }
        size_t n = *p ? utf8_len(p, (size_t)(close - p)) : 0;
        memcpy(to, n ? (const char *)p : REPLACEMENT, n ? n : 3);
        to += n ? n : 3;
        p += n ? n : 1;
    }
    *to = '\0';
    *ret = (struct str){text, (size_t)(to - text)};
    arena_trim(r->a, text, ret->n + 1);
    return true;
}

bool json_text(struct json_read *r, struct str *ret) {
    if (!take(r, '"'))
        return fail(r);
    const unsigned char *from = r->p, *stop = plain_run(from, r->end);
    if (stop < r->end && *stop == '"') {
        r->p = stop + 1;
        *ret = arena_str(r->a, (struct str){(const char *)from, (size_t)(stop - from)});
        return true;
    }
    const unsigned char *close = closing_quote(stop, r->end);
    if (!close)
        return fail(r);
    r->p = close + 1;
    return decode_string(r, from, close, ret);
}

bool json_raw_string(struct json_read *r, struct str *ret) {
    if (!take(r, '"'))
        return fail(r);
    const unsigned char *from = r->p, *close = closing_quote(from, r->end);
    if (!close)
        return fail(r);
    r->p = close + 1;
    *ret = (struct str){(const char *)from, (size_t)(close - from)};
    return true;
}

bool json_next_member(struct json_read *r, bool *first, struct str *ret_key) {
    if (!next_entry(r, first, '}'))
        return false;
    if (!json_raw_string(r, ret_key))
        return false;
    if (memchr(ret_key->p, '\\', ret_key->n) &&
        !decode_string(r, (const unsigned char *)ret_key->p,
                       (const unsigned char *)ret_key->p + ret_key->n, ret_key))
        return false;
    return take(r, ':') ? true : fail(r);
}

static const unsigned char *digits(const unsigned char *p, const unsigned char *end) {
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* The end of the decimal at p, or NULL when there is none. */
static const unsigned char *decimal_end(const unsigned char *p, const unsigned char *end) {
    if (p < end && *p == '-')
        p++;
    const unsigned char *stop = digits(p, end);
    if (stop == p)
        return NULL;
    if (stop < end && *stop == '.') {
        p = stop + 1;
        stop = digits(p, end);
        if (stop == p)
            return NULL;
    }
    if (stop < end && (*stop | 32) == 'e') {
        p = stop + 1;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        stop = digits(p, end);
        if (stop == p)
            return NULL;
    }
    return stop;
}

bool json_raw_number(struct json_read *r, struct str *ret) {
    skip_space(r);
    const unsigned char *stop = decimal_end(r->p, r->end);
    if (!stop)
        return fail(r);
    *ret = (struct str){(const char *)r->p, (size_t)(stop - r->p)};
    r->p = stop;
    return true;
}

/* The significant digits of a decimal and where its point stands among them. */
struct decimal {
    char digit[DIGITS_MAX];
    int n;
    int64_t point;
};

/* False when a digit beyond DIGITS_MAX counts. Text is known to be a decimal without its sign. */
static bool read_decimal(const char *p, const char *end, struct decimal *d) {
    bool fraction = false;
    *d = (struct decimal){0};
    for (; p < end && (*p | 32) != 'e'; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        bool leading = *p == '0' && d->n == 0;
        if (fraction ? leading : !leading)
            d->point += fraction ? -1 : 1;
        if (leading)
            continue;
        if (d->n < DIGITS_MAX)
            d->digit[d->n++] = *p;
        else if (*p != '0')
            return false;
    }
    if (p == end)
        return true;
    int64_t exponent = 0;
    bool minus = *++p == '-';
    for (p += minus || *p == '+'; p < end; p++)
        exponent = exponent < 100000 ? exponent * 10 + (*p - '0') : exponent;
    d->point += minus ? -exponent : exponent;
    return true;
}

/* Integers written some other way than plain digits: seldom, so clear rather than fast, and exact
 * where strtod() would round (and obey the locale). */
static bool integer_of_decimal(struct str s, int64_t *ret) {
    struct decimal d;
    bool minus = s.p[0] == '-';
    if (!read_decimal(s.p + minus, s.p + s.n, &d))
        return false;
    while (d.n > 0 && d.digit[d.n - 1] == '0')
        d.n--;
    if (d.n == 0) {
        *ret = 0;
        return true;
    }
    if (d.point < d.n || d.point > 19)
        return false;
    int64_t v = 0;
    for (int i = 0; i < (int)d.point; i++) {
        int digit = i < d.n ? d.digit[i] - '0' : 0;
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, minus ? -digit : digit, &v))
            return false;
    }
    *ret = v;
    return true;
}

bool json_integer_of(struct str decimal, int64_t *ret) {
    if (decimal.n == 0)
        return false;
    const unsigned char *p = (const unsigned char *)decimal.p, *end = p + decimal.n;
    if (decimal.n <= 18 && digits(p, end) == end) {
        int64_t v = 0;
        for (; p < end; p++)
            v = v * 10 + (*p - '0');
        *ret = v;
        return true;
    }
    return decimal_end(p, end) == end && integer_of_decimal(decimal, ret);
}

static bool literal(struct json_read *r, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return fail(r);
    r->p += n;
    return true;
}

static void skip_nested(struct json_read *r, int depth) {
    struct str token;
    bool first = true;
    enum json_kind kind = json_peek(r);
    switch (kind) {
    case JSON_STRING:
        json_raw_string(r, &token);
        return;
    case JSON_NUMBER:
        json_raw_number(r, &token);
        return;
    case JSON_NULL:
    case JSON_TRUE:
    case JSON_FALSE:
        literal(r, kind == JSON_NULL ? "null" : kind == JSON_TRUE ? "true" : "false");
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (depth >= JSON_DEPTH_MAX) {
            fail(r);
            return;
        }
        json_enter(r);
        while (kind == JSON_ARRAY ? json_next_element(r, &first)
                                  : json_next_member(r, &first, &token))
            skip_nested(r, depth + 1);
        return;
    case JSON_NOTHING:
        break;
    }
    fail(r);
}

void json_skip(struct json_read *r) {
    skip_nested(r, 0);
}

bool json_at_end(struct json_read *r) {
    skip_space(r);
    return !r->bad && r->p == r->end;
}
