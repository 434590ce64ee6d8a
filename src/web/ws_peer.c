#include "web/ws_peer.h"

#include "web/feed_frames.h"
#include "web/ws_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 8           /* of filling and sending in one step: some 2 MiB */
#define PAGE_AGAIN_MS 1000 /* after a page that could not be read */
#define REASON_MAX 123     /* of a close frame */

static const char *const state_names[] = {"waiting", "open", "closing", "ending", "done"};
#define TO(s) (1u << WS_##s)
static const uint32_t state_next[] = {
    TO(OPEN) | TO(CLOSING) | TO(DONE), /* waiting */
    TO(CLOSING) | TO(DONE),            /* open */
    TO(ENDING) | TO(DONE),             /* closing */
    TO(DONE),                          /* ending */
    0,                                 /* done */
};
const struct fsm ws_fsm = {"WebSocket client", state_names, state_next, WS_STATES};

static int64_t now_of(const struct ws_peer *p) {
    return clock_mono(p->house->clock);
}

static void become(struct ws_peer *p, enum ws_state to) {
    struct err e;
    if (p->state == to)
        return;
    if (fsm_check(&ws_fsm, (int)p->state, (int)to, &e) != V_OK)
        abort(); /* only this file changes it */
    p->state = to;
}

static void end_as(struct ws_peer *p, enum ws_end end) {
    if (!p->ended)
        p->end = end;
    p->ended = true;
}

enum verdict ws_ask_read(struct str since, struct str tables, struct str actions,
                         struct ws_ask *ret, struct err *e) {
    struct ws_ask a = {.since = {0, -1}};
    if (since.p && !feed_id_parse(since, &a.since))
        return err_set(e, V_INVALID, "http", 0,
                       "since is '%.*s'; give the id of the last event, EPOCH-POSITION",
                       since.n > 40 ? 40 : (int)since.n, since.p);
    if (tables.p) {
        a.tables = xmalloc(tables.n + 1);
        memcpy(a.tables, tables.p, tables.n);
        a.tables[tables.n] = '\0';
        tables.p = a.tables;
    }
    enum verdict v = feed_filter_read(tables, actions, &a.filter, e);
    if (v == V_OK)
        *ret = a;
    else
        free(a.tables);
    return v;
}

void ws_ask_release(struct ws_ask *a) {
    free(a->tables);
    a->tables = NULL;
}

static void woken(void *peer) {
    struct ws_peer *p = peer;
    atomic_store(&p->news, true);
    p->house->wake(p->house->arg, false);
}

static enum verdict read_page(struct errand *x, struct store *s, struct err *e) {
    struct ws_peer *p = (struct ws_peer *)((char *)x - offsetof(struct ws_peer, errand));
    return feed_client_page(p->client, s, e);
}

static void page_read(struct errand *x, enum verdict v, const struct err *e UNUSED) {
    struct ws_peer *p = (struct ws_peer *)((char *)x - offsetof(struct ws_peer, errand));
    const struct ws_house *house = p->house;
    p->read_at = v == V_OK ? 0 : now_of(p) + PAGE_AGAIN_MS;
    atomic_store(&p->returned, true); /* from here on it may be gone */
    house->wake(house->arg, true);
}

struct ws_peer *ws_peer_new(const struct ws_house *house, struct ws_ask *ask, int fd,
                            struct str early) {
    struct ws_peer *p = xcalloc(1, sizeof *p);
    p->house = house;
    p->fd = fd;
    p->ask = *ask;
    ask->tables = NULL;
    p->errand = (struct errand){.run = read_page, .done = page_read};
    p->wslay = ws_wire_new(p);
    ws_out_init(&p->out, p->ask.since);
    if (early.n) {
        p->early = xmalloc(early.n);
        memcpy(p->early, early.p, early.n);
        p->early_n = early.n;
    }
    p->moved_at = now_of(p);
    p->ping_at = p->moved_at + house->ping_ms;
    return p;
}

void ws_peer_free(struct ws_peer *p) {
    if (!p)
        return;
    if (p->client)
        feed_leave(p->client);
    ws_wire_free(p->wslay);
    ws_out_release(&p->out);
    ws_ask_release(&p->ask);
    free(p->early);
    close(p->fd);
    free(p);
}

