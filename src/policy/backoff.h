/* When to try again: exponential backoff with jitter for failures, a fixed ladder of rechecks for
 * answers that are not to be believed at once. Pure functions. */
#ifndef TAIN_POLICY_BACKOFF_H
#define TAIN_POLICY_BACKOFF_H

#include "base/rng.h"

struct backoff {
    int64_t initial_ms, max_ms, jitter_ms;
};

/* Wait before attempt `made`+1, after `made` >= 1 failed ones: initial * 2^(made-1), at most max,
 * plus 0..jitter, both included. Never overflows. The rng may be NULL when there is no jitter. */
int64_t backoff_wait_ms(const struct backoff *b, int made, struct rng *rng);

/* Rechecks of a young null, of `[delayed]`, and of 401/403/404 for a single id: 5 s, 30 s, 2 min,
 * 10 min, 1 h, 6 h, 24 h after the answer before. */
#define LADDER_RUNGS 7
/* Wait before recheck number `rung` (1-based). -1 past the last rung: believe it now.
 * A rung below 1 counts as the first. */
int64_t ladder_wait_ms(int rung);

/* An id within this distance of maxitem, or above it, is young. So is every id while maxitem is not
 * known (0): a null is then never believed at once. */
#define YOUNG_SPAN 20000
bool id_is_young(int64_t id, int64_t maxitem);

#endif
