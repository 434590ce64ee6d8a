/* /cdc from the outside: the handshake, and a thread with sockets that left HTTP behind. The hub is
 * the test's own. */
#include "server_fixture.h"
#include "ws_client.h"

#include "feed/hub.h"
#include "web/ws_door.h"

#define KEY "the-key-of-the-test"
#define EPOCH 1000

static struct feed_hub *hub;
static int64_t head;

static void write_events(int n) {
    for (int i = 0; i < n; i++) {
        const struct feed_change c = {.pos = ++head,
                                      .schema = STR("tain"),
                                      .name = STR("items"),
                                      .action = FEED_UPDATE,
                                      .key = STR("{}"),
                                      .data = STR("{}")};
        struct feed_event *ev = feed_event_new(EPOCH, &c);
        feed_hub_add(hub, ev);
        feed_event_drop(ev);
    }
    feed_hub_flush(hub);
}

static void start_feed(struct place *p, struct web_options o) {
    head = 5;
    hub = feed_hub_new(100);
    feed_hub_state(hub, &(struct feed_state){.epoch = EPOCH, .head = head, .oldest = 1}, 0);
    o.feed_hub = hub;
    start(p, o);
}

static void stop_feed(struct place *p) {
    stop(p);
    feed_hub_free(hub);
}

static const struct web_options with_key = {.feed_key = KEY};

#define HANDSHAKE                                                                             \
    "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: " \
    "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/* Reads the answer byte by byte, so that what follows it stays in the socket. */
static void read_head(int fd, char *out, size_t max) {
    size_t n = 0;
    out[0] = '\0';
    while (!strstr(out, "\r\n\r\n")) {
        assert_true(n < max - 1);
        if (recv(fd, out + n, 1, 0) != 1)
            fail_msg("the connection ended: %s", out);
        out[++n] = '\0';
    }
}