static void greet(struct ws_peer *p, const struct feed_state *st) {
    CLEANUP(strbuf_release) struct strbuf b;
    struct feed_id cursor = feed_client_cursor(p->client);
    struct feed_state told = *st;
    if (p->ask.since.pos < 0)
        told.head = cursor.pos; /* what came since it joined is still to be told */
    strbuf_init(&b, WS_TEXT_MAX);
    feed_add_hello(&b, &told);
    ws_out_text(&p->out, strbuf_str(&b), cursor);
}

/* As soon as the feed stands. */
static void join(struct ws_peer *p) {
    struct feed_state st;
    if (!feed_hub_ready(p->house->hub, &st))
        return;
    const struct feed_join j = {
        .since = p->ask.since, .filter = p->ask.filter, .wake = woken, .connection = p};
    p->client = feed_join(p->house->hub, &j);
    if (!p->client) {
        ws_peer_close(p, WS_END_FULL, "too many clients");
        return;
    }
    become(p, WS_OPEN);
    greet(p, &st);
}

static void tell_gap(struct ws_peer *p, const struct feed_taken *t) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, WS_TEXT_MAX);
    feed_add_gap(&b, t->from, t->to);
    ws_out_text(&p->out, strbuf_str(&b), t->to);
}

/* Who had everything and now stands behind the ring with a full socket cannot keep up. Who never
 * had everything reads as fast as it can, at nobody's cost. */
static void want_page(struct ws_peer *p) {
    if (p->live && p->blocked) {
        ws_peer_close(p, WS_END_SLOW, "too slow");
        return;
    }
    if (now_of(p) < p->read_at)
        return; /* the last one could not be read */
    atomic_store(&p->returned, false);
    p->reading = p->house->send(p->house->arg, &p->errand);
}

/* One event or what else there is. False: nothing for now. */
static bool take_one(struct ws_peer *p) {
    struct feed_taken t;
    switch (feed_take(p->client, &t)) {
    case FEED_EVENT:
        ws_out_event(&p->out, t.event);
        return true;
    case FEED_GAP:
        tell_gap(p, &t);
        return true;
    case FEED_READ:
        want_page(p);
        return false;
    case FEED_OVER:
        ws_peer_close(p, WS_END_STOP, "the server stops");
        return false;
    case FEED_NOTHING:
        break;
    }
    p->live = true;
    return false;
}

/* False: there is nothing more to be had now. */
static bool fill(struct ws_peer *p) {
    while (p->state == WS_OPEN && !p->reading && ws_out_room(&p->out))
        if (!take_one(p))
            return false;
    return p->state == WS_OPEN && !p->reading;
}

static void hang_up(struct ws_peer *p) {
    end_as(p, WS_END_CLIENT);
    become(p, WS_DONE);
}

/* After the last byte: both have said goodbye, or the peer is not listened to any more. The end of
 * our side tells it to hang up; closing at once might take the last frame along. */
static void settle(struct ws_peer *p) {
    if (p->state != WS_CLOSING || !ws_out_empty(&p->out) || ws_wire_pending(p->wslay))
        return;
    if (ws_wire_reads(p->wslay))
        return;
    shutdown(p->fd, SHUT_WR);
    become(p, WS_ENDING);
}

static void send_some(struct ws_peer *p) {
    enum ws_flush f;
    do {
        size_t n;
        ws_wire_control(p->wslay);
        f = ws_out_flush(&p->out, p->fd, &n);
        if (n || f == WS_SENT)
            p->moved_at = now_of(p);
    } while (f == WS_SENT && ws_wire_pending(p->wslay));
    p->blocked = f == WS_BLOCKED;
    if (f == WS_BROKEN)
        hang_up(p);
}

static void take_back(struct ws_peer *p) {
    if (p->reading && atomic_load(&p->returned))
        p->reading = false;
}

void ws_peer_out(struct ws_peer *p) {
    bool more = true;
    take_back(p);
    if (p->state == WS_WAITING)
        join(p);
    for (int i = 0; i < ROUNDS && more && p->state < WS_ENDING; i++) {
        more = fill(p);
        send_some(p);
        more &= !p->blocked;
    }
    p->more = more && p->state == WS_OPEN;
    settle(p);
}

