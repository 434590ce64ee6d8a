/* A WebSocket client of the feed, step by step: over a pair of sockets, a hub with a log in memory,
 * and a clock that the test moves. */
#include "fake_log.h"
#include "ws_client.h"

#include "web/ws_peer.h"

#define EPOCH 1000

static struct clock now;
static int rings;
static bool hold_errands; /* the query threads are busy */

struct scene {
    struct feed_hub *hub;
    struct ws_house house;
    struct ws_peer *peer;
    struct ws_client client;
};

static void wake(void *arg UNUSED, bool at_once UNUSED) {
    rings++;
}

static void run_errand(struct errand *x) {
    struct err e = {0};
    enum verdict v = x->run(x, NULL, &e);
    x->done(x, v, &e);
}

static bool send_errand(void *arg UNUSED, struct errand *x) {
    if (!hold_errands)
        run_errand(x);
    return true;
}

static void open_hub(struct scene *s, int64_t head, bool ready) {
    *s = (struct scene){.hub = feed_hub_new(10)};
    clock_manual_init(&now, 100000, 0);
    hold_errands = false;
    fake_log_begin(EPOCH, head);
    if (ready)
        feed_hub_state(s->hub, &fake_log.state, 0);
    s->house = (struct ws_house){.clock = &now,
                                 .hub = s->hub,
                                 .ping_ms = WS_PING_MS,
                                 .slow_ms = WS_SLOW_MS,
                                 .close_ms = WS_CLOSE_MS,
                                 .wake = wake,
                                 .send = send_errand};
}

static void connect_peer(struct scene *s, const char *since, const char *tables, int buffer,
                         struct str early) {
    struct ws_ask ask;
    struct err e;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    if (buffer)
        setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    assert_int_equal(ws_ask_read(str_of(since), str_of(tables), STR_NONE, &ask, &e), V_OK);
    s->peer = ws_peer_new(&s->house, &ask, fds[0], early);
    s->client = (struct ws_client){.fd = fds[1]};
    ws_peer_in(s->peer);
    ws_peer_out(s->peer);
}

static void open_scene(struct scene *s, int64_t head, const char *since) {
    open_hub(s, head, true);
    connect_peer(s, since, NULL, 0, STR_NONE);
}

static void close_scene(struct scene *s) {
    ws_peer_free(s->peer);
    client_release(&s->client);
    feed_hub_free(s->hub);
}

static struct ws_frame next_frame(struct scene *s) {
    struct ws_frame f;
    client_pull(&s->client);
    if (!client_frame(&s->client, &f))
        fail_msg("no frame came");
    return f;
}

static void no_frame(struct scene *s) {
    struct ws_frame f;
    client_pull(&s->client);
    assert_false(client_frame(&s->client, &f));
}

static void hears(struct scene *s, const char *text) {
    struct ws_frame f = next_frame(s);
    assert_int_equal(f.op, OP_TEXT);
    if (f.n < strlen(text) || memcmp(f.p, text, strlen(text)) != 0)
        fail_msg("%.*s came, not %s", (int)f.n, f.p, text);
}

static void hears_event(struct scene *s, int pos) {
    char text[40];
    snprintf(text, sizeof text, "{\"id\":\"1000-%d\",", pos);
    hears(s, text);
}

static void hears_hello(struct scene *s) {
    hears(s, "{\"type\":\"hello\",");
}

static void hears_close(struct scene *s, int code, const char *reason) {
    struct ws_frame f = next_frame(s);
    assert_int_equal(f.op, OP_CLOSE);
    assert_true(f.n >= 2);
    assert_int_equal((unsigned char)f.p[0] << 8 | (unsigned char)f.p[1], code);
    assert_int_equal(f.n - 2, strlen(reason));
    assert_memory_equal(f.p + 2, reason, f.n - 2);
}

