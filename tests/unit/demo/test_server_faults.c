/* Every kind of fault as it looks on the wire. */
#include "demo/server.h"

#include "client.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int set_up(void **state) {
    struct corpus_rates tame = corpus_rates_tame();
    struct demo_options o = {.seed = 5, .maxitem = 5000, .rates = &tame};
    struct err e;
    return demo_start(&o, (struct demo **)state, &e);
}

static int tear_down(void **state) {
    demo_stop(*state);
    return 0;
}

static void set_faults(struct demo *d, const char *specs, int want) {
    struct answer a;
    client_post(demo_port(d), "/demo/faults", specs, &a);
    assert_int_equal(a.status, want);
    answer_release(&a);
}

static int get_status(struct demo *d, const char *path) {
    struct answer a;
    client_get(demo_port(d), path, &a);
    int status = a.status;
    answer_release(&a);
    return status;
}

static json_t *stats(struct demo *d) {
    struct answer a;
    client_get(demo_port(d), "/demo/stats", &a);
    json_t *j = json_loads(a.body, 0, NULL);
    answer_release(&a);
    return j;
}

static void a_status_comes_so_many_times_per_id(void **state) {
    struct demo *d = *state;
    set_faults(d, "# two rules\nid=7:status=500:times=2\n\nid=8:status=429:retry_after=3\n", 200);
    const int want[] = {500, 500, 200, 200};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_int_equal(get_status(d, "/v0/item/7.json"), want[i]);
    struct answer a;
    client_get(demo_port(d), "/v0/item/8.json", &a);
    char after[16];
    answer_header(&a, "Retry-After", after, sizeof after);
    assert_int_equal(a.status, 429);
    assert_string_equal(after, "3");
    answer_release(&a);
    assert_int_equal(get_status(d, "/v0/item/9.json"), 200);
    set_faults(d, "", 200);
    assert_int_equal(get_status(d, "/v0/item/8.json"), 200);
}

static void a_bad_rule_leaves_the_old_ones(void **state) {
    struct demo *d = *state;
    set_faults(d, "all:status=503", 200);
    set_faults(d, "all:status=500\nid=1:melt", 400);
    assert_int_equal(get_status(d, "/v0/item/1.json"), 503);
    assert_int_equal(get_status(d, "/v0/maxitem.json"), 503);
    assert_int_equal(get_status(d, "/demo/stats"), 200);
}

static void a_reset_is_a_reset(void **state) {
    struct demo *d = *state;
    set_faults(d, "id=7:reset:times=20", 200);
    struct answer a;
    for (int i = 0; i < 20; i++) {
        client_get(demo_port(d), "/v0/item/7.json", &a);
        assert_true(a.reset);
        assert_int_equal(a.raw.n, 0);
        answer_release(&a);
    }
    assert_int_equal(get_status(d, "/v0/item/7.json"), 200);
}

static void a_truncated_body_is_shorter_than_promised(void **state) {
    struct demo *d = *state;
    set_faults(d, "id=7:truncate", 200);
    int fd = client_connect(demo_port(d));
    struct answer a;
    client_send(fd, "GET", "/v0/item/7.json", "", NULL); /* the server closes, not we */
    client_finish(fd, 1 << 20, &a);
    assert_int_equal(a.status, 200);
    assert_true(a.length > (int64_t)a.body_len);
    assert_true(a.body_len > 0);
    answer_release(&a);
}

static void garbage_is_no_json(void **state) {
    struct demo *d = *state;
    set_faults(d, "range=7-9:garbage", 200);
    for (int id = 7; id <= 9; id++) {
        char path[32];
        struct answer a;
        snprintf(path, sizeof path, "/v0/item/%d.json", id);
        client_get(demo_port(d), path, &a);
        assert_int_equal(a.status, 200);
        assert_int_equal(a.length, a.body_len);
        assert_null(json_loadb(a.body, a.body_len, JSON_DECODE_ANY, NULL));
        answer_release(&a);
    }
}

static json_t *get_item(struct demo *d, int id) {
    char path[32];
    struct answer a;
    snprintf(path, sizeof path, "/v0/item/%d.json", id);
    client_get(demo_port(d), path, &a);
    assert_int_equal(a.status, 200);
    json_t *j = json_loadb(a.body, a.body_len, JSON_DECODE_ANY, NULL);
    answer_release(&a);
    return j;
}

static void wrong_id_null_and_delayed(void **state) {
    struct demo *d = *state;
    int comment = 1;
    while (!corpus_parent(demo_corpus(d), comment))
        comment++;
    struct err e;
    assert_int_equal(corpus_mutate(demo_corpus(d), comment, CORPUS_RESTORE, &e), V_OK);
    char specs[128];
    snprintf(specs, sizeof specs,
             "id=1:wrong_id\nid=50:wrong_id\nid=51:null:times=1\nid=%d:delayed", comment);
    set_faults(d, specs, 200);
    const int ids[] = {1, 50};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        json_t *j = get_item(d, ids[i]);
        int64_t id = json_integer_value(json_object_get(j, "id"));
        assert_true(id > 0 && id != ids[i]);
        json_decref(j);
    }
    json_t *j = get_item(d, 51);
    assert_true(json_is_null(j));
    json_decref(j);
    j = get_item(d, 51);
    assert_int_equal(json_integer_value(json_object_get(j, "id")), 51);
    json_decref(j);
    j = get_item(d, comment);
    assert_string_equal(json_string_value(json_object_get(j, "text")), "[delayed]");
    json_decref(j);
}

