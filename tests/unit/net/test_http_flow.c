/* Many requests: connections, submitting and cancelling from callbacks, deadlines, wake-ups. */
#include "fetch.h"
#include "server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LONG_MS 60000 /* what comes at once takes less, on any machine */

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

/* Asks for /PATH/0 .. /PATH/total-1 and checks that each answer belongs to its tag. */
struct crowd {
    struct http_client *c;
    const char *path;
    intptr_t next, total, done, right;
    int more; /* how many each callback submits */
};

static void submit(struct http_client *c, const char *path, intptr_t tag) {
    char url[200];
    struct err e;
    snprintf(url, sizeof url, "%s%s%d", server.root, path, (int)tag);
    assert_int_equal(http_submit(c, url, (void *)tag, &e), V_OK);
}

static void crowd_submit(struct crowd *w, int n) {
    for (; n > 0 && w->next < w->total; n--, w->next++)
        submit(w->c, w->path, w->next);
}

static void on_done(void *ctx, const struct http_result *r) {
    struct crowd *w = ctx;
    crowd_submit(w, w->more); /* first: the result must outlive it */
    char want[20];
    snprintf(want, sizeof want, "%d", (int)(intptr_t)r->tag);
    w->done++;
    if (r->cls == NET_OK && str_eqc(r->body, want))
        w->right++;
    else
        print_error("%s%s: %s\n", w->path, want, r->detail);
}

static void crowd_run(struct crowd *w, int at_once) {
    crowd_submit(w, at_once);
    for (int steps = 0; http_inflight(w->c) > 0 && steps < 20000; steps++)
        http_step(w->c, clock_mono(&clock_machine) + 5000, on_done, w);
    assert_int_equal(w->done, w->total);
    assert_int_equal(w->right, w->total);
}

static void test_keep_alive(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    struct crowd w = {.c = fetch_client(&o), .path = "/ok/", .total = 1000, .more = 1};
    int before = server.connections;
    crowd_run(&w, 32);
    struct http_counters k = http_counters(w.c);
    assert_int_equal(k.requests, 1000);
    assert_int_equal(k.http2, 0);
    assert_in_range(k.connections, 1, 32);
    assert_int_equal(server.connections - before, k.connections);
    http_free(w.c);
}

static void test_more_in_flight_than_connections(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    o.max_connections = 4;
    struct crowd w = {.c = fetch_client(&o), .path = "/ok/", .total = 600, .more = 3};
    int before = server.connections;
    crowd_run(&w, 200);
    assert_in_range(server.connections - before, 1, 4);
    http_free(w.c);
}

static void test_servers_that_close(void **state) {
    (void)state;
    static const char *const paths[] = {"/stale/", "/close/"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct http_options o = fetch_options(&clock_machine);
        o.max_connections = 4;
        struct crowd w = {.c = fetch_client(&o), .path = paths[i], .total = 60, .more = 1};
        crowd_run(&w, 8);
        http_free(w.c);
    }
}

static void test_a_limit_to_what_is_in_flight(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    o.max_connections = 1;
    struct http_client *c = fetch_client(&o);
    struct err e;
    for (intptr_t i = 0; i < HTTP_MAX_INFLIGHT; i++)
        submit(c, "/silent", i);
    assert_int_equal(http_submit(c, server.root, NULL, &e), V_LIMIT);
    http_cancel_all(c);
    assert_int_equal(http_inflight(c), 0);
    http_free(c);
}

static bool is_odd(void *ctx, void *tag) {
    (void)ctx;
    return (intptr_t)tag % 2;
}

struct tally {
    struct http_client *c;
    int done, odd, cancelled;
    bool cancel_odd, cancel_all;
};

static void on_tally(void *ctx, const struct http_result *r) {
    struct tally *t = ctx;
    t->done++;
    t->odd += is_odd(NULL, r->tag);
    if (t->cancel_odd)
        t->cancelled += http_cancel_if(t->c, is_odd, NULL);
    if (t->cancel_all)
        http_cancel_all(t->c);
}

static void tally_run(struct tally *t) {
    for (int steps = 0; http_inflight(t->c) > 0 && steps < 1000; steps++)
        http_step(t->c, clock_mono(&clock_machine) + 5000, on_tally, t);
    assert_int_equal(http_inflight(t->c), 0);
}

static void test_cancel(void **state) {
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        struct http_options o = fetch_options(&clock_machine);
        o.max_connections = 6; /* so that some are running and some are waiting */
        struct tally t = {.c = fetch_client(&o), .cancel_odd = inside};
        submit(t.c, "/ok/", 0);
        for (intptr_t i = 1; i < 20; i++)
            submit(t.c, i % 2 ? "/silent" : "/ok/", i);
        if (!inside) {
            http_step(t.c, 0, on_tally, &t);
            assert_int_equal(http_cancel_if(t.c, is_odd, NULL), 10);
        }
        tally_run(&t);
        assert_int_equal(t.done, 10);
        assert_int_equal(t.odd, 0);
        assert_int_equal(t.cancelled, inside ? 10 : 0);
        http_free(t.c);
    }
}

static void test_cancel_all_in_a_callback(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    struct tally t = {.c = fetch_client(&o), .cancel_all = true};
    for (int round = 1; round <= 3; round++) {
        for (intptr_t i = 0; i < 20; i++)
            submit(t.c, "/ok/", i);
        tally_run(&t);
        assert_int_equal(t.done, round); /* also of those that were complete already */
    }
    submit(t.c, "/silent", 1);
    http_step(t.c, 0, on_tally, &t);
    http_free(t.c); /* with one in flight */
}

static void test_deadline(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    struct tally t = {.c = fetch_client(&o)};
    for (int busy = 0; busy < 2; busy++) {
        int64_t begin = clock_mono(&clock_machine);
        assert_int_equal(http_step(t.c, begin + 60, on_tally, &t), 0);
        assert_true(clock_mono(&clock_machine) - begin >= 60);
        begin = clock_mono(&clock_machine);
        assert_int_equal(http_step(t.c, begin - 1, on_tally, &t), 0);
        assert_true(clock_mono(&clock_machine) - begin < LONG_MS);
        submit(t.c, "/silent", 0);
    }
    http_free(t.c);
}

static void test_a_manual_clock_returns_soon(void **state) {
    (void)state;
    struct clock hand;
    clock_manual_init(&hand, 0, 0);
    struct http_options o = fetch_options(&hand);
    struct tally t = {.c = fetch_client(&o)};
    int64_t begin = clock_mono(&clock_machine);
    assert_int_equal(http_step(t.c, NO_DEADLINE, on_tally, &t), 0);
    assert_true(clock_mono(&clock_machine) - begin < LONG_MS);
    http_free(t.c);
}

static void *wake(void *c) {
    http_wakeup(c);
    return NULL;
}

static void test_wakeup(void **state) {
    (void)state;
    struct http_options o = fetch_options(&clock_machine);
    struct tally t = {.c = fetch_client(&o)};
    submit(t.c, "/silent", 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake, t.c), 0);
    int64_t begin = clock_mono(&clock_machine);
    assert_int_equal(http_step(t.c, begin + 2 * LONG_MS, on_tally, &t), 0);
    assert_true(clock_mono(&clock_machine) - begin < LONG_MS);
    pthread_join(thread, NULL);
    http_free(t.c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_more_in_flight_than_connections),
        cmocka_unit_test(test_servers_that_close),
        cmocka_unit_test(test_a_limit_to_what_is_in_flight),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_all_in_a_callback),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_a_manual_clock_returns_soon),
        cmocka_unit_test(test_wakeup),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
