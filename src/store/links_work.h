/* The workers' part of links: which task of which link is next in a lane, the proof that it is
 * ours (a token in `claims`, source "links:TASK", key the id), what came of it, and the upkeep that
 * some process does now and then. The status of a task that is held stays 'pending'; so the claim
 * decides, and is looked at first by everything that writes. Verbs are one transaction each and
 * bear being repeated after V_RETRY. */
#ifndef TAIN_STORE_LINKS_WORK_H
#define TAIN_STORE_LINKS_WORK_H

#include "store/claims.h"
#include "store/links.h"

#define LINK_WAITS_MS (15 * 60 * 1000) /* nobody waits longer for a page */
#define LINK_RECENT_MS (24 * 3600 * 1000)
#define LINK_OLDEST_EVERY 8 /* so many turns of a lane are one for the oldest of all */

struct link_job {
    enum link_task task;
    int64_t id;
    int64_t token; /* the proof */
    int attempts;  /* with this one; from 1 again when the task had been done */
    struct str url, url_key, title;
    struct str known;    /* what is in the task's column of links already; absent: nothing */
    enum link_site site; /* of a reverse lookup */
    bool rescan;         /* it was looked up before */
    bool waiting;        /* someone looks at its page now */
};
/* Picks and claims. The order: someone waiting, asked for by someone, of the last 24 hours, the
 * rest; the oldest first, submitters in turn. Where nobody waits, each LINK_OLDEST_EVERY-th turn is
 * for the oldest of all. V_NOT_FOUND: there is nothing to do now. */
MUST_CHECK enum verdict store_link_take(struct store *s, enum link_lane lane, struct str holder,
                                        int64_t lease_ms, struct arena *a, struct link_job *ret,
                                        struct err *e);

/* Would store_link_take() find something now? Claims nothing, and may be wrong a moment later. */
MUST_CHECK enum verdict store_link_due(struct store *s, enum link_lane lane, bool *ret,
                                       struct err *e);

struct link_result {
    int64_t id, token;
    enum link_task task;     /* a reverse lookup that found something: store_link_land() */
    enum link_status status; /* any but LINK_NONE and LINK_PENDING */
    struct str error;        /* cut at LINK_ERROR_MAX; absent: none */
    const struct link_discussion *discussions;
    size_t n_discussions;
    /* Written once: what is there stays. Absent: nothing. */
    struct str title, description;
    struct str value; /* for the task's own column of links */
};
/* Results and status. A reverse lookup without an article (self-post, Ask HN) is LINK_NOT_FOUND:
 * the link becomes a 'discussion-ref', and what else is pending of it is skipped. V_CONFLICT: it is
 * not ours any more; nothing was written. */
MUST_CHECK enum verdict store_link_save(struct store *s, const struct link_result *r,
                                        struct err *e);

struct link_landing {
    int64_t id, token;                 /* of the discussion's link */
    struct str article_url;            /* as the site gives it */
    struct str article_title;          /* absent: not known */
    struct link_discussion discussion; /* the thread itself: it becomes one of the article */
};
/* A reverse lookup found the article. It is found or made by its key, with tasks of its own that
 * someone waits for; the discussion's link becomes a 'discussion-ref' of it and its other pending
 * tasks are skipped. An article that is the discussion itself, or leads back to it, is none:
 * LINK_NOT_FOUND, *ret_article 0. V_CONFLICT: not ours any more. V_INVALID: the article's URL is
 * none; nothing was written. */
MUST_CHECK enum verdict store_link_land(struct store *s, const struct link_landing *l,
                                        int64_t *ret_article, struct err *e);

struct link_release {
    int64_t id, token;
    enum link_task task;
    bool spent;      /* false: this attempt does not count */
    int64_t wait_ms; /* not before then */
    struct str error_class, error;
};
/* Not done; to be taken again when the wait is over. V_CONFLICT: it is not ours any more. */
MUST_CHECK enum verdict store_link_release(struct store *s, const struct link_release *r,
                                           struct err *e);
/* Frees tasks whose lease ended SWEEP_GRACE_MS ago. */
MUST_CHECK enum verdict store_link_sweep(struct store *s, size_t max, size_t *ret_n, struct err *e);

