/* What a request has beyond its URL: method, headers of its own, a body. Put on a handle that other
 * requests used before and taken off again, so that nothing of one is seen in the next, and no
 * secret stays in memory longer than its request. Private to the room. */
#ifndef TAIN_NET_DRESS_INT_H
#define TAIN_NET_DRESS_INT_H

#include "net/http.h"

#include <curl/curl.h>

struct dress {
    struct curl_slist *headers;
    bool on, post;
};

/* V_INVALID: see http_send(). No message has the value of a header in it. */
MUST_CHECK enum verdict dress_check(const struct http_request *r, struct err *e);
/* The request was checked, and the dress is off. Nothing is set for a plain GET. */
void dress_on(struct dress *d, CURL *easy, const struct http_request *r);
void dress_off(struct dress *d, CURL *easy); /* harmless when it is off */

#endif