/* It said goodbye, or wslay does for it because of what it sent. */
static void follow_wire(struct ws_peer *p) {
    if (p->state > WS_OPEN || ws_wire_reads(p->wslay))
        return;
    end_as(p, ws_wire_closed(p->wslay) ? WS_END_CLIENT : WS_END_PROTOCOL);
    (void)ws_out_cut(&p->out);
    p->close_by = now_of(p) + p->house->close_ms;
    become(p, WS_CLOSING);
}

static void drain(struct ws_peer *p) {
    char waste[4096];
    ssize_t n = recv(p->fd, waste, sizeof waste, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        become(p, WS_DONE);
}

void ws_peer_in(struct ws_peer *p) {
    if (p->state == WS_DONE)
        return;
    if (p->state == WS_ENDING) {
        drain(p);
        return;
    }
    if (!ws_wire_read(p)) {
        hang_up(p);
        return;
    }
    follow_wire(p);
    send_some(p); /* pongs do not wait for events */
    settle(p);
}

static struct feed_id cut(struct ws_peer *p) {
    bool all_sent = p->out.n == 0;
    struct feed_id cursor = ws_out_cut(&p->out);
    return all_sent && p->client && !p->reading ? feed_client_cursor(p->client) : cursor;
}

void ws_peer_close(struct ws_peer *p, enum ws_end end, const char *why) {
    static const uint16_t codes[] = {
        [WS_END_CLIENT] = 1000, [WS_END_PROTOCOL] = 1002, [WS_END_SLOW] = 1013,
        [WS_END_SILENT] = 1011, [WS_END_FULL] = 1013,     [WS_END_STOP] = 1001};
    char reason[REASON_MAX + 1], id[FEED_ID_MAX];
    if (p->state > WS_OPEN)
        return;
    end_as(p, end);
    struct feed_id cursor = cut(p);
    feed_id_format(cursor, id);
    snprintf(reason, sizeof reason, cursor.pos < 0 ? "%.60s" : "%.60s; go on with since=%s", why,
             id);
    ws_wire_close(p->wslay, codes[end], str_of(reason));
    p->close_by = now_of(p) + p->house->close_ms;
    become(p, WS_CLOSING);
}

/* A greeting that had to wait, a page to be tried again, what was queued here. News are not: they
 * are gathered, and who looked for them with each tick would send them one by one. */
static bool is_due(const struct ws_peer *p, int64_t now) {
    if (p->state == WS_WAITING)
        return true;
    bool again = !p->reading && p->read_at && now >= p->read_at;
    return again || (!p->blocked && (!ws_out_empty(&p->out) || ws_wire_pending(p->wslay)));
}

void ws_peer_tick(struct ws_peer *p) {
    int64_t now = now_of(p);
    if (p->state == WS_CLOSING || p->state == WS_ENDING) {
        if (now >= p->close_by)
            become(p, WS_DONE);
        return;
    }
    if (p->state == WS_DONE)
        return;
    if (p->blocked && now - p->moved_at >= p->house->slow_ms) {
        ws_peer_close(p, WS_END_SLOW, "too slow");
    } else if (now >= p->ping_at && !p->blocked) {
        bool late = p->pinged && !p->heard;
        if (late)
            ws_peer_close(p, WS_END_SILENT, "no answer to a ping");
        else
            ws_wire_ping(p->wslay);
        p->pinged = true;
        p->heard = false;
        p->ping_at = now + p->house->ping_ms;
    }
    if (is_due(p, now))
        ws_peer_out(p);
}

bool ws_peer_is_over(const struct ws_peer *p) {
    return p->state == WS_DONE && (!p->reading || atomic_load(&p->returned));
}

bool ws_peer_wants_in(const struct ws_peer *p) {
    if (p->state == WS_ENDING)
        return true;
    return p->state < WS_ENDING && ws_wire_reads(p->wslay) && !ws_wire_crowded(p->wslay);
}

bool ws_peer_wants_out(const struct ws_peer *p) {
    return p->state < WS_ENDING && p->blocked;
}
