/* What the files of the ingest core share. Private to the room. */
#ifndef TAIN_MIRROR_INGEST_INT_H
#define TAIN_MIRROR_INGEST_INT_H

#include "mirror/idset.h"
#include "mirror/ingest.h"
#include "mirror/segrun.h"
#include "policy/concurrency.h"
#include "policy/health.h"
#include "policy/rate.h"

#define STRAGGLER_MS 5000
#define FLUSH_AGE_MS 1000
#define MAX_BATCH_BYTES ((size_t)4 * 1024 * 1024)
#define MAX_UNACKED 6      /* batches at the writer; more and no new request is started */
#define LONG_WAIT_MS 1000  /* a segment whose last ids wait longer is given back meanwhile */
#define MAX_PAUSE_MS 60000 /* the longest pause of the lane that an answer can ask for */
#define WITNESS_MS 5000    /* two ids that ask for one within this time are believed */
#define STOP_GRACE_MS 2000 /* what is in flight at a stop may still arrive */
#define STOP_LIMIT_MS 4500 /* and then everything is released */
#define TWIN_MS 20 /* an id that is in flight for another lane is looked at again after it */

/* One id on its way. Owned by the HTTP client while in flight, by the heap while it waits. */
struct fetch {
    struct segrun *run; /* NULL: a call, or else a probe of an ill upstream */
    struct call *call;
    int64_t id;
    enum exception_state state; /* of its row, or EXC_PENDING while it has none */
    int attempts, rung;
    int64_t first_mono;        /* when it was first started in this run */
    int64_t failed_mono;       /* when it first failed in this run, 0 = not yet */
    int64_t started_db;        /* the stamp its item will carry */
    bool on_trial;             /* it failed while a probe was to tell whose fault that is */
    bool doomed;               /* its last attempt failed; a probe decides whether it counts */
    enum fail_class cls;       /* of that attempt */
    char why[80];              /* the same in words, as far as they fit */
    int64_t due_mono;          /* while it waits */
    struct fetch *prev, *next; /* list of those in flight, oldest first; or the free list */
};

struct ingest;

struct fetch_heap {
    struct fetch **at;
    size_t n, cap;
};
void heap_push(struct fetch_heap *h, struct fetch *f);
struct fetch *heap_pop(struct fetch_heap *h);
struct fetch *heap_top(const struct fetch_heap *h); /* NULL when empty */
/* Takes out those for which pick says so and hands each to `sink`. */
void heap_take_if(struct fetch_heap *h, bool (*pick)(const struct fetch *f, const void *arg),
                  const void *arg, void (*sink)(struct ingest *g, struct fetch *f),
                  struct ingest *g);

struct ingest {
    struct ingest_options o;
    struct rng rng;
    struct err err;
    enum ingest_end end; /* what the run is heading for, once it is decided */

    struct segrun *open; /* segments we hold, oldest claim first */
    int n_open;
    struct fetch_heap waiting;
    struct fetch *oldest, *newest; /* in flight */
    struct fetch *free_fetches;
    int n_flying;
    struct idset flying_ids; /* without probes */

    struct call *first_call, *last_call; /* waiting for their turn */
    struct call *answered;               /* of this step: they go back together at its end */

    struct concurrency window;
    struct health health;
    int64_t last_ok_id;    /* the canary of a probe */
    int64_t first_maxitem; /* as it was when this began: what is above is news, not history */
    int64_t last_ok_mono;  /* when anything was last answered well */
    bool probing;
    int64_t not_before_mono;            /* Retry-After */
    int64_t patience_id, patience_mono; /* who asked for a pause last, and when */
    _Atomic(const char *) illness;

    struct turns turns, next_turns;
    bool turns_asked, have_next_turns;

    bool claim_asked, nothing_left;
    int64_t next_claim_mono;
    int unacked;
    int jobs_out; /* of every kind */
    struct job *idle_jobs[16];
    int n_idle_jobs;
    struct batch *idle_batches[MAX_UNACKED + 2];
    int n_idle_batches;

    int64_t stop_mono; /* when the stop was noticed, 0 = not yet */
};

int64_t ingest_now(const struct ingest *g);    /* mono */
int64_t ingest_now_db(const struct ingest *g); /* database time */

/* The lane of a segment. */
enum lane lane_of(enum purpose purpose);

/* ingest_calls.c: requests of other threads */
void ingest_take_calls(struct ingest *g);
/* The first call that may start now, taken out of its queue; NULL: none. While the upstream is ill
 * only what is not about an item may. */
struct call *ingest_next_call(struct ingest *g);
bool ingest_has_calls(const struct ingest *g);
void ingest_answer_call(struct ingest *g, struct fetch *f, const struct http_result *r);
/* To their askers, who are woken once each. */
void ingest_deliver_answers(struct ingest *g);
/* Gives back those that wait, and with `flying` those in flight too. */
void ingest_cancel_calls(struct ingest *g, bool flying);
/* No more calls: at the end of the run. */
void ingest_close_calls(struct ingest *g);

/* ingest_start.c: decides what is requested next */
void ingest_start_fetches(struct ingest *g);
int64_t ingest_next_start(const struct ingest *g); /* mono ms at which it wants to run again */

/* ingest_judge.c: takes answers */
void ingest_done(void *ctx, const struct http_result *r);
/* Counts the answer, and lets it move the window of requests in flight. */
void ingest_note_load(struct ingest *g, const struct fetch *f, const struct http_result *r,
                      const struct judgement *j);
void ingest_note_health(struct ingest *g, const struct fetch *f, const struct judgement *j);
void ingest_except(struct ingest *g, struct fetch *f, enum exception_state state,
                   enum fail_class cls, const char *detail, int64_t due_mono);

/* ingest_send.c: batches to the writer and back */
struct batch *ingest_batch(struct ingest *g, struct segrun *r);
void ingest_flush(struct ingest *g);
void ingest_take_answers(struct ingest *g);
void ingest_ask_for_work(struct ingest *g);
void ingest_release_all(struct ingest *g);

/* ingest.c */
struct fetch *ingest_new_fetch(struct ingest *g);
void ingest_drop_fetch(struct ingest *g, struct fetch *f);
void ingest_fly(struct ingest *g, struct fetch *f);  /* into the in-flight list */
void ingest_land(struct ingest *g, struct fetch *f); /* out of it */
void ingest_fail(struct ingest *g, enum ingest_end end, const struct err *e);
/* Forgets every fetch of a segment: in flight and waiting. */
void ingest_forget_run(struct ingest *g, struct segrun *r);

#endif
