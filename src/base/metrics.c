#include "base/metrics.h"

static double unit_of(const struct metric *m) {
    return m->unit != 0 ? m->unit : 1.0;
}

void metric_observe(struct metric *m, int64_t v) {
    double scaled = (double)v * unit_of(m);
    int i = 0;
    /* 9 times 0.001 is a little over 0.009: a value on the bound belongs below it. */
    while (i < m->n_bounds && scaled > m->bounds[i] * (1 + 1e-9))
        i++;
    atomic_fetch_add_explicit(&m->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->sum, v, memory_order_relaxed);
}

static void render_series(const struct metric *m, struct strbuf *out) {
    for (int i = 0; i < m->n_series; i++) {
        strbuf_adds(out, m->name);
        if (m->label)
            strbuf_addf(out, "{%s=\"%s\"}", m->label, m->label_values[i]);
        strbuf_addf(out, " %.15g\n", (double)metric_get(m, i) * unit_of(m));
    }
}

static void render_histogram(const struct metric *m, struct strbuf *out) {
    int64_t total = 0;
    for (int i = 0; i < m->n_bounds; i++) {
        total += atomic_load(&m->buckets[i]);
        strbuf_addf(out, "%s_bucket{le=\"%g\"} %lld\n", m->name, m->bounds[i], (long long)total);
    }
    total += atomic_load(&m->buckets[m->n_bounds]);
    strbuf_addf(out, "%s_bucket{le=\"+Inf\"} %lld\n", m->name, (long long)total);
    strbuf_addf(out, "%s_sum %.15g\n", m->name, (double)atomic_load(&m->sum) * unit_of(m));
    strbuf_addf(out, "%s_count %lld\n", m->name, (long long)total);
}

void metrics_render(struct metric *const *all, size_t n, struct strbuf *out) {
    static const char *const types[] = {"counter", "gauge", "histogram"};
    for (size_t i = 0; i < n; i++) {
        const struct metric *m = all[i];
        strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, types[m->type]);
        if (m->type == METRIC_HISTOGRAM)
            render_histogram(m, out);
        else
            render_series(m, out);
    }
}
