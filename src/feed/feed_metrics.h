/* The figures of the change feed. There is one feed in a process. */
#ifndef TAIN_FEED_FEED_METRICS_H
#define TAIN_FEED_FEED_METRICS_H

#include "base/metrics.h"

extern struct metric m_feed_head, m_feed_oldest, m_feed_epoch; /* of the log */
extern struct metric m_feed_numbered; /* changes that this process gave positions to */
extern struct metric m_feed_lag;      /* ms; the oldest change that has no position yet */
extern struct metric m_feed_events;   /* that this process has read */
extern struct metric m_feed_taken, m_feed_clients, m_feed_refused, m_feed_gaps, m_feed_pages;
extern struct metric m_feed_ring_bytes;
extern struct metric m_feed_pruned, m_feed_healed, m_feed_failures;
extern struct metric m_feed_keep_rows; /* of the process that prunes; set by the command */
extern struct metric m_feed_listening, m_feed_probe, m_feed_deaf;
extern struct metric m_feed_down; /* times that the database did not answer */
/* ms, from feed_down_ms() and feed_silence_ms(): set by the command, since who hangs sets nothing
 */
extern struct metric m_feed_down_for, m_feed_silence;

extern struct metric *const feed_metrics[];
extern const size_t feed_n_metrics;

#endif
