#include "enrich/engine.h"

#include "base/fault.h"
#include "base/log.h"
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"
#include "enrich/topics.h"

#include <stdlib.h>
#include <string.h>

#define STOP_TRIES 3     /* of a transaction that the database ended in favour of another */
#define STEP_MAX_MS 1000 /* a step returns at least so often: that is its heartbeat */

static void set_up_lanes(struct engine *g) {
    const struct enrich_plan *p = g->o.plan;
    for (size_t i = 0; i < p->n_providers; i++)
        g->lanes[i] = (struct lane){.provider = &p->providers[i],
                                    .turnstile = {.name = p->providers[i].name,
                                                  .holder = str_of(g->o.holder),
                                                  .call_ms = p->providers[i].timeout_ms,
                                                  .index = (int)i}};
    for (size_t i = 0; i < p->n_sources; i++) {
        struct lane *l = &g->lanes[p->sources[i].provider - p->providers];
        l->sources[l->n_sources++] = i;
    }
}

static void set_up_works(struct engine *g) {
    for (size_t i = 0; i < g->o.plan->n_sources; i++) {
        struct work *w = &g->works[i];
        w->freed = keyring_new(g->o.ring ? g->o.ring : ENGINE_RING);
        w->ring = keyring_new(g->o.ring ? g->o.ring : ENGINE_RING);
        w->found = keyring_new(g->o.ring ? g->o.ring : ENGINE_RING);
        w->due_at = NO_DEADLINE;
        arena_init(&w->picked_arena);
        arena_init(&w->cursor_arena);
    }
}

static enum verdict open_sources(struct engine *g, struct err *e) {
    struct source *sources[PLAN_SOURCES_MAX] = {0};
    enum verdict v = plan_open_sources(g->o.plan, g->store, sources, e);
    for (size_t i = 0; i < g->o.plan->n_sources; i++)
        g->works[i].source = sources[i];
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_sources; i++)
        v = store_source_take_name(g->store, sources[i], e);
    return v == V_OK ? enrich_declare_topics(g->o.plan, sources, g->store, e) : v;
}

static enum verdict declare_lanes(struct engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_providers; i++) {
        const struct provider *p = &g->o.plan->providers[i];
        v = store_lane_declare(g->store, p->name, &p->limits, e);
    }
    return v;
}

enum verdict engine_new(const struct engine_options *o, struct engine **ret, struct err *e) {
    struct engine *g = xcalloc(1, sizeof *g);
    g->o = *o;
    g->outage.clock = o->clock;
    g->rng = rng_fresh();
    arena_init(&g->scratch);
    for (size_t i = 0; i < ENGINE_BUSY_MAX; i++) {
        arena_init(&g->rows[i].arena);
        g->unused[g->n_unused++] = &g->rows[i];
    }
    set_up_lanes(g);
    set_up_works(g);
    enrich_metrics_name(o->plan);
    enum verdict v = store_open(o->store, &g->store, e);
    if (v == V_OK)
        v = open_sources(g, e);
    if (v == V_OK)
        v = declare_lanes(g, e);
    if (v == V_OK && o->hub)
        v = consumer_new(o->hub, g, &g->consumer, e);
    if (v != V_OK) {
        engine_free(g);
        return v;
    }
    *ret = g;
    return V_OK;
}

void engine_free(struct engine *g) {
    if (!g)
        return;
    consumer_free(g->consumer);
    for (size_t i = 0; i < g->o.plan->n_sources; i++) {
        store_source_close(g->works[i].source);
        keyring_free(g->works[i].freed);
        keyring_free(g->works[i].ring);
        keyring_free(g->works[i].found);
        arena_release(&g->works[i].picked_arena);
        arena_release(&g->works[i].cursor_arena);
    }
    store_close(g->store);
    for (size_t i = 0; i < ENGINE_BUSY_MAX; i++)
        arena_release(&g->rows[i].arena);
    arena_release(&g->scratch);
    free(g);
}

void engine_free_row(struct engine *g, struct row *r) {
    arena_reset(&r->arena);
    r->stage = ROW_UNUSED;
    g->unused[g->n_unused++] = r;
}

bool engine_offer(struct engine *g, size_t source, struct str key) {
    int dropped = FROM_SWEEP;
    switch (keyring_push(g->works[source].ring, key, FROM_FEED, &dropped)) {
    case KEYRING_TAKEN:
        return true;
    case KEYRING_DROPPED_OLDEST:
        atomic_store(&g->works[source].lost, true);
        if (dropped == FROM_FEED)
            enrich_event(source, EVENT_DROPPED);
        return false;
    case KEYRING_TOO_LONG:
        break;
    }
    enrich_event(source, EVENT_DROPPED);
    return false;
}

