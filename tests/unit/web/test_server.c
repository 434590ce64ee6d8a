/* The server of pages and APIs as clients see it, over real sockets, with routes of the test's own.
 */
#include "server_fixture.h"

#include "web/errand.h"
#include "web/web_metrics.h"

static void paths_and_parameters_are_decoded(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    expect(p, "/echo?a=1&b=x%20y+z&c&a=2&%C3%A4=%E2%82%AC&nl=a%0Ab", 200,
           "path=/echo rest= a=[1] b=[x y z] c=[] a=[2] ä=[€] nl=[a b]");
    expect(p, "/%65cho", 200, "path=/echo");
    expect(p, "http://localhost/echo?q=1", 200, "path=/echo rest= q=[1]");
    expect(p, "/echo/a%20b.txt", 200, "path=/echo/a b.txt rest=a b");
    expect(p, "/echo/.txt", 404, "");
    expect(p, "/echo/a/b.txt", 404, "");
    expect(p, "/echo?a=%", 400, "broken %-escape");
    expect(p, "/echo?a=%zz", 400, "broken %-escape");
    expect(p, "/echo?a=%FF", 400, "not UTF-8");
    expect(p, "/echo?a=%00", 400, "not UTF-8");
    expect(p, "/echo%00", 400, "not UTF-8");
    expect(p, "/echo%0a", 400, "not UTF-8");
}

static void sizes_have_limits(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    char uri[CALL_PATH_MAX + CALL_QUERY_MAX + 100];
    int n = sprintf(uri, "/echo?");
    for (int i = 0; i < CALL_PARAMS_MAX; i++)
        n += sprintf(uri + n, "a%d=1&", i);
    expect(p, uri, 200, "a31=[1]");
    sprintf(uri + n, "b=1");
    expect(p, uri, 400, "more than 32 parameters");
    memset(uri, 'x', sizeof uri);
    memcpy(uri, "/echo?a=", 8);
    uri[6 + CALL_QUERY_MAX] = '\0';
    expect(p, uri, 200, "xxxx");
    uri[6 + CALL_QUERY_MAX] = 'x';
    uri[7 + CALL_QUERY_MAX] = '\0';
    expect(p, uri, 400, "longer than 8192");
    memset(uri, 'x', sizeof uri);
    uri[0] = '/';
    uri[CALL_PATH_MAX + 1] = '\0';
    expect(p, uri, 400, "longer than 1024");
}

static void a_header_that_is_too_large_is_refused(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    static char headers[30000 + 12];
    snprintf(headers, sizeof headers, "X-Large: %030000d\r\n", 0);
    struct answer_text a = client_ask(p->port, "GET", "/echo", headers);
    assert_int_equal(a.status, 431);
    free(a.head);
    expect(p, "/echo", 200, "path=/echo");
}

static void numbers_are_checked(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    expect(p, "/number", 200, "7");
    expect(p, "/number?n=10", 200, "10");
    expect(p, "/number?n=11", 400, "n is &#39;11&#39;; give a whole number from 1 to 10");
    expect(p, "/api/number?n=x", 400,
           "{\"message\":\"n is 'x'; give a whole number from 1 to 10\"}");
}

static void verdicts_become_statuses(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    expect(p, "/api/fail?v=0", 200, "half");
    expect(p, "/api/fail?v=3", 404, "{\"message\":\"the reason\"}");
    expect(p, "/api/fail?v=4", 413, "{\"message\":\"the reason\"}");
    expect(p, "/api/fail?v=5", 400, "{\"message\":\"the reason\"}");
    expect(p, "/api/fail?v=6", 500, "{\"message\":\"The log of the server says more.\"}");
    expect(p, "/fail?v=3", 404, "the reason");
    expect(p, "/fail?v=1", 503, "does not answer");
    expect(p, "/nothing", 404, "There is nothing here");
    expect(p, "/api/nothing", 404, "{\"message\":\"There is nothing here\"}");
    expect(p, "/huge", 500, "too large");
}

static void a_passing_trouble_is_tried_again(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    atomic_store(&tries, 0);
    struct answer_text a = client_get(p->port, "/away");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "told once");
    assert_int_equal(atomic_load(&tries), 2);
    free(a.head);
}

