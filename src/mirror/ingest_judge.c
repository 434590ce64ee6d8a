#include "mirror/ingest_int.h"
#include "mirror/metrics.h"

#include <stdio.h>
#include <string.h>

#define MAX_ERROR_TEXT 200

/* A batch holds an id at most once as an exception: a newer one replaces it. */
static void drop_exception(struct batch *b, int64_t id) {
    for (size_t i = 0; b && i < b->n_exceptions; i++)
        if (b->exceptions[i].id == id) {
            b->exceptions[i] = b->exceptions[--b->n_exceptions];
            return;
        }
}

/* The id gets an exception row: the cursor may pass it, and a restart knows of it. */
void ingest_except(struct ingest *g, struct fetch *f, enum exception_state state,
                   enum fail_class cls, const char *detail, int64_t due_mono) {
    struct err e;
    if (fsm_check(&exception_fsm, (int)f->state, (int)state, &e) != V_OK) {
        ingest_fail(g, INGEST_FATAL, &e);
        return;
    }
    f->state = state;
    struct batch *b = ingest_batch(g, f->run);
    drop_exception(b, f->id);
    struct batch_exception *x = batch_add_exception(b);
    size_t n = strnlen(detail, MAX_ERROR_TEXT);
    x->id = f->id;
    x->state = state;
    x->attempts = f->attempts;
    x->rung = f->rung;
    x->cls = fail_class_name(cls);
    x->error = arena_str(&b->arena, (struct str){detail, n});
    if (state == EXC_RETRY_WAIT)
        x->next_retry_at = ingest_now_db(g) + (due_mono - ingest_now(g));
    segrun_settle(f->run, f->id);
}

static void wait_for(struct ingest *g, struct fetch *f, int64_t wait_ms) {
    f->due_mono = ingest_now(g) + wait_ms;
    f->run->waiting++;
    heap_push(&g->waiting, f);
}

static void refund_one(struct fetch *f, int64_t id) {
    if (f->id == id && f->attempts > 0)
        f->attempts--;
}

/* Attempts of the ids in the window were the upstream's fault, also of those that are on their way
 * once more. */
static void refund(struct ingest *g) {
    for (int i = 0; i < g->health.n; i++) {
        if (g->health.ring[i].cls != g->health.ill_class)
            continue;
        for (size_t k = 0; k < g->waiting.n; k++)
            refund_one(g->waiting.at[k], g->health.ring[i].id);
        for (struct fetch *f = g->oldest; f; f = f->next)
            refund_one(f, g->health.ring[i].id);
    }
    for (size_t k = 0; k < g->waiting.n; k++)
        if (g->waiting.at[k]->on_trial)
            refund_one(g->waiting.at[k], g->waiting.at[k]->id);
}

void ingest_note_health(struct ingest *g, const struct fetch *f, const struct judgement *j) {
    if (!health_note(&g->health, f->id, j->ill ? (int)j->cls : 0, ingest_now(g)))
        return;
    atomic_store(&g->illness, fail_class_name(j->cls));
}

static bool is_doomed(const struct fetch *f, const void *unused UNUSED) {
    return f->doomed;
}

/* The upstream is well: the id had its chances. */
static void bury(struct ingest *g, struct fetch *f) {
    f->run->waiting--;
    f->attempts++;
    ingest_except(g, f, EXC_DEAD_LETTER, f->cls, f->why, 0);
    ingest_drop_fetch(g, f);
}

static void end_trials(struct ingest *g) {
    for (size_t i = 0; i < g->waiting.n; i++)
        g->waiting.at[i]->on_trial = g->waiting.at[i]->doomed = false;
}

static void take_probe(struct ingest *g, struct fetch *f, const struct judgement *j) {
    g->probing = false;
    if (j->ill) {
        if (g->health.probes == 0) { /* had the probe gone well, it would be the ids */
            refund(g);
            end_trials(g);
        }
        health_probe_failed(&g->health, ingest_now(g));
    } else {
        heap_take_if(&g->waiting, is_doomed, NULL, bury, g);
        end_trials(g);
        health_recovered(&g->health);
        g->last_ok_mono = ingest_now(g);
        atomic_store(&g->illness, NULL);
    }
    ingest_drop_fetch(g, f);
}

/* An id is given up only if the upstream was seen well since the id first failed. Where that is
 * open, a probe decides; without any id that ever worked there is nothing to probe with. */
static bool on_trial(const struct ingest *g, const struct judgement *j) {
    return j->ill && g->health.ill && g->health.probes == 0;
}

static bool needs_proof(const struct ingest *g, const struct fetch *f, const struct judgement *j,
                        const struct decision *d) {
    if (d->outcome != OUT_DEAD || j->track != TRACK_BACKOFF)
        return false;
    bool can_tell = g->last_ok_id && g->last_ok_id != f->id;
    return on_trial(g, j) || (can_tell && g->last_ok_mono <= f->failed_mono);
}

static void await_proof(struct ingest *g, struct fetch *f, const struct judgement *j,
                        const char *detail) {
    f->doomed = true;
    f->cls = j->cls;
    snprintf(f->why, sizeof f->why, "%s", detail);
    health_suspect(&g->health, (int)j->cls, ingest_now(g));
    atomic_store(&g->illness, fail_class_name(j->cls));
    wait_for(g, f, g->o.retry.backoff.initial_ms);
}

/* One id that asks for patience gets it for itself; when two ask within a few seconds, it is the
 * upstream that wants a pause, and the lane pauses. Never for longer than a minute: a probe or the
 * next answer will say it again. */
