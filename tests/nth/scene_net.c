/* Requests, visits and streams. Without memory for libcurl the program may end with a word, see
 * nth.c; what it may not do is go on with half a request. */
#include "fetch.h"
#include "peer.h"
#include "scenarios.h"
#include "server.h"

#include "net/probe.h"
#include "net/reach.h"
#include "net/stream.h"

#include <stdio.h>
#include <string.h>

#define NO_CA "/dev/null" /* nothing here is https that answers */

static struct server server;

struct seen {
    int n;
    enum net_class cls;
    long status;
    char body[200], detail[300], headers[600];
};

static void on_done(void *ctx UNUSED, const struct http_result *r) {
    struct seen *s = r->tag;
    s->n++;
    s->cls = r->cls;
    s->status = r->status;
    snprintf(s->body, sizeof s->body, "%.*s", STR_FMT(r->body));
    snprintf(s->detail, sizeof s->detail, "%s", r->detail);
    snprintf(s->headers, sizeof s->headers, "%.*s", STR_FMT(r->headers));
}

static struct http_client *new_client(const struct clock *clock) {
    struct http_options o = fetch_options(clock);
    struct http_client *c = NULL;
    struct err e = {0};
    o.ca_file = NO_CA;
    o.max_connections = 64; /* more than there are before a server is known */
    enum verdict v = http_new(&o, &c, &e);
    if (!nth_judge("http_new", v, &e, c))
        v = http_new(&o, &c, &e);
    nth_check(v == V_OK, "%s", e.msg);
    return c;
}

/* One that cannot watch its own bell is not made. A socket that cannot be watched is another
 * matter: its transfer ends by its time-out. */
void net_start(void) {
    nth_on();
    http_free(new_client(&clock_machine));
    nth_off();
}

static struct seen send_once(struct http_client *c, const struct http_request *r) {
    struct seen s = {.cls = NET_CONNECT};
    struct err e = {0};
    enum verdict v = http_send(c, r, &s, &e);
    if (!nth_judge("http_send", v, &e, http_inflight(c) == 1))
        return s;
    for (int i = 0; s.n == 0 && i < 6000; i++)
        http_step(c, NO_DEADLINE, on_done, NULL);
    nth_check(s.n == 1 && http_inflight(c) == 0, "answered %d times", s.n);
    nth_check(s.cls == NET_OK || s.detail[0], "class %d without a word", (int)s.cls);
    return s;
}

/* The answer is what was asked for, or it failed and the next is. */
static struct seen ask(struct http_client *c, const struct http_request *r, enum net_class wanted,
                       const char *body) {
    bool fired = nth_fired();
    struct seen s = send_once(c, r);
    if (s.cls != wanted) {
        nth_check(!fired && nth_fired(), "%s by itself: %s", r->url, s.detail);
        s = send_once(c, r);
    }
    nth_check(s.cls == wanted, "%s: class %d, %s", r->url, (int)s.cls, s.detail);
    nth_check(strcmp(s.body, body) == 0, "%s: '%s', not '%s'", r->url, s.body, body);
    return s;
}

static const char *url_of(const char *path) {
    static char url[200];
    snprintf(url, sizeof url, "%s%s", server.root, path);
    return url;
}

static struct peer peer;

/* The other end says 200 to a whole request, and 400 to one that lacks something. One that ends
 * before its body is half of one, too. */
static void answer_post(void) {
    nth_off();
    nth_check(peer.fd < 0 || !strstr(peer.request, "\r\n\r\n") || !peer_left(&peer),
              "half a request was sent: %s", peer.request);
    if (peer_called(&peer) && strstr(peer.request, "a body")) {
        bool whole = strstr(peer.request, "POST /take ") && strstr(peer.request, "X-One: 1\r\n") &&
                     strstr(peer.request, "X-Two:\r\n") &&
                     strstr(peer.request, "Content-Length: 6\r\n");
        peer_say(&peer, "HTTP/1.1 %d X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK",
                 whole ? 200 : 400);
        peer_hang_up(&peer);
    }
    nth_on();
}

