/* Whether a server can be reached at all: a connection, and its TLS, over which nothing is asked.
 * It is no call, and counts against no limit. Blocks; any thread. */
#ifndef TAIN_NET_REACH_H
#define TAIN_NET_REACH_H

#include "base/err.h"

/* V_RETRY: not now; the message says why, without naming the host. V_INVALID: not a URL. */
MUST_CHECK enum verdict reach_url(const char *url, long timeout_ms, struct err *e);

#endif
