/* The path of a change to a worker, end to end, and why nobody on it may thin it out:
 *
 *   row changes -> trigger writes change_log in the same transaction -> the publisher numbers it
 * and sends an empty NOTIFY -> EVERY process hears it on a LISTEN connection of its own
 * (feed/reader.c; no pooler in between, since NOTIFY does not pass one) -> its reader reads the log
 * behind its own position -> its hub -> this consumer, a client of the hub like any other -> the
 * ring of the source -> a lane claims the row.
 *
 * Every process gets every event: there is no dispatcher and no deduplication before the claim, so
 * that the death of a process takes no event with it. Exactly one wins the claim, the others see
 * that and go on. What a process was not told of (it was not alive, its ring was full, the log was
 * pruned) the sweep finds in the table itself; so a consumer begins with "now" and keeps no cursor.
 * tests/e2e/test_enrich.py audits this with several processes. */
#include "enrich/consumer.h"

#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"
#include "hn/json_read.h"

#include <stdio.h>
#include <stdlib.h>

#define DRAIN_MAX 512

struct consumer {
    struct engine *engine;
    struct feed_client *client;
    bool more;
    char tables[PLAN_SOURCES_MAX][256];
};

static void wake(void *connection) {
    engine_wake(connection);
}

enum verdict consumer_new(struct feed_hub *hub, struct engine *g, struct consumer **ret,
                          struct err *e) {
    struct consumer *c = xcalloc(1, sizeof *c);
    struct feed_join join = {.since = {0, -1}, .wake = wake, .connection = g};
    c->engine = g;
    for (size_t i = 0; i < g->o.plan->n_sources; i++) {
        struct str schema = source_schema(g->works[i].source),
                   name = source_table(g->works[i].source);
        snprintf(c->tables[i], sizeof c->tables[i], "%.*s.%.*s", STR_FMT(schema), STR_FMT(name));
        join.filter.tables[join.filter.n_tables++] = str_of(c->tables[i]);
    }
    c->client = feed_join(hub, &join);
    if (!c->client) {
        free(c);
        return err_set(e, V_FATAL, "feed", 0, "the change feed takes no more listeners");
    }
    *ret = c;
    return V_OK;
}

void consumer_free(struct consumer *c) {
    if (!c)
        return;
    feed_leave(c->client);
    free(c);
}

bool consumer_has_more(const struct consumer *c) {
    return c->more;
}

/* What an event says of its row that matters here. Absent: it does not say it. */
struct told {
    struct str key, status;
};

/* A key as claims write it. Absent: it is no key of one value. */
static struct str key_text(struct json_read *r) {
    struct str text = STR_NONE, number;
    int64_t n;
    char out[24];
    switch (json_peek(r)) {
    case JSON_STRING:
        return json_text(r, &text) ? text : STR_NONE;
    case JSON_NUMBER:
        if (!json_raw_number(r, &number) || !json_integer_of(number, &n))
            return STR_NONE;
        snprintf(out, sizeof out, "%lld", (long long)n);
        return arena_str(r->a, str_of(out));
    default:
        json_skip(r);
        return STR_NONE;
    }
}

static bool is_all(const struct told *t) {
    return t->key.p && t->status.p;
}

static void read_row(struct json_read *r, bool data, const struct source *s, struct told *ret) {
    struct str name;
    bool first = true;
    if (json_peek(r) != JSON_OBJECT) {
        json_skip(r);
        return;
    }
    json_enter(r);
    while (!is_all(ret) && json_next_member(r, &first, &name)) {
        if (!ret->key.p && str_eq(name, source_key(s)))
            ret->key = key_text(r);
        else if (data && str_eq(name, source_status(s)) && json_peek(r) == JSON_STRING)
            (void)json_text(r, &ret->status);
        else
            json_skip(r);
    }
}

/* As far as it has to be read: a worker hears of each row three times, and of what others do. */
static struct told read_event(struct str json, const struct source *s, struct arena *a) {
    struct told told = {0};
    struct json_read r;
    struct str name;
    bool first = true;
    json_read_init(&r, a, json);
    if (json_peek(&r) != JSON_OBJECT)
        return told;
    json_enter(&r);
    while (!is_all(&told) && json_next_member(&r, &first, &name)) {
        bool data = str_eqc(name, "data");
        if (data || str_eqc(name, "key"))
            read_row(&r, data, s, &told);
        else
            json_skip(&r);
    }
    return told;
}

/* Where the row says that it needs nothing, nobody has to ask the database. A row that is too large
 * for the log, or whose status is not logged, has to be asked for. */
static void offer(struct consumer *c, size_t source, const struct feed_event *ev) {
    struct engine *g = c->engine;
    struct str pending = engine_source(g, source)->spec.states[ROW_PENDING];
    struct told told = {0};
    enrich_received(source);
    if (ev->action == FEED_INSERT || ev->action == FEED_UPDATE)
        told = read_event(ev->json, g->works[source].source, &g->scratch);
    if (!told.key.p || (told.status.p && !str_eq(told.status, pending))) {
        enrich_event(source, EVENT_IGNORED);
        return;
    }
    if (!engine_leave(g, source, told.key))
        (void)engine_offer(g, source, told.key);
}

static void take_event(struct consumer *c, const struct feed_event *ev) {
    for (size_t i = 0; i < c->engine->o.plan->n_sources; i++) {
        const struct source *s = c->engine->works[i].source;
        if (str_eq(ev->schema, source_schema(s)) && str_eq(ev->name, source_table(s)))
            offer(c, i, ev);
    }
    if (ev->action == FEED_RESYNC)
        engine_sweep_soon(c->engine);
}

enum verdict consumer_drain(struct consumer *c, struct store *s, struct err *e) {
    struct feed_taken got;
    c->more = false;
    for (int n = 0; n < DRAIN_MAX; n++) {
        switch (feed_take(c->client, &got)) {
        case FEED_EVENT:
            take_event(c, got.event);
            feed_event_drop(got.event);
            break;
        case FEED_GAP:
            engine_sweep_soon(c->engine);
            break;
        case FEED_READ: {
            enum verdict v = feed_client_page(c->client, s, e);
            if (v != V_OK)
                return v;
            break;
        }
        case FEED_NOTHING:
        case FEED_OVER:
            return V_OK;
        }
    }
    c->more = true;
    return V_OK;
}
