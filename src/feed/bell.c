#include "feed/feed_metrics.h"
#include "feed/reader_int.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define AGAIN_MS 5000       /* after a connection that could not be had */
#define DOUBT_MS 1000       /* a probe that is out for so long: look oneself */
#define DEAF_AGAIN_MS 60000 /* a new connection was deaf too: so is the next, most likely */

void bell_close(struct bell *b) {
    if (!b->store)
        return;
    store_close(b->store);
    b->store = NULL;
    b->heard = false;
    b->probed_at = -1;
    metric_set(&m_feed_listening, 0, 0);
}

int64_t bell_due(const struct bell *b) {
    if (!b->store)
        return b->open_at;
    int64_t late = b->probed_at < 0 ? NO_DEADLINE : b->probed_at + FEED_PROBE_LATE_MS;
    return late < b->probe_at ? late : b->probe_at;
}

bool bell_hears(const struct bell *b, int64_t now) {
    return b->heard && (b->probed_at < 0 || now < b->probed_at + DOUBT_MS);
}

static enum verdict bell_open(struct feed_reader *r, int64_t now, bool *ret_new, struct err *e) {
    struct bell *b = &r->bell;
    enum verdict v = store_open(r->o.store, &b->store, e);
    if (v == V_OK)
        v = store_feed_listen(b->store, e);
    if (v == V_OK) {
        b->probe_at = now; /* at once: a pooler shows itself before anyone relies on it */
        *ret_new = true;
        return V_OK;
    }
    store_close(b->store);
    b->store = NULL;
    b->open_at = now + AGAIN_MS;
    if (v == V_CONFLICT)
        return V_CONFLICT;
    metric_set(&m_feed_listening, 0, 0);
    return V_OK;
}

/* The first time another connection may do. */
static void give_up(struct bell *b, int64_t now) {
    bell_close(b);
    b->open_at = b->deaf++ ? now + DEAF_AGAIN_MS : now;
    metric_add(&m_feed_deaf, 0, 1);
}

enum verdict bell_tend(struct feed_reader *r, int64_t now, bool *ret_new, struct err *e) {
    struct bell *b = &r->bell;
    *ret_new = false;
    if (b->store && b->probed_at >= 0 && now >= b->probed_at + FEED_PROBE_LATE_MS)
        give_up(b, now);
    if (!b->store && now >= b->open_at) {
        enum verdict v = bell_open(r, now, ret_new, e);
        if (v != V_OK)
            return v;
    }
    if (!b->store || now < b->probe_at)
        return V_OK;
    b->probe_at = now + FEED_PROBE_MS;
    enum verdict v = store_feed_ring(r->store, e);
    if (v == V_OK && b->probed_at < 0)
        b->probed_at = now;
    return v;
}

/* Whoever rang: it hears. */
static void heard(struct feed_reader *r) {
    struct bell *b = &r->bell;
    int64_t now = clock_mono(r->o.clock);
    r->look_at = now;
    b->deaf = 0;
    b->heard = true;
    metric_set(&m_feed_listening, 0, 1);
    if (b->probed_at < 0)
        return;
    metric_set(&m_feed_probe, 0, now - b->probed_at);
    b->probed_at = -1;
}

static void quieten(int fd) {
    uint64_t n;
    while (read(fd, &n, sizeof n) < 0 && errno == EINTR)
        ;
}

void reader_wait(struct feed_reader *r, int wait_ms) {
    bool rung = false;
    struct err e;
    if (!r->bell.store) {
        struct pollfd p = {.fd = r->wake_fd, .events = POLLIN};
        poll(&p, 1, wait_ms);
    } else if (store_feed_wait(r->bell.store, r->wake_fd, wait_ms, &rung, &e) != V_OK) {
        bell_close(&r->bell);
        r->bell.open_at = clock_mono(r->o.clock);
    }
    quieten(r->wake_fd);
    if (rung)
        heard(r);
}
