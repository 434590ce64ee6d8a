/* What became of a request, as one class. The only place where curl codes and HTTP statuses are
 * interpreted; each row of the two tables has a test. */
#ifndef TAIN_NET_CLASSIFY_H
#define TAIN_NET_CLASSIFY_H

#include "base/attr.h"

enum net_class {
    NET_OK,
    NET_TIMEOUT, /* connect, first byte or whole answer took too long, or it dripped */
    NET_CONNECT, /* refused, unreachable */
    NET_DNS,
    NET_TLS,
    NET_RESET,     /* the connection broke before or within the answer */
    NET_TRUNCATED, /* fewer bytes than announced */
    NET_TOO_LARGE, /* more bytes than we take */
    NET_REDIRECT,  /* too many, or to another host */
    NET_PROTOCOL,  /* not HTTP, or broken framing or compression */
    NET_HTTP_401,
    NET_HTTP_403,
    NET_HTTP_404,
    NET_HTTP_429,
    NET_HTTP_4XX,
    NET_HTTP_5XX,
    NET_HTTP_OTHER, /* 1xx, 2xx without a body we understand, 3xx without a place to go */
    NET_OTHER,      /* any other failure of the library */
    NET_UNKNOWN,    /* `null` from a mirror that says that it does not know the thing yet */
    NET_N_CLASSES
};

/* `curl_code` is a CURLcode; status is 0 when there was none. */
enum net_class net_classify(int curl_code, long status);
const char *net_class_name(enum net_class c); /* "timeout", "http_5xx", ...: stored and shown */
/* Seconds or an HTTP date to milliseconds from now_real_ms; -1 when absent or unreadable; at most
 * an hour. */
int64_t net_retry_after_ms(const char *value, int64_t now_real_ms);

#endif
