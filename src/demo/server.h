/* A stand-in for the upstream API over HTTP/1.1: items, users, lists, maxitem and updates (as JSON
 * and as event streams) of a corpus, with scripted faults, and /demo/... to look in and to steer.
 * demo_start() runs a few threads of its own and returns; demo_stop() ends them all. */
#ifndef TAIN_DEMO_SERVER_H
#define TAIN_DEMO_SERVER_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "demo/corpus.h"

struct demo;

struct demo_options {
    uint64_t seed;
    int64_t maxitem;
    double grow_per_second;           /* ids per second; 0: maxitem moves only when told to */
    int64_t first_time;               /* see struct corpus_options */
    const struct corpus_rates *rates; /* NULL: the default ones */
    const char *bind_host;            /* a numeric address; NULL: 127.0.0.1 */
    int port;                         /* 0: any free one */
    int threads;                      /* 0: two */
    int keep_alive_ms;                /* of event streams; 0: 30 seconds */
    const char *const *faults;        /* specs as in demo/faults.h */
    size_t n_faults;
    const struct clock *clock; /* for "for=60s" and growth; NULL: the machine's */
};

/* V_INVALID: an option is wrong. V_FATAL: the address cannot be bound. */
MUST_CHECK enum verdict demo_start(const struct demo_options *o, struct demo **ret, struct err *e);
int demo_port(const struct demo *d);
struct corpus *demo_corpus(struct demo *d); /* the server's own; valid until demo_stop() */
void demo_stop(struct demo *d);             /* NULL is fine; open connections are cut */

#endif
