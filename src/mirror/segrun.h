/* A claimed segment while it is worked on: which ids are settled, how far the cursor may move, what
 * is to be fetched next. Bookkeeping only; belongs to the fetch thread. */
#ifndef TAIN_MIRROR_SEGRUN_H
#define TAIN_MIRROR_SEGRUN_H

#include "store/batch.h"

struct segrun {
    struct segrun *next; /* in the list of open segments */
    int64_t segment_id, lease_token, start_id, end_id;
    enum purpose purpose;

    int64_t cursor;              /* every id up to it has an outcome that is stored or on its way */
    uint8_t *settled;            /* bit i: id base+i */
    int64_t base;                /* cursor + 1 at the time of the claim */
    int64_t unstarted;           /* ids that were never started */
    int64_t next_id;             /* the next id that was never started */
    struct claim_exception *due; /* ids with an earlier trouble that are to be fetched again */
    size_t n_due, next_due;

    int in_flight;       /* fetches started and not yet judged */
    int waiting;         /* ids in backoff that this run will try again */
    struct batch *batch; /* being filled; may be NULL */
    int64_t batch_since; /* mono ms of its first entry */
    int64_t last_sent;   /* mono ms of the last batch handed over: the heartbeat */
    int unacked;         /* batches at the writer */
    bool releasing;      /* the last batch was handed over */
    bool lost;           /* the lease is gone: write nothing more */
};

/* Takes what the claim says of stored ids and exceptions; `now_db` decides which waits are over. */
struct segrun *segrun_new(const struct claim *c, int64_t now_db, int64_t now_mono);
void segrun_free(struct segrun *r);

/* The next id to start, with its earlier attempts. False: none is left. */
struct next_fetch {
    int64_t id;
    enum exception_state state; /* EXC_PENDING for an id without a row */
    int attempts, rung;
};
bool segrun_next(struct segrun *r, struct next_fetch *ret);
bool segrun_has_next(const struct segrun *r);
int64_t segrun_left(const struct segrun *r); /* ids not started yet */

/* The id has an outcome or an exception: the cursor may pass it. */
void segrun_settle(struct segrun *r, int64_t id);
bool segrun_is_settled(const struct segrun *r, int64_t id);
/* Nothing is left but ids in backoff, and each of those has its row. */
bool segrun_only_waits(const struct segrun *r);
/* Everything that this run can do for the segment is done. */
bool segrun_is_complete(const struct segrun *r);

#endif
