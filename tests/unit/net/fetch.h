/* One client for a test, and one GET at a time through it; what came back is copied. */
#ifndef TAIN_TESTS_NET_FETCH_H
#define TAIN_TESTS_NET_FETCH_H

#include "net/http.h"

struct got {
    int n; /* completions; 1 after a fetch */
    enum net_class cls;
    long status;
    size_t body_n;
    char body[512]; /* its beginning */
    int64_t retry_after_ms, elapsed_ms;
    char detail[512];
};

struct http_options fetch_options(const struct clock *clock); /* small time-outs and sizes */
struct http_client *fetch_client(const struct http_options *o);
struct got fetch(struct http_client *c, const char *root, const char *path);

#endif
