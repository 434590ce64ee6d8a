/* The vocabulary of the made-up site. Templates are expanded by corpus_text.c:
 * %n noun  %N plural noun  %a adjective  %v verb  %t tool (a made-up name)  %d small number
 * %y year  %u user name. Text is HTML as the site stores it: entities, no closing </p>. */
#ifndef TAIN_DEMO_CORPUS_WORDS_H
#define TAIN_DEMO_CORPUS_WORDS_H

#include "base/attr.h"
#include "base/str.h"

struct words {
    const struct str *list;
    size_t n;
};

extern const struct words WORDS_NOUN, WORDS_PLURAL, WORDS_ADJECTIVE, WORDS_VERB, WORDS_TOOL;
extern const struct words WORDS_SENTENCE, WORDS_UNICODE, WORDS_CODE;
extern const struct words WORDS_TITLE_LINK, WORDS_TITLE_ASK, WORDS_TITLE_SHOW, WORDS_TITLE_JOB,
    WORDS_TITLE_POLL, WORDS_OPTION, WORDS_JOB;
extern const struct words WORDS_HOST, WORDS_QUERY;
extern const struct words WORDS_FIRST, WORDS_LAST; /* 64 each: halves of user names */

#endif
