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

/* With the lock held and room left. */
static void put(struct queue *q, void *item) {
    q->slots[(q->head + q->n) % q->cap] = item;
    q->n++;
    pthread_cond_signal(&q->not_empty);
}

bool queue_push(struct queue *q, void *item) {
    pthread_mutex_lock(&q->lock);
    while (q->n == q->cap && !q->closed)
        pthread_cond_wait(&q->not_full, &q->lock);
    bool ok = !q->closed;
    if (ok)
        put(q, item);
    pthread_mutex_unlock(&q->lock);
    return ok;
}

bool queue_try_push(struct queue *q, void *item) {
    pthread_mutex_lock(&q->lock);
    bool ok = !q->closed && q->n < q->cap;
    if (ok)
        put(q, item);
    pthread_mutex_unlock(&q->lock);
    return ok;
}

void *queue_pop(struct queue *q, int wait_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    void *item = NULL;
    pthread_mutex_lock(&q->lock);
    while (wait_ms > 0 && q->n == 0 && !q->closed)
        if (pthread_cond_timedwait(&q->not_empty, &q->lock, &until) != 0)
            break;
    if (q->n) {
        item = q->slots[q->head];
        q->head = (q->head + 1) % q->cap;
        q->n--;
        pthread_cond_signal(&q->not_full);
    }
    pthread_mutex_unlock(&q->lock);
    return item;
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