static void a_drip_comes_byte_by_byte(void **state) {
    struct demo *d = *state;
    set_faults(d, "id=6000:drip", 200);
    int64_t begin = clock_mono(&clock_machine);
    struct answer a;
    client_get(demo_port(d), "/v0/item/6000.json", &a);
    assert_string_equal(a.body, "null");
    assert_true(clock_mono(&clock_machine) - begin >= 290);
    answer_release(&a);
}

static void a_huge_body_is_as_long_as_it_says(void **state) {
    struct demo *d = *state;
    set_faults(d, "id=7:huge=3000000\nid=8:huge=3000000:chunked\nid=9:huge=1073741824", 200);
    json_t *j = get_item(d, 7);
    assert_int_equal(json_integer_value(json_object_get(j, "id")), 7);
    assert_true(json_string_length(json_object_get(j, "text")) > 2999000);
    json_decref(j);
    struct answer a;
    client_get(demo_port(d), "/v0/item/8.json", &a);
    assert_int_equal(a.length, -1);
    assert_true(a.body_len > 3000000);
    answer_release(&a);
    int fd = client_connect(demo_port(d));
    client_send(fd, "GET", "/v0/item/9.json", "", NULL);
    client_finish(fd, 1 << 20, &a); /* hangs up early */
    assert_int_equal(a.length, 1073741824);
    answer_release(&a);
    assert_int_equal(get_status(d, "/v0/item/10.json"), 200);
}

static void check_redirect(struct demo *d, const char *path, const char *want) {
    struct answer a;
    char location[256];
    client_get(demo_port(d), path, &a);
    answer_header(&a, "Location", location, sizeof location);
    assert_int_equal(a.status, 307);
    assert_string_equal(location, want);
    answer_release(&a);
}

static void redirects_lead_on_back_or_away(void **state) {
    struct demo *d = *state;
    char away[128];
    set_faults(d, "id=7:redirect=endless\nid=8:redirect=same\nid=9:redirect=other", 200);
    check_redirect(d, "/v0/item/7.json", "/v0/item/7.json?r=1");
    check_redirect(d, "/v0/item/7.json?r=1", "/v0/item/7.json?r=2");
    check_redirect(d, "/v0/item/8.json", "/v0/item/8.json?r=1");
    assert_int_equal(get_status(d, "/v0/item/8.json?r=1"), 200);
    snprintf(away, sizeof away, "http://localhost:%d/v0/item/9.json?r=other", demo_port(d));
    check_redirect(d, "/v0/item/9.json", away);
    assert_int_equal(get_status(d, "/v0/item/9.json?r=other"), 200);
    json_t *j = stats(d);
    assert_int_equal(json_integer_value(json_object_get(j, "foreign_redirects")), 1);
    json_decref(j);
}

static void a_delay_holds_nobody_else_up(void **state) {
    struct demo *d = *state;
    set_faults(d, "id=7:delay=60:status=404\nrange=8-20:delay=60", 200);
    int fds[14];
    int64_t begin = clock_mono(&clock_machine);
    for (int i = 0; i < 14; i++) {
        char path[32];
        snprintf(path, sizeof path, "/v0/item/%d.json", 7 + i);
        fds[i] = client_connect(demo_port(d));
        client_send(fds[i], "GET", path, "Connection: close\r\n", NULL);
    }
    assert_int_equal(get_status(d, "/v0/item/1.json"), 200);
    for (int i = 0; i < 14; i++) {
        struct answer a;
        client_finish(fds[i], 1 << 20, &a);
        assert_int_equal(a.status, i ? 200 : 404);
        answer_release(&a);
    }
    assert_true(clock_mono(&clock_machine) - begin >= 59);
    json_t *j = stats(d);
    assert_true(json_integer_value(json_object_get(j, "peak_in_flight")) >= 2);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "faults"), "delay")),
                     14);
    json_decref(j);
}

static void it_stops_with_requests_waiting(void **state) {
    struct demo *d = *state;
    set_faults(d, "items:delay=600000\nall:drip", 200);
    int fds[8];
    for (int i = 0; i < 8; i++) {
        fds[i] = client_connect(demo_port(d));
        client_send(fds[i], "GET", i % 2 ? "/v0/item/7.json" : "/v0/updates.json", "", NULL);
    }
    json_t *j = stats(d);
    json_decref(j);
    demo_stop(d);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    assert_int_equal(set_up(state), V_OK); /* for the tear-down */
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_status_comes_so_many_times_per_id),
        WITH_SERVER(a_bad_rule_leaves_the_old_ones),
        WITH_SERVER(a_reset_is_a_reset),
        WITH_SERVER(a_truncated_body_is_shorter_than_promised),
        WITH_SERVER(garbage_is_no_json),
        WITH_SERVER(wrong_id_null_and_delayed),
        WITH_SERVER(a_drip_comes_byte_by_byte),
        WITH_SERVER(a_huge_body_is_as_long_as_it_says),
        WITH_SERVER(redirects_lead_on_back_or_away),
        WITH_SERVER(a_delay_holds_nobody_else_up),
        WITH_SERVER(it_stops_with_requests_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
