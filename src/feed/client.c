#include "feed/feed_int.h"
#include "feed/hub_int.h"

#include <stdlib.h>

/* Pages that lie with all clients together stay below this, roughly. */
#define PAGES_BYTES ((size_t)64 * 1024 * 1024)
#define PAGE_BYTES_LEAST ((size_t)64 * 1024)

void client_drop_page(struct feed_client *c) {
    while (c->page_at < c->page_n)
        feed_event_drop(c->page[c->page_at++]);
    free(c->page);
    c->page = NULL;
    c->page_n = c->page_at = 0;
}

/* With the lock held. */
static struct feed_client *link_client(struct feed_hub *h, const struct feed_join *j) {
    struct feed_client *c = xmalloc(sizeof *c);
    *c = (struct feed_client){
        .hub = h,
        .next = h->clients,
        .filter = j->filter,
        .wake = j->wake,
        .connection = j->connection,
        .at = j->since,
        .waiting = true,
    };
    if (h->ready && c->at.pos < 0) {
        c->at = (struct feed_id){h->state.epoch, h->end};
        c->placed = true;
    }
    if (h->clients)
        h->clients->prev = c;
    h->clients = c;
    h->counts.joined++;
    h->counts.clients++;
    return c;
}

struct feed_client *feed_join(struct feed_hub *h, const struct feed_join *j) {
    struct feed_client *c = NULL;
    pthread_mutex_lock(&h->lock);
    if (!h->stopped && h->counts.clients < h->max_clients)
        c = link_client(h, j);
    else
        h->counts.refused++;
    pthread_mutex_unlock(&h->lock);
    return c;
}

void feed_leave(struct feed_client *c) {
    struct feed_hub *h = c->hub;
    pthread_mutex_lock(&h->lock);
    if (c->prev)
        c->prev->next = c->next;
    else
        h->clients = c->next;
    if (c->next)
        c->next->prev = c->prev;
    h->counts.clients--;
    pthread_mutex_unlock(&h->lock);
    client_drop_page(c);
    free(c);
}

/* The hub knows where a cursor of this life stands, as long as it is not beyond what has been read;
 * of any other the database must say. */
static bool place_here(const struct feed_hub *h, struct feed_client *c) {
    if (!c->placed)
        c->placed = c->at.epoch == h->state.epoch && c->at.pos <= h->end;
    return c->placed;
}

static enum feed_next take_of_page(struct feed_client *c, struct feed_taken *ret) {
    ret->event = c->page[c->page_at++];
    c->at.pos = ret->event->id.pos;
    if (c->page_at == c->page_n) {
        c->at.pos = c->page_end;
        client_drop_page(c);
    }
    return FEED_EVENT;
}

static enum feed_next take_gap(struct feed_client *c, struct feed_taken *ret) {
    ret->from = c->at;
    ret->to = c->at = c->gap_to;
    c->in_gap = false;
    c->hub->counts.gaps++;
    return FEED_GAP;
}

/* With the lock held. */
static enum feed_next take(struct feed_hub *h, struct feed_client *c, struct feed_taken *ret) {
    if (h->stopped)
        return FEED_OVER;
    if (!h->ready)
        return FEED_NOTHING;
    if (h->state.epoch < c->awaits_epoch)
        return FEED_NOTHING;
    if (!place_here(h, c))
        return FEED_READ;
    if (c->in_gap)
        return take_gap(c, ret);
    if (c->page)
        return take_of_page(c, ret);
    if (!hub_holds_next(h, c))
        return FEED_READ;
    if (!hub_skip(h, c))
        return FEED_NOTHING;
    ret->event = feed_event_keep(hub_at(h, ++c->at.pos));
    return FEED_EVENT;
}

enum feed_next feed_take(struct feed_client *c, struct feed_taken *ret) {
    struct feed_hub *h = c->hub;
    *ret = (struct feed_taken){0};
    pthread_mutex_lock(&h->lock);
    enum feed_next next = take(h, c, ret);
    c->waiting = next == FEED_NOTHING;
    if (next == FEED_EVENT)
        h->counts.taken++;
    pthread_mutex_unlock(&h->lock);
    return next;
}

const struct feed_filter *feed_client_filter(const struct feed_client *c) {
    return &c->filter; /* nobody changes it */
}

struct feed_id feed_client_cursor(const struct feed_client *c) {
    pthread_mutex_lock(&c->hub->lock);
    struct feed_id at = c->at;
    pthread_mutex_unlock(&c->hub->lock);
    return at;
}

/* One page on its way: made without the lock, put to the client under it. */
struct reading {
    struct feed_id from; /* where the client stood when it began */
    bool placed;
    int64_t epoch, hub_first, hub_end; /* the hub's, then */
    size_t max_bytes;
    int64_t pos; /* the page begins behind it: from, or the end of a gap */
    bool gap;
    struct feed_event **events; /* those that the client wants */
    size_t n;
    int64_t end;        /* of the page */
    int64_t seen_epoch; /* the last that what was read belongs to; 0: nothing was */
};

