/* What a proof of the archive reads, and the hand tools that mend it. A page is everything known of
 * a range of ids at one moment; judging it is the mirror's business (mirror/verify.h). Runs on the
 * thread that owns the store. */
#ifndef TAIN_STORE_VERIFY_H
#define TAIN_STORE_VERIFY_H

#include "hn/item.h"
#include "store/segments.h"

#define VERIFY_PAGE_IDS 1000

struct stored_item {
    struct item item; /* as stored: kids, hashes, url_key and domain too */
    int64_t story_id; /* DB_NULL: none */
    int64_t last_fetched_at;
    bool parent_stored;   /* of the thread: the poll of an option, the parent of the rest */
    int64_t parent_story; /* DB_NULL: none */
    bool parts_unreadable;
};

struct stored_exception {
    int64_t id, segment_id;
    enum exception_state state; /* EXC_N: none that exists */
    int purpose;                /* enum purpose of its segment; -1: there is no such segment */
    bool outside;               /* its segment does not cover it */
};

/* Owns its arena; emptied by each read. Everything by id, ascending. */
struct verify_page {
    struct arena arena;
    int64_t lo, hi;
    struct stored_item *items;
    size_t n_items, cap_items;
    struct stored_exception *exceptions;
    size_t n_exceptions, cap_exceptions;
    int64_t *letters; /* ids with an open dead letter of a catch-up or a rescan */
    size_t n_letters, cap_letters;
    int64_t *stray_kids; /* ids with kids and without an item */
    size_t n_stray_kids, cap_stray_kids;
    int64_t n_kids;
};

void verify_page_init(struct verify_page *p);
void verify_page_release(struct verify_page *p);
MUST_CHECK enum verdict store_verify_read(struct store *s, int64_t lo, int64_t hi,
                                          struct verify_page *ret, struct err *e);
/* The lowest id from `at` on that anything is known of; 0 when there is none. */
MUST_CHECK enum verdict store_verify_next(struct store *s, int64_t at, int64_t *ret, struct err *e);
/* The highest id of an item, 0 when there is none. */
MUST_CHECK enum verdict store_last_item(struct store *s, int64_t *ret, struct err *e);

struct segment_facts {
    int64_t segment_id, start_id, end_id, cursor;
    enum purpose purpose;
    enum segment_status status;
    int64_t unresolved, counted, pending; /* as written; as counted now; of these, pending */
    bool stale_lease;                     /* held by a dead process, or for too long */
};
struct segment_facts_list {
    struct segment_facts *rows;
    size_t n, cap;
    int64_t strange_id; /* of the segment that could not be read; 0: none */
};
void segment_facts_release(struct segment_facts_list *l);
/* Repairs that touch the range; only what they are, where they stand and how is filled in. */
MUST_CHECK enum verdict store_repairs_in(struct store *s, int64_t lo, int64_t hi,
                                         struct segment_facts_list *ret, struct err *e);
/* Ids of items that cannot be: below 1. Calls fn for a thousand of them at most. */
MUST_CHECK enum verdict store_impossible_items(struct store *s, void (*fn)(void *ctx, int64_t id),
                                               void *ctx, struct err *e);
/* All segments, by start id. */
MUST_CHECK enum verdict store_segment_facts(struct store *s, struct segment_facts_list *ret,
                                            struct err *e);

/* The first stored or believed missing id from `at` on, 0 when there is none. */
MUST_CHECK enum verdict store_sample_item(struct store *s, int64_t at, int64_t *ret, struct err *e);
MUST_CHECK enum verdict store_sample_missing(struct store *s, int64_t at, int64_t *ret,
                                             struct err *e);

/* Mending. All of these run between store_plan_begin() and store_plan_end(). */

/* Writes url_key and domain of `now`, unless the item was stored anew since. */
MUST_CHECK enum verdict repair_derived(struct store *s, const struct stored_item *was,
                                       const struct item *now, struct err *e);
/* Takes away the row's content_hash (ITEM_UNCONFIRMED), unless the item was stored anew since: it
 * is not believed until a fetch brings the item again, which then counts as changed, kids and all.
 */
MUST_CHECK enum verdict repair_unconfirmed(struct store *s, const struct stored_item *was,
                                           struct err *e);
/* Removes the items that cannot be, and their kids. */
MUST_CHECK enum verdict repair_impossible(struct store *s, struct err *e);
/* Makes the row of updater_state if it is gone, and lowers the floor to `floor` (0: leave it). */
MUST_CHECK enum verdict repair_state(struct store *s, int64_t floor, struct err *e);
MUST_CHECK enum verdict repair_story(struct store *s, int64_t id, struct err *e);
MUST_CHECK enum verdict repair_stray_kids(struct store *s, int64_t id, struct err *e);
/* Takes an exception away. One without a home goes to the mirror segment that covers it, if the id
 * is not stored. One without a state that exists stays, and is pending. */
MUST_CHECK enum verdict repair_exception(struct store *s, const struct stored_exception *x,
                                         struct err *e);
/* Adds the dead letter of an exception, or resolves those of an id (x == NULL). */
MUST_CHECK enum verdict repair_letter(struct store *s, int64_t id, const struct stored_exception *x,
                                      struct err *e);
/* `b` overlaps `a` and begins behind it: a keeps what they share. */
MUST_CHECK enum verdict repair_overlap(struct store *s, const struct segment_facts *a,
                                       const struct segment_facts *b, struct err *e);
/* Counts what is unresolved anew, and wakes done segments that are not. */
MUST_CHECK enum verdict repair_segments(struct store *s, struct err *e);
/* An id that was believed missing is to be fetched again. */
MUST_CHECK enum verdict repair_missing_again(struct store *s, int64_t id, struct err *e);

#endif
