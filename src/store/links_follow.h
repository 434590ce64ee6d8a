/* The archive's own part in links: stories that become links by way of the change feed, what the
 * archive knows of a discussion on HN, and keys of its stories that older rules made. Verbs are
 * short steps, of one transaction where they write, that any number of processes may take: what one
 * has done the others find done. They bear being repeated after V_RETRY. */
#ifndef TAIN_STORE_LINKS_FOLLOW_H
#define TAIN_STORE_LINKS_FOLLOW_H

#include "store/links_work.h"

/* Which stories become links. Each has a place of its own in the feed. */
enum link_follow {
    LINK_FOLLOW_NONE,
    LINK_FOLLOW_FRONT, /* those with LINK_FRONT_SCORE points, or among the first LINK_FRONT_PAGE of
                          the list `top` as the archive sees it */
    LINK_FOLLOW_ALL    /* whatever has a URL and is not dead */
};
#define LINK_FRONT_SCORE 50
#define LINK_FRONT_PAGE 30
#define LINK_MISSED_MS (7 * 86400000LL) /* what was missed longer ago is not made up for */
#define LINK_MISSED_AGE_MS (3 * 86400000LL)

struct link_followed {
    size_t changes; /* that were read from the feed */
    size_t made;    /* new links */
    bool gap;       /* changes are missing from the feed: the archive will be read instead */
    bool more;      /* there is more to do at once */
};
/* A step behind the changes of items, from where some process stopped; the first one of all begins
 * with what changes from now on. Where the feed has forgotten changes (or lost them with a life of
 * the database), the archive is read from its newest item down, a step at a time: stories that have
 * changed since the last look and were posted at most LINK_MISSED_AGE_MS before it. */
MUST_CHECK enum verdict store_link_follow(struct store *s, enum link_follow which,
                                          struct link_followed *ret, struct err *e);

enum link_item {
    LINK_ITEM_UNKNOWN, /* absent, deleted or dead, itself or its story */
    LINK_ITEM_STORY    /* what is behind it is known */
};
struct link_story {
    struct str url; /* absent: it has no article */
    struct link_discussion thread;
};
/* The story (or poll, or job) of an item of HN, as the archive knows it. */
MUST_CHECK enum verdict store_link_hn_item(struct store *s, struct arena *a, int64_t item,
                                           enum link_item *ret, struct link_story *ret_story,
                                           struct err *e);
/* Claims a reverse lookup that the archive can answer, the latest first: it needs no turn of its
 * lane and takes none. V_NOT_FOUND: there is none now. */
MUST_CHECK enum verdict store_link_take_known(struct store *s, struct str holder, int64_t lease_ms,
                                              struct arena *a, struct link_job *ret, struct err *e);

struct item_keys {
    bool done;          /* every key is of the present rules */
    int64_t next, last; /* ids up to `last` are looked at; those below `next` have been */
    size_t changed;     /* by this step */
};
/* Keys of the archive's stories are made anew where older rules made them: a step. */
MUST_CHECK enum verdict store_items_rekey(struct store *s, struct item_keys *ret, struct err *e);
/* How far that is. */
MUST_CHECK enum verdict store_items_keys(struct store *s, struct item_keys *ret, struct err *e);

#endif
