/* The sockets that libcurl waits for, in one epoll set, and the eventfd of http_wakeup().
 * Private to the room; one thread, except poller_wake(). libcurl lets go of a socket after each
 * answer and asks for it again with the next request on that connection. The poller leaves it in
 * the set in between, which saves two system calls per request, and takes it out only when the
 * idle socket stirs. */
#ifndef TAIN_NET_POLLER_INT_H
#define TAIN_NET_POLLER_INT_H

#include "base/attr.h"
#include "base/err.h"

#include <stdatomic.h>

#define POLLER_BATCH 32 /* fewer stay in the cache; more would have the server wait */

struct poller {
    int epoll_fd, wake_fd;
    atomic_bool waking;      /* the eventfd has been written to and not been read since */
    struct watched *watched; /* by file descriptor */
    size_t n_watched;
};

struct ready {
    int fd;
    uint32_t events; /* EPOLLIN and EPOLLOUT only, and only what was wanted */
};

MUST_CHECK enum verdict poller_init(struct poller *p, struct err *e);
void poller_release(struct poller *p);
void poller_want(struct poller *p, int fd, uint32_t events); /* 0: nothing for now */
/* The descriptor is about to be closed, and its number may come back as another socket. */
void poller_forget(struct poller *p, int fd);
/* Waits for at most timeout_ms real milliseconds. Answers how many are in ret_ready; what woke it
 * may also be nothing that was wanted. */
int poller_wait(struct poller *p, int timeout_ms, struct ready ret_ready[POLLER_BATCH],
                bool *ret_woken);
void poller_wake(struct poller *p);

#endif
