/* Visits to a real server on loopback, to names that this program resolves itself: it takes the
 * place of the C library's getaddrinfo(), which libcurl asks. */
#include "net/http.h"
#include "server.h"

#include <dlfcn.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define BODY_MAX ((size_t)64 * 1024)

static struct server server;
static atomic_int asked; /* how often the name that changes was looked up */

/* The name is mapped and the real function does the rest, so that freeaddrinfo() fits. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret) {
    static const struct {
        const char *name, *address;
    } names[] = {
        {"site.test", "127.0.0.1"},
        {"inner.test", "127.0.0.1"},
        {"inner6.test", "::1"},
        {"mapped.test", "::ffff:127.0.0.1"},
        {"private.test", "10.0.0.1"},
        {"cloud.test", "169.254.169.254"},
        {"nat64.test", "64:ff9b::7f00:1"},
    };
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (name && strcmp(name, "rebind.test") == 0)
        name = asked++ == 0 ? "93.184.216.34" : "127.0.0.1";
    for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i].name) == 0)
            name = names[i].address;
    if (name && strcmp(name, "both.test") == 0) { /* one that is refused, then one that is not */
        struct addrinfo *first = NULL;
        int failed = real("10.0.0.1", service, hints, &first);
        if (!failed && real("127.0.0.1", service, hints, &first->ai_next) == 0)
            *ret = first;
        return failed;
    }
    if (name && strstr(name, ".test"))
        return EAI_NONAME;
    return real(name, service, hints, ret);
}

struct seen {
    int n;
    struct visit visit;
    enum net_class cls;
    long status;
    int64_t retry_after_ms;
    size_t body_n;
    char body[1200], url[300], detail[500], type[100];
};

static void on_done(void *ctx, const struct http_result *r) {
    struct seen *s = ctx;
    s->n++;
    s->cls = r->cls;
    s->status = r->status;
    s->body_n = r->body.n;
    s->retry_after_ms = r->retry_after_ms;
    snprintf(s->body, sizeof s->body, "%.*s", STR_FMT(r->body));
    snprintf(s->detail, sizeof s->detail, "%s", r->detail);
    if (!r->visit)
        return;
    s->visit = *r->visit;
    snprintf(s->url, sizeof s->url, "%s", r->visit->url);
    snprintf(s->type, sizeof s->type, "%s", r->visit->content_type);
}

static struct http_client *client(void) {
    struct http_client *c = NULL;
    struct err e;
    const struct http_options o = {.clock = &clock_machine,
                                   .max_connections = 4,
                                   .user_agent = "tain-test",
                                   .connect_timeout_ms = 120000,
                                   .timeout_ms = 120000,
                                   .max_body = 1000,
                                   .max_redirects = 0};
    assert_int_equal(http_new(&o, &c, &e), V_OK);
    return c;
}

/* Names at the server's port are let through as URLs; site.test, both.test and the server's root
 * may be on loopback. */
static struct guard *guard_with(struct guard_options o) {
    char ports[40], allow[200];
    struct guard *g = NULL;
    struct err e;
    snprintf(ports, sizeof ports, "80,443,%d", server.port);
    snprintf(allow, sizeof allow, "site.test:%d,both.test:%d,127.0.0.1:%d", server.port,
             server.port, server.port);
    o.ports = ports;
    o.allow = allow;
    o.max_body = o.max_body ? o.max_body : BODY_MAX;
    o.timeout_ms = o.timeout_ms ? o.timeout_ms : 120000;
    o.idle_seconds = o.idle_seconds ? o.idle_seconds : 120;
    assert_int_equal(guard_new(&o, &g, &e), V_OK);
    return g;
}

static struct seen run(struct http_client *c, const struct guard *g, const char *url) {
    struct seen s = {0};
    struct err e;
    const struct http_request r = {.url = url, .guard = g};
    assert_int_equal(http_send(c, &r, &s, &e), V_OK);
    while (s.n == 0)
        http_step(c, NO_DEADLINE, on_done, &s);
    assert_int_equal(s.n, 1);
    assert_int_equal(http_inflight(c), 0);
    return s;
}

static struct seen visit_host(struct guard_options o, const char *host, const char *path) {
    char url[600];
    struct http_client *c = client();
    struct guard *g = guard_with(o);
    snprintf(url, sizeof url, "http://%s:%d%s", host, server.port, path);
    struct seen s = run(c, g, url);
    http_free(c);
    guard_free(g);
    return s;
}

static struct seen visit(const char *path) {
    return visit_host((struct guard_options){0}, "site.test", path);
}

