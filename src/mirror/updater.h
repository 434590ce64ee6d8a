/* The updater: all loops at once under one stop token. Waits as a standby while another updater is
 * active on this database, then starts the fetch, write, live, plan and realtime threads,
 * supervises them and calls back while they work. Runs on the main thread of its process. */
#ifndef TAIN_MIRROR_UPDATER_H
#define TAIN_MIRROR_UPDATER_H

#include "base/thread.h"
#include "mirror/outcome.h"
#include "mirror/plan.h"

enum updater_role { UPDATER_STANDBY, UPDATER_ACTIVE };

/* How it stands. */
struct updater_view {
    enum updater_role role;
    const char *illness; /* class of the upstream's trouble, or NULL */
    int64_t db_down_ms;
    bool connected;
    int workers_alive, workers;
    int64_t covered, total; /* ids that were looked at, and all there are; 0 of 0 at first */
    /* How long a thread has not moved. Not the writer's, whose pace is the database's, and not of
     * those that wait for it. */
    int64_t silence_ms;
    bool stopping; /* the last call: what follows is the end */
};

struct updater_options {
    const struct clock *clock;
    struct store *store; /* the write thread's while it runs */
    const char *upstream, *user_agent, *ca_file;
    int64_t start_id; /* the floor of an empty archive; 0: the first id */
    double
        recent_days; /* the newest ids first, and these days are spoken of; 0: the oldest first */
    int64_t segment_width;
    int batch_size, concurrency;
    double rps;
    struct retry_policy retry;
    int64_t timeout_ms, lease_ms, updater_lease_ms;
    size_t max_body;
    int realtime_workers, realtime_attempts;
    size_t channel_capacity;
    int64_t gap_queue_max;
    int64_t feed_keep_ms, feed_keep_rows; /* of the change log; rows 0: nothing is dropped */
    double startup_rescan_days, rescan_window_days;
    int64_t rescan_interval_ms, persist_interval_ms, stream_timeout_ms, catchup_interval_ms,
        outage_rescan_after_ms, lists_interval_ms;
    struct stop_token *stop; /* also raised by the updater itself when it has to end */
    /* About ten times a second, from the main thread. */
    void (*tick)(void *arg, const struct updater_view *view);
    void *tick_arg;
    /* After each committed batch, from the write thread: there may be news. May be NULL. */
    void (*wrote)(void *arg);
    void *wrote_arg;
};

/* V_OK: stopped by the token, everything is written. Anything else: it had to end; e says why. */
MUST_CHECK enum verdict updater_run(const struct updater_options *o, struct err *e);

#endif
