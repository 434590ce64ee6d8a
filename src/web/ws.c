#include "web/ws.h"

#include "base/log.h"
#include "base/thread.h"
#include "web/visitors.h"
#include "web/web_metrics.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 256
#define TICK_MS 100
#define STOP_MS 3000 /* for the goodbye of a client when the server stops */
#define GOODBYE "the server stops"
#define SEND_BUFFER (256 * 1024) /* of the kernel, per client; it takes twice as much */

struct ws_hall {
    struct ws_hall_options o;
    struct ws_house house;
    pthread_t thread;
    int epoll_fd, wake_fd;
    atomic_int places; /* taken */
    atomic_bool rung, at_once, quiet, ended;
    _Atomic int64_t beat;
    pthread_mutex_t lock;
    struct ws_peer *inbox; /* under the lock */
    bool closed;           /* under the lock: nobody looks into the inbox any more */
    /* the thread's */
    struct ws_peer *peers;
    bool said_goodbye;
    int64_t flush_at; /* NO_DEADLINE: nothing is new */
    int64_t flushed, tick_at;
};

static void ring(struct ws_hall *h) {
    uint64_t one = 1;
    if (!atomic_exchange(&h->rung, true) && write(h->wake_fd, &one, sizeof one) < 0)
        abort(); /* it cannot be full, and it is ours */
}

static void wake(void *hall, bool at_once) {
    struct ws_hall *h = hall;
    if (at_once)
        atomic_store(&h->at_once, true);
    ring(h);
}

static bool send_errand(void *hall, struct errand *x) {
    return web_errand(((struct ws_hall *)hall)->o.web, x);
}

/* Peers -----------------------------------------------------------------------------------------
 */

static void watch(struct ws_hall *h, struct ws_peer *p) {
    unsigned wanted = (ws_peer_wants_in(p) ? EPOLLIN : 0u) | (ws_peer_wants_out(p) ? EPOLLOUT : 0u);
    struct epoll_event ev = {.events = wanted, .data.ptr = p};
    if (wanted == p->watched)
        return;
    p->watched = wanted;
    if (epoll_ctl(h->epoll_fd, EPOLL_CTL_MOD, p->fd, &ev) < 0)
        abort(); /* it is in there, and ours */
}

static void count_sent(struct ws_peer *p) {
    if (p->out.frames == p->told)
        return;
    metric_add(&m_ws_frames, 0, (int64_t)(p->out.frames - p->told));
    p->told = p->out.frames;
}

static void count_end(struct ws_peer *p) {
    if (p->told_end)
        return;
    p->told_end = true;
    metric_add(&m_ws_closed, (int)p->end, 1);
    if (p->end == WS_END_SLOW)
        log_info("a client of the feed is too slow and is sent away");
}

