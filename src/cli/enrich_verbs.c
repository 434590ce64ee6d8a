#include "cli/enrich_verbs.h"

#include "base/shown.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/lane_words.h"
#include "cli/links_report.h"
#include "enrich/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REPORT_MAX ((size_t)1024 * 1024)

static int usage(const char *text) {
    fprintf(stderr, "tain enrich: %s\nTry 'tain enrich --help'.\n", text);
    return EXIT_USAGE;
}

static int failed(enum verdict v, const struct err *e) {
    fprintf(stderr, "tain enrich: %s\n", e->msg);
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

/* --- status --- */

struct source_line {
    struct str name;
    const struct str *states;
    struct source_counts counts;
};

struct report {
    const struct lane_row *lanes;
    size_t n_lanes;
    struct source_line sources[PLAN_SOURCES_MAX];
    size_t n_sources;
    const struct links_report *links; /* NULL: not asked for */
};

static enum verdict count_sources(const char *path, struct store *store, struct arena *a,
                                  struct report *r, struct err *e) {
    struct enrich_plan *plan = arena_zalloc(a, sizeof *plan);
    struct source *sources[PLAN_SOURCES_MAX] = {NULL};
    enum verdict v = plan_read(path, NULL, a, plan, e);
    if (v != V_OK)
        return v;
    v = plan_open_sources(plan, store, sources, e);
    for (size_t i = 0; i < plan->n_sources && v == V_OK; i++) {
        struct source_line *l = &r->sources[r->n_sources++];
        l->name = plan->sources[i].spec.name;
        l->states = plan->sources[i].spec.states;
        v = store_source_count(store, sources[i], &l->counts, e);
    }
    for (size_t i = 0; i < plan->n_sources; i++)
        store_source_close(sources[i]);
    if (v != V_OK)
        plan_redact(plan, e);
    return v;
}

static void add_source(struct strbuf *b, const struct source_line *l) {
    strbuf_adds(b, "{\"name\":");
    strbuf_add_json(b, l->name);
    strbuf_adds(b, ",\"rows\":{");
    for (int i = 0; i < ROW_STATES; i++) {
        strbuf_adds(b, i ? "," : "");
        strbuf_add_json(b, l->states[i]);
        strbuf_addf(b, ":%" PRId64, l->counts.rows[i]);
    }
    strbuf_addf(b, "},\"waiting\":%" PRId64 ",\"oldest_pending_ms\":%" PRId64 "}",
                l->counts.waiting, l->counts.oldest_pending_ms);
}

static void print_json(const struct report *r, bool with_sources) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, REPORT_MAX);
    strbuf_adds(&b, "{\"command\":\"enrich\",\"lanes\":[");
    for (size_t i = 0; i < r->n_lanes; i++) {
        strbuf_adds(&b, i ? "," : "");
        lane_json(&b, &r->lanes[i]);
    }
    strbuf_adds(&b, with_sources ? "],\"sources\":[" : "]");
    for (size_t i = 0; i < r->n_sources; i++) {
        strbuf_adds(&b, i ? "," : "");
        add_source(&b, &r->sources[i]);
    }
    strbuf_adds(&b, with_sources ? "]" : "");
    if (r->links) {
        strbuf_addc(&b, ',');
        links_report_json(&b, r->links);
    }
    strbuf_adds(&b, "}\n");
    fwrite(b.p, 1, b.n, stdout);
}

static void print_lanes(const struct report *r) {
    char name[200], limit[LANE_WORDS_MAX], state[LANE_WORDS_MAX], slots[FORMAT_MAX];
    if (r->n_lanes == 0) {
        puts("no provider was ever asked: 'tain enrich' begins");
        return;
    }
    printf("%-20s %-14s %-10s %s\n", "lane", "limit", "under way", "state");
    for (size_t i = 0; i < r->n_lanes; i++) {
        const struct lane_row *l = &r->lanes[i];
        if (l->limits.slots)
            snprintf(slots, sizeof slots, "%d of %d", l->slots_taken, l->limits.slots);
        else
            snprintf(slots, sizeof slots, "-");
        snprintf(name, sizeof name, "%.*s", STR_FMT(l->name));
        shown_in_place(name);
        printf("%-20s %-14s %-10s %s", name, lane_limit_words(limit, &l->limits), slots,
               lane_state_words(state, l));
        if (l->state.failures)
            printf("; %d failure%s in a row", l->state.failures, l->state.failures == 1 ? "" : "s");
        fputc('\n', stdout);
    }
}

