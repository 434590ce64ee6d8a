/* The live thread's work: holds the event stream open, hands what it names to the realtime queue,
 * fills the gap after each reconnect before it consumes another event, and polls while the stream
 * is down. live_step() may be called without threads and with a manual clock. Its states and their
 * steps are in live_fsm. */
#ifndef TAIN_MIRROR_LIVE_H
#define TAIN_MIRROR_LIVE_H

#include "base/fsm.h"
#include "base/keyqueue.h"
#include "base/thread.h"
#include "mirror/jobs.h"
#include "mirror/tidings.h"

enum live_state {
    LIVE_ASKING,    /* reads maxitem before a connect */
    LIVE_OPENING,   /* the request for the stream is out */
    LIVE_MEASURING, /* the stream is open, unread; maxitem is read again */
    LIVE_FILLING, /* the ids in between go to the queue, or into segments that must be committed */
    LIVE_STREAMING, /* events are consumed */
    LIVE_DOWN,      /* waits before the next try, and polls */
    LIVE_N
};
extern const struct fsm live_fsm;

/* Flag of a ticket: the stream (or updates.json) named the id; its age is worth knowing. */
#define TICKET_NAMED 1u

struct live_options {
    const struct clock *clock;
    const char *upstream, *user_agent, *ca_file; /* the root without a slash at its end */
    int64_t connect_timeout_ms;
    int64_t stream_timeout_ms;      /* no byte for so long: the stream is dead */
    int64_t outage_rescan_after_ms; /* blind for longer: tidings.outages rises at the reconnect */
    int64_t poll_ms;                /* how often to poll while the stream is down */
    int64_t gap_queue_max;          /* at most so many ids of a gap go to the queue */
    int64_t segment_width;
    struct keyqueue *ids;
    struct queue *names; /* of profiles: malloc'ed C strings that the taker frees */
    struct calls *calls; /* for maxitem.json and updates.json */
    struct queue *to_writer;
    struct tidings *tidings;
    const struct stop_token *stop;
    uint64_t seed; /* of the jitter */
};

struct live;
MUST_CHECK enum verdict live_new(const struct live_options *o, struct live **ret, struct err *e);
void live_free(struct live *l); /* every call and job of it must be back, or its receiver ended */
/* Works until the deadline (clock_mono) at the latest. V_OK: go on. V_STOPPED: the token was raised
 * and everything it lent is back. What was named and has no room goes into the id queue beyond its
 * cap then, so that must still be open. V_FATAL: it cannot go on, and everything is back, too. */
MUST_CHECK enum verdict live_step(struct live *l, int64_t deadline, struct err *e);
enum live_state live_state(const struct live *l);

#endif