static void reply_close(struct scene *s, int code) {
    const unsigned char body[] = {(unsigned char)(code >> 8), (unsigned char)code};
    client_say(&s->client, 0x80 | OP_CLOSE, body, 2);
    ws_peer_in(s->peer);
    client_pull(&s->client);
    assert_true(s->client.over); /* our side ends first */
    shutdown(s->client.fd, SHUT_RDWR);
    ws_peer_in(s->peer);
    assert_true(ws_peer_is_over(s->peer));
}

static void greets_and_tells(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 5, NULL);
    hears(&s, "{\"type\":\"hello\",\"head\":\"1000-5\",\"oldest\":\"1000-1\",\"epoch\":1000}");
    no_frame(&s);
    rings = 0;
    fake_log_write(s.hub, 3);
    assert_int_equal(rings, 1);
    assert_true(atomic_load(&s.peer->news));
    ws_peer_out(s.peer);
    for (int i = 6; i <= 8; i++)
        hears_event(&s, i);
    no_frame(&s);
    close_scene(&s);
}

static void waits_for_the_feed(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 5, false);
    connect_peer(&s, NULL, NULL, 0, STR_NONE);
    no_frame(&s);
    client_say(&s.client, 0x80 | OP_PING, "?", 1);
    ws_peer_in(s.peer);
    assert_int_equal(next_frame(&s).op, OP_PONG);
    feed_hub_state(s.hub, &fake_log.state, 0);
    clock_advance(&now, 100);
    ws_peer_tick(s.peer);
    hears_hello(&s);
    close_scene(&s);
}

static void goes_on_behind_since(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 1200, "1000-3");
    hears(&s, "{\"type\":\"hello\",\"head\":\"1000-1200\"");
    for (int i = 4; i <= 1200; i++) {
        if (s.client.at == s.client.n)
            ws_peer_out(s.peer);
        hears_event(&s, i);
    }
    ws_peer_out(s.peer);
    no_frame(&s);
    close_scene(&s);
}

static void tells_a_gap(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 20, false);
    fake_log.state.oldest = 11;
    feed_hub_state(s.hub, &fake_log.state, 0);
    connect_peer(&s, "1000-3", "tain.items", 0, STR_NONE);
    ws_peer_out(s.peer);
    hears_hello(&s);
    hears(&s, "{\"type\":\"gap\",\"from\":\"1000-3\",\"to\":\"1000-10\"}");
    ws_peer_out(s.peer);
    for (int i = 12; i <= 20; i += 2) /* items are even */
        hears_event(&s, i);
    close_scene(&s);
}

/* The database is away: tried again, and nobody is sent off. */
static void bears_a_page_that_fails(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 20, true);
    fake_log.answer = V_RETRY;
    connect_peer(&s, "999-3", NULL, 0, STR_NONE);
    ws_peer_out(s.peer);
    ws_peer_out(s.peer);
    hears_hello(&s);
    fake_log.answer = V_OK;
    ws_peer_out(s.peer); /* not at once */
    no_frame(&s);
    clock_advance(&now, 1000);
    ws_peer_tick(s.peer);
    ws_peer_out(s.peer);
    hears(&s, "{\"type\":\"gap\"");
    close_scene(&s);
}

static void answers_pings(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 0, NULL);
    hears_hello(&s);
    client_say(&s.client, 0x80 | OP_PING, "are you there", 13);
    ws_peer_in(s.peer);
    struct ws_frame f = next_frame(&s);
    assert_int_equal(f.op, OP_PONG);
    assert_int_equal(f.n, 13);
    assert_memory_equal(f.p, "are you there", 13);
    client_say(&s.client, 0x80 | OP_TEXT, "hello?", 6); /* not answered */
    ws_peer_in(s.peer);
    no_frame(&s);
    assert_int_equal(s.peer->state, WS_OPEN);
    close_scene(&s);
}

