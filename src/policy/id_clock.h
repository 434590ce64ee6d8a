/* The id as a clock: ids are given out in order of time, while `time` may be missing, years ahead,
 * or reset by a moderator. The id at an instant is found by bisection over medians of neighbours,
 * which a few wrong times cannot move. Pure: the times come from a callback. */
#ifndef TAIN_POLICY_ID_CLOCK_H
#define TAIN_POLICY_ID_CLOCK_H

#include "base/err.h"

#define ID_CLOCK_SAMPLE 31

/* Fills up to `max` times (unix seconds) of stored items with ids >= id, ascending by id, and the
 * last id looked at; *ret_n 0: there are none at or above it. */
typedef enum verdict id_clock_sample(void *ctx, int64_t id, int64_t *ret_times, size_t max,
                                     size_t *ret_n, int64_t *ret_last_id, struct err *e);

/* When what is stored from `id` on was given out: the median of a sample. */
#define ID_CLOCK_UNKNOWN INT64_MAX /* nothing is stored there */
MUST_CHECK enum verdict id_clock_at(int64_t id, id_clock_sample *sample, void *ctx, int64_t *ret,
                                    struct err *e);

/* The lowest id in lo .. hi that was given out at or after `instant` (unix seconds), give or take
 * the width of a sample, and rather too low than too high. lo when everything is younger, hi + 1
 * when everything is older; lo also when nothing is stored. An id that is not stored counts as the
 * next one that is, and as young above the last. Asks about log2(hi - lo) times. */
MUST_CHECK enum verdict id_clock_find(int64_t instant, int64_t lo, int64_t hi,
                                      id_clock_sample *sample, void *ctx, int64_t *ret,
                                      struct err *e);

#endif
