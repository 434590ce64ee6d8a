/* First a turn, then a task for it: so nobody who waits is behind a turn that somebody reserved. A
 * task that is taken ahead of its turn is one that may need none (HN, where the mirror has all of
 * it) or something else before (the page of an article). */
#include "base/fault.h"
#include "enrich/link_int.h"

#define LOOK_MS 250        /* is there something to do? */
#define READY_MAX_MS 45000 /* a lane that is blocked for long keeps no tasks from others */
#define NOT_SENT_MS 1000
#define AHEAD_MAX 16 /* tasks of one step that need no turn */

#define KIND(ID, name, ...) [LINK_LANE_##ID] = &link_##name,
const struct link_lane_kind *const link_kinds[LINK_LANES] = {LINK_TASK_TABLE(KIND)};

/* Whoever waits first, then who waited longest for a turn. */
static struct job *first_ready(struct link_lane_state *l) {
    struct job *first = NULL;
    for (size_t i = 0; i < LINK_LANE_JOBS; i++) {
        struct job *j = &l->jobs[i];
        if (j->stage != JOB_READY)
            continue;
        if (!first || (j->task.waiting && !first->task.waiting) ||
            (j->task.waiting == first->task.waiting && j->ready_at < first->ready_at))
            first = j;
    }
    return first;
}

static bool has_ready(const struct link_lane_state *l) {
    for (size_t i = 0; i < LINK_LANE_JOBS; i++)
        if (l->jobs[i].stage == JOB_READY)
            return true;
    return false;
}

static enum verdict begin(struct link_engine *g, struct job *j, struct err *e) {
    return j->lane->kind->begin(g, j, e);
}

/* After an outage in between. */
static enum verdict begin_taken(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < LINK_LANE_JOBS; i++)
        if (l->jobs[i].stage == JOB_TAKEN)
            v = begin(g, &l->jobs[i], e);
    return v;
}

static enum verdict look(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    int64_t now = link_now(g);
    if (l->due || now < l->look_at)
        return V_OK;
    l->look_at = now + LOOK_MS;
    return store_link_due(g->store, l->lane, &l->due, e);
}

/* *ret: the task, begun; NULL: there is none now. */
static enum verdict take(struct link_engine *g, struct link_lane_state *l, bool known,
                         struct job **ret, struct err *e) {
    struct job *j = job_new(l);
    struct str holder = str_of(g->o.holder);
    *ret = NULL;
    if (!j)
        return V_OK;
    fault_hit("links_before_take");
    enum verdict v =
        known ? l->kind->take_known(g->store, holder, LINK_LEASE_MS, &j->arena, &j->task, e)
              : store_link_take(g->store, l->lane, holder, LINK_LEASE_MS, &j->arena, &j->task, e);
    if (v != V_OK) {
        job_free(j);
        if (v != V_NOT_FOUND)
            return v;
        if (known)
            return V_OK;
        l->due = false;
        l->look_at = link_now(g) + LOOK_MS;
        return V_OK;
    }
    fault_hit("links_after_take");
    j->taken_at = link_now(g);
    *ret = j;
    return begin(g, j, e);
}

static bool is_too_late(const struct link_engine *g, const struct job *j) {
    return link_now(g) + j->lane->kind->call_ms > j->taken_at + LINK_LEASE_MS;
}

/* With the turn in hand. */
static enum verdict call(struct link_engine *g, struct job *j, struct err *e) {
    struct link_lane_state *l = j->lane;
    struct ask ask;
    struct err why = {0};
    enum verdict v = V_OK;
    if (j->task.id && is_too_late(g, j)) {
        job_release(j, true, 0, NULL);
        return V_OK;
    }
    if (l->kind->ask(g, j, &ask, &why) != V_OK) {
        job_save(j, LINK_FAILED, arena_str(&j->arena, str_of(why.msg)));
        return V_OK;
    }
    if (l->kind->before)
        v = l->kind->before(g, j, e);
    if (v != V_OK || j->stage == JOB_DECIDED)
        return v;
    fault_hit("links_before_call");
    v = g->o.caller->ask(g->o.caller, &ask, l->kind->call_ms, j, &why);
    if (v == V_INVALID)
        job_save(j, LINK_FAILED, arena_str(&j->arena, str_of(why.msg)));
    else if (v != V_OK)
        job_release(j, false, NOT_SENT_MS, NULL);
    if (v != V_OK)
        return V_OK;
    j->is_read = false;
    j->probe = l->turnstile.probe;
    j->slot = turnstile_use(&l->turnstile);
    j->stage = JOB_CALLING;
    fault_hit("links_call_started");
    return V_OK;
}

/* The lane's own call, before any task's. */
static enum verdict call_token(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    struct job *j = job_new(l);
    if (!j)
        return V_OK;
    j->step = STEP_TOKEN;
    j->stage = JOB_READY;
    enum verdict v = call(g, j, e);
    if (j->stage == JOB_CALLING)
        g->token_called = true;
    else
        job_forget(j);
    return v;
}

static bool has_room(const struct link_lane_state *l) {
    return l->n_jobs < LINK_LANE_JOBS;
}

static bool may_go_ahead(const struct link_engine *g, const struct link_lane_state *l) {
    return l->due && has_room(l) && l->kind->ahead && l->kind->ahead(g, l);
}