static void honour_retry_after(struct ingest *g, const struct fetch *f,
                               const struct http_result *r) {
    if (r->retry_after_ms < 0 || (r->cls != NET_HTTP_429 && r->cls != NET_HTTP_5XX))
        return;
    int64_t now = ingest_now(g);
    int64_t wait = r->retry_after_ms < MAX_PAUSE_MS ? r->retry_after_ms : MAX_PAUSE_MS;
    bool second = g->patience_id && g->patience_id != f->id && now - g->patience_mono < WITNESS_MS;
    if (second && now + wait > g->not_before_mono) {
        g->not_before_mono = now + wait;
        atomic_store(&g->illness, "retry_after");
    }
    g->patience_id = f->id;
    g->patience_mono = now;
}

static enum http_target target_of(const struct call *c) {
    struct str path = str_of(c->path);
    if (c->id)
        return TARGET_ITEM;
    return str_starts(path, "/maxitem")   ? TARGET_MAXITEM
           : str_starts(path, "/updates") ? TARGET_UPDATES
           : str_starts(path, "/user/")   ? TARGET_USER
                                          : TARGET_LIST;
}

void ingest_note_load(struct ingest *g, const struct fetch *f, const struct http_result *r,
                      const struct judgement *j) {
    int64_t now = ingest_now(g);
    count_answer(f->call ? target_of(f->call) : TARGET_ITEM, r->cls);
    metric_observe(&m_http_seconds, r->elapsed_ms);
    if (j->overload)
        concurrency_overload(&g->window, now);
    else if (r->cls == NET_OK)
        concurrency_ok(&g->window, now, (double)r->elapsed_ms, g->n_flying + 1);
    honour_retry_after(g, f, r);
}

static void keep_item(struct ingest *g, struct fetch *f, const struct item *it) {
    struct batch_item *bi = batch_add_item(ingest_batch(g, f->run));
    bi->item = *it;
    bi->fetched_at = f->started_db;
}

/* Carries out the decision. The fetch is waiting, or gone, afterwards. */
static void settle(struct ingest *g, struct fetch *f, const struct judgement *j,
                   const struct decision *d, const char *detail) {
    drop_exception(f->run->batch, f->id);
    f->attempts = d->attempts;
    f->rung = d->rung;
    int64_t due = ingest_now(g) + d->wait_ms;
    switch (d->outcome) {
    case OUT_STORED:
        segrun_settle(f->run, f->id);
        break;
    case OUT_MISSING:
        ingest_except(g, f, EXC_TERMINAL_MISSING, j->cls, detail, 0);
        break;
    case OUT_DEAD:
        ingest_except(g, f, EXC_DEAD_LETTER, j->cls, detail, 0);
        break;
    case OUT_WAIT:
        metric_add(&m_retries, 0, 1);
        ingest_except(g, f, EXC_RETRY_WAIT, j->cls, detail, due);
        if (j->track == TRACK_BACKOFF) {
            wait_for(g, f, d->wait_ms);
            return;
        }
        break;
    }
    ingest_drop_fetch(g, f);
}

static const char *detail_of(const struct http_result *r, const struct judgement *j) {
    switch ((int)j->cls) {
    case FAIL_NULL_OLD:
    case FAIL_NULL_YOUNG:
        return "the upstream answered null";
    case FAIL_DELAYED:
        return "the text is [delayed]";
    case FAIL_GARBAGE:
        return "the answer is not an item in JSON";
    case FAIL_WRONG_ID:
        return "the answer is another item";
    default:
        return r->detail ? r->detail : "";
    }
}

void ingest_done(void *ctx, const struct http_result *r) {
    struct ingest *g = ctx;
    struct fetch *f = r->tag;
    ingest_land(g, f);
    if (f->call) {
        ingest_answer_call(g, f, r);
        return;
    }
    struct item it = {0};
    enum item_shape shape = ITEM_GARBAGE;
    static struct str nothing = {"", 0};
    struct segrun *run = f->run;
    struct arena probe_arena;
    arena_init(&probe_arena);
    if (r->cls == NET_OK)
        shape = item_parse(run ? &ingest_batch(g, run)->arena : &probe_arena,
                           r->body.p ? r->body : nothing, f->id, &it);
    struct judgement j = judge_answer(r->cls, shape, shape == ITEM_OK && item_is_delayed(&it),
                                      id_is_young(f->id, atomic_load(g->o.maxitem)));
    ingest_note_load(g, f, r, &j);
    if (!run) {
        take_probe(g, f, &j);
        arena_release(&probe_arena);
        return;
    }
    run->in_flight--;
    if (j.ill && !f->failed_mono)
        f->failed_mono = ingest_now(g);
    ingest_note_health(g, f, &j);
    if (j.has_item)
        keep_item(g, f, &it);
    if (!j.ill) {
        g->last_ok_id = f->id;
        g->last_ok_mono = ingest_now(g);
    }
    if (g->health.ill && j.ill && !on_trial(g, &j)) { /* the upstream's fault: costs no attempt */
        wait_for(g, f, g->o.retry.backoff.initial_ms);
        return;
    }
    struct decision d = decide(&j, f->attempts, f->rung, &g->o.retry, &g->rng);
    int64_t asked = r->retry_after_ms < g->o.retry.backoff.max_ms ? r->retry_after_ms
                                                                  : g->o.retry.backoff.max_ms;
    if (d.wait_ms < asked)
        d.wait_ms = asked;
    f->on_trial = on_trial(g, &j);
    if (needs_proof(g, f, &j, &d)) {
        await_proof(g, f, &j, detail_of(r, &j));
        return;
    }
    settle(g, f, &j, &d, detail_of(r, &j));
}
