/* What every process says of itself, under the names that Prometheus' own client libraries have
 * agreed upon (so without the prefix tain_), and which build it is. */
#ifndef TAIN_WEB_PROCESS_METRICS_H
#define TAIN_WEB_PROCESS_METRICS_H

#include "base/metrics.h"

extern struct metric *const process_metrics[];
extern const size_t process_n_metrics;

/* Reads them anew. A figure that cannot be had has no line. One thread at a time. */
void process_metrics_read(void);
/* Reads and appends them, for a page. Any thread. */
void process_metrics_render(struct strbuf *out);

#endif
