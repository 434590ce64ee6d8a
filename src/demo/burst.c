#include "demo/burst.h"

#include "base/clock.h"
#include "base/thread.h"
#include "demo/frames.h"

#include <stdlib.h>

#define MENTIONS_MAX INT64_C(1000000000)
#define SPREAD_MAX_MS 3600000

/* False: the server stops. */
static bool run_one(struct hub *h, const struct mentions *m) {
    int64_t total = m->n * m->repeat, began = clock_mono(&clock_machine);
    int64_t *ids = xmalloc((size_t)m->per_frame * sizeof *ids);
    bool go = true;
    for (int64_t at = 0; go && at < total;) {
        int64_t due = began + (int64_t)((double)m->spread_ms * (double)at / (double)total);
        size_t n = 0;
        for (; n < (size_t)m->per_frame && at < total; n++, at++)
            ids[n] = m->first + at % m->n;
        go = hub_pause(h, due) && hub_mention(h, ids, n, BURST_WAIT_MS);
    }
    free(ids);
    return go;
}

static void *run(void *arg) {
    struct burst *b = arg;
    struct mentions *m;
    bool go = true;
    while (go && !queue_is_closed(&b->jobs)) {
        m = queue_pop(&b->jobs, 60000);
        if (!m)
            continue;
        go = run_one(b->hub, m);
        atomic_fetch_sub(&b->stats->bursts, 1);
        free(m);
    }
    return NULL;
}

enum verdict burst_start(struct burst *b, struct hub *h, struct stats *s, struct err *e) {
    b->hub = h;
    b->stats = s;
    queue_init(&b->jobs, BURST_QUEUE);
    enum verdict v = thread_start(&b->thread, "demo-burst", run, b, e);
    if (v != V_OK)
        queue_release(&b->jobs);
    return v;
}

void burst_stop(struct burst *b) {
    queue_close(&b->jobs);
    pthread_join(b->thread, NULL);
}

void burst_release(struct burst *b) {
    struct mentions *m;
    while ((m = queue_pop(&b->jobs, 0)))
        free(m);
    queue_release(&b->jobs);
}

static bool sensible(const struct mentions *m) {
    return m->first >= 1 && m->first <= CORPUS_MAX_ID && m->n >= 1 &&
           m->n <= CORPUS_MAX_ID - m->first + 1 && m->repeat >= 1 &&
           m->repeat <= MENTIONS_MAX / m->n && m->per_frame >= 1 && m->per_frame <= FRAME_IDS &&
           m->spread_ms >= 0 && m->spread_ms <= SPREAD_MAX_MS;
}

enum verdict burst_add(struct burst *b, const struct mentions *m, struct err *e) {
    struct mentions *job = xmalloc(sizeof *job);
    *job = *m;
    job->repeat = m->repeat ? m->repeat : 1;
    job->per_frame = m->per_frame ? m->per_frame : MENTIONS_PER_FRAME;
    enum verdict v = V_OK;
    if (!sensible(job)) {
        v = err_set(e, V_INVALID, "demo", 0,
                    "ids are 1 to %lld, mentions at most %lld, a frame holds %d",
                    (long long)CORPUS_MAX_ID, (long long)MENTIONS_MAX, FRAME_IDS);
    } else {
        stats_count(&b->stats->bursts);
        if (queue_try_push(&b->jobs, job))
            return V_OK;
        atomic_fetch_sub(&b->stats->bursts, 1);
        v = err_set(e, V_LIMIT, "demo", 0, "%d bursts wait already", BURST_QUEUE);
    }
    free(job);
    return v;
}
