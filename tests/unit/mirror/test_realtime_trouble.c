#include "worker.h"

#include "base/fault.h"

#include <string.h>

#define OLD 5        /* far below maxitem */
#define YOUNG 999990 /* near it */
#define JITTER_MS 5000
#define MINUTE INT64_C(60000)

/* Every try fails: when is it tried again, and what is written in the end. */
static void retries_then_dead_letter_queue(void **state UNUSED) {
    static const int64_t waits[] = {200, 500, 1000, 1000};
    struct bench b;
    bench_open(&b, &(struct bench_options){.attempts = 5});
    bench_name(&b, OLD, OLD);
    assert_int_equal(bench_step(&b), V_OK);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        bench_answer(&b, bench_call(&b, OLD), NET_HTTP_5XX, NULL);
        assert_int_equal(bench_step(&b), V_OK);
        clock_advance(&b.clock, waits[i] - 1);
        assert_int_equal(bench_step(&b), V_OK);
        bench_no_call(&b);
        clock_advance(&b.clock, 1);
        assert_int_equal(bench_step(&b), V_OK);
    }
    bench_no_job(&b);
    bench_answer(&b, bench_call(&b, OLD), NET_HTTP_5XX, NULL);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *j = bench_job(&b, 0, 1);
    const struct batch_exception *x = &j->batch->exceptions[0];
    assert_int_equal(x->id, OLD);
    assert_int_equal(x->state, EXC_RETRY_WAIT);
    assert_int_equal(x->attempts, 1);
    assert_int_equal(x->rung, 0);
    assert_string_equal(x->cls, "http_5xx");
    assert_true(str_eqc(x->error, "what the library said"));
    assert_int_equal(bench_taken(&b), 1);
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_taken(&b), 0);
    assert_int_equal(bench_count(&b, LIVE_FAILED), 1);
    bench_close(&b);
}

static void a_later_try_succeeds(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_name(&b, OLD, OLD);
    assert_int_equal(bench_step(&b), V_OK);
    bench_answer(&b, bench_call(&b, OLD), NET_OK, "{\"id\":");
    assert_int_equal(bench_step(&b), V_OK);
    clock_advance(&b.clock, 200);
    assert_int_equal(bench_step(&b), V_OK);
    bench_item(&b, bench_call(&b, OLD));
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_count(&b, LIVE_STORED), 1);
    bench_close(&b);
}

