#include "ws_scene.h"

struct clock now;
int rings;
bool hold_errands;

static void wake(void *arg UNUSED, bool at_once UNUSED) {
    rings++;
}

void run_errand(struct errand *x) {
    struct err e = {0};
    enum verdict v = x->run(x, NULL, &e);
    x->done(x, v, &e);
}

static bool send_errand(void *arg UNUSED, struct errand *x) {
    if (!hold_errands)
        run_errand(x);
    return true;
}

void open_hub(struct scene *s, int64_t head, bool ready) {
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

void connect_peer(struct scene *s, const char *since, const char *tables, int buffer,
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

void open_scene(struct scene *s, int64_t head, const char *since) {
    open_hub(s, head, true);
    connect_peer(s, since, NULL, 0, STR_NONE);
}

void close_scene(struct scene *s) {
    ws_peer_free(s->peer);
    client_release(&s->client);
    feed_hub_free(s->hub);
}

struct ws_frame next_frame(struct scene *s) {
    struct ws_frame f;
    client_pull(&s->client);
    if (!client_frame(&s->client, &f))
        fail_msg("no frame came");
    return f;
}

void no_frame(struct scene *s) {
    struct ws_frame f;
    client_pull(&s->client);
    assert_false(client_frame(&s->client, &f));
}

void hears(struct scene *s, const char *text) {
    struct ws_frame f = next_frame(s);
    assert_int_equal(f.op, OP_TEXT);
    if (f.n < strlen(text) || memcmp(f.p, text, strlen(text)) != 0)
        fail_msg("%.*s came, not %s", (int)f.n, f.p, text);
}

void hears_event(struct scene *s, int pos) {
    char text[40];
    snprintf(text, sizeof text, "{\"id\":\"1000-%d\",", pos);
    hears(s, text);
}

void hears_hello(struct scene *s) {
    hears(s, "{\"type\":\"hello\",");
}

void hears_close(struct scene *s, int code, const char *reason) {
    struct ws_frame f = next_frame(s);
    assert_int_equal(f.op, OP_CLOSE);
    assert_true(f.n >= 2);
    assert_int_equal((unsigned char)f.p[0] << 8 | (unsigned char)f.p[1], code);
    assert_int_equal(f.n - 2, strlen(reason));
    assert_memory_equal(f.p + 2, reason, f.n - 2);
}

void reply_close(struct scene *s, int code) {
    const unsigned char body[] = {(unsigned char)(code >> 8), (unsigned char)code};
    client_say(&s->client, 0x80 | OP_CLOSE, body, 2);
    ws_peer_in(s->peer);
    client_pull(&s->client);
    assert_true(s->client.over); /* our side ends first */
    shutdown(s->client.fd, SHUT_RDWR);
    ws_peer_in(s->peer);
    assert_true(ws_peer_is_over(s->peer));
}
