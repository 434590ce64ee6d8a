#include "mirror/metrics.h"

#include "net/classify.h"
#include "store/segments.h"

#define PLAIN(metric_type, text_name, of, text) \
    { .name = (text_name), .help = (text), .measure = (of), .type = (metric_type), .n_series = 1 }
#define COUNTER(text_name, of, text) PLAIN(METRIC_COUNTER, text_name, of, text)
#define GAUGE(text_name, of, text) PLAIN(METRIC_GAUGE, text_name, of, text)
/* No line until it is set, and then in this unit. */
#define LATER(text_name, of, text, u)                                                              \
    {                                                                                              \
        .name = (text_name), .help = (text), .measure = (of), .type = METRIC_GAUGE, .n_series = 1, \
        .unit = (u), .value = {                                                                    \
            METRIC_NONE                                                                            \
        }                                                                                          \
    }
#define HISTOGRAM(text_name, of, text, b, u)                                            \
    {                                                                                   \
        .name = (text_name), .help = (text), .measure = (of), .type = METRIC_HISTOGRAM, \
        .bounds = (b), .n_bounds = ARRAY_LEN(b), .unit = (u)                            \
    }
#define BY_LABEL(metric_type, text_name, of, text, label_name, values)                 \
    {                                                                                  \
        .name = (text_name), .help = (text), .measure = (of), .type = (metric_type),   \
        .label = (label_name), .label_values = (values), .n_series = ARRAY_LEN(values) \
    }
#define BY_LABELS(text_name, of, text, name1, values1, name2, values2)                \
    {                                                                                 \
        .name = (text_name), .help = (text), .measure = (of), .type = METRIC_COUNTER, \
        .label = (name1), .label_values = (values1), .label2 = (name2),               \
        .label2_values = (values2), .n_label2 = ARRAY_LEN(values2),                   \
        .n_series = ARRAY_LEN(values1) * ARRAY_LEN(values2)                           \
    }

static const double seconds[] = {0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,  0.5,   1,     2.5,  10,    30};
static const double sizes[] = {1, 10, 50, 100, 200, 500, 1000, 5000, 10000};
static const double ages[] = {10,    60,     300,    1800,   3600,    7200,    21600,   43200,
                              86400, 172800, 259200, 604800, 1209600, 2592000, 31536000};

/* What an archive is filled with ------------------------------------------------------------- */

static const char *const outcomes[] = {"inserted", "changed", "unchanged",
                                       "stale",    "missing", "dead_letter"};
static const char *const statuses[] = {"pending", "in_progress", "done", "retry_wait",
                                       "dead_letter"};
_Static_assert(ARRAY_LEN(outcomes) == ITEMS_N_OUTCOMES, "one name each");
_Static_assert(ARRAY_LEN(statuses) == SEG_N, "one name each");

struct metric m_items =
    BY_LABEL(METRIC_COUNTER, "tain_catchup_items_total", "ids",
             "Ids that catching up has come to an end with, by outcome.", "outcome", outcomes);
struct metric m_retries =
    COUNTER("tain_catchup_retries_total", "tries", "Failed tries of an id that will be repeated.");
struct metric m_waiting =
    GAUGE("tain_catchup_waiting_items", "ids", "Ids in memory that wait for another try.");
struct metric m_frontier = LATER("tain_catchup_frontier_id", "item id",
                                 "Largest id up to which every id has its final outcome.", 1);
struct metric m_frontier_waiting =
    LATER("tain_catchup_frontier_excluding_waiting", "item id",
          "The frontier, stepping over young nulls that are still being rechecked.", 1);
struct metric m_frontier_lag = LATER("tain_catchup_frontier_lag", "ids",
                                     "maxitem minus the frontier that steps over what waits.", 1);
struct metric m_maxitem =
    LATER("tain_upstream_maxitem", "item id", "Largest id the upstream has announced.", 1);
struct metric m_dead_letters =
    LATER("tain_catchup_dead_letters", "ids",
          "Dead letters among the ids of the window; an updater's window is the whole archive.", 1);
struct metric m_all_dead_letters =
    LATER("tain_dead_letters", "ids",
          "Dead letters of the whole archive, those of the live stream included.", 1);
struct metric m_progress = LATER("tain_catchup_progress_percent", "percent",
                                 "Share of the window that has an outcome.", 0.01);
struct metric m_segments = {
    .name = "tain_catchup_segments",
    .help = "Segments in the archive, by status.",
    .measure = "segments",
    .type = METRIC_GAUGE,
    .label = "status",
    .label_values = statuses,
    .n_series = ARRAY_LEN(statuses),
    .value = {METRIC_NONE, METRIC_NONE, METRIC_NONE, METRIC_NONE, METRIC_NONE}};
struct metric m_leases_lost =
    COUNTER("tain_catchup_leases_lost_total", "segments", "Segments that went to another process.");

/* The upstream ------------------------------------------------------------------------------- */

