#include "mirror/ingest_int.h"
#include "mirror/metrics.h"
#include "mirror/refresh.h"

#include <stdlib.h>

#define POLL_PEERS_MS 500 /* how often to look whether another process left something to do */

static struct job *new_job(struct ingest *g, enum job_kind kind) {
    struct job *j = g->n_idle_jobs ? g->idle_jobs[--g->n_idle_jobs] : xcalloc(1, sizeof *j);
    struct arena kept = j->arena;
    *j = (struct job){.letter = LETTER_JOB, .kind = kind, .arena = kept, .reply = g->o.mailbox};
    return j;
}

static void keep_job(struct ingest *g, struct job *j) {
    arena_reset(&j->arena);
    if (g->n_idle_jobs < (int)ARRAY_LEN(g->idle_jobs)) {
        g->idle_jobs[g->n_idle_jobs++] = j;
        return;
    }
    arena_release(&j->arena);
    free(j);
}

static void keep_batch(struct ingest *g, struct batch *b) {
    if (g->n_idle_batches < (int)ARRAY_LEN(g->idle_batches)) {
        batch_reset(b);
        g->idle_batches[g->n_idle_batches++] = b;
    } else {
        batch_free(b);
    }
}

/* The queue has room for every job that may be out at once, so this never blocks. */
static void send(struct ingest *g, struct job *j) {
    g->jobs_out++;
    if (!queue_push(g->o.to_writer, j)) {
        g->jobs_out--;
        batch_free(j->batch);
        keep_job(g, j);
    }
}

struct batch *ingest_batch(struct ingest *g, struct segrun *r) {
    if (r->batch)
        return r->batch;
    r->batch = g->n_idle_batches ? g->idle_batches[--g->n_idle_batches] : batch_new();
    r->batch_since = ingest_now(g);
    r->batch->segment_id = r->segment_id;
    r->batch->lease_token = r->lease_token;
    r->batch->end_id = r->end_id;
    r->batch->purpose = r->purpose;
    return r->batch;
}

static void send_batch(struct ingest *g, struct segrun *r, bool release) {
    struct batch *b = ingest_batch(g, r);
    b->cursor = r->cursor;
    b->release = release;
    struct job *j = new_job(g, JOB_BATCH);
    j->batch = b;
    j->owner = r;
    r->batch = NULL;
    r->last_sent = ingest_now(g);
    r->releasing = release;
    r->unacked++;
    g->unacked++;
    send(g, j);
}

/* A segment that only waits, and not just for a moment, is given back: its exceptions say when it
 * is due, and whoever plans then takes it up again. */
static bool waits_long(const struct ingest *g, const struct segrun *r) {
    if (r->waiting == 0 || g->health.ill || !segrun_only_waits(r))
        return false;
    for (size_t i = 0; i < g->waiting.n; i++)
        if (g->waiting.at[i]->run == r && g->waiting.at[i]->due_mono < ingest_now(g) + LONG_WAIT_MS)
            return false;
    return true;
}

static bool is_full(const struct ingest *g, const struct batch *b) {
    return b->n_items + b->n_exceptions >= (size_t)g->o.batch_size ||
           arena_used(&b->arena) >= MAX_BATCH_BYTES;
}

/* An id that has not been answered for long stands in the cursor's way: give it a row. */
static void except_stragglers(struct ingest *g) {
    int64_t limit = ingest_now(g) - STRAGGLER_MS;
    for (struct fetch *f = g->oldest; f && f->first_mono <= limit; f = f->next)
        if (f->run && !f->run->lost && !segrun_is_settled(f->run, f->id))
            ingest_except(g, f, EXC_PENDING, FAIL_STRAGGLER, "no answer yet", 0);
}

void ingest_flush(struct ingest *g) {
    int64_t now = ingest_now(g);
    except_stragglers(g);
    for (struct segrun *r = g->open; r; r = r->next) {
        if (r->releasing || r->lost)
            continue;
        if (waits_long(g, r))
            ingest_forget_run(g, r);
        if (segrun_is_complete(r)) {
            send_batch(g, r, true);
        } else if (r->batch && is_full(g, r->batch)) {
            send_batch(g, r, false);
        } else if (g->unacked < MAX_UNACKED) {
            bool aged = r->batch && now - r->batch_since >= FLUSH_AGE_MS;
            if (aged || now - r->last_sent >= g->o.heartbeat_ms)
                send_batch(g, r, false);
        }
    }
}

static void remove_run(struct ingest *g, struct segrun *gone) {
    for (struct segrun **at = &g->open; *at; at = &(*at)->next)
        if (*at == gone) {
            *at = gone->next;
            g->n_open--;
            segrun_free(gone);
            g->next_claim_mono = ingest_now(g);
            return;
        }
}

/* Each item counts once: what an updater looks at again is not what it catches up with. */
static void count(const struct ingest *g, const struct segrun *r, const struct apply_stats *s) {
    if (g->o.endless && lane_of(r->purpose) == LANE_RESCAN) {
        metric_add(&m_rescan_processed, 0, s->inserted + s->changed + s->unchanged + s->stale);
        metric_add(&m_rescan_changed, 0, s->inserted + s->changed);
        return;
    }
    metric_add(&m_items, ITEMS_INSERTED, s->inserted);
    metric_add(&m_items, ITEMS_CHANGED, s->changed);
    metric_add(&m_items, ITEMS_UNCHANGED, s->unchanged);
    metric_add(&m_items, ITEMS_STALE, s->stale);
    metric_add(&m_items, ITEMS_MISSING, s->missing);
    metric_add(&m_items, ITEMS_DEAD_LETTER, s->dead);
}

