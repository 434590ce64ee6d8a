/* The insides of the live thread's work: live.c has the states, live_frames.c what the stream says
 * and where it goes, live_gap.c the ids in between, live_poll.c the calls to the upstream. Private
 * to the room; one owner, one thread. */
#ifndef TAIN_MIRROR_LIVE_INT_H
#define TAIN_MIRROR_LIVE_INT_H

#include "base/arena.h"
#include "base/rng.h"
#include "hn/event_stream.h"
#include "hn/updates.h"
#include "mirror/live.h"
#include "net/stream.h"

#define LIVE_TICK_MS 10                  /* how soon a queue that was full is tried again */
#define LIVE_EVENT_MAX ((size_t)1 << 20) /* bytes of a frame, and of updates.json */
#define LIVE_LONGEST_REQUEST_MS 60000    /* of what a Retry-After may ask for */

/* A call that is lent to the fetch service, at most once at a time. */
struct errand {
    struct call call;
    bool out;
};

/* What was named and has not gone into the queues yet. While there is any the stream is not read,
 * so that this holds at most what one step and one poll may bring: LIVE_EVENT_MAX bytes each. */
struct named {
    int64_t *ids;
    char **names;
    size_t n_ids, ids_gone, cap_ids;
    size_t n_names, names_gone, cap_names;
};

struct gap {
    int64_t next, hi; /* next > hi: everything is in */
    bool by_segments;
};

struct live {
    struct live_options o;
    char url[1024]; /* of the stream */
    enum live_state state;
    struct stream_client *stream;
    struct event_stream parser;
    struct arena arena; /* of one frame */
    struct rng rng;
    struct mailbox mailbox;
    struct errand ask, poll_maxitem, poll_updates;
    struct job job;
    bool job_out, stopping;
    enum verdict ending; /* V_OK, or what it will end with once everything is back */
    struct err why;

    /* Every id up to the mark was there when the stream was last consumed: what came since is the
     * gap. 0: not known. */
    int64_t mark;
    int64_t known; /* maxitem at the frame before this one: the mark at the next */
    struct gap gap;
    struct named named;
    bool stuck, full; /* in this turn, and since when it was counted */

    const char *over; /* why the stream cannot go on, though it has not ended; or NULL */
    bool opened;      /* once, at least */
    bool held;        /* in the turn before: our own full queue keeps it from reading */
    int losses;       /* in a row, without a put or patch in between */
    int measures;     /* failed ones of this connection */

    /* All by clock_mono(). */
    int64_t ask_at, opened_at, retry_at, next_poll, last_poll;
    int64_t byte_at; /* of the last byte, and of the last turn; for the watchdog */
    int64_t turn_at;
    int64_t seen_at; /* until when nothing can have been missed: the last frame, or the start */
};

int64_t live_now(const struct live *l);

/* live.c */
MUST_CHECK enum verdict live_go(struct live *l, enum live_state to, struct err *e);
/* Whatever there is of a connection is given up; waits before the next. retry_after_ms is what the
 * upstream asked for, or -1. */
MUST_CHECK enum verdict live_lose(struct live *l, const char *why, int64_t retry_after_ms,
                                  struct err *e);
/* maxitem was read before a connect: connects. */
MUST_CHECK enum verdict live_connect(struct live *l, struct err *e);
/* The gap is filled. */
MUST_CHECK enum verdict live_consume(struct live *l, struct err *e);

/* live_frames.c */
void live_on_bytes(void *live, struct str bytes);
void live_on_event(void *live, const struct stream_event *event);
void live_name(struct live *l, const struct updates *u);
/* Puts what was named into the queues, as far as there is room; `extra` as in keyqueue_offer(). */
void live_flush(struct live *l, bool extra);
bool live_has_named(const struct live *l);
void live_named_release(struct live *l);

/* live_gap.c */
MUST_CHECK enum verdict live_measured(struct live *l, int64_t maxitem, struct err *e);
MUST_CHECK enum verdict live_fill(struct live *l, struct err *e);
MUST_CHECK enum verdict live_planned(struct live *l, struct err *e); /* the job is back */

/* live_poll.c */
void live_errands_init(struct live *l);
void live_errands_release(struct live *l);
/* Sends the question for maxitem of LIVE_ASKING and LIVE_MEASURING when it is due. */
MUST_CHECK enum verdict live_ask(struct live *l, struct err *e);
void live_poll(struct live *l);
/* When the next poll is due; NO_DEADLINE while none is to be. */
int64_t live_poll_due(const struct live *l);
MUST_CHECK enum verdict live_answered(struct live *l, struct call *call, struct err *e);
bool live_errands_out(const struct live *l);

#endif