static void a_page_of_elsewhere_may_ask_an_api(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    const char *asks = "Origin: https://example.com\r\nAccess-Control-Request-Method: GET\r\n"
                       "Access-Control-Request-Headers: x-mine\r\n";
    struct answer_text a = client_ask(p->port, "OPTIONS", "/api/number", asks);
    assert_int_equal(a.status, 204);
    assert_int_equal(a.n, 0);
    assert_non_null(strstr(a.head, "Access-Control-Allow-Origin: *\r\n"));
    assert_non_null(strstr(a.head, "Access-Control-Allow-Methods: GET, HEAD\r\n"));
    assert_non_null(strstr(a.head, "Access-Control-Allow-Headers: *\r\n"));
    free(a.head);
    a = client_ask(p->port, "OPTIONS", "/echo", asks); /* a page of ours */
    assert_int_equal(a.status, 405);
    assert_null(strstr(a.head, "Access-Control-"));
    free(a.head);
    a = client_get(p->port, "/api/nothing");
    assert_int_equal(a.status, 404);
    assert_non_null(strstr(a.head, "Access-Control-Allow-Origin: *\r\n"));
    free(a.head);
    a = client_ask(p->port, "OPTIONS", "/api/number", "");
    assert_int_equal(a.status, 405);
    free(a.head);
}

static void only_get_and_head(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    static const char *const others[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct answer_text a = client_ask(p->port, others[i], "/echo", "Content-Length: 3\r\n");
        assert_int_equal(a.status, 405);
        assert_non_null(strstr(a.head, "Allow: GET, HEAD\r\n"));
        free(a.head);
    }
    struct answer_text a = client_ask(p->port, "GET", "/echo", "Content-Length: 3\r\n");
    assert_int_equal(a.status, 413);
    free(a.head);
    a = client_ask(p->port, "HEAD", "/big", "");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.n, 0);
    assert_non_null(strstr(a.head, "Content-Length: 21000\r\n"));
    free(a.head);
    a = client_ask(p->port, "HEAD", "/ticks", "");
    assert_int_equal(a.status, 200);
    free(a.head);
    assert_int_equal(atomic_load(&closed_streams), 1);
}

static int status_for_host(struct place *p, const char *host) {
    char text[400];
    int fd = client_dial(p->port);
    snprintf(text, sizeof text, "GET /echo HTTP/1.0\r\n%s\r\n", host);
    client_send(fd, text);
    struct answer_text a = client_rest(fd);
    int status = 0;
    (void)sscanf(a.head, "HTTP/1.%*d %d", &status);
    free(a.head);
    close(fd);
    return status;
}

static void a_foreign_name_is_refused(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    assert_int_equal(status_for_host(p, "Host: localhost:8080\r\n"), 200);
    assert_int_equal(status_for_host(p, "Host: 127.0.0.1\r\n"), 200);
    assert_int_equal(status_for_host(p, "Host: [::1]:80\r\n"), 200);
    assert_int_equal(status_for_host(p, "Host: Archive.Example:443\r\n"), 200);
    assert_int_equal(status_for_host(p, "Host: evil.example\r\n"), 421);
    assert_int_equal(status_for_host(p, "Host: localhost.evil.example\r\n"), 421);
    assert_int_equal(status_for_host(p, "Host: 10.0.0.1\r\n"), 421);
    assert_int_equal(status_for_host(p, ""), 421);
}

