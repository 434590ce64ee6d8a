/* What the files of a realtime worker share. Private to the room. Everything here belongs to the
 * worker's own thread, except calls while the fetch service has them and jobs while the writer has.
 */
#ifndef TAIN_MIRROR_REALTIME_INT_H
#define TAIN_MIRROR_REALTIME_INT_H

#include "base/rng.h"
#include "mirror/metrics.h"
#include "mirror/realtime.h"

#define REALTIME_GATHER_MS 20 /* at most so long an outcome waits for others */
#define REALTIME_UNACKED 2    /* batches at the writer; more and outcomes gather */
#define REALTIME_BATCH_BYTES ((size_t)1024 * 1024) /* a batch is full with so many, too */

enum slot_state {
    SLOT_FREE,
    SLOT_WAITS, /* for its first try or another one */
    SLOT_OUT,   /* its call is with the fetch service */
};

/* An id that this worker has taken, until its outcome is in a batch. */
struct slot {
    struct call call;
    struct key_ticket ticket;
    enum slot_state state;
    int tries;         /* failed ones, of this round */
    int64_t due;       /* clock_mono(), while it waits */
    struct slot *next; /* of the free ones */
};

/* The outcome of an id, which the queue hears of when the batch is written. */
struct entry {
    struct key_ticket ticket;
    enum live_outcome outcome;
    int64_t age_s; /* of its item when it was named, -1: none */
};

/* A batch, the job that carries it, and the ids whose outcomes are in it. */
struct load {
    struct job job;
    struct batch *batch;
    struct entry *entries; /* room for batch_size + window */
    size_t n;
    int64_t since; /* clock_mono() of the first of them */
    bool at_writer;
};

struct realtime {
    struct realtime_options o;
    struct rng rng;
    struct mailbox mailbox;
    struct slot *slots, *free_slots;
    struct key_ticket *taken; /* room for one take of the queue */
    struct call **sending;    /* room for all of them */
    int n_out, n_waits;
    struct load loads[REALTIME_UNACKED + 1];
    struct load *gathering;
    int unacked;
    const char *ended; /* what this worker cannot do without is over; NULL: all is well */
    enum verdict fate; /* of the worker, once it is decided; err says why */
    struct err err;
};

/* realtime.c */
int64_t realtime_now_db(const struct realtime *w);
void realtime_free_slot(struct realtime *w, struct slot *s);
void realtime_give_back(struct realtime *w, const struct key_ticket *t);

/* realtime_judge.c: what an answer means. The slot waits for another try or is free afterwards, and
 * then its outcome is in the batch that gathers. */
void realtime_judge(struct realtime *w, struct slot *s);

/* realtime_send.c: batches to the writer and back */
void realtime_loads_init(struct realtime *w);
void realtime_loads_release(struct realtime *w);
/* So many are worth a turn of their own when more are on their way. */
static inline int realtime_many(const struct realtime *w) {
    return w->o.window / 4 + 1;
}
/* When the gathering batch has to go, at most wait_ms from now. */
int realtime_until_flush(const struct realtime *w, int wait_ms);
/* The gathering batch is full, and the writer has enough. */
bool realtime_is_stuck(const struct realtime *w);
void realtime_flush(struct realtime *w);
void realtime_written(struct realtime *w, struct load *l);

#endif
