#include "net/poller_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct watched {
    uint8_t registered; /* the events the kernel knows of; 0: not in the set */
    uint8_t wanted;
};
_Static_assert(EPOLLIN < 256 && EPOLLOUT < 256, "the events fit their bytes");

enum verdict poller_init(struct poller *p, struct err *e) {
    *p = (struct poller){.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                         .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = p->wake_fd};
    if (p->epoll_fd < 0 || p->wake_fd < 0 ||
        epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->wake_fd, &ev) < 0) {
        int code = errno;
        poller_release(p);
        return err_set(e, V_FATAL, "http", code, "no epoll set: %s", strerror(code));
    }
    return V_OK;
}

void poller_release(struct poller *p) {
    if (p->epoll_fd >= 0)
        close(p->epoll_fd);
    if (p->wake_fd >= 0)
        close(p->wake_fd);
    free(p->watched);
    *p = (struct poller){.epoll_fd = -1, .wake_fd = -1};
}

static struct watched *watched_at(struct poller *p, int fd) {
    size_t i = (size_t)fd;
    if (i >= p->n_watched) { /* as many as the process may open files */
        size_t n = p->n_watched ? p->n_watched : 64;
        while (n <= i)
            n *= 2;
        p->watched = xrealloc(p->watched, n * sizeof *p->watched);
        memset(p->watched + p->n_watched, 0, (n - p->n_watched) * sizeof *p->watched);
        p->n_watched = n;
    }
    return &p->watched[i];
}

static void set_registered(struct poller *p, int fd, struct watched *w, uint32_t events) {
    struct epoll_event ev = {.events = events, .data.fd = fd};
    int op = !events ? EPOLL_CTL_DEL : w->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    /* A failure leaves it unregistered: the transfer then ends by its time-out. */
    int failed = epoll_ctl(p->epoll_fd, op, fd, &ev);
    w->registered = failed ? 0 : (uint8_t)events;
}

void poller_want(struct poller *p, int fd, uint32_t events) {
    struct watched *w = watched_at(p, fd);
    w->wanted = (uint8_t)events;
    if (events && events != w->registered)
        set_registered(p, fd, w, events);
}

void poller_forget(struct poller *p, int fd) {
    struct watched *w = watched_at(p, fd);
    if (w->registered)
        set_registered(p, fd, w, 0);
    *w = (struct watched){0};
}

/* Hang-ups and errors count as what was wanted: the read or write that follows names them. */
static uint32_t wanted_of(struct poller *p, const struct epoll_event *ev) {
    struct watched *w = watched_at(p, ev->data.fd);
    uint32_t events = ev->events & (EPOLLERR | EPOLLHUP) ? w->wanted : ev->events & w->wanted;
    if (!events && w->registered)
        set_registered(p, ev->data.fd, w, w->wanted);
    return events;
}

int poller_wait(struct poller *p, int timeout_ms, struct ready ret_ready[POLLER_BATCH],
                bool *ret_woken) {
    struct epoll_event ev[POLLER_BATCH];
    int n = epoll_wait(p->epoll_fd, ev, POLLER_BATCH, timeout_ms), n_ready = 0;
    for (int i = 0; i < n; i++) {
        if (ev[i].data.fd == p->wake_fd) {
            uint64_t count;
            *ret_woken = read(p->wake_fd, &count, sizeof count) > 0;
            /* Only now: who comes in between need not write, the caller is about to look. */
            atomic_store(&p->waking, false);
            continue;
        }
        uint32_t events = wanted_of(p, &ev[i]);
        if (events)
            ret_ready[n_ready++] = (struct ready){ev[i].data.fd, events};
    }
    return n_ready;
}

void poller_wake(struct poller *p) {
    uint64_t one = 1;
    if (atomic_exchange(&p->waking, true))
        return;
    /* Fails only when the counter is full, and then it is readable all the same. */
    ssize_t ignored UNUSED = write(p->wake_fd, &one, sizeof one);
}
