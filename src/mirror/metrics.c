#include "mirror/metrics.h"

static const char *const outcomes[] = {"inserted", "changed", "unchanged",
                                       "stale",    "missing", "dead_letter"};
static const char *const answer_classes[] = {
    "ok",        "timeout",   "connect",  "dns",      "tls",        "reset",
    "truncated", "too_large", "redirect", "protocol", "http_401",   "http_403",
    "http_404",  "http_429",  "http_4xx", "http_5xx", "http_other", "other"};
static const double seconds[] = {0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,  0.5,   1,     2.5,  10,    30};
static const double sizes[] = {1, 10, 50, 100, 200, 500, 1000, 5000, 10000};

#define COUNTER(text_name, text) \
    { .name = (text_name), .help = (text), .type = METRIC_COUNTER, .n_series = 1 }
#define GAUGE(text_name, text) \
    { .name = (text_name), .help = (text), .type = METRIC_GAUGE, .n_series = 1 }
#define HISTOGRAM(text_name, text, b, u)                                              \
    {                                                                                 \
        .name = (text_name), .help = (text), .type = METRIC_HISTOGRAM, .bounds = (b), \
        .n_bounds = ARRAY_LEN(b), .unit = (u)                                         \
    }

struct metric m_items = {.name = "tain_catchup_items_total",
                         .help = "Ids with a final outcome in this run.",
                         .type = METRIC_COUNTER,
                         .label = "outcome",
                         .label_values = outcomes,
                         .n_series = ARRAY_LEN(outcomes)};
struct metric m_retries =
    COUNTER("tain_catchup_retries_total", "Failed tries of an id that will be repeated.");
struct metric m_waiting =
    GAUGE("tain_catchup_waiting_items", "Ids of this run that wait for another try.");
struct metric m_frontier =
    GAUGE("tain_catchup_frontier_id", "Largest id below which every id has its final outcome.");
struct metric m_frontier_waiting =
    GAUGE("tain_catchup_frontier_excluding_waiting",
          "The frontier, stepping over young nulls that are still being rechecked.");
struct metric m_frontier_lag =
    GAUGE("tain_catchup_frontier_lag", "maxitem minus the frontier excluding what waits.");
struct metric m_maxitem = GAUGE("tain_upstream_maxitem", "Largest id the upstream has announced.");
struct metric m_dead_letters =
    GAUGE("tain_catchup_dead_letters", "Dead letters in the window of this run.");
struct metric m_progress = {.name = "tain_catchup_progress_percent",
                            .help = "Share of the window that has an outcome.",
                            .type = METRIC_GAUGE,
                            .n_series = 1,
                            .unit = 0.01};
struct metric m_http_requests = {.name = "tain_http_requests_total",
                                 .help = "Answers of the upstream by class.",
                                 .type = METRIC_COUNTER,
                                 .label = "class",
                                 .label_values = answer_classes,
                                 .n_series = ARRAY_LEN(answer_classes)};
struct metric m_http_seconds =
    HISTOGRAM("tain_http_request_duration_seconds",
              "Time from the start of a request to its answer.", seconds, 0.001);
struct metric m_http_inflight = GAUGE("tain_http_inflight", "Requests in flight.");
struct metric m_http_window =
    GAUGE("tain_http_concurrency_limit", "How many requests may be in flight now.");
struct metric m_db_seconds = HISTOGRAM("tain_db_transaction_duration_seconds",
                                       "Time of one batch's transaction.", seconds, 0.001);
struct metric m_db_batch_items = HISTOGRAM("tain_db_batch_items", "Items in a batch.", sizes, 1);
struct metric m_db_retries =
    COUNTER("tain_db_retries_total", "Transactions that were repeated after a passing trouble.");
struct metric m_upstream_ill =
    GAUGE("tain_upstream_ill", "1 while the lane is paused because the upstream is ill.");
struct metric m_leases_lost =
    COUNTER("tain_catchup_leases_lost_total", "Segments that went to another process.");

static const char *const ways[] = {"queue", "segments"};
static const char *const frame_kinds[] = {"changes",      "keep_alive", "cancel",
                                          "auth_revoked", "unknown",    "garbage"};
static const char *const live_outcomes[] = {"stored", "missing",     "recheck",
                                            "failed", "dead_letter", "given_back"};
static const char *const roles[] = {"standby", "active"};
static const double ages[] = {10,    60,     300,    1800,   3600,    7200,    21600,   43200,
                              86400, 172800, 259200, 604800, 1209600, 2592000, 31536000};

#define BY_LABEL(text_name, text, metric_type, label_name, values)                         \
    {                                                                                      \
        .name = (text_name), .help = (text), .type = (metric_type), .label = (label_name), \
        .label_values = (values), .n_series = ARRAY_LEN(values)                            \
    }

struct metric m_connected = GAUGE("tain_realtime_listener_connected",
                                  "1 while the event stream is open and its gap is filled.");
