/* Ids as text without printf, which strbuf_addf() would run twice: ids are most of an item, and all
 * of a burst. */
#ifndef TAIN_DEMO_DIGITS_H
#define TAIN_DEMO_DIGITS_H

#include "base/str.h"

/* v must not be negative. */
static inline void add_digits(struct strbuf *out, int64_t v) {
    char digits[24], *p = digits + sizeof digits;
    uint64_t u = (uint64_t)v;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    strbuf_add(out, p, (size_t)(digits + sizeof digits - p));
}

#endif
