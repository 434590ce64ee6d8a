/* The feed of one process: a thread that numbers what is committed (where the database lets it),
 * reads what is numbered, and puts it into the hub. It sleeps on a LISTEN connection of its own, a
 * ring from this process, or the clock; the doorbell saves time, the clock makes sure. It also
 * prunes and heals. A database that is away is waited for; a doorbell that has died is noticed by
 * ringing at oneself. */
#ifndef TAIN_FEED_READER_H
#define TAIN_FEED_READER_H

#include "base/clock.h"
#include "feed/hub.h"

#define FEED_PUBLISH_MS 25   /* how often the publisher looks */
#define FEED_POLL_MS 50      /* SQLite, and whoever has no doorbell; when it is quiet */
#define FEED_BUSY_POLL_MS 25 /* the same where something came within FEED_BUSY_MS */
#define FEED_BUSY_MS 1000
#define FEED_STANDBY_MS 250      /* on a replica, which can neither listen nor number */
#define FEED_BACKSTOP_MS 1000    /* with a doorbell: look all the same */
#define FEED_PROBE_MS 10000      /* how often it rings at itself */
#define FEED_PROBE_LATE_MS 10000 /* not heard for so long: the doorbell is dead */
#define FEED_PRUNE_MS 10000

struct feed_options {
    const struct store_options *store; /* outlives it; two or three connections are opened */
    struct feed_hub *hub;              /* outlives it */
    const struct clock *clock;
    int64_t keep_ms, keep_rows; /* retention; keep_rows 0: this process does not prune */
    bool read_only;             /* a replica: never numbers, prunes or heals */
};

struct feed_reader;

MUST_CHECK enum verdict feed_start(const struct feed_options *o, struct feed_reader **ret,
                                   struct err *e);
/* A writer of this process has committed: look now. Any thread. */
void feed_ring(struct feed_reader *r);
void feed_stop(struct feed_reader *r); /* NULL is fine */
/* For how long the database has not answered, with an error or at all; 0: it does. How long its
 * thread has not moved, unless because it waits for the database. Any thread. */
int64_t feed_down_ms(const struct feed_reader *r);
int64_t feed_silence_ms(const struct feed_reader *r);

/* For tests: the same without a thread. A step does what is due and answers how long there is
 * nothing to do. It fails as the store fails, and may be called again. */
struct feed_reader *feed_reader_new(const struct feed_options *o);
MUST_CHECK enum verdict feed_reader_step(struct feed_reader *r, int *ret_wait_ms, struct err *e);
void feed_reader_free(struct feed_reader *r); /* NULL is fine */

#endif
