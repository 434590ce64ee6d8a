/* The ingest core, the writer and a stand-in upstream in one thread: the test calls the steps. The
 * clock is manual and shared by all of them; only sockets live in real time. */
#ifndef TAIN_TESTS_MIRROR_RIG_H
#define TAIN_TESTS_MIRROR_RIG_H

#include "archive.h"

#include "demo/server.h"
#include "mirror/ingest.h"
#include "mirror/writer.h"

struct rig_options {
    struct range window;
    int64_t maxitem; /* of the upstream; 0: the end of the window. Older ids are not young */
    int64_t width, max_outage_ms, wait_ms;
    int batch_size, concurrency, max_attempts;
    double rps;
    bool endless;
    const char *faults[4];
};

struct rig {
    struct archive a;
    struct rig_options o;
    struct demo *demo;
    char upstream[60];
    struct http_client *http;
    struct queue to_writer;
    struct mailbox mailbox;
    struct calls calls;
    _Atomic int64_t maxitem;
    _Atomic int64_t db_offset_ms;
    struct stop_token stop;
    struct ingest *ingest;
    struct writer *writer;
    int64_t step_ms; /* how far the clock moves with each round */
};

void rig_open(struct rig *r, const struct rig_options *o);
void rig_close(struct rig *r);
/* Another run over the same archive and upstream. */
void rig_again(struct rig *r);
void rig_set_faults(struct rig *r, const char *spec); /* NULL: none */

/* One round: fetch, write, and the clock moves. */
enum ingest_end rig_round(struct rig *r);
/* Rounds until the run ends, or fails the test when that takes too long. */
enum ingest_end rig_run(struct rig *r);
/* Rounds until `sql` answers `wanted`. */
void rig_until(struct rig *r, const char *wanted, const char *sql);

unsigned rig_asked(struct rig *r, int64_t id); /* how often; once per id and test */
/* Fails unless every id up to each segment's cursor has an item or an exception. */
void rig_check_cursors(struct rig *r);

#endif
