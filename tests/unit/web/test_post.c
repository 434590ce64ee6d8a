/* POST as clients see it, over real sockets: what may come, what is refused and when, and that a
 * connection is good for more afterwards. */
#include "server_fixture.h"

#include "web/web_metrics.h"

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
#define JSON "Content-Type: application/json\r\n"

/* A POST with this body, its length said. */
static void put_post(int fd, const char *uri, const char *headers, const char *body, size_t n) {
    char head[1024];
    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n", uri, headers,
             n);
    client_send(fd, head);
    for (size_t done = 0; done < n;) {
        ssize_t sent = send(fd, body + done, n - done, MSG_NOSIGNAL);
        if (sent < 0)
            return; /* refused before all of it was read */
        done += (size_t)sent;
    }
}

static struct answer_text post(struct place *p, const char *uri, const char *headers,
                               const char *body) {
    char with_close[900];
    int fd = client_dial(p->port);
    snprintf(with_close, sizeof with_close, "%sConnection: close\r\n", headers);
    put_post(fd, uri, with_close, body, strlen(body));
    struct answer_text a = client_rest(fd);
    close(fd);
    return a;
}

static void expect_post(struct place *p, const char *uri, const char *headers, const char *body,
                        int status, const char *says) {
    struct answer_text a = post(p, uri, headers, body);
    if (a.status != status || !strstr(a.body, says))
        fail_msg("%s %s: %d %s", uri, body, a.status, a.body);
    free(a.head);
}

static void forms_become_parameters(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    expect_post(p, "/form?a=0&z=1", FORM, "a=1&b=x%20y+z&c&%C3%A4=%E2%82%AC&nl=a%0D%0Ab", 200,
                "json=0 upload=[44]path=/form rest= a=[1] b=[x y z] c=[] ä=[€] nl=[a  b]");
    expect_post(p, "/form?a=0", FORM, "", 200, "path=/form rest= a=[0]");
    expect_post(p, "/form", "", "", 200, "path=/form rest=");
    expect_post(p, "/api/form", "content-type: Application/X-WWW-form-urlencoded;charset=UTF-8\r\n",
                "a=1", 200, "a=[1]");
    expect_post(p, "/api/form", JSON, "{\"a\":1}", 200, "json=1 upload=[7]{\"a\":1}path=/api/form");
    expect_post(p, "/form", FORM, "a=%", 400, "broken %-escape");
    expect_post(p, "/form", FORM, "a=%FF", 400, "not UTF-8");
    expect_post(p, "/api/form", FORM, "a=%00", 400, "{\"message\":\"a parameter is not UTF-8");
}

static void it_is_tried_again(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    atomic_store(&tries, 0);
    expect_post(p, "/form", FORM, "away=1", 200, "json=0 upload=[6]path=/form rest= away=[1]");
    assert_int_equal(atomic_load(&tries), 2);
}

static void methods(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    static const struct {
        const char *method, *uri, *allow;
    } rows[] = {{"POST", "/echo", "GET, HEAD"},          {"PUT", "/form", "GET, HEAD, POST"},
                {"OPTIONS", "/form", "GET, HEAD, POST"}, {"GET", "/api/form", "POST"},
                {"HEAD", "/api/form", "POST"},           {"DELETE", "/api/form", "POST"},
                {"PATCH", "/nothing", "GET, HEAD"}};
    char allow[60];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer_text a = client_ask(p->port, rows[i].method, rows[i].uri, "");
        snprintf(allow, sizeof allow, "Allow: %s\r\n", rows[i].allow);
        if (a.status != 405 || !strstr(a.head, allow))
            fail_msg("%s %s: %d %s", rows[i].method, rows[i].uri, a.status, a.head);
        free(a.head);
    }
    expect(p, "/form?a=1", 200, "a=[1]");
    expect_post(p, "/nothing", FORM, "a=1", 404, "There is nothing here");
    expect_post(p, "/api/nothing", FORM, "a=1", 404, "{\"message\":");
    expect_post(p, "/form%", FORM, "a=1", 400, "not UTF-8");
}

static void an_answer_has_no_tag(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    struct answer_text a = post(p, "/form", FORM "If-None-Match: *\r\n", "a=1");
    assert_int_equal(a.status, 200);
    assert_null(strstr(a.head, "ETag"));
    free(a.head);
}

