#include "base/shown.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/status_updater.h"
#include "mirror/plan.h"
#include "store/partitions.h"
#include "store/search.h"
#include "store/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct report {
    struct archive_state state;
    struct frontier frontier;
    struct archive_status status;
    struct range *coverage;
    size_t n_coverage;
    int64_t now;
    int64_t index_ids, index_since; /* what waits for the search index */
    struct updater_status updater;
    struct partition_state parts;
};

static enum verdict collect(struct store *store, struct report *r, struct err *e) {
    enum verdict v = store_state(store, &r->state, e);
    if (v == V_OK)
        v = plan_frontier(store, &r->frontier, e);
    if (v == V_OK)
        v = store_status(store, &r->status, e);
    if (v == V_OK)
        v = plan_coverage(store, &r->coverage, &r->n_coverage, e);
    if (v == V_OK)
        v = store_now(store, &r->now, e);
    if (v == V_OK)
        v = updater_status_read(store, &r->updater, e);
    if (v == V_OK)
        v = store_index_lag(store, &r->index_ids, &r->index_since, e);
    if (v == V_OK)
        v = store_partition_state(store, &r->parts, e);
    return v;
}

static int64_t index_lag_ms(const struct report *r) {
    return r->index_since && r->index_since < r->now ? r->now - r->index_since : 0;
}

static int64_t lag_of(const struct report *r) {
    int64_t lag = r->state.maxitem - r->frontier.excluding_waiting;
    return lag > 0 ? lag : 0;
}

static void print_counts_json(const char *key, const char *const *names, const int64_t *n,
                              int count) {
    printf(",\"%s\":{", key);
    for (int i = 0; i < count; i++)
        printf("%s\"%s\":%" PRId64, i ? "," : "", names[i], n[i]);
    printf("}");
}

static void print_stalled_json(const struct stalled *x) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    strbuf_addf(&b, "{\"range\":[%" PRId64 ",%" PRId64 "],\"status\":\"%s\",\"cursor\":%" PRId64,
                x->start_id, x->end_id, segment_fsm.states[x->status], x->cursor);
    strbuf_addf(&b, ",\"unresolved\":%" PRId64 ",\"holder\":", x->unresolved);
    if (x->holder[0])
        strbuf_add_json(&b, str_of(x->holder));
    else
        strbuf_adds(&b, "null");
    if (x->heartbeat_age_ms >= 0)
        strbuf_addf(&b, ",\"heartbeat_age_ms\":%" PRId64, x->heartbeat_age_ms);
    else
        strbuf_adds(&b, ",\"heartbeat_age_ms\":null");
    strbuf_adds(&b, ",\"failure_class\":");
    strbuf_add_json(&b, str_of(x->failure_class));
    strbuf_adds(&b, ",\"last_error\":");
    strbuf_add_json(&b, str_of(x->last_error));
    strbuf_addc(&b, '}');
    fwrite(b.p, 1, b.n, stdout);
}

static void print_partitions_json(const struct partition_state *st) {
    static const char *const names[] = {"items", "change_log"};
    if (!st->of[PARTITION_ITEMS].width && !st->of[PARTITION_LOG].width) {
        printf(",\"partitions\":null");
        return;
    }
    for (int i = 0; i < PARTITION_TABLES; i++)
        printf("%s\"%s\":{\"width\":%" PRId64 ",\"n\":%" PRId64 ",\"stray\":%s}",
               i ? "," : ",\"partitions\":{", names[i], st->of[i].width, st->of[i].n,
               st->of[i].stray ? "true" : "false");
    printf("}");
}

static void print_json(const struct report *r) {
    printf("{\"frontier_id\":%" PRId64 ",\"frontier_excluding_waiting\":%" PRId64, r->frontier.id,
           r->frontier.excluding_waiting);
    printf(",\"floor_id\":%" PRId64 ",\"maxitem\":%" PRId64 ",\"lag\":%" PRId64
           ",\"items\":%" PRId64,
           r->state.floor_id, r->state.maxitem, lag_of(r), r->status.items);
    print_counts_json("segments", segment_fsm.states, r->status.segments, SEG_N);
    print_counts_json("exceptions", exception_fsm.states, r->status.exceptions, EXC_N);
    printf(",\"dead_letters\":%" PRId64 ",\"coverage\":[", r->status.dead_letters);
    for (size_t i = 0; i < r->n_coverage; i++)
        printf("%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", r->coverage[i].lo, r->coverage[i].hi);
    printf("],\"stalled\":[");
    for (size_t i = 0; i < r->status.n_stalled; i++) {
        if (i)
            printf(",");
        print_stalled_json(&r->status.stalled[i]);
    }
    printf("],\"index\":{\"lag_ids\":%" PRId64 ",\"lag_seconds\":%" PRId64 "},", r->index_ids,
           index_lag_ms(r) / 1000);
    updater_status_json(&r->updater);
    print_partitions_json(&r->parts);
    printf("}\n");
}

