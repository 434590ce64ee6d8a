/* A bounded, coalescing queue of 64-bit keys between threads: a key that waits is not queued twice,
 * and a key that is named again while a taker works on it comes back afterwards, at the earliest
 * rest_ms after it was last taken. Nothing is dropped: a full queue says so, and its producer keeps
 * what it has. Every key that was taken must be finished with keyqueue_done() or given back with
 * keyqueue_return(). Any thread may call any of these. */
#ifndef TAIN_BASE_KEYQUEUE_H
#define TAIN_BASE_KEYQUEUE_H

#include "base/attr.h"
#include "base/clock.h"

struct keyqueue;

struct keyqueue_options {
    const struct clock *clock; /* measures rests; waits of takers are real milliseconds */
    size_t cap;                /* keys that may wait (ready or resting), without those taken */
    int64_t rest_ms;           /* least time between two takes of one key */
};

/* What is known of a key that waits. When it is named again the lower level and the earlier
 * `since` stay, and flags are united. */
struct key_ticket {
    int64_t key;
    uint32_t level; /* the caller's: how often it was tried before, or the like */
    uint32_t flags; /* the caller's */
    int64_t since;  /* clock_mono() of the offer; filled by the queue */
};

enum key_offer {
    KEY_ADDED,
    KEY_JOINED, /* it waits already, or is being worked on and will come again */
    KEY_FULL,   /* not taken in; counted */
    KEY_CLOSED,
};

struct keyqueue *keyqueue_new(const struct keyqueue_options *o);
void keyqueue_free(struct keyqueue *q); /* NULL is fine */

/* Never blocks. With `extra` the queue may grow to twice its cap: for what a taker itself adds,
 * which could otherwise wait for itself. */
enum key_offer keyqueue_offer(struct keyqueue *q, struct key_ticket t, bool extra);
/* Waits until there is room, at most wait_ms. False: still full, or closed. */
bool keyqueue_wait_room(struct keyqueue *q, int wait_ms);

/* Takes up to max keys in the order in which they became ready; waits at most wait_ms for the
 * first. 0: nothing is ready. A closed queue gives nothing out. */
size_t keyqueue_take(struct keyqueue *q, struct key_ticket *out, size_t max, int wait_ms);
/* The taker has finished with it. If it was named meanwhile it waits again. */
void keyqueue_done(struct keyqueue *q, int64_t key);
/* The taker could not finish: the ticket is ready again at once, without a rest and whatever the
 * cap says; joined with what was said of the key meanwhile. Also after the close. */
void keyqueue_return(struct keyqueue *q, const struct key_ticket *t);

/* No more offers and takes; wakes everyone. */
void keyqueue_close(struct keyqueue *q);
/* After the close: takes out what waits, what rests, and what was named again while it was taken,
 * so that it can be written down. Call until it answers 0. */
size_t keyqueue_drain(struct keyqueue *q, struct key_ticket *out, size_t max);

struct keyqueue_stats {
    size_t waiting; /* ready and resting */
    size_t taken;
    int64_t added, joined, refused; /* since the start; refused: KEY_FULL */
    int64_t oldest;                 /* `since` of the longest-waiting key, -1 when none waits */
};
struct keyqueue_stats keyqueue_stats(struct keyqueue *q);

#endif