static void leave(struct ws_hall *h, struct ws_peer *p) {
    if (p->prev)
        p->prev->next = p->next;
    else
        h->peers = p->next;
    if (p->next)
        p->next->prev = p->prev;
    /* The HTTP library may not have closed its own descriptor of this socket yet, and as long as
     * one is open epoll would go on telling of it. */
    (void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
    if (p->counted)
        crowd_leave(h->o.web, p->address);
    count_end(p);
    metric_add(&m_ws_clients, 0, -1);
    ws_peer_free(p);
    ws_hall_give_back(h);
}

/* After each step of a peer; it may be gone then. */
static void after(struct ws_hall *h, struct ws_peer *p) {
    count_sent(p);
    if (p->ended)
        count_end(p);
    if (p->more)
        atomic_store(&h->at_once, true);
    if (ws_peer_is_over(p))
        leave(h, p);
    else if (p->state != WS_DONE)
        watch(h, p);
    else /* its errand is still out */
        (void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
}

static void welcome(struct ws_hall *h, struct ws_peer *p) {
    const int one = 1, buffer = SEND_BUFFER;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
    (void)setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    p->watched = EPOLLIN;
    p->prev = NULL;
    p->next = h->peers;
    if (p->next)
        p->next->prev = p;
    h->peers = p;
    metric_add(&m_ws_clients, 0, 1);
    if (epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, p->fd, &ev) < 0) {
        p->state = WS_DONE;
        leave(h, p);
        return;
    }
    if (h->said_goodbye)
        ws_peer_close(p, WS_END_STOP, GOODBYE);
    ws_peer_in(p); /* what came early */
    ws_peer_out(p);
    after(h, p);
}

static void take_in(struct ws_hall *h) {
    pthread_mutex_lock(&h->lock);
    struct ws_peer *p = h->inbox;
    h->inbox = NULL;
    pthread_mutex_unlock(&h->lock);
    while (p) {
        struct ws_peer *next = p->next;
        welcome(h, p);
        p = next;
    }
}

/* Turns -----------------------------------------------------------------------------------------
 */

static bool has_news(struct ws_peer *p) {
    bool returned = p->reading && atomic_load(&p->returned);
    return atomic_exchange(&p->news, false) || returned || p->more;
}

/* A blocked socket takes nothing; it will say when it does. */
static void flush(struct ws_hall *h, bool all) {
    for (struct ws_peer *p = h->peers, *next; p; p = next) {
        next = p->next;
        bool urgent = p->more || (p->reading && atomic_load(&p->returned));
        if ((all || urgent) && has_news(p) && p->state != WS_DONE) {
            if (!p->blocked)
                ws_peer_out(p);
            after(h, p);
        } else if (ws_peer_is_over(p)) {
            leave(h, p);
        }
    }
}

static void tick(struct ws_hall *h) {
    for (struct ws_peer *p = h->peers, *next; p; p = next) {
        next = p->next;
        ws_peer_tick(p);
        after(h, p);
    }
}

static void say_goodbye(struct ws_hall *h) {
    h->said_goodbye = true;
    for (struct ws_peer *p = h->peers, *next; p; p = next) {
        next = p->next;
        ws_peer_close(p, WS_END_STOP, GOODBYE);
        p->close_by = clock_mono(h->o.clock) + STOP_MS;
        ws_peer_out(p);
        after(h, p);
    }
}

static void look_at_sockets(struct ws_hall *h, const struct epoll_event *events, int n) {
    for (int i = 0; i < n; i++) {
        struct ws_peer *p = events[i].data.ptr;
        if (!p) {
            uint64_t count;
            (void)!read(h->wake_fd, &count, sizeof count);
            continue;
        }
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            ws_peer_in(p);
        if (events[i].events & EPOLLOUT)
            ws_peer_out(p);
        after(h, p);
    }
}

/* What came since the last turn is sent at once when there was a pause, else with the next flush.
 */
static void look_at_news(struct ws_hall *h, bool rung, int64_t now) {
    if (rung && h->flush_at == NO_DEADLINE)
        h->flush_at = h->flushed + WS_FLUSH_MS;
    bool at_once = atomic_exchange(&h->at_once, false), due = now >= h->flush_at;
    if (due) {
        h->flush_at = NO_DEADLINE;
        h->flushed = now;
    }
    if (due || at_once)
        flush(h, due);
}

static int wait_ms(struct ws_hall *h) {
    if (atomic_load(&h->at_once))
        return 0;
    int64_t at = h->flush_at < h->tick_at ? h->flush_at : h->tick_at;
    return clock_wait_ms(h->o.clock, at, TICK_MS);
}

static void turn(struct ws_hall *h) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(h->epoll_fd, events, EVENTS_AT_ONCE, wait_ms(h));
    int64_t now = clock_mono(h->o.clock);
    atomic_store_explicit(&h->beat, now, memory_order_relaxed);
    look_at_sockets(h, events, n);
    bool rung = atomic_exchange(&h->rung, false); /* before looking at what it may stand for */
    take_in(h);
    if (atomic_load(&h->quiet) && !h->said_goodbye)
        say_goodbye(h);
    look_at_news(h, rung, now);
    if (now >= h->tick_at) {
        h->tick_at = now + TICK_MS;
        tick(h);
    }
}

