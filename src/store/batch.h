/* A batch: what became of some ids of one segment, written in one transaction. It owns an arena,
 * has one owner at a time and moves by queue from the fetch thread to the write thread. */
#ifndef TAIN_STORE_BATCH_H
#define TAIN_STORE_BATCH_H

#include "hn/item.h"
#include "store/segments.h"

struct batch_item {
    struct item item;
    int64_t fetched_at; /* database milliseconds at which its fetch started */
    /* filled when it was written for the live stream, for a gap in it, or for the mirror */
    bool ret_inserted;
    int64_t ret_story; /* DB_NULL while unknown */
};

/* An id that is not a plain success. */
struct batch_exception {
    int64_t id, next_retry_at; /* DB_NULL when it is not waiting */
    enum exception_state state;
    int attempts, rung;
    const char *cls;  /* static storage */
    struct str error; /* in the arena */
};

#define BATCH_AGES 32

struct batch {
    struct arena arena;
    int64_t segment_id, lease_token, end_id;
    enum purpose purpose;
    int64_t cursor; /* every id up to it has an outcome, in this batch or before */
    bool release;   /* the last one: give the lease back and settle the segment */
    struct batch_item *items;
    size_t n_items, cap_items;
    struct batch_exception *exceptions;
    size_t n_exceptions, cap_exceptions;
    int64_t ages[BATCH_AGES]; /* live only: updates by the age of their item, see policy/ages.h */
    void *owner;              /* for whoever waits for the acknowledgement */
};

struct batch *batch_new(void);
void batch_free(struct batch *b);  /* NULL is fine */
void batch_reset(struct batch *b); /* empty again, memory kept */
struct batch_item *batch_add_item(struct batch *b);
struct batch_exception *batch_add_exception(struct batch *b);

struct apply_stats {
    int64_t inserted, changed, unchanged, stale; /* their sum and `repeated`: the batch's items */
    int64_t repeated; /* without a segment: an id that comes again in the batch; the last counts */
    int64_t revisions, kids;
    int64_t missing, waiting, dead; /* exceptions written, by state */
    int64_t resolved;               /* exceptions that turned out to be stored already */
    bool released;
    enum segment_status status; /* of the segment, when released */
};

/* Writes the batch and moves the cursor of its leased segment in one transaction.
 * CONFLICT: the lease went to someone else; nothing was written. Runs on the write thread. */
MUST_CHECK enum verdict store_apply(struct store *s, struct batch *b, struct apply_stats *ret,
                                    struct err *e);

/* Writes to the segment why its batch could not be written, as far as that is possible. */
void store_note_failure(struct store *s, const struct batch *b, const struct err *why);

#endif
