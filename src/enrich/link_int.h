/* The inside of the enrichment of links. Private to the room; all of it belongs to one thread.
 *
 * A job is a task that this process holds. It is begun (which says what its first call is, or
 * decides it without one), waits for a turn, is called for, and its answer is read and then either
 * decides it or names another call. What is decided is written, again after an outage. */
#ifndef TAIN_ENRICH_LINK_INT_H
#define TAIN_ENRICH_LINK_INT_H

#include "base/rng.h"
#include "enrich/link_engine.h"
#include "enrich/outage.h"
#include "enrich/turnstile.h"
#include "hn/article.h"
#include "net/guard.h"
#include "store/links_follow.h"

enum job_stage {
    JOB_UNUSED,
    JOB_TAKEN,    /* to be begun */
    JOB_READY,    /* waits for a turn */
    JOB_CALLING,  /* the provider, with a turn */
    JOB_VISITING, /* a page, without one */
    JOB_ANSWERED, /* either of them */
    JOB_DECIDED,
};

/* What is called for. */
enum job_step {
    STEP_NONE,
    STEP_TOKEN, /* of no task in particular */
    STEP_URL,
    STEP_SHARE,
    STEP_POST,
    STEP_ITEM,
    STEP_STORY,
    STEP_PAGE,
    STEP_SUMMARY,
};

struct link_lane_state;

struct job {
    struct arena arena;
    struct link_lane_state *lane;
    struct link_job task; /* its id is 0 for a call of the lane's own */
    enum job_stage stage;
    enum job_step step;
    int64_t taken_at, ready_at;
    int slot; /* -1: the lane has none */
    bool probe;
    /* The answer, and what was read from it. */
    struct heard heard;
    struct visit visit;
    int64_t elapsed_ms;
    bool is_read, is_told;
    struct told_why why;
    int nexts; /* calls that only led to another one */
    /* Reddit and HN. */
    struct discussion discussion;
    struct found_list list;
    struct found_article article;
    const struct link_discussion *local;
    size_t n_local;
    struct reddit_token token;
    bool renewed; /* a token was called old already */
    int64_t rest_ms;
    /* Summary. */
    struct article page;
    struct anthropic_answer answer;
    struct link_spend spend;
    int64_t reserved;
    void *own; /* whatever else a lane keeps of it, in its arena */
    /* Decided. */
    enum { JOB_SAVE, JOB_LAND, JOB_RELEASE, JOB_FORGET } how;
    struct link_result result;
    struct link_landing landing;
    struct link_release release;
};

/* What is particular to a lane: its provider. */
struct link_lane_kind {
    int64_t call_ms;
    int (*per_minute)(const struct link_engine *g);
    /* Says what is called for first, or decides. */
    enum verdict (*begin)(struct link_engine *g, struct job *j, struct err *e);
    /* The ask of j->step. V_INVALID, V_LIMIT: it cannot be asked for. */
    enum verdict (*ask)(struct link_engine *g, struct job *j, struct ask *ret, struct err *e);
    /* Reads the answer into the job: pure. */
    void (*read)(struct link_engine *g, struct job *j);
    /* It was TOLD_FOUND, NONE or NEXT (or SPENT): decides, or names the next call. */
    void (*found)(struct link_engine *g, struct job *j);
    /* Before and after a call, with the database; NULL: nothing. A job may be decided by them. */
    enum verdict (*before)(struct link_engine *g, struct job *j, struct err *e);
    enum verdict (*after)(struct link_engine *g, struct job *j, struct err *e);
    /* May a task be taken now before there is a turn? NULL: never. */
    bool (*ahead)(const struct link_engine *g, const struct link_lane_state *l);
    bool always_ahead; /* and never with one */
    /* Takes a task that the archive can answer, whatever the lane is up to. NULL: it knows none. */
    enum verdict (*take_known)(struct store *s, struct str holder, int64_t lease_ms,
                               struct arena *a, struct link_job *ret, struct err *e);
    /* Is something else called for before any task? NULL: never. */
    bool (*wants_token)(const struct link_engine *g);
    /* Does this lane work at all? NULL: it does. */
    bool (*closed)(const struct link_engine *g);
};

