/* What the page /status shows, read from the archive at one go. Pure data; texts live in the
 * caller's arena. Runs on the thread that owns the store. */
#ifndef TAIN_WEB_STATUS_H
#define TAIN_WEB_STATUS_H

#include "base/metrics.h"
#include "policy/ages.h"
#include "policy/ranges.h"
#include "store/feed.h"
#include "store/lanes.h"
#include "store/live.h"
#include "store/status.h"

#define STATUS_MINUTES 60 /* of changes that are drawn */
#define STATUS_RANGES 400 /* of ids that are drawn; more are drawn as one with their neighbours */

struct status {
    int64_t now; /* the database's, unix milliseconds */
    struct archive_state state;
    struct archive_counts counts;
    struct updater_row updater;
    struct ages ages;
    int64_t failed, rechecks;           /* of the live stream; on a ladder */
    int64_t index_waits, index_since;   /* ids behind the search index, since when */
    int64_t changes[STATUS_MINUTES];    /* items that changed, by minute, the last one now */
    struct range ranges[STATUS_RANGES]; /* of ids with an outcome, ascending, apart */
    size_t n_ranges;
    struct feed_state feed;
    int64_t feed_waits_ms; /* the age of the oldest change without a position; -1: there is none */
    int64_t feed_clients;  /* of this process */
    const struct lane_row *lanes; /* of enrichment; what people wrote about them is not shown */
    size_t n_lanes;
    int64_t queue; /* of this process; METRIC_NONE where another one is the updater */
};

MUST_CHECK enum verdict status_read(struct store *s, struct status *ret, struct err *e);
/* Takes what the process itself knows out of its metrics. */
void status_of_process(struct status *s, struct metric *const *families, size_t n);

/* The figures and drawings, without the page around them. */
void status_render(struct strbuf *b, const struct status *s);

#endif
