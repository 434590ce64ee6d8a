/* One GET by itself, for 'tain doctor': is the upstream there, how fast, by which HTTP, and what
 * does its clock say. Blocks; any thread. */
#ifndef TAIN_NET_PROBE_H
#define TAIN_NET_PROBE_H

#include "base/err.h"
#include "net/classify.h"

struct probe_options {
    const char *url, *user_agent, *ca_file; /* ca_file NULL: the system's */
    long timeout_ms;
};

struct probe_result {
    enum net_class cls;
    long status;        /* 0 when there was none */
    int64_t elapsed_ms; /* connecting included */
    int64_t date_ms;    /* the Date header in unix milliseconds, -1 when there was none */
    const char *http;   /* "HTTP/2"; static */
    char body[256];     /* the beginning of the answer */
    char detail[200];   /* what went wrong; "" when nothing did */
};

/* V_INVALID: not a URL. A failed request is V_OK with its class. */
MUST_CHECK enum verdict probe_url(const struct probe_options *o, struct probe_result *ret,
                                  struct err *e);

#endif
