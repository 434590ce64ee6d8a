#include "mirror/realtime_int.h"
#include "mirror/refresh.h"

#include <stdlib.h>

void realtime_loads_init(struct realtime *w) {
    size_t room = (size_t)w->o.batch_size + (size_t)w->o.window;
    for (size_t i = 0; i < ARRAY_LEN(w->loads); i++) {
        w->loads[i].batch = batch_new();
        w->loads[i].entries = xcalloc(room, sizeof *w->loads[i].entries);
    }
    w->gathering = &w->loads[0];
}

static void empty(struct load *l) {
    l->n = 0;
    batch_reset(l->batch);
}

static void give_back_all(struct realtime *w, struct load *l) {
    for (size_t i = 0; i < l->n; i++)
        realtime_give_back(w, &l->entries[i].ticket);
    empty(l);
}

void realtime_loads_release(struct realtime *w) {
    for (size_t i = 0; i < ARRAY_LEN(w->loads); i++) {
        give_back_all(w, &w->loads[i]);
        batch_free(w->loads[i].batch);
        free(w->loads[i].entries);
    }
}

static bool is_full(const struct realtime *w, const struct load *l) {
    return l->n >= (size_t)w->o.batch_size || arena_used(&l->batch->arena) >= REALTIME_BATCH_BYTES;
}

bool realtime_is_stuck(const struct realtime *w) {
    return w->unacked == REALTIME_UNACKED && is_full(w, w->gathering);
}

static void gather_elsewhere(struct realtime *w) {
    for (size_t i = 0; i < ARRAY_LEN(w->loads); i++)
        if (!w->loads[i].at_writer)
            w->gathering = &w->loads[i];
}

static void send(struct realtime *w, struct load *l) {
    l->batch->lease_token = atomic_load(w->o.token);
    l->job = (struct job){.letter = LETTER_JOB,
                          .kind = JOB_BATCH,
                          .reply = &w->mailbox,
                          .owner = l,
                          .batch = l->batch};
    if (!queue_push(w->o.to_writer, &l->job)) {
        w->ended = "the writer";
        give_back_all(w, l);
        return;
    }
    l->at_writer = true;
    w->unacked++;
    gather_elsewhere(w);
}

/* With few calls out, an outcome has nobody to wait for. */
static bool has_waited(const struct realtime *w, const struct load *l) {
    int many = realtime_many(w);
    return w->n_out < many || l->n >= (size_t)many ||
           clock_mono(w->o.clock) >= l->since + REALTIME_GATHER_MS;
}

int realtime_until_flush(const struct realtime *w, int wait_ms) {
    const struct load *l = w->gathering;
    if (l->n == 0 || w->unacked > 0)
        return wait_ms;
    return clock_wait_ms(w->o.clock, l->since + REALTIME_GATHER_MS, wait_ms);
}

/* What comes while a batch is being written goes together. */
void realtime_flush(struct realtime *w) {
    struct load *l = w->gathering;
    if (l->n == 0)
        empty(l); /* answers without an outcome have left their texts in the arena */
    else if (w->unacked == 0 ? has_waited(w, l) : w->unacked < REALTIME_UNACKED && is_full(w, l))
        send(w, l);
}

/* Only now the queue may forget these ids: a mention that came meanwhile leads to another fetch. */
static void finish(struct realtime *w, struct load *l) {
    const struct apply_stats *s = &l->job.stats;
    metric_add(&m_live_updated, 0, s->inserted + s->changed + s->unchanged);
    metric_add(&m_live_changed, 0, s->inserted + s->changed);
    refresh_above(w->o.ids, l->batch, 0);
    for (size_t i = 0; i < l->n; i++) {
        const struct entry *x = &l->entries[i];
        metric_add(&m_live_outcomes, (int)x->outcome, 1);
        if (x->age_s >= 0)
            metric_observe(&m_update_age, x->age_s);
        keyqueue_done(w->o.ids, x->ticket.key);
    }
    empty(l);
}

void realtime_written(struct realtime *w, struct load *l) {
    w->unacked--;
    l->at_writer = false;
    if (l->job.verdict == V_OK) {
        finish(w, l);
        return;
    }
    give_back_all(w, l);
    if (l->job.verdict == V_STOPPED) {
        w->ended = "the writer";
    } else if (w->fate == V_OK) {
        w->fate = l->job.verdict == V_CONFLICT ? V_CONFLICT : V_FATAL;
        w->err = l->job.err;
    }
}
