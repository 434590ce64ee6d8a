/* The WebSocket clients of the change feed: one thread, feed-ws, owns their sockets from the moment
 * the HTTP library hands them over. It gathers what is new for 20 ms and sends it to each client in
 * one go, reads what they say, and keeps time. Places are reserved before the upgrade, by loop
 * threads. Started and stopped by the main thread. */
#ifndef TAIN_WEB_WS_H
#define TAIN_WEB_WS_H

#include "web/ws_peer.h"

/* Less than from one look of the feed to the next: a flush that was late is not so for ever. */
#define WS_FLUSH_MS 20

struct ws_hall;

struct ws_hall_options {
    struct web *web; /* whose query threads read pages, and whose clock it is */
    struct feed_hub *hub;
    const struct clock *clock;
    int max_clients;
    int64_t ping_ms, slow_ms, close_ms; /* 0: as in ws_peer.h */
};

MUST_CHECK enum verdict ws_hall_start(const struct ws_hall_options *o, struct ws_hall **ret,
                                      struct err *e);
/* A place for one more; false: there is none, or it stops. Any thread, as the next two. */
bool ws_hall_reserve(struct ws_hall *h);
void ws_hall_give_back(struct ws_hall *h);
/* Into a place that was reserved. Takes over descriptor and ask; `early` is what the peer has said
 * already. `address` is how the crowd counts it; NULL: it is not counted. */
void ws_hall_adopt(struct ws_hall *h, struct ws_ask *ask, int fd, struct str early,
                   const unsigned char *address);
int ws_hall_count(struct ws_hall *h);    /* places that are taken */
int64_t ws_hall_beat(struct ws_hall *h); /* clock_mono() of its last turn */

/* Says goodbye to all, and takes no more. */
void ws_hall_quiet(struct ws_hall *h);
/* Cuts who is left, and ends the thread; errands come back before that. NULL is fine. */
void ws_hall_stop(struct ws_hall *h);

#endif
