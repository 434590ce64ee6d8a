/* The fetch service as other threads see it: calls, lanes, and one fetch of an id at a time. */
#include "rig.h"

#include "store/live.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE 4000

struct asker {
    struct mailbox mailbox;
    struct call calls[8];
};

static void asker_open(struct asker *a) {
    *a = (struct asker){0};
    mailbox_init(&a->mailbox, 16, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(a->calls); i++) {
        a->calls[i].reply = &a->mailbox;
        strbuf_init(&a->calls[i].body, 1 << 16);
    }
}

static void asker_close(struct asker *a) {
    for (size_t i = 0; i < ARRAY_LEN(a->calls); i++)
        strbuf_release(&a->calls[i].body);
    mailbox_release(&a->mailbox);
}

static struct call *ask_item(struct rig *r, struct asker *a, int n, int64_t id) {
    a->calls[n].id = id;
    assert_true(calls_send(&r->calls, &a->calls[n]));
    return &a->calls[n];
}

static struct call *ask_path(struct rig *r, struct asker *a, int n, const char *path) {
    a->calls[n].id = 0;
    snprintf(a->calls[n].path, sizeof a->calls[n].path, "%s", path);
    assert_true(calls_send(&r->calls, &a->calls[n]));
    return &a->calls[n];
}

static struct call *next_answer(struct rig *r, struct asker *a) {
    for (int n = 0; n < PATIENCE; n++) {
        struct call *c = mailbox_take(&a->mailbox, 0);
        if (c)
            return c;
        rig_round(r);
    }
    fail_msg("no answer came");
    return NULL;
}

static void rounds(struct rig *r, int n) {
    while (n--)
        rig_round(r);
}

static void a_call_comes_back_with_its_answer(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r, &(struct rig_options){.window = {1, 1}, .maxitem = 50000, .endless = true});
    asker_open(&a);
    ask_item(&r, &a, 0, 40);
    struct call *c = next_answer(&r, &a);
    assert_ptr_equal(c, &a.calls[0]);
    assert_false(c->cancelled);
    assert_int_equal(c->cls, NET_OK);
    assert_true(c->started_db > 0);
    assert_non_null(strstr(c->body.p, "\"id\":40"));
    ask_path(&r, &a, 1, "/maxitem.json");
    c = next_answer(&r, &a);
    assert_string_equal(c->body.p, "50000");
    ask_path(&r, &a, 1, "/nonsense");
    c = next_answer(&r, &a);
    assert_int_equal(c->cls, NET_HTTP_404);
    asker_close(&a);
    rig_close(&r);
}

static void an_answer_too_large_for_its_asker_is_a_failure(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r, &(struct rig_options){.window = {1, 1}, .maxitem = 50000, .endless = true});
    asker_open(&a);
    a.calls[0].body.max = 20;
    ask_item(&r, &a, 0, 40);
    assert_int_equal(next_answer(&r, &a)->cls, NET_TOO_LARGE);
    asker_close(&a);
    rig_close(&r);
}

/* The id is asked for twice while its first fetch is slow: the second must wait for the first. */
static void an_id_is_never_in_flight_twice(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r, &(struct rig_options){.window = {1, 1},
                                       .maxitem = 50000,
                                       .endless = true,
                                       .faults = {"id=77:delay=150:times=1"}});
    asker_open(&a);
    ask_item(&r, &a, 0, 77);
    ask_item(&r, &a, 1, 77);
    assert_ptr_equal(next_answer(&r, &a), &a.calls[0]);
    assert_int_equal(rig_asked(&r, 77), 1);
    assert_ptr_equal(next_answer(&r, &a), &a.calls[1]);
    asker_close(&a);
    rig_close(&r);
}

/* A segment that meets an id in flight comes back to it, and has it in the end. */
static void a_segment_waits_for_the_same_id(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r, &(struct rig_options){
                     .window = {70, 80}, .maxitem = 50000, .faults = {"id=77:delay=150:times=1"}});
    asker_open(&a);
    ask_item(&r, &a, 0, 77);
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    assert_string_equal(archive_ask(&r.a, "SELECT COUNT(*) FROM items"), "11");
    struct call *c = mailbox_take(&a.mailbox, 0);
    assert_non_null(c);
    assert_false(c->cancelled);
    assert_int_equal(rig_asked(&r, 77), 2);
    asker_close(&a);
    rig_close(&r);
}