/* The stories of the archive with this URL, most comments first, as discussions. *ret_complete: the
 * archive has all of HN, so that there are no others. */
MUST_CHECK enum verdict store_link_hn_local(struct store *s, struct arena *a, struct str url_key,
                                            const struct link_discussion **ret, size_t *ret_n,
                                            bool *ret_complete, struct err *e);

/* --- why a task is skipped: what its error says --- */
#define LINK_WHY_BUDGET "the monthly budget is spent"
#define LINK_WHY_NO_KEY "no key is configured"
#define LINK_WHY_DISCUSSION "it is a discussion"

/* Pending tasks that nobody holds are skipped for that reason; those that were are pending again.
 * At most max at a time; *ret_n. */
MUST_CHECK enum verdict store_link_skip(struct store *s, enum link_task t, const char *why,
                                        size_t max, size_t *ret_n, struct err *e);
MUST_CHECK enum verdict store_link_unskip(struct store *s, enum link_task t, const char *why,
                                          size_t max, size_t *ret_n, struct err *e);

/* A worker that has a key for this provider is there. Those without one leave its tasks alone as
 * long as that is so: *ret_ms is how long ago it was last told; DB_NULL: never. */
MUST_CHECK enum verdict store_link_keyed(struct store *s, struct str provider, struct err *e);
MUST_CHECK enum verdict store_link_keyed_ms(struct store *s, struct str provider, int64_t *ret_ms,
                                            struct err *e);

/* --- what a provider may cost in a month (UTC, by the database's time) --- */
struct link_spend {
    int64_t spent;            /* of this month, in millionths; reserves included */
    int64_t month, renews_at; /* when this one began, when the next will; unix milliseconds */
};
MUST_CHECK enum verdict store_spend_get(struct store *s, struct str provider,
                                        struct link_spend *ret, struct err *e);
/* Sets an amount aside before a call. V_LIMIT: it would pass the budget; *ret is filled then, too.
 */
MUST_CHECK enum verdict store_spend_reserve(struct store *s, struct str provider, int64_t amount,
                                            int64_t budget, struct link_spend *ret, struct err *e);
/* What it did cost instead of what was set aside at the time that *r was answered. */
MUST_CHECK enum verdict store_spend_settle(struct store *s, struct str provider,
                                           const struct link_spend *r, int64_t reserved,
                                           int64_t cost, struct err *e);

/* --- upkeep: short steps; *ret_n 0 means that nothing is left for now --- */

/* Links without a row of tasks get one, as what is there of them says; no existing row is touched.
 * Looks at max links with ids above *after and moves it; V_NOT_FOUND: there are none above it. */
MUST_CHECK enum verdict store_link_backfill(struct store *s, int64_t *after, size_t max,
                                            size_t *ret_n, struct err *e);
/* Reverse lookups whose article is gone are pending again; claims of links that are gone go. */
MUST_CHECK enum verdict store_link_repair(struct store *s, size_t max, size_t *ret_n,
                                          struct err *e);
/* Links that are 1 h, 1 d, 7 d or 30 d old are looked up again: reddit and hn unless skipped,
 * whatever failed. */
MUST_CHECK enum verdict store_link_rescan(struct store *s, size_t max, size_t *ret_n,
                                          struct err *e);
struct link_rekeyed {
    size_t looked_at, changed, merged;
};
/* Keys of older rules are made anew; links that have one key now become one. */
MUST_CHECK enum verdict store_link_rekey(struct store *s, size_t max, struct link_rekeyed *ret,
                                         struct err *e);
/* Makes two links one: the lower id stays, the other is its alias. Discussions are united, what one
 * knew the other knows, and whoever works on either works in vain. V_INVALID: one link. */
MUST_CHECK enum verdict store_link_merge(struct store *s, int64_t one, int64_t other,
                                         int64_t *ret_kept, struct err *e);

struct link_counts {
    int64_t tasks[LINK_TASKS][LINK_STATUSES];
    int64_t oldest_pending_ms[LINK_TASKS]; /* age of the oldest that was never looked up; 0: none */
    int64_t waiting;                       /* links that someone waits for */
};
MUST_CHECK enum verdict store_link_count(struct store *s, struct link_counts *ret, struct err *e);

#endif