static void test_classes(void **state) {
    (void)state;
    static const struct {
        const char *path;
        enum visit_class cls;
        enum net_class net;
        long status;
        const char *body, *detail;
    } rows[] = {
        {"/page/hello", VISIT_OK, NET_OK, 200, "hello", "ok"},
        {"/ok/untyped", VISIT_OK, NET_OK, 200, "untyped", "ok"},
        {"/type/text/plain", VISIT_OK, NET_OK, 200, "typed", "ok"},
        {"/type/Application/XHTML+xml;q", VISIT_OK, NET_OK, 200, "typed", "ok"},
        {"/type/application/pdf", VISIT_NOT_HTML, NET_OTHER, 200, "",
         "not a page but application/pdf"},
        {"/type/text/htmlx", VISIT_NOT_HTML, NET_OTHER, 200, "", "not a page but text/htmlx"},
        {"/status/404", VISIT_GONE, NET_HTTP_404, 404, "", "HTTP 404 Not Found"},
        {"/status/410", VISIT_GONE, NET_HTTP_4XX, 410, "", "HTTP 410 Gone"},
        {"/status/401", VISIT_DENIED, NET_HTTP_401, 401, "", "HTTP 401 Unauthorized"},
        {"/status/403", VISIT_DENIED, NET_HTTP_403, 403, "", "HTTP 403 Forbidden"},
        {"/status/451", VISIT_DENIED, NET_HTTP_4XX, 451, "", "HTTP 451 "},
        {"/status/204", VISIT_DENIED, NET_HTTP_OTHER, 204, "", "HTTP 204 No Content"},
        {"/redirect/nowhere", VISIT_DENIED, NET_HTTP_OTHER, 302, "", "HTTP 302 Found"},
        {"/status/408", VISIT_LATER, NET_HTTP_4XX, 408, "", "HTTP 408 "},
        {"/status/500", VISIT_LATER, NET_HTTP_5XX, 500, "", "HTTP 500 "},
        {"/status/503", VISIT_LATER, NET_HTTP_5XX, 503, "", "HTTP 503 "},
        {"/retry/seconds", VISIT_LATER, NET_HTTP_429, 429, "", "HTTP 429 "},
        {"/truncated", VISIT_LATER, NET_TRUNCATED, 200, "", "truncated: "},
        {"/reset/now", VISIT_LATER, NET_RESET, 0, "", "reset: "},
        {"/garbage", VISIT_LATER, NET_PROTOCOL, 0, "", "protocol: "},
        {"/huge/announced", VISIT_TOO_LARGE, NET_TOO_LARGE, 200, "", "more than 65536 bytes"},
        {"/huge/chunked", VISIT_TOO_LARGE, NET_TOO_LARGE, 200, "", "more than 65536 bytes"},
        {"/heads/one", VISIT_TOO_LARGE, NET_TOO_LARGE, 200, "", "too_large: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen s = visit(rows[i].path);
        if (s.visit.cls != rows[i].cls || !strstr(s.detail, rows[i].detail))
            print_error("%s: %s, %s\n", rows[i].path, visit_class_name(s.visit.cls), s.detail);
        assert_int_equal(s.visit.cls, rows[i].cls);
        assert_int_equal(s.cls, rows[i].net);
        assert_int_equal(s.status, rows[i].status);
        assert_int_equal(s.visit.rule, GUARD_FINE);
        assert_string_equal(s.body, rows[i].body);
        assert_non_null(strstr(s.detail, rows[i].detail));
    }
    assert_int_equal(visit("/retry/seconds").retry_after_ms, 7000);
    assert_string_equal(visit("/page/x").type, "text/html; charset=utf-8");
    assert_int_equal(visit("/heads/early").visit.cls, VISIT_TOO_LARGE);
}

static void test_network_failures_are_for_later(void **state) {
    (void)state;
    struct http_client *c = client();
    struct guard_options o = {0};
    char url[100], allow[60];
    int port = server_unused_port();
    snprintf(allow, sizeof allow, "site.test:%d", port);
    snprintf(url, sizeof url, "http://site.test:%d/", port);
    struct guard *g = NULL, *named = guard_with(o);
    struct err e;
    o.allow = allow;
    assert_int_equal(guard_new(&o, &g, &e), V_OK);
    struct seen s = run(c, g, url);
    assert_int_equal(s.visit.cls, VISIT_LATER);
    assert_int_equal(s.cls, NET_CONNECT);
    s = run(c, named, "http://nosuch.test/");
    assert_int_equal(s.visit.cls, VISIT_LATER);
    assert_int_equal(s.cls, NET_DNS);
    http_free(c);
    guard_free(g);
    guard_free(named);
}

static void test_redirects(void **state) {
    (void)state;
    char path[300], shown[100];
    struct seen s = visit("/redirect/relative");
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_string_equal(s.body, "moved");
    snprintf(shown, sizeof shown, "http://site.test:%d/ok/moved", server.port);
    assert_string_equal(s.url, shown);
    assert_int_equal(s.visit.redirects, 1);
    snprintf(path, sizeof path, "/to/%s/page/there", server.root); /* another host */
    s = visit(path);
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_string_equal(s.body, "there");
    s = visit("/hops/5");
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_string_equal(s.body, "arrived");
    s = visit("/hops/6");
    assert_int_equal(s.visit.cls, VISIT_REFUSED);
    assert_int_equal(s.visit.rule, GUARD_REDIRECTS);
    assert_int_equal(s.visit.redirects, 5);
    s = visit_host((struct guard_options){.max_redirects = -1}, "site.test", "/hops/1");
    assert_int_equal(s.visit.rule, GUARD_REDIRECTS);
    assert_int_equal(visit("/to//status/404").visit.cls, VISIT_GONE);
}

/* Each hop is looked at; none of these makes a connection beyond the first. */
static void test_refused_redirects(void **state) {
    (void)state;
    static const struct {
        const char *to;
        enum guard_rule rule;
    } rows[] = {
        {"file:///etc/passwd", GUARD_SCHEME},
        {"gopher://site.test/x", GUARD_SCHEME},
        {"ftp://site.test/x", GUARD_SCHEME},
        {"javascript:alert(1)", GUARD_SCHEME},
        {"http://127.0.0.1/", GUARD_LOOPBACK},
        {"http://0x7f.1/", GUARD_LOOPBACK},
        {"https://2130706433/", GUARD_LOOPBACK},
        {"http://[::1]/", GUARD_LOOPBACK},
        {"http://[::ffff:127.0.0.1]/", GUARD_MAPPED},
        {"//169.254.169.254/latest/meta-data", GUARD_LINK_LOCAL},
        {"http://inner.test/", GUARD_LOOPBACK},
        {"http://inner6.test/", GUARD_LOOPBACK},
        {"http://mapped.test/", GUARD_MAPPED},
        {"http://private.test/", GUARD_PRIVATE},
        {"https://cloud.test/", GUARD_LINK_LOCAL},
        {"http://nat64.test/", GUARD_NAT64},
        {"http://inner.test:22/", GUARD_PORT},
        {"http://user:hunter2@site.test/", GUARD_CREDENTIALS},
        {"http://site.test/", GUARD_LOOPBACK}, /* at another port than the allowed */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char path[300];
        int before = server.connections;
        snprintf(path, sizeof path, "/to/%s", rows[i].to);
        struct seen s = visit(path);
        if (s.visit.cls != VISIT_REFUSED || s.visit.rule != rows[i].rule)
            print_error("%s: %s, %s, %s\n", rows[i].to, visit_class_name(s.visit.cls),
                        guard_rule_name(s.visit.rule), s.detail);
        assert_int_equal(s.visit.cls, VISIT_REFUSED);
        assert_int_equal(s.visit.rule, rows[i].rule);
        assert_int_equal(s.cls, NET_OTHER);
        assert_int_equal(s.body_n, 0);
        assert_non_null(strstr(s.detail, guard_rule_text(rows[i].rule)));
        assert_null(strstr(s.detail, "hunter2"));
        assert_int_equal(server.connections, before + 1);
    }
}

/* The port is open to strangers and the server is there: only the address of the socket says no. */
static void test_names_of_other_addresses(void **state) {
    (void)state;
    static const struct {
        const char *host;
        enum guard_rule rule;
    } rows[] = {
        {"inner.test", GUARD_LOOPBACK},   {"inner6.test", GUARD_LOOPBACK},
        {"mapped.test", GUARD_MAPPED},    {"private.test", GUARD_PRIVATE},
        {"cloud.test", GUARD_LINK_LOCAL}, {"nat64.test", GUARD_NAT64},
    };
    int before = server.connections;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen s = visit_host((struct guard_options){0}, rows[i].host, "/page/secret");
        assert_int_equal(s.visit.cls, VISIT_REFUSED);
        assert_int_equal(s.visit.rule, rows[i].rule);
        assert_int_equal(s.status, 0);
    }
    assert_int_equal(server.connections, before);
    struct seen s = visit_host((struct guard_options){0}, "both.test", "/page/found");
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_string_equal(s.body, "found");
}

