/* Calls to a provider over HTTP: what is asked, what comes back. The test itself is the provider.
 */
#include "base/clock.h"
#include "enrich/ask.h"
#include "enrich/caller.h"
#include "peer.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_STEPS 12000 /* of 10 ms: two minutes */

struct hearing {
    int n;
    void *tag;
    enum net_class cls;
    long status;
    int64_t retry_after_ms;
    char body[200], detail[400];
};

struct line {
    struct peer peer;
    struct caller *c;
    struct provider p;
    struct hearing heard;
};

static void on_done(void *ctx, const struct call_result *r) {
    struct hearing *h = ctx;
    h->n++;
    h->tag = r->tag;
    h->cls = r->cls;
    h->status = r->status;
    h->retry_after_ms = r->retry_after_ms;
    snprintf(h->body, sizeof h->body, "%.*s", STR_FMT(r->body));
    snprintf(h->detail, sizeof h->detail, "%s", r->detail);
}

static void open_line(struct line *l) {
    struct err e;
    *l = (struct line){0};
    peer_open(&l->peer);
    if (caller_http_new(&clock_machine, "tain-test", NULL, &l->c, &e) != V_OK)
        fail_msg("%s", e.msg);
    l->p = (struct provider){.name = STR("lookup"),
                             .url = str_of(l->peer.root),
                             .timeout_ms = 120000,
                             .headers = {STR("Authorization: Bearer s3cr3t")},
                             .n_headers = 1};
}

static void close_line(struct line *l) {
    caller_http_free(l->c);
    peer_close(&l->peer);
}

static void step(struct line *l) {
    l->c->step(l->c, clock_mono(&clock_machine) + 10, on_done, &l->heard);
}

static const char *call(struct line *l, struct str method, struct str path, struct str body) {
    struct err e;
    l->peer.n = 0;
    l->peer.request[0] = '\0';
    l->heard = (struct hearing){0};
    if (l->c->start(l->c, &l->p, method, path, body, l, &e) != V_OK)
        fail_msg("%s", e.msg);
    for (int i = 0;
         i < WAIT_STEPS && !(peer_called(&l->peer) && (!body.p || strstr(l->peer.request, body.p)));
         i++)
        step(l);
    return l->peer.request;
}

static void answer(struct line *l, const char *status, const char *headers, const char *body) {
    peer_say(&l->peer, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
             strlen(body), body);
    for (int i = 0; l->heard.n == 0 && i < WAIT_STEPS; i++)
        step(l);
    assert_int_equal(l->heard.n, 1);
    assert_ptr_equal(l->heard.tag, l);
    assert_null(strstr(l->heard.detail, "s3cr3t"));
}

static void assert_has(const char *request, const char *line) {
    if (!request || !strstr(request, line))
        fail_msg("no '%s' in:\n%s", line, request ? request : "");
}

static void a_lookup(void **state UNUSED) {
    struct line l;
    open_line(&l);
    const char *r = call(&l, STR("POST"), STR("/api/v1/lookup"), STR("{\"artist\":\"A\"}"));
    assert_has(r, "POST /api/v1/lookup HTTP/1.1\r\n");
    assert_has(r, "\r\nAuthorization: Bearer s3cr3t\r\n");
    assert_has(r, "\r\nContent-Type: application/json\r\n");
    assert_has(r, "\r\nAccept: application/json\r\n");
    assert_has(r, "\r\nUser-Agent: tain-test\r\n");
    answer(&l, "200 OK", "", "{\"results\":[]}");
    assert_int_equal(l.heard.cls, NET_OK);
    assert_string_equal(l.heard.body, "{\"results\":[]}");
    close_line(&l);
}

static void a_get_and_headers_of_its_own(void **state UNUSED) {
    struct line l;
    open_line(&l);
    const char *r = call(&l, STR("GET"), STR("/search?q=a%20b"), STR_NONE);
    assert_has(r, "GET /search?q=a%20b HTTP/1.1\r\n");
    assert_null(strstr(r, "Content-Type"));
    answer(&l, "200 OK", "", "{}");
    l.p.headers[1] = STR("content-type: application/x-thing");
    l.p.headers[2] = STR("ACCEPT: */*");
    l.p.headers[3] = STR("Accept-Language: de");
    l.p.n_headers = 4;
    r = call(&l, STR("POST"), STR(""), STR("{}"));
    assert_has(r, "POST / HTTP/1.1\r\n");
    assert_has(r, "\r\ncontent-type: application/x-thing\r\n");
    assert_has(r, "\r\nACCEPT: */*\r\n");
    assert_null(strstr(r, "application/json"));
    answer(&l, "200 OK", "", "{}");
    close_line(&l);
}

