/* Text from elsewhere where people read it: on a terminal, in a log. What a terminal would obey
 * (control characters, the C1 ones too), or what makes a reader see another order than there is
 * (bidirectional overrides), must not get there as it is. Pure functions. */
#ifndef TAIN_BASE_SHOWN_H
#define TAIN_BASE_SHOWN_H

#include "base/str.h"

/* The length of the character at p when it must not be shown as it is, else 0. A line break and a
 * tab are such; what is no UTF-8 is such, byte by byte. */
size_t unshown_len(const char *p, size_t n);
/* The text in one line: line breaks and tabs as spaces, what must not be shown as U+FFFD. */
void strbuf_add_shown(struct strbuf *b, struct str s);
/* In place, without a change of length: all but line breaks and tabs as '?'. */
void shown_in_place(char *text);

#endif
