/* Planning and housekeeping of mirror segments: uncovered ids become segments a few at a time, done
 * neighbours are merged, the frontier is computed and written. Every step is one transaction under
 * the planners' lock. Runs on the thread that owns the store. */
#ifndef TAIN_MIRROR_PLAN_H
#define TAIN_MIRROR_PLAN_H

#include "policy/ranges.h"
#include "store/segments.h"

struct frontier {
    int64_t id, excluding_waiting;
    int64_t scanned; /* the same, taking every outcome as final: how far anyone ever looked */
};

struct plan {
    struct range window;
    int64_t width;
    bool replay;         /* fetch again what the window has already */
    int64_t replay_next; /* the next id to be replayed; 0 = not begun, beyond the window = all */
    bool newest_first;   /* segments are made from the high end; their claimer does likewise */
    int64_t anchor;      /* the newest id at the start, or after a blind time; 0 = not known yet */
    int64_t last_hi;     /* the window's end in the step before */
};

struct plan_report {
    struct frontier frontier;
    int64_t planned_new; /* segments made by this step */
    int64_t replay_next; /* what the plan's becomes when the step is committed */
    int64_t merged;      /* segments that went into their neighbour */
    int64_t covered;     /* ids of the window with an outcome, by the segments' cursors */
    int64_t recent_from; /* from here to the plan's anchor every id was looked at; 0 = unknown */
    bool all_planned;    /* no id of the window is without a segment */
};

/* One step. Plans when fewer than `low_water` segments of the window are pending. Newest first,
 * only those count that would be claimed before what is to be planned, and history waits while a
 * replay or a rescan is pending: what is new never stands behind what is old. */
MUST_CHECK enum verdict plan_step(struct store *s, struct plan *p, int low_water,
                                  struct plan_report *ret, struct err *e);

/* The frontier from what the segments say now; reads only. */
MUST_CHECK enum verdict plan_frontier(struct store *s, struct frontier *ret, struct err *e);

/* Every range of ids that is proved, ascending, neighbours joined. Beyond PLAN_MAX_HOLES unresolved
 * ids it stops before the first it could not tell. The caller frees *ret. */
#define PLAN_MAX_HOLES 100000
MUST_CHECK enum verdict plan_coverage(struct store *s, struct range **ret, size_t *ret_n,
                                      struct err *e);

#endif