static void print_row(const char *name, int64_t n, const char *remark) {
    char number[FORMAT_MAX];
    printf("%-16s%14s%s%s\n", name, format_count(number, n), *remark ? "  " : "", remark);
}

static void print_counts(const char *key, const char *const *names, const int64_t *n, int count) {
    for (int i = 0; i < count; i++)
        if (n[i])
            print_row(key, n[i], names[i]);
}

static void print_stalled(const struct stalled *stalled) {
    struct stalled copy = *stalled, *x = &copy;
    char a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX], age[FORMAT_MAX];
    printf("  %s to %s: %s, cursor %s, %lld unresolved", format_count(a, x->start_id),
           format_count(b, x->end_id), segment_fsm.states[x->status], format_count(c, x->cursor),
           (long long)x->unresolved);
    shown_in_place(x->holder);
    shown_in_place(x->last_error);
    if (x->holder[0])
        printf(", held by %s", x->holder);
    if (x->holder[0] && x->heartbeat_age_ms >= 0)
        printf(", heartbeat %s ago", format_duration(age, x->heartbeat_age_ms));
    if (x->last_error[0])
        printf("\n    last: %s (%s)", x->last_error, x->failure_class);
    printf("\n");
}

#define MAX_RANGES_SHOWN 10

static void print_coverage(const struct report *r) {
    char a[FORMAT_MAX], b[FORMAT_MAX];
    size_t shown = r->n_coverage < MAX_RANGES_SHOWN ? r->n_coverage : MAX_RANGES_SHOWN;
    for (size_t i = 0; i < shown; i++)
        printf("%-16s%14s  to %s\n", i ? "" : "proved", format_count(a, r->coverage[i].lo),
               format_count(b, r->coverage[i].hi));
    if (shown < r->n_coverage)
        printf("%-16s%14s  and %zu more; --json lists all\n", "", "", r->n_coverage - shown);
}

static void print_index(const struct report *r) {
    char number[FORMAT_MAX], age[FORMAT_MAX];
    if (r->index_ids == 0)
        printf("%-16s%14s  everything can be searched\n", "search index", "0");
    else
        printf("%-16s%14s  ids at most wait to be indexed, the oldest for %s\n", "search index",
               format_count(number, r->index_ids), format_duration(age, index_lag_ms(r)));
}

static void print_partitions(const struct partition_state *st) {
    static const char *const words[][2] = {{"items", "ids"}, {"the change log", "positions"}};
    for (int i = 0; i < PARTITION_TABLES; i++) {
        char width[FORMAT_MAX], remark[80];
        if (!st->of[i].width)
            continue;
        snprintf(remark, sizeof remark, "of %s, by %s %s", words[i][0],
                 format_count(width, st->of[i].width), words[i][1]);
        print_row(i ? "" : "partitions", st->of[i].n, remark);
    }
}

static void print_text(const struct report *r) {
    char age[FORMAT_MAX], remark[80] = "the upstream was not asked yet";
    if (r->state.maxitem_at)
        snprintf(remark, sizeof remark, "newest item upstream, seen %s ago",
                 format_duration(age, r->now - r->state.maxitem_at));
    print_row("frontier", r->frontier.id, "every id up to here is stored or confirmed missing");
    if (r->frontier.excluding_waiting != r->frontier.id)
        print_row("", r->frontier.excluding_waiting,
                  "the same, leaving out what is being rechecked");
    if (r->state.floor_id > 1)
        print_row("floor", r->state.floor_id, "the archive begins here");
    print_row("maxitem", r->state.maxitem, remark);
    print_row("lag", lag_of(r), "");
    print_row("items", r->status.items, "");
    print_coverage(r);
    print_counts("segments", segment_fsm.states, r->status.segments, SEG_N);
    print_counts("exceptions", exception_fsm.states, r->status.exceptions, EXC_N);
    print_row("dead letters", r->status.dead_letters, "");
    print_index(r);
    print_partitions(&r->parts);
    updater_status_text(&r->updater, r->now);
    if (r->status.n_stalled)
        printf("stalled:\n");
    for (size_t i = 0; i < r->status.n_stalled; i++)
        print_stalled(&r->status.stalled[i]);
}

int cmd_status(struct settings *s) {
    struct store *store;
    int code = archive_open(s, SCHEMA_REQUIRE, &store);
    if (code)
        return code;
    CLEANUP(free_ptr) struct report *r = xcalloc(1, sizeof *r);
    struct err e;
    enum verdict v = collect(store, r, &e);
    store_close(store);
    if (v != V_OK)
        complain(s, e.msg);
    else if (s->json)
        print_json(r);
    else
        print_text(r);
    free(r->coverage);
    return v == V_OK ? EXIT_DONE : EXIT_FAILED;
}
