/* A WebSocket client that does not read, or not as fast as events come. */
#include "ws_scene.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_from_the_slow),    cmocka_unit_test(parts_from_who_falls_behind),
        cmocka_unit_test(bears_who_catches_up),   cmocka_unit_test(keeps_control_frames_apart),
        cmocka_unit_test(bears_a_flood_of_pings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
