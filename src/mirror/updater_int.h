/* What the files of the updater share. Private to the room. */
#ifndef TAIN_MIRROR_UPDATER_INT_H
#define TAIN_MIRROR_UPDATER_INT_H

#include "base/crew.h"
#include "base/keyqueue.h"
#include "mirror/ingest.h"
#include "mirror/patience.h"
#include "mirror/tidings.h"
#include "mirror/updater.h"
#include "mirror/writer.h"

/* Single threads, in the order in which they start; the realtime workers are a crew beside them. */
enum post { POST_WRITE, POST_FETCH, POST_LIVE, POST_PLAN, POST_N };

struct updater {
    const struct updater_options *o;
    struct patience patience; /* while the main thread has the store */
    _Atomic int64_t token;    /* of the lease */
    struct http_client *http;
    struct queue to_writer, names;
    struct mailbox mailbox; /* the fetch thread's */
    struct calls calls;
    struct keyqueue *ids;
    struct tidings tidings;
    struct ingest *ingest;
    struct writer *writer;
    struct crew *posts[POST_N], *realtime;
    int64_t active_mono; /* since when it is not a standby */
    int64_t floor;       /* where the archive begins */
    bool failed;
    struct err why; /* of the first failure */
};

/* updater_threads.c: who works for it */
MUST_CHECK enum verdict updater_start_threads(struct updater *u, struct err *e);
/* Looks after them; false: one has ended that must not, and u->why says which. */
bool updater_tend(struct updater *u);
/* See struct updater_view. */
int64_t updater_silence_ms(const struct updater *u);
/* After the stop token: waits for all of them, the writer last. */
void updater_join_threads(struct updater *u);

/* updater_lease.c: who is active */
/* Waits until this process holds the updater's lease. V_STOPPED: it was told to stop meanwhile. */
MUST_CHECK enum verdict updater_wait_for_lease(struct updater *u, struct err *e);
void updater_release_lease(struct updater *u);

#endif
