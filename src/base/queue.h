/* A bounded queue of pointers between threads. A full queue blocks its producer (or says so to
 * queue_try_push); it never drops. Closing wakes everyone: pushes answer false, pops drain first.
 */
#ifndef TAIN_BASE_QUEUE_H
#define TAIN_BASE_QUEUE_H

#include "base/attr.h"

#include <pthread.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    void **slots;
    size_t cap, head, n;
    bool closed;
};

void queue_init(struct queue *q, size_t cap);
void queue_release(struct queue *q);          /* must be empty, or its contents owned elsewhere */
bool queue_push(struct queue *q, void *item); /* false: closed, the item stays the caller's */
bool queue_try_push(struct queue *q, void *item); /* false: full or closed */
/* Waits at most wait_ms (real milliseconds). NULL: nothing came, or closed and drained. */
void *queue_pop(struct queue *q, int wait_ms);
/* Several at once, under one lock and with one wake-up. How many went in: all of them, unless it
 * was closed meanwhile. */
size_t queue_push_many(struct queue *q, void *const *items, size_t n);
/* Up to max; waits at most wait_ms for the first of them. */
size_t queue_pop_many(struct queue *q, void **out, size_t max, int wait_ms);
void queue_close(struct queue *q);
bool queue_is_closed(struct queue *q);
size_t queue_depth(struct queue *q);

#endif
