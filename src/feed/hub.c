#include "feed/hub.h"

#include "feed/hub_int.h"

#include <stdlib.h>

struct feed_hub *feed_hub_new(size_t max_clients) {
    struct feed_hub *h = xcalloc(1, sizeof *h);
    h->max_clients = max_clients;
    h->ring = xcalloc(FEED_RING_EVENTS, sizeof(struct feed_event *));
    h->first = 1;
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

/* With the lock held. */
static void evict(struct feed_hub *h) {
    struct feed_event *ev = hub_at(h, h->first);
    h->ring_bytes -= ev->json.n;
    h->first++;
    feed_event_drop(ev);
}

void hub_empty_ring(struct feed_hub *h, int64_t end) {
    while (h->first <= h->end)
        evict(h);
    h->end = end;
    h->first = end + 1;
    h->flushed = end;
}

void feed_hub_free(struct feed_hub *h) {
    if (!h)
        return;
    hub_empty_ring(h, 0);
    topic_set_drop(h->topics);
    pthread_mutex_destroy(&h->lock);
    free(h->ring);
    free(h);
}

static void wake(struct feed_client *c) {
    if (!c->waiting)
        return;
    c->waiting = false;
    c->wake(c->connection);
}

void hub_wake_all(struct feed_hub *h) {
    for (struct feed_client *c = h->clients; c; c = c->next)
        wake(c);
}

void feed_hub_stop(struct feed_hub *h) {
    pthread_mutex_lock(&h->lock);
    h->stopped = true;
    hub_wake_all(h);
    pthread_mutex_unlock(&h->lock);
}

/* The database lives another life now, and has of the old one what lies up to `common`. */
static void enter_epoch(struct feed_client *c, int64_t epoch, int64_t common) {
    client_drop_page(c);
    if (!c->placed)
        return;
    if (c->in_gap) {
        c->gap_to = (struct feed_id){epoch, c->gap_to.pos < common ? c->gap_to.pos : common};
    } else if (c->at.pos > common) {
        c->in_gap = true;
        c->gap_to = (struct feed_id){epoch, common};
    } else {
        c->at.epoch = epoch;
    }
}

/* What was public when it was read may not be any more: only the log knows. */
static void hide(struct feed_hub *h) {
    hub_empty_ring(h, h->end);
    for (struct feed_client *c = h->clients; c; c = c->next)
        if (c->filter.public_only)
            client_drop_page(c);
}

/* "From now on" begins when the reader stands. */
static void place_newcomers(struct feed_hub *h) {
    for (struct feed_client *c = h->clients; c; c = c->next)
        if (!c->placed && c->at.pos < 0) {
            c->at = (struct feed_id){h->state.epoch, h->end};
            c->placed = true;
        }
}

void feed_hub_state(struct feed_hub *h, const struct feed_state *st, int64_t common_pos) {
    pthread_mutex_lock(&h->lock);
    bool first = !h->ready, other = h->ready && st->epoch != h->state.epoch;
    bool hidden = h->ready && st->retired != h->state.retired;
    h->state = *st;
    if (first) {
        h->ready = true;
        hub_empty_ring(h, st->head);
        place_newcomers(h);
    } else if (other) {
        topic_set_drop(h->topics); /* versions may come again, too */
        h->topics = NULL;
        hub_empty_ring(h, h->end < common_pos ? h->end : common_pos);
        for (struct feed_client *c = h->clients; c; c = c->next)
            enter_epoch(c, st->epoch, common_pos);
    } else if (hidden) {
        hide(h);
    }
    bool lost = st->oldest > h->end + 1; /* pruned before it was read */
    if (lost)
        hub_empty_ring(h, st->oldest - 1);
    if (first || other || lost || hidden)
        hub_wake_all(h);
    pthread_mutex_unlock(&h->lock);
}

bool feed_hub_ready(struct feed_hub *h, struct feed_state *ret) {
    pthread_mutex_lock(&h->lock);
    bool ready = h->ready;
    if (ready) {
        *ret = h->state;
        ret->head = h->end;
        if (ret->oldest > ret->head + 1)
            ret->oldest = ret->head + 1;
    }
    pthread_mutex_unlock(&h->lock);
    return ready;
}

/* With the lock held. Who waits and wants none of what is new moves on with the ring: else it would
 * fall out of it, and read from the database what it never wanted. */
static void flush(struct feed_hub *h) {
    for (struct feed_client *c = h->clients; c; c = c->next) {
        if (!c->waiting || !c->placed || c->in_gap || c->page)
            continue;
        if (!hub_holds_next(h, c) || hub_skip(h, c))
            wake(c);
    }
    h->flushed = h->end;
}

void feed_hub_flush(struct feed_hub *h) {
    pthread_mutex_lock(&h->lock);
    if (h->flushed < h->end)
        flush(h);
    pthread_mutex_unlock(&h->lock);
}

static bool ring_is_full(const struct feed_hub *h, size_t more) {
    if (h->first > h->end)
        return false;
    return h->end - h->first + 1 == FEED_RING_EVENTS || h->ring_bytes + more > FEED_RING_BYTES;
}

void feed_hub_add(struct feed_hub *h, struct feed_event *ev) {
    pthread_mutex_lock(&h->lock);
    if (ev->id.pos != h->end + 1)
        hub_empty_ring(h, ev->id.pos - 1);
    while (ring_is_full(h, ev->json.n)) {
        if (h->first > h->flushed)
            flush(h);
        evict(h);
    }
    h->end = ev->id.pos;
    h->ring[h->end % FEED_RING_EVENTS] = feed_event_keep(ev);
    h->ring_bytes += ev->json.n;
    h->counts.added++;
    pthread_mutex_unlock(&h->lock);
}

void feed_hub_count(struct feed_hub *h, struct feed_counts *ret) {
    pthread_mutex_lock(&h->lock);
    *ret = h->counts;
    ret->ring_events = (size_t)(h->end - h->first + 1);
    ret->ring_bytes = h->ring_bytes;
    pthread_mutex_unlock(&h->lock);
}