static struct ws_client dial(struct place *p, const char *query, const char *early) {
    char text[2000];
    struct ws_client c = {.fd = client_dial(p->port)};
    snprintf(text, sizeof text,
             "GET /cdc%s HTTP/1.1\r\n" HANDSHAKE "Authorization: Bearer " KEY "\r\n\r\n%s", query,
             early);
    client_send(c.fd, text);
    read_head(c.fd, text, sizeof text);
    if (!strstr(text, "HTTP/1.1 101 "))
        fail_msg("%s", text);
    assert_non_null(strstr(text, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); /* RFC 6455 has this pair */
    return c;
}

static struct ws_frame wait_frame(struct ws_client *c) {
    struct ws_frame f;
    for (int i = 0; i < 60000; i++) {
        client_pull(c);
        if (client_frame(c, &f))
            return f;
        (void)poll(NULL, 0, 1);
    }
    fail_msg("no frame came");
    return f;
}

static void wait_text(struct ws_client *c, const char *text) {
    struct ws_frame f = wait_frame(c);
    if (f.op != OP_TEXT || f.n < strlen(text) || memcmp(f.p, text, strlen(text)) != 0)
        fail_msg("%.*s", (int)f.n, f.p);
}

static void wait_over(struct ws_client *c) {
    for (int i = 0; i < 60000 && !c->over; i++) {
        client_pull(c);
        (void)poll(NULL, 0, 1);
    }
    assert_true(c->over);
}

static void answers_a_handshake(void **state UNUSED) {
    char out[WS_ACCEPT_MAX];
    assert_true(ws_accept_of(STR("dGhlIHNhbXBsZSBub25jZQ=="), out));
    assert_string_equal(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    static const char *const bad[] = {"",
                                      "short==",
                                      "dGhlIHNhbXBsZSBub25jZQ=!",
                                      "dGhlIHNhbXBsZSBub25jZQAA",
                                      "dGhlIHNhbXBsZSBub25jZ===",
                                      "dGhl!HNhbXBsZSBub25jZQ==",
                                      "dGhlIHNhbXBsZSBub25jZQ==dGhlIHNhbXBsZSBub25jZQ=="};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(ws_accept_of(str_of(bad[i]), out));
    assert_false(ws_accept_of(STR_NONE, out));
}

static void greets_and_tells(void **state) {
    struct place *p = *state;
    start_feed(p, with_key);
    struct ws_client a = dial(p, "", ""), b = dial(p, "?since=1000-5&tables=users,items", "");
    wait_text(&a, "{\"type\":\"hello\",\"head\":\"1000-5\"");
    wait_text(&b, "{\"type\":\"hello\"");
    for (int round = 0; round < 20; round++) {
        write_events(3);
        for (int i = 2; i >= 0; i--) {
            char text[40];
            snprintf(text, sizeof text, "{\"id\":\"1000-%d\",", (int)head - i);
            wait_text(&a, text);
            wait_text(&b, text);
        }
    }
    expect(p, "/echo", 200, "path=/echo"); /* HTTP goes on */
    client_release(&a);
    client_release(&b);
    stop_feed(p);
}

static void takes_bytes_that_came_early(void **state) {
    struct place *p = *state;
    char early[40] = {0};
    (void)frame_of(early, 0x80 | OP_PING, "zzzz", 4);
    start_feed(p, with_key);
    struct ws_client c = dial(p, "", early);
    struct ws_frame f = wait_frame(&c);
    if (f.op == OP_TEXT)
        f = wait_frame(&c);
    assert_int_equal(f.op, OP_PONG);
    assert_memory_equal(f.p, "zzzz", 4);
    client_release(&c);
    stop_feed(p);
}

static void says_goodbye(void **state) {
    struct place *p = *state;
    struct ws_client all[20];
    start_feed(p, with_key);
    for (int i = 0; i < 20; i++) {
        all[i] = dial(p, "", "");
        wait_text(&all[i], "{\"type\":\"hello\"");
    }
    stop(p); /* nobody answers: it does not wait for ever */
    for (int i = 0; i < 20; i++) {
        struct ws_frame f = wait_frame(&all[i]);
        assert_int_equal(f.op, OP_CLOSE);
        assert_memory_equal(f.p, "\x03\xe9the server stops; go on with since=1000-5", f.n);
        wait_over(&all[i]);
        client_release(&all[i]);
    }
    feed_hub_free(hub);
}

/* Connections that come and go at any moment leave nothing behind. */
static void bears_comings_and_goings(void **state) {
    struct place *p = *state;
    struct web_options o = with_key;
    struct feed_counts counts;
    o.feed_clients = 8;
    start_feed(p, o);
    for (int i = 0; i < 200; i++) {
        int fd = client_dial(p->port);
        client_send(fd, "GET /cdc HTTP/1.1\r\n" HANDSHAKE "Authorization: Bearer " KEY "\r\n\r\n");
        if (i % 3 == 0)
            (void)poll(NULL, 0, 1);
        close(fd);
    }
    for (int i = 0; i < 60000; i++) {
        feed_hub_count(hub, &counts);
        if (counts.clients == 0)
            break;
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(counts.clients, 0);
    struct ws_client last = {0};
    for (int i = 0; i < 60000 && !last.fd; i++) { /* every place is free again, sooner or later */
        char text[1000];
        int fd = client_dial(p->port);
        client_send(fd, "GET /cdc HTTP/1.1\r\n" HANDSHAKE "Authorization: Bearer " KEY "\r\n\r\n");
        read_head(fd, text, sizeof text);
        if (strstr(text, "HTTP/1.1 101 "))
            last.fd = fd;
        else
            close(fd);
    }
    wait_text(&last, "{\"type\":\"hello\"");
    client_release(&last);
    stop_feed(p);
}

static void refuses(void **state) {
    struct place *p = *state;
    static const char bearer[] = "Authorization: Bearer " KEY "\r\n";
    static const struct {
        const char *method, *uri, *headers;
        int status;
        const char *body;
    } cases[] = {
        {"GET", "/cdc", "", 403, NULL},
        {"GET", "/cdc", "Authorization: Bearer nonsense\r\n", 403, NULL},
        {"GET", "/cdc?key=nonsense&since=junk", "", 403, NULL},
        {"GET", "/cdc", bearer, 426, "WebSocket"},
        {"HEAD", "/cdc", bearer, 400, NULL},
        {"GET", "/cdc?key=" KEY, "Upgrade: websocket\r\n", 426, "WebSocket"},
        {"POST", "/cdc", bearer, 405, "Nothing can be written"},
        {"GET", "/cdc?tables=none", "", 403, NULL},
        {"GET", "/cdc?tables=items,none", bearer, 400,
         "no \\\"none\\\"; there are items, users, links, link_processing, "
         "external_discussions\"}"},
        {"GET", "/cdc?topics=items", bearer, 426, "WebSocket"},
    };
    start_feed(p, with_key);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct answer_text a = client_ask(p->port, cases[i].method, cases[i].uri, cases[i].headers);
        if (a.status != cases[i].status ||
            (cases[i].body ? !strstr(a.body, cases[i].body) : a.n != 0))
            fail_msg("%s %s: %d %s", cases[i].uri, cases[i].headers, a.status, a.body);
        assert_null(strstr(a.head, KEY));
        assert_null(strstr(a.body, KEY));
        free(a.head);
    }
    stop_feed(p);
    start_feed(p, (struct web_options){0}); /* without a key */
    expect(p, "/cdc", 404, "nothing here");
    stop_feed(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_a_handshake),
        cmocka_unit_test_setup_teardown(greets_and_tells, open_place, close_place),
        cmocka_unit_test_setup_teardown(takes_bytes_that_came_early, open_place, close_place),
        cmocka_unit_test_setup_teardown(says_goodbye, open_place, close_place),
        cmocka_unit_test_setup_teardown(bears_comings_and_goings, open_place, close_place),
        cmocka_unit_test_setup_teardown(refuses, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