static void answers_have_safe_headers(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    struct answer_text a = client_get(p->port, "/number");
    assert_non_null(strstr(a.head, "Content-Security-Policy: default-src 'none'; script-src "
                                   "'self'; style-src 'self'; "));
    assert_non_null(strstr(a.head, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(a.head, "Referrer-Policy: "));
    assert_null(strstr(a.head, "Access-Control-Allow-Origin"));
    free(a.head);
    a = client_get(p->port, "/api/number");
    assert_non_null(strstr(a.head, "Access-Control-Allow-Origin: *\r\n"));
    assert_non_null(strstr(a.head, "X-Content-Type-Options: nosniff\r\n"));
    free(a.head);
}

static void what_is_known_is_not_sent_again(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    char header[100], tag[64];
    struct answer_text a = client_get(p->port, "/number?n=3");
    const char *at = strstr(a.head, "ETag: ");
    assert_non_null(at);
    snprintf(tag, sizeof tag, "%.*s", (int)strcspn(at + 6, "\r"), at + 6);
    free(a.head);
    snprintf(header, sizeof header, "If-None-Match: \"x\", %s\r\n", tag);
    a = client_ask(p->port, "GET", "/number?n=3", header);
    assert_int_equal(a.status, 304);
    assert_int_equal(a.n, 0);
    free(a.head);
    a = client_ask(p->port, "GET", "/number?n=4", header);
    assert_int_equal(a.status, 200);
    free(a.head);
}

static void text_is_compressed_for_who_takes_it(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    struct answer_text a = client_ask(p->port, "GET", "/big", "Accept-Encoding: br, gzip\r\n");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Encoding: gzip\r\n"));
    assert_non_null(strstr(a.head, "Vary: Accept-Encoding\r\n"));
    assert_in_range(a.n, 20, 1000);
    free(a.head);
    a = client_ask(p->port, "GET", "/big", "Accept-Encoding: gzip;q=0, br\r\n");
    assert_null(strstr(a.head, "Content-Encoding"));
    assert_non_null(strstr(a.head, "Vary: Accept-Encoding\r\n"));
    assert_int_equal(a.n, 21000);
    free(a.head);
    a = client_ask(p->port, "GET", "/number", "Accept-Encoding: gzip\r\n");
    assert_null(strstr(a.head, "Content-Encoding"));
    free(a.head);
}

static void the_first_bytes_go_early(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    int fd = client_dial(p->port);
    client_send(fd, "GET /long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    char *first = client_until(fd, "the first part");
    assert_non_null(strstr(first, "HTTP/1.1 200"));
    assert_null(strstr(first, "line 0"));
    wait_for(&inside, 1);
    sem_post(&gate);
    struct answer_text a = client_rest(fd);
    assert_non_null(strstr(a.head, "line 1999 of many"));
    assert_non_null(strstr(a.head, "the end"));
    assert_non_null(strstr(a.head, "\r\n0\r\n")); /* the last chunk: it is whole */
    free(a.head);
    free(first);
    close(fd);
}

static void an_answer_that_breaks_off_can_be_told(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    sem_post(&gate);
    struct answer_text a = client_get(p->port, "/long?bad=1");
    assert_int_equal(a.status, 200);
    assert_null(strstr(a.body, "\r\n0\r\n"));
    free(a.head);
    expect(p, "/echo", 200, "path=/echo");
}

static void a_client_that_leaves_ends_nothing_else(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.query_threads = 1});
    int fd = client_dial(p->port);
    client_send(fd, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(fd, "the first part"));
    close(fd);
    sem_post(&gate);
    expect(p, "/echo/x.txt", 200, "rest=x"); /* on the same thread, behind it */
}

static void a_full_queue_says_so(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.query_threads = 1, .queue = 2});
    enum { N = 6, ROOM = 3 }; /* one that is at work, and two that wait; which, is not said */
    struct pollfd asked[N];
    for (int i = 0; i < N; i++) {
        asked[i] = (struct pollfd){client_dial(p->port), POLLIN, 0};
        client_send(asked[i].fd,
                    "GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        if (i == 0)
            wait_for(&inside, 1);
    }
    for (int refused = 0; refused < N - ROOM; refused++) {
        assert_true(poll(asked, N, WAIT_MS) > 0);
        int i = 0;
        while (!asked[i].revents)
            i++;
        struct answer_text a = client_rest(asked[i].fd);
        assert_int_equal(a.status, 503);
        assert_non_null(strstr(a.head, "Retry-After: "));
        free(a.head);
        close(asked[i].fd);
        asked[i] = (struct pollfd){.fd = -1};
    }
    expect(p, "/number", 200, "7"); /* point reads do not wait for it */
    for (int i = 0; i < ROOM; i++)
        sem_post(&gate);
    for (int i = 0; i < N; i++) {
        if (asked[i].fd < 0)
            continue;
        struct answer_text a = client_rest(asked[i].fd);
        assert_int_equal(a.status, 200);
        assert_string_equal(a.body, "at last");
        free(a.head);
        close(asked[i].fd);
    }
}

static void point_reads_are_gathered(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.shared = true, .query_threads = 2});
    enum { N = 40 };
    int fds[N];
    expect(p, "/batch/first", 200, "many first");
    atomic_store(&n_batches, 0);
    char text[100];
    for (int i = 0; i < N; i++) {
        fds[i] = client_dial(p->port);
        snprintf(text, sizeof text,
                 "GET /batch/%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", i);
        client_send(fds[i], text);
    }
    for (int i = 0; i < N; i++) {
        struct answer_text a = client_rest(fds[i]);
        snprintf(text, sizeof text, "many %d", i);
        assert_int_equal(a.status, 200);
        assert_string_equal(a.body, text);
        free(a.head);
        close(fds[i]);
    }
    assert_in_range(atomic_load(&n_batches), 1, N);
    expect(p, "/batch/none", 404, "{\"message\":\"no such thing\"}");
}

