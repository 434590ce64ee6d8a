/* The enrichment of links by one process: four tasks in three lanes (store/links_work.h). A lane
 * takes a turn first, then a task, calls its provider, and writes what came of it; a lane that is
 * blocked blocks no other. What costs no turn is done without one: HN answered by the mirror, the
 * page of an article. Between calls it does the upkeep of links, in small steps.
 *
 * link_engine_step() is driven by one thread, `links`, and by tests with a manual clock; the engine
 * owns its store. link_engine_wake() may be called by any thread. */
#ifndef TAIN_ENRICH_LINK_ENGINE_H
#define TAIN_ENRICH_LINK_ENGINE_H

#include "base/clock.h"
#include "enrich/anthropic.h"
#include "enrich/caller.h"
#include "enrich/hn_search.h"
#include "enrich/reddit.h"
#include "store/links_follow.h"
#include "store/links_work.h"

#define LINK_ATTEMPTS_MAX 5  /* then a task has failed */
#define LINK_LEASE_MS 180000 /* a task is held so long at most */
#define LINK_LANE_JOBS 64    /* held at once, per lane */
#define LINK_PREPARED_MAX 8  /* articles fetched, or being fetched, before their turn */
#define LINK_KEYED_MS 300000 /* so long a worker with a key may be away */
#define LINK_REDDIT_PER_MINUTE 30
#define LINK_REDDIT_ANONYMOUS_PER_MINUTE 10
#define LINK_HN_PER_MINUTE 30
#define LINK_ANTHROPIC_PER_MINUTE 50

/* What a summary may cost. Amounts are in millionths of the currency. */
struct link_budget {
    int64_t monthly;         /* 0: no limit of ours */
    int64_t per_million_in;  /* tokens that are read */
    int64_t per_million_out; /* tokens that are written */
};

struct link_engine_options {
    const struct store_options *store; /* outlives it */
    const struct clock *clock;
    struct caller *caller; /* outlives it; see enrich/caller.h */
    const char *holder;    /* host:pid:start, unique */
    /* Views; what they show outlives the engine. */
    struct reddit_conf reddit;
    struct hn_search_conf hn;
    struct anthropic_conf anthropic; /* without a key summaries are skipped */
    struct link_budget budget;
    enum link_follow stories; /* that become links */
};

struct link_engine;
MUST_CHECK enum verdict link_engine_new(const struct link_engine_options *o,
                                        struct link_engine **ret, struct err *e);
/* Does what is due and waits for answers or the next thing that is due, not beyond deadline_mono.
 * V_RETRY is dealt with inside; V_FATAL ends the process. */
MUST_CHECK enum verdict link_engine_step(struct link_engine *g, int64_t deadline_mono,
                                         struct err *e);
/* There may be something new to do. */
void link_engine_wake(struct link_engine *g);
/* For how long the database has not answered; 0: it does. Any thread. */
int64_t link_engine_down_ms(const struct link_engine *g);
/* A lane that is paused because its provider refused us; NULL: none. Any thread; static. */
const char *link_engine_refused(const struct link_engine *g);
/* Gives back what it holds, without spending an attempt; also when a step has failed. Then
 * link_engine_free(). */
MUST_CHECK enum verdict link_engine_stop(struct link_engine *g, struct err *e);
void link_engine_free(struct link_engine *g); /* NULL is fine */

#endif