static void troubles(void **state UNUSED) {
    static const struct {
        const char *status, *headers;
        enum net_class cls;
        int64_t retry_after_ms;
    } cases[] = {
        {"429 Too Many", "Retry-After: 9\r\n", NET_HTTP_429, 9000},
        {"503 Unavailable", "Retry-After: 3\r\n", NET_HTTP_5XX, 3000},
        {"500 Oops", "", NET_HTTP_5XX, -1},
        {"401 Unauthorized", "", NET_HTTP_401, -1},
        {"403 Forbidden", "", NET_HTTP_403, -1},
        {"422 Unprocessable", "", NET_HTTP_4XX, -1},
        {"302 Found", "Location: http://elsewhere.invalid/\r\n", NET_REDIRECT, -1},
    };
    struct line l;
    open_line(&l);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        call(&l, STR("POST"), STR("/x"), STR("{}"));
        answer(&l, cases[i].status, cases[i].headers, "");
        assert_int_equal(l.heard.cls, cases[i].cls);
        assert_int_equal(l.heard.status, atoi(cases[i].status));
        assert_int_equal(l.heard.retry_after_ms + 1, cases[i].retry_after_ms + 1);
    }
    close_line(&l);
}

static void it_ends_in_time(void **state UNUSED) {
    struct line l;
    open_line(&l);
    l.p.timeout_ms = 100;
    call(&l, STR("POST"), STR("/x"), STR("{}"));
    for (int i = 0; l.heard.n == 0 && i < WAIT_STEPS; i++)
        step(&l);
    assert_int_equal(l.heard.cls, NET_TIMEOUT);
    close_line(&l);
}

static void what_cannot_be_called(void **state UNUSED) {
    static char longest[17000];
    struct line l;
    struct err e;
    open_line(&l);
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    struct str path = {longest, sizeof longest};
    struct ask ask = {.method = STR("GET"), .base = l.p.url, .path = {longest, ASK_PATH_MAX}};
    assert_int_equal(l.c->ask(l.c, &ask, 1000, &l, &e), V_OK);
    l.c->cancel_all(l.c);
    assert_int_equal(l.c->start(l.c, &l.p, STR("GET"), path, STR_NONE, &l, &e), V_INVALID);
    assert_int_equal(
        l.c->start(l.c, &l.p, STR("A-METHOD-THAT-NOBODY-KNOWS"), STR("/"), STR_NONE, &l, &e),
        V_INVALID);
    assert_int_equal(l.c->start(l.c, &l.p, STR("GET"), STR("/a b"), STR_NONE, &l, &e), V_INVALID);
    l.p.headers[0] = STR("Authorization: s3cr3t\r\n");
    assert_int_equal(l.c->start(l.c, &l.p, STR("GET"), STR("/"), STR_NONE, &l, &e), V_INVALID);
    assert_null(strstr(e.msg, "s3cr3t"));
    close_line(&l);
}

static void *wake_it(void *arg) {
    struct line *l = arg;
    l->c->wake(l->c);
    return NULL;
}

static void it_is_woken_and_given_up(void **state UNUSED) {
    struct line l;
    pthread_t thread;
    open_line(&l);
    call(&l, STR("POST"), STR("/x"), STR("{}"));
    assert_int_equal(pthread_create(&thread, NULL, wake_it, &l), 0);
    /* without the wake-up it would wait for two minutes, and end with a time-out */
    assert_int_equal(l.c->step(l.c, NO_DEADLINE, on_done, &l.heard), 0);
    pthread_join(thread, NULL);
    l.c->cancel_all(l.c);
    step(&l);
    assert_int_equal(l.heard.n, 0);
    close_line(&l);
    caller_http_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lookup),
        cmocka_unit_test(a_get_and_headers_of_its_own),
        cmocka_unit_test(troubles),
        cmocka_unit_test(it_ends_in_time),
        cmocka_unit_test(what_cannot_be_called),
        cmocka_unit_test(it_is_woken_and_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
