/* Requests with method, headers and body of their own: what goes over the wire, that nothing of one
 * is seen in the next, and that secrets go to nobody else. The test itself is the server. */
#include "peer.h"

#include "fetch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define SECRET "Bearer s3cr3t-token"
#define WAIT_STEPS 12000 /* of 10 ms: two minutes */

static const struct str auth[] = {{"Authorization: " SECRET, sizeof "Authorization: " SECRET - 1}};

struct end {
    int n;
    enum net_class cls;
    long status;
    int64_t retry_after_ms;
    char body[256], detail[512], headers[1024];
    bool has_headers;
};

static void on_done(void *ctx, const struct http_result *r) {
    struct end *got = ctx;
    got->n++;
    got->cls = r->cls;
    got->status = r->status;
    got->retry_after_ms = r->retry_after_ms;
    snprintf(got->body, sizeof got->body, "%s", r->body.p);
    snprintf(got->detail, sizeof got->detail, "%s", r->detail);
    snprintf(got->headers, sizeof got->headers, "%.*s", STR_FMT(r->headers));
    got->has_headers = r->headers.p != NULL;
}

struct wire {
    struct peer peer;
    struct http_client *c;
};

static struct wire open_wire(void) {
    struct http_options o = fetch_options(&clock_machine);
    struct wire w;
    o.max_connections = 1; /* and so one handle for all of them */
    w.c = fetch_client(&o);
    peer_open(&w.peer);
    return w;
}

static void close_wire(struct wire *w) {
    http_free(w->c);
    peer_close(&w->peer);
}

static void step(struct wire *w, struct end *got) {
    http_step(w->c, clock_mono(&clock_machine) + 10, on_done, got);
}

static void send_request(struct wire *w, const char *path, struct http_request r, struct end *got) {
    char url[200];
    struct err e;
    snprintf(url, sizeof url, "%s%s", w->peer.root, path);
    r.url = url;
    *got = (struct end){0};
    enum verdict v = http_send(w->c, &r, got, &e);
    if (v != V_OK)
        fail_msg("%s", e.msg);
}

static bool whole(const struct peer *p) {
    const char *end = strstr(p->request, "\r\n\r\n"),
               *length = strstr(p->request, "Content-Length: ");
    size_t want = length && end && length < end ? (size_t)atoi(length + 16) : 0;
    return end && strlen(end + 4) >= want;
}

/* The request as it came, valid until the next. */
static const char *hear(struct wire *w, struct end *got) {
    w->peer.n = 0;
    w->peer.request[0] = '\0';
    for (int i = 0; i < WAIT_STEPS; i++) {
        if (peer_called(&w->peer) && whole(&w->peer))
            return w->peer.request;
        step(w, got);
    }
    fail_msg("no request came");
    return "";
}

static void answer(struct wire *w, struct end *got, const char *status, const char *headers,
                   const char *body) {
    peer_say(&w->peer, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
             strlen(body), body);
    for (int i = 0; got && got->n == 0 && i < WAIT_STEPS; i++)
        step(w, got);
    if (got)
        assert_int_equal(got->n, 1);
}

static void assert_has(const char *request, const char *line) {
    if (!request || !strstr(request, line))
        fail_msg("no '%s' in:\n%s", line, request ? request : "");
}

static void assert_lacks(const char *request, const char *word) {
    if (!request || strcasestr(request, word))
        fail_msg("'%s' in:\n%s", word, request ? request : "");
}

static void a_post_goes_as_it_is(void **state UNUSED) {
    struct wire w = open_wire();
    struct end got;
    const struct str headers[] = {auth[0], STR("Content-Type: application/json"), STR("X-Empty:"),
                                  STR("X-Two:  of  them ")};
    send_request(&w, "/api/v1/lookup?x=1",
                 (struct http_request){.method = "POST",
                                       .headers = headers,
                                       .n_headers = ARRAY_LEN(headers),
                                       .body = STR("{\"artist\":\"A\"}")},
                 &got);
    const char *r = hear(&w, &got);
    assert_has(r, "POST /api/v1/lookup?x=1 HTTP/1.1\r\n");
    assert_has(r, "\r\nAuthorization: " SECRET "\r\n");
    assert_has(r, "\r\nContent-Type: application/json\r\n");
    assert_has(r, "\r\nX-Empty:\r\n");
    assert_has(r, "\r\nX-Two:  of  them \r\n");
    assert_has(r, "\r\nUser-Agent: tain-test\r\n");
    assert_has(r, "\r\nContent-Length: 14\r\n");
    assert_has(r, "\r\n\r\n{\"artist\":\"A\"}");
    assert_lacks(r, "Expect");
    answer(&w, &got, "200 OK", "Content-Type: application/json\r\n", "{\"results\":[]}");
    assert_int_equal(got.cls, NET_OK);
    assert_string_equal(got.body, "{\"results\":[]}");
    close_wire(&w);
}

