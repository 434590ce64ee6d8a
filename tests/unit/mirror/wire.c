#include "wire.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 300

static void nobody(void *unused UNUSED) {
}

static int64_t counter(enum wire_counter c) {
    const struct metric *const m[] = {&m_queue_full, &m_reconnects, &m_polls, &m_gap_ids,
                                      &m_gap_ids};
    return metric_get(m[c], c == BY_SEGMENTS ? GAP_SEGMENTS : 0);
}

int64_t wire_count(const struct wire *w, enum wire_counter c) {
    return counter(c) - w->before[c];
}

void wire_open(struct wire *w, size_t ids_cap, size_t names_cap) {
    log_setup(LOG_OFF, LOG_TEXT);
    memset(w, 0, sizeof *w);
    for (int i = 0; i < N_WIRE_COUNTERS; i++)
        w->before[i] = counter((enum wire_counter)i);
    clock_manual_init(&w->clock, MONO, DB_OFFSET + MONO);
    peer_open(&w->peer);
    w->ids = keyqueue_new(&(struct keyqueue_options){.clock = &w->clock, .cap = ids_cap});
    queue_init(&w->names, names_cap);
    queue_init(&w->to_writer, 4);
    queue_init(&w->calls.queue, 8);
    w->calls.wake = nobody;
    w->tidings.db_offset_ms = DB_OFFSET;
    assert_int_equal(stop_init(&w->stop, &w->e), V_OK);
    const struct live_options o = {.clock = &w->clock,
                                   .upstream = w->peer.root,
                                   .user_agent = "test",
                                   .connect_timeout_ms = 120000,
                                   .stream_timeout_ms = STREAM_TIMEOUT_MS,
                                   .outage_rescan_after_ms = OUTAGE_MS,
                                   .poll_ms = POLL_MS,
                                   .gap_queue_max = GAP_QUEUE_MAX,
                                   .segment_width = 10,
                                   .ids = w->ids,
                                   .names = &w->names,
                                   .calls = &w->calls,
                                   .to_writer = &w->to_writer,
                                   .tidings = &w->tidings,
                                   .stop = &w->stop,
                                   .seed = 1};
    assert_int_equal(live_new(&o, &w->l, &w->e), V_OK);
}

void wire_close(struct wire *w) {
    struct call *c;
    char *name;
    stop_raise(&w->stop);
    queue_close(&w->calls.queue);
    while ((c = queue_pop(&w->calls.queue, 0)))
        wire_cancel(w, c);
    for (int i = 0; i < ROUNDS && live_step(w->l, clock_mono(&w->clock), &w->e) != V_STOPPED; i++)
        ;
    live_free(w->l);
    while ((name = queue_pop(&w->names, 0)))
        free(name);
    keyqueue_free(w->ids);
    queue_release(&w->names);
    queue_release(&w->to_writer);
    queue_release(&w->calls.queue);
    stop_release(&w->stop);
    peer_close(&w->peer);
}

void wire_turn(struct wire *w) {
    enum verdict v = live_step(w->l, clock_mono(&w->clock), &w->e);
    if (v != V_OK)
        fail_msg("%s: %s", verdict_name(v), w->e.msg);
}

void wire_turns(struct wire *w, int n) {
    for (int i = 0; i < n; i++)
        wire_turn(w);
}

void wire_until(struct wire *w, enum live_state wanted) {
    for (int i = 0; i < ROUNDS && live_state(w->l) != wanted; i++)
        wire_turn(w);
    assert_string_equal(live_fsm.states[live_state(w->l)], live_fsm.states[wanted]);
}

void wire_pass(struct wire *w, int64_t ms) {
    for (int64_t done = 0, step; done < ms; done += step) {
        step = ms - done < 100 ? ms - done : 100;
        clock_advance(&w->clock, step);
        wire_turn(w);
    }
}

static struct call *next_call(struct wire *w) {
    struct call *c = queue_pop(&w->calls.queue, 0);
    for (int i = 0; !c && i < ROUNDS; i++) {
        wire_turn(w);
        c = queue_pop(&w->calls.queue, 0);
    }
    assert_non_null(c);
    assert_int_equal(c->id, 0);
    return c;
}

