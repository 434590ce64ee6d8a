/* libcurl without memory. The program never runs on without (base/attr.h): it ends with a word, and
 * not with a request that lacks its body, its headers or a part of its guard. Private to the room.
 * Any thread. */
#ifndef TAIN_NET_MUST_INT_H
#define TAIN_NET_MUST_INT_H

#include "base/attr.h"

#include <curl/curl.h>

void must_init_library(void); /* once for all */
void must_easy(CURLcode code);
void must_multi(CURLMcode code);
void *must_have(void *p); /* p, which is not NULL */
/* What else is wrong with a URL, or a header that is not there, is the caller's affair. */
CURLUcode must_url(CURLUcode code);
CURLHcode must_header(CURLHcode code);

/* An option has no other way to fail: it is there, and its value is of the right kind. */
#define must_set(handle, option, value) must_easy(curl_easy_setopt(handle, option, value))
#define must_url_set(...) must_url(curl_url_set(__VA_ARGS__))
#define must_url_get(...) must_url(curl_url_get(__VA_ARGS__))
#define must_find_header(...) must_header(curl_easy_header(__VA_ARGS__))

#endif
