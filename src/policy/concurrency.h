/* How many requests may be in flight: additive increase while all is well, multiplicative decrease
 * on 429, 5xx and on latency that climbs far above its floor. Pure; times in milliseconds. */
#ifndef TAIN_POLICY_CONCURRENCY_H
#define TAIN_POLICY_CONCURRENCY_H

#include "base/attr.h"

#define CONCURRENCY_FLOOR 4 /* or the ceiling, when that is lower */

struct concurrency {
    double limit; /* the current window */
    int floor, ceiling;
    double latency_ms;        /* smoothed */
    double best_ms;           /* the floor it is compared with; decays upward slowly */
    int64_t last_decrease_ms; /* at most one decrease per half second */
    int64_t last_ok_ms;       /* for the decay of best_ms */
};

/* floor <= start <= ceiling is enforced, and 1 <= ceiling. */
void concurrency_init(struct concurrency *c, int start, int ceiling);
int concurrency_limit(const struct concurrency *c);
/* One good answer. `inflight` is how many were in flight before it came back (for answers that are
 * reaped together, before the first of them): the window grows only when at least three quarters of
 * it were in use, by 1 (or a 64th of the ceiling) per window of answers. It shrinks instead when
 * the smoothed latency is over 4 times its best and over 200 ms above it, at most once a round
 * trip. */
void concurrency_ok(struct concurrency *c, int64_t now_ms, double latency_ms, int inflight);
/* An overload sign: 429, 5xx, time-out or reset. The window shrinks to 0.7 of itself. */
void concurrency_overload(struct concurrency *c, int64_t now_ms);

#endif
