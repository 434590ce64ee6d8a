/* Rate limiting as pure functions of (state, now). GCRA: `tat` is the time at which the next turn
 * is due when everyone keeps the pace. A process takes turns from the shared state in small leases
 * and spends each lease evenly. All times are microseconds of one clock. */
#ifndef TAIN_POLICY_RATE_H
#define TAIN_POLICY_RATE_H

#include "base/attr.h"

/* Reserves n turns at `per_second` in *tat; answers when the first of them is due. A tat in the
 * past is brought to now: idle time is not saved up. A rate of 0 or less is no limit: the answer is
 * now, and *tat stays. */
int64_t gcra_reserve(int64_t *tat_us, int64_t now_us, double per_second, int n);

/* n turns, the first at start_us, then one each interval_us. */
struct turns {
    int64_t start_us, interval_us;
    int n, used;
};

/* Microseconds until the next turn: 0 = take it now; -1 = none left. */
int64_t turns_wait_us(const struct turns *t, int64_t now_us);
void turns_take(struct turns *t);
/* Nor are turns saved up that a holder without work lets pass: of those that are due by now it
 * keeps the last `slack_us` worth, and one. */
void turns_forfeit(struct turns *t, int64_t now_us, int64_t slack_us);
/* How many turns a lease should hold: a fifth of a second's worth, 1 .. 1000 (1000 without a
 * limit). */
int turns_lease_size(double per_second);

#endif
