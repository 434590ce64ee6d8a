/* A scripted HTTP/1.1 server in a thread of the test, on a free port of 127.0.0.1: the path says
 * how it behaves (the table is in server.c). One poll() loop, so slow answers block no other. */
#ifndef TAIN_TESTS_NET_SERVER_H
#define TAIN_TESTS_NET_SERVER_H

#include <stdatomic.h>
#include <stddef.h>

/* Stays as it is: whoever breaks off leaves a server behind that may still be sending. */
struct server_bytes {
    const char *p;
    size_t n;
};

struct server {
    int port;
    atomic_int connections; /* accepted so far */
    atomic_int requests;
    char root[40]; /* "http://127.0.0.1:PORT" */
    int listen_fd, stop_pipe[2];
    unsigned long thread;
    _Atomic(const struct server_bytes *) bytes; /* what /bytes answers, head and all */
};

void server_start(struct server *s);
void server_stop(struct server *s);
int server_unused_port(void); /* nobody listens there, and nobody will */
int server_free_port(void);   /* for another to listen on */

#endif
