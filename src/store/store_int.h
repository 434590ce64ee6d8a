/* What the files of this room share. Private to it. */
#ifndef TAIN_STORE_STORE_INT_H
#define TAIN_STORE_STORE_INT_H

#include "base/arena.h"
#include "hn/item.h"
#include "store/statements.h"
#include "store/store.h"

/* A stamp further ahead of now than this was made by a wrong clock and counts as none. */
#define CLOCK_SLACK_MS 5000

/* What is known of partitions, so that a batch asks only for what is new: partitions.c. */
struct coverage {
    int64_t look_at;                /* on the store's clock; 0: not looked yet */
    int64_t hold_until;             /* one could not be made: not before then */
    int64_t items_width, log_width; /* 0: no partitions */
    int64_t *places;                /* of items, that are there */
    size_t n, cap;
    int64_t log_place; /* up to here there are some of the log; -1: not known */
};

struct store {
    struct db *db;
    const struct clock *clock;
    char *schema;
    enum revisions revisions;
    int64_t lease_ms, search_ms;
    bool log_history;
    struct arena scratch;          /* emptied by each verb that uses it */
    struct link_statements *links; /* links_text.c; may be NULL */
    struct made_list *made; /* lists that were made a moment ago: read_lists.c; may be NULL */
    struct coverage cover;
};

/* Ends the caller's transaction: commits when v is V_OK, rolls back otherwise. Answers what became
 * of it. */
MUST_CHECK enum verdict store_end(struct store *s, enum verdict v, struct err *e);

/* [1,2] for SQLite, {1,2} for PostgreSQL; in the scratch arena. */
struct str store_ids_text(struct store *s, const int64_t *ids, size_t n);

/* The ids of 1,2 or [1,2] or {1,2}, in the arena; NULL when there are none. */
const int64_t *store_ids_of_text(struct arena *a, struct str text, size_t *ret_n);

/* A copy in the scratch arena that both databases take as text: an error's words may be cut in the
 * middle of a character, or be no text at all. */
struct str store_clean_text(struct store *s, struct str text);

/* Reads the first 14 columns of a row into *ret, in the order of export_items; no kids, and nothing
 * derived. Texts are copied into the arena. */
void store_item_of_row(struct arena *a, const struct db_row *row, struct item *ret);
/* Is a `parts` column what we write there? NULL is. */
bool store_parts_are_list(struct str text);

/* Outside a transaction, before rows are written: partitions for these ids, and for the next
 * positions of the log, where there are partitions. What cannot be had is no failure: rows find a
 * place without. V_RETRY: the connection. */
MUST_CHECK enum verdict store_cover_items(struct store *s, const int64_t *ids, size_t n,
                                          struct err *e);
/* What became of a write to items: V_RETRY instead of V_CONFLICT where a row is beyond the edge of
 * what is being converted. The next store_cover_items takes that edge away if nobody is at it. */
MUST_CHECK enum verdict store_not_at_edge(struct store *s, enum verdict v, struct err *e);
/* For the next `max` rows of the log. */
MUST_CHECK enum verdict store_cover_log(struct store *s, size_t max, struct err *e);

#endif
