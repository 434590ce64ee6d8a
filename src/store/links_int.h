/* What the files behind store/links.h share. Statements that name the columns of a task are
 * templates with places in braces, filled once per connection from the table of tasks
 * (store/links_tasks.h). Whatever writes takes its locks in one order: claims, links,
 * link_processing, external_discussions. Private to the room. */
#ifndef TAIN_STORE_LINKS_INT_H
#define TAIN_STORE_LINKS_INT_H

#include "store/links_work.h"
#include "store/store_int.h"

struct link_task_row {
    const char *name;   /* in the API */
    const char *source; /* of its claims */
    const char *status, *error;
    const char *stamp;      /* when it was done; NULL: it has none */
    const char *stamp_name; /* the same in the API */
    enum link_site site;    /* whose discussions it finds */
    const char *provider;   /* NULL: that of the site */
    const char *result;     /* its column of links; NULL: none */
    bool again;             /* a rescan does it again when it was done; else when it failed only */
    bool can_skip;
    bool can_be_none; /* not_found */
};
extern const struct link_task_row link_tasks[LINK_TASKS];

struct link_lane_row {
    const char *name;
    enum link_task tasks[2];
    size_t n_tasks;
    enum link_site site; /* of its reverse lookups */
};
struct link_lane_row link_lane_of(enum link_lane which); /* links_take.c */

/* Of one task. $1 of those that pick or count is the site of a reverse lookup, any text else. */
enum link_stmt {
    LINK_PICK_WAITING,  /* $2: whose turn it was last */
    LINK_PICK_ASKED,    /* $2: submitters behind this one */
    LINK_PICK_OLDEST,   /* $2: not older than that */
    LINK_JOB,           /* $1 id */
    LINK_FINISH,        /* $1 id, $2 status, $3 error, $4 is the stamp new? */
    LINK_RESULT,        /* $1 id, $2 title, $3 description, $4 value where it has a column */
    LINK_RETRY,         /* $1 id */
    LINK_SKIP_ONE,      /* $1 id, $2 why */
    LINK_SKIP_SOME,     /* $1 why, $2 how many */
    LINK_UNSKIP_SOME,   /* $1 why, $2 how many */
    LINK_AHEAD_WAITING, /* $2: before that */
    LINK_AHEAD_ASKED,   /* $2: before that */
    LINK_AHEAD_OTHERS,  /* $2 to $3 */
    LINK_MERGE,         /* $1 kept, $2 gone: the better of both */
    LINK_STMTS
};
/* Of all tasks at once. */
enum link_all_stmt {
    LINK_PROCESSING, /* $1 id: status, stamp, error of each task, then the rest */
    LINK_WANT,       /* $1 id, $2 submitter, $3 does someone wait */
    LINK_SETTLE,     /* $1 id: nobody waits when nothing is pending */
    LINK_RESCAN,     /* $1 how many */
    LINK_LIST,       /* $1 before, $2 how many */
    LINK_PICK_KNOWN, /* $1 how many are looked at */
    LINK_COUNT,
    LINK_BACKFILL,  /* $1 id, $2 the site of a discussion, $3 submitter */
    LINK_MERGE_ROW, /* $1 kept, $2 gone, $3 was the other one asked for? */
    LINK_ALL_STMTS
};
struct link_statements {
    int task[LINK_TASKS][LINK_STMTS], all[LINK_ALL_STMTS];
};
/* Makes the statements of this connection, once. */
MUST_CHECK enum verdict links_prepare(struct store *s, struct err *e);
static inline int link_stmt(const struct store *s, enum link_task t, enum link_stmt i) {
    return s->links->task[t][i];
}
static inline int link_all(const struct store *s, enum link_all_stmt i) {
    return s->links->all[i];
}

enum link_status link_status_of(struct str name);
enum link_site link_site_of(struct str name);
/* For the database: none is NULL. */
#define DB_STAMP(ms) DBI((ms) ? (ms) : DB_NULL)
static inline int64_t link_or_zero(int64_t v) {
    return v == DB_NULL ? 0 : v;
}

/* A text of ours for the database, at most so many characters; in the scratch arena. */
struct str link_text(struct store *s, struct str text, size_t max_chars);

/* The first nine columns of a statement that reads links. */
#define LINK_COLUMNS 10
void link_of_row(struct arena *a, const struct db_row *row, struct link *ret);

/* The id and the URL of a thread on HN, in the arena. */
void link_hn_thread(struct arena *a, int64_t id, struct link_discussion *ret);

/* Begins what a pick is made in, where it needs that. */
MUST_CHECK enum verdict links_begin_pick(struct store *s, struct err *e);

/* --- within a transaction of the caller's --- */

struct link_made {
    struct str url, key, title, description, source, submitted_by;
    struct str submitter; /* whose turn its tasks are; absent: nobody's */
    bool waiting;
};
/* Finds or makes the link and its row of tasks. V_RETRY: it vanished meanwhile. */
MUST_CHECK enum verdict links_ensure(struct store *s, const struct link_made *m, int64_t *ret_id,
                                     bool *ret_created, struct err *e);
/* Its row of tasks, if it has none; a discussion's key asks for a reverse lookup. */
MUST_CHECK enum verdict links_ensure_tasks(struct store *s, int64_t id, struct str key,
                                           struct str submitter, bool waiting, struct err *e);
/* A story of the archive that has so many points becomes a link; *ret_n rises if it is new. One
 * that is absent, dead or without a URL becomes none. */
MUST_CHECK enum verdict links_add_story(struct store *s, int64_t item, int64_t score, size_t *ret_n,
                                        struct err *e);
/* The token is still good: the claim is done, with that outcome ("match", "no_match", "failed").
 * V_CONFLICT: it is not. */
MUST_CHECK enum verdict links_fence(struct store *s, enum link_task t, int64_t id, int64_t token,
                                    const char *outcome, struct str error, struct err *e);
/* Whoever works on this link works in vain; all of its tasks, or all but reverse lookup. */
MUST_CHECK enum verdict links_bump(struct store *s, int64_t id, bool reverse_too, struct err *e);
MUST_CHECK enum verdict links_finish(struct store *s, enum link_task t, int64_t id,
                                     enum link_status status, struct str error, struct err *e);
/* Title, description and the value of the task, where the link has none yet. */
MUST_CHECK enum verdict links_save_result(struct store *s, const struct link_result *r,
                                          struct err *e);
MUST_CHECK enum verdict links_save_discussions(struct store *s, int64_t id,
                                               const struct link_discussion *d, size_t n,
                                               struct err *e);
/* Tasks that are pending are skipped, but for the reverse lookup: it is a discussion. */
MUST_CHECK enum verdict links_skip_rest(struct store *s, int64_t id, struct err *e);
/* It is a discussion and no more than that: of this article, or of none (0). */
MUST_CHECK enum verdict links_become_ref(struct store *s, int64_t id, int64_t article,
                                         struct err *e);
MUST_CHECK enum verdict links_merge(struct store *s, int64_t kept, int64_t gone, struct err *e);

#endif
