/* How long to bear with a database that does not answer: waits that grow, a new connection, an end
 * after max_outage_ms or soon after a stop. Belongs to the thread that owns the store;
 * patience_down_ms() may be asked by any. */
#ifndef TAIN_MIRROR_PATIENCE_H
#define TAIN_MIRROR_PATIENCE_H

#include "base/rng.h"
#include "base/thread.h"
#include "store/store.h"

struct patience {
    struct store *store;
    const struct clock *clock;
    const struct stop_token *stop;
    int64_t max_outage_ms;
    struct rng rng;
    /* After each pause, by the same thread: a waiting main loop is not a stuck one. May be NULL. */
    void (*waiting)(void *arg, int64_t down_ms);
    void *waiting_arg;
    int tries;
    _Atomic int64_t down_since;
};

/* After V_RETRY from a verb. V_OK: it is worth another try. V_FATAL, V_STOPPED: it is not; e says
 * what came last. */
MUST_CHECK enum verdict patience_bear(struct patience *p, struct err *e);
/* After any other answer. */
void patience_well(struct patience *p);
int64_t patience_down_ms(const struct patience *p); /* 0: it answers */

#endif
