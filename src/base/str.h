/* Strings: `struct str` is a view that owns nothing (p == NULL means "absent", which is not the
 * same as empty), `struct strbuf` grows up to a maximum that its owner sets. */
#ifndef TAIN_BASE_STR_H
#define TAIN_BASE_STR_H

#include "base/attr.h"

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_NONE ((struct str){NULL, 0})
#define STR_FMT(s) (int)(s).n, (s).p ? (s).p : "" /* for "%.*s" */

struct str str_of(const char *cstring);  /* NULL gives STR_NONE */
bool str_eq(struct str a, struct str b); /* an absent string equals only an absent one */
bool str_eqc(struct str a, const char *cstring);
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
/* Decimal integer over the whole view; false when it is not one or does not fit. */
bool str_to_i64(struct str s, int64_t *ret);

/* A growing buffer. Always NUL-terminated. What would pass `max` is left out and sets
 * `overflow`, which the owner checks once at the end; nothing is added behind such a hole. */
struct strbuf {
    char *p;
    size_t n, cap, max;
    bool overflow;
};

void strbuf_init(struct strbuf *b, size_t max);
void strbuf_release(struct strbuf *b);
void strbuf_clear(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *bytes, size_t n);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_adds(struct strbuf *b, const char *cstring);
void strbuf_add_str(struct strbuf *b, struct str s);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The text as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void strbuf_add_json(struct strbuf *b, struct str s);
struct str strbuf_str(const struct strbuf *b);

/* Length of the valid UTF-8 sequence at p (1..4), or 0 when there is none within n bytes. */
size_t utf8_len(const unsigned char *p, size_t n);

#endif
