/* How a WebSocket client of the feed ends: pings, goodbyes of either side, and broken rules. */
#include "ws_scene.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_pings),
        cmocka_unit_test(pings_and_parts_from_the_silent),
        cmocka_unit_test(says_goodbye_with_a_cursor),
        cmocka_unit_test(ends_with_the_hub),
        cmocka_unit_test(has_no_place_for_too_many),
        cmocka_unit_test(returns_a_goodbye),
        cmocka_unit_test(notices_who_hangs_up),
        cmocka_unit_test(refuses_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
