/* What is new in the archive, for event streams: one thread with a store of its own looks a few
 * times a second at two numbers, and publishes when one of them moved. It also beats the keep-alive
 * and finds peers that hung up, for /events too. A database that is away is waited for. */
#ifndef TAIN_WEB_HERALD_H
#define TAIN_WEB_HERALD_H

#include "base/clock.h"
#include "store/store.h"
#include "web/stream.h"

#define HERALD_POLL_MS 250
#define HERALD_KEEP_ALIVE_MS 30000

struct events;

struct herald_options {
    const struct store_options *store;
    struct stream_hub *hub; /* outlives it */
    struct events *events;  /* outlives it; NULL: there are none. See web/events.h */
    const struct clock *clock;
    int poll_ms, keep_alive_ms; /* 0: as above */
};

struct herald;

/* Starts the thread, which opens the store. */
MUST_CHECK enum verdict herald_start(const struct herald_options *o, struct herald **ret,
                                     struct err *e);
/* There is something new, so look now: for a writer in the same process. Any thread. */
void herald_ring(struct herald *l);
void herald_stop(struct herald *l); /* NULL is fine */

/* For tests: the same without a thread. A step does what is due; *ret_wait_ms is how long there is
 * nothing to do. It fails as the store fails, and may be called again. */
struct herald *herald_new(const struct herald_options *o);
MUST_CHECK enum verdict herald_step(struct herald *l, int *ret_wait_ms, struct err *e);
void herald_free(struct herald *l); /* NULL is fine */

#endif
