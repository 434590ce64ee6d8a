#include "enrich/link_engine.h"

#include "enrich/enrich_metrics.h"
#include "enrich/link_int.h"

#include <stdlib.h>

#define STEP_MAX_MS 1000 /* a step returns at least so often: that is its heartbeat */

static void set_up_lane(struct link_engine *g, enum link_lane which) {
    struct link_lane_state *l = &g->lanes[which];
    const struct link_lane_kind *kind = link_kinds[which];
    struct str provider = str_of(link_lane_provider(which));
    l->kind = kind;
    l->lane = which;
    l->turnstile = (struct turnstile){.name = provider,
                                      .holder = str_of(g->o.holder),
                                      .call_ms = kind->call_ms,
                                      .index = enrich_metrics_lane(provider)};
    for (size_t i = 0; i < LINK_LANE_JOBS; i++) {
        arena_init(&l->jobs[i].arena);
        l->jobs[i].lane = l;
    }
}

static enum verdict declare_lanes(struct link_engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < LINK_LANES; i++) {
        const struct lane_limits limits = {.per_window = link_kinds[i]->per_minute(g),
                                           .window_ms = 60000};
        v = store_lane_declare(g->store, str_of(link_lane_provider((enum link_lane)i)), &limits, e);
    }
    return v;
}

enum verdict link_engine_new(const struct link_engine_options *o, struct link_engine **ret,
                             struct err *e) {
    struct link_engine *g = xcalloc(1, sizeof *g);
    g->o = *o;
    g->outage.clock = o->clock;
    g->rng = rng_fresh();
    g->unskip_key = true;
    arena_init(&g->scratch);
    arena_init(&g->token_arena);
    for (size_t i = 0; i < LINK_LANES; i++)
        set_up_lane(g, (enum link_lane)i);
    enum verdict v = store_open(o->store, &g->store, e);
    if (v == V_OK)
        v = declare_lanes(g, e);
    if (v != V_OK) {
        link_engine_free(g);
        return v;
    }
    *ret = g;
    return V_OK;
}

void link_engine_free(struct link_engine *g) {
    if (!g)
        return;
    store_close(g->store);
    for (size_t l = 0; l < LINK_LANES; l++)
        for (size_t i = 0; i < LINK_LANE_JOBS; i++)
            arena_release(&g->lanes[l].jobs[i].arena);
    arena_release(&g->scratch);
    arena_release(&g->token_arena);
    free(g);
}

void link_engine_wake(struct link_engine *g) {
    g->o.caller->wake(g->o.caller);
}

int64_t link_engine_down_ms(const struct link_engine *g) {
    return outage_ms(&g->outage);
}

const char *link_engine_refused(const struct link_engine *g) {
    int lane = atomic_load(&g->refused);
    return lane ? link_lane_provider((enum link_lane)(lane - 1)) : NULL;
}

/* All that needs the database. The first trouble ends it; the rest waits for its turn. */
static enum verdict work(struct link_engine *g, struct err *e) {
    arena_reset(&g->scratch);
    enum verdict v = jobs_judge(g, e);
    if (v == V_OK)
        v = jobs_write(g, e);
    for (size_t i = 0; v == V_OK && i < LINK_LANES; i++)
        v = link_lane_work(g, &g->lanes[i], e);
    if (v == V_OK)
        v = jobs_write(g, e);
    return v == V_OK ? upkeep_work(g, e) : v;
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t next_work(const struct link_engine *g, int64_t now) {
    int64_t next = now + STEP_MAX_MS;
    if (outage_lasts(&g->outage))
        return earlier(next, g->outage.again_at);
    next = earlier(next, upkeep_next_at(g));
    for (size_t i = 0; i < LINK_LANES; i++)
        next = earlier(next, link_lane_next(g, &g->lanes[i]));
    return next;
}

static void copy_visit(struct job *j, const struct visit *v) {
    j->visit = *v;
    j->visit.url = arena_strdup(&j->arena, v->url ? v->url : "");
    j->visit.content_type = arena_strdup(&j->arena, v->content_type ? v->content_type : "");
}

static void on_done(void *ctx, const struct call_result *r) {
    struct link_engine *g = ctx;
    struct job *j = r->tag;
    j->heard = (struct heard){.cls = r->cls,
                              .status = r->status,
                              .retry_after_ms = r->retry_after_ms,
                              .headers = arena_str(&j->arena, r->headers),
                              .body = arena_str(&j->arena, r->body),
                              .detail = arena_strdup(&j->arena, r->detail ? r->detail : "")};
    j->elapsed_ms = r->elapsed_ms;
    if (r->visit)
        copy_visit(j, r->visit);
    if (j->stage == JOB_CALLING)
        turnstile_ended(&j->lane->turnstile, j->slot, link_now(g));
    j->stage = JOB_ANSWERED;
}

enum verdict link_engine_step(struct link_engine *g, int64_t deadline_mono, struct err *e) {
    bool there;
    enum verdict v = outage_look(&g->outage, g->store, &there, e);
    if (v == V_OK && there)
        v = outage_bear(&g->outage, g->store, work(g, e), e);
    if (v != V_OK)
        return v;
    int64_t next = next_work(g, link_now(g));
    g->o.caller->step(g->o.caller, earlier(deadline_mono, next), on_done, g);
    return V_OK;
}

/* What was under way is given back as if it had never been begun; but for its money, since the
 * provider may ask for it all the same. */
static void let_go(struct job *j) {
    j->reserved = 0;
    if (j->stage == JOB_CALLING)
        turnstile_undo(&j->lane->turnstile, j->slot, j->probe);
    if (j->task.id)
        job_release(j, false, 0, NULL);
    else
        job_forget(j);
}

/* Also after a step that failed: so whatever can be given back is, and what cannot be is told. */
enum verdict link_engine_stop(struct link_engine *g, struct err *e) {
    struct err more;
    g->o.caller->cancel_all(g->o.caller);
    enum verdict v = jobs_judge(g, e), turns = V_OK;
    for (size_t l = 0; l < LINK_LANES; l++)
        for (size_t i = 0; i < LINK_LANE_JOBS; i++) {
            enum job_stage stage = g->lanes[l].jobs[i].stage;
            if (stage != JOB_UNUSED && stage != JOB_DECIDED)
                let_go(&g->lanes[l].jobs[i]);
        }
    if (v == V_OK)
        v = jobs_write(g, e);
    for (size_t i = 0; turns == V_OK && i < LINK_LANES; i++)
        turns =
            turnstile_tidy(&g->lanes[i].turnstile, g->store, NO_DEADLINE, v == V_OK ? e : &more);
    return v == V_OK ? turns : v;
}