static void pings_and_parts_from_the_silent(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 7, NULL);
    hears_hello(&s);
    for (int i = 0; i < 3; i++) {
        clock_advance(&now, WS_PING_MS - 1);
        ws_peer_tick(s.peer);
        no_frame(&s);
        clock_advance(&now, 1);
        ws_peer_tick(s.peer);
        assert_int_equal(next_frame(&s).op, OP_PING);
        if (i < 2)
            client_say(&s.client, 0x80 | OP_PONG, "", 0);
        ws_peer_in(s.peer);
    }
    clock_advance(&now, WS_PING_MS);
    ws_peer_tick(s.peer);
    hears_close(&s, 1011, "no answer to a ping; go on with since=1000-7");
    assert_int_equal(s.peer->end, WS_END_SILENT);
    clock_advance(&now, WS_CLOSE_MS);
    ws_peer_tick(s.peer);
    assert_true(ws_peer_is_over(s.peer));
    close_scene(&s);
}

/* Fills the socket of a client that does not read. */
static void block(struct scene *s) {
    while (!s->peer->blocked) {
        fake_log_write(s->hub, 50);
        ws_peer_out(s->peer);
    }
}

/* Reads all that comes up to the close frame; answers how many events came. */
static int read_to_close(struct scene *s, int from, const char *why) {
    struct ws_frame f;
    char id[40], reason[100];
    for (int pos = from;; pos++) {
        for (;;) {
            client_pull(&s->client);
            ws_peer_out(s->peer);
            if (client_frame(&s->client, &f))
                break;
        }
        if (f.op == OP_TEXT) {
            snprintf(id, sizeof id, "{\"id\":\"1000-%d\",", pos);
            assert_memory_equal(f.p, id, strlen(id));
            continue;
        }
        assert_int_equal(f.op, OP_CLOSE);
        snprintf(reason, sizeof reason, "\x03\xf5%s; go on with since=1000-%d", why, pos - 1);
        assert_int_equal(f.n, strlen(reason));
        assert_memory_equal(f.p, reason, f.n);
        return pos - from;
    }
}

static void parts_from_the_slow(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 0, true);
    connect_peer(&s, NULL, NULL, 4096, STR_NONE);
    hears_hello(&s);
    block(&s);
    clock_advance(&now, WS_SLOW_MS - 1);
    ws_peer_tick(s.peer);
    assert_int_equal(s.peer->state, WS_OPEN);
    clock_advance(&now, 1);
    ws_peer_tick(s.peer);
    assert_int_equal(s.peer->state, WS_CLOSING);
    int n = read_to_close(&s, 1, "too slow");
    assert_true(n > 0 && n < fake_log.state.head);
    assert_int_equal(s.peer->end, WS_END_SLOW);
    reply_close(&s, 1013);
    close_scene(&s);
    /* and nothing was lost */
    struct ws_ask ask;
    struct err e;
    char since[40];
    snprintf(since, sizeof since, "1000-%d", n);
    assert_int_equal(ws_ask_read(str_of(since), STR_NONE, STR_NONE, &ask, &e), V_OK);
    assert_int_equal(ask.since.pos, n);
}

/* It takes something now and then, and so is not stuck; but it falls behind the ring. */
static void parts_from_who_falls_behind(void **state UNUSED) {
    struct scene s;
    char some[2048];
    open_hub(&s, 0, true);
    connect_peer(&s, NULL, NULL, 4096, STR_NONE);
    hears_hello(&s);
    block(&s);
    fake_log_write(s.hub, FEED_RING_EVENTS + WS_AHEAD_FRAMES + 100);
    size_t got = 0;
    for (int i = 0; i < 1000 && s.peer->state == WS_OPEN; i++) {
        ssize_t n = recv(s.client.fd, some, sizeof some, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        clock_advance(&now, 1000);
        ws_peer_out(s.peer);
        ws_peer_in(s.peer);
    }
    assert_int_equal(s.peer->state, WS_CLOSING);
    assert_int_equal(s.peer->end, WS_END_SLOW);
    assert_true(got > 0);
    close_scene(&s);
}

/* Who comes with an old cursor is not slow, however long it takes. */
static void bears_who_catches_up(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 3000, true);
    connect_peer(&s, "1000-0", NULL, 4096, STR_NONE);
    fake_log_write(s.hub, FEED_RING_EVENTS + 1000);
    hears_hello(&s);
    for (int i = 1; i <= fake_log.state.head; i++) {
        for (int k = 0; k < 100 && s.client.at == s.client.n; k++) {
            ws_peer_out(s.peer);
            client_pull(&s.client);
        }
        hears_event(&s, i);
        clock_advance(&now, 100);
        if (i % 50 == 0) {
            client_say(&s.client, 0x80 | OP_PONG, "", 0);
            ws_peer_in(s.peer);
            while (s.client.at < s.client.n && (s.client.in[s.client.at] & 15) == OP_PING)
                (void)next_frame(&s);
        }
    }
    assert_int_equal(s.peer->state, WS_OPEN);
    close_scene(&s);
}