static void take_ack(struct ingest *g, struct job *j) {
    struct segrun *r = j->owner;
    r->unacked--;
    g->unacked--;
    if (j->verdict == V_OK) {
        count(g, r, &j->stats);
        if (g->o.ids && r->purpose == PURPOSE_GAP)
            refresh_above(g->o.ids, j->batch, 0);
        else if (g->o.ids && r->purpose == PURPOSE_MIRROR && g->first_maxitem)
            refresh_above(g->o.ids, j->batch, g->first_maxitem); /* it was before the stream */
    } else if (!r->lost) {
        r->lost = true; /* nothing more may be written for it: the cursor would pass a hole */
        ingest_forget_run(g, r);
        if (j->verdict == V_CONFLICT)
            metric_add(&m_leases_lost, 0, 1);
        else
            ingest_fail(g, j->verdict == V_STOPPED ? INGEST_STOPPED : INGEST_FATAL, &j->err);
    }
    keep_batch(g, j->batch);
    j->batch = NULL;
    if (r->unacked == 0 && (r->lost || r->releasing))
        remove_run(g, r);
}

/* Nothing was pending: is the run over, or is there something to wait for? */
static void consider_end(struct ingest *g, const struct window_work *w) {
    int64_t now = ingest_now(g);
    g->next_claim_mono = now + POLL_PEERS_MS;
    if (g->o.endless || g->n_open || w->pending || w->unfinished)
        return;
    const struct backoff *b = &g->o.retry.backoff;
    int64_t longest = b->max_ms + b->jitter_ms + g->o.wait_ms;
    bool retry_soon = w->failure_due_ms >= 0 && w->failure_due_ms <= longest;
    bool ladder_soon =
        w->ladder_due_ms >= 0 && g->o.wait_ms > 0 && w->ladder_due_ms <= g->o.wait_ms;
    if (!retry_soon && !ladder_soon)
        g->nothing_left = true;
}

static void take_claim(struct ingest *g, struct job *j) {
    g->claim_asked = false;
    if (j->verdict == V_NOT_FOUND) {
        consider_end(g, &j->work);
    } else if (j->verdict != V_OK) {
        ingest_fail(g, j->verdict == V_STOPPED ? INGEST_STOPPED : INGEST_FATAL, &j->err);
    } else {
        struct segrun *r = segrun_new(&j->claim, ingest_now_db(g), ingest_now(g));
        struct segrun **at = &g->open;
        while (*at && lane_of((*at)->purpose) <= lane_of(r->purpose))
            at = &(*at)->next;
        r->next = *at;
        *at = r;
        g->n_open++;
    }
}

static void take_turns(struct ingest *g, const struct job *j) {
    g->turns_asked = false;
    if (j->verdict != V_OK)
        return;
    g->next_turns = (struct turns){
        .start_us = ingest_now(g) * 1000 + j->turns_wait_us,
        .interval_us = (int64_t)(1e6 / g->o.rps),
        .n = j->n_turns,
    };
    g->have_next_turns = true;
}

void ingest_take_answers(struct ingest *g) {
    struct job *j;
    while ((j = mailbox_take(g->o.mailbox, 0))) {
        g->jobs_out--;
        if (j->kind == JOB_BATCH)
            take_ack(g, j);
        else if (j->kind == JOB_CLAIM)
            take_claim(g, j);
        else
            take_turns(g, j);
        keep_job(g, j);
    }
}

/* Ids that are ready to be started in a lane and those before it. */
static int64_t ids_ahead(const struct ingest *g, enum lane last) {
    int64_t n = 0;
    for (const struct segrun *r = g->open; r; r = r->next)
        if (!r->lost && !r->releasing && lane_of(r->purpose) <= last)
            n += segrun_left(r);
    return n;
}

#define MAX_OPEN 64

/* The last lane that is short of ids; LANE_REALTIME: none is. A lane that has enough must not hide
 * that something more urgent may have come. */
static enum lane short_lane(const struct ingest *g) {
    int64_t enough = 2 * (int64_t)concurrency_limit(&g->window);
    for (int lane = LANE_RESCAN; lane > LANE_REALTIME; lane--)
        if (ids_ahead(g, (enum lane)lane) < enough)
            return (enum lane)lane;
    return LANE_REALTIME;
}

static void ask_for_claim(struct ingest *g, int64_t now) {
    if (g->claim_asked || g->nothing_left || now < g->next_claim_mono || g->n_open >= MAX_OPEN)
        return;
    enum lane lane = short_lane(g);
    if (lane == LANE_REALTIME || (lane < LANE_RESCAN && !g->o.endless))
        return;
    struct job *j = new_job(g, JOB_CLAIM);
    j->last_lane = lane;
    g->claim_asked = true;
    send(g, j);
}

void ingest_ask_for_work(struct ingest *g) {
    if (g->end != INGEST_RUNNING)
        return;
    ask_for_claim(g, ingest_now(g));
    if (g->o.rps > 0 && !g->turns_asked && !g->have_next_turns) {
        struct job *j = new_job(g, JOB_TURNS);
        j->n_turns = turns_lease_size(g->o.rps);
        g->turns_asked = true;
        send(g, j);
    }
}

/* At a stop: every segment is given back as it stands. What is in flight counts as never started;
 * what waits in backoff has its row already. */
void ingest_release_all(struct ingest *g) {
    for (struct segrun *r = g->open; r; r = r->next)
        if (!r->releasing && !r->lost) {
            ingest_forget_run(g, r);
            send_batch(g, r, true);
        }
}
