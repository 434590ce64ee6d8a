/* The chores between a fetch service and a writer that the test plays by hand: calls are answered
 * one by one, jobs run against a real SQLite archive. One thread, a manual clock. */
#ifndef TAIN_TESTS_MIRROR_DESK_H
#define TAIN_TESTS_MIRROR_DESK_H

#include "archive.h"

#include "mirror/chores.h"
#include "mirror/metrics.h"

#define DESK_CALLS 64
#define LEASE 30000

struct desk {
    struct archive a;
    struct keyqueue *ids;
    struct queue names, to_writer;
    struct calls calls;
    struct tidings tidings;
    _Atomic int64_t token;
    struct stop_token stop;
    struct chores *c;
    struct err err;
    struct call *open[DESK_CALLS]; /* sent and not answered */
    int n_open;
};

/* Opens the archive and takes the updater's lease; the chores begin with desk_begin(). */
void desk_open(struct desk *d, size_t queue_cap);
void desk_begin(struct desk *d);
void desk_close(struct desk *d);

enum verdict desk_step(struct desk *d);
/* Runs what was sent to the writer; answers how many jobs there were. */
int desk_write(struct desk *d);
/* The next job is not run but answered like this. */
void desk_refuse(struct desk *d, enum verdict v);
/* Steps and writes until there is nothing left to write. */
void desk_settle(struct desk *d);
void desk_after(struct desk *d, int64_t ms); /* the clock moves, then it settles */
int64_t desk_now_db(const struct desk *d);

/* How many calls for this path are out. */
int desk_asked(struct desk *d, const char *path);
/* Answers such a call, which must be out; the body counts with NET_OK only. */
void desk_answer(struct desk *d, const char *path, enum net_class cls, const char *body);
/* Answers maxitem with this and settles. */
void desk_maxitem(struct desk *d, int64_t maxitem);
/* The fetch service ends: every call comes back. */
void desk_cancel_calls(struct desk *d);

/* Items lo .. hi, the last at `last_time` (unix seconds) and each a minute after the one before. */
void desk_items(struct desk *d, int64_t lo, int64_t hi, int64_t last_time);
/* A done mirror segment. */
void desk_scanned(struct desk *d, int64_t lo, int64_t hi);

#endif
