/* What the client must know of a URL before it hands it to libcurl. Private to the room; no state
 * but the cache, which its client owns. */
#ifndef TAIN_NET_URL_INT_H
#define TAIN_NET_URL_INT_H

#include "base/attr.h"
#include "base/err.h"

#include <curl/curl.h>

enum url_flags {
    URL_HTTPS = 1,
    URL_LOOPBACK = 2, /* 127.0.0.0/8, ::1 or localhost: never through a proxy */
};

/* The origin ("https://host:port") seen last. A mirror asks one upstream, so that a URL is parsed
 * once and then only its path changes. */
struct url_cache {
    char origin[256];
    size_t n;
    unsigned flags, id;
};

struct url_view {
    unsigned flags;
    unsigned origin_id; /* the same as in another view: the same origin. 0: not known */
    const char *path;   /* within the URL: nothing but a path follows the origin; or NULL */
};

/* V_INVALID: not a URL, not http(s), or too long. */
MUST_CHECK enum verdict url_check(struct url_cache *cache, const char *url,
                                  struct url_view *ret_view, struct err *e);
/* Same scheme, host and port, the default port spelled out or not. */
bool url_same_origin(CURLU *a, const char *b);
/* For messages: without user and password, cut to size. */
void url_show(const char *url, char *out, size_t size);

#endif
