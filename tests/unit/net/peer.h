/* The other end of a stream without a thread: the test itself accepts, reads the request and
 * says what it likes, piece by piece, in between the steps of what it tests. */
#ifndef TAIN_TESTS_NET_PEER_H
#define TAIN_TESTS_NET_PEER_H

#include "base/attr.h"

#define PEER_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

struct peer {
    int listen_fd, fd; /* fd -1: nobody is connected */
    int port;
    char root[40]; /* "http://127.0.0.1:PORT" */
    size_t n;
    char request[4096];
};

void peer_open(struct peer *p);
void peer_close(struct peer *p);
/* True once a whole request is there; a caller who went away makes place for the next. Never
 * waits. */
bool peer_called(struct peer *p);
void peer_say(struct peer *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sends until nobody takes more, at most max bytes; answers how many. */
size_t peer_pour(struct peer *p, size_t max);
void peer_hang_up(struct peer *p);
void peer_reset(struct peer *p); /* as hang_up, with RST */
bool peer_left(struct peer *p);  /* the caller has gone; never waits */

#endif
