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

#include <jansson.h>
#include <stdatomic.h>
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

/* A key as claims write it. False: it is no key of one value. */
static bool key_text(const json_t *value, char out[64], struct str *ret) {
    if (json_is_string(value))
        *ret = (struct str){json_string_value(value), json_string_length(value)};
    else if (json_is_integer(value))
        *ret = (struct str){
            out, (size_t)snprintf(out, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(value))};
    else
        return false;
    return true;
}

static const json_t *column(const json_t *root, const char *part, struct str name) {
    return json_object_getn(json_object_get(root, part), name.p, name.n);
}

/* Where the row says that it needs nothing, nobody has to ask the database. A row that is too large
 * for the log, or whose status is not logged, has to be asked for. */
static bool may_be_pending(const json_t *root, const struct source *s, struct str pending) {
    const json_t *status = column(root, "data", source_status(s));
    if (!json_is_string(status))
        return true;
    struct str is = {json_string_value(status), json_string_length(status)};
    return str_eq(is, pending);
}

static void offer(struct consumer *c, size_t source, const struct feed_event *ev,
                  const json_t *root) {
    const struct source *s = c->engine->works[source].source;
    struct str pending = engine_source(c->engine, source)->spec.states[ROW_PENDING];
    const json_t *value = column(root, "key", source_key(s));
    char number[64];
    struct str key;
    enrich_received(source);
    if ((ev->action != FEED_INSERT && ev->action != FEED_UPDATE) ||
        !may_be_pending(root, s, pending) ||
        !key_text(value ? value : column(root, "data", source_key(s)), number, &key)) {
        enrich_event(source, EVENT_IGNORED);
        return;
    }
    (void)engine_offer(c->engine, source, key);
}

static void take_event(struct consumer *c, const struct feed_event *ev) {
    json_t *root = json_loadb(ev->json.p, ev->json.n, 0, NULL);
    for (size_t i = 0; i < c->engine->o.plan->n_sources; i++) {
        const struct source *s = c->engine->works[i].source;
        if (str_eq(ev->schema, source_schema(s)) && str_eq(ev->name, source_table(s)))
            offer(c, i, ev, root);
    }
    if (ev->action == FEED_RESYNC)
        engine_sweep_soon(c->engine);
    json_decref(root);
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
