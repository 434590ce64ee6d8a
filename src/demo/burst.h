/* Bursts of mentions: many ids named on the streams of updates in quick succession, by a thread of
 * its own that waits for slow readers as TCP would make a real server wait. One burst after the
 * other. */
#ifndef TAIN_DEMO_BURST_H
#define TAIN_DEMO_BURST_H

#include "base/attr.h"
#include "base/err.h"
#include "base/queue.h"
#include "demo/mentions.h"
#include "demo/stream.h"

#define BURST_QUEUE 16
#define BURST_WAIT_MS 30000 /* for the slowest stream */
struct burst {
    struct hub *hub;
    struct stats *stats;
    struct queue jobs;
    pthread_t thread;
};

MUST_CHECK enum verdict burst_start(struct burst *b, struct hub *h, struct stats *s, struct err *e);
/* Ends the thread in the midst of what it does; after hub_stop(). */
void burst_stop(struct burst *b);
void burst_release(struct burst *b);

/* V_INVALID: a number makes no sense. V_LIMIT: BURST_QUEUE bursts wait already. Any thread. */
MUST_CHECK enum verdict burst_add(struct burst *b, const struct mentions *m, struct err *e);

#endif
