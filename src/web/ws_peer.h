/* One WebSocket client of the change feed, from the upgrade to the end of its connection: greets
 * it, takes events for it from the hub as its socket takes them, answers pings and sends its own,
 * and says goodbye with a cursor. What comes in is read by wslay; what goes out is in ws_out.h.
 * Belongs to one thread, the feed-ws thread of ws.c; only its two flags are set by others. Its
 * steps need neither thread nor epoll, and take the time from a clock. */
#ifndef TAIN_WEB_WS_PEER_H
#define TAIN_WEB_WS_PEER_H

#include "base/clock.h"
#include "base/fsm.h"
#include "feed/hub.h"
#include "web/errand.h"
#include "web/ws_out.h"

#define WS_PING_MS 30000
#define WS_SLOW_MS 10000    /* the socket has taken nothing for so long, and there is something */
#define WS_CLOSE_MS 30000   /* for the end of a connection: ours and the peer's close frame */
#define WS_MESSAGE_MAX 4096 /* of what comes in; there is nothing to be said */

enum ws_state {
    WS_WAITING, /* the feed does not stand yet; nothing was said */
    WS_OPEN,    /* it was greeted, and gets events */
    WS_CLOSING, /* a close frame is the last that goes out */
    WS_ENDING,  /* all is said on both sides; the peer hangs up */
    WS_DONE,
    WS_STATES
};
extern const struct fsm ws_fsm;

/* Why it ended, for figures; the first reason counts. */
enum ws_end {
    WS_END_CLIENT,   /* it said goodbye, or hung up */
    WS_END_PROTOCOL, /* it broke the rules, or sent too much */
    WS_END_SLOW,
    WS_END_SILENT, /* it did not answer a ping */
    WS_END_FULL,
    WS_END_STOP,
    WS_ENDS
};

/* What a client asked for; its own copy of the names. */
struct ws_ask {
    struct feed_id since; /* pos -1: from now on */
    struct feed_filter filter;
    char *tables;
};
/* V_INVALID: names the parameter, and what it may be. Absent texts ask for everything. */
MUST_CHECK enum verdict ws_ask_read(struct str since, struct str tables, struct str actions,
                                    struct ws_ask *ret, struct err *e);
void ws_ask_release(struct ws_ask *a);

struct ws_peer;

/* What all peers share; outlives them. */
struct ws_house {
    const struct clock *clock;
    struct feed_hub *hub;
    int64_t ping_ms, slow_ms, close_ms;
    /* Something came for a peer, so look at them, soon or at once; any thread, must not block. */
    void (*wake)(void *arg, bool at_once);
    /* Has the errand run on a thread with a store. False: the server stops. */
    bool (*send)(void *arg, struct errand *x);
    void *arg;
};

struct ws_peer {
    const struct ws_house *house;
    int fd;
    enum ws_state state;
    enum ws_end end;
    bool ended; /* there is a reason */
    struct ws_ask ask;
    struct wslay_event_context *wslay;
    struct ws_out out;
    struct feed_client *client; /* NULL: not joined yet, or left */
    char *early;                /* what came before the upgrade was done */
    size_t early_n, early_at;
    size_t quota; /* bytes that may still be read in this step */

    atomic_bool news;     /* the hub has something */
    atomic_bool returned; /* the errand is back */
    struct errand errand;
    bool gone;          /* the socket says that the peer is */
    bool reading;       /* it is out */
    bool live;          /* it had everything once */
    bool blocked;       /* the socket takes no more */
    bool more;          /* there was more to send than one step may */
    bool pinged, heard; /* a ping is out; something came since */
    int64_t moved_at;   /* when the socket took something */
    int64_t ping_at, close_by, read_at;
    uint64_t told; /* frames that were counted by ws.c, */
    bool told_end; /* and its end */

    /* ws.c: its list, and what epoll watches */
    struct ws_peer *prev, *next;
    unsigned watched;
    unsigned char address[16];
    bool counted;
};

/* Takes over the descriptor, which does not block, and the ask. */
struct ws_peer *ws_peer_new(const struct ws_house *house, struct ws_ask *ask, int fd,
                            struct str early);
void ws_peer_free(struct ws_peer *p); /* its errand must be back; NULL is fine */

void ws_peer_in(struct ws_peer *p);   /* there is something to read */
void ws_peer_out(struct ws_peer *p);  /* takes what is there for it, and sends */
void ws_peer_tick(struct ws_peer *p); /* what is due by the clock */
/* Says goodbye. `why` is followed by the cursor; at most 60 bytes. */
void ws_peer_close(struct ws_peer *p, enum ws_end end, const char *why);
/* May be freed. */
bool ws_peer_is_over(const struct ws_peer *p);
bool ws_peer_wants_in(const struct ws_peer *p);
bool ws_peer_wants_out(const struct ws_peer *p);

#endif
