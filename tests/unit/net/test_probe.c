#include "net/probe.h"

#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct server server;

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

static struct probe_result probe_within(int timeout_ms, const char *root, const char *path) {
    char url[200];
    snprintf(url, sizeof url, "%s%s", root, path);
    const struct probe_options o = {url, "test", NULL, timeout_ms};
    struct probe_result r;
    struct err e;
    assert_int_equal(probe_url(&o, &r, &e), V_OK);
    return r;
}

static struct probe_result probe(const char *root, const char *path) {
    return probe_within(120000, root, path);
}

static void an_answer(void **state) {
    (void)state;
    struct probe_result r = probe(server.root, "/ok/4711");
    assert_int_equal(r.cls, NET_OK);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "4711");
    assert_string_equal(r.http, "HTTP/1.1");
    assert_string_equal(r.detail, "");
    assert_int_equal(r.date_ms, -1);
    assert_true(r.elapsed_ms >= 0);
}

static void no_good_answer(void **state) {
    (void)state;
    struct probe_result r = probe(server.root, "/status/503");
    assert_int_equal(r.cls, NET_HTTP_5XX);
    assert_non_null(strstr(r.detail, "503"));
    char root[40];
    snprintf(root, sizeof root, "http://127.0.0.1:%d", server_unused_port());
    r = probe(root, "/ok/1");
    assert_int_equal(r.cls, NET_CONNECT);
    assert_int_equal(r.status, 0);
    assert_string_equal(r.http, "no HTTP");
    assert_true(*r.detail);
    assert_int_equal(probe_within(300, server.root, "/silent").cls, NET_TIMEOUT);
}

static void not_an_address(void **state) {
    (void)state;
    const struct probe_options o = {"gopher://x/", "test", NULL, 300};
    struct probe_result r;
    struct err e;
    assert_int_equal(probe_url(&o, &r, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "gopher"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer),
        cmocka_unit_test(no_good_answer),
        cmocka_unit_test(not_an_address),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
