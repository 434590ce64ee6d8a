/* Counters, gauges and histograms, rendered in the Prometheus text format. A family is a static
 * table row; values are atomics, so any thread may bump one without a lock. Label values are
 * fixed when the family is declared, so the number of series is too. A gauge that is not known yet
 * holds METRIC_NONE and has no line on the page: 0 would be a claim. */
#ifndef TAIN_BASE_METRICS_H
#define TAIN_BASE_METRICS_H

#include "base/attr.h"
#include "base/str.h"

#include <stdatomic.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_MAX_SERIES 128
#define METRIC_MAX_BUCKETS 16
#define METRIC_NONE INT64_MIN

struct metric {
    const char *name; /* with the tain_ prefix; counters end in _total */
    const char *help;
    const char *measure; /* what its value is a number of, for readers: "seconds", "ids" */
    enum metric_type type;
    const char *label; /* NULL: a single series */
    const char *const *label_values;
    /* A second label: series are numbered through it first, metric_series() says how. */
    const char *label2; /* NULL: none */
    const char *const *label2_values;
    int n_label2;
    /* All of them: label values times label2 values. Whoever names series while others may be
     * reading stores it behind the names, with release. */
    _Atomic int n_series;
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
static inline bool metric_known(const struct metric *m, int series) {
    return atomic_load_explicit(&m->value[series], memory_order_relaxed) != METRIC_NONE;
}
/* 0 while it is not known. */
static inline int64_t metric_get(const struct metric *m, int series) {
    int64_t v = atomic_load_explicit(&m->value[series], memory_order_relaxed);
    return v == METRIC_NONE ? 0 : v;
}
/* The series of the i-th value of the label and the k-th of label2. */
static inline int metric_series(const struct metric *m, int i, int k) {
    return m->label2 ? i * m->n_label2 + k : i;
}
/* In stored units: with unit 0.001 and v in milliseconds the bounds are seconds. */
void metric_observe(struct metric *m, int64_t v);
void metrics_render(struct metric *const *all, size_t n, struct strbuf *out);

#endif
