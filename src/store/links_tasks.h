/* The tasks of links: the one table of them. A row is a task with a lane of its own; enumerations,
 * statements, figures, the API and the worker's list of providers are made from it, so a new task
 * is a row here, a file with its provider (enrich/link_NAME.c) and a migration with its columns.
 * docs/links.md says what each of them has to hold.
 *
 * The lookup of a discussion is no row: it is of every lane whose row has a site. */
#ifndef TAIN_STORE_LINKS_TASKS_H
#define TAIN_STORE_LINKS_TASKS_H

/* X(ID, name, provider, stamp, site, result, again, none)
 *
 * name      in the API; its columns in link_processing are NAME_status, NAME_error, NAME_STAMP; its
 *           claims are of "links:NAME"; its provider's file defines `link_NAME`
 * provider  the lane's name in `providers`, for `tain enrich status` and figures
 * stamp     what the time of its end is called
 * site      whose discussions it finds
 * result    the column of links that it fills, once; NULL: none
 * again     a rescan does it again when it was done; else only when it failed
 * none      it may end as not_found */
#define LINK_TASK_TABLE(X)                                                        \
    X(REDDIT, reddit, "reddit", "checked_at", LINK_SITE_REDDIT, NULL, true, true) \
    X(HN, hn, "hn", "checked_at", LINK_SITE_HN, NULL, true, true)                 \
    X(SUMMARY, summary, "anthropic", "generated_at", LINK_SITE_NONE, "summary", false, false)

#define LINK_TASK_ID(ID, ...) LINK_##ID,
#define LINK_LANE_ID(ID, ...) LINK_LANE_##ID,

/* Where discussions are: 'reddit' and 'hackernews' in `external_discussions`. */
enum link_site { LINK_SITE_NONE, LINK_SITE_REDDIT, LINK_SITE_HN, LINK_SITES };

enum link_task { LINK_REVERSE, LINK_TASK_TABLE(LINK_TASK_ID) LINK_TASKS };

/* A lane has its task, and before it the lookups of discussions of its site. */
enum link_lane { LINK_TASK_TABLE(LINK_LANE_ID) LINK_LANES };
static inline enum link_task link_lane_task(enum link_lane l) {
    return (enum link_task)((int)l + 1);
}

#endif
