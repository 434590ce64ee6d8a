/* The figures of the mirror, as Prometheus sees them and the progress display reads them. */
#ifndef TAIN_MIRROR_METRICS_H
#define TAIN_MIRROR_METRICS_H

#include "base/metrics.h"
#include "net/classify.h"
#include "store/batch.h"

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
extern struct metric m_progress; /* percent of the window */
extern struct metric m_all_dead_letters, m_leases_lost;
extern struct metric m_segments;      /* gauge by enum segment_status; of the whole archive */
extern struct metric m_http_requests; /* by enum http_target and enum net_class */
extern struct metric m_http_seconds, m_http_inflight, m_http_window;
extern struct metric m_upstream_ill; /* gauge: 1 while the lane is paused */
extern struct metric m_db_seconds, m_db_batch_items, m_db_retries;
extern struct metric m_db_items; /* by enum item_source and result: inserted, changed, ... */

/* Search indexing; see mirror/indexer.h. */
extern struct metric m_index_items, m_index_failures, m_index_lag_ids, m_index_lag_seconds;

enum http_target {
    TARGET_ITEM,
    TARGET_MAXITEM,
    TARGET_UPDATES, /* polled */
    TARGET_STREAM,  /* its opening: how a stream ends later is no answer */
    TARGET_USER,
    TARGET_LIST,
    TARGET_N
};
void count_answer(enum http_target target, enum net_class cls);
int64_t count_item_answers(void); /* so far, of every class */

enum item_source { SOURCE_CATCHUP, SOURCE_REALTIME, SOURCE_RESCAN, SOURCE_N };
/* A batch was committed. For the writer alone: this is where each item counts exactly once. */
void count_written(enum item_source source, const struct apply_stats *s, size_t n_items,
                   int64_t took_ms);

/* The updater's */
extern struct metric m_connected;      /* gauge: 1 while the stream is open and its gap filled */
extern struct metric m_last_event_age; /* gauge, ms; set by the supervisor */
extern struct metric m_workers_alive, m_worker_restarts;
extern struct metric m_queue_depth, m_queue_full; /* of the realtime queue */
extern struct metric m_reconnects;
extern struct metric m_frames;  /* of the stream, by enum updates_kind of hn/updates.h */
extern struct metric m_gap_ids; /* ids of gaps, by way: GAP_QUEUE, GAP_SEGMENTS */
extern struct metric m_polls;   /* of updates.json while the stream is down, good ones */
extern struct metric m_live_updated,
    m_live_changed;                   /* items written for the stream; those that differ */
extern struct metric m_live_outcomes; /* by enum live_outcome */
extern struct metric m_refresh_skipped;
extern struct metric m_update_age; /* histogram, seconds */
extern struct metric m_rescan_age, m_rescan_processed, m_rescan_changed, m_replay_duration;
extern struct metric m_recent_from, m_recent_age; /* see mirror/recent.h */
extern struct metric m_null_backlog, m_live_dlq;
extern struct metric m_profiles, m_profiles_failed, m_lists_seen;
extern struct metric m_role; /* gauge by role: standby, active */

enum gap_way { GAP_QUEUE, GAP_SEGMENTS };
/* What became of an id that the realtime queue gave out. */
enum live_outcome {
    LIVE_STORED,
    LIVE_MISSING,
    LIVE_RECHECK,
    LIVE_FAILED,
    LIVE_DEAD,
    LIVE_GIVEN_BACK
};

/* Of every mirror command, for rendering. */
extern struct metric *const mirror_metrics[];
extern const size_t mirror_n_metrics;
/* What only an updater has. */
extern struct metric *const updater_metrics[];
extern const size_t updater_n_metrics;

#endif