static const char *const targets[] = {"item", "maxitem", "updates", "stream", "user", "list"};
/* By enum net_class: the status where there was one, else why there was none. */
static const char *const codes[] = {
    "200",
    "timeout",
    "connect",
    "dns",
    "tls",
    "reset",
    "truncated",
    "too_large",
    "redirect",
    "protocol",
    "401",
    "403",
    "404",
    "429",
    "4xx",
    "5xx",
    "xxx",
    "other",
    "unknown_upstream",
};
_Static_assert(ARRAY_LEN(targets) == TARGET_N, "one name each");
_Static_assert(ARRAY_LEN(codes) == NET_N_CLASSES, "one name each");
_Static_assert(ARRAY_LEN(targets) * ARRAY_LEN(codes) <= METRIC_MAX_SERIES, "there is room");

struct metric m_http_requests =
    BY_LABELS("tain_http_requests_total", "requests",
              "Requests to the upstream that ended, by what was asked for and what came.", "target",
              targets, "code", codes);
struct metric m_http_seconds = HISTOGRAM(
    "tain_http_request_duration_seconds", "seconds",
    "Time from the start of a request to its answer, without the event stream.", seconds, 0.001);
struct metric m_http_inflight = GAUGE("tain_http_inflight", "requests", "Requests in flight.");
struct metric m_http_window =
    GAUGE("tain_http_concurrency_limit", "requests", "How many requests may be in flight now.");
struct metric m_upstream_ill =
    GAUGE("tain_upstream_ill", "0 or 1",
          "1 while requests pause because the upstream is ill, or asked for a pause.");

void count_answer(enum http_target target, enum net_class cls) {
    metric_add(&m_http_requests, metric_series(&m_http_requests, (int)target, (int)cls), 1);
}

int64_t count_item_answers(void) {
    int64_t n = 0;
    for (int i = 0; i < NET_N_CLASSES; i++)
        n += metric_get(&m_http_requests, metric_series(&m_http_requests, TARGET_ITEM, i));
    return n;
}

/* The database ------------------------------------------------------------------------------- */

static const char *const sources[] = {"catchup", "realtime", "rescan"};
static const char *const results[] = {"inserted", "changed", "unchanged", "stale"};
_Static_assert(ARRAY_LEN(sources) == SOURCE_N, "one name each");

struct metric m_db_seconds =
    HISTOGRAM("tain_db_transaction_duration_seconds", "seconds",
              "Time of one batch's transaction, from its begin to its commit.", seconds, 0.001);
struct metric m_db_batch_items =
    HISTOGRAM("tain_db_batch_items", "items", "Items in one committed batch.", sizes, 1);
struct metric m_db_items = BY_LABELS(
    "tain_db_items_total", "items",
    "Items of committed batches, by why they were fetched and what that did to their rows.",
    "source", sources, "result", results);
struct metric m_db_retries = COUNTER("tain_db_retries_total", "transactions",
                                     "Transactions that were repeated after a passing trouble.");

void count_written(enum item_source source, const struct apply_stats *s, size_t n_items,
                   int64_t took_ms) {
    const int64_t by_result[] = {s->inserted, s->changed, s->unchanged, s->stale};
    for (int i = 0; i < (int)ARRAY_LEN(by_result); i++)
        metric_add(&m_db_items, metric_series(&m_db_items, (int)source, i), by_result[i]);
    metric_observe(&m_db_seconds, took_ms);
    metric_observe(&m_db_batch_items, (int64_t)n_items);
}

/* Search ------------------------------------------------------------------------------------- */

struct metric m_index_items = COUNTER("tain_index_items_total", "items",
                                      "Items that were put into the search index by this process.");
struct metric m_index_failures =
    COUNTER("tain_index_failures_total", "steps",
            "Steps of search indexing that failed and will be tried again.");
struct metric m_index_lag_ids =
    LATER("tain_index_lag_ids", "ids", "Ids that wait for the search index, at most.", 1);
struct metric m_index_lag_seconds =
    LATER("tain_index_lag_seconds", "seconds",
          "How long the oldest of them has been waiting; 0 when nothing waits.", 0.001);

/* The updater -------------------------------------------------------------------------------- */

static const char *const ways[] = {"queue", "segments"};
static const char *const frame_kinds[] = {"changes",      "keep_alive", "cancel",
                                          "auth_revoked", "unknown",    "garbage"};
static const char *const live_outcomes[] = {"stored", "missing",     "recheck",
                                            "failed", "dead_letter", "given_back"};
static const char *const roles[] = {"standby", "active"};

struct metric m_connected = GAUGE("tain_realtime_listener_connected", "0 or 1",
                                  "1 while the event stream is open and its gap is filled.");
struct metric m_last_event_age = LATER(
    "tain_realtime_last_event_age_seconds", "seconds",
    "Time since the last frame of the event stream, keep-alives included; before the first one, "
    "since this updater became active.",
    0.001);
struct metric m_workers_alive =
    GAUGE("tain_realtime_worker_alive_count", "workers", "Realtime workers that are alive.");
struct metric m_worker_restarts = COUNTER("tain_realtime_worker_restarts_total", "restarts",
                                          "Realtime workers that were started again.");
