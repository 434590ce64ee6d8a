/* How a long-running command is: whether it lives, and whether it does what it is there for. Its
 * main loop posts what it knows with every turn; the HTTP thread makes /healthz and /readyz of it.
 * Atomics only: neither side waits for the other. */
#ifndef TAIN_WEB_VITALS_H
#define TAIN_WEB_VITALS_H

#include "base/clock.h"
#include "base/str.h"

/* What keeps a command from being ready. */
enum vital {
    VITAL_DATABASE,
    VITAL_FEED,
    VITAL_STREAM,
    VITAL_LAG,
    VITAL_WORKERS,
    VITAL_UPSTREAM,
    VITAL_ENRICH,
    VITAL_N
};
#define VITAL_BIT(v) (1u << (v))

#define VITALS_BEAT_MS 60000    /* a main loop that has not turned for longer is stuck */
#define VITALS_DATABASE_MS 5000 /* the database has not answered for longer */
#define VITALS_FEED_MS 15000    /* nor the change feed, whose statements may wait for a lock */
#define VITALS_STREAM_MS 300000 /* no frame of the event stream for longer */
#define VITALS_LAG 50000        /* more ids behind the upstream */

struct vitals_report {
    bool standby; /* ready to take over: only its database counts */
    int64_t db_down_ms, stream_age_ms, lag;
    int workers_alive;
    const char *illness; /* of the upstream, in static storage; NULL: it is well */
    /* enrich: for how long its thread has not moved; whose key is refused, in static storage */
    int64_t enrich_silence_ms;
    const char *refused;
    int64_t leave_ms; /* the next turn may take that much longer */
};

struct vitals {
    const struct clock *clock;
    unsigned watched;     /* VITAL_BITs */
    _Atomic int64_t beat; /* clock_mono() of the last turn */
    atomic_bool posted, standby;
    _Atomic int64_t db_down_ms, stream_age_ms, lag;
    _Atomic int64_t feed_down_ms, feed_silence_ms;
    atomic_int workers_alive;
    _Atomic(const char *) illness, refused;
    _Atomic int64_t enrich_silence_ms;
};

void vitals_init(struct vitals *v, const struct clock *clock, unsigned watched);
/* With every turn of the main loop. */
void vitals_post(struct vitals *v, const struct vitals_report *r);
/* Where there is a change feed, with every turn too: for how long its database has not answered,
 * and its thread has not moved. */
void vitals_post_feed(struct vitals *v, int64_t down_ms, int64_t silence_ms);

/* The answers to /healthz and /readyz, as text or as a JSON document, and what they come to. Before
 * the first post a command lives, and is not ready. Any thread. */
bool vitals_alive(const struct vitals *v, bool json, struct strbuf *out);
bool vitals_ready(const struct vitals *v, bool json, struct strbuf *out);

#endif
