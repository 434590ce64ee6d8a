/* What `tain status` and the summary of a run read from the archive. Read-only. */
#ifndef TAIN_STORE_STATUS_H
#define TAIN_STORE_STATUS_H

#include "store/segments.h"

#define MAX_STALLED 100

struct stalled {
    int64_t start_id, end_id, cursor, unresolved, heartbeat_age_ms; /* -1: never held */
    enum segment_status status;
    char holder[200], last_error[200], failure_class[40];
};

struct archive_status {
    int64_t items;
    int64_t segments[SEG_N], exceptions[EXC_N], dead_letters;
    struct stalled stalled[MAX_STALLED];
    size_t n_stalled;
};

MUST_CHECK enum verdict store_status(struct store *s, struct archive_status *ret, struct err *e);

/* The part of it that costs next to nothing, for gauges. */
struct archive_counts {
    int64_t segments[SEG_N], dead_letters;
};
MUST_CHECK enum verdict store_counts(struct store *s, struct archive_counts *ret, struct err *e);

/* Ids of a window that wait for another try, and those that are dead letters. */
MUST_CHECK enum verdict store_unresolved(struct store *s, int64_t lo, int64_t hi,
                                         int64_t *ret_waiting, int64_t *ret_dead, struct err *e);

/* Ids of mirror segments without their final outcome, ascending, at most `max`. The caller frees
 * *ret_ids. */
MUST_CHECK enum verdict store_unresolved_ids(struct store *s, size_t max, int64_t **ret_ids,
                                             size_t *ret_n, struct err *e);

#endif
