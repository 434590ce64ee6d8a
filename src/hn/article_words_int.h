/* What the names of tags, classes and roles say of an element. Private to the room; no state. */
#ifndef TAIN_HN_ARTICLE_WORDS_INT_H
#define TAIN_HN_ARTICLE_WORDS_INT_H

#include "base/attr.h"

/* Beside the ARTICLE_ bits: */
enum {
    TAG_INLINE = 1 << 10, /* text goes on in it */
    TAG_HEADER = 1 << 11, /* of the page, or of an article */
    TAG_HEAD = 1 << 12,   /* where a page has its title */
};

struct word_signs {
    bool around, within; /* a word that speaks against it, and for it */
    bool may_be;         /* one that takes the former back */
};

unsigned words_of_tag(const char *name); /* lower-case; 0: a block */
void words_of_name(const char *name, struct word_signs *signs);
bool words_of_role(const char *role); /* something around an article */

#endif
