/* The inside of store_search(). A search goes from the newest ids to the oldest in windows
 * (search_walk.c); each gives ids that the index believes in (search_scan.c), what the index cannot
 * say is filtered out (search_filter.c), the best or newest are read from the archive and looked at
 * once more, so that nothing is shown that does not match as it stands now (search_hits.c). Private
 * to the room. */
#ifndef TAIN_STORE_SEARCH_INT_H
#define TAIN_STORE_SEARCH_INT_H

#include "store/search_words_int.h"
#include "store/store_int.h"

enum { IN_STORIES, IN_COMMENTS, N_INDEXES };

/* In the order that counts: all words in the title, then all in a row. */
enum { RANK_PHRASE = 1, RANK_TITLE = 2 };

struct candidate {
    int64_t id;
    int64_t points, comments; /* when they were asked for, else 0 */
    unsigned char rank;       /* RANK_ bits */
    unsigned char index;      /* IN_; N_INDEXES: no index was asked */
    bool passes;              /* for search_filter() */
};
struct candidates {
    struct candidate *c; /* descending by id within a window */
    size_t n, cap;
};

/* What one index is asked, as its database takes it. */
struct search_expr {
    bool use;
    struct str match;         /* "": everything (PostgreSQL and FTS5 have no word for that) */
    struct str title, phrase; /* for the rank; absent: no candidate has it */
};

struct ids {
    int64_t *ids; /* ascending */
    size_t n;
};

struct search {
    struct store *s;
    struct arena *a;
    const struct search_query *q;
    struct search_terms terms;
    struct search_expr expr[N_INDEXES];
    unsigned kinds;                     /* SEARCH_ bits that can be hits */
    bool group_is_exact[SEARCH_GROUPS]; /* the index or a set of ids decides it */
    bool by_ids;                        /* hits are among `among` */
    struct ids among, front;
    int64_t first, last;      /* ids that are stored */
    int64_t lo, hi;           /* of these, what can be hits */
    int64_t sure_lo, sure_hi; /* of these the time is in range for certain; empty: of none */
    int64_t deadline;         /* by the store's clock: work that takes longer ends here */
    struct err *e;
};

/* search_expr.c */
void search_make_exprs(struct search *s);

/* search_filter.c */
/* The front page, when it is asked for: before any transaction, since that read has its own. */
MUST_CHECK enum verdict search_find_front(struct search *s);
/* The ids that the tags and the times leave over. */
MUST_CHECK enum verdict search_find_bounds(struct search *s);
/* Keeps of the candidates from `from` on what passes the filters; fills points and comments where
 * they are asked for. */
MUST_CHECK enum verdict search_filter(struct search *s, struct candidates *c, size_t from);
/* Fills points and comments of n candidates, and sorts them by id, descending. */
MUST_CHECK enum verdict search_read_points(struct search *s, struct candidate *c, size_t n);
/* Does a stored item pass every filter? */
bool search_passes(const struct search *s, const struct item *it, int64_t story_id);

/* search_scan.c */
struct search_window {
    int64_t lo, hi; /* hi < lo: this index is not asked */
    size_t max;
};
extern const struct search_window search_nowhere;
bool search_is_asked(const struct search_window *w);
struct search_found {
    struct candidates c; /* the newest ones in the window, descending; the caller frees c.c */
    int64_t matches;     /* in the whole window; SQLite: what is in c, and no more was looked at */
    bool more;           /* there may be more in the window than c has */
};
/* The candidates of each index in its window. */
MUST_CHECK enum verdict search_scan(struct search *s, const struct search_window w[N_INDEXES],
                                    struct search_found ret[N_INDEXES]);
/* How many each index believes in; SQLite stops at `max` of the window. */
MUST_CHECK enum verdict search_count(struct search *s, const struct search_window w[N_INDEXES],
                                     int64_t ret[N_INDEXES]);
struct candidate *search_add(struct candidates *c, int64_t id, int index);

/* search_walk.c */
struct cursor {
    size_t need, got;      /* candidates that pass the filters; by date: and wait to be settled */
    int64_t passed;        /* all that did */
    size_t count;          /* matches that are to be counted */
    int64_t next;          /* the highest id that was not walked yet */
    int64_t taken;         /* matches that came as candidates */
    int64_t seen, seen_lo; /* so many matches have ids from seen_lo on */
};
struct walk {
    struct search *s;
    struct candidates c; /* by date: the page up to `kept`, then what is not in order yet */
    struct cursor at[N_INDEXES];
    int64_t counted, count_to; /* by date: hits from the newest on */
    size_t kept;
    bool overfull; /* there are hits beyond count_to */
};
/* Walks until every index gave what is needed, or has no more. */
MUST_CHECK enum verdict search_walk(struct walk *w);
/* No words, and the tags name ids: there is nothing to ask an index for. */
MUST_CHECK enum verdict search_walk_ids(struct walk *w);
/* Counts on below what was walked, up to `count` of each. */
MUST_CHECK enum verdict search_walk_count(struct walk *w);
/* Is there something of this index that was not walked? */
bool search_is_cut(const struct walk *w, int index);

/* search_hits.c */
/* Reads the items of these ids, drops what does not match after all, and adds their stories. */
MUST_CHECK enum verdict search_read_hits(struct search *s, const struct candidate *c, size_t n,
                                         struct search_answer *ret);

#endif
