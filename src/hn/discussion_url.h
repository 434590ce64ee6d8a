/* Does a URL name a discussion, of Reddit or of Hacker News, rather than an article? Judged by the
 * key of the URL (hn/url_key.h), so that URLs with one key are one discussion, and hosts that only
 * look alike are none. Everything in the answer is a value: nothing to free, no views. Pure. */
#ifndef TAIN_HN_DISCUSSION_URL_H
#define TAIN_HN_DISCUSSION_URL_H

#include "base/str.h"

enum discussion_site { DISCUSSION_REDDIT, DISCUSSION_HN };

enum discussion_kind {
    DISCUSSION_POST,    /* on HN: an item; only HN knows whether it is a story or a comment */
    DISCUSSION_COMMENT, /* of Reddit: a comment, and the post that it is below */
    DISCUSSION_SHARE,   /* of Reddit: a link that must be followed to learn what it names */
};

#define DISCUSSION_ID_MAX 15

struct discussion {
    enum discussion_site site;
    enum discussion_kind kind;
    char id[DISCUSSION_ID_MAX + 1];      /* of the post or item, lower-case; empty for a share */
    char comment[DISCUSSION_ID_MAX + 1]; /* empty unless it is a comment */
    char share[96];                      /* "/r/NAME/s/CODE"; empty unless it is a share */
    /* The one URL of the discussion, for external_url: of a comment that of its post, of a share
     * that of the share. It names what the struct says, the comment apart. */
    char url[128];
};

/* Any text. False (and *ret is untouched): not a discussion, or no URL at all. */
bool discussion_of_url(struct str url, struct discussion *ret);
/* The same for a key that url_key() made. */
bool discussion_of_key(struct str key, struct discussion *ret);

/* "reddit" or "hackernews", as external_discussions.platform has it. */
const char *discussion_platform(enum discussion_site site);

/* The discussion of a site by the id of its post or item, such as an answer gives it. False: no
 * such id can be. */
bool discussion_of_id(enum discussion_site site, struct str id, struct discussion *ret);

#endif
