/* How search reads text: into words that index, query and highlighting agree on, whatever the
 * database. A word is a run of letters and digits, lower case, without diacritics; an apostrophe
 * within it is left out (don't = dont), "++" and, behind at most two letters, "#" belong to it
 * (c++, c#). An ideograph is a word by itself. Everything else separates. Private to the room. */
#ifndef TAIN_STORE_SEARCH_WORDS_INT_H
#define TAIN_STORE_SEARCH_WORDS_INT_H

#include "base/str.h"
#include "store/search.h"

/* Made by tools/fold_table.py; ascending. */
struct fold_range {
    uint32_t lo, hi;
};
struct fold_pair {
    uint32_t cp;
    char to[12]; /* "": the character goes */
};
extern const struct fold_range fold_words[], fold_singles[];
extern const struct fold_pair fold_pairs[];
extern const size_t fold_words_n, fold_singles_n, fold_pairs_n;

#define WORD_BYTES 64 /* of a longer one the rest is not looked at */

struct word {
    size_t at, n; /* where it stands in the text */
    size_t len;
    char folded[WORD_BYTES];
};
struct word_reader {
    struct str text;
    size_t at;
};
/* False at the end. */
bool word_next(struct word_reader *r, struct word *ret);

/* What a query looks for. A term is a word, or words that follow each other, a space between. */
struct search_term {
    struct str words;
    size_t n_words;
    bool without;
};
struct search_terms {
    struct search_term terms[SEARCH_WORDS_MAX];
    size_t n, n_wanted; /* n_wanted: those that are not excluded */
};
void search_terms_of(struct arena *a, struct str text, struct search_terms *ret);

/* Does the plain text hold the term? */
bool search_holds(struct str text, struct str words);

/* The part of a URL that is indexed: without its scheme and "www.". */
struct str search_url_part(struct str url);

#endif
