/* The ids that are in flight: a fixed table with room for twice as many as there can be. Belongs to
 * the fetch thread. */
#ifndef TAIN_MIRROR_IDSET_H
#define TAIN_MIRROR_IDSET_H

#include "base/attr.h"

#define IDSET_SLOTS 8192 /* a power of two; HTTP_MAX_INFLIGHT is half of it */

struct idset {
    int64_t slots[IDSET_SLOTS]; /* 0: free */
};

bool idset_has(const struct idset *s, int64_t id);
void idset_add(struct idset *s, int64_t id); /* not in it yet; id > 0 */
void idset_remove(struct idset *s, int64_t id);

#endif
