#include "cli/enriching.h"

#include "base/log.h"
#include "store/cdc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FEED_CLIENTS 1

enum verdict enriching_plan(struct enriching *w, const struct settings *s, struct err *e) {
    *w = (struct enriching){.stop = {.fd = -1}};
    arena_init(&w->arena);
    return plan_read(s->sources, NULL, &w->arena, &w->plan, e);
}

static enum verdict make(void *arg, int index UNUSED, void **ret_worker, struct err *e UNUSED) {
    *ret_worker = arg;
    return V_OK;
}

static enum verdict step(void *worker, struct err *e) {
    struct enriching *w = worker;
    if (stop_raised(&w->stop))
        return V_STOPPED;
    return engine_step(w->engine, NO_DEADLINE, e);
}

static void unmake(void *worker, bool died UNUSED) {
    struct enriching *w = worker;
    struct err e;
    w->gave_back = engine_stop(w->engine, &e) == V_OK;
    if (!w->gave_back)
        log_warn("what was held could not be given back; the sweep will free it", LE(&e));
}

static enum verdict start_thread(struct enriching *w, struct err *e) {
    const struct crew_kind kind = {.name = "enrich",
                                   .n = 1,
                                   .make = make,
                                   .step = step,
                                   .unmake = unmake,
                                   .arg = w,
                                   .clock = &clock_machine};
    return crew_start(&kind, &w->crew, e);
}

/* The table of a source among those that are logged; NULL: it is not. */
static const struct cdc_table *find_logged(const struct plan_source *src,
                                           const struct cdc_table *tables, size_t n) {
    char name[200], full[200];
    const struct cdc_table *found = NULL;
    snprintf(name, sizeof name, "%.*s", STR_FMT(src->spec.table));
    for (size_t k = 0; k < n; k++) {
        snprintf(full, sizeof full, "%.*s.%.*s", STR_FMT(tables[k].schema),
                 STR_FMT(tables[k].name));
        bool same = strcmp(full, name) == 0 || str_eqc(tables[k].name, name);
        if (same && tables[k].present)
            found = &tables[k];
    }
    return found;
}

/* Is the column among "a,b,c"? Absent: all are. */
static bool is_listed(struct str columns, struct str column) {
    while (columns.p) {
        const char *comma = memchr(columns.p, ',', columns.n);
        size_t n = comma ? (size_t)(comma - columns.p) : columns.n;
        if (n == column.n && strncasecmp(columns.p, column.p, n) == 0)
            return true;
        if (!comma)
            return false;
        columns = (struct str){comma + 1, columns.n - n - 1};
    }
    return true;
}

/* A table whose changes nobody logs is enriched all the same, a minute late. */
static void warn_unlogged(const struct plan_source *src, const struct cdc_table *logged) {
    char table[200], column[200];
    snprintf(table, sizeof table, "%.*s", STR_FMT(src->spec.table));
    snprintf(column, sizeof column, "%.*s", STR_FMT(src->spec.status));
    if (!logged)
        log_warn("changes of this table are not logged: its rows are found by the sweep, once "
                 "a minute; tain cdc install --table TABLE has them found at once",
                 LS("table", table));
    else if (src->topic.p && !is_listed(logged->columns, src->spec.status))
        log_warn("the column that says when a row is final is not logged, so nobody will hear of "
                 "its topic; tain cdc install --table TABLE --columns ... with it",
                 LS("table", table), LS("column", column));
}

static enum verdict check_logged(const struct enriching *w, struct err *e) {
    CLEANUP(arena_release) struct arena a;
    const struct cdc_table *tables;
    struct store *store;
    size_t n;
    arena_init(&a);
    enum verdict v = store_open(&w->store, &store, e);
    if (v != V_OK)
        return v;
    v = store_cdc_list(store, &a, &tables, &n, e);
    for (size_t i = 0; v == V_OK && i < w->plan.n_sources; i++)
        warn_unlogged(&w->plan.sources[i], find_logged(&w->plan.sources[i], tables, n));
    store_close(store);
    return v;
}

/* A service that is away now may be back soon, and its rows wait for it; but an address with a
 * mistake in it should not look like that for days. */
static void check_reach(const struct enriching *w) {
    for (size_t i = 0; i < w->plan.n_providers; i++) {
        struct err e;
        if (plan_reach(&w->plan, &w->plan.providers[i], &e) != V_OK)
            log_error("a provider cannot be reached: its rows wait until it can", LE(&e));
    }
}

static enum verdict start_engine(struct enriching *w, struct err *e) {
    const struct feed_options feed = {.store = &w->store,
                                      .hub = w->hub,
                                      .clock = &clock_machine,
                                      .keep_ms = w->keep_ms,
                                      .keep_rows = w->keep_rows};
    enum verdict v = caller_http_new(&clock_machine, "tain/" TAIN_VERSION, NULL, &w->caller, e);
    if (v != V_OK)
        return v;
    const struct engine_options options = {.plan = &w->plan,
                                           .store = &w->store,
                                           .clock = &clock_machine,
                                           .caller = w->caller,
                                           .hub = w->hub,
                                           .holder = w->holder};
    v = engine_new(&options, &w->engine, e);
    return v == V_OK ? feed_start(&feed, &w->reader, e) : v;
}

enum verdict enriching_start(struct enriching *w, const struct settings *s, struct err *e) {
    w->store = (struct store_options){.uri = s->db,
                                      .schema = s->schema,
                                      .clock = &clock_machine,
                                      .schema_rule = SCHEMA_REQUIRE,
                                      .must_exist = true};
    w->keep_ms = s->feed_keep_ms;
    w->keep_rows = s->feed_keep_rows;
    process_identity(w->holder, sizeof w->holder);
    w->hub = feed_hub_new(FEED_CLIENTS);
    enum verdict v = stop_init(&w->stop, e);
    if (v == V_OK)
        v = check_logged(w, e);
    if (v == V_OK)
        v = start_engine(w, e);
    if (v == V_OK)
        check_reach(w);
    if (v == V_OK)
        v = start_thread(w, e);
    return v;
}

enum verdict enriching_tend(struct enriching *w, struct err *e) {
    if (crew_tend(w->crew, NULL, NULL) == CREW_WORKING)
        return V_OK;
    *e = *crew_error(w->crew);
    return V_FATAL;
}

int64_t enriching_silence_ms(const struct enriching *w) {
    return crew_silence_ms(w->crew);
}

int64_t enriching_down_ms(const struct enriching *w) {
    return engine_down_ms(w->engine);
}

void enriching_stop(struct enriching *w) {
    if (w->crew) {
        stop_raise(&w->stop);
        engine_wake(w->engine);
        crew_join(w->crew);
        crew_free(w->crew);
    }
    feed_stop(w->reader);
    engine_free(w->engine);
    feed_hub_free(w->hub);
    caller_http_free(w->caller);
    if (w->stop.fd >= 0)
        stop_release(&w->stop);
    arena_release(&w->arena);
}
