/* Reddit: discussions of a URL, the article behind a post, where a share link leads, the token of
 * an application. Requests and answers only (enrich/ask.h): pure, any thread.
 *
 * With OAuth credentials the API is asked at `api` with a token; without, at `site`. Share links
 * and tokens are asked for at `site`. Every ask has the User-Agent, which Reddit wants to be
 * descriptive. */
#ifndef TAIN_ENRICH_REDDIT_H
#define TAIN_ENRICH_REDDIT_H

#include "enrich/ask.h"
#include "hn/discussion_url.h"

#define REDDIT_SITE "https://www.reddit.com"
#define REDDIT_API "https://oauth.reddit.com"
#define REDDIT_TOKEN_MAX 4096

struct reddit_conf {
    struct str site, api;         /* base URLs; see reddit_conf_init() */
    struct str client_id, secret; /* absent: no OAuth */
    struct str user_agent;
};

/* `url` is TAIN_REDDIT_URL; absent or empty: the real one. Reddit's own site has its API at another
 * host once there are credentials; every other base (a stand-in, a proxy) is asked for everything.
 * Slashes at the end are dropped. Views of its arguments. */
void reddit_conf_init(struct reddit_conf *c, struct str url, struct str client_id,
                      struct str secret, struct str user_agent);
static inline bool reddit_has_oauth(const struct reddit_conf *c) {
    return c->client_id.n > 0 && c->secret.n > 0;
}

/* The asks. `token` is absent without OAuth. V_LIMIT: longer than a request may be. V_INVALID: what
 * cannot be asked for (no URL, an id that is none, a token with odd bytes). */
MUST_CHECK enum verdict reddit_ask_token(const struct reddit_conf *c, struct arena *a,
                                         struct ask *ret, struct err *e);
MUST_CHECK enum verdict reddit_ask_url(const struct reddit_conf *c, struct str token,
                                       struct str url, struct arena *a, struct ask *ret,
                                       struct err *e);
/* d is a post or a comment of Reddit: the post is asked for. */
MUST_CHECK enum verdict reddit_ask_post(const struct reddit_conf *c, struct str token,
                                        const struct discussion *d, struct arena *a,
                                        struct ask *ret, struct err *e);
/* d is a share. The answer is a redirect, which must not be followed. */
MUST_CHECK enum verdict reddit_ask_share(const struct reddit_conf *c, const struct discussion *d,
                                         struct arena *a, struct ask *ret, struct err *e);

/* What Reddit says of our allowance; -1: not said. */
struct reddit_rate {
    int64_t used, remaining, reset_ms;
};
struct reddit_rate reddit_read_rate(const struct heard *h);
/* For how long nothing should be asked after this answer: until the reset where none remain; else
 * 0. */
int64_t reddit_rate_wait_ms(const struct reddit_rate *r);

struct reddit_token {
    struct told_why why; /* FOUND, TRANSIENT, WAIT or REFUSED */
    struct str token;    /* fit for a header */
    int64_t expires_in_ms;
};
void reddit_read_token(const struct heard *h, struct arena *a, struct reddit_token *ret);

/* Submissions of the URL with this key; those of other pages are dropped. */
void reddit_read_url(const struct heard *h, struct str key, struct arena *a,
                     struct found_list *ret);
/* NONE: no such post, or one without an article (a self-post, a gallery: then has_origin). ROW: the
 * post is private or in quarantine. TRANSIENT: also where it is refused without a reason. */
void reddit_read_post(const struct heard *h, const struct discussion *asked, struct arena *a,
                      struct found_article *ret);

struct reddit_share {
    struct told_why why;        /* NEXT, NONE, TRANSIENT or WAIT */
    struct discussion leads_to; /* NEXT: a post or a comment */
};
void reddit_read_share(const struct heard *h, struct arena *a, struct reddit_share *ret);

/* An API answer of status 401: the token is old or was withdrawn. Another one may do (its class is
 * TOLD_REFUSED all the same, for where there is none). */
static inline bool reddit_token_is_old(const struct heard *h) {
    return h->status == 401;
}

#endif
