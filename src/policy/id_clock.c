#include "policy/id_clock.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

enum verdict id_clock_at(int64_t id, id_clock_sample *sample, void *ctx, int64_t *ret,
                         struct err *e) {
    int64_t times[ID_CLOCK_SAMPLE], last = id;
    size_t n = 0;
    enum verdict v = sample(ctx, id, times, ID_CLOCK_SAMPLE, &n, &last, e);
    if (v != V_OK)
        return v;
    if (n > ID_CLOCK_SAMPLE)
        n = ID_CLOCK_SAMPLE;
    qsort(times, n, sizeof times[0], by_time);
    *ret = n ? times[n / 2] : ID_CLOCK_UNKNOWN;
    return V_OK;
}

/* Whether what is stored from `id` on was given out at or after the instant. Of an even number the
 * upper of the two in the middle counts, and where nothing is stored the answer is yes: both keep
 * the result rather too low. */
static enum verdict is_young(int64_t id, int64_t instant, id_clock_sample *sample, void *ctx,
                             bool *ret, struct err *e) {
    int64_t time;
    enum verdict v = id_clock_at(id, sample, ctx, &time, e);
    *ret = v == V_OK && time >= instant;
    return v;
}

/* A full sample speaks for its middle, so the id that is found lies half a sample below the first
 * that is young. That is the margin for times that were set back: they make a sample older than it
 * is, and would otherwise move the result up. */
enum verdict id_clock_find(int64_t instant, int64_t lo, int64_t hi, id_clock_sample *sample,
                           void *ctx, int64_t *ret, struct err *e) {
    if (hi == INT64_MAX)
        hi--; /* hi + 1 must be a number */
    int64_t from = lo, to = hi + 1;
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        bool young;
        enum verdict v = is_young(middle, instant, sample, ctx, &young, e);
        if (v != V_OK)
            return v;
        if (young)
            to = middle;
        else
            from = middle + 1;
    }
    *ret = from;
    return V_OK;
}