struct link_lane_state {
    const struct link_lane_kind *kind;
    enum link_lane lane;
    struct turnstile turnstile;
    struct job jobs[LINK_LANE_JOBS];
    size_t n_jobs;    /* that are used */
    bool due;         /* there is something to be taken, as far as is known */
    int64_t look_at;  /* else: when to look */
    int64_t known_at; /* when to look for what the archive can answer */
};

#define LINK_CHORES 10 /* of the upkeep */

/* Whether there is money for summaries. */
enum link_purse { PURSE_UNKNOWN, PURSE_ROOM, PURSE_SPENT };

struct link_engine {
    struct link_engine_options o;
    struct store *store;
    struct rng rng;
    struct arena scratch;
    struct outage outage;
    struct link_lane_state lanes[LINK_LANES];
    struct arena token_arena;
    struct str token; /* Reddit's; absent: none */
    int64_t token_until;
    bool token_called; /* for, and not answered */
    bool hn_complete;  /* the mirror has all of HN, as it said the last time */
    enum link_purse purse;
    int64_t purse_closed_until; /* the provider says that the money is spent */
    bool unskip_budget, unskip_key;
    int64_t upkeep_at[LINK_CHORES];
    int64_t backfill_after;
    bool rekeying; /* keys of the archive */
    int64_t count_at;
    atomic_int refused; /* a lane whose provider refuses us, and 1; 0: none */
};

static inline int64_t link_now(const struct link_engine *g) {
    return clock_mono(g->o.clock);
}

/* link_job.c: what becomes of a job. Texts must live in its arena or be static. */
void job_ready(struct link_engine *g, struct job *j, enum job_step step);
struct str job_url(struct job *j); /* of its link, whole; in its arena */
void job_visit(struct link_engine *g, struct job *j, struct str url);
void job_save(struct job *j, enum link_status status, struct str error);
void job_land(struct job *j, const struct found_article *a);
void job_release(struct job *j, bool spent, int64_t wait_ms, const struct told_why *why);
void job_forget(struct job *j); /* it is of no task */
/* The discussions that were found, as the store wants them. */
void job_found(struct job *j, enum link_site site, const struct found_list *list);
struct job *job_new(struct link_lane_state *l);
void job_free(struct job *j);
MUST_CHECK enum verdict jobs_judge(struct link_engine *g, struct err *e);
MUST_CHECK enum verdict jobs_write(struct link_engine *g, struct err *e);

/* link_lane.c */
extern const struct link_lane_kind *const link_kinds[LINK_LANES];
MUST_CHECK enum verdict link_lane_work(struct link_engine *g, struct link_lane_state *l,
                                       struct err *e);
int64_t link_lane_next(const struct link_engine *g, const struct link_lane_state *l);

/* The provider of each task, in a file of its own: link_reddit.c and so on. */
#define LINK_KIND_DECLARED(ID, name, ...) extern const struct link_lane_kind link_##name;
LINK_TASK_TABLE(LINK_KIND_DECLARED)
static inline const char *link_lane_provider(enum link_lane l) {
    return link_task_provider(link_lane_task(l), LINK_SITE_NONE);
}
/* The first step of a reverse lookup; decides when it is none. */
void reverse_begin(struct link_engine *g, struct job *j);
void reverse_found(struct link_engine *g, struct job *j);
/* Looks after the money. */
MUST_CHECK enum verdict purse_look(struct link_engine *g, struct err *e);
/* The call for which it was set aside was not made. */
MUST_CHECK enum verdict purse_return(struct link_engine *g, struct job *j, struct err *e);

/* link_upkeep.c: a small step of it. */
MUST_CHECK enum verdict upkeep_work(struct link_engine *g, struct err *e);
int64_t upkeep_next_at(const struct link_engine *g);

#endif