static void types(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    static const char *const bad[] = {
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: multipart/form-data; boundary=x\r\n",
        "Content-Type: application/jsonp\r\n",
        "Content-Type: application/json, text/plain\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
    };
    atomic_store(&posted, 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        expect_post(p, "/api/form", bad[i], "a=1", 415, "{\"message\":");
    assert_int_equal(atomic_load(&posted), 0);
}

static void pages_of_elsewhere(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    atomic_store(&posted, 0);
    expect_post(p, "/form", FORM "Origin: https://evil.example\r\n", "a=1", 403,
                "a page of another site");
    expect_post(p, "/form", FORM "Origin: null\r\n", "a=1", 403, "another site");
    expect_post(p, "/api/form", FORM "Sec-Fetch-Site: cross-site\r\n", "a=1", 403, "another site");
    assert_int_equal(atomic_load(&posted), 0);
    expect_post(p, "/form", FORM "Origin: http://localhost\r\n", "a=1", 200, "a=[1]");
    expect_post(p, "/form", FORM "Origin: null\r\nSec-Fetch-Site: same-origin\r\n", "a=1", 200,
                "a=[1]");
    struct answer_text a = client_ask(p->port, "OPTIONS", "/api/form",
                                      "Origin: https://example.com\r\n"
                                      "Access-Control-Request-Method: POST\r\n");
    assert_int_equal(a.status, 204);
    assert_non_null(strstr(a.head, "Access-Control-Allow-Methods: GET, HEAD\r\n"));
    free(a.head);
}

static void sizes_have_limits(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    char *body = calloc(1, CALL_UPLOAD_MAX + 2), wanted[60];
    memset(body, 'x', CALL_UPLOAD_MAX);
    snprintf(wanted, sizeof wanted, "json=1 upload=[%zu]", CALL_UPLOAD_MAX);
    expect_post(p, "/api/form", JSON, body, 200, wanted);
    body[CALL_UPLOAD_MAX] = 'x';
    atomic_store(&posted, 0);
    expect_post(p, "/api/form", JSON, body, 413,
                "{\"message\":\"What is sent here has 64 KiB at most.\"}");
    expect_post(p, "/form", FORM, body, 413, "64 KiB at most");
    assert_int_equal(atomic_load(&posted), 0);
    free(body);
}

/* One chunk of 16 KiB. */
static bool send_chunk(int fd) {
    static char chunk[16384 + 8];
    memcpy(chunk, "4000\r\n", 6);
    memset(chunk + 6, 'x', 16384);
    memcpy(chunk + 6 + 16384, "\r\n", 2);
    for (size_t done = 0; done < sizeof chunk;) {
        ssize_t n = send(fd, chunk + done, sizeof chunk - done, MSG_NOSIGNAL);
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static int begin_chunks(struct place *p) {
    int fd = client_dial(p->port);
    client_send(fd, "POST /api/form HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" JSON
                    "Transfer-Encoding: chunked\r\n\r\n");
    return fd;
}

static void chunks(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    for (int n = 0; n <= 5; n++) {
        int fd = begin_chunks(p);
        for (int i = 0; i < n; i++)
            assert_true(send_chunk(fd));
        client_send(fd, "0\r\n\r\n");
        struct answer_text a = client_rest(fd);
        assert_int_equal(a.status, n <= 4 ? 200 : 413);
        free(a.head);
        close(fd);
    }
}

/* Nobody reads on for ever to be able to say that it is too much. */
static void chunks_without_end(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    atomic_store(&posted, 0);
    int fd = begin_chunks(p), sent = 0;
    while (sent < 10000 && send_chunk(fd))
        sent++;
    assert_true(sent < 10000);
    close(fd);
    assert_int_equal(atomic_load(&posted), 0);
    expect(p, "/echo", 200, "path=/echo");
}

static void a_connection_stays(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    int fd = client_dial(p->port);
    for (int i = 0; i < 3; i++) {
        put_post(fd, "/form", FORM, "a=first", 7);
        free(client_until(fd, "a=[first]"));
        client_send(fd, "GET /echo?b=second HTTP/1.1\r\nHost: localhost\r\n\r\n");
        free(client_until(fd, "b=[second]"));
        put_post(fd, "/api/form", JSON, "{}", 2);
        free(client_until(fd, "{}path=/api/form rest="));
        put_post(fd, "/form", FORM, "a=%zz", 5); /* read to its end, so it may stay */
        free(client_until(fd, "broken %-escape"));
    }
    /* one after the other in one go */
    put_post(fd, "/form", FORM, "c=3", 3);
    put_post(fd, "/form", FORM "Connection: close\r\n", "d=4", 3);
    struct answer_text a = client_rest(fd);
    assert_non_null(strstr(a.body, "c=[3]"));
    assert_non_null(strstr(a.body, "d=[4]"));
    free(a.head);
    close(fd);
}

static void bodies_that_come_slowly_or_not_at_all(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    const char *text = "POST /form HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" FORM
                       "Content-Length: 9\r\n\r\na=1&b=two";
    int fd = client_dial(p->port);
    for (const char *c = text; *c; c++)
        client_send(fd, (char[]){*c, '\0'});
    struct answer_text a = client_rest(fd);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "a=[1] b=[two]"));
    free(a.head);
    close(fd);
    atomic_store(&posted, 0);
    for (int i = 0; i < 20; i++) {
        fd = client_dial(p->port);
        client_send(fd, "POST /form HTTP/1.1\r\nHost: localhost\r\n" FORM
                        "Content-Length: 100\r\n\r\na=1&b=");
        close(fd);
    }
    expect_post(p, "/form", FORM, "c=3", 200, "c=[3]");
    stop(p);
    assert_int_equal(atomic_load(&posted), 1);
}

/* A body that drips has no more time than headers that do. */
static void a_body_has_its_time(void **state) {
    struct place *p = *state;
    struct clock clock;
    clock_manual_init(&clock, 1000000, 0);
    start(p, (struct web_options){.clock = &clock, .idle_ms = 600000});
    int fd = client_dial(p->port);
    client_send(fd, "POST /form HTTP/1.1\r\nHost: localhost\r\n" FORM
                    "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n");
    free(client_until(fd, "100 Continue"));
    client_send(fd, "a=1&");
    clock_advance(&clock, 61000);
    struct answer_text a = client_rest(fd); /* it is closed */
    assert_int_equal(a.n, 0);
    free(a.head);
    close(fd);
    stop(p);
}

static void nowhere_to_write(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.read_only = true});
    expect_post(p, "/form", FORM, "a=1", 403, "reads a copy of the archive (--read-db)");
    expect_post(p, "/free", FORM, "a=1", 200, "a=[1]");
}

