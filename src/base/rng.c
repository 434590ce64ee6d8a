#include "base/rng.h"

#include <sys/random.h>
#include <time.h>

struct rng rng_fresh(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)time(NULL);
    return (struct rng){seed};
}
