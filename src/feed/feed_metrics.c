#include "feed/feed_metrics.h"

#define GAUGE(variable, metric_name, metric_measure, metric_help) \
    struct metric variable = {.name = (metric_name),              \
                              .help = (metric_help),              \
                              .measure = (metric_measure),        \
                              .type = METRIC_GAUGE,               \
                              .n_series = 1,                      \
                              .value = {METRIC_NONE}}
#define SECONDS(variable, metric_name, metric_help) /* counted in ms */ \
    struct metric variable = {.name = (metric_name),                    \
                              .help = (metric_help),                    \
                              .measure = "seconds",                     \
                              .type = METRIC_GAUGE,                     \
                              .n_series = 1,                            \
                              .unit = 0.001,                            \
                              .value = {METRIC_NONE}}
#define COUNTER(variable, metric_name, metric_measure, metric_help) \
    struct metric variable = {.name = (metric_name),                \
                              .help = (metric_help),                \
                              .measure = (metric_measure),          \
                              .type = METRIC_COUNTER,               \
                              .n_series = 1}

GAUGE(m_feed_head, "tain_feed_head", "position", "The last position that was given to a change.");
GAUGE(m_feed_oldest, "tain_feed_oldest", "position",
      "The first position that is still kept; who stands before it gets a gap.");
GAUGE(m_feed_epoch, "tain_feed_epoch", "unix time",
      "When the present life of the log began; a new one makes gaps.");
COUNTER(m_feed_numbered, "tain_feed_published_total", "changes",
        "Changes that this process gave positions to; on SQLite they are written with them.");
SECONDS(m_feed_lag, "tain_feed_lag_seconds",
        "How long the oldest committed change has been waiting for a position; 0: none waits.");
COUNTER(m_feed_events, "tain_feed_events_total", "events",
        "Events that this process has read from the log for those who listen.");
COUNTER(m_feed_taken, "tain_feed_sent_total", "events",
        "Events that were handed to clients: each counts once per client.");
GAUGE(m_feed_clients, "tain_feed_clients", "clients", "Who listens, over /cdc and /events.");
COUNTER(m_feed_refused, "tain_feed_refused_total", "clients",
        "Clients that were turned away because there were too many.");
COUNTER(m_feed_gaps, "tain_feed_gaps_total", "gaps",
        "Gaps that clients were told of: what they asked for was pruned or lost.");
COUNTER(m_feed_pages, "tain_feed_pages_total", "pages",
        "Pages read from the log for clients that were behind the ring.");
GAUGE(m_feed_ring_bytes, "tain_feed_ring_bytes", "bytes",
      "Size of the latest events that are kept in memory.");
COUNTER(m_feed_pruned, "tain_feed_pruned_total", "changes",
        "Changes that this process dropped from the log by age or by number.");
GAUGE(m_feed_keep_rows, "tain_feed_keep_rows", "changes",
      "How many changes the log is to keep, where this process prunes it.");
COUNTER(m_feed_healed, "tain_feed_healed_total", "changes",
        "Changes that a trigger could not log, and that were logged afterwards by key.");
GAUGE(m_feed_failures, "tain_feed_failures_waiting", "changes",
      "Changes that a trigger could not log, and that wait to be logged by key.");
GAUGE(m_feed_listening, "tain_feed_listen_up", "0 or 1",
      "1 while the LISTEN connection hears; 0: changes are found by looking.");
SECONDS(m_feed_probe, "tain_feed_probe_seconds",
        "From ringing at oneself to hearing it, the last time.");
COUNTER(m_feed_deaf, "tain_feed_listen_lost_total", "connections",
        "LISTEN connections that were given up because they did not hear.");
COUNTER(m_feed_down, "tain_feed_database_lost_total", "times",
        "Times that the database stopped answering the feed.");

SECONDS(m_feed_down_for, "tain_feed_down_seconds",
        "For how long the database has not answered the feed; 0: it does.");
SECONDS(m_feed_silence, "tain_feed_silence_seconds",
        "How long the feed's thread has not moved, unless because it waits for the database.");

struct metric *const feed_metrics[] = {
    &m_feed_head,      &m_feed_oldest,     &m_feed_epoch,   &m_feed_numbered, &m_feed_lag,
    &m_feed_events,    &m_feed_taken,      &m_feed_clients, &m_feed_refused,  &m_feed_gaps,
    &m_feed_pages,     &m_feed_ring_bytes, &m_feed_pruned,  &m_feed_healed,   &m_feed_failures,
    &m_feed_listening, &m_feed_probe,      &m_feed_deaf,    &m_feed_down,     &m_feed_down_for,
    &m_feed_silence,   &m_feed_keep_rows,
};
const size_t feed_n_metrics = ARRAY_LEN(feed_metrics);