/* Nobody is asked any more; errands are back when the query threads have stopped. */
static void cut_all(struct ws_hall *h) {
    for (struct ws_peer *p = h->peers, *next; p; p = next) {
        next = p->next;
        leave(h, p);
    }
}

static void *run(void *arg) {
    struct ws_hall *h = arg;
    while (!atomic_load(&h->ended))
        turn(h);
    pthread_mutex_lock(&h->lock);
    h->closed = true;
    pthread_mutex_unlock(&h->lock);
    take_in(h);
    cut_all(h);
    return NULL;
}

/* From outside ----------------------------------------------------------------------------------
 */

bool ws_hall_reserve(struct ws_hall *h) {
    if (atomic_load(&h->quiet))
        return false;
    if (atomic_fetch_add(&h->places, 1) < h->o.max_clients)
        return true;
    ws_hall_give_back(h);
    return false;
}

void ws_hall_give_back(struct ws_hall *h) {
    atomic_fetch_sub(&h->places, 1);
}

int ws_hall_count(struct ws_hall *h) {
    return atomic_load(&h->places);
}

int64_t ws_hall_beat(struct ws_hall *h) {
    return atomic_load_explicit(&h->beat, memory_order_relaxed);
}

void ws_hall_adopt(struct ws_hall *h, struct ws_ask *ask, int fd, struct str early,
                   const unsigned char *address) {
    struct ws_peer *p = ws_peer_new(&h->house, ask, fd, early);
    if (address) {
        memcpy(p->address, address, sizeof p->address);
        p->counted = true;
    }
    pthread_mutex_lock(&h->lock);
    bool taken = !h->closed;
    if (taken) {
        p->next = h->inbox;
        h->inbox = p;
    }
    pthread_mutex_unlock(&h->lock);
    if (taken) {
        ring(h);
        return;
    }
    if (p->counted)
        crowd_leave(h->o.web, p->address);
    ws_peer_free(p);
    ws_hall_give_back(h);
}

static int64_t given(int64_t value, int64_t otherwise) {
    return value ? value : otherwise;
}

static void free_hall(struct ws_hall *h) {
    if (h->epoll_fd >= 0)
        close(h->epoll_fd);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

enum verdict ws_hall_start(const struct ws_hall_options *o, struct ws_hall **ret, struct err *e) {
    struct ws_hall *h = xcalloc(1, sizeof *h);
    int64_t now = clock_mono(o->clock);
    h->o = *o;
    h->house = (struct ws_house){.clock = o->clock,
                                 .hub = o->hub,
                                 .ping_ms = given(o->ping_ms, WS_PING_MS),
                                 .slow_ms = given(o->slow_ms, WS_SLOW_MS),
                                 .close_ms = given(o->close_ms, WS_CLOSE_MS),
                                 .wake = wake,
                                 .send = send_errand,
                                 .arg = h};
    h->flush_at = NO_DEADLINE;
    h->flushed = now - WS_FLUSH_MS;
    h->tick_at = now;
    atomic_store(&h->beat, now);
    pthread_mutex_init(&h->lock, NULL);
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event ev = {.events = EPOLLIN};
    enum verdict v = V_OK;
    if (h->epoll_fd < 0 || h->wake_fd < 0 ||
        epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->wake_fd, &ev) < 0)
        v = err_set(e, V_FATAL, "http", errno, "cannot start the change feed: %s", strerror(errno));
    if (v == V_OK)
        v = thread_start(&h->thread, "feed-ws", run, h, e);
    if (v != V_OK)
        free_hall(h);
    else
        *ret = h;
    return v;
}

void ws_hall_quiet(struct ws_hall *h) {
    atomic_store(&h->quiet, true);
    ring(h);
}

void ws_hall_stop(struct ws_hall *h) {
    if (!h)
        return;
    atomic_store(&h->ended, true);
    ring(h);
    pthread_join(h->thread, NULL);
    free_hall(h);
}
