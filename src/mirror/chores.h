/* The plan thread's work: everything of an updater that is due by the clock. Asks for maxitem,
 * story lists and profiles through the fetch service and has the writer do what touches the
 * database: rescans, the startup replay, retries from the dead letter queue, persisting the anchor,
 * renewing the updater's lease. chores_step() may be called without threads and with a manual
 * clock. */
#ifndef TAIN_MIRROR_CHORES_H
#define TAIN_MIRROR_CHORES_H

#include "base/keyqueue.h"
#include "base/thread.h"
#include "mirror/jobs.h"
#include "mirror/tidings.h"

struct chores_options {
    const struct clock *clock;
    struct keyqueue *ids;
    struct queue *names; /* profiles to be fetched: malloc'ed C strings, freed here */
    struct calls *calls;
    struct queue *to_writer;
    struct tidings *tidings;
    _Atomic int64_t *token; /* of the updater's lease */
    int64_t lease_ms;
    int64_t catchup_interval_ms; /* how often maxitem is asked for */
    int64_t lists_interval_ms;
    int64_t rescan_interval_ms, persist_interval_ms;
    double startup_rescan_days, rescan_window_days;
    int64_t segment_width;
    const struct stop_token *stop;
    uint64_t seed;
};

struct chores;
struct chores *chores_new(const struct chores_options *o);
/* One turn; waits at most wait_ms. V_OK: go on. V_STOPPED: the token was raised, the anchor and
 * what was not fetched are written down. V_CONFLICT: the updater's lease went to another. V_FATAL:
 * it cannot go on. */
MUST_CHECK enum verdict chores_step(struct chores *c, int wait_ms, struct err *e);
/* Waits until what it lent is back. What does not come within ten seconds may still be written to:
 * it is then left where it is. */
void chores_free(struct chores *c); /* NULL is fine */

#endif
