#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/enrich_look.h"
#include "cli/enrich_verbs.h"
#include "cli/format.h"
#include "cli/lane_words.h"

#include <inttypes.h>
#include <stdio.h>

#define REPORT_MAX ((size_t)64 * 1024 * 1024)
#define BODY_SHOWN 2000 /* bytes of a body; --json has all of it */

/* --- for people --- */

static void print_lane(const struct plan_look *l, size_t i, struct arena *a) {
    const struct provider *p = &l->plan.providers[i];
    const struct lane_row *r = l->lanes[i];
    char limit[LANE_WORDS_MAX], theirs[LANE_WORDS_MAX], state[LANE_WORDS_MAX], slots[40] = "any";
    if (p->limits.slots)
        snprintf(slots, sizeof slots, "%d", p->limits.slots);
    printf("lane %.*s: %s, %s at once, at %.*s\n", STR_FMT(p->name),
           lane_limit_words(limit, &p->limits), slots, STR_FMT(provider_origin(p, a)));
    if (!r) {
        puts("  no worker has asked it yet");
        return;
    }
    printf("  %s", lane_state_words(state, r));
    if (r->state.failures)
        printf("; %d failure%s in a row", r->state.failures, r->state.failures == 1 ? "" : "s");
    fputc('\n', stdout);
    if (r->limits.per_window != p->limits.per_window ||
        r->limits.window_ms != p->limits.window_ms || r->limits.slots != p->limits.slots)
        printf("  until now it was %s and %d at once: a worker that starts changes it for all\n",
               lane_limit_words(theirs, &r->limits), r->limits.slots);
}

static void print_rows(const struct plan_source *src, const struct source_counts *c) {
    char n[FORMAT_MAX], waiting[FORMAT_MAX];
    for (int i = 0; i < ROW_STATES; i++) {
        printf("  %-20.*s %14s", STR_FMT(src->spec.states[i]), format_count(n, c->rows[i]));
        if (i == ROW_PENDING && c->waiting)
            printf("  (%s of them wait for another attempt)", format_count(waiting, c->waiting));
        fputc('\n', stdout);
    }
}

static void print_requests(const struct plan_look *l, size_t i, struct arena *a) {
    const struct plan_source *src = &l->plan.sources[i];
    const struct source_look *s = &l->sources[i];
    puts(s->n_rows ? "  would ask first:" : "  nothing to ask at the moment");
    for (size_t k = 0; k < s->n_rows; k++) {
        struct look_request r;
        look_request(&l->plan, src, s->rows[k].row, a, &r);
        printf("    row %.*s: ", STR_FMT(s->rows[k].key));
        if (r.why.p) {
            printf("fails without a call: %.*s\n", STR_FMT(r.why));
            continue;
        }
        printf("%.*s %.*s\n", STR_FMT(src->request.method), STR_FMT(r.url));
        if (r.body.p)
            printf("      %.*s%s\n", (int)(r.body.n < BODY_SHOWN ? r.body.n : BODY_SHOWN), r.body.p,
                   r.body.n > BODY_SHOWN ? " ..." : "");
    }
}

static void print_source(const struct plan_look *l, size_t i, struct arena *a) {
    const struct plan_source *src = &l->plan.sources[i];
    const struct source_look *s = &l->sources[i];
    printf("\nsource %.*s: rows of %.*s, by %.*s\n", STR_FMT(src->spec.name),
           STR_FMT(src->spec.table), STR_FMT(src->provider->name));
    print_rows(src, &s->counts);
    if (!s->logged)
        printf("  changes of this table are not logged, so rows are found up to a minute late:\n"
               "    %.*s\n",
               STR_FMT(s->install));
    for (size_t k = 0; k < s->n_indexes; k++)
        printf("  the sweep misses an index:\n    %.*s;\n", STR_FMT(s->indexes[k]));
    print_requests(l, i, a);
}

static void print_text(const struct plan_look *l, struct arena *a) {
    for (size_t i = 0; i < l->plan.n_providers; i++)
        print_lane(l, i, a);
    for (size_t i = 0; i < l->plan.n_sources; i++)
        print_source(l, i, a);
    puts("\nnothing was claimed, called or written");
}

/* --- for programs --- */

static void add_member(struct strbuf *b, const char *name, struct str text) {
    strbuf_addf(b, "\"%s\":", name);
    if (text.p)
        strbuf_add_json(b, text);
    else
        strbuf_adds(b, "null");
}

