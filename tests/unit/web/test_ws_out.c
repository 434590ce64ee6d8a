/* The order of bytes on the wire: control frames between others, whatever the socket takes. */
#include "ws_client.h"

#include "base/rng.h"
#include "web/ws_out.h"

static struct feed_event *event(int64_t pos, const char *fill, size_t n) {
    char *text = xmalloc(n + 3);
    text[0] = '"';
    for (size_t i = 0; i < n; i++)
        text[i + 1] = *fill;
    text[n + 1] = '"';
    const struct feed_change c = {
        .pos = pos, .schema = STR("s"), .name = STR("t"), .key = STR("{}"), .data = {text, n + 2}};
    struct feed_event *ev = feed_event_new(7, &c);
    free(text);
    return ev;
}

static void pair(int fds[2], int buffer) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    if (buffer)
        setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
}

static void goes_in_order(void **state UNUSED) {
    struct ws_out o;
    struct ws_frame f;
    int fds[2];
    size_t n;
    pair(fds, 0);
    struct ws_client c = {.fd = fds[1]};
    ws_out_init(&o, (struct feed_id){7, 3});
    assert_true(ws_out_empty(&o));
    ws_out_text(&o, STR("hello"), (struct feed_id){7, 3});
    ws_out_event(&o, event(4, "x", 10));
    ws_out_event(&o, event(6, "x", 70000));
    assert_int_equal(ws_out_flush(&o, fds[0], &n), WS_SENT);
    assert_true(ws_out_empty(&o));
    assert_int_equal(o.cursor.pos, 6);
    assert_int_equal(o.frames, 3);
    client_pull(&c);
    assert_true(client_frame(&c, &f));
    assert_memory_equal(f.p, "hello", 5);
    assert_true(client_frame(&c, &f));
    assert_true(client_frame(&c, &f));
    assert_true(f.n > 70000);
    assert_false(client_frame(&c, &f));
    ws_out_release(&o);
    client_release(&c);
    close(fds[0]);
}

/* Long texts have a longer head. */
static void writes_heads(void **state UNUSED) {
    static const size_t sizes[] = {0, 1, 125, 126, 127, 300, 65535};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct ws_out o;
        struct ws_frame f;
        int fds[2];
        size_t n;
        char *text = xcalloc(1, sizes[i] + 1);
        pair(fds, 0);
        struct ws_client c = {.fd = fds[1]};
        ws_out_init(&o, (struct feed_id){0});
        ws_out_text(&o, (struct str){text, sizes[i]}, (struct feed_id){0});
        assert_int_equal(ws_out_flush(&o, fds[0], &n), WS_SENT);
        client_pull(&c);
        assert_true(client_frame(&c, &f));
        assert_int_equal(f.n, sizes[i]);
        ws_out_release(&o);
        client_release(&c);
        close(fds[0]);
        free(text);
    }
}

/* A peer that takes little at a time: frames of all sizes, with pongs at any moment. */
static void never_mixes(void **state UNUSED) {
    static const char pong[] = {(char)0x8a, 4, 'p', 'o', 'n', 'g'};
    struct rng rng = {5};
    struct ws_out o;
    struct ws_frame f;
    int fds[2];
    int64_t added = 0, got = 0;
    int pongs_out = 0, pongs_in = 0;
    size_t n;
    pair(fds, 4096);
    struct ws_client c = {.fd = fds[1]};
    ws_out_init(&o, (struct feed_id){0});
    while (got < 2000) {
        while (ws_out_room(&o) && added < 2000 && rng_below(&rng, 4))
            ws_out_event(&o,
                         event(++added, "y", rng_below(&rng, 30) ? rng_below(&rng, 300) : 9000));
        if (ws_out_control_room(&o) >= sizeof pong && rng_below(&rng, 2)) {
            ws_out_control(&o, pong, sizeof pong);
            pongs_out++;
        }
        (void)ws_out_flush(&o, fds[0], &n);
        if (rng_below(&rng, 3))
            client_pull(&c);
        while (client_frame(&c, &f)) {
            if (f.op == OP_PONG) {
                assert_memory_equal(f.p, "pong", 4);
                pongs_in++;
            } else {
                char id[40];
                snprintf(id, sizeof id, "{\"id\":\"7-%d\",", (int)++got);
                assert_memory_equal(f.p, id, strlen(id));
            }
        }
    }
    assert_true(pongs_in > 100 && pongs_in <= pongs_out);
    ws_out_release(&o);
    client_release(&c);
    close(fds[0]);
}

static void cuts_behind_what_has_begun(void **state UNUSED) {
    static const char bye[] = {(char)0x88, 2, 3, (char)0xe8};
    struct ws_out o;
    struct ws_frame f;
    int fds[2];
    size_t n;
    pair(fds, 4096);
    struct ws_client c = {.fd = fds[1]};
    ws_out_init(&o, (struct feed_id){7, 1});
    ws_out_event(&o, event(2, "z", 200000));
    ws_out_event(&o, event(3, "z", 10));
    assert_int_equal(ws_out_flush(&o, fds[0], &n), WS_BLOCKED);
    assert_true(n > 0);
    struct feed_id after = ws_out_cut(&o);
    assert_int_equal(after.pos, 2);
    ws_out_control(&o, bye, sizeof bye);
    while (ws_out_flush(&o, fds[0], &n) == WS_BLOCKED)
        client_pull(&c);
    client_pull(&c);
    assert_true(client_frame(&c, &f));
    assert_int_equal(f.op, OP_TEXT);
    assert_true(client_frame(&c, &f));
    assert_int_equal(f.op, OP_CLOSE);
    assert_int_equal(c.at, c.n);
    /* nothing has begun: all of it goes */
    ws_out_event(&o, event(4, "z", 10));
    assert_int_equal(ws_out_cut(&o).pos, 2);
    assert_true(ws_out_empty(&o));
    ws_out_release(&o);
    client_release(&c);
    close(fds[0]);
}

static void has_limits(void **state UNUSED) {
    struct ws_out o;
    ws_out_init(&o, (struct feed_id){0});
    for (int i = 0; i < WS_AHEAD_FRAMES; i++) {
        assert_true(ws_out_room(&o));
        ws_out_event(&o, event(i, "a", 1));
    }
    assert_false(ws_out_room(&o));
    (void)ws_out_cut(&o);
    ws_out_event(&o, event(1, "a", 2 * WS_AHEAD_BYTES)); /* one of any size */
    assert_false(ws_out_room(&o));
    ws_out_release(&o);
}

static void notices_a_peer_that_is_gone(void **state UNUSED) {
    struct ws_out o;
    int fds[2];
    size_t n;
    pair(fds, 0);
    close(fds[1]);
    ws_out_init(&o, (struct feed_id){0});
    ws_out_text(&o, STR("x"), (struct feed_id){0});
    assert_int_equal(ws_out_flush(&o, fds[0], &n), WS_BROKEN);
    ws_out_release(&o);
    close(fds[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_in_order), cmocka_unit_test(writes_heads),
        cmocka_unit_test(never_mixes),   cmocka_unit_test(cuts_behind_what_has_begun),
        cmocka_unit_test(has_limits),    cmocka_unit_test(notices_a_peer_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