static void nothing_of_one_is_in_the_next(void **state UNUSED) {
    const struct http_request post = {
        .method = "POST", .headers = auth, .n_headers = 1, .body = STR("a body of its own")};
    const struct http_request bare_post = {.method = "POST"};
    const struct str agent[] = {STR("User-Agent: another"), STR("Accept: text/plain")};
    const struct http_request get = {.method = "GET", .headers = agent, .n_headers = 2};
    const struct http_request plain = {0};
    const struct http_request *const rounds[] = {&post, &plain,     &get,  &plain, &bare_post,
                                                 &get,  &bare_post, &post, &get,   &plain,
                                                 &post, &post,      &plain};
    struct wire w = open_wire();
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        const struct http_request *q = rounds[i];
        bool posts = q == &post || q == &bare_post;
        struct end got;
        send_request(&w, "/x", *q, &got);
        if (i == 7) { /* one that is given up leaves no more behind than one that is answered */
            hear(&w, &got);
            http_cancel_all(w.c);
            continue;
        }
        const char *r = hear(&w, &got);
        assert_has(r, posts ? "POST /x HTTP/1.1\r\n" : "GET /x HTTP/1.1\r\n");
        assert_has(r, q == &get ? "\r\nUser-Agent: another\r\n" : "\r\nUser-Agent: tain-test\r\n");
        assert_has(r, q == &get ? "\r\nAccept: text/plain\r\n" : "\r\nAccept: */*\r\n");
        assert_lacks(r, "Content-Type");
        if (q == &post)
            assert_has(r, "\r\n\r\na body of its own");
        else
            assert_lacks(r, "own");
        if (q != &post)
            assert_lacks(r, "Authorization");
        if (q == &bare_post)
            assert_has(r, "\r\nContent-Length: 0\r\n");
        if (!posts)
            assert_lacks(r, "Content-Length");
        answer(&w, &got, "200 OK", "", "fine");
        assert_int_equal(got.cls, NET_OK);
    }
    close_wire(&w);
}

static void a_time_out_is_of_one_request(void **state UNUSED) {
    struct wire w = open_wire();
    struct end got;
    for (int i = 0; i < 2; i++) {
        send_request(&w, "/slow",
                     (struct http_request){.method = "POST", .body = STR("x"), .timeout_ms = 100},
                     &got);
        for (int k = 0; got.n == 0 && k < WAIT_STEPS; k++)
            step(&w, &got);
        assert_int_equal(got.cls, NET_TIMEOUT);
        peer_hang_up(&w.peer);
        send_request(&w, "/slow", (struct http_request){0}, &got);
        while (strncmp(hear(&w, &got), "GET ", 4) != 0) /* the one given up may come first */
            ;
        int64_t until = clock_mono(&clock_machine) + 300;
        while (clock_mono(&clock_machine) < until && got.n == 0)
            step(&w, &got);
        assert_int_equal(got.n, 0);
        answer(&w, &got, "200 OK", "", "late");
        assert_int_equal(got.cls, NET_OK);
    }
    close_wire(&w);
}

