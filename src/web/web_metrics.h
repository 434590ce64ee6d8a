/* The figures of the HTTP server. */
#ifndef TAIN_WEB_WEB_METRICS_H
#define TAIN_WEB_WEB_METRICS_H

#include "base/metrics.h"

extern struct metric m_web_requests, m_web_duration, m_web_connections, m_web_streams,
    m_web_waiting, m_web_refused, m_ws_clients, m_ws_refused, m_ws_closed, m_ws_frames,
    m_ws_messages;
extern struct metric *const web_metrics[];
extern const size_t web_n_metrics;

/* A request has ended. `area` is an enum route_area, AREA_N for what fits nowhere; took_us below 0:
 * it was a stream, whose length says nothing. */
void web_metrics_note(int area, int status, int64_t took_us);

#endif
