/* How many requests may be in flight: additive increase while all is well, multiplicative decrease
 * on 429, 5xx and on latency that climbs far above its floor. Pure; times in milliseconds. */
#ifndef TAIN_POLICY_CONCURRENCY_H
#define TAIN_POLICY_CONCURRENCY_H

#include "base/attr.h"

struct concurrency {
    double limit; /* the current window */
    int floor, ceiling;
    double latency_ms;        /* smoothed */
    double best_ms;           /* the floor it is compared with; decays upward slowly */
    int64_t last_decrease_ms; /* at most one decrease per half second */
};

void concurrency_init(struct concurrency *c, int start,
                      int ceiling); /* start <= ceiling enforced */
int concurrency_limit(const struct concurrency *c);
/* One good answer. Grows the window only when it was in use (inflight near the limit). */
void concurrency_ok(struct concurrency *c, int64_t now_ms, double latency_ms, int inflight);
/* An overload sign: 429, 5xx, time-out or reset. */
void concurrency_overload(struct concurrency *c, int64_t now_ms);

#endif