static void a_post_is_repeated_where_it_is_told_to(void **state UNUSED) {
    static const char *const again[] = {"307 Temporary Redirect", "308 Permanent Redirect"};
    struct wire w = open_wire();
    struct end got;
    const struct http_request post = {
        .method = "POST", .headers = auth, .n_headers = 1, .body = STR("again")};
    for (size_t i = 0; i < ARRAY_LEN(again); i++) {
        send_request(&w, "/from", post, &got);
        assert_has(hear(&w, &got), "POST /from ");
        answer(&w, NULL, again[i], "Location: /to\r\n", "");
        const char *r = hear(&w, &got);
        assert_has(r, "POST /to ");
        assert_has(r, SECRET);
        assert_has(r, "\r\n\r\nagain");
        answer(&w, &got, "200 OK", "", "{}");
        assert_int_equal(got.cls, NET_OK);
    }
    static const char *const other[] = {"301 Moved", "302 Found", "303 See Other"};
    for (size_t i = 0; i < ARRAY_LEN(other); i++) {
        send_request(&w, "/from", post, &got);
        hear(&w, &got);
        answer(&w, &got, other[i], "Location: /to\r\n", "");
        assert_int_equal(got.cls, NET_REDIRECT);
        assert_lacks(got.detail, "s3cr3t");
    }
    send_request(&w, "/from", (struct http_request){.headers = auth, .n_headers = 1}, &got);
    hear(&w, &got);
    answer(&w, NULL, "302 Found", "Location: /to\r\n", "");
    assert_has(hear(&w, &got), "GET /to ");
    answer(&w, &got, "200 OK", "", "{}");
    assert_int_equal(got.cls, NET_OK);
    close_wire(&w);
}

static void secrets_stay_with_their_origin(void **state UNUSED) {
    struct wire w = open_wire();
    struct peer elsewhere;
    struct end got;
    char location[100];
    peer_open(&elsewhere);
    snprintf(location, sizeof location, "Location: %s/steal\r\n", elsewhere.root);
    static const char *const methods[] = {"GET", "POST"};
    for (int i = 0; i < 2; i++) {
        send_request(&w, "/from",
                     (struct http_request){.method = methods[i], .headers = auth, .n_headers = 1},
                     &got);
        hear(&w, &got);
        answer(&w, &got, "307 Temporary Redirect", location, "");
        assert_int_equal(got.cls, NET_REDIRECT);
        assert_lacks(got.detail, "s3cr3t");
        for (int k = 0; k < 5; k++)
            step(&w, &got);
        assert_false(peer_called(&elsewhere));
        assert_int_equal(elsewhere.fd, -1);
    }
    peer_close(&elsewhere);
    close_wire(&w);
}

static void what_a_server_asks_for(void **state UNUSED) {
    static const struct {
        const char *status, *headers;
        enum net_class cls;
        int64_t min, max;
    } cases[] = {
        {"429 Too Many Requests", "Retry-After: 7\r\n", NET_HTTP_429, 7000, 7000},
        {"503 Service Unavailable", "Retry-After: 120\r\n", NET_HTTP_5XX, 120000, 120000},
        {"503 Service Unavailable", "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n", NET_HTTP_5XX,
         3600000, 3600000},
        {"429 Too Many Requests", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", NET_HTTP_429, 0,
         0},
        {"429 Too Many Requests", "", NET_HTTP_429, -1, -1},
        {"401 Unauthorized", "", NET_HTTP_401, -1, -1},
        {"422 Unprocessable Entity", "", NET_HTTP_4XX, -1, -1},
    };
    struct wire w = open_wire();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct end got;
        send_request(&w, "/x",
                     (struct http_request){
                         .method = "POST", .headers = auth, .n_headers = 1, .body = STR("{}")},
                     &got);
        hear(&w, &got);
        answer(&w, &got, cases[i].status, cases[i].headers, "{\"error\":\"no\"}");
        assert_int_equal(got.cls, cases[i].cls);
        assert_int_equal(got.status, atoi(cases[i].status));
        assert_in_range(got.retry_after_ms + 1, cases[i].min + 1, cases[i].max + 1);
        assert_string_equal(got.body, "{\"error\":\"no\"}");
        assert_lacks(got.detail, "s3cr3t");
    }
    close_wire(&w);
}

static void a_large_body_goes_whole(void **state UNUSED) {
    enum { N = 1000000 };
    struct wire w = open_wire();
    struct end got;
    char *body = malloc(N);
    size_t total = 0;
    memset(body, 'b', N);
    send_request(&w, "/large", (struct http_request){.method = "POST", .body = {body, N}}, &got);
    memset(body, 'x', N); /* it was copied */
    for (int i = 0; i < WAIT_STEPS && w.peer.fd < 0; i++, step(&w, &got))
        peer_called(&w.peer);
    total = w.peer.n;
    while (got.n == 0 && total < N) {
        char part[65536];
        ssize_t n = recv(w.peer.fd, part, sizeof part, MSG_DONTWAIT);
        if (n > 0 && memchr(part, 'x', (size_t)n) && total > 1000)
            fail_msg("not what was to be sent");
        total += n > 0 ? (size_t)n : 0;
        step(&w, &got);
    }
    assert_true(total >= N);
    free(body);
    close_wire(&w);
}

