/* A whole updater in one thread: fetch, write, live, plan and realtime workers over a SQLite
 * archive and a stand-in upstream. The test calls the rounds; the clock is manual and shared by
 * all, so that hours pass in no time. Only sockets live in real time. */
#ifndef TAIN_TESTS_MIRROR_FLEET_H
#define TAIN_TESTS_MIRROR_FLEET_H

#include "archive.h"

#include "base/keyqueue.h"
#include "demo/server.h"
#include "mirror/chores.h"
#include "mirror/ingest.h"
#include "mirror/live.h"
#include "mirror/realtime.h"
#include "mirror/writer.h"

#define FLEET_WORKERS 2

struct fleet_options {
    int64_t maxitem;
    double rescan_days, replay_days; /* 0: 3 */
    size_t channel;                  /* 0: 4096 */
    int64_t gap_queue_max;           /* 0: 1000 */
    double recent_days;              /* 0: the oldest ids first */
    const char *faults[4];
};

struct fleet {
    struct archive a;
    struct fleet_options o;
    struct demo *demo;
    char upstream[60];
    struct http_client *http;
    struct queue to_writer, names;
    struct mailbox mailbox;
    struct calls calls;
    struct keyqueue *ids;
    struct tidings tidings;
    _Atomic int64_t token;
    struct stop_token stop;
    struct ingest *ingest;
    struct writer *writer;
    struct live *live;
    struct chores *chores;
    struct realtime *workers[FLEET_WORKERS];
    int64_t step_ms; /* how far the clock moves with each round */
};

void fleet_open(struct fleet *f, const struct fleet_options *o);
void fleet_close(struct fleet *f);
/* An updater that was killed: everything in memory is gone, and another one starts. */
void fleet_kill_and_start(struct fleet *f);

void fleet_round(struct fleet *f);
/* So much time passes, in rounds of step_ms. */
void fleet_pass(struct fleet *f, int64_t ms, int64_t step_ms);
/* Rounds until `sql` answers `wanted`. */
void fleet_until(struct fleet *f, const char *wanted, const char *sql);
/* Rounds until the stream is followed, or is not. */
void fleet_until_connected(struct fleet *f, bool connected);
/* Rounds until every id has the upstream's truth; says how long that took by the clock. */
void fleet_until_true(struct fleet *f, const char *what);

#endif
