/* The write thread's work: every write of this process. Takes jobs from the other threads, does
 * them with retry, puts them into their mailboxes; in between it plans, merges and keeps the
 * frontier. Owns its store. Planning runs here and not on a thread of its own: each of its steps is
 * a write. */
#ifndef TAIN_MIRROR_WRITER_H
#define TAIN_MIRROR_WRITER_H

#include "base/thread.h"
#include "mirror/jobs.h"
#include "mirror/plan.h"

struct writer_options {
    const struct clock *clock;
    struct store *store;
    struct plan plan;
    const char *provider; /* whose rate is shared */
    double rps;
    const _Atomic int64_t *maxitem;
    bool follow;                          /* the window ends with maxitem, wherever that is */
    double recent_days;                   /* see mirror/recent.h */
    double index_share;                   /* see mirror/indexer.h */
    int64_t feed_keep_ms, feed_keep_rows; /* see mirror/logkeeper.h */
    int64_t max_outage_ms;                /* of the database */
    struct queue *in;
    _Atomic int64_t *db_offset_ms;
    const struct stop_token *stop;
    /* While writer_prepare() waits for the database; may be NULL. */
    void (*waiting)(void *arg, int64_t down_ms);
    void *waiting_arg;
    /* After each committed batch, on the write thread; may be NULL. */
    void (*wrote)(void *arg);
    void *wrote_arg;
};

struct writer;
struct writer *writer_new(const struct writer_options *o);
void writer_free(struct writer *w);
/* The first plan and clock sample; before any job. */
MUST_CHECK enum verdict writer_prepare(struct writer *w, struct err *e);
/* Handles one job, or what is periodic. False: the queue is closed and empty. */
bool writer_step(struct writer *w, int wait_ms);
/* Ids of the window that have an outcome; any thread. */
int64_t writer_covered(const struct writer *w);
/* The database is not answering: since how many milliseconds, 0 when it is well; any thread. */
int64_t writer_db_down_ms(const struct writer *w);

#endif
