#include "mirror/ingest_int.h"

#include <stdio.h>

#define LATE_US 50000 /* turns so late may still be taken: a busy thread is not always on time */

static int64_t now_us(const struct ingest *g) {
    return ingest_now(g) * 1000;
}

/* Takes a turn of the shared rate; false: none is due yet. A lease and the next one may have lain
 * here since the last work there was. */
static bool take_turn(struct ingest *g) {
    if (g->o.rps <= 0)
        return true;
    turns_forfeit(&g->turns, now_us(g), LATE_US);
    turns_forfeit(&g->next_turns, now_us(g), LATE_US);
    int64_t wait = turns_wait_us(&g->turns, now_us(g));
    if (wait < 0 && g->have_next_turns) {
        g->turns = g->next_turns;
        g->have_next_turns = false;
        wait = turns_wait_us(&g->turns, now_us(g));
    }
    if (wait != 0)
        return false;
    turns_take(&g->turns);
    return true;
}

static void start(struct ingest *g, struct fetch *f) {
    char url[2048];
    if (f->call && !f->id)
        snprintf(url, sizeof url, "%s%s", g->o.upstream, f->call->path);
    else
        snprintf(url, sizeof url, "%s/item/%lld.json", g->o.upstream, (long long)f->id);
    f->started_db = ingest_now_db(g);
    ingest_fly(g, f);
    struct err e;
    if (http_submit(g->o.http, url, f, &e) == V_OK)
        return;
    ingest_land(g, f);
    ingest_drop_fetch(g, f);
    err_wrap(&e, V_FATAL, "cannot request %s", url);
    ingest_fail(g, INGEST_FATAL, &e);
}

/* While the upstream is ill only one request at a time goes out, for an id that it answered well
 * before, or else for one that we want. */
static void probe(struct ingest *g) {
    int64_t now = ingest_now(g);
    bool due = g->health.probes == 0 || health_probe_due(&g->health, now);
    if (g->probing || !due || now < g->not_before_mono)
        return;
    int64_t id = g->last_ok_id;
    if (!id)
        id = heap_top(&g->waiting) ? heap_top(&g->waiting)->id : g->o.window.lo;
    struct fetch *f = ingest_new_fetch(g);
    f->id = id;
    f->first_mono = now;
    g->probing = true;
    start(g, f);
}

static bool start_call(struct ingest *g, int64_t now) {
    if (!ingest_has_calls(g) || !take_turn(g))
        return false;
    struct fetch *f = ingest_new_fetch(g);
    f->call = ingest_next_call(g);
    f->id = f->call->id;
    f->first_mono = now;
    start(g, f);
    return true;
}

/* Another lane has the id in flight: its answer may be older than what is wanted here, so this one
 * waits for its own. */
static void wait_for_twin(struct ingest *g, struct fetch *f, int64_t now) {
    f->due_mono = now + TWIN_MS;
    f->run->waiting++;
    heap_push(&g->waiting, f);
}

static bool start_waiting(struct ingest *g, int64_t now) {
    struct fetch *f = heap_top(&g->waiting);
    if (!f || f->due_mono > now)
        return false;
    if (idset_has(&g->flying_ids, f->id)) {
        heap_pop(&g->waiting);
        f->run->waiting--;
        wait_for_twin(g, f, now);
        return true;
    }
    if (!take_turn(g))
        return false;
    heap_pop(&g->waiting);
    f->run->waiting--;
    f->run->in_flight++;
    start(g, f);
    return true;
}

static struct fetch *next_of(struct ingest *g, struct segrun *r, int64_t now) {
    struct next_fetch next;
    if (!segrun_next(r, &next))
        return NULL;
    struct fetch *f = ingest_new_fetch(g);
    f->run = r;
    f->id = next.id;
    f->state = next.state;
    f->attempts = next.attempts;
    f->rung = next.rung;
    f->first_mono = now;
    return f;
}

/* Open segments stand in order of their lanes. */
static bool start_new(struct ingest *g, int64_t now) {
    for (struct segrun *r = g->open; r; r = r->next) {
        if (r->releasing || r->lost || !segrun_has_next(r))
            continue;
        if (!take_turn(g))
            return false;
        struct fetch *f = next_of(g, r, now);
        if (!f)
            continue;
        if (idset_has(&g->flying_ids, f->id)) {
            wait_for_twin(g, f, now);
            return true;
        }
        r->in_flight++;
        start(g, f);
        return true;
    }
    return false;
}

void ingest_start_fetches(struct ingest *g) {
    if (g->end != INGEST_RUNNING)
        return;
    int64_t now = ingest_now(g);
    if (g->health.ill) {
        probe(g);
        while (start_call(g, now) && g->end == INGEST_RUNNING)
            ;
        return;
    }
    if (now < g->not_before_mono)
        return;
    if (g->not_before_mono) { /* the pause is over */
        g->not_before_mono = 0;
        atomic_store(&g->illness, NULL);
    }
    int limit = concurrency_limit(&g->window);
    while (g->n_flying < limit && g->end == INGEST_RUNNING && start_call(g, now))
        ;
    /* calls are bounded by those who make them; segments by what the writer can take */
    while (g->n_flying < limit && g->end == INGEST_RUNNING && g->unacked < MAX_UNACKED)
        if (!start_waiting(g, now) && !start_new(g, now))
            break;
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t ingest_next_start(const struct ingest *g) {
    int64_t now = ingest_now(g), at = now + 200;
    if (g->health.ill)
        return g->probing ? at : earlier(at, g->health.next_probe_ms);
    if (now < g->not_before_mono)
        return earlier(at, g->not_before_mono);
    if (g->n_flying >= concurrency_limit(&g->window))
        return at;
    if (g->unacked >= MAX_UNACKED && !ingest_has_calls(g))
        return at;
    const struct fetch *f = heap_top(&g->waiting);
    if (f)
        at = earlier(at, f->due_mono > now ? f->due_mono : now + 1);
    if (g->o.rps > 0) {
        int64_t wait = turns_wait_us(&g->turns, now_us(g));
        if (wait > 0)
            at = earlier(at, now + wait / 1000 + 1);
    }
    return at;
}
