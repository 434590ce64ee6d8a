/* Links: what people and programs want to know more of. One link per key of its URL (hn/url_key.h),
 * with the state of its tasks in `link_processing` and the threads that were found about it in
 * `external_discussions`. A link that became one with another leaves an alias: whoever asks for the
 * old id gets the link that stayed. Here is what pages and feeds need; the workers' part is in
 * store/links_work.h. Verbs that write are one transaction and bear being repeated after V_RETRY.
 * Texts of answers are in the caller's arena. */
#ifndef TAIN_STORE_LINKS_H
#define TAIN_STORE_LINKS_H

#include "base/arena.h"
#include "store/links_tasks.h"
#include "store/store.h"

#define LINK_URL_MAX 4096
#define LINK_ERROR_MAX 500 /* characters */
#define LINK_LIST_MAX 200
#define LINK_DISCUSSIONS_MAX 500
#define LINK_STORIES_MAX 512

enum link_status {
    LINK_NONE, /* reverse lookup only: it is not the URL of a discussion */
    LINK_PENDING,
    LINK_COMPLETED,
    LINK_NOT_FOUND,
    LINK_FAILED,
    LINK_SKIPPED,
    LINK_STATUSES
};

const char *link_task_name(enum link_task t); /* "reverse_lookup", "reddit", "hn", "summary" */
/* How the time of its end is called in the API: "checked_at"; NULL for a reverse lookup. */
const char *link_task_stamp(enum link_task t);
/* The lane in `providers` that it is called for in; of a reverse lookup that of its site. */
const char *link_task_provider(enum link_task t, enum link_site site);
const char *link_status_name(enum link_status s); /* NULL for LINK_NONE */
const char *link_site_name(enum link_site s);     /* "reddit", "hackernews"; NULL for none */
/* Is this the key of a discussion, and where? */
enum link_site link_site_of_key(struct str url_key);
/* Did a person (or a program of theirs) submit it? */
bool link_is_asked_for(struct str source, struct str submitted_by);

struct link {
    int64_t id;
    struct str url, url_key, title, description, summary; /* absent: not known */
    struct str source, submitted_by;
    int64_t parent_id;  /* 0: none. Of a discussion-ref: the article */
    int64_t created_at; /* unix milliseconds */
};

struct link_add {
    struct str url;
    struct str title, description; /* absent: not known yet */
    struct str source;             /* "agent", "discussion-submission", ... */
    struct str submitted_by;       /* absent or 'auto': nobody. Turns are shared out by it */
    bool waiting;                  /* someone looks at its page now: it goes first */
};
struct link_added {
    int64_t id;
    bool created;        /* false: it was there */
    enum link_site site; /* of a discussion: a reverse lookup is pending, or was done */
};
/* Finds the link by key or makes it, with its row of tasks. Of one that is there nothing is
 * changed, but that someone asks for it or waits; one that was only kept as a parent becomes a link
 * like any other. V_INVALID: not an http(s) URL. V_LIMIT: it is too long. */
MUST_CHECK enum verdict store_link_add(struct store *s, const struct link_add *add,
                                       struct link_added *ret, struct err *e);
/* Someone looks at its page and waits for what is pending. Writes nothing where that is known. */
MUST_CHECK enum verdict store_link_wait(struct store *s, int64_t id, struct err *e);

/* Stories of the archive become links ('hn-story', 'auto'), those among the ids that have a URL and
 * are not dead; *ret_n is how many are new. At most LINK_STORIES_MAX ids. */
MUST_CHECK enum verdict store_link_stories(struct store *s, const int64_t *ids, size_t n,
                                           size_t *ret_n, struct err *e);

/* V_NOT_FOUND: there is none. ret->id is another than the one asked for when it is an alias. */
MUST_CHECK enum verdict store_link_get(struct store *s, struct arena *a, int64_t id,
                                       struct link *ret, struct err *e);
MUST_CHECK enum verdict store_link_find(struct store *s, struct arena *a, struct str url_key,
                                        struct link *ret, struct err *e);

struct link_query {
    struct str words; /* each of them in the title, the URL or the summary; absent: all links */
    int64_t before;   /* links with smaller ids; 0: from the newest */
    size_t max;       /* at most LINK_LIST_MAX */
};
struct link_entry {
    struct link link;
    int64_t discussions[LINK_SITES], comments[LINK_SITES];
    bool pending; /* some task is */
};
/* Newest first, without 'auto-parent' and 'discussion-ref'. A search looks at the newest 50,000. */
MUST_CHECK enum verdict store_link_list(struct store *s, struct arena *a,
                                        const struct link_query *query,
                                        const struct link_entry **ret, size_t *ret_n,
                                        struct err *e);

struct link_processing {
    int64_t link_id; /* the one that stayed, behind an alias */
    struct {
        enum link_status status; /* a row that is being worked on is pending */
        int64_t at;              /* checked or generated, unix milliseconds; 0: not yet */
        struct str error;        /* of failed; why, of skipped; absent: none */
    } tasks[LINK_TASKS];
    int64_t target_id; /* where the reverse lookup landed; 0: nowhere yet */
    int64_t created_at, updated_at;
};
/* V_NOT_FOUND: no such link, or one that has no tasks. */
MUST_CHECK enum verdict store_link_processing(struct store *s, struct arena *a, int64_t id,
                                              struct link_processing *ret, struct err *e);

struct link_discussion {
    enum link_site site;
    struct str external_id, external_url;
    struct str title, subreddit; /* absent: not known, none */
    int64_t score, num_comments; /* DB_NULL: not known */
    int64_t external_created_at; /* unix milliseconds; 0: not known */
    int64_t discovered_at;       /* when reading */
};
/* Most comments first; at most LINK_DISCUSSIONS_MAX. */
MUST_CHECK enum verdict store_link_discussions(struct store *s, struct arena *a, int64_t id,
                                               const struct link_discussion **ret, size_t *ret_n,
                                               struct err *e);

/* The error tasks of a link are pending again, as new ones, and someone waits for them; *ret_n is
 * how many. V_NOT_FOUND: no such link. */
MUST_CHECK enum verdict store_link_retry(struct store *s, int64_t id, size_t *ret_n, struct err *e);

struct link_place {
    int64_t ahead;      /* tasks in the lane that come before this one; LINK_AHEAD_MAX: or more */
    bool held;          /* it is being worked on */
    int64_t not_before; /* it waits until then after a trouble, unix milliseconds; 0: it does not */
};
#define LINK_AHEAD_MAX 10000
/* Where a pending task stands in its lane. V_NOT_FOUND: it is not pending. */
MUST_CHECK enum verdict store_link_place(struct store *s, int64_t id, enum link_task t,
                                         struct link_place *ret, struct err *e);

#endif
