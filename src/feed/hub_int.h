/* The hub from inside: what hub.c (the reader's side) and client.c (the listeners') share. Every
 * field is guarded by the hub's lock, but what a client's page reads is the client's own. */
#ifndef TAIN_FEED_HUB_INT_H
#define TAIN_FEED_HUB_INT_H

#include "feed/hub.h"
#include "feed/topic_set.h"

#include <pthread.h>

struct feed_client {
    struct feed_hub *hub;
    struct feed_client *prev, *next;
    struct feed_filter filter;
    feed_wake_fn *wake;
    void *connection;
    struct feed_id at; /* of this life of the database, once it is placed */
    bool placed;       /* false: `at` is what the client said; pos -1: from now on */
    bool waiting;      /* it has been told FEED_NOTHING and not been woken */
    bool in_gap;       /* `at` to gap_to is still to be told */
    struct feed_id gap_to;
    int64_t awaits_epoch;     /* the database has one that the reader has not seen yet */
    struct feed_event **page; /* what was read for it: events page_at to page_n; may be NULL */
    size_t page_n, page_at;
    int64_t page_end; /* where it stands behind the page */
};

struct feed_hub {
    pthread_mutex_t lock;
    size_t max_clients;
    bool ready, stopped;
    struct feed_state state;
    /* Positions first to end, without a hole; of position p at ring[p % FEED_RING_EVENTS]. Empty
     * when first is end + 1. */
    struct feed_event **ring;
    int64_t first, end;
    size_t ring_bytes;
    int64_t flushed; /* those who wait have heard of everything up to here */
    struct feed_client *clients;
    struct topic_set *topics; /* by which changes are judged; NULL: there never was one */
    struct feed_counts counts;
};

static inline struct feed_event *hub_at(const struct feed_hub *h, int64_t pos) {
    return h->ring[pos % FEED_RING_EVENTS];
}
/* With the lock held: moves a client that stands in the ring to before the next event it wants.
 * False: there is none, it stands at the end. */
static inline bool hub_skip(const struct feed_hub *h, struct feed_client *c) {
    while (c->at.pos < h->end) {
        if (feed_filter_takes(&c->filter, hub_at(h, c->at.pos + 1)))
            return true;
        c->at.pos++;
    }
    return false;
}
static inline bool hub_holds_next(const struct feed_hub *h, const struct feed_client *c) {
    return c->at.pos + 1 >= h->first;
}
void client_drop_page(struct feed_client *c);
/* With the lock held: nothing is in the ring, which goes on behind `end`. */
void hub_empty_ring(struct feed_hub *h, int64_t end);
void hub_wake_all(struct feed_hub *h);
/* The set of this version, or of a later one, for changes that were read with it: the hub's own, or
 * read from the database and the hub's from here on. A reference of the caller's; NULL: there are
 * no topics. Not under the lock. */
MUST_CHECK enum verdict hub_topics(struct feed_hub *h, struct store *s, int64_t version,
                                   struct topic_set **ret, struct err *e);

#endif
