/* The HN Search API: stories with a URL, and the article behind an item. Requests and answers only
 * (enrich/ask.h): pure, any thread. It searches by words, so its hits are fuzzy: only those whose
 * URL has our key are kept.
 *
 * An item in question is first asked for as a story (a small answer); what is none (NEXT with its
 * own id) by hn_ask_item(), which knows the story above a comment. */
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

/* `key` is the URL's key: without scheme, www and tracking it has the words that every form of the
 * URL has. V_LIMIT, V_INVALID as in reddit.h. */
MUST_CHECK enum verdict hn_ask_url(const struct hn_search_conf *c, struct str key, struct arena *a,
                                   struct ask *ret, struct err *e);
MUST_CHECK enum verdict hn_ask_story(const struct hn_search_conf *c, struct str id, struct arena *a,
                                     struct ask *ret, struct err *e);
MUST_CHECK enum verdict hn_ask_item(const struct hn_search_conf *c, struct str id, struct arena *a,
                                    struct ask *ret, struct err *e);

/* Stories whose URL has this key. An answer that was cut short over there and has none of them is
 * TRANSIENT. */
void hn_read_url(const struct heard *h, struct str key, struct arena *a, struct found_list *ret);

/* FOUND: the story's article. NONE, with has_origin: a story without one. NEXT with next_id == id:
 * no story has this id; ask for the item. */
void hn_read_story(const struct heard *h, struct str id, struct arena *a,
                   struct found_article *ret);
/* FOUND and NONE likewise; NONE also: no such item. NEXT: a comment; next_id is its story, or,
 * where that is not said, its parent, and always lower than id: a walk ends. */
void hn_read_item(const struct heard *h, struct str id, struct arena *a, struct found_article *ret);

#endif
