/* Event streams out: who listens to what, and which bytes go to whom next. Of each topic the hub
 * keeps its whole state as one frame and the latest changes as small ones, shared by all clients
 * and counted. A client that keeps up gets every change; one that fell behind what is kept gets the
 * whole state again, so that memory is bounded however slow a peer may be. Knows nothing of HTTP: a
 * connection sleeps when there is nothing to read, and is woken by a function. Any thread; one
 * lock. */
#ifndef TAIN_WEB_STREAM_H
#define TAIN_WEB_STREAM_H

#include "base/attr.h"
#include "base/str.h"

enum stream_topic { TOPIC_UPDATES, TOPIC_MAXITEM, TOPIC_N };

#define STREAM_KEPT_FRAMES 256          /* changes of a topic that are kept, */
#define STREAM_KEPT_BYTES (1024 * 1024) /* and their bytes */
#define STREAM_FRAME_MAX (1024 * 1024)  /* of one frame */
#define STREAM_KEEP_ALIVE "event: keep-alive\ndata: null\n\n"

struct stream_hub;
struct stream_client;

/* What the hub does with a connection; called under its lock, on any thread. */
struct stream_door {
    void (*wake)(void *connection); /* there is something to read */
    bool (*gone)(void *connection); /* the peer hung up */
};

struct stream_hub *stream_hub_new(const struct stream_door *door, size_t max_clients);
/* Every client reads the end of its stream from here on; none sleeps again, none may join. */
void stream_hub_stop(struct stream_hub *h);
void stream_hub_free(struct stream_hub *h); /* all clients have left; NULL is fine */

/* A new state of the topic. `whole` says all of it; `change` says how it comes out of the one
 * before, absent: only `whole` can say that. Both are complete frames, and copied. */
void stream_publish(struct stream_hub *h, enum stream_topic topic, struct str whole,
                    struct str change);
/* A keep-alive for everyone, behind what is under way. */
void stream_beat(struct stream_hub *h);
/* Wakes the sleeping clients whose peer hung up: their streams end. */
void stream_sweep(struct stream_hub *h);

/* A client of a topic, whose first frame will be the whole state as it is then. NULL: there are
 * max_clients already, or the hub has stopped. */
struct stream_client *stream_join(struct stream_hub *h, enum stream_topic topic, void *connection);
void stream_leave(struct stream_client *c);

#define STREAM_END (-1)
/* Up to `max` of the bytes that come next; 0: there are none, and the connection may sleep until
 * it is woken; STREAM_END: the stream is over. */
ptrdiff_t stream_read(struct stream_client *c, char *to, size_t max);

struct stream_counts {
    size_t clients[TOPIC_N];
    uint64_t joined, refused; /* since the beginning */
    uint64_t frames;          /* handed out, keep-alives too */
    uint64_t caught_up;       /* times a client had fallen behind and got the whole state */
};
void stream_count(struct stream_hub *h, struct stream_counts *ret);

#endif
