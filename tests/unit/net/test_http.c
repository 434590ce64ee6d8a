/* One request at a time against every behaviour of the scripted server. */
#include "fetch.h"
#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct server server;
static struct clock now;

static int start(void **state) {
    (void)state;
    /* Two seconds before the date in Retry-After. */
    clock_manual_init(&now, 1000, INT64_C(784111775000));
    server_start(&server);
    return 0;
}

static int stop(void **state) {
    (void)state;
    server_stop(&server);
    return 0;
}

static struct got fetch_with(const struct http_options *o, const char *path) {
    struct http_client *c = fetch_client(o);
    struct got g = fetch(c, server.root, path);
    http_free(c);
    return g;
}

static void test_behaviours(void **state) {
    (void)state;
    static const struct {
        const char *path;
        enum net_class cls;
        long status;
        int64_t retry_after_ms;
        const char *body, *detail; /* detail: a part of it */
    } rows[] = {
        {"/ok/a?query", NET_OK, 200, -1, "a?query", "ok"},
        {"/ok/hello", NET_OK, 200, -1, "hello", "ok"}, /* without the query before */
        {"/ok/", NET_OK, 200, -1, "", "ok"},
        {"/status/204", NET_HTTP_OTHER, 204, -1, "", "HTTP 204 No Content"},
        {"/status/304", NET_HTTP_OTHER, 304, -1, "", "HTTP 304 Not Modified"},
        {"/status/401", NET_HTTP_401, 401, -1, "said so", "HTTP 401 Unauthorized"},
        {"/status/403", NET_HTTP_403, 403, -1, "said so", "HTTP 403 Forbidden"},
        {"/status/404", NET_HTTP_404, 404, -1, "said so", "HTTP 404 Not Found"},
        {"/status/418", NET_HTTP_4XX, 418, -1, "said so", "HTTP 418"},
        {"/status/500", NET_HTTP_5XX, 500, -1, "said so", "HTTP 500 Internal Server Error"},
        {"/status/503", NET_HTTP_5XX, 503, -1, "said so", "HTTP 503 Service Unavailable"},
        {"/retry/seconds", NET_HTTP_429, 429, 7000, "", "HTTP 429 Too Many Requests"},
        {"/retry/date", NET_HTTP_429, 429, 2000, "", "HTTP 429 Too Many Requests"},
        {"/known/no", NET_UNKNOWN, 200, -1, "null", "the upstream has not come to it yet"},
        {"/known/yes", NET_OK, 200, -1, "null", "ok"},
        {"/ok/null", NET_OK, 200, -1, "null", "ok"},
        {"/redirect/relative", NET_OK, 200, -1, "moved", "ok"},
        {"/redirect/absolute", NET_OK, 200, -1, "moved?a=b", "ok"},
        {"/redirect/host", NET_REDIRECT, 302, -1, NULL,
         "redirect to another host: http://elsewhere.invalid/ok"},
        {"/redirect/port", NET_REDIRECT, 302, -1, NULL, "redirect to another host: http://127."},
        {"/redirect/scheme", NET_REDIRECT, 302, -1, NULL, "redirect to another host: https://"},
        {"/redirect/file", NET_REDIRECT, 302, -1, NULL, "redirect to another host: "},
        {"/redirect/loop", NET_REDIRECT, 302, -1, NULL, "more than 3 redirects, the last to "},
        {"/redirect/nowhere", NET_HTTP_OTHER, 302, -1, NULL, "HTTP 302 Found"},
        {"/truncated", NET_TRUNCATED, 200, -1, "only this", "truncated: "},
        {"/reset/now", NET_RESET, 0, -1, "", "reset: "},
        {"/reset/midway", NET_RESET, 200, -1, NULL, "reset: "},
        {"/nothing", NET_RESET, 0, -1, "", "reset: "},
        {"/garbage", NET_PROTOCOL, 0, -1, "", "protocol: "},
        {"/badchunk", NET_RESET, 200, -1, "", "reset: "}, /* libcurl gives it no code of its own */
        {"/huge/announced", NET_TOO_LARGE, 200, -1, "", "too_large: the answer has more than 1000"},
        {"/huge/chunked", NET_TOO_LARGE, 200, -1, NULL, "too_large: the answer has more than 1000"},
        {"/sized/1001", NET_TOO_LARGE, 200, -1, "", "too_large: "},
        {"/close/bye", NET_OK, 200, -1, "bye", "ok"},
    };
    struct http_options o = fetch_options(&now);
    struct http_client *c = fetch_client(&o); /* one for all: a handle must shake off its past */
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct got g = fetch(c, server.root, rows[i].path);
            if (g.cls != rows[i].cls || !strstr(g.detail, rows[i].detail))
                print_error("%s: %s, %s\n", rows[i].path, net_class_name(g.cls), g.detail);
            assert_int_equal(g.cls, rows[i].cls);
            assert_int_equal(g.status, rows[i].status);
            assert_int_equal(g.retry_after_ms, rows[i].retry_after_ms);
            assert_non_null(strstr(g.detail, rows[i].detail));
            assert_int_equal(g.elapsed_ms, 0);
            if (rows[i].body)
                assert_string_equal(g.body, rows[i].body);
        }
    http_free(c);
}

