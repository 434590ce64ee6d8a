/* Whatever a WebSocket client sends, in one piece or in several: no crash, what goes back is whole
 * frames of the few kinds we send, nothing follows a close frame, and what waits has a limit. The
 * first byte says how much of the rest came before the upgrade was done, and how it is cut. */
#include "fake_log.h"
#include "fuzz_target.h"
#include "web/ws_peer.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX ((size_t)1 << 22)

static struct clock now;

static void wake(void *arg, bool at_once) {
    (void)arg;
    (void)at_once;
}

static bool send_errand(void *arg, struct errand *x) {
    struct err e;
    (void)arg;
    x->done(x, x->run(x, NULL, &e), &e);
    return true;
}

static uint8_t out[OUT_MAX];
static size_t out_n;

static void pull(int fd) {
    ssize_t n;
    while (out_n < OUT_MAX && (n = recv(fd, out + out_n, OUT_MAX - out_n, MSG_DONTWAIT)) > 0)
        out_n += (size_t)n;
}

static void require_frames(void) {
    bool closed = false;
    for (size_t i = 0; i + 1 < out_n;) {
        size_t head = 2, n = out[i + 1];
        FUZZ_REQUIRE(!closed);
        FUZZ_REQUIRE(out[i] == 0x81 || out[i] == 0x88 || out[i] == 0x89 || out[i] == 0x8a);
        FUZZ_REQUIRE(n < 127);
        if (n == 126) {
            FUZZ_REQUIRE(out[i] == 0x81 && i + 4 <= out_n);
            n = (size_t)out[i + 2] << 8 | out[i + 3];
            head = 4;
        }
        closed = out[i] == 0x88;
        i += head + n;
        FUZZ_REQUIRE(i <= out_n);
    }
}

static void talk(struct ws_peer *p, int fd, const uint8_t *data, size_t size, size_t piece) {
    for (size_t at = 0; at < size && p->state < WS_ENDING; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        if (send(fd, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        ws_peer_in(p);
        ws_peer_out(p);
        pull(fd);
        FUZZ_REQUIRE(p->out.n <= WS_AHEAD_FRAMES);
    }
    for (int i = 0; i < 1000 && p->state < WS_ENDING && p->blocked; i++) {
        ws_peer_out(p);
        pull(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fds[2];
    struct feed_hub *hub = feed_hub_new(1);
    const struct ws_house house = {.clock = &now,
                                   .hub = hub,
                                   .ping_ms = WS_PING_MS,
                                   .slow_ms = WS_SLOW_MS,
                                   .close_ms = WS_CLOSE_MS,
                                   .wake = wake,
                                   .send = send_errand};
    struct ws_ask ask = {.since = {1, 2}};
    size_t how = size ? data[0] : 0, early = size > 1 ? (size - 1) * (how & 15) / 15 : 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        abort();
    clock_manual_init(&now, 1000, 1000);
    fake_log_begin(1, 20);
    feed_hub_state(hub, &fake_log.state, 0);
    out_n = 0;
    struct ws_peer *p =
        ws_peer_new(&house, &ask, fds[0], (struct str){(const char *)data + 1, early});
    ws_peer_in(p);
    ws_peer_out(p);
    pull(fds[1]);
    if (size > 1)
        talk(p, fds[1], data + 1 + early, size - 1 - early, 1 + (how >> 4) * 7);
    clock_advance(&now, WS_PING_MS);
    ws_peer_tick(p);
    shutdown(fds[1], SHUT_WR);
    ws_peer_in(p);
    ws_peer_in(p);
    pull(fds[1]);
    require_frames();
    clock_advance(&now, WS_CLOSE_MS);
    ws_peer_tick(p);
    FUZZ_REQUIRE(ws_peer_is_over(p));
    ws_peer_free(p);
    close(fds[1]);
    feed_hub_free(hub);
    return 0;
}
