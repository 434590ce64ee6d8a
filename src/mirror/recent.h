/* How far back the newest stretch of the archive reaches: from which id on everything was looked at
 * that was there at the start, and how long ago that id was given out. An archive that is filled
 * newest first is useful when this reaches over the last days; that is said once. Belongs to the
 * write thread. */
#ifndef TAIN_MIRROR_RECENT_H
#define TAIN_MIRROR_RECENT_H

#include "store/store.h"

struct recent {
    double days;   /* what counts as recent; 0: nothing is said */
    int64_t floor; /* where the archive begins */
    int64_t from;  /* as last seen */
    bool short_of; /* the last days were not all there at some time */
    bool told;
};

/* After a planning step with its recent_from. Sets the gauges. Asks the database only when `from`
 * has moved. */
MUST_CHECK enum verdict recent_look(struct recent *r, struct store *s, int64_t from, int64_t now_db,
                                    struct err *e);

#endif