static void keeps_control_frames_apart(void **state UNUSED) {
    struct scene s;
    int pongs = 0;
    open_hub(&s, 0, true);
    connect_peer(&s, NULL, NULL, 4096, STR_NONE);
    hears_hello(&s);
    block(&s);
    for (int i = 0; i < 20; i++)
        client_say(&s.client, 0x80 | OP_PING, "now", 3);
    int64_t written = fake_log.state.head, got = 0;
    for (int i = 0; i < 100000 && (got < written || pongs < 20); i++) {
        struct ws_frame f;
        ws_peer_in(s.peer);
        ws_peer_out(s.peer);
        client_pull(&s.client);
        while (client_frame(&s.client, &f)) {
            got += f.op == OP_TEXT;
            pongs += f.op == OP_PONG;
            assert_true(f.op == OP_TEXT || (f.op == OP_PONG && f.n == 3));
        }
    }
    assert_int_equal(got, written);
    assert_int_equal(pongs, 20);
    close_scene(&s);
}

/* Pongs for someone who never reads: what waits has a limit. */
static void bears_a_flood_of_pings(void **state UNUSED) {
    struct scene s;
    char frame[32];
    size_t n = frame_of(frame, 0x80 | OP_PING, "flood", 5);
    open_hub(&s, 0, true);
    connect_peer(&s, NULL, NULL, 4096, STR_NONE);
    for (int i = 0; i < 200000 && ws_peer_wants_in(s.peer); i++) {
        (void)send(s.client.fd, frame, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (i % 100 == 0)
            ws_peer_in(s.peer);
    }
    assert_false(ws_peer_wants_in(s.peer));
    assert_true(ws_peer_wants_out(s.peer));
    clock_advance(&now, WS_SLOW_MS);
    ws_peer_tick(s.peer);
    assert_int_equal(s.peer->end, WS_END_SLOW);
    clock_advance(&now, WS_CLOSE_MS);
    ws_peer_tick(s.peer);
    assert_true(ws_peer_is_over(s.peer));
    close_scene(&s);
}

static void says_goodbye_with_a_cursor(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 5, NULL);
    hears_hello(&s);
    fake_log_write(s.hub, 2);
    ws_peer_close(s.peer, WS_END_STOP, "the server stops"); /* before it took them */
    ws_peer_out(s.peer);
    hears_close(&s, 1001, "the server stops; go on with since=1000-5");
    no_frame(&s);
    reply_close(&s, 1001);
    assert_int_equal(s.peer->end, WS_END_STOP);
    close_scene(&s);
}

static void ends_with_the_hub(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 5, NULL);
    hears_hello(&s);
    feed_hub_stop(s.hub);
    ws_peer_out(s.peer);
    hears_close(&s, 1001, "the server stops; go on with since=1000-5");
    close_scene(&s);
}

static void has_no_place_for_too_many(void **state UNUSED) {
    struct scene s;
    struct feed_client *others[10];
    open_hub(&s, 5, true);
    const struct feed_join j = {.since = {0, -1}};
    for (int i = 0; i < 10; i++)
        others[i] = feed_join(s.hub, &j);
    connect_peer(&s, NULL, NULL, 0, STR_NONE);
    hears_close(&s, 1013, "too many clients");
    for (int i = 0; i < 10; i++)
        feed_leave(others[i]);
    close_scene(&s);
}

