/* A small seeded generator (splitmix64), for jitter and for made-up data. Not for secrets. */
#ifndef TAIN_BASE_RNG_H
#define TAIN_BASE_RNG_H

#include "base/attr.h"

struct rng {
    uint64_t state;
};

static inline uint64_t rng_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static inline uint64_t rng_next(struct rng *r) {
    return rng_mix(r->state += 0x9E3779B97F4A7C15ULL);
}

/* Uniform in 0 .. n-1; n must not be 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t n) {
    return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* Seeded from the kernel. */
struct rng rng_fresh(void);

#endif