static struct seen post_once(struct http_client *c) {
    static const struct str headers[] = {{"X-One: 1", 8}, {"X-Two:", 6}};
    char url[100];
    snprintf(url, sizeof url, "%s/take", peer.root);
    const struct http_request r = {.method = "POST",
                                   .url = url,
                                   .headers = headers,
                                   .n_headers = 2,
                                   .body = STR("a body"),
                                   .timeout_ms = 60000,
                                   .want_headers = true};
    struct seen s = {.cls = NET_CONNECT};
    struct err e = {0};
    enum verdict v = http_send(c, &r, &s, &e);
    nth_judge("http_send", v, &e, http_inflight(c) == 1);
    for (int i = 0; v == V_OK && s.n == 0 && i < 6000; i++) {
        http_step(c, NO_DEADLINE, on_done, NULL);
        answer_post();
    }
    return s;
}

static void post(struct http_client *c) {
    nth_off();
    peer_open(&peer);
    nth_on();
    struct seen s = post_once(c);
    nth_check(s.status != 400, "half a request was sent: %s", peer.request);
    if (s.cls != NET_OK)
        s = post_once(c);
    nth_check(s.cls == NET_OK && strcmp(s.body, "OK") == 0, "%d %s", (int)s.cls, s.detail);
    nth_check(strcasestr(s.headers, "Content-Length: 2\n"), "headers: %s", s.headers);
    nth_off();
    peer_close(&peer);
    nth_on();
}

void net_http(void) {
    struct clock clock;
    char nobody[100];
    clock_manual_init(&clock, 1000, 1000);
    server_start(&server);
    snprintf(nobody, sizeof nobody, "https://127.0.0.1:%d/", server_unused_port());
    nth_on();
    struct http_client *c = new_client(&clock);
    ask(c, &(struct http_request){.url = url_of("/ok/hello")}, NET_OK, "hello");
    ask(c, &(struct http_request){.url = url_of("/known/no")}, NET_UNKNOWN, "null");
    ask(c, &(struct http_request){.url = url_of("/known/yes")}, NET_OK, "null");
    ask(c, &(struct http_request){.url = url_of("/redirect/relative")}, NET_OK, "moved");
    struct seen s = ask(c, &(struct http_request){.url = url_of("/retry/7")}, NET_HTTP_429, "");
    nth_check(s.status == 429, "%ld", s.status);
    ask(c, &(struct http_request){.url = url_of("/redirect/port")}, NET_REDIRECT,
        "the body of a redirect");
    ask(c, &(struct http_request){.url = nobody}, NET_CONNECT, "");
    post(c);
    http_free(c);
    nth_off();
    server_stop(&server);
}

/* A socket that cannot be watched: its transfer ends by its time-out, and the next is as good as
 * ever. */
void net_unwatched(void) {
    server_start(&server);
    nth_on();
    struct http_client *c = new_client(&clock_machine);
    for (int i = 0; i < 2; i++)
        ask(c, &(struct http_request){.url = url_of("/ok/hello"), .timeout_ms = 200}, NET_OK,
            "hello");
    http_free(c);
    nth_off();
    server_stop(&server);
}

/* What a visit may fetch, it fetches; what it may not, it does not, whatever else fails. */
void net_visit(void) {
    struct clock clock;
    struct guard *g = NULL;
    struct err e = {0};
    char allow[60];
    clock_manual_init(&clock, 1000, 1000);
    server_start(&server);
    snprintf(allow, sizeof allow, "127.0.0.1:%d", server.port);
    const struct guard_options o = {.ports = strchr(allow, ':') + 1, .allow = allow};
    nth_on();
    enum verdict v = guard_new(&o, &g, &e);
    if (!nth_judge("guard_new", v, &e, g))
        nth_check(guard_new(&o, &g, &e) == V_OK, "%s", e.msg);
    struct http_client *c = new_client(&clock);
    ask(c, &(struct http_request){.url = url_of("/page/hello"), .guard = g}, NET_OK, "hello");
    char inner[100], path[100];
    snprintf(path, sizeof path, "/to/%s/page/there", server.root);
    ask(c, &(struct http_request){.url = url_of(path), .guard = g}, NET_OK, "there");
    snprintf(inner, sizeof inner, "http://\uff11\uff12\uff17.0.0.1:%d/page/hello", server.port);
    ask(c, &(struct http_request){.url = inner, .guard = g}, NET_OK, "hello");
    snprintf(inner, sizeof inner, "http://localhost:%d/page/hello", server.port);
    int before = server.requests;
    struct seen s = {0};
    v = http_send(c, &(struct http_request){.url = inner, .guard = g}, &s, &e);
    for (int i = 0; v == V_OK && s.n == 0 && i < 6000; i++)
        http_step(c, NO_DEADLINE, on_done, NULL);
    nth_check(v != V_OK || s.cls != NET_OK, "an inner address was visited");
    nth_check(server.requests == before, "an inner address was asked");
    http_free(c);
    guard_free(g);
    nth_off();
    server_stop(&server);
}