bool engine_leave(struct engine *g, size_t source, struct str key) {
    if (share_has(&g->works[source].share, key))
        return false;
    atomic_store(&g->works[source].lost, true);
    enrich_event(source, EVENT_LEFT);
    return true;
}

void engine_wake(struct engine *g) {
    g->o.caller->wake(g->o.caller);
}

void engine_sweep_soon(struct engine *g) {
    for (size_t i = 0; i < g->o.plan->n_sources; i++)
        g->works[i].sweep_at = 0;
}

int64_t engine_down_ms(const struct engine *g) {
    return outage_ms(&g->outage);
}

/* All that needs the database. The first trouble ends it; the rest waits for its turn. */
static enum verdict work(struct engine *g, struct err *e) {
    arena_reset(&g->scratch);
    enum verdict v = judge_answered(g, e);
    if (v == V_OK)
        v = write_decided(g, false, e);
    if (v == V_OK && g->consumer)
        v = consumer_drain(g->consumer, g->store, e);
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_sources; i++)
        v = sweep_work(g, &g->works[i], e);
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_providers; i++)
        v = lane_work(g, &g->lanes[i], e);
    return v == V_OK ? watch_lanes(g, e) : v;
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t next_work(const struct engine *g, int64_t now) {
    int64_t next = now + STEP_MAX_MS;
    if (outage_lasts(&g->outage))
        return earlier(next, g->outage.again_at);
    if (g->consumer && consumer_has_more(g->consumer))
        return now;
    next = earlier(earlier(next, write_next(g)), g->watch_at);
    for (size_t i = 0; i < g->o.plan->n_sources; i++)
        next = earlier(next, sweep_next(g, &g->works[i]));
    for (size_t i = 0; i < g->o.plan->n_providers; i++)
        next = earlier(next, lane_next(g, &g->lanes[i]));
    return next;
}

static void on_done(void *ctx, const struct call_result *result) {
    struct engine *g = ctx;
    struct row *r = result->tag;
    r->result = *result;
    r->result.body = arena_str(&r->arena, result->body);
    r->result.headers = arena_str(&r->arena, result->headers);
    r->result.detail = result->detail ? arena_strdup(&r->arena, result->detail) : NULL;
    r->stage = ROW_ANSWERED;
    fault_hit("enrich_answer_read");
    g->answered[g->n_answered++] = r;
    turnstile_ended(&r->lane->turnstile, r->slot, engine_now(g));
}

static bool calls_are_out(const struct engine *g) {
    for (size_t i = 0; i < g->o.plan->n_providers; i++)
        if (g->lanes[i].turnstile.in_flight)
            return true;
    return false;
}

enum verdict engine_step(struct engine *g, int64_t deadline_mono, struct err *e) {
    bool there;
    enum verdict v = outage_look(&g->outage, g->store, &there, e);
    if (v == V_OK && there)
        v = outage_bear(&g->outage, g->store, work(g, e), e);
    if (v != V_OK)
        return v;
    int64_t next = next_work(g, engine_now(g));
    g->o.caller->step(g->o.caller, earlier(deadline_mono, next), on_done, g);
    if (calls_are_out(g))
        fault_hit("enrich_calls_out");
    return V_OK;
}

/* What was under way is given back as if it had never been begun. */
static void let_go(struct engine *g, struct row *r) {
    if (r->stage == ROW_CALLING)
        turnstile_undo(&r->lane->turnstile, r->slot, r->probe);
    r->final = false;
    r->release = (struct release){.key = r->key, .token = r->token};
    engine_decided(g, r);
}

static enum verdict give_turns_back(struct engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_providers; i++) {
        g->lanes[i].n_ready = 0;
        v = turnstile_tidy(&g->lanes[i].turnstile, g->store, NO_DEADLINE, e);
    }
    return v;
}

/* Also after a step that failed: so whatever can be given back is, and what cannot be is told. */
enum verdict engine_stop(struct engine *g, struct err *e) {
    struct err more;
    g->o.caller->cancel_all(g->o.caller);
    enum verdict v = judge_answered(g, e), slots;
    g->n_answered = 0;
    for (size_t i = 0; i < ENGINE_BUSY_MAX; i++)
        if (g->rows[i].stage == ROW_READY || g->rows[i].stage == ROW_CALLING ||
            g->rows[i].stage == ROW_ANSWERED)
            let_go(g, &g->rows[i]);
    if (v == V_OK)
        v = write_decided(g, true, e);
    for (int i = 0; i < STOP_TRIES && v == V_RETRY && store_rolled_back(e); i++)
        if ((v = store_recover(g->store, e)) == V_OK)
            v = write_decided(g, true, e);
    if (v != V_OK && v != V_RETRY)
        v = write_given_up(g, e);
    slots = give_turns_back(g, v == V_OK ? e : &more);
    return v == V_OK ? slots : v;
}
