#include "web/web_metrics.h"

#include "web/call.h"

static const char *const areas[] = {"pages",  "hn_api", "search_api", "assets",
                                    "health", "feed",   "links",      "none"};
static const char *const codes[] = {"2xx", "304", "3xx", "400", "404", "4xx", "503", "5xx"};
static const char *const reasons[] = {"queue", "address"};
static const char *const ws_refusals[] = {"key", "request", "full"}; /* as enum ws_refusal */
static const char *const ws_ends[] = {"client", "protocol", "slow", "silent", "full", "stopped"};
static const double seconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                 0.1,    0.25,  0.5,    1,     2.5,  5,     10};

struct metric m_web_requests = {
    .name = "tain_web_requests_total",
    .help = "Requests that were answered, by what they asked for and how it went.",
    .measure = "requests",
    .type = METRIC_COUNTER,
    .label = "route",
    .label_values = areas,
    .label2 = "code",
    .label2_values = codes,
    .n_label2 = ARRAY_LEN(codes),
    .n_series = ARRAY_LEN(areas) * ARRAY_LEN(codes)};
struct metric m_web_duration = {
    .name = "tain_web_request_duration_seconds",
    .help = "From the request line to the last byte of the answer; without event streams.",
    .measure = "seconds",
    .type = METRIC_HISTOGRAM,
    .bounds = seconds,
    .n_bounds = ARRAY_LEN(seconds),
    .n_series = 1,
    .unit = 1e-6};
struct metric m_web_connections = {.name = "tain_web_connections",
                                   .help = "Connections that are open.",
                                   .measure = "connections",
                                   .type = METRIC_GAUGE,
                                   .n_series = 1};
struct metric m_web_streams = {.name = "tain_web_streams",
                               .help = "Event streams that are open.",
                               .measure = "streams",
                               .type = METRIC_GAUGE,
                               .n_series = 1};
struct metric m_web_waiting = {.name = "tain_web_queue_depth",
                               .help = "Requests that wait for a query thread.",
                               .measure = "requests",
                               .type = METRIC_GAUGE,
                               .n_series = 1};
struct metric m_web_refused = {
    .name = "tain_web_refused_total",
    .help = "Turned away: the queue was full, or an address had too many connections.",
    .measure = "requests",
    .type = METRIC_COUNTER,
    .label = "reason",
    .label_values = reasons,
    .n_series = ARRAY_LEN(reasons)};

struct metric m_ws_clients = {.name = "tain_feed_ws_clients",
                              .help = "WebSocket clients of the change feed.",
                              .measure = "clients",
                              .type = METRIC_GAUGE,
                              .n_series = 1};
struct metric m_ws_refused = {.name = "tain_feed_ws_refused_total",
                              .help = "Requests for the change feed that got no WebSocket, by why.",
                              .measure = "requests",
                              .type = METRIC_COUNTER,
                              .label = "reason",
                              .label_values = ws_refusals,
                              .n_series = ARRAY_LEN(ws_refusals)};
struct metric m_ws_closed = {.name = "tain_feed_ws_closed_total",
                             .help = "WebSocket clients that ended, by why.",
                             .measure = "clients",
                             .type = METRIC_COUNTER,
                             .label = "reason",
                             .label_values = ws_ends,
                             .n_series = ARRAY_LEN(ws_ends)};
struct metric m_ws_frames = {.name = "tain_feed_ws_frames_total",
                             .help = "Frames of events that were sent to WebSocket clients.",
                             .measure = "frames",
                             .type = METRIC_COUNTER,
                             .n_series = 1};
struct metric m_ws_messages = {
    .name = "tain_feed_ws_messages_total",
    .help = "Messages of WebSocket clients, which have nothing to say and are not answered.",
    .measure = "messages",
    .type = METRIC_COUNTER,
    .n_series = 1};

struct metric *const web_metrics[] = {&m_web_requests, &m_web_duration, &m_web_connections,
                                      &m_web_streams,  &m_web_waiting,  &m_web_refused,
                                      &m_ws_clients,   &m_ws_refused,   &m_ws_closed,
                                      &m_ws_frames,    &m_ws_messages};
const size_t web_n_metrics = ARRAY_LEN(web_metrics);

static int code_of(int status) {
    if (status < 300)
        return 0;
    if (status < 400)
        return status == 304 ? 1 : 2;
    if (status < 500)
        return status == 400 ? 3 : status == 404 ? 4 : 5;
    return status == 503 ? 6 : 7;
}

void web_metrics_note(int area, int status, int64_t took_us) {
    metric_add(&m_web_requests, metric_series(&m_web_requests, area, code_of(status)), 1);
    if (took_us >= 0)
        metric_observe(&m_web_duration, took_us);
}
