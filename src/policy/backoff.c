#include "policy/backoff.h"

static int64_t doubled(int64_t wait, int made, int64_t max) {
    for (int i = 1; i < made && wait < max; i++)
        wait = wait > max / 2 ? max : wait * 2;
    return wait < max ? wait : max;
}

int64_t backoff_wait_ms(const struct backoff *b, int made, struct rng *rng) {
    bool waits = b->initial_ms > 0 && b->max_ms > 0;
    int64_t wait = waits ? doubled(b->initial_ms, made, b->max_ms) : 0;
    if (b->jitter_ms <= 0)
        return wait;
    int64_t jitter = (int64_t)rng_below(rng, (uint64_t)b->jitter_ms + 1);
    return wait > INT64_MAX - jitter ? INT64_MAX : wait + jitter;
}

int64_t ladder_wait_ms(int rung) {
    static const int64_t seconds[LADDER_RUNGS] = {5, 30, 120, 600, 3600, 6 * 3600, 24 * 3600};
    if (rung > LADDER_RUNGS)
        return -1;
    /* A count that was never raised must not be read as the end of the ladder. */
    return seconds[rung < 1 ? 0 : rung - 1] * 1000;
}

bool id_is_young(int64_t id, int64_t maxitem) {
    return id >= maxitem - YOUNG_SPAN;
}