static void returns_a_goodbye(void **state UNUSED) {
    static const char body[] = "\x03\xe8see you";
    struct scene s;
    open_scene(&s, 5, NULL);
    hears_hello(&s);
    client_say(&s.client, 0x80 | OP_CLOSE, body, sizeof body - 1);
    ws_peer_in(s.peer);
    hears_close(&s, 1000, "see you");
    assert_true(s.client.over || (client_pull(&s.client), s.client.over));
    shutdown(s.client.fd, SHUT_RDWR);
    ws_peer_in(s.peer);
    assert_true(ws_peer_is_over(s.peer));
    assert_int_equal(s.peer->end, WS_END_CLIENT);
    close_scene(&s);
}

static void notices_who_hangs_up(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 5, NULL);
    shutdown(s.client.fd, SHUT_WR); /* half of it is all of it */
    ws_peer_in(s.peer);
    assert_true(ws_peer_is_over(s.peer));
    close_scene(&s);
}

/* Frames that break the rules, and with which code it ends. */
static void refuses_what_is_wrong(void **state UNUSED) {
    static char big[WS_MESSAGE_MAX + 1];
    static const char unmasked[] = {(char)0x81, 2, 'h', 'i'};
    static const char half[] = {(char)0x01, (char)0x80, 0, 0, 0, 0};
    const struct {
        const char *what;
        unsigned first;
        const char *p;
        size_t n;
        int code;
    } wrong[] = {
        {"too long", 0x82, big, sizeof big, 1009},
        {"a reserved bit", 0xc1, "x", 1, 1002},
        {"an opcode that is none", 0x83, "x", 1, 1002},
        {"text that is no UTF-8", 0x81, "\xff\xfe", 2, 1007},
        {"a continuation of nothing", 0x80, "x", 1, 1002},
        {"a ping that is too long", 0x89, big, 126, 1002},
        {"a ping in pieces", 0x09, "x", 1, 1002},
        {"a code that is none", 0x88, "\x00\x01", 2, 1002},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong) + 2; i++) {
        struct scene s;
        open_scene(&s, 5, NULL);
        hears_hello(&s);
        int code = 1002;
        if (i < ARRAY_LEN(wrong)) {
            client_say(&s.client, wrong[i].first, wrong[i].p, wrong[i].n);
            code = wrong[i].code;
        } else if (i == ARRAY_LEN(wrong)) {
            (void)!send(s.client.fd, unmasked, sizeof unmasked, 0);
        } else { /* a text within a text */
            (void)!send(s.client.fd, half, sizeof half, 0);
            client_say(&s.client, 0x81, "x", 1);
        }
        ws_peer_in(s.peer);
        struct ws_frame f = next_frame(&s);
        int got =
            f.op == OP_CLOSE && f.n >= 2 ? (unsigned char)f.p[0] << 8 | (unsigned char)f.p[1] : 0;
        if (got != code)
            fail_msg("%s: %d", i < ARRAY_LEN(wrong) ? wrong[i].what : "more", got);
        shutdown(s.client.fd, SHUT_RDWR);
        ws_peer_in(s.peer);
        ws_peer_in(s.peer);
        assert_true(ws_peer_is_over(s.peer));
        close_scene(&s);
    }
    /* as long as it may be, in pieces */
    struct scene s;
    open_scene(&s, 5, NULL);
    hears_hello(&s);
    client_say(&s.client, 0x02, big, WS_MESSAGE_MAX - 1);
    client_say(&s.client, 0x80 | OP_PING, "", 0);
    client_say(&s.client, 0x80, big, 1);
    ws_peer_in(s.peer);
    assert_int_equal(next_frame(&s).op, OP_PONG);
    assert_int_equal(s.peer->state, WS_OPEN);
    close_scene(&s);
}

