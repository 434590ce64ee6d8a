/* Metrics: the text that a scraper reads, and on which side of a bound a value falls. */
#include "base/metrics.h"

#include <pthread.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void render_one(struct metric *m, struct strbuf *out) {
    struct metric *const all[] = {m};
    strbuf_init(out, 10000);
    metrics_render(all, 1, out);
}

static void counters_and_gauges(void **state UNUSED) {
    static const char *const classes[] = {"ok", "http_5xx"};
    struct metric plain = {
        .name = "tain_items_total", .help = "Items stored.", .type = METRIC_COUNTER, .n_series = 1};
    struct metric labelled = {.name = "tain_lag",
                              .help = "How far behind.",
                              .type = METRIC_GAUGE,
                              .label = "class",
                              .label_values = classes,
                              .n_series = 2,
                              .unit = 0.001};
    metric_add(&plain, 0, 5);
    metric_add(&plain, 0, 1);
    metric_set(&labelled, 1, 1500);
    metric_set(&labelled, 0, -250);
    assert_int_equal(metric_get(&plain, 0), 6);
    struct metric *const all[] = {&plain, &labelled};
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 10000);
    metrics_render(all, 2, &b);
    assert_string_equal(b.p, "# HELP tain_items_total Items stored.\n"
                             "# TYPE tain_items_total counter\n"
                             "tain_items_total 6\n"
                             "# HELP tain_lag How far behind.\n"
                             "# TYPE tain_lag gauge\n"
                             "tain_lag{class=\"ok\"} -0.25\n"
                             "tain_lag{class=\"http_5xx\"} 1.5\n");
}

static void large_counters_stay_exact(void **state UNUSED) {
    struct metric m = {.name = "x_total", .help = "h", .type = METRIC_COUNTER, .n_series = 1};
    metric_set(&m, 0, 123456789012345);
    CLEANUP(strbuf_release) struct strbuf b;
    render_one(&m, &b);
    assert_non_null(strstr(b.p, "\nx_total 123456789012345\n"));
}

static void a_histogram(void **state UNUSED) {
    static const double bounds[] = {0.1, 0.5, 2.5};
    struct metric m = {.name = "tain_wait_seconds",
                       .help = "Waits.",
                       .type = METRIC_HISTOGRAM,
                       .bounds = bounds,
                       .n_bounds = 3,
                       .unit = 0.001};
    static const int64_t values[] = {0, 100, 101, 500, 2500, 2501, 60000};
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        metric_observe(&m, values[i]);
    CLEANUP(strbuf_release) struct strbuf b;
    render_one(&m, &b);
    assert_string_equal(b.p, "# HELP tain_wait_seconds Waits.\n"
                             "# TYPE tain_wait_seconds histogram\n"
                             "tain_wait_seconds_bucket{le=\"0.1\"} 2\n"
                             "tain_wait_seconds_bucket{le=\"0.5\"} 4\n"
                             "tain_wait_seconds_bucket{le=\"2.5\"} 5\n"
                             "tain_wait_seconds_bucket{le=\"+Inf\"} 7\n"
                             "tain_wait_seconds_sum 65.702\n"
                             "tain_wait_seconds_count 7\n");
}

static void an_untouched_histogram_has_all_its_lines(void **state UNUSED) {
    static const double bounds[] = {1};
    struct metric m = {
        .name = "h", .help = "x", .type = METRIC_HISTOGRAM, .bounds = bounds, .n_bounds = 1};
    CLEANUP(strbuf_release) struct strbuf b;
    render_one(&m, &b);
    assert_string_equal(b.p, "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 0\n"
                             "h_bucket{le=\"+Inf\"} 0\nh_sum 0\nh_count 0\n");
}