struct metric m_queue_depth =
    GAUGE("tain_realtime_queue_depth", "ids", "Ids that wait in the realtime queue.");
struct metric m_queue_full =
    COUNTER("tain_realtime_queue_full_total", "times",
            "Times the reader of the stream met a full queue and waited. Nothing is dropped.");
struct metric m_reconnects =
    COUNTER("tain_realtime_reconnects_total", "times", "Times the event stream was opened again.");
struct metric m_frames = BY_LABEL(METRIC_COUNTER, "tain_realtime_frames_total", "frames",
                                  "Frames of the event stream.", "kind", frame_kinds);
struct metric m_gap_ids =
    BY_LABEL(METRIC_COUNTER, "tain_realtime_gap_ids_total", "ids",
             "Ids between two looks at maxitem around a reconnect.", "way", ways);
struct metric m_polls = COUNTER("tain_realtime_polls_total", "polls",
                                "Good answers to polling while the event stream was down.");
struct metric m_live_updated = COUNTER("tain_realtime_items_updated_total", "items",
                                       "Items fetched because they were named, and written.");
struct metric m_live_changed =
    COUNTER("tain_realtime_items_changed_total", "items",
            "Of those, items that are new or differ from what was stored.");
struct metric m_live_outcomes =
    BY_LABEL(METRIC_COUNTER, "tain_realtime_outcomes_total", "ids",
             "What became of the ids of the realtime queue.", "outcome", live_outcomes);
struct metric m_refresh_skipped =
    COUNTER("tain_realtime_refresh_skipped_total", "ids",
            "Parents of new comments that were not refreshed because the queue was full.");
struct metric m_update_age = HISTOGRAM("tain_realtime_update_age_seconds", "seconds",
                                       "Age of items when an update of them arrives.", ages, 1);
struct metric m_rescan_age =
    LATER("tain_rescan_last_run_age_seconds", "seconds",
          "Time since the start of the last finished rescan; no line while there was none.", 0.001);
struct metric m_rescan_processed = COUNTER("tain_rescan_items_processed_total", "items",
                                           "Items fetched again by rescans and replays.");
struct metric m_rescan_changed =
    COUNTER("tain_rescan_items_changed_total", "items", "Of those, items that are new or differ.");
struct metric m_replay_duration =
    LATER("tain_startup_replay_duration_seconds", "seconds",
          "How long the replay after the start took; no line until it is finished.", 0.001);
struct metric m_recent_from =
    LATER("tain_recent_from_id", "item id",
          "From this id on everything was looked at that existed at the start.", 1);
struct metric m_recent_age =
    LATER("tain_recent_age_seconds", "seconds", "How long ago that id was given out.", 1);
struct metric m_null_backlog = LATER("tain_null_recheck_backlog", "ids",
                                     "Ids on a ladder of rechecks: young nulls and [delayed].", 1);
struct metric m_live_dlq =
    LATER("tain_realtime_dlq_items", "ids",
          "Ids of the live stream that failed and wait for another round.", 1);
struct metric m_profiles = COUNTER("tain_profiles_total", "profiles", "Profiles written.");
struct metric m_profiles_failed =
    COUNTER("tain_profiles_failed_total", "profiles",
            "Profiles that could not be had and will be tried again.");
struct metric m_lists_seen = COUNTER("tain_lists_total", "lists", "Story lists written.");
struct metric m_role = BY_LABEL(METRIC_GAUGE, "tain_updater_role", "0 or 1",
                                "1 for the role this updater has.", "role", roles);

struct metric *const mirror_metrics[] = {
    &m_items,
    &m_retries,
    &m_waiting,
    &m_frontier,
    &m_frontier_waiting,
    &m_frontier_lag,
    &m_maxitem,
    &m_dead_letters,
    &m_progress,
    &m_segments,
    &m_leases_lost,
    &m_http_requests,
    &m_http_seconds,
    &m_http_inflight,
    &m_http_window,
    &m_upstream_ill,
    &m_db_seconds,
    &m_db_batch_items,
    &m_db_items,
    &m_db_retries,
    &m_all_dead_letters,
    &m_index_items,
    &m_index_failures,
    &m_index_lag_ids,
    &m_index_lag_seconds,
};
const size_t mirror_n_metrics = ARRAY_LEN(mirror_metrics);

struct metric *const updater_metrics[] = {
    &m_connected,    &m_last_event_age,   &m_workers_alive,   &m_worker_restarts, &m_queue_depth,
    &m_queue_full,   &m_reconnects,       &m_frames,          &m_gap_ids,         &m_polls,
    &m_live_updated, &m_live_changed,     &m_live_outcomes,   &m_refresh_skipped, &m_update_age,
    &m_rescan_age,   &m_rescan_processed, &m_rescan_changed,  &m_replay_duration, &m_null_backlog,
    &m_live_dlq,     &m_profiles,         &m_profiles_failed, &m_lists_seen,      &m_role,
    &m_recent_from,  &m_recent_age,
};
const size_t updater_n_metrics = ARRAY_LEN(updater_metrics);
