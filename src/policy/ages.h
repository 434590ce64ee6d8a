/* How old items are when an update of them arrives: a histogram that can be stored and added up,
 * its percentiles, and the rescan window that follows from it. Pure. */
#ifndef TAIN_POLICY_AGES_H
#define TAIN_POLICY_AGES_H

#include "base/attr.h"

/* Buckets by upper bound in seconds, the last without one; then two that have no age. */
enum { AGES_BOUNDS = 24, AGES_OLDER = AGES_BOUNDS, AGES_NO_TIME, AGES_FUTURE, AGES_N };
extern const int64_t ages_bounds[AGES_BOUNDS];

struct ages {
    int64_t n[AGES_N];
};

/* The bucket of an update that arrived at `arrived` (unix seconds) of an item with `time`
 * (I64_NONE or 0: none). A time more than a minute ahead is in the future. */
int ages_bucket(int64_t arrived, int64_t time, bool has_time);
/* Updates with an age. */
int64_t ages_count(const struct ages *a);
/* The age in seconds below which `share` (0..1) of the updates lie, by their bucket's upper bound;
 * interpolated within the bucket. -1 when there are none; INT64_MAX when it lies beyond the last
 * bound. */
int64_t ages_quantile(const struct ages *a, double share);
/* The share of the updates that are of items younger than so many days, 0..1; by whole buckets. */
double ages_share(const struct ages *a, int days);
/* Whole days that cover 99 of 100 updates, 1 to 30, where 30 may cover fewer; 0 with fewer than 100
 * updates: too few to tell. */
int ages_recommend_days(const struct ages *a);

#endif
