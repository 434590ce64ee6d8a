/* A made-up Hacker News of any size. Every item is computed from the seed and its id, so there is
 * no table of items in memory; only what was changed by corpus_mutate() is remembered. Parents are
 * older than their children, `kids` is the exact inverse of `parent`, `parts` of `poll`, and
 * `descendants` counts every comment below (dead and deleted ones too). Safe from any thread: what
 * moves (maxitem, changes) is locked inside; plans of blocks are cached per thread. */
#ifndef TAIN_DEMO_CORPUS_H
#define TAIN_DEMO_CORPUS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdio.h>

#define CORPUS_SECONDS_PER_ID 7
#define CORPUS_MAX_ID (INT64_C(1) << 28)
#define CORPUS_MAX_CHANGES (1 << 18) /* ids that corpus_mutate() may touch */
#define CORPUS_ITEM_MAX (64 * 1024)  /* no item is longer */

struct corpus;

/* Shares between 0 and 1. story, job, poll and missing are shares of all ids; poll options follow
 * their poll and the rest are comments. The others are shares of the items they can apply to. */
struct corpus_rates {
    double story, job, poll;
    double missing;       /* null for ever (until CORPUS_RESTORE) */
    double deleted, dead; /* of comments and stories */
    double unicode;       /* of sentences and titles */
    double nul;           /* U+0000 within the text */
    double odd_true;      /* "deleted":[true] and "dead":[true] */
    double odd_array;     /* kids and parts as a number or an object */
    double odd_empty;     /* "" for fields that do not apply */
    double no_type, no_time, future_time;
    double unknown_field;
    double delayed; /* of the comments within delayed_window of maxitem: text "[delayed]" */
    int64_t delayed_window;
};

struct corpus_rates corpus_rates_default(void); /* the mix of the real site; nothing delayed */
struct corpus_rates corpus_rates_tame(void);    /* the same without nulls, NULs and odd shapes */

struct corpus_options {
    uint64_t seed;
    int64_t maxitem;
    int64_t first_time;               /* unix seconds of id 0; 0: October 2006. Seven more per id */
    const struct corpus_rates *rates; /* NULL: the default ones */
};

/* V_INVALID when maxitem or a rate is out of range. */
MUST_CHECK enum verdict corpus_new(const struct corpus_options *o, struct corpus **ret,
                                   struct err *e);
void corpus_free(struct corpus *c);

int64_t corpus_maxitem(const struct corpus *c);
/* Kids, parts and descendants only ever name ids up to maxitem, so old items change with it. */
void corpus_set_maxitem(struct corpus *c, int64_t maxitem);

/* From here on stories name articles of the sites that the server has at this port (see
 * demo/articles.h), instead of addresses under .example that nobody answers. */
void corpus_set_sites(struct corpus *c, int port);
int corpus_sites(const struct corpus *c); /* the port; 0: there are none */

/* Appends the item as the upstream serves it: a JSON object, or null when there is none. */
void corpus_item(const struct corpus *c, int64_t id, struct strbuf *out);
/* The same with "[delayed]" for the text of a comment. */
void corpus_item_delayed(const struct corpus *c, int64_t id, struct strbuf *out);
/* One line per id of lo..hi: the JSON as served, or {"id":N,"missing":true}. */
void corpus_dump(const struct corpus *c, int64_t lo, int64_t hi, FILE *f);

enum corpus_change {
    CORPUS_ANY,     /* one of the others that is sure to show, chosen by the seed */
    CORPUS_EDIT,    /* the text, or the title of a story without text */
    CORPUS_SCORE,   /* a comment has none: edited instead */
    CORPUS_DEAD,    /* comments and stories; others are edited */
    CORPUS_DELETE,  /* likewise */
    CORPUS_RESTORE, /* neither dead nor deleted nor missing any more */
};
/* Raises the version of an item. V_NOT_FOUND: beyond maxitem, or missing and not RESTORE.
 * V_LIMIT: CORPUS_MAX_CHANGES other ids were changed before. */
MUST_CHECK enum verdict corpus_mutate(struct corpus *c, int64_t id, enum corpus_change how,
                                      struct err *e);
uint32_t corpus_version(const struct corpus *c, int64_t id); /* 0: never changed */

/* 0 when there is none: the parent of a comment, and the story or poll at the top of it. */
int64_t corpus_parent(const struct corpus *c, int64_t id);
int64_t corpus_root(const struct corpus *c, int64_t id);

#define CORPUS_NAME_MAX 32
/* The author; false (and "") when the item is missing or deleted. */
bool corpus_author(const struct corpus *c, int64_t id, char out[CORPUS_NAME_MAX]);
/* The same for a deleted item too: whose profile a change to it shows in. */
bool corpus_writer(const struct corpus *c, int64_t id, char out[CORPUS_NAME_MAX]);
/* Changes karma and about of a profile. V_NOT_FOUND: nobody has that name. */
MUST_CHECK enum verdict corpus_mutate_user(struct corpus *c, struct str name, struct err *e);
/* Appends the profile as JSON, or null for a name nobody has. `submitted` holds exactly the items
 * of the user among the newest 20,000 ids. */
void corpus_user(const struct corpus *c, struct str name, struct strbuf *out);

enum corpus_list {
    CORPUS_TOP,
    CORPUS_NEW,
    CORPUS_BEST,
    CORPUS_ASK,
    CORPUS_SHOW,
    CORPUS_JOBS,
    CORPUS_N_LISTS
};
const char *corpus_list_name(enum corpus_list which); /* "topstories", ... */
/* Appends an array of live ids, at most 500 (200 for ask, show, jobs), from the newest 30,000. */
void corpus_list(const struct corpus *c, enum corpus_list which, struct strbuf *out);

#endif