static bool begin_reading(struct feed_client *c, struct reading *ret) {
    struct feed_hub *h = c->hub;
    pthread_mutex_lock(&h->lock);
    bool wanted =
        h->ready && !h->stopped && !c->in_gap && !c->page && (!c->placed || !hub_holds_next(h, c));
    *ret = (struct reading){
        .from = c->at,
        .placed = c->placed,
        .epoch = h->state.epoch,
        .hub_first = h->first,
        .hub_end = h->end,
        .max_bytes = PAGES_BYTES / h->counts.clients,
        .pos = c->at.pos,
        .end = c->at.pos,
    };
    pthread_mutex_unlock(&h->lock);
    if (ret->max_bytes > FEED_PAGE_BYTES)
        ret->max_bytes = FEED_PAGE_BYTES;
    if (ret->max_bytes < PAGE_BYTES_LEAST)
        ret->max_bytes = PAGE_BYTES_LEAST;
    return wanted;
}

static void miss(struct reading *r, int64_t up_to) {
    r->gap = true;
    r->pos = r->end = up_to;
}

static void keep_wanted(struct reading *r, const struct feed_filter *f,
                        const struct topic_set *topics, const struct feed_change *changes,
                        size_t n) {
    struct feed_marks marks;
    if (changes[0].pos != r->pos + 1) /* it was pruned while the client was on its way */
        miss(r, changes[0].pos - 1);
    r->end = changes[n - 1].pos;
    r->events = xcalloc(n, sizeof(struct feed_event *));
    for (size_t i = 0; i < n; i++) {
        const struct feed_change *c = &changes[i];
        topic_set_mark(topics, c, &marks);
        if (feed_filter_wants(f, c->schema, c->name, c->action, c->is_public, marks.names, marks.n))
            r->events[r->n++] = feed_event_of(c->epoch, c, &marks);
    }
}

/* Nothing was found where there was something. */
static enum verdict miss_all(struct reading *r, struct store *s, struct err *e) {
    struct feed_state st;
    enum verdict v = store_feed_state(s, &st, e);
    if (v != V_OK)
        return v;
    r->seen_epoch = st.epoch;
    if (st.epoch == r->epoch && st.oldest <= r->pos + 1)
        return err_set(e, V_RETRY, "feed", 0, "the log has not come as far as the reader");
    miss(r, st.oldest - 1); /* all of it was pruned */
    return V_OK;
}

/* Finds the place of a client that has none, and reads what the ring does not have. */
static enum verdict read_log(const struct feed_client *c, struct reading *r, struct store *s,
                             struct err *e) {
    const struct feed_change *changes;
    size_t n = 0;
    enum verdict v = V_OK;
    if (!r->placed) {
        v = store_feed_resolve(s, r->from, &r->pos, &r->gap, e);
        r->end = r->pos;
    }
    if (v != V_OK || r->pos + 1 >= r->hub_first)
        return v;
    CLEANUP(arena_release) struct arena a;
    arena_init(&a);
    v = store_feed_read(s, &a, r->pos, FEED_PAGE_EVENTS, r->max_bytes, &changes, &n, e);
    if (v != V_OK)
        return v;
    if (n == 0)
        return miss_all(r, s, e);
    struct topic_set *topics;
    v = hub_topics(c->hub, s, changes[n - 1].topics, &topics, e);
    if (v != V_OK)
        return v;
    r->seen_epoch = changes[n - 1].epoch;
    keep_wanted(r, &c->filter, topics, changes, n);
    topic_set_drop(topics);
    return V_OK;
}

/* With the lock held. */
static void give_page(struct feed_client *c, struct reading *r) {
    c->placed = true;
    c->in_gap = r->gap;
    c->gap_to = (struct feed_id){r->epoch, r->pos};
    if (!r->gap) /* else it stands where it stood until it has been told */
        c->at = (struct feed_id){r->epoch, r->n ? r->pos : r->end};
    if (r->n) {
        c->page = r->events;
        c->page_n = r->n;
        c->page_end = r->end;
        r->events = NULL;
        r->n = 0;
    }
    c->hub->counts.pages++;
}

/* What was read may be of a life that the hub does not know yet. The reader is about to see it too,
 * and then wakes the client. */
static void end_reading(struct feed_client *c, struct reading *r) {
    struct feed_hub *h = c->hub;
    pthread_mutex_lock(&h->lock);
    if (r->seen_epoch > r->epoch)
        c->awaits_epoch = r->seen_epoch;
    else if (h->state.epoch == r->epoch)
        give_page(c, r);
    pthread_mutex_unlock(&h->lock);
}

enum verdict feed_client_page(struct feed_client *c, struct store *s, struct err *e) {
    struct reading r;
    if (!begin_reading(c, &r))
        return V_OK;
    enum verdict v = read_log(c, &r, s, e);
    if (v == V_OK)
        end_reading(c, &r);
    for (size_t i = 0; i < r.n; i++)
        feed_event_drop(r.events[i]);
    free(r.events);
    return v;
}
