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

struct metric *const mirror_metrics[] = {
    &m_items,        &m_retries,       &m_waiting,      &m_frontier,   &m_frontier_waiting,
    &m_frontier_lag, &m_maxitem,       &m_dead_letters, &m_progress,   &m_http_requests,
    &m_http_seconds, &m_http_inflight, &m_http_window,  &m_db_seconds, &m_db_batch_items,
    &m_db_retries,   &m_upstream_ill,  &m_leases_lost,
};
const size_t mirror_n_metrics = ARRAY_LEN(mirror_metrics);