/* Who looks the name up first is told a public address; the socket would go elsewhere. */
static void test_rebinding(void **state) {
    (void)state;
    struct addrinfo *first = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int before = server.connections;
    asked = 0;
    assert_int_equal(getaddrinfo("rebind.test", "80", &hints, &first), 0);
    assert_int_equal(guard_address(first->ai_addr), GUARD_FINE);
    freeaddrinfo(first);
    struct seen s = visit_host((struct guard_options){0}, "rebind.test", "/page/secret");
    assert_int_equal(s.visit.cls, VISIT_REFUSED);
    assert_int_equal(s.visit.rule, GUARD_LOOPBACK);
    assert_true(asked >= 2);
    assert_int_equal(server.connections, before);
}

/* A connection that somebody else opened and kept is none that the guard has looked at. */
static void test_kept_connections(void **state) {
    (void)state;
    char url[200];
    struct seen s = {0};
    struct err e;
    struct http_client *c = client();
    struct guard *g = guard_with((struct guard_options){0});
    snprintf(url, sizeof url, "http://inner.test:%d/ok/plain", server.port);
    assert_int_equal(http_submit(c, url, &s, &e), V_OK);
    while (s.n == 0)
        http_step(c, NO_DEADLINE, on_done, &s);
    assert_int_equal(s.cls, NET_OK);
    assert_null(s.visit.url);
    int requests = server.requests;
    s = run(c, g, url);
    assert_int_equal(s.visit.rule, GUARD_LOOPBACK);
    assert_int_equal(server.requests, requests);
    /* And a visit leaves nothing behind: neither its connection nor its handle. */
    int connections = server.connections;
    snprintf(url, sizeof url, "http://site.test:%d/page/a", server.port);
    s = run(c, g, url);
    assert_int_equal(s.visit.cls, VISIT_OK);
    s = run(c, g, url);
    assert_int_equal(server.connections, connections + 2);
    s = (struct seen){0};
    snprintf(url, sizeof url, "http://inner.test:%d/ok/plain", server.port);
    assert_int_equal(http_submit(c, url, &s, &e), V_OK);
    while (s.n == 0)
        http_step(c, NO_DEADLINE, on_done, &s);
    assert_int_equal(s.cls, NET_OK);
    assert_int_equal(server.connections, connections + 2);
    s = (struct seen){0};
    snprintf(url, sizeof url, "http://site.test:%d/ok/plain", server.port);
    assert_int_equal(http_submit(c, url, &s, &e), V_OK);
    while (s.n == 0)
        http_step(c, NO_DEADLINE, on_done, &s);
    assert_int_equal(server.connections, connections + 3);
    http_free(c);
    guard_free(g);
}