/* Readers do not wait for who writes. */
static void one_at_a_time(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.query_threads = 1, .queue = 2});
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = client_dial(p->port);
        put_post(fds[i], "/slow/form", FORM "Connection: close\r\n", "", 0);
        wait_for(&inside, 1);
        for (int k = 0; k < WAIT_MS && metric_get(&m_web_waiting, 0) != i; k++)
            (void)poll(NULL, 0, 1);
    }
    expect(p, "/number", 200, "7");
    expect(p, "/echo/x.txt", 200, "rest=x");
    expect_post(p, "/slow/form", FORM, "", 503, "Too much is being asked at once");
    for (int i = 0; i < 3; i++)
        sem_post(&gate);
    for (int i = 0; i < 3; i++) {
        struct answer_text a = client_rest(fds[i]);
        assert_int_equal(a.status, 200);
        free(a.head);
        close(fds[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(forms_become_parameters, open_place, close_place),
        cmocka_unit_test_setup_teardown(it_is_tried_again, open_place, close_place),
        cmocka_unit_test_setup_teardown(methods, open_place, close_place),
        cmocka_unit_test_setup_teardown(an_answer_has_no_tag, open_place, close_place),
        cmocka_unit_test_setup_teardown(types, open_place, close_place),
        cmocka_unit_test_setup_teardown(pages_of_elsewhere, open_place, close_place),
        cmocka_unit_test_setup_teardown(sizes_have_limits, open_place, close_place),
        cmocka_unit_test_setup_teardown(chunks, open_place, close_place),
        cmocka_unit_test_setup_teardown(chunks_without_end, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_connection_stays, open_place, close_place),
        cmocka_unit_test_setup_teardown(bodies_that_come_slowly_or_not_at_all, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(a_body_has_its_time, open_place, close_place),
        cmocka_unit_test_setup_teardown(nowhere_to_write, open_place, close_place),
        cmocka_unit_test_setup_teardown(one_at_a_time, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
