#include "base/queue.h"

#include <stdlib.h>
#include <time.h>

void queue_init(struct queue *q, size_t cap) {
    *q = (struct queue){.cap = cap, .slots = xcalloc(cap, sizeof(void *))};
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->not_empty, &attr);
    pthread_cond_init(&q->not_full, &attr);
    pthread_condattr_destroy(&attr);
}

void queue_release(struct queue *q) {
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    free(q->slots);
    *q = (struct queue){0};
}

/* A thread that is woken wants the lock: whoever wakes it has let go of it before. */
static void wake(pthread_cond_t *waiters, size_t n) {
    if (n == 1)
        pthread_cond_signal(waiters);
    else if (n > 1)
        pthread_cond_broadcast(waiters);
}

/* With the lock held and room left. */
static void put(struct queue *q, void *item) {
    q->slots[(q->head + q->n) % q->cap] = item;
    q->n++;
}

size_t queue_push_many(struct queue *q, void *const *items, size_t n) {
    size_t gone = 0, told = 0;
    pthread_mutex_lock(&q->lock);
    while (gone < n && !q->closed) {
        while (gone < n && q->n < q->cap)
            put(q, items[gone++]);
        if (gone == n)
            break;
        wake(&q->not_empty, gone - told); /* someone has to make room */
        told = gone;
        pthread_cond_wait(&q->not_full, &q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    wake(&q->not_empty, gone - told);
    return gone;
}

bool queue_push(struct queue *q, void *item) {
    return queue_push_many(q, &item, 1) == 1;
}

bool queue_try_push(struct queue *q, void *item) {
    pthread_mutex_lock(&q->lock);
    bool ok = !q->closed && q->n < q->cap;
    if (ok)
        put(q, item);
    pthread_mutex_unlock(&q->lock);
    wake(&q->not_empty, ok);
    return ok;
}

static struct timespec in_ms(int wait_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    return until;
}

/* With the lock held. */
static void wait_for_one(struct queue *q, int wait_ms) {
    if (wait_ms <= 0 || q->n || q->closed)
        return;
    struct timespec until = in_ms(wait_ms);
    while (q->n == 0 && !q->closed)
        if (pthread_cond_timedwait(&q->not_empty, &q->lock, &until) != 0)
            return;
}

size_t queue_pop_many(struct queue *q, void **out, size_t max, int wait_ms) {
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    wait_for_one(q, wait_ms);
    for (; n < max && q->n; n++) {
        out[n] = q->slots[q->head];
        q->head = (q->head + 1) % q->cap;
        q->n--;
    }
    pthread_mutex_unlock(&q->lock);
    wake(&q->not_full, n);
    return n;
}

void *queue_pop(struct queue *q, int wait_ms) {
    void *item = NULL;
    return queue_pop_many(q, &item, 1, wait_ms) ? item : NULL;
}

void queue_close(struct queue *q) {
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->not_empty);
    pthread_cond_broadcast(&q->not_full);
    pthread_mutex_unlock(&q->lock);
}

size_t queue_depth(struct queue *q) {
    pthread_mutex_lock(&q->lock);
    size_t n = q->n;
    pthread_mutex_unlock(&q->lock);
    return n;
}

bool queue_is_closed(struct queue *q) {
    pthread_mutex_lock(&q->lock);
    bool closed = q->closed;
    pthread_mutex_unlock(&q->lock);
    return closed;
}