/* Many items wait for their turn: maxitem does not stand behind them. */
static void what_is_not_an_item_goes_first(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r,
             &(struct rig_options){.window = {1, 1}, .maxitem = 50000, .rps = 10, .endless = true});
    asker_open(&a);
    rounds(&r, 40);
    for (int i = 0; i < 6; i++)
        ask_item(&r, &a, i, 100 + i);
    ask_path(&r, &a, 6, "/maxitem.json");
    ask_path(&r, &a, 7, "/topstories.json");
    r.step_ms = 1;
    assert_int_equal(next_answer(&r, &a)->id, 0);
    for (int i = 0; i < 7; i++)
        next_answer(&r, &a);
    asker_close(&a);
    rig_close(&r);
}

/* An ill upstream: items are held back until it is well, and their askers hear of no failure. What
 * is not an item goes through. */
static void calls_for_items_wait_while_the_upstream_is_ill(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r, &(struct rig_options){.window = {1, 400},
                                       .maxitem = 50000,
                                       .endless = true,
                                       .faults = {"items:status=503"}});
    asker_open(&a);
    for (int n = 0; n < PATIENCE && !ingest_illness(r.ingest); n++)
        rig_round(&r);
    assert_non_null(ingest_illness(r.ingest));
    ask_item(&r, &a, 0, 900);
    rounds(&r, 50);
    assert_null(mailbox_take(&a.mailbox, 0));
    ask_path(&r, &a, 1, "/maxitem.json");
    assert_ptr_equal(next_answer(&r, &a), &a.calls[1]);
    rig_set_faults(&r, NULL);
    struct call *c = next_answer(&r, &a);
    assert_ptr_equal(c, &a.calls[0]);
    assert_int_equal(c->cls, NET_OK);
    asker_close(&a);
    rig_close(&r);
}

static void at_a_stop_every_call_comes_back(void **unused UNUSED) {
    struct rig r;
    struct asker a;
    rig_open(&r, &(struct rig_options){.window = {1, 1},
                                       .maxitem = 50000,
                                       .endless = true,
                                       .faults = {"id=77:delay=60000"}});
    asker_open(&a);
    ask_item(&r, &a, 0, 77);
    rounds(&r, 5);
    ask_item(&r, &a, 1, 77);
    rounds(&r, 2);
    stop_raise(&r.stop);
    r.step_ms = 500;
    assert_int_equal(rig_run(&r), INGEST_STOPPED);
    for (int i = 0; i < 2; i++) {
        struct call *c = mailbox_take(&a.mailbox, 0);
        assert_non_null(c);
        assert_true(c->cancelled);
    }
    assert_false(calls_send(&r.calls, &a.calls[2]));
    asker_close(&a);
    rig_close(&r);
}

/* A long rescan is under way when a gap appears: the gap is done first. */
static void a_gap_overtakes_a_rescan(void **unused UNUSED) {
    struct rig r;
    struct err e;
    int64_t n;
    rig_open(&r,
             &(struct rig_options){
                 .window = {1, 1}, .maxitem = 50000, .width = 1000, .rps = 200, .endless = true});
    assert_ok(store_plan_range(r.a.s, PURPOSE_RESCAN, 1000, 4999, 1000, &n, &e));
    rig_until(&r, "1", "SELECT COUNT(*) > 100 FROM items");
    assert_ok(store_plan_range(r.a.s, PURPOSE_GAP, 9000, 9019, 1000, &n, &e));
    rig_until(&r, "20", "SELECT COUNT(*) FROM items WHERE id BETWEEN 9000 AND 9019");
    assert_string_equal(
        archive_ask(&r.a, "SELECT COUNT(*) < 2000 FROM items WHERE id BETWEEN 1000 AND 4999"), "1");
    rig_close(&r);
}

/* An endless run takes up what appears above its window. */
static void new_ids_are_caught_up_with(void **unused UNUSED) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, 50}, .maxitem = 50, .endless = true});
    rig_until(&r, "50", "SELECT COUNT(*) FROM items");
    corpus_set_maxitem(demo_corpus(r.demo), 120);
    r.maxitem = 120;
    rig_until(&r, "120", "SELECT COUNT(*) FROM items");
    rig_until(&r, "120", "SELECT frontier_id FROM updater_state");
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_comes_back_with_its_answer),
        cmocka_unit_test(an_answer_too_large_for_its_asker_is_a_failure),
        cmocka_unit_test(an_id_is_never_in_flight_twice),
        cmocka_unit_test(a_segment_waits_for_the_same_id),
        cmocka_unit_test(what_is_not_an_item_goes_first),
        cmocka_unit_test(calls_for_items_wait_while_the_upstream_is_ill),
        cmocka_unit_test(at_a_stop_every_call_comes_back),
        cmocka_unit_test(a_gap_overtakes_a_rescan),
        cmocka_unit_test(new_ids_are_caught_up_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
