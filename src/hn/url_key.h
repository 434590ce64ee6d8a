/* The key of a URL: the same article has the same key, whatever way it was linked. The key is a
 * URL itself without its scheme ("example.com/a?b=c"), and the key of a key is that key. Rules and
 * data tables are in url_key.c and url_rules.c; URL_KEY_VERSION changes with them. */
#ifndef TAIN_HN_URL_KEY_H
#define TAIN_HN_URL_KEY_H

#include "base/arena.h"
#include "base/str.h"

/* 2: of the hosts called google only Google's own are AMP caches. */
#define URL_KEY_VERSION 2

/* False (both absent) when the text is not an http(s) URL with a host. `ret_domain` is the host of
 * the key, as HN shows it in brackets behind a title. */
bool url_key(struct arena *a, struct str url, struct str *ret_key, struct str *ret_domain);

/* A URL that has a key, as a client can ask for it: somebody may have written it without its scheme
 * (then it is https), or with blanks around and in it. Text with another scheme stays as it is, but
 * for blanks. In the arena, and ends with a NUL. */
struct str url_whole(struct arena *a, struct str url);

/* A URL that has a key, as others are likely to have submitted the page, for services that look for
 * exact URLs: as it is, but without what was put on it to follow a click; or its key, where that
 * names another address. In the arena. */
struct str url_shared(struct arena *a, struct str url);

#endif
