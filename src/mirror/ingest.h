/* The ingest core and fetch service: everything that a process asks of the upstream goes through
 * here, over one set of connections and under one rate limit, in lanes of precedence: calls of
 * other threads first, then the ids of claimed segments (gap, mirror, replay and rescan). Of
 * segments it judges each answer, retries, and fills batches for the writer; a call is answered as
 * it is. An id is never in flight twice. One object, one thread (the fetch thread); all it shares
 * are bounded queues. ingest_step() may be called without threads and with a manual clock. */
#ifndef TAIN_MIRROR_INGEST_H
#define TAIN_MIRROR_INGEST_H

#include "base/keyqueue.h"
#include "base/thread.h"
#include "mirror/jobs.h"
#include "mirror/outcome.h"
#include "net/http.h"
#include "policy/ranges.h"

struct ingest_options {
    const struct clock *clock;
    const char *upstream;     /* without a slash at its end */
    struct http_client *http; /* owned by the ingest's thread from now on */
    struct range window;
    const _Atomic int64_t *maxitem; /* tells young ids from old ones */
    int64_t canary;  /* an id that the upstream has answered well, 0 = none known yet */
    int concurrency; /* the ceiling */
    int batch_size;
    double rps; /* 0: no cap */
    struct retry_policy retry;
    int64_t heartbeat_ms;  /* how often a held segment is renewed at least */
    int64_t wait_ms;       /* how long to wait for what is on a ladder */
    int64_t max_outage_ms; /* give up after so long without a good answer */
    struct queue *to_writer;
    struct mailbox *mailbox; /* answers of the writer; wakes the HTTP client */
    struct calls *calls;     /* NULL: nobody calls. Closed, and emptied, at the end */
    struct keyqueue *ids;    /* what stands above the comments of a gap goes there; may be NULL */
    bool endless;            /* when nothing is left to do, more will come */
    const _Atomic int64_t *db_offset_ms; /* database time minus clock_mono() */
    const struct stop_token *stop;
    uint64_t seed; /* of the jitter */
};

/* Why a run ended. */
enum ingest_end {
    INGEST_RUNNING,
    INGEST_FINISHED, /* nothing is left that is due */
    INGEST_STOPPED,  /* the stop token; leases are released */
    INGEST_OUTAGE,   /* the upstream was ill for longer than max_outage_ms */
    INGEST_FATAL,    /* the writer cannot go on; see ingest_error() */
};

struct ingest;
struct ingest *ingest_new(const struct ingest_options *o);
void ingest_free(struct ingest *g);
/* Works until the deadline (clock_mono) at the latest. */
enum ingest_end ingest_step(struct ingest *g, int64_t deadline);
const struct err *ingest_error(const struct ingest *g);
/* The upstream is ill: its class, else NULL. Any thread. */
const char *ingest_illness(const struct ingest *g);

#endif
