/* Full-text search over titles, URLs and texts. The index lives in the database (FTS5; tsvector and
 * GIN) and is filled behind the writer: a batch notes in its own transaction which ids it wrote
 * (index_work), store_index_step() works that off in short transactions. What changes while it is
 * being indexed is noted again and comes round again. Runs on the thread that owns the store. */
#ifndef TAIN_STORE_SEARCH_H
#define TAIN_STORE_SEARCH_H

#include "store/read.h"

/* Indexing ----------------------------------------------------------------------------------- */

/* Indexes up to max_items of what waits, the newest ids first, in one transaction. *ret_done 0:
 * nothing waits, or another process is at it. */
MUST_CHECK enum verdict store_index_step(struct store *s, size_t max_items, int64_t *ret_done,
                                         struct err *e);
/* Ids that wait (an upper bound: ranges count whole), and since when the oldest does (unix
 * milliseconds, 0: nothing waits). */
MUST_CHECK enum verdict store_index_lag(struct store *s, int64_t *ret_ids, int64_t *ret_since,
                                        struct err *e);
/* What a person wrote that no search finds yet: of the newest SEARCH_WAITING ids that wait, those
 * of these kinds (SEARCH_ bits), the newest first, at most `max`. Not all of them need to be
 * waiting.
 */
#define SEARCH_WAITING 20000
MUST_CHECK enum verdict store_index_waits_by(struct store *s, struct str name, unsigned kinds,
                                             int64_t *ret_ids, size_t max, size_t *ret_n,
                                             struct err *e);
/* Notes everything that is stored for indexing again. */
MUST_CHECK enum verdict store_index_all(struct store *s, struct err *e);

/* Asking ------------------------------------------------------------------------------------- */

enum search_kind {
    SEARCH_STORY = 1,
    SEARCH_COMMENT = 2,
    SEARCH_POLL = 4,
    SEARCH_POLLOPT = 8,
    SEARCH_JOB = 16,
    SEARCH_ANY = 31
};

/* One thing that must hold of a hit. */
enum search_tag_kind { TAG_KIND, TAG_SHOW_HN, TAG_ASK_HN, TAG_FRONT_PAGE, TAG_AUTHOR, TAG_STORY };
struct search_tag {
    enum search_tag_kind kind;
    unsigned kinds;  /* TAG_KIND: SEARCH_ bits */
    struct str name; /* TAG_AUTHOR; case matters */
    int64_t id;      /* TAG_STORY: the story itself and what is below it */
};
#define SEARCH_GROUPS 16 /* that must all hold */
/* of which one must hold, in a group; clients name all stories of a page in one */
#define SEARCH_CHOICES 64
struct search_group {
    struct search_tag tags[SEARCH_CHOICES];
    size_t n;
};

enum search_order { SEARCH_BY_RELEVANCE, SEARCH_BY_DATE };
enum search_field {
    SEARCH_IN_TITLE = 1,
    SEARCH_IN_URL = 2,
    SEARCH_IN_TEXT = 4,
    SEARCH_IN_AUTHOR = 8,
    SEARCH_IN_ALL = 15
};

#define SEARCH_CANDIDATES 20000 /* the ranking looks at no more: the newest ones that match */
#define SEARCH_WORDS_MAX 32     /* words and phrases; more are left out */

struct search_query {
    struct str text; /* words, "a phrase", -without; nothing: everything that passes the filters */
    unsigned fields; /* SEARCH_IN_ bits; 0: all */
    struct search_group groups[SEARCH_GROUPS];
    size_t n_groups;
    /* inclusive bounds; I64_NONE: none. Time in unix seconds. */
    int64_t time_lo, time_hi, points_lo, points_hi, comments_lo, comments_hi;
    enum search_order order;
    bool with_dead; /* false: dead and deleted items are left out; they are never found by words */
    int64_t offset;
    size_t limit;     /* at most 1000 */
    int64_t count_to; /* by date: count so many for the total, beyond the page; 0: a thousand */
};
void search_query_init(struct search_query *q); /* asks for everything, by relevance, 20 hits */

struct search_hit {
    struct read_item it;               /* without kids */
    struct str story_title, story_url; /* of the story it belongs to, when that is stored */
    int64_t story_points, story_comments;
};
struct search_answer {
    struct search_hit *hits;
    size_t n;
    int64_t total; /* all that match, not only this page */
    bool exact;    /* false: there are at least `total` */
};
/* V_INVALID: the query makes no sense; e says why. */
MUST_CHECK enum verdict store_search(struct store *s, struct arena *a, const struct search_query *q,
                                     struct search_answer *ret, struct err *e);

/* Words --------------------------------------------------------------------------------------- */

/* The words and phrases that are looked for, as the index would see them; without what is
 * excluded. */
struct search_words {
    struct str words[SEARCH_WORDS_MAX]; /* lower case; a phrase is its words with a space between */
    size_t n;
};
void search_words_of(struct arena *a, struct str text, struct search_words *ret);

/* Where the plain text `text` holds one of the words: byte ranges, ascending, apart. */
struct search_mark {
    size_t at, n;
    size_t word; /* index into words */
};
size_t search_marks(const struct search_words *w, struct str text, struct search_mark *out,
                    size_t max);
/* About `width` bytes of the text around its densest place of marks, cut between words. */
struct str search_snippet(const struct search_words *w, struct str text, size_t width);

#endif
