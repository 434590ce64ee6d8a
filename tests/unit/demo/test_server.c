/* The server through plain sockets: every endpoint, the streams and the controls. */
#include "demo/server.h"

#include "client.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define STREAM "Accept: text/event-stream\r\n"

static struct demo *start(const struct demo_options *o) {
    struct demo *d = NULL;
    struct err e;
    if (demo_start(o, &d, &e) != V_OK)
        fail_msg("%s", e.msg);
    return d;
}

static int set_up(void **state) {
    struct demo_options o = {.seed = 5, .maxitem = 5000};
    *state = start(&o);
    return 0;
}

static int tear_down(void **state) {
    demo_stop(*state);
    return 0;
}

static json_t *get_json(struct demo *d, const char *path) {
    struct answer a;
    client_get(demo_port(d), path, &a);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.length, a.body_len);
    json_t *j = json_loadb(a.body, a.body_len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(j);
    answer_release(&a);
    return j;
}

static int64_t get_number(struct demo *d, const char *path, const char *key) {
    json_t *j = get_json(d, path);
    int64_t n = json_integer_value(key ? json_object_get(j, key) : j);
    json_decref(j);
    return n;
}

static int post(struct demo *d, const char *path, const char *body) {
    struct answer a;
    client_post(demo_port(d), path, body, &a);
    int status = a.status;
    answer_release(&a);
    return status;
}

static void items_are_those_of_the_corpus(void **state) {
    struct demo *d = *state;
    struct strbuf want;
    strbuf_init(&want, CORPUS_ITEM_MAX);
    for (int id = 1; id < 40; id++) {
        char path[64];
        snprintf(path, sizeof path, "/v0/item/%d.json%s", id, id % 2 ? "" : "?print=pretty");
        struct answer a;
        client_get(demo_port(d), path, &a);
        strbuf_clear(&want);
        corpus_item(demo_corpus(d), id, &want);
        assert_int_equal(a.body_len, want.n);
        assert_memory_equal(a.body, want.p, want.n);
        char type[64];
        answer_header(&a, "Content-Type", type, sizeof type);
        assert_string_equal(type, "application/json; charset=utf-8");
        answer_release(&a);
    }
    strbuf_release(&want);
}

static void one_connection_carries_many_requests(void **state) {
    struct demo *d = *state;
    int fd = client_connect(demo_port(d));
    struct strbuf in;
    strbuf_init(&in, 1 << 20);
    for (int i = 0; i < 5; i++) {
        client_send(fd, "GET", "/v0/maxitem.json", "", NULL);
        strbuf_clear(&in);
        assert_true(client_wait_for(fd, "\r\n\r\n5000", &in));
        assert_null(strstr(in.p, "Connection: close"));
    }
    strbuf_release(&in);
    close(fd);
}

static void each_path_answers_as_upstream_does(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *method, *path;
        int status;
        const char *body; /* NULL: whatever */
    } CASES[] = {
        {"GET", "/v0/maxitem.json", 200, "5000"},
        {"GET", "/v0/item/5001.json", 200, "null"},
        {"GET", "/v0/item/0.json", 200, "null"},
        {"GET", "/v0/item/-3.json", 200, "null"},
        {"GET", "/v0/item/x.json", 200, "null"},
        {"GET", "/v0/item/99999999999999999999.json", 200, "null"},
        {"GET", "/v0/item/8", 301, NULL},
        {"GET", "/v0/user/nobody.json", 200, "null"},
        {"GET", "/v0/nothing.json", 404, NULL},
        {"GET", "/", 404, NULL},
        {"GET", "/v0", 404, NULL},
        {"POST", "/v0/item/8.json", 401, NULL},
        {"GET", "/demo/nothing", 404, NULL},
        {"GET", "/demo/mutate?id=1", 405, NULL},
        {"POST", "/demo/stats", 405, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct answer a;
        int fd = client_connect(demo_port(d));
        client_send(fd, CASES[i].method, CASES[i].path, "Connection: close\r\n", NULL);
        client_finish(fd, 1 << 20, &a);
        assert_int_equal(a.status, CASES[i].status);
        if (CASES[i].body)
            assert_string_equal(a.body, CASES[i].body);
        answer_release(&a);
    }
}