static void test_a_body_of_just_the_maximum(void **state) {
    (void)state;
    struct http_options o = fetch_options(&now);
    struct got g = fetch_with(&o, "/sized/1000");
    assert_int_equal(g.cls, NET_OK);
    assert_int_equal(g.body_n, 1000);
}

static void test_time_outs(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    o.timeout_ms = 150;
    static const char *const paths[] = {"/silent", "/drip"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct got g = fetch_with(&o, paths[i]);
        assert_int_equal(g.cls, NET_TIMEOUT);
        assert_non_null(strstr(g.detail, "timeout: "));
        assert_true(g.elapsed_ms >= 140);
    }
}

static void test_no_redirects_allowed(void **state) {
    (void)state;
    struct http_options o = fetch_options(&now);
    o.max_redirects = 0;
    assert_int_equal(fetch_with(&o, "/redirect/relative").cls, NET_REDIRECT);
}

static void test_refused(void **state) {
    (void)state;
    char root[64];
    snprintf(root, sizeof root, "http://127.0.0.1:%d", server_unused_port());
    struct http_options o = fetch_options(&now);
    struct http_client *c = fetch_client(&o);
    struct got g = fetch(c, root, "/ok/");
    assert_int_equal(g.cls, NET_CONNECT);
    assert_int_equal(g.status, 0);
    assert_memory_equal(g.detail, "connection refused: ", 20);
    http_free(c);
}

static void test_tls_to_a_server_without(void **state) {
    (void)state;
    char root[64];
    snprintf(root, sizeof root, "https://127.0.0.1:%d", server.port);
    struct http_options o = fetch_options(&now);
    o.timeout_ms = 300; /* the server waits for the end of a request line */
    struct http_client *c = fetch_client(&o);
    struct got g = fetch(c, root, "/ok/");
    assert_true(g.cls == NET_TLS || g.cls == NET_TIMEOUT);
    http_free(c);
}

static void test_proxy_of_the_environment(void **state) {
    (void)state;
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", server_unused_port());
    setenv("http_proxy", proxy, 1);
    setenv("no_proxy", "", 1);
    struct http_options o = fetch_options(&now);
    struct http_client *c = fetch_client(&o);
    assert_int_equal(fetch(c, server.root, "/ok/direct").cls, NET_OK);
    assert_int_equal(fetch(c, "http://somewhere.invalid", "/").cls, NET_CONNECT);
    assert_int_equal(fetch(c, server.root, "/ok/direct").cls, NET_OK);
    http_free(c);
    setenv("http_proxy", server.root, 1); /* a proxy is sent the whole URL, which it has no route */
    c = fetch_client(&o);
    struct got g = fetch(c, "http://somewhere.invalid", "/ok/");
    assert_int_equal(g.cls, NET_HTTP_404);
    http_free(c);
    unsetenv("http_proxy");
    unsetenv("no_proxy");
}

static void test_wrong_options_and_urls(void **state) {
    (void)state;
    struct http_options good = fetch_options(&now), o;
    struct http_client *c;
    struct err e;
    o = good;
    o.max_connections = 0;
    assert_int_equal(http_new(&o, &c, &e), V_INVALID);
    o = good;
    o.timeout_ms = 0;
    assert_int_equal(http_new(&o, &c, &e), V_INVALID);
    o = good;
    o.ca_file = "/nonexistent/ca.pem";
    assert_int_equal(http_new(&o, &c, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "/nonexistent/ca.pem"));
    c = fetch_client(&good);
    assert_int_equal(http_submit(c, "ftp://127.0.0.1/", NULL, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "ftp"));
    assert_int_equal(http_submit(c, "nonsense", NULL, &e), V_INVALID);
    assert_int_equal(http_inflight(c), 0);
    http_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behaviours),
        cmocka_unit_test(test_a_body_of_just_the_maximum),
        cmocka_unit_test(test_time_outs),
        cmocka_unit_test(test_no_redirects_allowed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_tls_to_a_server_without),
        cmocka_unit_test(test_proxy_of_the_environment),
        cmocka_unit_test(test_wrong_options_and_urls),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
