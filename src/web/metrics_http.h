/* A small HTTP server for GET /metrics and /healthz of a long-running command. Runs one thread of
 * its own; the text comes from a callback that reads atomics only. */
#ifndef TAIN_WEB_METRICS_HTTP_H
#define TAIN_WEB_METRICS_HTTP_H

#include "base/err.h"
#include "base/metrics.h"

struct metrics_http;

/* `bind` is ADDR:PORT; port 0 takes a free one. V_INVALID: not an address. V_FATAL: it cannot be
 * bound. The families are rendered at each request and must outlive the server. */
MUST_CHECK enum verdict metrics_http_start(const char *bind, struct metric *const *families,
                                           size_t n, struct metrics_http **ret, struct err *e);
int metrics_http_port(const struct metrics_http *m);
void metrics_http_stop(struct metrics_http *m); /* NULL is fine */

/* The version of the library behind it, "0.9.75". */
const char *metrics_http_library(void);

#endif
