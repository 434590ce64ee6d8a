/* The server of metrics and health as a client sees it, over real sockets. */
#include "web/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct metric m_one = {
    .name = "tain_one_total", .help = "One.", .type = METRIC_COUNTER, .n_series = 1};
static struct metric *const families[] = {&m_one};

struct place {
    struct clock clock;
    struct vitals vitals;
    struct metrics_http *http;
};

static enum verdict try_bind(struct place *p, const char *bind, struct metrics_http **ret,
                             struct err *e) {
    return metrics_http_start(
        &(struct metrics_http_options){
            .bind = bind, .families = families, .n = 1, .vitals = &p->vitals},
        ret, e);
}

static int open_place(void **state) {
    struct place *p = xcalloc(1, sizeof *p);
    struct err e;
    clock_manual_init(&p->clock, 1000, 0);
    vitals_init(&p->vitals, &p->clock, VITAL_BIT(VITAL_DATABASE));
    vitals_post(&p->vitals, &(struct vitals_report){0});
    *state = p;
    return try_bind(p, "127.0.0.1:0", &p->http, &e) == V_OK ? 0 : -1;
}

static int close_place(void **state) {
    struct place *p = *state;
    metrics_http_stop(p->http);
    free(p);
    return 0;
}

static int dial(const struct place *p) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)metrics_http_port(p->http)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 120};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* The whole answer to one request. The caller releases it. */
static void ask(const struct place *p, const char *request, struct strbuf *out) {
    char some[4096];
    ssize_t n;
    int fd = dial(p);
    strbuf_init(out, 1000000);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    while ((n = recv(fd, some, sizeof some, 0)) > 0)
        strbuf_add(out, some, (size_t)n);
    assert_int_equal(n, 0); /* and not a time-out */
    close(fd);
}

static void answers(void **state) {
    static const struct {
        const char *request;
        int status;
        const char *holds, *lacks;
    } cases[] = {
        {"GET /metrics", 200, "\r\n\r\n# HELP tain_build_info", NULL},
        {"GET /metrics", 200, "text/plain; version=0.0.4", NULL},
        {"GET /metrics", 200, "\ntain_one_total 0\n", NULL},
        {"GET /metrics", 200, "\nprocess_open_fds ", NULL},
        {"HEAD /metrics", 200, "Content-Length: ", "tain_one_total"},
        {"GET /healthz", 200, "\r\n\r\nok\n", NULL},
        {"HEAD /healthz", 200, "Content-Length: 3\r\n", "ok\n"},
        {"GET /readyz", 200, "\r\n\r\nready\n", NULL},
        {"GET /readyz?format=json", 200, "\"state\":\"ready\"", NULL},
        {"GET /readyz?format=text", 200, "\r\n\r\nready\n", NULL},
        {"GET /healthz?format=json", 200, "Content-Type: application/json", NULL},
        {"GET /", 404, "/readyz", NULL},
        {"GET /metrics/", 404, "/metrics", NULL},
        {"HEAD /nothing", 404, "Content-Length: ", "try"},
        {"POST /metrics", 405, "Allow: GET, HEAD", NULL},
        {"DELETE /healthz", 405, "only GET and HEAD", NULL},
        {"PUT /nothing", 405, "only GET and HEAD", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        char request[200], status[40];
        snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                 cases[i].request);
        snprintf(status, sizeof status, "HTTP/1.1 %d ", cases[i].status);
        ask(*state, request, &b);
        if (strncmp(b.p, status, strlen(status)) != 0 || !strstr(b.p, cases[i].holds) ||
            (cases[i].lacks && strstr(b.p, cases[i].lacks)))
            fail_msg("%s: %s", cases[i].request, b.p);
    }
}

static void json_for_those_who_accept_it(void **state) {
    struct place *p = *state;
    CLEANUP(strbuf_release) struct strbuf b;
    vitals_post(&p->vitals, &(struct vitals_report){.db_down_ms = 12000});
    ask(p,
        "GET /readyz HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
        &b);
    assert_non_null(strstr(b.p, "HTTP/1.1 503 "));
    assert_non_null(strstr(b.p, "{\"check\":\"database\",\"reason\":\"the database has not "
                                "answered for 12 s\"}"));
}

static void values_are_those_of_the_moment(void **state) {
    struct place *p = *state;
    static const char get[] = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (int i = 1; i <= 3; i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        char wanted[40];
        metric_set(&m_one, 0, i);
        snprintf(wanted, sizeof wanted, "\ntain_one_total %d\n", i);
        ask(p, get, &b);
        assert_non_null(strstr(b.p, wanted));
    }
    metric_set(&m_one, 0, 0);
    clock_advance(&p->clock, VITALS_BEAT_MS + 1);
    CLEANUP(strbuf_release) struct strbuf stuck;
    ask(p, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &stuck);
    assert_non_null(strstr(stuck.p, "HTTP/1.1 503 "));
    assert_non_null(strstr(stuck.p, "loop: the main loop has not turned"));
}

static void a_body_is_no_trouble(void **state) {
    static const char *const requests[] = {
        "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    };
    static const char *const wanted[] = {"HTTP/1.1 405 ", "HTTP/1.1 200 "};
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        ask(*state, requests[i], &b);
        assert_non_null(strstr(b.p, wanted[i]));
    }
}

/* Some say nothing, some half of it, some ask and never read. */
static void nobody_waits_for_a_slow_client(void **state) {
    struct place *p = *state;
    static const char half[] = "GET /metr", many[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
                                                     "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    int fds[METRICS_HTTP_CONNECTIONS - 8];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        const char *text = i % 3 == 0 ? "" : i % 3 == 1 ? half : many;
        fds[i] = dial(p);
        assert_int_equal(send(fds[i], text, strlen(text), MSG_NOSIGNAL), strlen(text));
    }
    for (int i = 0; i < 5; i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        ask(p, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &b);
        assert_non_null(strstr(b.p, "\r\n\r\nok\n"));
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
}

static void binds_that_cannot_be_had(void **state) {
    struct place *p = *state;
    static const char *const wrong[] = {"here:1",          "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                                        "127.0.0.1:65536", ":1",        "[::1",       ""};
    struct metrics_http *none = NULL;
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(try_bind(p, wrong[i], &none, &e), V_INVALID);
    char taken[40];
    snprintf(taken, sizeof taken, "127.0.0.1:%d", metrics_http_port(p->http));
    assert_int_equal(try_bind(p, taken, &none, &e), V_FATAL);
    assert_int_equal(e.code, EADDRINUSE);
    assert_non_null(strstr(e.msg, taken));
    assert_null(none);
    metrics_http_stop(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers, open_place, close_place),
        cmocka_unit_test_setup_teardown(json_for_those_who_accept_it, open_place, close_place),
        cmocka_unit_test_setup_teardown(values_are_those_of_the_moment, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_body_is_no_trouble, open_place, close_place),
        cmocka_unit_test_setup_teardown(nobody_waits_for_a_slow_client, open_place, close_place),
        cmocka_unit_test_setup_teardown(binds_that_cannot_be_had, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
