/* The upstream's largest id, asked once, with a few retries. */
#ifndef TAIN_MIRROR_MAXITEM_H
#define TAIN_MIRROR_MAXITEM_H

#include "base/thread.h"
#include "net/http.h"

/* Blocks for at most ten seconds or so. V_RETRY: no good answer came, e says what did. */
MUST_CHECK enum verdict fetch_maxitem(struct http_client *http, const struct clock *clock,
                                      const char *upstream, const struct stop_token *stop,
                                      int64_t *ret, struct err *e);

#endif
