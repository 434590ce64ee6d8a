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

/* What the format wants escaped: in a HELP line the first two, in a label value all three. */
static void add_escaped(struct strbuf *out, const char *text, bool quotes) {
    for (const char *p = text; *p; p++) {
        if (*p == '\\' || (*p == '"' && quotes))
            strbuf_addc(out, '\\');
        if (*p == '\n')
            strbuf_adds(out, "\\n");
        else
            strbuf_addc(out, *p);
    }
}

static void add_label(struct strbuf *out, const char *name, const char *value) {
    strbuf_addf(out, "%s=\"", name);
    add_escaped(out, value, true);
    strbuf_addc(out, '"');
}

static void add_labels(const struct metric *m, int series, struct strbuf *out) {
    int n2 = m->label2 ? m->n_label2 : 1;
    strbuf_addc(out, '{');
    add_label(out, m->label, m->label_values[series / n2]);
    if (m->label2) {
        strbuf_addc(out, ',');
        add_label(out, m->label2, m->label2_values[series % n2]);
    }
    strbuf_addc(out, '}');
}

static void render_series(const struct metric *m, struct strbuf *out) {
    int n_series = atomic_load_explicit(&m->n_series, memory_order_acquire);
    for (int i = 0; i < n_series; i++) {
        int64_t v = atomic_load_explicit(&m->value[i], memory_order_relaxed);
        if (v == METRIC_NONE)
            continue;
        strbuf_adds(out, m->name);
        if (m->label)
            add_labels(m, i, out);
        strbuf_addf(out, " %.15g\n", (double)v * unit_of(m));
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
        strbuf_addf(out, "# HELP %s ", m->name);
        add_escaped(out, m->help, false);
        strbuf_addf(out, "\n# TYPE %s %s\n", m->name, types[m->type]);
        if (m->type == METRIC_HISTOGRAM)
            render_histogram(m, out);
        else
            render_series(m, out);
    }
}
