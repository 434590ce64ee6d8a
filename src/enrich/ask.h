/* A call to a provider of links, and what came back, as plain values: the modules of the providers
 * (reddit.h, hn_search.h, anthropic.h) make a `struct ask` and read a `struct heard`; whoever has
 * the lane sends the one and gets the other. No I/O. Texts live in the arena that the function was
 * given, or are views of the configuration; nothing is freed by itself.
 *
 * What an answer means is one of `enum told`, the classes of the engine's own judgement. An outage,
 * a page of HTML, JSON of another shape or a degraded answer is TOLD_TRANSIENT, never TOLD_NONE. */
#ifndef TAIN_ENRICH_ASK_H
#define TAIN_ENRICH_ASK_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "hn/discussion_url.h"
#include "hn/item.h"
#include "net/classify.h"

#define ASK_HEADERS_MAX 8
/* Of ask.path: a URL of 4096 bytes, each of them encoded, and what stands around it. */
#define ASK_PATH_MAX ((size_t)3 * 4096 + 1024)
#define ASK_ERROR_MAX 400       /* bytes of told.error */
#define ASK_DISCUSSIONS_MAX 100 /* of one answer; what is beyond is left out */

struct ask {
    struct str method;                   /* GET or POST */
    struct str base;                     /* of the configuration, without a slash at the end */
    struct str path;                     /* with the query; begins with a slash; percent-encoded */
    struct str headers[ASK_HEADERS_MAX]; /* "Name: value"; may be secret */
    size_t n_headers;
    struct str body; /* of a POST; absent: none */
};

struct heard {
    enum net_class cls;     /* of the call; a redirect that was not followed may be of any class */
    long status;            /* 0: none */
    int64_t retry_after_ms; /* -1: not said */
    struct str headers;     /* as received, "Name: value" lines; absent: none were kept */
    struct str body;
    const char *detail; /* of the call, for people; NULL: none */
};

enum told {
    TOLD_FOUND,     /* what was asked for is there */
    TOLD_NONE,      /* the provider is well, and there is no such thing */
    TOLD_NEXT,      /* not yet: another call follows, which the answer names; costs no attempt */
    TOLD_ROW,       /* refused for this row; it will stay so */
    TOLD_TRANSIENT, /* outage, garbage, degraded: ask again later, at the cost of an attempt */
    TOLD_WAIT,      /* not before wait_ms; costs no attempt */
    TOLD_REFUSED,   /* refused for every row: key, permission, wrong place; costs no attempt */
    TOLD_SPENT,     /* the money is spent: nothing until the budget renews; costs no attempt */
};

struct told_why {
    enum told told;
    int64_t wait_ms;       /* of TOLD_WAIT; -1: not said */
    const char *err_class; /* "http_5xx", "garbage", ...; NULL with FOUND, NONE and NEXT */
    struct str error;      /* for people, one line, printable; absent likewise */
};

/* Found on a site. Texts are never absent, but for `subreddit` and `url` (the article's). */
struct found_discussion {
    struct str id;        /* external_id */
    struct str permalink; /* external_url, https */
    struct str title;
    struct str subreddit;
    struct str url;              /* what was submitted */
    int64_t score, num_comments; /* I64_NONE: not said, so that what is known stays */
    int64_t created_at_ms;       /* 0: not said */
    bool is_self, over_18;
};

struct found_list {
    struct told_why why; /* FOUND: n > 0 */
    struct found_discussion *at;
    size_t n;
    size_t dropped; /* of other pages than ours (by URL key), broken, or beyond the maximum */
};

/* The article behind a discussion. */
struct found_article {
    struct told_why why;
    struct str url, url_key;        /* FOUND: the article */
    bool is_discussion;             /* FOUND: it names another discussion; whoever goes on counts */
    struct found_discussion origin; /* FOUND, and NONE of a self-post: the discussion itself */
    bool has_origin;
    char next_id[DISCUSSION_ID_MAX + 1]; /* NEXT: the item to be asked for in its place */
    bool next_as_story;                  /* NEXT: by hn_ask_story(), as it is known to be one */
};

const char *told_name(enum told t); /* "found", "none", ... */

/* The value of the first header of that name, trimmed; absent: not there. */
struct str heard_header(const struct heard *h, const char *name);

/* s percent-encoded, but for letters, digits and -._~ : for a value of a query or a path. */
void ask_encode(struct strbuf *out, struct str s);

#endif