static void add_provider(struct strbuf *b, const struct plan_look *l, size_t i, struct arena *a) {
    const struct provider *p = &l->plan.providers[i];
    strbuf_addc(b, '{');
    add_member(b, "name", p->name);
    strbuf_addc(b, ',');
    add_member(b, "origin", provider_origin(p, a));
    strbuf_addf(b,
                ",\"per_window\":%d,\"window_ms\":%" PRId64 ",\"slots\":%d,\"timeout_ms\":%" PRId64
                ",\"lane\":",
                p->limits.per_window, p->limits.window_ms, p->limits.slots, p->timeout_ms);
    if (l->lanes[i])
        lane_json(b, l->lanes[i]);
    else
        strbuf_adds(b, "null");
    strbuf_addc(b, '}');
}

static void add_request(struct strbuf *b, const struct plan_look *l, size_t i,
                        const struct row_peek *row, struct arena *a) {
    const struct plan_source *src = &l->plan.sources[i];
    struct look_request r;
    look_request(&l->plan, src, row->row, a, &r);
    strbuf_addc(b, '{');
    add_member(b, "key", row->key);
    strbuf_addc(b, ',');
    add_member(b, "method", src->request.method);
    strbuf_addc(b, ',');
    add_member(b, "url", r.url);
    strbuf_addc(b, ',');
    add_member(b, "body", r.body);
    strbuf_addc(b, ',');
    add_member(b, "error", r.why);
    strbuf_addc(b, '}');
}

static void add_source(struct strbuf *b, const struct plan_look *l, size_t i, struct arena *a) {
    const struct plan_source *src = &l->plan.sources[i];
    const struct source_look *s = &l->sources[i];
    strbuf_addc(b, '{');
    add_member(b, "name", src->spec.name);
    strbuf_addc(b, ',');
    add_member(b, "table", src->spec.table);
    strbuf_addc(b, ',');
    add_member(b, "provider", src->provider->name);
    strbuf_adds(b, ",\"rows\":{");
    for (int k = 0; k < ROW_STATES; k++) {
        strbuf_adds(b, k ? "," : "");
        strbuf_add_json(b, src->spec.states[k]);
        strbuf_addf(b, ":%" PRId64, s->counts.rows[k]);
    }
    strbuf_addf(b, "},\"waiting\":%" PRId64 ",\"logged\":%s,", s->counts.waiting,
                s->logged ? "true" : "false");
    add_member(b, "install", s->install);
    strbuf_adds(b, ",\"missing_indexes\":[");
    for (size_t k = 0; k < s->n_indexes; k++) {
        strbuf_adds(b, k ? "," : "");
        strbuf_add_json(b, s->indexes[k]);
    }
    strbuf_adds(b, "],\"requests\":[");
    for (size_t k = 0; k < s->n_rows; k++) {
        strbuf_adds(b, k ? "," : "");
        add_request(b, l, i, &s->rows[k], a);
    }
    strbuf_adds(b, "]}");
}

static void print_json(const struct plan_look *l, struct arena *a) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, REPORT_MAX);
    strbuf_adds(&b, "{\"command\":\"enrich\",\"dry_run\":true,\"providers\":[");
    for (size_t i = 0; i < l->plan.n_providers; i++) {
        strbuf_adds(&b, i ? "," : "");
        add_provider(&b, l, i, a);
    }
    strbuf_adds(&b, "],\"sources\":[");
    for (size_t i = 0; i < l->plan.n_sources; i++) {
        strbuf_adds(&b, i ? "," : "");
        add_source(&b, l, i, a);
    }
    strbuf_adds(&b, "]}\n");
    fwrite(b.p, 1, b.n, stdout);
}

int enrich_dry_run(const struct settings *s) {
    CLEANUP(arena_release) struct arena a;
    struct store *store = NULL;
    struct err e = {0};
    arena_init(&a);
    if (!s->sources) {
        complain(s, "--dry-run wants --sources FILE");
        return EXIT_USAGE;
    }
    struct plan_look *look = arena_alloc(&a, sizeof *look);
    int code = archive_open(s, SCHEMA_REQUIRE, &store);
    if (code != 0)
        return code;
    enum verdict v = plan_look(s->sources, store, &a, look, &e);
    store_close(store);
    if (v != V_OK) {
        complain(s, e.msg);
        return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    if (s->json)
        print_json(look, &a);
    else
        print_text(look, &a);
    return EXIT_DONE;
}
