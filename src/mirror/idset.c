#include "mirror/idset.h"

#include "base/rng.h"

static size_t home(int64_t id) {
    return rng_mix((uint64_t)id) & (IDSET_SLOTS - 1);
}

/* Where the id stands, or the free slot where its search ends. */
static size_t find(const struct idset *s, int64_t id) {
    size_t i = home(id);
    while (s->slots[i] && s->slots[i] != id)
        i = (i + 1) & (IDSET_SLOTS - 1);
    return i;
}

bool idset_has(const struct idset *s, int64_t id) {
    return s->slots[find(s, id)] == id;
}

void idset_add(struct idset *s, int64_t id) {
    s->slots[find(s, id)] = id;
}

/* Those behind it move up, so that no search ends early. */
void idset_remove(struct idset *s, int64_t id) {
    size_t hole = find(s, id);
    if (s->slots[hole] != id)
        return;
    s->slots[hole] = 0;
    for (size_t i = (hole + 1) & (IDSET_SLOTS - 1); s->slots[i]; i = (i + 1) & (IDSET_SLOTS - 1)) {
        int64_t moved = s->slots[i];
        s->slots[i] = 0;
        s->slots[find(s, moved)] = moved;
    }
}
