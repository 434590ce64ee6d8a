/* What is new in the archive, for event streams: one thread with a store of its own looks a few
 * times a second at two numbers, and publishes when one of them moved. It also beats the keep-alive
 * and finds peers that hung up. A database that is away is waited for. */
#ifndef TAIN_WEB_LIVE_H
#define TAIN_WEB_LIVE_H

#include "base/clock.h"
#include "store/store.h"
#include "web/stream.h"

#define LIVE_POLL_MS 250
#define LIVE_KEEP_ALIVE_MS 30000

struct live_options {
    const struct store_options *store;
    struct stream_hub *hub; /* outlives it */
    const struct clock *clock;
    int poll_ms, keep_alive_ms; /* 0: as above */
};

struct live;

/* Opens the store, publishes the first state and starts the thread. */
MUST_CHECK enum verdict live_start(const struct live_options *o, struct live **ret, struct err *e);
/* There is something new, so look now: for a writer in the same process. Any thread. */
void live_ring(struct live *l);
void live_stop(struct live *l); /* NULL is fine */

/* For tests: the same without a thread. A step does what is due; *ret_wait_ms is how long there is
 * nothing to do. It fails as the store fails, and may be called again. */
MUST_CHECK enum verdict live_new(const struct live_options *o, struct live **ret, struct err *e);
MUST_CHECK enum verdict live_step(struct live *l, int *ret_wait_ms, struct err *e);
void live_free(struct live *l); /* NULL is fine */

#endif
