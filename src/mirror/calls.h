/* A request of another thread to the fetch service, so that everything this process asks of the
 * upstream goes through one set of connections and one rate limit. The asker owns the call, lends
 * it with calls_send(), and gets it back through its own mailbox, answered. Every call comes back,
 * at a stop with `cancelled`. */
#ifndef TAIN_MIRROR_CALLS_H
#define TAIN_MIRROR_CALLS_H

#include "base/queue.h"
#include "base/str.h"
#include "net/classify.h"

#include <stdatomic.h>

#define CALL_PATH_MAX 480
#define CALL_DETAIL_MAX 160

/* In order of precedence. */
enum lane { LANE_REALTIME, LANE_GAP, LANE_CATCHUP, LANE_RESCAN, LANE_N };

/* Where answers arrive: a queue with room for everything its owner has out at once, and a way to
 * wake the owner if it sleeps elsewhere (may be NULL). */
struct mailbox {
    struct queue queue;
    void (*wake)(void *arg);
    void *wake_arg;
    atomic_int putting; /* threads that are just putting a letter in */
};

void mailbox_init(struct mailbox *m, size_t slots, void (*wake)(void *arg), void *wake_arg);
/* Every letter must be back. Whoever put the last one in may still be about to wake the owner: this
 * waits until it has. */
void mailbox_release(struct mailbox *m);

/* What is first in every letter that a mailbox may hold. */
enum letter_kind { LETTER_CALL, LETTER_JOB };

struct call {
    enum letter_kind letter; /* LETTER_CALL */
    struct mailbox *reply;
    void *owner; /* the asker's own */
    int64_t id;  /* the item asked for, so that it is never fetched twice at once; 0: not an item */
    char path[CALL_PATH_MAX]; /* behind the upstream's root: "/maxitem.json". Unused for an item */

    bool cancelled; /* never sent, or dropped at a stop: nothing below is set */
    enum net_class cls;
    long status;
    int64_t retry_after_ms; /* -1 when not said */
    int64_t started_db;     /* database milliseconds at which the fetch started */
    struct strbuf body;     /* the asker's, with its maximum: more is NET_TOO_LARGE */
    char detail[CALL_DETAIL_MAX];

    struct call *next; /* the fetch service's */
};

/* The door of the fetch service, as askers see it. */
struct calls {
    struct queue queue;
    void (*wake)(void *arg);
    void *wake_arg;
};
/* False: the service has ended; the call stays the asker's. */
bool calls_send(struct calls *c, struct call *call);
/* Several with one wake-up. How many went out; the rest stays the asker's. */
size_t calls_send_many(struct calls *c, struct call *const *calls, size_t n);

/* From the mailbox's other side. */
void mailbox_put(struct mailbox *m, void *letter);
void mailbox_put_many(struct mailbox *m, void *const *letters, size_t n);
/* Waits at most wait_ms. NULL: nothing came. */
void *mailbox_take(struct mailbox *m, int wait_ms);
/* Up to max; waits only for the first. */
size_t mailbox_take_many(struct mailbox *m, void **out, size_t max, int wait_ms);

#endif
