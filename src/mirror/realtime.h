/* A realtime worker: takes ids from the queue, has them fetched, judges the answers, retries a few
 * times, and hands batches to the writer; what it cannot get goes to ingest_dlq_items, from where
 * it is tried again later. Several run side by side, each on a thread of its own; realtime_step()
 * may be called without threads and with a manual clock. */
#ifndef TAIN_MIRROR_REALTIME_H
#define TAIN_MIRROR_REALTIME_H

#include "base/keyqueue.h"
#include "base/thread.h"
#include "mirror/jobs.h"
#include "mirror/tidings.h"

/* What a ticket's level says: how often the id came back from the dead letter queue, and how high
 * it stands on the ladder of rechecks. Whoever puts an id from ingest_dlq_items into the queue sets
 * it from the row's attempts and rung. */
static inline uint32_t level_of(int rounds, int rung) {
    return (uint32_t)rounds * 16 + (uint32_t)rung;
}
static inline int level_rounds(uint32_t level) {
    return (int)(level / 16);
}
static inline int level_rung(uint32_t level) {
    return (int)(level % 16);
}

struct realtime_options {
    const struct clock *clock;
    struct keyqueue *ids;
    struct calls *calls;
    struct queue *to_writer;
    struct tidings *tidings;
    const _Atomic int64_t *token; /* of the updater's lease */
    int window;                   /* ids this worker may have in flight */
    int batch_size;
    int attempts;   /* tries per id before it goes to the dead letter queue */
    int dlq_rounds; /* and so many rounds from there before it is a dead letter */
    const struct stop_token *stop;
    uint64_t seed;
};

struct realtime;
struct realtime *realtime_new(const struct realtime_options *o);
/* One turn; waits at most wait_ms for something to do. V_OK: go on. V_STOPPED: the token was raised
 * and what was in flight is written or given back to the queue. V_FATAL, V_CONFLICT: it cannot
 * go on. */
MUST_CHECK enum verdict realtime_step(struct realtime *w, int wait_ms, struct err *e);
/* Gives back to the queue what it has not finished. Waits until what it lent is back. */
void realtime_free(struct realtime *w);

#endif