static void a_stream_goes_on_until_someone_ends_it(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    atomic_store(&closed_streams, 0);
    int fd = client_dial(p->port);
    client_send(fd, "GET /ticks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    "Accept: text/event-stream\r\n\r\n");
    free(client_until(fd, "hello 1\n"));
    assert_int_equal(metric_get(&m_web_streams, 0), 1);
    for (int i = 1; i <= 3; i++) {
        char wanted[20];
        snprintf(wanted, sizeof wanted, "tick %d\n", i);
        tick(false);
        free(client_until(fd, wanted));
    }
    tick(true);
    struct answer_text a = client_rest(fd);
    assert_non_null(strstr(a.head, "0\r\n"));
    free(a.head);
    close(fd);
    wait_for(&closed_streams, 1);
    stop(p);
    assert_int_equal(metric_get(&m_web_streams, 0), 0);
}

static void a_stream_ends_with_its_client_and_with_the_server(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    atomic_store(&closed_streams, 0);
    int fd = client_dial(p->port);
    client_send(fd, "GET /ticks HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(fd, "hello 0\n"));
    close(fd);
    for (int i = 0; i < WAIT_MS && atomic_load(&closed_streams) == 0; i++) {
        tick(false);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(atomic_load(&closed_streams), 1);
    fd = client_dial(p->port);
    client_send(fd, "GET /ticks HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(fd, "hello 0\n"));
    stop(p);
    assert_int_equal(atomic_load(&closed_streams), 2);
    close(fd);
}

static void *stop_aside(void *arg) {
    stop(arg);
    return NULL;
}

static void what_runs_is_finished_before_the_end(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    int fd = client_dial(p->port), idle = client_dial(p->port);
    client_send(fd, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    wait_for(&inside, 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_aside, p), 0);
    for (int tried = 0; tried < WAIT_MS; tried++) { /* until nobody is let in any more */
        int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)p->port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int refused = connect(late, (struct sockaddr *)&to, sizeof to);
        close(late);
        if (refused)
            break;
        assert_true(tried < WAIT_MS - 1);
        (void)poll(NULL, 0, 1);
    }
    sem_post(&gate);
    struct answer_text a = client_rest(fd);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "at last");
    free(a.head);
    close(fd);
    close(idle);
    pthread_join(thread, NULL);
}

/* One loop thread, and more requests at once than it takes from the system in one turn. */
static void hundreds_at_once_are_all_answered(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.loops = 1, .queue = 300});
    enum { N = 300 };
    int fds[N];
    for (int i = 0; i < N; i++)
        fds[i] = client_dial(p->port);
    for (int n = 126; n <= 131; n++) {
        for (int i = 0; i < n; i++)
            client_send(fds[i], "GET /number?n=3 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        for (int i = 0; i < n; i++)
            free(client_until(fds[i], "\r\n\r\n3"));
    }
    for (int i = 0; i < N; i++)
        client_send(fds[i], "GET /echo/x.txt HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (int i = 0; i < N; i++) {
        free(client_until(fds[i], "rest=x"));
        close(fds[i]);
    }
}

static void more_connections_wait_for_their_turn(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.loops = 1, .max_connections = 2});
    int a = client_dial(p->port), b = client_dial(p->port);
    client_send(a, "GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client_send(b, "GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(a, "\r\n\r\n7"));
    free(client_until(b, "\r\n\r\n7"));
    int c = client_dial(p->port); /* by the system, not by the server */
    client_send(c, "GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    struct pollfd ready = {c, POLLIN, 0};
    assert_int_equal(poll(&ready, 1, 50), 0);
    close(a);
    free(client_until(c, "\r\n\r\n7"));
    close(b);
    close(c);
}

static void who_says_nothing_is_closed(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){.idle_ms = 1000});
    int fd = client_dial(p->port);
    client_send(fd, "GET /number HTTP/1.1\r\nHo");
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
}