static void lists_users_and_updates_are_json(void **state) {
    struct demo *d = *state;
    static const char *const LISTS[] = {"top", "new", "best", "ask", "show", "job"};
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        char path[64];
        snprintf(path, sizeof path, "/v0/%sstories.json", LISTS[i]);
        json_t *j = get_json(d, path);
        assert_in_range(json_array_size(j), 5, 500);
        json_decref(j);
    }
    json_t *updates = get_json(d, "/v0/updates.json");
    assert_int_equal(json_array_size(json_object_get(updates, "items")), 30);
    json_t *name = json_array_get(json_object_get(updates, "profiles"), 0);
    char path[96];
    snprintf(path, sizeof path, "/v0/user/%s.json", json_string_value(name));
    json_t *user = get_json(d, path);
    assert_true(json_equal(json_object_get(user, "id"), name));
    json_decref(user);
    json_decref(updates);
}

static void the_stream_tells_of_a_mutation(void **state) {
    struct demo *d = *state;
    int fd = client_connect(demo_port(d));
    struct strbuf in;
    strbuf_init(&in, 1 << 20);
    client_send(fd, "GET", "/v0/updates.json", STREAM, NULL);
    assert_true(client_wait_for(
        fd, "event: put\ndata: {\"path\":\"/\",\"data\":{\"items\":[5000,4999,", &in));
    assert_non_null(strcasestr(in.p, "Content-Type: text/event-stream"));
    static const char *const WANT[] = {
        "event: patch\ndata: {\"path\":\"/\",\"data\":{\"items\":[77],\"profiles\":[",
        "event: put\ndata: {\"path\":\"/items\",\"data\":[77]}\n\n",
        "event: put\ndata: {\"path\":\"/items/0\",\"data\":77}\n\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(WANT); i++) {
        assert_int_equal(post(d, "/demo/mutate?id=77&how=edit", ""), 200);
        assert_true(client_wait_for(fd, WANT[i], &in));
    }
    json_t *updates = get_json(d, "/v0/updates.json");
    json_t *first = json_array_get(json_object_get(updates, "items"), 0);
    assert_int_equal(json_integer_value(first), 77);
    json_decref(updates);
    strbuf_release(&in);
    close(fd);
}

static void the_streams_tell_of_new_ids(void **state) {
    struct demo *d = *state;
    int updates = client_connect(demo_port(d)), maxitem = client_connect(demo_port(d));
    struct strbuf in, max;
    strbuf_init(&in, 1 << 20);
    strbuf_init(&max, 1 << 20);
    client_send(updates, "GET", "/v0/updates.json", STREAM, NULL);
    client_send(maxitem, "GET", "/v0/maxitem.json", STREAM, NULL);
    assert_true(client_wait_for(updates, "event: put", &in));
    assert_true(client_wait_for(maxitem, "data: {\"path\":\"/\",\"data\":5000}\n\n", &max));
    assert_int_equal(post(d, "/demo/maxitem?value=5002", ""), 200);
    assert_true(client_wait_for(updates, "[5001,5002", &in));
    assert_true(client_wait_for(maxitem, "data: {\"path\":\"/\",\"data\":5002}\n\n", &max));
    assert_int_equal(get_number(d, "/v0/maxitem.json", NULL), 5002);
    strbuf_release(&in);
    strbuf_release(&max);
    close(updates);
    close(maxitem);
}

static void a_silent_stream_is_kept_alive(void **state) {
    (void)state;
    struct demo_options o = {.seed = 5, .maxitem = 10, .keep_alive_ms = 10, .threads = 1};
    struct demo *d = start(&o);
    int fd = client_connect(demo_port(d));
    struct strbuf in;
    strbuf_init(&in, 1 << 20);
    client_send(fd, "GET", "/v0/updates.json", STREAM, NULL);
    assert_true(client_wait_for(fd, "event: keep-alive\ndata: null\n\n", &in));
    demo_stop(d); /* with a stream open */
    assert_false(client_wait_for(fd, "never said", &in));
    strbuf_release(&in);
    close(fd);
}

static void maxitem_grows_with_the_clock(void **state) {
    (void)state;
    struct clock hands;
    clock_manual_init(&hands, 1000, 0);
    struct demo_options o = {.seed = 5, .maxitem = 100, .grow_per_second = 2, .clock = &hands};
    struct demo *d = start(&o);
    int fd = client_connect(demo_port(d));
    struct strbuf in;
    strbuf_init(&in, 1 << 20);
    client_send(fd, "GET", "/v0/maxitem.json", STREAM, NULL);
    assert_true(client_wait_for(fd, "\"data\":100}", &in));
    clock_advance(&hands, 5000);
    assert_true(client_wait_for(fd, "\"data\":110}", &in));
    assert_int_equal(post(d, "/demo/maxitem?value=500", ""), 200);
    clock_advance(&hands, 500);
    assert_true(client_wait_for(fd, "\"data\":501}", &in));
    strbuf_release(&in);
    close(fd);
    demo_stop(d);
}

