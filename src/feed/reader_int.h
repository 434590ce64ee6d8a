/* The reader from inside: reader.c (what is due), bell.c (the doorbell), reader_thread.c (the
 * shell). All of it belongs to the reader's thread but what is atomic. */
#ifndef TAIN_FEED_READER_INT_H
#define TAIN_FEED_READER_INT_H

#include "feed/reader.h"

#include <pthread.h>

#define FEED_TROUBLE_MS 1000 /* until the next try when the database does not answer */

/* A LISTEN connection. Whether it hears can only be found out by ringing at oneself: it may have
 * been dropped without a word, or lead through a pooler that gives it to others. */
struct bell {
    struct store *store; /* NULL: there is none now */
    int64_t open_at;     /* when to try again */
    int64_t probe_at;    /* when to ring at oneself */
    int64_t probed_at;   /* rung and not heard since; -1: none is out */
    bool heard;          /* once at least, on this connection */
    int deaf;            /* times in a row that a new connection turned out to be deaf */
};

struct feed_reader {
    struct feed_options o;
    struct store *store;
    struct bell bell;
    struct arena arena;
    bool shared;   /* PostgreSQL; known once there is a store */
    bool standby;  /* it can neither listen nor number; as it said last */
    bool broken;   /* the store has to recover first */
    bool role;     /* it is ours to number every FEED_PUBLISH_MS */
    bool stands;   /* the hub has been told where it begins */
    bool numbered; /* once at least, or tried: before anyone is told of a head */
    struct feed_id at;
    int64_t came_at; /* when the last event was read */
    int64_t look_at, number_at, role_at, watch_at, prune_at, heal_at;
    int wake_fd;
    atomic_bool rung, stopping;
    _Atomic int64_t down_since; /* clock_mono(); -1: it answers */
    _Atomic int64_t beat;       /* clock_mono() of its last move */
    atomic_bool asks; /* and that was a question to the database, which has no answer yet */
    pthread_t thread;
};

/* Opens, probes, gives up: what is due. `store` is a working one of the same database, which rings.
 * *ret_new: a LISTEN stands that did not before, so everything behind the cursor has to be read.
 * V_CONFLICT: a standby. That it cannot be had just now is V_OK. */
MUST_CHECK enum verdict bell_tend(struct feed_reader *r, int64_t now, bool *ret_new, struct err *e);
void bell_close(struct bell *b);
/* Whether it can be relied on. */
bool bell_hears(const struct bell *b, int64_t now);
/* When it wants to be tended again. */
int64_t bell_due(const struct bell *b);

/* Sleeps until somebody rings, or wait_ms are over. Both bells are quiet then. */
void reader_wait(struct feed_reader *r, int wait_ms);

#endif
