/* A worker bears a database that is away: calls go on meanwhile, and what they bring is kept. Part
 * of a worker and of its thread; outage_ms() may be asked by any. */
#ifndef TAIN_ENRICH_OUTAGE_H
#define TAIN_ENRICH_OUTAGE_H

#include "base/clock.h"
#include "store/store.h"

#include <stdatomic.h>

struct outage {
    const struct clock *clock;
    int64_t again_at;      /* while it lasts: when to look */
    _Atomic int64_t since; /* clock_mono(), 0: the database answers */
    int64_t back_at;       /* when the last one ended; 0: there was none */
};

/* V_RETRY begins one and is V_OK then; any other verdict is answered as it is. A database that only
 * ended a transaction is there: the next step repeats it. */
MUST_CHECK enum verdict outage_bear(struct outage *o, struct store *s, enum verdict v,
                                    struct err *e);
/* Looks whether it is over, when it is time to. *ret_there: there is no outage (any more). */
MUST_CHECK enum verdict outage_look(struct outage *o, struct store *s, bool *ret_there,
                                    struct err *e);
static inline bool outage_lasts(const struct outage *o) {
    return atomic_load(&o->since) != 0;
}
int64_t outage_ms(const struct outage *o); /* for how long; 0: there is none */

#endif
