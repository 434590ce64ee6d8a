#include "worker.h"

#include "policy/ages.h"

#include <stdio.h>

static void stored(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    int64_t updated = metric_get(&m_live_updated, 0), changed = metric_get(&m_live_changed, 0);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_call(&b);
    bench_name(&b, 7, 7);
    assert_int_equal(bench_step(&b), V_OK);
    struct call *c = bench_call(&b, 7);
    bench_no_call(&b);
    clock_advance(&b.clock, 30);
    bench_item(&b, c);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *j = bench_job(&b, 1, 0);
    assert_int_equal(j->batch->items[0].item.id, 7);
    assert_true(str_eqc(j->batch->items[0].item.text, "hello"));
    assert_int_equal(j->batch->items[0].fetched_at, MONO + DB_OFFSET); /* the start, not the end */
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_taken(&b), 1); /* until it is written */
    j->stats = (struct apply_stats){.inserted = 2, .changed = 3, .unchanged = 5, .stale = 7};
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_taken(&b), 0);
    assert_int_equal(bench_waiting(&b), 0);
    assert_int_equal(bench_count(&b, LIVE_STORED), 1);
    assert_int_equal(metric_get(&m_live_updated, 0) - updated, 10);
    assert_int_equal(metric_get(&m_live_changed, 0) - changed, 5);
    bench_close(&b);
}

/* The first goes at once; what comes while it is being written goes together. */
static void natural_batches(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_name(&b, 1, 4);
    assert_int_equal(bench_step(&b), V_OK);
    struct call *c[4];
    for (int i = 0; i < 4; i++)
        c[i] = bench_call(&b, i + 1);
    bench_item(&b, c[0]);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_job(&b); /* with many calls out it waits for others, but not for long */
    clock_advance(&b.clock, 20);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *j = bench_job(&b, 1, 0);
    for (int i = 1; i < 4; i++) {
        bench_item(&b, c[i]);
        assert_int_equal(bench_step(&b), V_OK);
        bench_no_job(&b);
    }
    atomic_store(&b.token, TOKEN + 1); /* of the time at which it is sent */
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    j = bench_job(&b, 3, 0);
    assert_int_equal(bench_taken(&b), 3);
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_job(&b);
    assert_int_equal(bench_taken(&b), 0);
    bench_close(&b);
}

/* Two batches at the writer, a full one in hand: no more ids, until one is written. */
static void full_batches(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){.batch_size = 2, .window = 3});
    bench_name(&b, 1, 20);
    struct job *first[2] = {NULL};
    for (int round = 0; round < 2; round++) {
        assert_int_equal(bench_step(&b), V_OK);
        for (int i = 0; i < 3; i++)
            bench_item(&b, bench_call(&b, 0));
        assert_int_equal(bench_step(&b), V_OK);
        first[round] = bench_job(&b, 3, 0);
    }
    assert_int_equal(bench_step(&b), V_OK);
    struct call *c[3];
    for (int i = 0; i < 3; i++)
        c[i] = bench_call(&b, 0);
    bench_item(&b, c[0]);
    bench_item(&b, c[1]);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_job(&b);
    bench_no_call(&b);
    bench_item(&b, c[2]); /* what is in flight still finds room */
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_job(&b);
    bench_no_call(&b);
    bench_written(&b, first[1], V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *third = bench_job(&b, 3, 0);
    for (int i = 0; i < 3; i++)
        bench_item(&b, bench_call(&b, 0));
    bench_written(&b, first[0], V_OK);
    bench_written(&b, third, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, bench_job(&b, 3, 0), V_OK);
    for (int i = 0; i < 3; i++)
        bench_cancel(&b, bench_call(&b, 0));
    assert_int_equal(bench_count(&b, LIVE_STORED), 9);
    bench_close(&b);
}

static void named_again_in_flight(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_name(&b, 7, 7);
    assert_int_equal(bench_step(&b), V_OK);
    struct call *c = bench_call(&b, 7);
    assert_int_equal(keyqueue_offer(b.ids, (struct key_ticket){.key = 7}, false), KEY_JOINED);
    bench_item(&b, c);
    assert_int_equal(bench_step(&b), V_OK);
    clock_advance(&b.clock, REST_MS);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_call(&b); /* not before the first outcome is written */
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    bench_item(&b, bench_call(&b, 7));
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_taken(&b), 0);
    assert_int_equal(bench_waiting(&b), 0);
    bench_close(&b);
}

static void window(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){.window = 2});
    bench_name(&b, 1, 5);
    assert_int_equal(bench_step(&b), V_OK);
    struct call *one = bench_call(&b, 1), *two = bench_call(&b, 2);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_call(&b);
    assert_int_equal(bench_waiting(&b), 3);
    bench_answer(&b, one, NET_RESET, NULL); /* what waits for another try takes room, too */
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_call(&b);
    bench_item(&b, two);
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    struct call *three = bench_call(&b, 3); /* what is with the writer does not */
    bench_no_call(&b);
    bench_cancel(&b, three);
    bench_close(&b);
    assert_int_equal(bench_count(&b, LIVE_GIVEN_BACK), 2);
}

/* One item with this parent and story; the ids that are asked for because of it. */
static void check_refresh(const char *item, int64_t story, bool inserted, int64_t up1,
                          int64_t up2) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_offer(&b, 30, 0, 0);
    assert_int_equal(bench_step(&b), V_OK);
    bench_answer(&b, bench_call(&b, 30), NET_OK, item);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *j = bench_job(&b, 1, 0);
    j->batch->items[0].ret_inserted = inserted;
    j->batch->items[0].ret_story = story;
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    if (up1)
        bench_cancel(&b, bench_call(&b, up1));
    if (up2)
        bench_cancel(&b, bench_call(&b, up2));
    bench_no_call(&b);
    bench_close(&b);
}