struct call *wire_call(struct wire *w, const char *path) {
    struct call *c = next_call(w);
    if (strcmp(path, "/maxitem.json") == 0 && strcmp(c->path, "/updates.json") == 0) {
        wire_fail(w, c, NET_TIMEOUT, -1); /* a poll, which goes together with another call */
        wire_fail(w, next_call(w), NET_TIMEOUT, -1);
        c = next_call(w);
    }
    assert_string_equal(c->path, path);
    return c;
}

void wire_no_call(struct wire *w) {
    wire_turns(w, 5);
    assert_null(queue_pop(&w->calls.queue, 0));
}

void wire_answer(struct wire *w UNUSED, struct call *c, const char *fmt, ...) {
    char body[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    c->cls = NET_OK;
    c->status = 200;
    c->retry_after_ms = -1;
    strbuf_clear(&c->body);
    strbuf_adds(&c->body, body);
    mailbox_put(c->reply, c);
}

void wire_maxitem(struct wire *w, int64_t maxitem) {
    wire_answer(w, wire_call(w, "/maxitem.json"), "%lld\n", (long long)maxitem);
}

void wire_fail(struct wire *w UNUSED, struct call *c, enum net_class cls, int64_t retry_after_ms) {
    c->cls = cls;
    c->retry_after_ms = retry_after_ms;
    strbuf_clear(&c->body);
    snprintf(c->detail, sizeof c->detail, "%s", net_class_name(cls));
    mailbox_put(c->reply, c);
}

void wire_cancel(struct wire *w UNUSED, struct call *c) {
    c->cancelled = true;
    mailbox_put(c->reply, c);
}

void wire_poll(struct wire *w, const char *updates, int64_t maxitem) {
    struct call *u = wire_call(w, "/updates.json");
    wire_answer(w, u, "%s", updates);
    wire_maxitem(w, maxitem);
    wire_turns(w, 2);
}

void wire_open_stream(struct wire *w, int64_t before) {
    wire_maxitem(w, before);
    for (int i = 0; i < ROUNDS && !peer_called(&w->peer); i++)
        wire_turn(w);
    assert_true(peer_called(&w->peer));
    peer_say(&w->peer, PEER_HEAD);
    wire_until(w, LIVE_MEASURING);
}

void wire_measure(struct wire *w, int64_t before, int64_t after) {
    wire_open_stream(w, before);
    wire_maxitem(w, after);
    wire_turns(w, 2);
}

void wire_stream(struct wire *w, int64_t maxitem) {
    wire_measure(w, maxitem, maxitem);
    wire_until(w, LIVE_STREAMING);
}

void wire_say(struct wire *w, const char *text) {
    peer_say(&w->peer, "%s", text);
    wire_turns(w, 4);
}

int64_t wire_wait(struct wire *w) {
    int64_t began = clock_mono(&w->clock);
    assert_int_equal(live_state(w->l), LIVE_DOWN);
    for (int i = 0; i < 20000 && live_state(w->l) == LIVE_DOWN; i++) {
        struct call *c = queue_pop(&w->calls.queue, 0);
        if (c)
            wire_fail(w, c, NET_TIMEOUT, -1); /* of a poll */
        wire_turn(w);
        if (live_state(w->l) == LIVE_DOWN)
            clock_advance(&w->clock, 10);
    }
    assert_int_equal(live_state(w->l), LIVE_ASKING);
    return clock_mono(&w->clock) - began;
}

const char *wire_ids(struct wire *w) {
    struct key_ticket t;
    w->text[0] = '\0';
    while (keyqueue_take(w->ids, &t, 1, 0)) {
        size_t n = strlen(w->text);
        snprintf(w->text + n, sizeof w->text - n, "%s%lld%s", n ? " " : "", (long long)t.key,
                 t.flags & TICKET_NAMED ? "*" : "");
        keyqueue_done(w->ids, t.key);
    }
    return w->text;
}

const char *wire_names(struct wire *w) {
    char *name;
    w->text[0] = '\0';
    while ((name = queue_pop(&w->names, 0))) {
        size_t n = strlen(w->text);
        snprintf(w->text + n, sizeof w->text - n, "%s%s", n ? " " : "", name);
        free(name);
    }
    return w->text;
}

int64_t wire_now_db(const struct wire *w) {
    return clock_mono(&w->clock) + DB_OFFSET;
}