static void print_sources(const struct report *r) {
    char n[FORMAT_MAX], age[FORMAT_MAX];
    for (size_t i = 0; i < r->n_sources; i++) {
        const struct source_line *l = &r->sources[i];
        printf("\n%.*s\n", STR_FMT(l->name));
        for (int k = 0; k < ROW_STATES; k++)
            printf("  %-20.*s %14s\n", STR_FMT(l->states[k]), format_count(n, l->counts.rows[k]));
        if (l->counts.waiting)
            printf("  %s pending rows wait for another attempt\n",
                   format_count(n, l->counts.waiting));
        if (l->counts.oldest_pending_ms > 0)
            printf("  the oldest is pending for %s\n",
                   format_duration(age, l->counts.oldest_pending_ms));
    }
}

static int verb_status(const struct settings *s, struct store *store) {
    CLEANUP(arena_release) struct arena a;
    struct err e = {0};
    arena_init(&a);
    struct report *r = arena_zalloc(&a, sizeof *r);
    struct links_report *links = arena_zalloc(&a, sizeof *links);
    r->links = links;
    enum verdict v = store_lane_list(store, &a, &r->lanes, &r->n_lanes, &e);
    if (v == V_OK)
        v = links_report_read(store, links, &e);
    if (v == V_OK && s->sources)
        v = count_sources(s->sources, store, &a, r, &e);
    if (v != V_OK)
        return failed(v, &e);
    if (s->json) {
        print_json(r, s->sources != NULL);
        return EXIT_DONE;
    }
    print_lanes(r);
    print_sources(r);
    links_report_print(links);
    return EXIT_DONE;
}

/* --- pause, resume --- */

static int report_one(const struct settings *s, struct store *store, const char *words) {
    CLEANUP(arena_release) struct arena a;
    struct report r = {0};
    const struct lane_row *all;
    size_t n;
    struct err e = {0};
    arena_init(&a);
    if (!s->json) {
        printf("%s %s\n", s->words.items[1], words);
        return EXIT_DONE;
    }
    enum verdict v = store_lane_list(store, &a, &all, &n, &e);
    if (v != V_OK)
        return failed(v, &e);
    for (size_t i = 0; i < n; i++)
        if (str_eqc(all[i].name, s->words.items[1])) {
            r.lanes = &all[i];
            r.n_lanes = 1;
        }
    print_json(&r, false);
    return EXIT_DONE;
}

static int verb_pause(const struct settings *s, struct store *store) {
    struct err e = {0};
    enum verdict v = store_lane_pause(store, str_of(s->words.items[1]), s->reason, &e);
    if (v != V_OK)
        return failed(v, &e);
    return report_one(s, store, "is paused, for all workers; 'tain enrich resume' lets it go on");
}

static int verb_resume(const struct settings *s, struct store *store) {
    struct err e = {0};
    enum verdict v = store_lane_resume(store, str_of(s->words.items[1]), &e);
    return v == V_OK ? report_one(s, store, "goes on") : failed(v, &e);
}

/* The choices of the command's first word, in commands.c, are these names. */
static const struct {
    const char *name;
    int (*run)(const struct settings *s, struct store *store);
    bool of_lane, reason;
} verbs[] = {
    {"status", verb_status, false, false},
    {"pause", verb_pause, true, true},
    {"resume", verb_resume, true, false},
};

int enrich_verb(const struct settings *s) {
    size_t i = 0;
    char text[120];
    while (strcmp(verbs[i].name, s->words.items[0]) != 0)
        i++;
    if (verbs[i].of_lane != (s->words.n > 1)) {
        snprintf(text, sizeof text,
                 verbs[i].of_lane ? "%s wants the name of a lane" : "%s is of all lanes",
                 verbs[i].name);
        return usage(text);
    }
    if (s->reason && !verbs[i].reason)
        return usage("--reason belongs to pause");
    struct store *store = NULL;
    int code = archive_open(s, SCHEMA_REQUIRE, &store);
    if (code == 0)
        code = verbs[i].run(s, store);
    store_close(store);
    return code;
}