static void rounds_up_to_the_dead_letter(void **state UNUSED) {
    static const struct {
        int rounds;
        int64_t wait_ms; /* 0: a dead letter */
    } rows[] = {{0, MINUTE / 2},  {1, MINUTE},      {2, 2 * MINUTE}, {6, 32 * MINUTE},
                {7, 60 * MINUTE}, {8, 60 * MINUTE}, {9, 0},          {10, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b;
        bench_open(&b, &(struct bench_options){.attempts = 1, .dlq_rounds = 9});
        bench_offer(&b, OLD, level_of(rows[i].rounds, 2), 0);
        assert_int_equal(bench_step(&b), V_OK);
        bench_answer(&b, bench_call(&b, OLD), NET_CONNECT, NULL);
        assert_int_equal(bench_step(&b), V_OK);
        struct job *j = bench_job(&b, 0, 1);
        const struct batch_exception *x = &j->batch->exceptions[0];
        bool dead = rows[i].wait_ms == 0;
        assert_int_equal(x->state, dead ? EXC_DEAD_LETTER : EXC_RETRY_WAIT);
        assert_int_equal(x->attempts, rows[i].rounds + 1);
        assert_int_equal(x->rung, 2); /* where it stands on the ladder is another matter */
        int64_t due = bench_now_db(&b) + rows[i].wait_ms;
        if (dead)
            assert_int_equal(x->next_retry_at, DB_NULL);
        else
            assert_in_range(x->next_retry_at - due, 0, JITTER_MS);
        bench_written(&b, j, V_OK);
        assert_int_equal(bench_step(&b), V_OK);
        assert_int_equal(bench_count(&b, dead ? LIVE_DEAD : LIVE_FAILED), 1);
        bench_close(&b);
    }
}

static void asked_to_wait(void **state UNUSED) {
    static const struct {
        int64_t asked, wait;
    } rows[] = {{-1, 200}, {100, 200}, {3000, 3000}, {600000, 30000}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b;
        bench_open(&b, &(struct bench_options){.attempts = 2});
        bench_name(&b, OLD, OLD);
        assert_int_equal(bench_step(&b), V_OK);
        struct call *c = bench_call(&b, OLD);
        c->retry_after_ms = rows[i].asked;
        bench_answer(&b, c, NET_HTTP_429, NULL);
        assert_int_equal(bench_step(&b), V_OK);
        clock_advance(&b.clock, rows[i].wait - 1);
        assert_int_equal(bench_step(&b), V_OK);
        bench_no_call(&b);
        clock_advance(&b.clock, 1);
        assert_int_equal(bench_step(&b), V_OK);
        c = bench_call(&b, OLD);
        c->retry_after_ms = 50 * MINUTE;
        bench_answer(&b, c, NET_HTTP_429, NULL);
        assert_int_equal(bench_step(&b), V_OK);
        struct job *j = bench_job(&b, 0, 1);
        assert_int_equal(j->batch->exceptions[0].next_retry_at, bench_now_db(&b) + 50 * MINUTE);
        bench_written(&b, j, V_OK);
        bench_close(&b);
    }
}

/* One answer each, and what is written for it. */
struct answer_row {
    const char *name;
    int64_t id;
    int rung;
    enum net_class net;
    const char *body;
    size_t items;
    int state; /* of the exception, -1: none */
    int ret_rung;
    int64_t wait_ms;
    const char *cls, *error;
    enum live_outcome outcome;
};
#define DELAYED "{\"id\":999990,\"type\":\"comment\",\"parent\":1,\"text\":\"[delayed]\"}"
#define ROUND (MINUTE / 2)
static const struct answer_row answers[] = {
    {"null, young", YOUNG, 0, NET_OK, "null", 0, EXC_RETRY_WAIT, 1, 5000, "null_young",
     "the upstream answered null", LIVE_RECHECK},
    {"null, higher up", YOUNG, 3, NET_OK, "null", 0, EXC_RETRY_WAIT, 4, 10 * MINUTE, "null_young",
     "the upstream answered null", LIVE_RECHECK},
    {"null, at the top", YOUNG, 7, NET_OK, "null", 0, EXC_TERMINAL_MISSING, 8, 0, "null_young",
     "the upstream answered null", LIVE_MISSING},
    {"null, old", OLD, 0, NET_OK, "null", 0, EXC_TERMINAL_MISSING, 0, 0, "null_old",
     "the upstream answered null", LIVE_MISSING},
    {"delayed", YOUNG, 0, NET_OK, DELAYED, 1, EXC_RETRY_WAIT, 1, 5000, "delayed",
     "the text is [delayed]", LIVE_RECHECK},
    {"delayed, at the top", YOUNG, 7, NET_OK, DELAYED, 1, -1, 0, 0, NULL, NULL, LIVE_STORED},
    {"404", OLD, 2, NET_HTTP_404, NULL, 0, EXC_RETRY_WAIT, 3, 2 * MINUTE, "http_404",
     "what the library said", LIVE_RECHECK},
    {"404, at the top", OLD, 7, NET_HTTP_404, NULL, 0, EXC_TERMINAL_MISSING, 8, 0, "http_404",
     "what the library said", LIVE_MISSING},
    {"401, at the top", OLD, 7, NET_HTTP_401, NULL, 0, EXC_DEAD_LETTER, 8, 0, "http_401",
     "what the library said", LIVE_DEAD},
    {"garbage", OLD, 0, NET_OK, "<html>", 0, EXC_RETRY_WAIT, 0, ROUND, "garbage",
     "the answer is not an item in JSON", LIVE_FAILED},
    {"nothing", OLD, 0, NET_OK, NULL, 0, EXC_RETRY_WAIT, 0, ROUND, "garbage",
     "the answer is not an item in JSON", LIVE_FAILED},
    {"another id", OLD, 1, NET_OK, "{\"id\":6,\"type\":\"story\"}", 0, EXC_RETRY_WAIT, 1, ROUND,
     "wrong_id", "the answer is another item", LIVE_FAILED},
    {"found at last", OLD, 5, NET_OK, "{\"id\":5,\"type\":\"story\"}", 1, -1, 0, 0, NULL, NULL,
     LIVE_STORED},
};

static void check_answer(const struct answer_row *row) {
    struct bench b;
    bench_open(&b, &(struct bench_options){.attempts = 1});
    bench_offer(&b, row->id, level_of(0, row->rung), 0);
    assert_int_equal(bench_step(&b), V_OK);
    bench_answer(&b, bench_call(&b, row->id), row->net, row->body);
    assert_int_equal(bench_step(&b), V_OK);
    struct job *j = bench_job(&b, row->items, row->state >= 0);
    const struct batch_exception *x = j->batch->exceptions;
    if (row->state >= 0) {
        assert_int_equal(x->state, row->state);
        assert_int_equal(x->rung, row->ret_rung);
        assert_int_equal(x->attempts, row->outcome == LIVE_FAILED);
        assert_string_equal(x->cls, row->cls);
        assert_true(str_eqc(x->error, row->error));
        int64_t jitter = row->outcome == LIVE_FAILED ? JITTER_MS : 0;
        if (row->wait_ms)
            assert_in_range(x->next_retry_at - bench_now_db(&b), row->wait_ms,
                            row->wait_ms + jitter);
        else
            assert_int_equal(x->next_retry_at, DB_NULL);
    }
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_count(&b, row->outcome), 1);
    bench_close(&b);
}

