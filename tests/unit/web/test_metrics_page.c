/* docs/metrics.md says of every family what the code says. When it does not, the test prints the
 * lines that belong between its two marks. Also: every family is well made. */
#include "enrich/enrich_metrics.h"
#include "enrich/link_metrics.h"
#include "feed/feed_metrics.h"
#include "mirror/metrics.h"
#include "web/process_metrics.h"
#include "web/web_metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PAGE TAIN_SOURCE_ROOT "/docs/metrics.md"
#define PAGE_MAX 200000
#define BEGIN "<!-- families: from the code, see tests/unit/web/test_metrics_page.c -->\n"
#define END "<!-- end of families -->\n"

struct group {
    const char *title;
    struct metric *const *all;
    size_t n;
};
#define GROUPS 7

static struct group group(int i) {
    if (i == 0)
        return (struct group){"catchup and updater", mirror_metrics, mirror_n_metrics};
    if (i == 1)
        return (struct group){"updater only", updater_metrics, updater_n_metrics};
    if (i == 2)
        return (struct group){"serve", web_metrics, web_n_metrics};
    if (i == 3)
        return (struct group){"serve, up and enrich: the change feed", feed_metrics,
                              feed_n_metrics};
    if (i == 4)
        return (struct group){"enrich and up", enrich_metrics, enrich_n_metrics};
    if (i == 5)
        return (struct group){"enrich and up: links", link_metrics, link_n_metrics};
    return (struct group){"every process", process_metrics, process_n_metrics};
}

static void add_label(struct strbuf *out, const char *name, const char *const *values, int n) {
    strbuf_addf(out, "`%s`: ", name);
    if (strcmp(name, "version") == 0 || strcmp(name, "compiler") == 0) {
        strbuf_adds(out, "of this build");
        return;
    }
    if (n == 0)
        strbuf_adds(out, "by the names of the plan");
    for (int i = 0; i < n; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "", values[i]);
}

static void add_row(struct strbuf *out, const struct metric *m) {
    static const char *const types[] = {"counter", "gauge", "histogram"};
    strbuf_addf(out, "| `%s` | %s | %s | ", m->name, types[m->type], m->measure);
    int n2 = m->label2 ? m->n_label2 : 1;
    if (m->label)
        add_label(out, m->label, m->label_values, m->n_series / n2);
    if (m->label2) {
        strbuf_adds(out, "; ");
        add_label(out, m->label2, m->label2_values, n2);
    }
    strbuf_addf(out, " | %s |\n", m->help);
}

static char *read_page(void) {
    char *page = xcalloc(1, PAGE_MAX + 1);
    FILE *f = fopen(PAGE, "r");
    assert_non_null(f);
    assert_in_range(fread(page, 1, PAGE_MAX, f), 1, PAGE_MAX - 1);
    fclose(f);
    return page;
}

static void the_page_is_true(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf wanted;
    strbuf_init(&wanted, 100000);
    for (int i = 0; i < GROUPS; i++) {
        struct group g = group(i);
        strbuf_addf(
            &wanted,
            "\n### Of %s\n\n| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n",
            g.title);
        for (size_t k = 0; k < g.n; k++)
            add_row(&wanted, g.all[k]);
    }
    strbuf_addc(&wanted, '\n');

    CLEANUP(free_ptr) char *page = read_page();
    const char *begin = strstr(page, BEGIN), *end = strstr(page, END);
    assert_non_null(begin);
    assert_non_null(end);
    begin += strlen(BEGIN);
    if ((size_t)(end - begin) == wanted.n && memcmp(begin, wanted.p, wanted.n) == 0)
        return;
    printf("docs/metrics.md should say:\n%s%s%s", BEGIN, wanted.p, END);
    fflush(stdout);
    fail_msg("docs/metrics.md is not what the code says");
}

static bool ends(const char *name, const char *end) {
    return str_ends(str_of(name), end);
}

static void check_name(const struct metric *m, bool ours) {
    bool prefixed = strncmp(m->name, "tain_", 5) == 0;
    if (prefixed != (ours || strcmp(m->name, "tain_build_info") == 0))
        fail_msg("%s: the prefix", m->name);
    for (const char *p = m->name; *p; p++)
        if (!islower((unsigned char)*p) && *p != '_' && !isdigit((unsigned char)*p))
            fail_msg("%s: only small letters", m->name);
    if ((m->type == METRIC_COUNTER) != ends(m->name, "_total") || strstr(m->name, "_total_total"))
        fail_msg("%s: counters, and only they, end in _total", m->name);
    assert_non_null(m->measure);
    assert_non_null(m->help);
    if (!ends(m->help, "."))
        fail_msg("%s: no sentence", m->name);
    bool seconds = ends(m->name, "_seconds") || ends(m->name, "_seconds_total");
    if (seconds != (strstr(m->measure, "seconds") != NULL))
        fail_msg("%s: the unit is not %s", m->name, m->measure);
}

static void every_family_is_well_made(void **state UNUSED) {
    for (int i = 0; i < GROUPS; i++)
        for (size_t k = 0; k < group(i).n; k++) {
            const struct group g = group(i);
            const struct metric *m = g.all[k];
            check_name(m, i < GROUPS - 1);
            bool of_plan = g.all == enrich_metrics && m->label; /* it has not been read here */
            assert_in_range(m->n_series, of_plan || m->type == METRIC_HISTOGRAM ? 0 : 1,
                            METRIC_MAX_SERIES);
            assert_in_range(m->n_bounds, 0, METRIC_MAX_BUCKETS);
            for (int b = 1; b < m->n_bounds; b++)
                assert_true(m->bounds[b - 1] < m->bounds[b]);
            for (int other = 0; other <= i; other++)
                for (size_t o = 0; o < (other == i ? k : group(other).n); o++)
                    assert_string_not_equal(m->name, group(other).all[o]->name);
        }
}

static bool exists(const char *name) {
    for (int i = 0; i < GROUPS; i++)
        for (size_t k = 0; k < group(i).n; k++)
            if (strcmp(group(i).all[k]->name, name) == 0)
                return true;
    return false;
}

/* Every name of ours that the page speaks of is there, in its other parts too, and it maps the
 * names of the design papers. */
static void the_names_of_the_page_exist(void **state UNUSED) {
    static const char *const papers[] = {
        "realtime_listener_change_count",
        "realtime_last_event_change_seconds",
        "catchup_dead_letters_total",
        "catchup_frontier_age",
        "rescan_last_run_age",
        "rescan_items_changed_count",
    };
    CLEANUP(free_ptr) char *page = read_page();
    for (size_t i = 0; i < ARRAY_LEN(papers); i++) {
        char row[100];
        snprintf(row, sizeof row, "\n| `%s` | `tain_", papers[i]);
        if (!strstr(page, row))
            fail_msg("the page does not map %s", papers[i]);
    }
    for (const char *p = page; (p = strstr(p, "`tain_"));) {
        char name[100];
        size_t n = strspn(++p, "abcdefghijklmnopqrstuvwxyz_");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (p[n] != '*' && strcmp(name, "tain_") != 0 && !exists(name))
            fail_msg("the page speaks of %s", name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_true),
        cmocka_unit_test(every_family_is_well_made),
        cmocka_unit_test(the_names_of_the_page_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