static void mutate_changes_an_item_and_refuses_nonsense(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *path;
        int status;
    } CASES[] = {
        {"/demo/mutate?id=40", 200},
        {"/demo/mutate?id=40&how=restore", 200},
        {"/demo/mutate?id=9000", 404},
        {"/demo/mutate", 400},
        {"/demo/mutate?id=x", 400},
        {"/demo/mutate?id=40&how=melt", 400},
        {"/demo/maxitem", 400},
        {"/demo/maxitem?value=-1", 400},
        {"/demo/maxitem?value=99999999999999", 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_int_equal(post(d, CASES[i].path, ""), CASES[i].status);
    assert_int_equal(corpus_version(demo_corpus(d), 40), 2);
}

static void web_pages_may_not_steer(void **state) {
    struct demo *d = *state;
    struct answer a;
    int fd = client_connect(demo_port(d));
    client_send(fd, "POST", "/demo/mutate?id=1",
                "Origin: http://evil.example\r\nConnection: close\r\n", "");
    client_finish(fd, 1 << 20, &a);
    assert_int_equal(a.status, 403);
    assert_int_equal(corpus_version(demo_corpus(d), 1), 0);
    answer_release(&a);
}

static void stats_count_what_came(void **state) {
    struct demo *d = *state;
    static const char *const PATHS[] = {"/v0/item/1.json", "/v0/item/2.json", "/v0/item/2.json",
                                        "/v0/item/2.json", "/v0/maxitem.json"};
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
        json_decref(get_json(d, PATHS[i]));
    json_t *j = get_json(d, "/demo/stats");
    json_t *requests = json_object_get(j, "requests");
    assert_int_equal(json_integer_value(json_object_get(requests, "item")), 4);
    assert_int_equal(json_integer_value(json_object_get(requests, "maxitem")), 1);
    json_decref(j);
    assert_int_equal(get_number(d, "/demo/stats", "distinct_ids"), 2);
    assert_int_equal(get_number(d, "/demo/stats", "repeated_ids"), 1);
    assert_int_equal(get_number(d, "/demo/stats", "max_per_id"), 3);
    assert_in_range(get_number(d, "/demo/stats", "peak_per_second"), 1, 4);
    assert_int_equal(post(d, "/demo/reset-stats", ""), 200);
    assert_int_equal(get_number(d, "/demo/stats", "max_per_id"), 0);
    json_decref(get_json(d, "/v0/item/2.json"));
    assert_int_equal(get_number(d, "/demo/stats", "max_per_id"), 1);
}

static void wrong_options_do_not_start(void **state) {
    (void)state;
    static const char *const BAD_FAULT[] = {"id=1:melt"};
    const struct {
        struct demo_options o;
        enum verdict want;
        const char *named;
    } cases[] = {
        {{.maxitem = -1}, V_INVALID, "maxitem"},
        {{.maxitem = 1, .port = 70000}, V_INVALID, "70000"},
        {{.maxitem = 1, .bind_host = "not an address"}, V_INVALID, "not an address"},
        {{.maxitem = 1, .faults = BAD_FAULT, .n_faults = 1}, V_INVALID, "melt"},
        {{.maxitem = 1, .bind_host = "192.0.2.1"}, V_FATAL, "192.0.2.1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct demo *d = NULL;
        struct err e;
        assert_int_equal(demo_start(&cases[i].o, &d, &e), cases[i].want);
        assert_null(d);
        assert_non_null(strstr(e.msg, cases[i].named));
    }
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(items_are_those_of_the_corpus),
        WITH_SERVER(one_connection_carries_many_requests),
        WITH_SERVER(each_path_answers_as_upstream_does),
        WITH_SERVER(lists_users_and_updates_are_json),
        WITH_SERVER(the_stream_tells_of_a_mutation),
        WITH_SERVER(the_streams_tell_of_new_ids),
        cmocka_unit_test(a_silent_stream_is_kept_alive),
        cmocka_unit_test(maxitem_grows_with_the_clock),
        WITH_SERVER(mutate_changes_an_item_and_refuses_nonsense),
        WITH_SERVER(web_pages_may_not_steer),
        WITH_SERVER(stats_count_what_came),
        cmocka_unit_test(wrong_options_do_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