/* A value on a bound belongs below it, in whatever unit it is stored. */
static void bounds_are_inclusive(void **state UNUSED) {
    static const struct {
        double unit, bound;
        int64_t on_it;
    } cases[] = {
        {0.001, 0.009, 9},       {0.001, 0.005, 5},  {0.001, 0.025, 25}, {0.001, 0.033, 33},
        {0.001, 0.1, 100},       {0.001, 2.3, 2300}, {0.001, 10, 10000}, {0.000001, 0.000003, 3},
        {0.000001, 0.05, 50000}, {0.1, 0.3, 3},      {0, 7, 7},          {1, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct metric m = {.type = METRIC_HISTOGRAM,
                           .bounds = &cases[i].bound,
                           .n_bounds = 1,
                           .unit = cases[i].unit};
        metric_observe(&m, cases[i].on_it);
        metric_observe(&m, cases[i].on_it + 1);
        if (m.buckets[0] != 1 || m.buckets[1] != 1)
            fail_msg("case %zu: %d below, %d above", i, (int)m.buckets[0], (int)m.buckets[1]);
    }
}

static void two_labels_make_a_grid(void **state UNUSED) {
    static const char *const targets[] = {"item", "list"};
    static const char *const codes[] = {"200", "404", "5xx"};
    struct metric m = {.name = "r_total",
                       .help = "h",
                       .type = METRIC_COUNTER,
                       .label = "target",
                       .label_values = targets,
                       .label2 = "code",
                       .label2_values = codes,
                       .n_label2 = 3,
                       .n_series = 6};
    metric_add(&m, metric_series(&m, 0, 2), 7);
    metric_add(&m, metric_series(&m, 1, 0), 9);
    CLEANUP(strbuf_release) struct strbuf b;
    render_one(&m, &b);
    assert_string_equal(b.p, "# HELP r_total h\n# TYPE r_total counter\n"
                             "r_total{target=\"item\",code=\"200\"} 0\n"
                             "r_total{target=\"item\",code=\"404\"} 0\n"
                             "r_total{target=\"item\",code=\"5xx\"} 7\n"
                             "r_total{target=\"list\",code=\"200\"} 9\n"
                             "r_total{target=\"list\",code=\"404\"} 0\n"
                             "r_total{target=\"list\",code=\"5xx\"} 0\n");
    m.label2 = NULL;
    assert_int_equal(metric_series(&m, 1, 0), 1);
}

static void what_is_not_known_has_no_line(void **state UNUSED) {
    struct metric m = {.name = "age_seconds",
                       .help = "h",
                       .type = METRIC_GAUGE,
                       .n_series = 1,
                       .unit = 0.001,
                       .value = {METRIC_NONE}};
    assert_false(metric_known(&m, 0));
    assert_int_equal(metric_get(&m, 0), 0);
    CLEANUP(strbuf_release) struct strbuf before, after;
    render_one(&m, &before);
    assert_string_equal(before.p, "# HELP age_seconds h\n# TYPE age_seconds gauge\n");
    metric_set(&m, 0, 0);
    assert_true(metric_known(&m, 0));
    render_one(&m, &after);
    assert_non_null(strstr(after.p, "\nage_seconds 0\n"));
}

static void texts_are_escaped(void **state UNUSED) {
    static const char *const values[] = {"a\"b\\c\nd"};
    struct metric m = {.name = "g",
                       .help = "say \"no\" to C:\\\nand go",
                       .type = METRIC_GAUGE,
                       .label = "l",
                       .label_values = values,
                       .n_series = 1};
    CLEANUP(strbuf_release) struct strbuf b;
    render_one(&m, &b);
    assert_string_equal(b.p, "# HELP g say \"no\" to C:\\\\\\nand go\n# TYPE g gauge\n"
                             "g{l=\"a\\\"b\\\\c\\nd\"} 0\n");
}

static void *bump(void *arg) {
    struct metric *m = arg;
    for (int i = 0; i < 10000; i++)
        metric_add(m, 0, 1);
    return NULL;
}

static void threads_lose_nothing(void **state UNUSED) {
    struct metric m = {.name = "x_total", .type = METRIC_COUNTER, .n_series = 1};
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, bump, &m), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(metric_get(&m, 0), 40000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_and_gauges),
        cmocka_unit_test(large_counters_stay_exact),
        cmocka_unit_test(a_histogram),
        cmocka_unit_test(an_untouched_histogram_has_all_its_lines),
        cmocka_unit_test(bounds_are_inclusive),
        cmocka_unit_test(two_labels_make_a_grid),
        cmocka_unit_test(what_is_not_known_has_no_line),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(threads_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
