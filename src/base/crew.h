/* The shell around workers: each is a step function that a thread of its own calls again and again.
 * The shell adds the thread, a heartbeat, restart after a delay that grows, and a budget of
 * restarts. A crew is a group of like workers under one supervisor; crew_tend() is called by the
 * supervising thread now and then and never blocks. */
#ifndef TAIN_BASE_CREW_H
#define TAIN_BASE_CREW_H

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"

#define CREW_MAX 64

/* One turn of a worker. V_OK: call again. V_STOPPED: it has finished, and that is well. Anything
 * else: it died of e. */
typedef enum verdict crew_step(void *worker, struct err *e);

struct crew_kind {
    const char *name; /* of the threads: "realtime" gives realtime-0, realtime-1, ... */
    int n;            /* at most CREW_MAX */
    /* A worker is made anew for each life, on its own thread. V_OK or the reason why not, which
     * counts as a death (but V_STOPPED as having finished), without an unmake. */
    enum verdict (*make)(void *arg, int index, void **ret_worker, struct err *e);
    crew_step *step;
    void (*unmake)(void *worker, bool died); /* gives back what it held; on its own thread */
    void *arg;
    bool restart;                   /* false: the first death is the end of the crew */
    int64_t delay_ms, max_delay_ms; /* before a restart; doubles with each death in a row, which
                                       ends with a life of a minute */
    int budget;                     /* restarts of one worker within budget_ms; more and that one
                                       stays dead */
    int64_t budget_ms;
    const struct clock *clock;
};

enum crew_state {
    CREW_WORKING,
    CREW_FINISHED, /* every worker has finished */
    CREW_DEAD, /* no worker is alive (those that wait for a restart are not), and not by V_STOPPED;
                  or, without restart, one has died. crew_error() says of what. Nothing is restarted
                  any more, and the answer stays */
};

struct crew;
/* V_INVALID: n or budget is out of range. A thread that cannot be started counts as a death. */
MUST_CHECK enum verdict crew_start(const struct crew_kind *k, struct crew **ret, struct err *e);
/* Joins what ended, restarts what is due. on_death may be NULL; it is told of each death once. */
enum crew_state crew_tend(struct crew *c,
                          void (*on_death)(void *arg, int index, const struct err *e), void *arg);
/* These three may be asked by any thread. */
int crew_alive(const struct crew *c);
int64_t crew_restarts(const struct crew *c);
/* Age of the oldest heartbeat among the living: a worker beats with each return of its step. */
int64_t crew_silence_ms(const struct crew *c);
/* Of the last death that crew_tend() has seen; for the supervising thread. */
const struct err *crew_error(const struct crew *c);
/* Waits for every thread to end; their steps must be on the way to V_STOPPED or death. A
 * crew_tend() after it still tells of deaths and how it ended, and restarts nothing. */
void crew_join(struct crew *c);
void crew_free(struct crew *c); /* after crew_join(); NULL is fine */

#endif