static void test_no_proxy(void **state) {
    (void)state;
    static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        setenv(names[i], server.root, 1);
    setenv("no_proxy", "", 1);
    struct seen s = visit("/page/direct"); /* a proxy would be sent the whole URL */
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_string_equal(s.body, "direct");
    int requests = server.requests;
    s = visit_host((struct guard_options){0}, "private.test", "/page/x");
    assert_int_equal(s.visit.rule, GUARD_PRIVATE);
    assert_int_equal(server.requests, requests);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    unsetenv("no_proxy");
}

static void test_what_is_sent(void **state) {
    (void)state;
    struct seen s = visit("/to//echo"); /* which sets a cookie on the way */
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_non_null(strstr(s.body, "GET /echo HTTP/1.1\r\n"));
    assert_non_null(strstr(s.body, "User-Agent: tain-test\r\n"));
    assert_non_null(strstr(s.body, "Accept: text/html,"));
    assert_null(strcasestr(s.body, "cookie:"));
    assert_null(strcasestr(s.body, "referer:"));
    assert_null(strcasestr(s.body, "authorization:"));
}

static size_t compress_zeros(size_t plain, char *out, size_t size) {
    static const unsigned char zeros[65536];
    z_stream z = {.next_out = (unsigned char *)out, .avail_out = (unsigned)size};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    for (; plain > 0;
         plain -= z.avail_in < plain ? plain < sizeof zeros ? plain : sizeof zeros : 0) {
        z.next_in = (unsigned char *)zeros;
        z.avail_in = (unsigned)(plain < sizeof zeros ? plain : sizeof zeros);
        assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
    }
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    return n;
}

static struct seen visit_compressed(size_t plain) {
    static char answers[3][400000], body[300000];
    static struct server_bytes given[3];
    static int turn;
    struct server_bytes *b = &given[turn % 3];
    char *answer = answers[turn++ % 3];
    size_t n = compress_zeros(plain, body, sizeof body);
    int head = snprintf(answer, sizeof answers[0],
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        n);
    memcpy(answer + head, body, n);
    *b = (struct server_bytes){answer, (size_t)head + n};
    server.bytes = b;
    return visit("/bytes");
}

