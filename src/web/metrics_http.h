/* A small HTTP server for what watches a long-running command: GET and HEAD of /metrics, /healthz
 * and /readyz. Runs one thread of its own that never waits for a client, and reads atomics only. */
#ifndef TAIN_WEB_METRICS_HTTP_H
#define TAIN_WEB_METRICS_HTTP_H

#include "base/err.h"
#include "base/metrics.h"
#include "web/vitals.h"

#define METRICS_HTTP_CONNECTIONS 128 /* at once; one that says nothing is closed after 10 s */

struct metrics_http;

struct metrics_http_options {
    const char *bind; /* ADDR:PORT; port 0 takes a free one */
    /* Rendered at each request, with what every process says of itself; must outlive the server. */
    struct metric *const *families;
    size_t n;
    const struct vitals *vitals; /* must outlive the server */
};

/* V_INVALID: not an address. V_FATAL: it cannot be bound; the code is errno. */
MUST_CHECK enum verdict metrics_http_start(const struct metrics_http_options *o,
                                           struct metrics_http **ret, struct err *e);
int metrics_http_port(const struct metrics_http *m);
void metrics_http_stop(struct metrics_http *m); /* NULL is fine */

/* The version of the library behind it, "0.9.75". */
const char *metrics_http_library(void);

#endif