/* A byte now and then keeps a connection from being silent; not for ever. */
static void who_never_comes_to_the_point_is_closed(void **state) {
    struct place *p = *state;
    struct clock clock;
    clock_manual_init(&clock, 1000, 0);
    start(p, (struct web_options){.clock = &clock});
    int slow = client_dial(p->port), good = client_dial(p->port);
    client_send(slow, "GET /number HTTP/1.1\r\nHost: local");
    client_send(good, "GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(good, "\r\n\r\n7"));
    clock_advance(&clock, 59000);
    client_send(slow, "h");
    client_send(good, "GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(good, "\r\n\r\n7"));
    clock_advance(&clock, 2000);
    char byte;
    assert_int_equal(recv(slow, &byte, 1, 0), 0);
    client_send(good, "GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(client_until(good, "\r\n\r\n7"));
    close(slow);
    close(good);
    stop(p);
}

struct chore {
    struct errand errand;
    atomic_int runs, done;
    enum verdict v, answers;
};

static enum verdict run_chore(struct errand *x, struct store *s, struct err *e) {
    struct chore *c = (struct chore *)x;
    assert_non_null(s);
    atomic_fetch_add(&inside, 1);
    sem_wait(&gate);
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&c->runs, 1);
    return c->answers == V_OK ? V_OK : err_set(e, c->answers, "test", 0, "no");
}

static void chore_done(struct errand *x, enum verdict v, const struct err *e UNUSED) {
    struct chore *c = (struct chore *)x;
    c->v = v;
    atomic_store(&c->done, 1);
}

/* With a single query thread: it does one of each. */
static void errands_take_turns_with_calls(void **state) {
    struct place *p = *state;
    struct chore chores[2];
    for (size_t i = 0; i < 2; i++)
        chores[i] = (struct chore){.errand = {run_chore, chore_done, NULL}};
    chores[1].answers = V_RETRY;
    start(p, (struct web_options){.query_threads = 1});
    assert_true(web_errand(p->web, &chores[0].errand));
    wait_for(&inside, 1);
    assert_true(web_errand(p->web, &chores[1].errand));
    int fd = client_dial(p->port);
    client_send(fd, "GET /api/number HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (int i = 0; i < 60000 && metric_get(&m_web_waiting, 0) != 1; i++)
        (void)poll(NULL, 0, 1);
    sem_post(&gate);
    wait_for(&chores[0].done, 1);
    assert_int_equal(chores[0].v, V_OK);
    free(client_until(fd, "\r\n\r\n7")); /* before the second one could run */
    wait_for(&inside, 1);
    assert_int_equal(atomic_load(&chores[1].runs), 0);
    sem_post(&gate); /* it is tried a second time */
    sem_post(&gate);
    wait_for(&chores[1].done, 1);
    assert_int_equal(chores[1].v, V_RETRY);
    assert_int_equal(atomic_load(&chores[1].runs), 2);
    close(fd);
    stop(p);
}

static void an_address_that_cannot_be_had(void **state) {
    struct place *p = *state;
    start(p, (struct web_options){0});
    char listen[40];
    struct web *other = NULL;
    struct err e;
    snprintf(listen, sizeof listen, "127.0.0.1:%d", p->port);
    struct web_options o = {.listen = listen, .store = {.uri = p->uri, .clock = &clock_machine}};
    assert_int_equal(web_start(&o, &other, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "cannot listen on 127.0.0.1:"));
    o.listen = "nowhere";
    assert_int_equal(web_start(&o, &other, &e), V_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(paths_and_parameters_are_decoded),
        TEST(sizes_have_limits),
        TEST(a_header_that_is_too_large_is_refused),
        TEST(numbers_are_checked),
        TEST(verdicts_become_statuses),
        TEST(a_passing_trouble_is_tried_again),
        TEST(a_page_of_elsewhere_may_ask_an_api),
        TEST(only_get_and_head),
        TEST(a_foreign_name_is_refused),
        TEST(answers_have_safe_headers),
        TEST(what_is_known_is_not_sent_again),
        TEST(text_is_compressed_for_who_takes_it),
        TEST(the_first_bytes_go_early),
        TEST(an_answer_that_breaks_off_can_be_told),
        TEST(a_client_that_leaves_ends_nothing_else),
        TEST(a_full_queue_says_so),
        TEST(point_reads_are_gathered),
        TEST(a_stream_goes_on_until_someone_ends_it),
        TEST(a_stream_ends_with_its_client_and_with_the_server),
        TEST(what_runs_is_finished_before_the_end),
        TEST(hundreds_at_once_are_all_answered),
        TEST(more_connections_wait_for_their_turn),
        TEST(who_says_nothing_is_closed),
        TEST(who_never_comes_to_the_point_is_closed),
        TEST(errands_take_turns_with_calls),
        TEST(an_address_that_cannot_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