/* 64 MiB in 64 kB: the limit is on what comes out. */
static void test_compressed(void **state) {
    (void)state;
    struct seen s = visit_compressed(BODY_MAX);
    assert_int_equal(s.visit.cls, VISIT_OK);
    assert_int_equal(s.body_n, BODY_MAX);
    assert_int_equal(visit_compressed(BODY_MAX + 1).visit.cls, VISIT_TOO_LARGE);
    assert_int_equal(visit_compressed((size_t)48 << 20).visit.cls, VISIT_TOO_LARGE);
}

/* Compressed pieces without anything in them come out as nothing, for ever. */
static void test_empty_pieces(void **state) {
    (void)state;
    static char answer[300000];
    static const char block[] = {0, 0, 0, (char)0xFF, (char)0xFF}; /* stored, of length 0 */
    int n = snprintf(answer, sizeof answer,
                     "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
                     "\x1F\x8B\x08%c%c%c%c%c%c\x03",
                     0, 0, 0, 0, 0, 0);
    size_t at = (size_t)n;
    for (; at + sizeof block <= sizeof answer; at += sizeof block)
        memcpy(answer + at, block, sizeof block);
    static struct server_bytes given;
    given = (struct server_bytes){answer, at};
    server.bytes = &given;
    assert_int_equal(visit("/bytes").visit.cls, VISIT_TOO_LARGE);
}

static void test_time(void **state) {
    (void)state;
    static const char *const paths[] = {"/silent", "/drip", "/to//drip"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct seen s =
            visit_host((struct guard_options){.timeout_ms = 300}, "site.test", paths[i]);
        assert_int_equal(s.visit.cls, VISIT_LATER);
        assert_int_equal(s.cls, NET_TIMEOUT);
    }
    /* The whole visit has two minutes; silence is not heard for so long. */
    struct seen s = visit_host((struct guard_options){.idle_seconds = 1}, "site.test", "/silent");
    assert_int_equal(s.visit.cls, VISIT_LATER);
    assert_int_equal(s.cls, NET_TIMEOUT);
    assert_non_null(strstr(s.detail, "too slow"));
}

static void test_refused_at_once(void **state) {
    (void)state;
    struct http_client *c = client();
    struct guard *g = guard_with((struct guard_options){0});
    struct err e;
    struct http_request r = {.url = "http://[::1]/", .guard = g};
    assert_int_equal(http_send(c, &r, NULL, &e), V_INVALID);
    assert_string_equal(e.domain, "guard");
    assert_int_equal(e.code, GUARD_LOOPBACK);
    assert_non_null(strstr(e.msg, "a loopback address"));
    const struct str header = STR("Cookie: a=b");
    r = (struct http_request){
        .url = "http://example.com/", .guard = g, .headers = &header, .n_headers = 1};
    assert_int_equal(http_send(c, &r, NULL, &e), V_INVALID);
    r = (struct http_request){.url = "http://example.com/", .guard = g, .method = "POST"};
    assert_int_equal(http_send(c, &r, NULL, &e), V_INVALID);
    assert_int_equal(http_inflight(c), 0);
    http_free(c);
    guard_free(g);
}

static bool pick_all(void *ctx, void *tag) {
    (void)ctx, (void)tag;
    return true;
}

static void test_cancelled(void **state) {
    (void)state;
    char url[100];
    struct http_client *c = client();
    struct guard *g = guard_with((struct guard_options){0});
    struct seen s = {0};
    struct err e;
    snprintf(url, sizeof url, "http://site.test:%d/silent", server.port);
    const struct http_request r = {.url = url, .guard = g};
    for (int i = 0; i < 6; i++) /* more than there are connections */
        assert_int_equal(http_send(c, &r, &s, &e), V_OK);
    http_step(c, 0, on_done, &s);
    assert_int_equal(http_cancel_if(c, pick_all, NULL), 6);
    assert_int_equal(http_inflight(c), 0);
    snprintf(url, sizeof url, "http://site.test:%d/page/after", server.port);
    s = run(c, g, url);
    assert_string_equal(s.body, "after");
    http_free(c);
    guard_free(g);
}

static int start(void **state) {
    (void)state;
    server_start(&server);
    return 0;
}

static int stop(void **state) {
    (void)state;
    server_stop(&server);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_network_failures_are_for_later),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_refused_redirects),
        cmocka_unit_test(test_names_of_other_addresses),
        cmocka_unit_test(test_rebinding),
        cmocka_unit_test(test_kept_connections),
        cmocka_unit_test(test_no_proxy),
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_empty_pieces),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_refused_at_once),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