struct metric m_last_event_age = {.name = "tain_realtime_last_event_age_seconds",
                                  .help = "Time since the last frame of the event stream.",
                                  .type = METRIC_GAUGE,
                                  .n_series = 1,
                                  .unit = 0.001};
struct metric m_workers_alive =
    GAUGE("tain_realtime_worker_alive_count", "Realtime workers that are alive.");
struct metric m_worker_restarts =
    COUNTER("tain_realtime_worker_restarts_total", "Realtime workers that were started again.");
struct metric m_queue_depth =
    GAUGE("tain_realtime_queue_depth", "Ids that wait in the realtime queue.");
struct metric m_queue_full = COUNTER("tain_realtime_queue_full_total",
                                     "Times the reader of the stream met a full queue and waited.");
struct metric m_reconnects =
    COUNTER("tain_realtime_reconnects_total", "Times the event stream was opened again.");
struct metric m_frames = BY_LABEL("tain_realtime_frames_total", "Frames of the event stream.",
                                  METRIC_COUNTER, "kind", frame_kinds);
struct metric m_gap_ids =
    BY_LABEL("tain_realtime_gap_ids_total", "Ids between two looks at maxitem around a reconnect.",
             METRIC_COUNTER, "way", ways);
struct metric m_polls = COUNTER("tain_realtime_polls_total",
                                "Good answers to polling while the event stream was down.");
struct metric m_live_updated =
    COUNTER("tain_realtime_items_updated_total", "Items written because they were named.");
struct metric m_live_changed = COUNTER("tain_realtime_items_changed_total",
                                       "Of those, items that are new or differ from before.");
struct metric m_live_outcomes =
    BY_LABEL("tain_realtime_outcomes_total", "What became of the ids of the realtime queue.",
             METRIC_COUNTER, "outcome", live_outcomes);
struct metric m_refresh_skipped =
    COUNTER("tain_realtime_refresh_skipped_total",
            "Parents of new comments that were not refreshed because the queue was full.");
struct metric m_update_age = HISTOGRAM("tain_realtime_update_age_seconds",
                                       "Age of items when an update of them arrives.", ages, 1);
struct metric m_rescan_age = {.name = "tain_rescan_last_run_age_seconds",
                              .help = "Time since the start of the last finished rescan.",
                              .type = METRIC_GAUGE,
                              .n_series = 1,
                              .unit = 0.001};
struct metric m_rescan_processed =
    COUNTER("tain_rescan_items_processed_total", "Items fetched again by rescans and replays.");
struct metric m_rescan_changed =
    COUNTER("tain_rescan_items_changed_total", "Of those, items that are new or differ.");
struct metric m_replay_duration = {.name = "tain_startup_replay_duration_seconds",
                                   .help = "How long the replay after the last start took.",
                                   .type = METRIC_GAUGE,
                                   .n_series = 1,
                                   .unit = 0.001};
struct metric m_null_backlog =
    GAUGE("tain_null_recheck_backlog", "Ids on a ladder of rechecks: young nulls and [delayed].");
struct metric m_live_dlq = GAUGE("tain_realtime_dlq_items",
                                 "Ids of the live stream that failed and wait for another round.");
struct metric m_profiles = COUNTER("tain_profiles_total", "Profiles written.");
struct metric m_profiles_failed = COUNTER(
    "tain_profiles_failed_total", "Profiles that could not be had and will be tried again.");
struct metric m_lists_seen = COUNTER("tain_lists_total", "Story lists written.");
struct metric m_role =
    BY_LABEL("tain_updater_role", "1 for the role this updater has.", METRIC_GAUGE, "role", roles);

struct metric *const mirror_metrics[] = {
    &m_items,        &m_retries,       &m_waiting,      &m_frontier,   &m_frontier_waiting,
    &m_frontier_lag, &m_maxitem,       &m_dead_letters, &m_progress,   &m_http_requests,
    &m_http_seconds, &m_http_inflight, &m_http_window,  &m_db_seconds, &m_db_batch_items,
    &m_db_retries,   &m_upstream_ill,  &m_leases_lost,
};
const size_t mirror_n_metrics = ARRAY_LEN(mirror_metrics);

struct metric *const updater_metrics[] = {
    &m_connected,    &m_last_event_age,   &m_workers_alive,   &m_worker_restarts, &m_queue_depth,
    &m_queue_full,   &m_reconnects,       &m_frames,          &m_gap_ids,         &m_polls,
    &m_live_updated, &m_live_changed,     &m_live_outcomes,   &m_refresh_skipped, &m_update_age,
    &m_rescan_age,   &m_rescan_processed, &m_rescan_changed,  &m_replay_duration, &m_null_backlog,
    &m_live_dlq,     &m_profiles,         &m_profiles_failed, &m_lists_seen,      &m_role,
};
const size_t updater_n_metrics = ARRAY_LEN(updater_metrics);
