/* Steering: quiet changes, ranges, profiles, the truth, an upstream that is down. */
#include "client.h"
#include "events.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UPDATES "/v0/updates.json"

static int set_up(void **state) {
    struct demo_options o = {.seed = 5, .maxitem = 5000};
    struct err e;
    return demo_start(&o, (struct demo **)state, &e);
}

static int tear_down(void **state) {
    demo_stop(*state);
    return 0;
}

static void open_stream(struct events *ev, struct demo *d) {
    events_open(ev, d, UPDATES);
    assert_true(events_wait(ev, "}\n\n"));
}

static json_t *get_json(struct demo *d, const char *path) {
    struct answer a;
    client_get(demo_port(d), path, &a);
    assert_int_equal(a.status, 200);
    json_t *j = json_loadb(a.body, a.body_len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(j);
    answer_release(&a);
    return j;
}

static bool list_holds(struct demo *d, const char *path, const char *key, int64_t id) {
    json_t *j = get_json(d, path), *ids = key ? json_object_get(j, key) : j, *one;
    size_t i;
    bool found = false;
    json_array_foreach(ids, i, one) found |= json_integer_value(one) == id;
    json_decref(j);
    return found;
}

static void quiet_changes_are_not_named(void **state) {
    struct demo *d = *state;
    struct events ev;
    open_stream(&ev, d);
    assert_int_equal(control_post(d, "/demo/mutate?id=41&how=edit&quiet=1", ""), 200);
    assert_int_equal(control_post(d, "/demo/mutate-range?lo=42&hi=60&quiet=1", ""), 200);
    assert_int_equal(control_post(d, "/demo/maxitem?value=5010&quiet=1", ""), 200);
    assert_int_equal(control_post(d, "/demo/mutate?id=4711&how=edit&quiet=0", ""), 200);
    size_t from = ev.seen;
    assert_true(events_wait(&ev, "4711"));
    static const char *const UNSAID[] = {"41,", "[41", "[42", "5010"};
    for (size_t i = 0; i < ARRAY_LEN(UNSAID); i++)
        assert_null(strstr(ev.body.p + from, UNSAID[i]));
    assert_false(list_holds(d, UPDATES, "items", 41));
    assert_false(list_holds(d, UPDATES, "items", 5010));
    assert_int_equal(corpus_version(demo_corpus(d), 41), 1);
    assert_int_equal(corpus_version(demo_corpus(d), 60), 1);
    assert_int_equal(corpus_maxitem(demo_corpus(d)), 5010);
    events_close(&ev);
}

static void a_range_is_changed_and_named(void **state) {
    struct demo *d = *state;
    struct events ev;
    open_stream(&ev, d);
    int64_t changed;
    struct err e;
    assert_int_equal(demo_mutate(d, 100, 1300, CORPUS_ANY, false, &changed, &e), V_OK);
    assert_in_range(changed, 1190, 1201); /* a few are null */
    assert_true(events_wait(&ev, "[100,101,"));
    assert_true(events_wait(&ev, ",1299,1300]"));
    int64_t versions = 0;
    for (int64_t id = 1; id <= 5000; id++)
        versions += corpus_version(demo_corpus(d), id);
    assert_int_equal(versions, changed);
    assert_int_equal(demo_mutate(d, 100, 1300, CORPUS_RESTORE, true, &changed, &e), V_OK);
    assert_int_equal(changed, 1201);
    events_close(&ev);
}

static void an_item_that_appears_is_named_with_what_it_answers(void **state) {
    struct demo *d = *state;
    struct corpus *c = demo_corpus(d);
    int64_t id = 1000, changed;
    struct err e;
    while (corpus_root(c, id) != 0)
        id++;
    struct events ev;
    open_stream(&ev, d);
    assert_int_equal(demo_mutate(d, id - 1, id + 1, CORPUS_RESTORE, false, &changed, &e), V_OK);
    char want[64];
    snprintf(want, sizeof want, "[%lld,%lld", (long long)id, (long long)corpus_parent(c, id));
    assert_true(events_wait(&ev, want));
    snprintf(want, sizeof want, "[%lld,%lld,%lld]", (long long)id - 1, (long long)id,
             (long long)id + 1);
    assert_true(events_wait(&ev, want));
    events_close(&ev);
}

static void nonsense_is_refused(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *path;
        int status;
    } CASES[] = {
        {"/demo/mutate-range", 400},
        {"/demo/mutate-range?lo=5", 400},
        {"/demo/mutate-range?lo=5&hi=4", 400},
        {"/demo/mutate-range?lo=0&hi=4", 400},
        {"/demo/mutate-range?lo=5&hi=5001", 404},
        {"/demo/mutate-range?lo=5&hi=6&how=melt", 400},
        {"/demo/mutate-range?lo=5&hi=6&quiet=2", 400},
        {"/demo/mutate?id=5&quiet=yes", 400},
        {"/demo/maxitem?value=5&quiet=yes", 400},
        {"/demo/mutate-user", 400},
        {"/demo/mutate-user?name=nobody", 404},
        {"/demo/down", 400},
        {"/demo/down?value=2", 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        if (control_post(d, CASES[i].path, "") != CASES[i].status)
            fail_msg("%s", CASES[i].path);
    assert_int_equal(corpus_maxitem(demo_corpus(d)), 5000);
    struct answer a;
    static const char *const GETS[] = {"/demo/hits", "/demo/hits?id=-1", "/demo/truth?lo=0",
                                       "/demo/truth?hi=x"};
    for (size_t i = 0; i < ARRAY_LEN(GETS); i++) {
        client_get(demo_port(d), GETS[i], &a);
        assert_int_equal(a.status, 400);
        answer_release(&a);
    }
}

static void a_changed_item_names_its_author_in_every_form(void **state) {
    struct demo *d = *state;
    char name[CORPUS_NAME_MAX], want[64];
    int64_t id = 4000;
    while (!corpus_author(demo_corpus(d), id, name))
        id++;
    struct events ev;
    open_stream(&ev, d);
    static const enum corpus_change HOW[] = {CORPUS_EDIT,   CORPUS_SCORE,  CORPUS_EDIT,
                                             CORPUS_DELETE, CORPUS_DELETE, CORPUS_RESTORE};
    snprintf(want, sizeof want, "[\"%s\"]", name);
    for (size_t i = 0; i < ARRAY_LEN(HOW); i++) {
        int64_t changed;
        struct err e;
        assert_int_equal(demo_mutate(d, id, id, HOW[i], false, &changed, &e), V_OK);
        if (i % 3 == 2)
            snprintf(want, sizeof want, "\"/profiles/0\",\"data\":\"%s\"", name);
        else
            snprintf(want, sizeof want, "[\"%s\"]", name);
        assert_true(events_wait(&ev, want));
    }
    events_close(&ev);
}

static void a_profile_changes_and_is_named(void **state) {
    struct demo *d = *state;
    char name[CORPUS_NAME_MAX], path[96], control[96];
    int64_t id = 4000;
    while (!corpus_author(demo_corpus(d), id, name))
        id++;
    snprintf(path, sizeof path, "/v0/user/%s.json", name);
    snprintf(control, sizeof control, "/demo/mutate-user?name=%s", name);
    struct events ev;
    open_stream(&ev, d);
    for (int i = 0; i < 4; i++) {
        json_t *was = get_json(d, path);
        assert_int_equal(control_post(d, control, ""), 200);
        json_t *is = get_json(d, path);
        assert_int_not_equal(json_integer_value(json_object_get(was, "karma")),
                             json_integer_value(json_object_get(is, "karma")));
        assert_false(json_equal(json_object_get(was, "about"), json_object_get(is, "about")));
        assert_true(
            json_equal(json_object_get(was, "submitted"), json_object_get(is, "submitted")));
        assert_true(events_wait(&ev, name));
        json_decref(was);
        json_decref(is);
    }
    json_t *updates = get_json(d, UPDATES);
    json_t *first = json_array_get(json_object_get(updates, "profiles"), 0);
    assert_string_equal(json_string_value(first), name);
    json_decref(updates);
    events_close(&ev);
}

/* The body of a chunked answer. */
static void fetch_truth(struct demo *d, const char *query, struct strbuf *out) {
    char path[64];
    struct answer a;
    snprintf(path, sizeof path, "/demo/truth%s", query);
    client_get(demo_port(d), path, &a);
    assert_int_equal(a.status, 200);
    for (const char *p = a.body; *p;) {
        char *eol;
        size_t size = strtoul(p, &eol, 16);
        strbuf_add(out, eol + 2, size);
        p = eol + 2 + size + 2;
    }
    answer_release(&a);
}

static void the_truth_is_what_the_corpus_says(void **state) {
    struct demo *d = *state;
    struct strbuf got, want;
    strbuf_init(&got, 8 << 20);
    strbuf_init(&want, 8 << 20);
    assert_int_equal(control_post(d, "/demo/faults", "all:status=503"), 200);
    assert_int_equal(control_post(d, "/demo/mutate-range?lo=900&hi=1000", ""), 200);
    static const struct {
        const char *query;
        int64_t lo, hi;
    } CASES[] = {{"", 1, 5000},
                 {"?lo=4990&hi=5003", 4990, 5003},
                 {"?lo=7&hi=7", 7, 7},
                 {"?lo=9&hi=8", 9, 8}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        strbuf_clear(&got);
        strbuf_clear(&want);
        fetch_truth(d, CASES[i].query, &got);
        for (int64_t id = CASES[i].lo; id <= CASES[i].hi; id++) {
            corpus_item(demo_corpus(d), id, &want);
            strbuf_addc(&want, '\n');
        }
        assert_true(!want.overflow && !got.overflow);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.p ? got.p : "", want.p ? want.p : "", want.n);
    }
    assert_int_equal(control_get(d, "/demo/stats", "requests.item"), 0);
    strbuf_release(&got);
    strbuf_release(&want);
}

static void requests_are_told_apart(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *path, *key;
        int64_t want;
    } CASES[] = {
        {"/v0/item/7.json", "requests.item", 1},
        {"/v0/item/7.json", "requests.item", 2},
        {"/v0/user/nobody.json", "requests.user", 1},
        {"/v0/newstories.json", "lists.newstories", 1},
        {"/v0/newstories.json", "requests.list", 2},
        {"/v0/jobstories.json", "lists.jobstories", 1},
        {"/v0/topstories.json", "lists.newstories", 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        json_decref(get_json(d, CASES[i].path));
        assert_int_equal(control_get(d, "/demo/stats", CASES[i].key), CASES[i].want);
    }
    assert_int_equal(control_get(d, "/demo/hits?id=7", "hits"), 2);
    assert_int_equal(control_get(d, "/demo/hits?id=8", "hits"), 0);
    assert_int_equal(control_get(d, "/demo/hits?id=200000000", "hits"), 0);
}

static bool answered_by_reset(struct demo *d, const char *path) {
    struct answer a;
    client_get(demo_port(d), path, &a);
    bool reset = a.reset && a.raw.n == 0;
    answer_release(&a);
    return reset;
}

static void while_down_everything_is_reset(void **state) {
    struct demo *d = *state;
    static const char *const PATHS[] = {"/v0/item/7.json", "/v0/newstories.json", UPDATES,
                                        "/v0/maxitem.json", "/v0/user/nobody.json"};
    struct events ev, maxitem, refused;
    open_stream(&ev, d);
    events_open(&maxitem, d, "/v0/maxitem.json");
    assert_int_equal(control_post(d, "/demo/faults", "id=9:delay=100"), 200);
    int late = client_connect(demo_port(d)); /* under way when it goes down */
    client_send(late, "GET", "/v0/item/9.json", "", NULL);
    control_await(d, "in_flight", 1);
    assert_int_equal(control_post(d, "/demo/down?value=1", ""), 200);
    assert_int_equal(events_finish(&ev), EVENTS_RESET);
    assert_int_equal(events_finish(&maxitem), EVENTS_RESET);
    struct answer a;
    client_finish(late, 1 << 20, &a);
    assert_true(a.reset);
    answer_release(&a);
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
        assert_true(answered_by_reset(d, PATHS[i]));
    events_open(&refused, d, UPDATES);
    assert_int_equal(refused.end, EVENTS_RESET);
    control_await(d, "streams_open", 0);
    assert_int_equal(control_get(d, "/demo/stats", "faults.down"), ARRAY_LEN(PATHS) + 2);
    assert_int_equal(control_post(d, "/demo/down?value=0", ""), 200);
    assert_false(answered_by_reset(d, PATHS[0]));
    events_close(&ev);
    events_close(&maxitem);
    events_close(&refused);
    open_stream(&ev, d);
    events_close(&ev);
}

static void the_lists_change_as_maxitem_grows(void **state) {
    struct demo *d = *state;
    static const char *const LISTS[] = {"top", "new", "best", "ask", "show", "job"};
    json_t *before[ARRAY_LEN(LISTS)];
    char path[64];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
            snprintf(path, sizeof path, "/v0/%sstories.json", LISTS[i]);
            json_t *now = get_json(d, path);
            if (round) {
                assert_false(json_equal(before[i], now));
                json_decref(before[i]);
            }
            before[i] = now;
        }
        assert_int_equal(control_post(d, "/demo/maxitem?value=9000", ""), 200);
    }
    int64_t newest = json_integer_value(json_array_get(before[1], 0));
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++)
        json_decref(before[i]);
    for (int64_t id = 9000; id >= newest; id--) { /* nothing newer belongs there */
        snprintf(path, sizeof path, "/v0/item/%lld.json", (long long)id);
        json_t *item = get_json(d, path);
        const char *type = json_string_value(json_object_get(item, "type"));
        bool live = type && (strcmp(type, "story") == 0 || strcmp(type, "poll") == 0) &&
                    !json_object_get(item, "dead") && !json_object_get(item, "deleted");
        assert_int_equal(live, id == newest);
        json_decref(item);
    }
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(quiet_changes_are_not_named),
        WITH_SERVER(a_range_is_changed_and_named),
        WITH_SERVER(an_item_that_appears_is_named_with_what_it_answers),
        WITH_SERVER(nonsense_is_refused),
        WITH_SERVER(a_changed_item_names_its_author_in_every_form),
        WITH_SERVER(a_profile_changes_and_is_named),
        WITH_SERVER(the_truth_is_what_the_corpus_says),
        WITH_SERVER(requests_are_told_apart),
        WITH_SERVER(while_down_everything_is_reset),
        WITH_SERVER(the_lists_change_as_maxitem_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
