/* An item as the index takes it: its words, and lexemes for what is no word (they begin with _,
 * which no word does). Private to the room. */
#ifndef TAIN_STORE_SEARCH_DOC_INT_H
#define TAIN_STORE_SEARCH_DOC_INT_H

#include "db/db.h"
#include "hn/item.h"
#include "store/search.h"

#define DOC_BYTES ((size_t)1 << 20) /* of which an index can hold: the rest is not found */

/* PostgreSQL cannot walk an index of words backwards: each document names the ranges of ids that
 * it is in, and a search asks range by range. */
#define RANGE_BITS_LEAST 12
#define RANGE_BITS_FINE 16
#define RANGE_BITS_WIDE 20

struct search_doc {
    int64_t id;
    bool comment; /* in the index of comments, not of stories */
    /* SQLite: a text per column */
    struct str title, url, text, author, tags;
    /* PostgreSQL: everything in one, as a tsvector is written */
    struct str words;
};
void search_doc_of(struct arena *a, const struct item *it, enum db_kind kind,
                   struct search_doc *ret);

/* One SEARCH_ bit; 0 for what is none of them (deleted items may have lost their type). */
unsigned search_kind_of(struct str type);
bool search_is_show(struct str title);
bool search_is_ask(struct str title);

/* The lexemes. A dead item has another one for its kind: an index that forgets nothing may only be
 * asked for what is. */
const char *search_kind_lexeme(unsigned kind, bool dead);
#define LEXEME_SHOW "_show"
#define LEXEME_ASK "_ask"
void search_author_lexeme(struct str name, struct strbuf *out);
void search_range_lexeme(int64_t id, int bits, struct strbuf *out);

#endif
