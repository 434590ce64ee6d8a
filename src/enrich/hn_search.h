/* The HN Search API: stories with a URL, and the article behind an item. Requests and answers only
 * (enrich/ask.h): pure, any thread. It searches by words, so its hits are fuzzy: only those whose
 * URL has our key are kept.
 *
 * An item is asked for with everything below it, and knows the story above it. Where that is too
 * much for us (size, depth), the same item is asked for as a story, which is little. */
#ifndef TAIN_ENRICH_HN_SEARCH_H
#define TAIN_ENRICH_HN_SEARCH_H

#include "enrich/ask.h"
#include "hn/discussion_url.h"

#define HN_SEARCH_URL "https://hn.algolia.com/api/v1"

struct hn_search_conf {
    struct str url; /* without a slash at the end; see hn_search_conf_init() */
    struct str user_agent;
};
/* `url` is TAIN_HN_SEARCH_URL; absent or empty: the real one. Slashes at the end are dropped, and a
 * base without a path gets the real one's /api/v1. Texts live in the arena or are views. */
void hn_search_conf_init(struct hn_search_conf *c, struct str url, struct str user_agent,
                         struct arena *a);

/* `key` is the URL's key: without www and tracking it has the words that every form of the URL has.
 * V_LIMIT, V_INVALID as in reddit.h. */
MUST_CHECK enum verdict hn_ask_url(const struct hn_search_conf *c, struct str key, struct arena *a,
                                   struct ask *ret, struct err *e);
MUST_CHECK enum verdict hn_ask_item(const struct hn_search_conf *c, struct str id, struct arena *a,
                                    struct ask *ret, struct err *e);
MUST_CHECK enum verdict hn_ask_story(const struct hn_search_conf *c, struct str id, struct arena *a,
                                     struct ask *ret, struct err *e);

/* Stories whose URL has this key. An answer that was cut short over there and has none of them is
 * TRANSIENT. */
void hn_read_url(const struct heard *h, struct str key, struct arena *a, struct found_list *ret);

/* FOUND: the article of the story. NONE: no such item; with has_origin, a story without an article.
 * NEXT: a comment, and next_id is its story, or, where that is not said, its parent, and always
 * lower than id, so that a walk ends; or (next_as_story) the same id, for hn_ask_story(). */
void hn_read_item(const struct heard *h, struct str id, struct arena *a, struct found_article *ret);
/* FOUND, NONE with has_origin, or trouble: an answer without the story is TRANSIENT. */
void hn_read_story(const struct heard *h, struct str id, struct arena *a,
                   struct found_article *ret);

#endif