/* What came together with the request. */
static void hears_what_came_early(void **state UNUSED) {
    struct scene s;
    char early[64];
    size_t n = frame_of(early, 0x80 | OP_PING, "early", 5);
    n += frame_of(early + n, 0x80 | OP_PING, "bird", 4);
    open_hub(&s, 5, true);
    connect_peer(&s, NULL, NULL, 0, (struct str){early, n - 3});
    assert_int_equal(send(s.client.fd, early + n - 3, 3, 0), 3);
    ws_peer_in(s.peer);
    struct ws_frame f = next_frame(&s);
    assert_int_equal(f.op, OP_PONG);
    assert_int_equal(f.n, 5);
    hears_hello(&s);
    f = next_frame(&s);
    assert_int_equal(f.op, OP_PONG);
    assert_int_equal(f.n, 4);
    close_scene(&s);
}

/* The connection ends while a query thread reads for it: it stays until that is back. */
static void waits_for_its_errand(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 20, true);
    hold_errands = true;
    connect_peer(&s, "999-3", NULL, 0, STR_NONE);
    assert_true(s.peer->reading);
    shutdown(s.client.fd, SHUT_WR);
    ws_peer_in(s.peer);
    assert_int_equal(s.peer->state, WS_DONE);
    assert_false(ws_peer_is_over(s.peer));
    rings = 0;
    run_errand(&s.peer->errand);
    assert_int_equal(rings, 1);
    assert_true(ws_peer_is_over(s.peer));
    close_scene(&s);
}

static void reads_what_is_asked(void **state UNUSED) {
    struct ws_ask a;
    struct err e;
    assert_int_equal(ws_ask_read(STR("12-34"), STR("items,a.b"), STR("insert"), &a, &e), V_OK);
    assert_int_equal(a.since.epoch, 12);
    assert_int_equal(a.since.pos, 34);
    assert_int_equal(a.filter.n_tables, 2);
    assert_int_equal(a.filter.actions, 1u << FEED_INSERT);
    ws_ask_release(&a);
    static const char *const bad[] = {"", "12", "x", "12-", "-3", "1-2-3"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(ws_ask_read(str_of(bad[i]), STR_NONE, STR_NONE, &a, &e), V_INVALID);
        assert_non_null(strstr(e.msg, "since"));
    }
    assert_int_equal(ws_ask_read(STR_NONE, STR("a,,b"), STR_NONE, &a, &e), V_INVALID);
    assert_int_equal(ws_ask_read(STR_NONE, STR("a"), STR("eat"), &a, &e), V_INVALID);
}

static void has_a_table_of_states(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf table;
    strbuf_init(&table, 4096);
    fsm_print(&ws_fsm, &table);
    FILE *f = fopen(TAIN_SOURCE_ROOT "/docs/states.md", "r");
    assert_non_null(f);
    char *page = xcalloc(1, 1 << 16);
    (void)!fread(page, 1, (1 << 16) - 1, f);
    fclose(f);
    if (!strstr(page, table.p))
        fail_msg("docs/states.md lacks\n%s", table.p);
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greets_and_tells),
        cmocka_unit_test(waits_for_the_feed),
        cmocka_unit_test(goes_on_behind_since),
        cmocka_unit_test(tells_a_gap),
        cmocka_unit_test(bears_a_page_that_fails),
        cmocka_unit_test(answers_pings),
        cmocka_unit_test(pings_and_parts_from_the_silent),
        cmocka_unit_test(parts_from_the_slow),
        cmocka_unit_test(parts_from_who_falls_behind),
        cmocka_unit_test(bears_who_catches_up),
        cmocka_unit_test(keeps_control_frames_apart),
        cmocka_unit_test(bears_a_flood_of_pings),
        cmocka_unit_test(says_goodbye_with_a_cursor),
        cmocka_unit_test(ends_with_the_hub),
        cmocka_unit_test(has_no_place_for_too_many),
        cmocka_unit_test(returns_a_goodbye),
        cmocka_unit_test(notices_who_hangs_up),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(hears_what_came_early),
        cmocka_unit_test(waits_for_its_errand),
        cmocka_unit_test(reads_what_is_asked),
        cmocka_unit_test(has_a_table_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
