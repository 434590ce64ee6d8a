#include "demo/waker.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdlib.h>
#include <time.h>

static void swap(struct waker_entry *a, struct waker_entry *b) {
    struct waker_entry t = *a;
    *a = *b;
    *b = t;
}

static void heap_push(struct waker *w, struct waker_entry entry) {
    if (w->n == w->cap) {
        w->cap = w->cap ? w->cap * 2 : 64;
        w->heap = xrealloc(w->heap, w->cap * sizeof *w->heap);
    }
    size_t i = w->n++;
    w->heap[i] = entry;
    for (; i > 0 && w->heap[(i - 1) / 2].due_ms > w->heap[i].due_ms; i = (i - 1) / 2)
        swap(&w->heap[(i - 1) / 2], &w->heap[i]);
}

static struct waker_entry heap_pop(struct waker *w) {
    struct waker_entry top = w->heap[0];
    w->heap[0] = w->heap[--w->n];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1;
        for (size_t k = left; k < left + 2 && k < w->n; k++)
            if (w->heap[k].due_ms < w->heap[least].due_ms)
                least = k;
        if (least == i)
            return top;
        swap(&w->heap[least], &w->heap[i]);
        i = least;
    }
}

static void wait_until(struct waker *w, int64_t due_ms) {
    struct timespec at = {due_ms / 1000, due_ms % 1000 * 1000000};
    pthread_cond_timedwait(&w->changed, &w->lock, &at);
}

static void *run(void *arg) {
    struct waker *w = arg;
    int64_t next_tick = clock_mono(&clock_machine) + w->tick_ms;
    pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        int64_t now = clock_mono(&clock_machine);
        if (w->n && w->heap[0].due_ms <= now) {
            MHD_resume_connection(heap_pop(w).connection);
        } else if (next_tick <= now) {
            next_tick = now + w->tick_ms;
            pthread_mutex_unlock(&w->lock); /* the tick may take other locks */
            w->tick(w->arg);
            pthread_mutex_lock(&w->lock);
        } else {
            wait_until(w, w->n && w->heap[0].due_ms < next_tick ? w->heap[0].due_ms : next_tick);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

enum verdict waker_start(struct waker *w, int tick_ms, void (*tick)(void *arg), void *arg,
                         struct err *e) {
    *w = (struct waker){.tick_ms = tick_ms, .tick = tick, .arg = arg};
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* what clock_mono() counts */
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);
    return thread_start(&w->thread, "demo-waker", run, w, e);
}

bool waker_suspend(struct waker *w, struct MHD_Connection *connection, int delay_ms) {
    pthread_mutex_lock(&w->lock);
    bool ok = !w->stopping;
    if (ok) {
        MHD_suspend_connection(connection); /* before the thread can possibly resume it */
        int64_t due = clock_mono(&clock_machine) + delay_ms;
        heap_push(w, (struct waker_entry){due, connection});
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return ok;
}

void waker_stop(struct waker *w) {
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    while (w->n)
        MHD_resume_connection(heap_pop(w).connection);
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
}

void waker_release(struct waker *w) {
    free(w->heap);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}
