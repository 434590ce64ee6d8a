/* Counters, gauges and histograms, rendered in the Prometheus text format. A family is a static
 * table row; values are atomics, so any thread may bump one without a lock. Label values are
 * fixed when the family is declared, so the number of series is too. */
#ifndef TAIN_BASE_METRICS_H
#define TAIN_BASE_METRICS_H

#include "base/attr.h"
#include "base/str.h"

#include <stdatomic.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_MAX_SERIES 40
#define METRIC_MAX_BUCKETS 16

struct metric {
    const char *name; /* with the tain_ prefix; counters end in _total */
    const char *help;
    enum metric_type type;
    const char *label;               /* NULL: a single series */
    const char *const *label_values; /* as many as n_series */
    int n_series;
    const double *bounds; /* histogram: upper bounds, ascending; +Inf is added */
    int n_bounds;
    double unit; /* a rendered value is the stored integer times this; 0 counts as 1 */
    _Atomic int64_t value[METRIC_MAX_SERIES];
    _Atomic int64_t buckets[METRIC_MAX_BUCKETS + 1];
    _Atomic int64_t sum;
};

static inline void metric_add(struct metric *m, int series, int64_t by) {
    atomic_fetch_add_explicit(&m->value[series], by, memory_order_relaxed);
}
static inline void metric_set(struct metric *m, int series, int64_t to) {
    atomic_store_explicit(&m->value[series], to, memory_order_relaxed);
}
static inline int64_t metric_get(const struct metric *m, int series) {
    return atomic_load_explicit(&m->value[series], memory_order_relaxed);
}
/* In stored units: with unit 0.001 and v in milliseconds the bounds are seconds. */
void metric_observe(struct metric *m, int64_t v);
void metrics_render(struct metric *const *all, size_t n, struct strbuf *out);

#endif
