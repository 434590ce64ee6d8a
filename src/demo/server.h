/* A stand-in for the upstream API over HTTP/1.1: items, users, lists, maxitem and updates (as JSON
 * and as event streams) of a corpus, with scripted faults, and /demo/... to look in and to steer.
 * demo_start() runs a few threads of its own and returns; demo_stop() ends them all. */
#ifndef TAIN_DEMO_SERVER_H
#define TAIN_DEMO_SERVER_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "demo/corpus.h"
#include "demo/mentions.h"
#include "demo/stream_faults.h"

struct demo;

struct demo_options {
    uint64_t seed;
    int64_t maxitem;
    double grow_per_second;           /* ids per second; 0: maxitem moves only when told to */
    int64_t first_time;               /* see struct corpus_options */
    const struct corpus_rates *rates; /* NULL: the default ones */
    const char *bind_host;            /* a numeric address; NULL: 127.0.0.1 */
    int port;                         /* 0: any free one */
    int threads;                      /* 0: four */
    int keep_alive_ms;                /* of event streams; 0: 30 seconds */
    const char *const *faults;        /* specs as in demo/faults.h */
    size_t n_faults;
    bool services; /* stands in for the services behind links, too; see demo/services.h */
    /* For "for=60s", "drop=500", growth and keep-alive, which all come within a few real
     * milliseconds of their time; NULL: the machine's. Delays and bursts are always real. */
    const struct clock *clock;
};

/* V_INVALID: an option is wrong. V_FATAL: the address cannot be bound. */
MUST_CHECK enum verdict demo_start(const struct demo_options *o, struct demo **ret, struct err *e);
int demo_port(const struct demo *d);
struct corpus *demo_corpus(struct demo *d); /* the server's own; valid until demo_stop() */
void demo_stop(struct demo *d);             /* NULL is fine; open connections are cut */

/* Steering, from any thread; the controls below /demo/ do the same. `quiet`: the streams and
 * updates.json say nothing of it. */

/* Moves maxitem and names the new ids (the newest 100 at most) and what they answer. */
void demo_set_maxitem(struct demo *d, int64_t maxitem, bool quiet);
/* Changes each item of lo..hi; those that are null are passed over unless `how` restores them. A
 * range is named by a burst. V_NOT_FOUND: beyond maxitem, or a single id that is null. V_LIMIT: see
 * corpus_mutate() and burst_add(). */
MUST_CHECK enum verdict demo_mutate(struct demo *d, int64_t lo, int64_t hi, enum corpus_change how,
                                    bool quiet, int64_t *ret_changed, struct err *e);
MUST_CHECK enum verdict demo_mutate_user(struct demo *d, const char *name, bool quiet,
                                         struct err *e);
/* Names ids that did not change. Returns at once; see burst_add(). */
MUST_CHECK enum verdict demo_mention(struct demo *d, const struct mentions *m, struct err *e);
/* Does it to every open stream of updates, now. */
void demo_stream_do(struct demo *d, enum stream_deed deed);
/* While down, streams are cut and every request below /v0 is answered by RST. */
void demo_set_down(struct demo *d, bool down);
/* V_INVALID as faults_new(); the old rules stay then. */
MUST_CHECK enum verdict demo_set_faults(struct demo *d, const char *const *specs, size_t n,
                                        struct err *e);

#endif