static void each_answer(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        print_message("  %s\n", answers[i].name);
        check_answer(&answers[i]);
    }
}

/* One id in flight, one that waits for another try, one with the writer, one in the queue. */
static void busy(struct bench *b, struct call **ret_call, struct job **ret_job) {
    bench_open(b, &(struct bench_options){.window = 2});
    bench_name(b, 1, 2);
    assert_int_equal(bench_step(b), V_OK);
    bench_item(b, bench_call(b, 1));
    bench_answer(b, bench_call(b, 2), NET_TIMEOUT, NULL);
    bench_name(b, 3, 4);
    assert_int_equal(bench_step(b), V_OK);
    *ret_job = bench_job(b, 1, 0);
    *ret_call = bench_call(b, 3);
    bench_no_call(b);
    assert_int_equal(bench_waiting(b), 1);
    assert_int_equal(bench_taken(b), 3);
}

static void a_stop_waits_for_what_is_lent(void **state UNUSED) {
    struct bench b;
    struct call *c;
    struct job *j;
    busy(&b, &c, &j);
    stop_raise(&b.stop);
    clock_advance(&b.clock, 1000);
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_call(&b);                      /* neither a new id nor another try */
    assert_int_equal(bench_waiting(&b), 2); /* 4, and 2 that waited for another try */
    bench_item(&b, c);                      /* it came in time */
    bench_written(&b, j, V_OK);
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, bench_job(&b, 1, 0), V_OK);
    assert_int_equal(bench_step(&b), V_STOPPED);
    assert_int_equal(bench_waiting(&b), 2);
    assert_int_equal(bench_taken(&b), 0);
    assert_int_equal(bench_count(&b, LIVE_STORED), 2);
    assert_int_equal(bench_count(&b, LIVE_GIVEN_BACK), 1);
    bench_close(&b);
}

static void a_stop_cancels(void **state UNUSED) {
    struct bench b;
    struct call *c;
    struct job *j;
    busy(&b, &c, &j);
    stop_raise(&b.stop);
    bench_cancel(&b, c);
    assert_int_equal(bench_step(&b), V_OK);
    bench_written(&b, j, V_STOPPED);
    assert_int_equal(bench_step(&b), V_STOPPED);
    assert_int_equal(bench_waiting(&b), 4);
    assert_int_equal(bench_taken(&b), 0);
    assert_int_equal(bench_count(&b, LIVE_GIVEN_BACK), 3);
    bench_close(&b);
}

/* The same without a stop is the end of a process that nobody told to end. */
static void the_fetch_service_has_ended(void **state UNUSED) {
    for (int stopping = 0; stopping < 2; stopping++) {
        struct bench b;
        struct call *c;
        struct job *j;
        busy(&b, &c, &j);
        queue_close(&b.calls.queue);
        clock_advance(&b.clock, 200);
        assert_int_equal(bench_step(&b), V_OK); /* the other try is refused */
        bench_cancel(&b, c);
        bench_written(&b, j, V_OK);
        if (stopping)
            stop_raise(&b.stop);
        assert_int_equal(bench_step(&b), stopping ? V_STOPPED : V_FATAL);
        if (!stopping)
            assert_string_equal(b.err.msg, "the fetch service has ended");
        assert_int_equal(bench_waiting(&b), 3);
        bench_close(&b);
    }
}

static void a_call_comes_back_without_a_stop(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_name(&b, 1, 2);
    assert_int_equal(bench_step(&b), V_OK);
    struct call *c = bench_call(&b, 1);
    bench_cancel(&b, bench_call(&b, 2));
    assert_int_equal(bench_step(&b), V_OK);
    bench_no_call(&b); /* to ask for it again would go on for ever */
    bench_cancel(&b, c);
    assert_int_equal(bench_step(&b), V_FATAL);
    assert_int_equal(bench_waiting(&b), 2);
    bench_close(&b);
}