static void what_cannot_be_sent(void **state UNUSED) {
    struct wire w = open_wire();
    static char longest[HTTP_HEADER_MAX + 2];
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "X-Long: ", 8);
    const struct {
        const char *method;
        struct str header, body;
    } cases[] = {
        {"PUT", STR_NONE, STR_NONE},
        {"post", STR_NONE, STR_NONE},
        {"GET", STR_NONE, STR("x")},
        {NULL, STR_NONE, STR("x")},
        {"POST", STR("Authorization " SECRET), STR_NONE},
        {"POST", STR(": " SECRET), STR_NONE},
        {"POST", STR("Auth orization: " SECRET), STR_NONE},
        {"POST", STR("Authorization: " SECRET "\r\nX: y"), STR_NONE},
        {"POST", STR("Authorization: " SECRET "\n"), STR_NONE},
        {"POST", STR("Authorization: s3cr3t\0"), STR_NONE},
        {"POST", STR(""), STR_NONE},
        {"GET", {longest, sizeof longest}, STR_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e;
        const struct http_request r = {.method = cases[i].method,
                                       .url = w.peer.root,
                                       .headers = &cases[i].header,
                                       .n_headers = cases[i].header.p ? 1 : 0,
                                       .body = cases[i].body};
        if (http_send(w.c, &r, NULL, &e) != V_INVALID)
            fail_msg("case %zu", i);
        assert_lacks(e.msg, "s3cr3t");
    }
    struct str many[HTTP_HEADERS_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = STR("X: y");
    struct err e;
    const struct http_request r = {
        .url = w.peer.root, .headers = many, .n_headers = ARRAY_LEN(many)};
    assert_int_equal(http_send(w.c, &r, NULL, &e), V_INVALID);
    assert_int_equal(http_inflight(w.c), 0);
    close_wire(&w);
}

static void headers_of_an_answer(void **state UNUSED) {
    struct wire w = open_wire();
    struct end got;
    static char headers[32 * 1024];
    send_request(&w, "/", (struct http_request){.want_headers = true}, &got);
    hear(&w, &got);
    answer(&w, &got, "429 Too Many Requests",
           "x-ratelimit-remaining: 0.0\r\nX-Two: a\r\nX-Two:  b\r\n", "{}");
    assert_string_equal(got.headers, "x-ratelimit-remaining: 0.0\nX-Two: a\nX-Two: b\n"
                                     "Content-Length: 2\n");
    /* a redirect that is not followed says where it leads */
    send_request(&w, "/", (struct http_request){.want_headers = true}, &got);
    hear(&w, &got);
    answer(&w, &got, "301 Moved", "Location: https://elsewhere.example/a?b\r\n", "");
    assert_int_equal(got.cls, NET_REDIRECT);
    assert_int_equal(got.status, 301);
    assert_has(got.headers, "Location: https://elsewhere.example/a?b\n");
    /* a line that does not fit is left out */
    int n = snprintf(headers, sizeof headers, "X-First: 1\r\nX-Long: ");
    memset(headers + n, 'x', 20000);
    snprintf(headers + n + 20000, sizeof headers - (size_t)n - 20000, "\r\nX-Last: 2\r\n");
    send_request(&w, "/", (struct http_request){.want_headers = true}, &got);
    hear(&w, &got);
    answer(&w, &got, "200 OK", headers, "");
    assert_string_equal(got.headers, "X-First: 1\nX-Last: 2\nContent-Length: 0\n");
    /* they are nobody else's */
    send_request(&w, "/", (struct http_request){0}, &got);
    hear(&w, &got);
    answer(&w, &got, "200 OK", "X-First: 1\r\n", "{}");
    assert_false(got.has_headers);
    close_wire(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_post_goes_as_it_is),
        cmocka_unit_test(nothing_of_one_is_in_the_next),
        cmocka_unit_test(a_time_out_is_of_one_request),
        cmocka_unit_test(a_post_is_repeated_where_it_is_told_to),
        cmocka_unit_test(secrets_stay_with_their_origin),
        cmocka_unit_test(what_a_server_asks_for),
        cmocka_unit_test(a_large_body_goes_whole),
        cmocka_unit_test(what_cannot_be_sent),
        cmocka_unit_test(headers_of_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
