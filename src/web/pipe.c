#include "web/pipe.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct pipe *pipe_new(size_t max, bool gzip) {
    struct pipe *p = xcalloc(1, sizeof *p);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->taken, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&p->lock, NULL);
    strbuf_init(&p->kept, max);
    p->gzip = gzip;
    p->patience_ms = PIPE_PATIENCE_MS;
    return p;
}

void pipe_free(struct pipe *p) {
    if (!p)
        return;
    pthread_cond_destroy(&p->taken);
    pthread_mutex_destroy(&p->lock);
    strbuf_release(&p->kept);
    free(p);
}

/* What was sent makes room before the buffer grows. */
static void compact(struct pipe *p) {
    if (p->head == 0)
        return;
    memmove(p->kept.p, p->kept.p + p->head, p->kept.n - p->head);
    p->kept.n -= p->head;
    p->head = 0;
}

bool pipe_put(struct pipe *p, struct str bytes) {
    pthread_mutex_lock(&p->lock);
    if (p->head >= p->kept.n / 2)
        compact(p);
    strbuf_add_str(&p->kept, bytes);
    if (p->kept.overflow && p->end == PIPE_OPEN)
        p->end = PIPE_CUT;
    bool open = p->end == PIPE_OPEN;
    pthread_mutex_unlock(&p->lock);
    return open;
}

void pipe_pause(struct pipe *p) {
    pthread_mutex_lock(&p->lock);
    while (p->end == PIPE_OPEN && p->kept.n - p->head > PIPE_AHEAD &&
           p->waited_ms < p->patience_ms) {
        int64_t begun = clock_mono(&clock_machine), until = begun + p->patience_ms - p->waited_ms;
        struct timespec at = {until / 1000, until % 1000 * 1000000};
        pthread_cond_timedwait(&p->taken, &p->lock, &at);
        p->waited_ms += clock_mono(&clock_machine) - begun;
    }
    pthread_mutex_unlock(&p->lock);
}

void pipe_finish(struct pipe *p, enum pipe_end end) {
    pthread_mutex_lock(&p->lock);
    if (p->end == PIPE_OPEN || end == PIPE_GONE)
        p->end = end;
    pthread_cond_signal(&p->taken);
    pthread_mutex_unlock(&p->lock);
}

size_t pipe_take(struct pipe *p, char *out, size_t max, enum pipe_end *ret_end) {
    pthread_mutex_lock(&p->lock);
    size_t n = p->kept.n - p->head;
    if (n > max)
        n = max;
    if (n)
        memcpy(out, p->kept.p + p->head, n);
    p->head += n;
    p->bytes += (int64_t)n;
    if (p->head == p->kept.n)
        p->head = p->kept.n = 0;
    *ret_end = p->end == PIPE_ENDED && p->kept.n ? PIPE_OPEN : p->end;
    if (n && p->kept.n - p->head <= PIPE_AHEAD)
        pthread_cond_signal(&p->taken);
    pthread_mutex_unlock(&p->lock);
    return n;
}
