/* What pages and APIs read from the archive: items, threads, lists, people, discussions of a URL,
 * recent changes. Each verb is one short read of one instant, writes nothing, and bears being
 * repeated after V_RETRY. Texts and arrays live in the caller's arena. Runs on the thread that owns
 * the store. */
#ifndef TAIN_STORE_READ_H
#define TAIN_STORE_READ_H

#include "hn/item.h"
#include "hn/user.h"
#include "store/store.h"

/* An item as it is stored. Of a kid that its parent names and that is not in the archive only the
 * id is known: `stored` is false. */
struct read_item {
    struct item item; /* with kids where the verb says so; url_key and domain are filled */
    int64_t story_id; /* I64_NONE while unknown */
    int64_t first_seen_at, last_fetched_at, last_changed_at; /* unix milliseconds */
    bool stored;
};

struct read_items {
    struct read_item *items;
    size_t n;
};

/* These ids, in the order asked, each with its kids in display order; what is not stored is left
 * out. At most READ_IDS_MAX ids. One statement on PostgreSQL, however many. */
#define READ_IDS_MAX 1000
MUST_CHECK enum verdict store_read_items(struct store *s, struct arena *a, const int64_t *ids,
                                         size_t n, struct read_items *ret, struct err *e);
/* V_NOT_FOUND: not stored. Without V_NOT_FOUND as a message worth building: the quick path of
 * /v0/item/ID.json. */
MUST_CHECK enum verdict store_read_item(struct store *s, struct arena *a, int64_t id,
                                        struct read_item *ret, struct err *e);

/* Of an id that is not stored: true when it is confirmed to be missing, false when nobody has found
 * out yet. */
MUST_CHECK enum verdict store_read_missing(struct store *s, int64_t id, bool *ret, struct err *e);

/* A thread in display order: a node, then everything below it. */
struct thread_node {
    struct read_item it; /* no kids: the order of the nodes says it */
    int depth;           /* 0: directly below the root */
    size_t below;        /* nodes that follow and are below this one */
};
struct thread {
    struct thread_node *nodes;
    size_t n;
    bool cut; /* there are more than `max` */
};
/* Everything below `root` (which itself is not among it), found by the stored kids. A kid that is
 * named and not stored is a node with stored == false. Loops and kids named twice come once. */
MUST_CHECK enum verdict store_read_thread(struct store *s, struct arena *a, int64_t root,
                                          size_t max, struct thread *ret, struct err *e);

/* The ids of a story list: "top", "new", "best", "ask", "show", "job". Where the archive has never
 * seen that list it is made from the newest stored stories by the same idea (rank by points and
 * age, newest, points; Ask HN, Show HN, jobs), a moment ago at most, and *ret_seen_at is 0. */
MUST_CHECK enum verdict store_read_list(struct store *s, struct arena *a, const char *name,
                                        const int64_t **ret_ids, size_t *ret_n,
                                        int64_t *ret_seen_at, struct err *e);

/* Stories, jobs and polls that are neither dead nor deleted, newest first, with ids below `before`
 * (0: from the newest on). */
MUST_CHECK enum verdict store_read_newest(struct store *s, struct arena *a, int64_t before,
                                          size_t max, struct read_items *ret, struct err *e);

/* A profile. V_NOT_FOUND: none is stored. */
struct read_user {
    struct user user;
    bool gone; /* the upstream no longer has it */
    int64_t last_fetched_at;
};
MUST_CHECK enum verdict store_read_user(struct store *s, struct arena *a, struct str name,
                                        struct read_user *ret, struct err *e);

/* What an item said before, newest first: fetched_at is when that version was seen, replaced_at
 * when it was overtaken. */
struct revision {
    struct item item;
    int64_t fetched_at, replaced_at;
};
MUST_CHECK enum verdict store_read_revisions(struct store *s, struct arena *a, int64_t id,
                                             size_t max, const struct revision **ret, size_t *ret_n,
                                             struct err *e);
/* Which of these ids have earlier versions; ids ascending in *ret. */
MUST_CHECK enum verdict store_have_revisions(struct store *s, struct arena *a, const int64_t *ids,
                                             size_t n, const int64_t **ret, size_t *ret_n,
                                             struct err *e);

/* Every story whose URL has this key (hn/url_key.h), most points first. */
MUST_CHECK enum verdict store_read_discussions(struct store *s, struct arena *a, struct str url_key,
                                               size_t max, struct read_items *ret, struct err *e);

/* The largest id that is stored, 0 when there is none. */
MUST_CHECK enum verdict store_read_maxitem(struct store *s, int64_t *ret, struct err *e);

/* What changed lately, as the live writer noted it: the newest change first, each id and name once;
 * *ret_mark rises with every change. An unchanged mark means an unchanged answer. */
struct recent {
    const int64_t *items;
    size_t n_items;
    const struct str *names;
    size_t n_names;
};
MUST_CHECK enum verdict store_read_recent(struct store *s, struct arena *a, size_t max_items,
                                          size_t max_names, struct recent *ret, int64_t *ret_mark,
                                          struct err *e);
/* The changes behind `mark`, the oldest first, each id and name once; of at most `max` changes, and
 * *ret_mark is the last of them (`mark` itself when there is none). What is older than what is kept
 * is not told. */
MUST_CHECK enum verdict store_read_recent_since(struct store *s, struct arena *a, int64_t mark,
                                                size_t max, struct recent *ret, int64_t *ret_mark,
                                                struct err *e);
/* How many items changed in each of the last n minutes, as far as the notes reach; the last one is
 * the minute before now. */
MUST_CHECK enum verdict store_recent_rate(struct store *s, int64_t *ret, size_t n, struct err *e);
/* The mark alone: one cheap read. */
MUST_CHECK enum verdict store_recent_mark(struct store *s, int64_t *ret, struct err *e);

#endif
