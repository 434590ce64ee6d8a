/* The figures of the mirror, as Prometheus sees them and the progress display reads them. */
#ifndef TAIN_MIRROR_METRICS_H
#define TAIN_MIRROR_METRICS_H

#include "base/metrics.h"

enum item_outcome {
    ITEMS_INSERTED,
    ITEMS_CHANGED,
    ITEMS_UNCHANGED,
    ITEMS_STALE,
    ITEMS_MISSING,
    ITEMS_DEAD_LETTER,
    ITEMS_N_OUTCOMES
};

extern struct metric m_items;   /* by outcome; each id once per run */
extern struct metric m_retries; /* failed tries that will be repeated */
extern struct metric m_waiting; /* gauge: ids of this run that wait for another try */
extern struct metric m_frontier, m_frontier_waiting, m_frontier_lag, m_maxitem, m_dead_letters;
extern struct metric m_progress;      /* percent of the window */
extern struct metric m_http_requests; /* by class of answer */
extern struct metric m_http_seconds, m_http_inflight, m_http_window;
extern struct metric m_db_seconds, m_db_batch_items, m_db_retries;
extern struct metric m_upstream_ill; /* gauge: 1 while the lane is paused */
extern struct metric m_leases_lost;

/* Everything above, for rendering. */
extern struct metric *const mirror_metrics[];
extern const size_t mirror_n_metrics;

#endif
