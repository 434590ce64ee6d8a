/* The enrichment of one process. Keys of rows come from the change feed, from the sweep and from
 * whoever has been told (engine_offer); each source has a ring of what it was told of, which drops
 * its oldest under flood and counts it: the sweep finds that row again; and one of what the sweep
 * found, which is the backlog and comes after it. A lane (one per provider) takes a turn
 * first, then picks and claims rows for it, calls, and writes what came of it, in batches. A lane
 * that is blocked blocks no other.
 *
 * engine_step() is driven by one thread, `enrich`, and by tests with a manual clock; the engine
 * owns its store and its HTTP client. engine_offer() and engine_wake() may be called by any thread.
 */
#ifndef TAIN_ENRICH_ENGINE_H
#define TAIN_ENRICH_ENGINE_H

#include "base/clock.h"
#include "base/thread.h"
#include "enrich/caller.h"
#include "enrich/plan.h"
#include "feed/hub.h"

#define ENGINE_RING 4096 /* keys per source */
#define ENGINE_SWEEP_MS 60000
#define ENGINE_GATHER_MS 20 /* a result waits for others, if any may come, at most so long */
#define ENGINE_BATCH 512    /* rows of a claim or a finalize */
#define ENGINE_BUSY_MAX 512 /* rows held at once */

struct engine_options {
    const struct enrich_plan *plan;    /* outlives it */
    const struct store_options *store; /* outlives it */
    const struct clock *clock;
    struct caller *caller; /* outlives it; see enrich/caller.h */
    struct feed_hub *hub;  /* what rows change; outlives it; NULL: by sweep alone */
    const char *holder;    /* host:pid:start, unique */
    size_t ring;           /* 0: ENGINE_RING */
};

struct engine;
MUST_CHECK enum verdict engine_new(const struct engine_options *o, struct engine **ret,
                                   struct err *e);
/* Does what is due and waits for answers, keys or the next thing that is due, not beyond
 * deadline_mono. V_RETRY is dealt with inside (store_recover); V_FATAL ends the process. */
MUST_CHECK enum verdict engine_step(struct engine *g, int64_t deadline_mono, struct err *e);
/* A row may need work: from the feed. False: the ring dropped its oldest for it. */
bool engine_offer(struct engine *g, size_t source, struct str key);
/* The feed tells every worker of a row, and it is in the share of another: it is left to that one,
 * and what it does not come to a scan finds. False: it is ours. `enrich` thread. */
bool engine_leave(struct engine *g, size_t source, struct str key);
void engine_wake(struct engine *g);
void engine_sweep_soon(struct engine *g); /* the feed has lost something; `enrich` thread */
/* For how long the database has not answered; 0: it does. Any thread. */
int64_t engine_down_ms(const struct engine *g);
/* A lane that is paused because its provider refused our key; NULL: none. Any thread; the name is
 * in static storage. */
const char *engine_refused(const struct engine *g);
/* Gives back what it holds, without spending an attempt, and its slots; also when a step has
 * failed. Then engine_free(). */
MUST_CHECK enum verdict engine_stop(struct engine *g, struct err *e);
void engine_free(struct engine *g); /* NULL is fine */

#endif