static void the_writer_has_ended(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_name(&b, 1, 2);
    assert_int_equal(bench_step(&b), V_OK);
    bench_item(&b, bench_call(&b, 1));
    struct call *c = bench_call(&b, 2);
    queue_close(&b.to_writer);
    assert_int_equal(bench_step(&b), V_OK);
    assert_int_equal(bench_waiting(&b), 1); /* given back, and not taken again */
    bench_item(&b, c);
    assert_int_equal(bench_step(&b), V_FATAL);
    assert_string_equal(b.err.msg, "the writer has ended");
    assert_int_equal(bench_waiting(&b), 2);
    bench_close(&b);
}

static void the_writer_fails(void **state UNUSED) {
    static const enum verdict rows[][2] = {
        {V_CONFLICT, V_CONFLICT}, {V_FATAL, V_FATAL}, {V_INVALID, V_FATAL}, {V_RETRY, V_FATAL}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b;
        struct call *c;
        struct job *j;
        busy(&b, &c, &j);
        bench_written(&b, j, rows[i][0]);
        assert_int_equal(bench_step(&b), rows[i][1]);
        assert_string_equal(b.err.msg, "the writer said so");
        assert_int_equal(bench_step(&b), rows[i][1]); /* and stays so */
        bench_no_call(&b);
        bench_item(&b, c);
        bench_drop(&b);
        assert_int_equal(bench_waiting(&b), 4);
        assert_int_equal(bench_taken(&b), 0);
        assert_int_equal(bench_count(&b, LIVE_STORED), 0);
        assert_int_equal(bench_count(&b, LIVE_GIVEN_BACK), 3);
        bench_close(&b);
    }
}

/* A worker that dies gives back everything but what was written after all. */
static void a_forced_death(void **state UNUSED) {
    for (int written = 0; written < 2; written++) {
        struct bench b;
        struct call *c;
        struct job *j;
        busy(&b, &c, &j);
        bench_item(&b, c); /* its outcome will be in the batch that gathers */
        fault_setup("realtime_worker:1:fail");
        assert_int_equal(bench_step(&b), V_FATAL);
        fault_setup(NULL);
        assert_non_null(strstr(b.err.msg, "realtime_worker"));
        bench_no_call(&b);
        bench_no_job(&b);
        assert_int_equal(bench_taken(&b), 4);
        bench_written(&b, j, written ? V_OK : V_STOPPED);
        bench_drop(&b);
        assert_int_equal(bench_waiting(&b), written ? 3 : 4);
        assert_int_equal(bench_taken(&b), 0);
        assert_int_equal(bench_count(&b, LIVE_STORED), written);
        bench_close(&b);
    }
}

/* What is given back is taken up by the next worker as it was. */
static void given_back_as_it_was(void **state UNUSED) {
    struct bench b;
    bench_open(&b, &(struct bench_options){0});
    bench_offer(&b, OLD, level_of(3, 2), TICKET_NAMED);
    assert_int_equal(bench_step(&b), V_OK);
    clock_advance(&b.clock, 900);
    bench_answer(&b, bench_call(&b, OLD), NET_RESET, NULL);
    assert_int_equal(bench_step(&b), V_OK);
    bench_drop(&b);
    struct key_ticket t;
    assert_int_equal(keyqueue_take(b.ids, &t, 1, 0), 1);
    assert_int_equal(t.key, OLD);
    assert_int_equal(level_rounds(t.level), 3);
    assert_int_equal(level_rung(t.level), 2);
    assert_int_equal(t.flags, TICKET_NAMED);
    assert_int_equal(t.since, MONO);
    keyqueue_done(b.ids, OLD);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retries_then_dead_letter_queue),
        cmocka_unit_test(a_later_try_succeeds),
        cmocka_unit_test(rounds_up_to_the_dead_letter),
        cmocka_unit_test(asked_to_wait),
        cmocka_unit_test(each_answer),
        cmocka_unit_test(a_stop_waits_for_what_is_lent),
        cmocka_unit_test(a_stop_cancels),
        cmocka_unit_test(the_fetch_service_has_ended),
        cmocka_unit_test(a_call_comes_back_without_a_stop),
        cmocka_unit_test(the_writer_has_ended),
        cmocka_unit_test(the_writer_fails),
        cmocka_unit_test(a_forced_death),
        cmocka_unit_test(given_back_as_it_was),
    };
    return cmocka_run_group_tests_name("mirror/realtime_trouble", tests, NULL, NULL);
}
