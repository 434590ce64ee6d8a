/* Search indexing on the write thread, in short steps between other jobs: all it wants while
 * nothing else waits, and a small share of the time when something always does. A step that fails
 * is counted, told and tried again later; it never stops the mirror. Belongs to the write thread.
 */
#ifndef TAIN_MIRROR_INDEXER_H
#define TAIN_MIRROR_INDEXER_H

#include "base/clock.h"
#include "store/store.h"

struct indexer {
    const struct clock *clock;
    struct store *store;
    double share;      /* of the time while other work waits, 0: none */
    size_t items;      /* in the next step */
    int64_t next_look; /* clock_mono(): nothing waits, or it failed; not before */
    int64_t counted;   /* clock_mono(): until when time was turned into credit */
    double credit_ms;
    int failures; /* in a row */
};

void indexer_init(struct indexer *x, const struct clock *clock, struct store *store, double share);
/* A batch was written: there may be something to do. */
void indexer_wake(struct indexer *x);
/* One step, if it is due. `idle`: nothing else waits for the writer. True: there is more, and the
 * next step may follow at once when it is still idle. */
bool indexer_turn(struct indexer *x, bool idle);
/* Sets the gauges of the lag. */
MUST_CHECK enum verdict indexer_measure(struct indexer *x, int64_t now_db, struct err *e);

#endif