static bool is_blocked(const struct turnstile *t) {
    return t->why == LANE_NOT_BEFORE || t->why == LANE_BREAKER || t->why == LANE_PAUSED;
}

/* Nothing is prepared for a lane that is blocked. */
static enum verdict look_at_lane(struct link_engine *g, struct link_lane_state *l, bool *ret_open,
                                 struct err *e) {
    struct turnstile *t = &l->turnstile;
    int64_t now = link_now(g);
    enum verdict v = V_OK;
    if (is_blocked(t) && now >= t->ask_at)
        v = turnstile_ask(t, g->store, 0, now, e);
    *ret_open = v == V_OK && !is_blocked(t);
    return v;
}

static enum verdict take_ahead(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    enum verdict v = V_OK;
    struct job *j = NULL;
    bool open = !l->kind->always_ahead;
    if (!open && may_go_ahead(g, l))
        v = look_at_lane(g, l, &open, e);
    for (int i = 0; v == V_OK && open && i < AHEAD_MAX && may_go_ahead(g, l); i++)
        v = take(g, l, false, &j, e);
    return v;
}

/* What the archive can answer waits for no turn, and for no provider that is ill. */
static enum verdict take_known(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    enum verdict v = V_OK;
    struct job *j = NULL;
    int n = 0;
    if (!l->kind->take_known || link_now(g) < l->known_at)
        return V_OK;
    for (; v == V_OK && n < AHEAD_MAX && has_room(l) && (n == 0 || j); n++)
        v = take(g, l, true, &j, e);
    if (v == V_OK && !j)
        l->known_at = link_now(g) + LOOK_MS;
    return v;
}

/* Is there a call to be made as soon as there is a turn? */
static bool wants_turn(const struct link_engine *g, const struct link_lane_state *l) {
    if (l->kind->wants_token && l->kind->wants_token(g) && g->token_called)
        return false;
    if (has_ready(l))
        return true;
    return l->due && has_room(l) && !may_go_ahead(g, l) && !l->kind->always_ahead;
}

/* One turn, which has come. */
static enum verdict use_turn(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    enum verdict v = V_OK;
    if (l->kind->wants_token && l->kind->wants_token(g))
        return call_token(g, l, e);
    struct job *j = first_ready(l);
    if (!j)
        v = take(g, l, false, &j, e);
    int64_t now = link_now(g); /* the take needed time: a turn that is lost by now is not used */
    if (v != V_OK || !j || j->stage != JOB_READY || !turnstile_has(&l->turnstile, now) ||
        turnstile_due(&l->turnstile, now) == 0)
        return v;
    return call(g, j, e);
}

static enum verdict use_turns(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    struct turnstile *t = &l->turnstile;
    enum verdict v = V_OK;
    while (v == V_OK && wants_turn(g, l)) {
        int64_t now = link_now(g);
        if (!turnstile_has(t, now)) {
            if (now < t->ask_at || turnstile_wants(t, 1) == 0)
                break;
            v = turnstile_ask(t, g->store, 1, now, e);
            if (v != V_OK || t->turns.n == 0)
                break;
        }
        if (turnstile_due(t, now) == 0)
            break;
        v = use_turn(g, l, e);
    }
    return v;
}

static void release_ready(struct link_engine *g, struct link_lane_state *l) {
    int64_t now = link_now(g);
    for (size_t i = 0; i < LINK_LANE_JOBS; i++) {
        struct job *j = &l->jobs[i];
        if (j->stage == JOB_READY && now >= j->ready_at + READY_MAX_MS)
            job_release(j, false, 0, NULL);
    }
}

enum verdict link_lane_work(struct link_engine *g, struct link_lane_state *l, struct err *e) {
    enum verdict v = begin_taken(g, l, e);
    if (v == V_OK)
        v = look(g, l, e);
    if (v == V_OK)
        v = take_known(g, l, e);
    bool closed = l->kind->closed && l->kind->closed(g);
    if (v == V_OK && !closed)
        v = take_ahead(g, l, e);
    if (v == V_OK && !closed)
        v = use_turns(g, l, e);
    if (v != V_OK)
        return v;
    release_ready(g, l);
    return turnstile_tidy(&l->turnstile, g->store, link_now(g), e);
}

int64_t link_lane_next(const struct link_engine *g, const struct link_lane_state *l) {
    bool closed = l->kind->closed && l->kind->closed(g);
    int64_t next = turnstile_next(&l->turnstile, !closed && wants_turn(g, l));
    if (!l->due && l->look_at < next)
        next = l->look_at;
    if (l->kind->take_known && has_room(l) && l->known_at < next)
        next = l->known_at;
    if (!closed && may_go_ahead(g, l)) {
        bool wait = l->kind->always_ahead && is_blocked(&l->turnstile);
        int64_t when = wait ? l->turnstile.ask_at : link_now(g);
        next = when < next ? when : next;
    }
    for (size_t i = 0; i < LINK_LANE_JOBS; i++)
        if (l->jobs[i].stage == JOB_READY && l->jobs[i].ready_at + READY_MAX_MS < next)
            next = l->jobs[i].ready_at + READY_MAX_MS;
    return next;
}