static char heard[200];

static void on_bytes(void *ctx UNUSED, struct str bytes) {
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%.*s", STR_FMT(bytes));
}

static enum stream_phase step(struct stream_client *c, int64_t deadline, bool hold) {
    nth_on();
    enum stream_phase phase = stream_step(c, deadline, hold, on_bytes, NULL);
    nth_off();
    return phase;
}

/* The server sends to another address. There the first bytes come while nobody wants them; then
 * they are taken, then the server hangs up. */
static bool listen_once(struct stream_client *c, const char *url) {
    struct err e = {0};
    bool moved = false, said = false, over = false;
    heard[0] = '\0';
    nth_on();
    enum verdict v = stream_open(c, url, &e);
    nth_off();
    if (!nth_judge("stream_open", v, &e, true))
        return false;
    enum stream_phase phase = STREAM_OPENING;
    for (int i = 0; i < 6000 && phase != STREAM_ENDED; i++) {
        phase = step(c, NO_DEADLINE, phase == STREAM_OPENING);
        if (phase == STREAM_OPEN && !heard[0])
            step(c, 0, true);
        if (!moved && peer_called(&peer)) {
            peer_say(&peer, "HTTP/1.1 307 X\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
            peer_hang_up(&peer);
            moved = true;
        } else if (!said && peer_called(&peer)) {
            nth_check(strstr(peer.request, "GET /there "), "asked for %s", peer.request);
            peer_say(&peer, "%sdata: 1\n\n", PEER_HEAD);
            said = true;
        }
        if (!over && strstr(heard, "data: 1\n\n")) {
            peer_hang_up(&peer);
            over = true;
        }
    }
    nth_check(phase == STREAM_ENDED && stream_end(c)->detail[0], "no end, or one without a word");
    if (stream_end(c)->cls == NET_OK)
        nth_check(over, "an end in good order, and its bytes are lost");
    return over;
}

void net_stream(void) {
    struct clock clock;
    struct stream_client *c = NULL;
    struct err e = {0};
    char url[100];
    clock_manual_init(&clock, 1000, 1000);
    peer_open(&peer);
    snprintf(url, sizeof url, "%s/v0/updates.json", peer.root);
    const struct stream_options o = {.clock = &clock,
                                     .user_agent = "tain-test",
                                     .ca_file = NO_CA,
                                     .connect_timeout_ms = 120000,
                                     .max_redirects = 3};
    nth_on();
    enum verdict v = stream_new(&o, &c, &e);
    nth_off();
    if (!nth_judge("stream_new", v, &e, c))
        nth_check(stream_new(&o, &c, &e) == V_OK, "%s", e.msg);
    bool good = listen_once(c, url);
    if (!good) {
        nth_check(nth_fired(), "no stream by itself");
        good = listen_once(c, url);
    }
    nth_check(good, "no stream, and none at the next try");
    nth_on();
    stream_free(c);
    nth_off();
    peer_close(&peer);
}

void net_probe(void) {
    struct probe_result r;
    struct err e = {0};
    server_start(&server);
    const struct probe_options o = {.url = url_of("/ok/hello"),
                                    .user_agent = "tain-test",
                                    .ca_file = NO_CA,
                                    .timeout_ms = 120000};
    nth_on();
    enum verdict v = probe_url(&o, &r, &e);
    nth_off();
    nth_judge("probe_url", v, &e, r.cls == NET_OK ? strcmp(r.body, "hello") == 0 : r.detail[0]);
    nth_check(nth_fired() || r.cls == NET_OK, "%s", r.detail);
    nth_check(probe_url(&o, &r, &e) == V_OK && r.cls == NET_OK, "%s", r.detail);
    server_stop(&server);
}

void net_reach(void) {
    struct err e = {0};
    server_start(&server);
    nth_on();
    enum verdict v = reach_url(url_of("/"), 120000, &e);
    nth_off();
    if (v != V_OK)
        nth_check(nth_fired() && e.msg[0], "%s", e.msg);
    nth_check(reach_url(url_of("/"), 120000, &e) == V_OK, "%s", e.msg);
    server_stop(&server);
}
