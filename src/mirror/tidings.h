/* What the threads of an updater tell each other without waiting for an answer: atomics only. */
#ifndef TAIN_MIRROR_TIDINGS_H
#define TAIN_MIRROR_TIDINGS_H

#include "base/attr.h"

#include <stdatomic.h>

struct tidings {
    _Atomic int64_t maxitem;       /* the largest id known to exist; only rises */
    _Atomic int64_t db_offset_ms;  /* database time minus clock_mono() */
    _Atomic int64_t last_event_at; /* database ms of the last frame of the stream; 0: none yet */
    atomic_bool connected;         /* the stream is open and its gap is filled */
    _Atomic int64_t outages;       /* how many blind times were long enough for a rescan */
};

/* Decades of new items at once are a wrong answer, and would be planned for ever. */
#define TIDINGS_MAX_JUMP 100000000
#define TIDINGS_MAX_ID (INT64_C(1) << 33)

/* False: such a maxitem is not believed. A lower one than is known is, and changes nothing. */
static inline bool tidings_maxitem(struct tidings *t, int64_t maxitem) {
    int64_t known = atomic_load(&t->maxitem);
    if (maxitem > TIDINGS_MAX_ID || (known && maxitem - known > TIDINGS_MAX_JUMP))
        return false;
    while (maxitem > known && !atomic_compare_exchange_weak(&t->maxitem, &known, maxitem))
        ;
    return true;
}

#endif
