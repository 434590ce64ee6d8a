#include "mirror/live_int.h"

#include "mirror/metrics.h"

#include <stdio.h>

#define MAXITEM_BODY_MAX 256
#define MEASURES_MAX 3
#define MEASURE_AGAIN_MS 500

static void init_errand(struct live *l, struct errand *a, const char *path, size_t max) {
    a->call = (struct call){.letter = LETTER_CALL, .reply = &l->mailbox, .retry_after_ms = -1};
    snprintf(a->call.path, sizeof a->call.path, "%s", path);
    strbuf_init(&a->call.body, max);
}

void live_errands_init(struct live *l) {
    init_errand(l, &l->ask, "/maxitem.json", MAXITEM_BODY_MAX);
    init_errand(l, &l->poll_maxitem, "/maxitem.json", MAXITEM_BODY_MAX);
    init_errand(l, &l->poll_updates, "/updates.json", LIVE_EVENT_MAX);
}

void live_errands_release(struct live *l) {
    strbuf_release(&l->ask.call.body);
    strbuf_release(&l->poll_maxitem.call.body);
    strbuf_release(&l->poll_updates.call.body);
}

bool live_errands_out(const struct live *l) {
    return l->ask.out || l->poll_maxitem.out || l->poll_updates.out;
}

static bool lend(struct live *l, struct errand *a) {
    strbuf_clear(&a->call.body);
    a->call.retry_after_ms = -1;
    a->out = calls_send(l->o.calls, &a->call);
    return a->out;
}

/* The number in the answer; 0 when there is none. */
static int64_t read_maxitem(const struct call *c) {
    int64_t n = 0;
    struct str s = strbuf_str(&c->body);
    if (c->cancelled || c->cls != NET_OK || c->body.overflow)
        return 0;
    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == ' '))
        s.n--;
    return str_to_i64(s, &n) && n > 0 ? n : 0;
}

static const char *failure(const struct call *c) {
    return c->cancelled       ? "maxitem was not asked for"
           : c->cls == NET_OK ? "its maxitem is not believed"
           : c->detail[0]     ? c->detail
                              : net_class_name(c->cls);
}

static enum verdict on_asked(struct live *l, struct err *e) {
    struct call *c = &l->ask.call;
    int64_t maxitem = read_maxitem(c);
    bool measuring = l->state == LIVE_MEASURING;
    if (maxitem == 0 || !tidings_maxitem(l->o.tidings, maxitem)) {
        if (!measuring || ++l->measures >= MEASURES_MAX)
            return live_lose(l, failure(c), c->cancelled ? -1 : c->retry_after_ms, e);
        l->ask_at = live_now(l) + MEASURE_AGAIN_MS;
        return V_OK;
    }
    if (measuring)
        return live_measured(l, maxitem, e);
    if (l->mark == 0)
        l->mark = maxitem;
    return live_connect(l, e);
}

enum verdict live_ask(struct live *l, struct err *e) {
    if (l->ask.out || live_now(l) < l->ask_at)
        return V_OK;
    if (lend(l, &l->ask))
        return V_OK;
    l->ask.call.cancelled = true;
    return on_asked(l, e);
}

/* Opening may take as long as the watchdog lets it: that is no time to be blind, either. */
static bool polls(const struct live *l) {
    return l->state == LIVE_DOWN || l->state == LIVE_ASKING || l->state == LIVE_OPENING;
}

int64_t live_poll_due(const struct live *l) {
    bool busy = l->poll_maxitem.out || l->poll_updates.out || live_has_named(l);
    return polls(l) && !busy ? l->next_poll : NO_DEADLINE;
}

void live_poll(struct live *l) {
    int64_t now = live_now(l);
    if (now < live_poll_due(l))
        return;
    l->last_poll = now;
    l->next_poll = now + l->o.poll_ms;
    if (lend(l, &l->poll_updates))
        (void)lend(l, &l->poll_maxitem);
}

static void put_off(struct live *l, const struct call *c) {
    int64_t wait =
        c->retry_after_ms < LIVE_LONGEST_REQUEST_MS ? c->retry_after_ms : LIVE_LONGEST_REQUEST_MS;
    if (!c->cancelled && c->cls != NET_OK && live_now(l) + wait > l->next_poll)
        l->next_poll = live_now(l) + wait;
}

static void on_polled_updates(struct live *l) {
    const struct call *c = &l->poll_updates.call;
    struct updates u;
    if (c->cancelled || c->cls != NET_OK || c->body.overflow)
        return;
    arena_reset(&l->arena);
    if (!updates_read_body(&l->arena, strbuf_str(&c->body), &u))
        return;
    metric_add(&m_polls, 0, 1);
    live_name(l, &u);
}

enum verdict live_answered(struct live *l, struct call *call, struct err *e) {
    struct errand *a = call == &l->ask.call            ? &l->ask
                       : call == &l->poll_maxitem.call ? &l->poll_maxitem
                                                       : &l->poll_updates;
    a->out = false;
    if (l->stopping)
        return V_OK;
    if (a == &l->ask)
        return on_asked(l, e);
    put_off(l, call);
    if (a == &l->poll_updates)
        on_polled_updates(l);
    else
        tidings_maxitem(l->o.tidings, read_maxitem(call));
    return V_OK;
}
