/* One catch-up run: from options to an honest result. Starts the fetch and write threads, and
 * calls back while they work. Runs on the main thread of its process. */
#ifndef TAIN_MIRROR_CATCHUP_H
#define TAIN_MIRROR_CATCHUP_H

#include "base/thread.h"
#include "mirror/outcome.h"
#include "mirror/plan.h"

/* How a run stands. */
struct catchup_view {
    struct range window;
    int64_t maxitem;
    int64_t covered;     /* ids of the window with an outcome */
    const char *illness; /* class of the upstream's trouble, or NULL */
    int64_t db_down_ms;
    int64_t
        silence_ms; /* how long the fetch thread has not moved, unless by the database's fault */
    bool finishing; /* the last look at the archive: as long as it takes, there are no ticks */
};

struct catchup_options {
    const struct clock *clock;
    struct store *store; /* the write thread's while the run lasts */
    const char *upstream, *user_agent, *ca_file;
    int64_t start_id, end_id, limit; /* 0: not given */
    bool ignore_highest, replay;
    int64_t segment_width;
    int batch_size, concurrency;
    double rps;
    struct retry_policy retry;
    int64_t wait_ms, max_outage_ms, timeout_ms, lease_ms;
    int64_t feed_keep_ms, feed_keep_rows; /* of the change log; rows 0: nothing is dropped */
    size_t max_body;
    const struct stop_token *stop;
    /* About ten times a second, from the main thread. */
    void (*tick)(void *arg, const struct catchup_view *view);
    /* The main thread waits for the database, before or after its ticks; may be NULL. */
    void (*waiting)(void *arg, int64_t down_ms);
    void *tick_arg; /* of both */
};

enum catchup_end {
    CATCHUP_COMPLETE,   /* every id of the window has its final outcome */
    CATCHUP_UNRESOLVED, /* finished, but some ids wait or are dead letters */
    CATCHUP_NOTHING,    /* the window was empty */
    CATCHUP_STOPPED,
    CATCHUP_FAILED, /* see err */
};

struct catchup_result {
    enum catchup_end end;
    struct range window;
    int64_t maxitem;
    struct frontier frontier;
    int64_t waiting, dead; /* ids of the window */
    int64_t duration_ms;
};

/* V_OK: the run took place and ret says how it ended (for CATCHUP_FAILED the reason is in e).
 * Anything else: it could not begin. */
MUST_CHECK enum verdict catchup_run(const struct catchup_options *o, struct catchup_result *ret,
                                    struct err *e);

#endif
