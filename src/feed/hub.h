/* The fan-out of one process: the latest changes in a ring, and who listens. A client stands at a
 * position; what is in the ring it takes from there, what is older it reads from the database in
 * pages, on a thread that may wait (feed_client_page), until it has caught up with the ring. So
 * memory is bounded, nobody holds up anybody, and nothing is skipped: the positions of what a
 * client gets have no holes but those its filter makes. Knows nothing of HTTP. Any thread; one
 * lock. */
#ifndef TAIN_FEED_HUB_H
#define TAIN_FEED_HUB_H

#include "feed/event.h"

#define FEED_RING_EVENTS 16384
/* One event at least stays, whatever its size. */
#define FEED_RING_BYTES ((size_t)16 * 1024 * 1024)
#define FEED_PAGE_EVENTS 2000
#define FEED_PAGE_BYTES ((size_t)1024 * 1024)

struct feed_hub;
struct feed_client;

/* Called under the hub's lock, on any thread: there is something for this client now. Must not
 * block, and must not call the hub. */
typedef void feed_wake_fn(void *connection);

struct feed_hub *feed_hub_new(size_t max_clients);
/* Everyone is woken and told FEED_OVER from here on. */
void feed_hub_stop(struct feed_hub *h);
void feed_hub_free(struct feed_hub *h); /* all clients have left; NULL is fine */

/* The reader's side, one thread. The state of the log, before the first event and whenever it
 * changed; false from feed_hub_ready() until then. A new epoch empties the ring, and clients that
 * stood beyond what both lives have get a gap. */
void feed_hub_state(struct feed_hub *h, const struct feed_state *st, int64_t common_pos);
bool feed_hub_ready(struct feed_hub *h, struct feed_state *ret);
/* The next event; its position is the one behind the last, or the ring begins anew with it. Keeps a
 * reference of its own. */
void feed_hub_add(struct feed_hub *h, struct feed_event *ev);
/* Wakes those for whom something was added since the last time: once per batch. */
void feed_hub_flush(struct feed_hub *h);

struct feed_join {
    struct feed_id since; /* pos -1: from now on */
    struct feed_filter filter;
    feed_wake_fn *wake;
    void *connection;
};
/* NULL: max_clients are there, or it stops. Before the reader stands (feed_hub_ready) a client may
 * join and waits; it is woken when it does. Who greets with the head says what feed_client_cursor()
 * says after joining: what came in between is not lost then. The texts of the filter must outlive
 * the client. */
struct feed_client *feed_join(struct feed_hub *h, const struct feed_join *j);
/* Not while another thread is in a call for this client. It is not woken any more from here on. */
void feed_leave(struct feed_client *c);

enum feed_next {
    FEED_EVENT, /* *ret is the client's own reference */
    FEED_GAP,   /* told once: what is behind `from`, up to and with `to`, cannot be had. The client
                   stands at `to` now. After a new epoch `to` may be before `from`: what it got
                   since then has been lost by the database */
    FEED_NOTHING, /* it will be woken */
    FEED_READ,    /* call feed_client_page() on a thread with a store, then ask again */
    FEED_OVER,    /* the hub has stopped */
};
struct feed_taken {
    struct feed_event *event;
    struct feed_id from, to; /* of a gap */
};
enum feed_next feed_take(struct feed_client *c, struct feed_taken *ret);
/* Reads the next page of what is older than the ring, or finds out where the client stands. Not
 * while feed_take() of the same client runs on another thread. V_RETRY, or whatever else the store
 * says: nothing has changed, the client may come back later. */
MUST_CHECK enum verdict feed_client_page(struct feed_client *c, struct store *s, struct err *e);
/* Where it stands: behind everything it took or its filter passed over. pos is -1 as long as the
 * reader does not stand and the client asked for "from now on". */
struct feed_id feed_client_cursor(const struct feed_client *c);
/* What it asked for. Lives as long as the client. */
const struct feed_filter *feed_client_filter(const struct feed_client *c);

struct feed_counts {
    size_t clients, ring_events, ring_bytes;
    uint64_t joined, refused, added, taken, gaps, pages;
};
void feed_hub_count(struct feed_hub *h, struct feed_counts *ret);

#endif