static void refreshes_what_is_above(void **state UNUSED) {
    const char *comment = "{\"id\":30,\"type\":\"comment\",\"parent\":20}";
    const char *story = "{\"id\":30,\"type\":\"story\",\"title\":\"t\"}";
    check_refresh(comment, 10, true, 20, 10);
    check_refresh(comment, 20, true, 20, 0);
    check_refresh(comment, 30, true, 20, 0);
    check_refresh(comment, DB_NULL, true, 20, 0);
    check_refresh(comment, 10, false, 0, 0);
    check_refresh(story, 30, true, 0, 0);
}

static void refresh_finds_the_queue_full(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){.cap = 1});
    int64_t skipped = metric_get(&m_refresh_skipped, 0);
    for (int64_t id = 50; id < 53; id++) {
        bench_name(&b, id, id);
        assert_int_equal(bench_step(&b), V_OK);
        char body[100];
        snprintf(body, sizeof body, "{\"id\":%lld,\"type\":\"comment\",\"parent\":%lld}",
                 (long long)id, (long long)id - 30);
        bench_answer(&b, bench_call(&b, id), NET_OK, body);
    }
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *j = bench_job(&b, 2, 0);
    j->batch->items[0].ret_inserted = j->batch->items[1].ret_inserted = true;
    bench_name(&b, 99, 99); /* fills it; twice the cap is open to what a worker adds */
    bench_written(&b, j, V_OK);
    bench_drop(&b);
    assert_int_equal(bench_waiting(&b), 2); /* 99 and one of two parents */
    assert_int_equal(metric_get(&m_refresh_skipped, 0) - skipped, 1);
    bench_close(&b);
}

static int64_t observations(void) {
    int64_t n = 0;
    for (int i = 0; i <= METRIC_MAX_BUCKETS; i++)
        n += atomic_load(&m_update_age.buckets[i]);
    return n;
}

static void ages_of_named_items(void **state UNUSED) {
    static const struct {
        int64_t behind; /* its time before the arrival; 0: no time */
        uint32_t flags;
        bool counted;
        int64_t observed; /* -1: no age */
    } rows[] = {
        {100, TICKET_NAMED, true, 100},
        {90000, TICKET_NAMED, true, 90000},
        {-20, TICKET_NAMED, true, 0}, /* a clock that is a little off */
        {-100000, TICKET_NAMED, true, -1},
        {0, TICKET_NAMED, true, -1},
        {100, 0, false, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b;
        bench_open(&b, &(struct bench_options){0});
        int64_t arrived = bench_now_db(&b) / 1000, sum = atomic_load(&m_update_age.sum);
        int64_t n = observations();
        bench_offer(&b, 9, 0, rows[i].flags);
        clock_advance(&b.clock, 7000); /* time in the queue is not age */
        assert_int_equal(bench_step(&b), V_OK);
        char body[100];
        snprintf(body, sizeof body, "{\"id\":9,\"type\":\"story\",\"time\":%lld}",
                 (long long)(arrived - rows[i].behind));
        bool timed = rows[i].behind != 0;
        bench_answer(&b, bench_call(&b, 9), NET_OK, timed ? body : "{\"id\":9}");
        assert_int_equal(bench_step(&b), V_OK);
        struct job *j = bench_job(&b, 1, 0);
        int bucket = ages_bucket(arrived, timed ? arrived - rows[i].behind : I64_NONE, timed);
        for (int k = 0; k < BATCH_AGES; k++)
            assert_int_equal(j->batch->ages[k], rows[i].counted && k == bucket);
        assert_int_equal(observations(), n); /* not before it is written */
        bench_written(&b, j, V_OK);
        assert_int_equal(bench_step(&b), V_OK);
        bool has_age = rows[i].observed >= 0;
        assert_int_equal(observations() - n, has_age);
        assert_int_equal(atomic_load(&m_update_age.sum) - sum, has_age ? rows[i].observed : 0);
        bench_close(&b);
    }
}

/* A long wait is allowed and not used where there is something to do at once. */
static void waits_only_for_nothing(void **state UNUSED) {
    struct bench b;
    const int minute = 600000; /* ten, of which a slow machine loses none */
    int64_t began = clock_mono(&clock_machine);
    bench_open(&b, &(struct bench_options){.window = 1});
    bench_name(&b, 7, 7);
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_OK);
    struct call *c = bench_call(&b, 7);
    bench_answer(&b, c, NET_TIMEOUT, NULL);
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_OK);
    clock_advance(&b.clock, 200);
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_OK); /* full, nothing lent: retries */
    bench_item(&b, bench_call(&b, 7));
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    bench_name(&b, 8, 8);
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_OK);
    bench_item(&b, bench_call(&b, 8));
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    stop_raise(&b.stop);
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_STOPPED);
    assert_int_equal(realtime_step(b.w, minute, &b.err), V_STOPPED);
    assert_in_range(clock_mono(&clock_machine) - began, 0, minute / 2);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored),
        cmocka_unit_test(natural_batches),
        cmocka_unit_test(full_batches),
        cmocka_unit_test(named_again_in_flight),
        cmocka_unit_test(window),
        cmocka_unit_test(refreshes_what_is_above),
        cmocka_unit_test(refresh_finds_the_queue_full),
        cmocka_unit_test(ages_of_named_items),
        cmocka_unit_test(waits_only_for_nothing),
    };
    return cmocka_run_group_tests_name("mirror/realtime", tests, NULL, NULL);
}
