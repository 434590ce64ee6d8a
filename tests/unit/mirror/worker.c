#include "worker.h"

#include <stdio.h>
#include <string.h>

static void nobody_sleeps(void *arg UNUSED) {
}

static int or_else(int value, int other) {
    return value ? value : other;
}

void bench_open(struct bench *b, const struct bench_options *o) {
    memset(b, 0, sizeof *b);
    clock_manual_init(&b->clock, MONO, 0);
    b->ids = keyqueue_new(&(struct keyqueue_options){
        .clock = &b->clock, .cap = o->cap ? o->cap : 1000, .rest_ms = REST_MS});
    queue_init(&b->calls.queue, 100);
    b->calls.wake = nobody_sleeps;
    queue_init(&b->to_writer, 8);
    b->tidings.maxitem = MAXITEM;
    b->tidings.db_offset_ms = DB_OFFSET;
    b->token = TOKEN;
    assert_int_equal(stop_init(&b->stop, &b->err), V_OK);
    for (int i = 0; i <= LIVE_GIVEN_BACK; i++)
        b->before[i] = metric_get(&m_live_outcomes, i);
    b->w = realtime_new(&(struct realtime_options){
        .clock = &b->clock,
        .ids = b->ids,
        .calls = &b->calls,
        .to_writer = &b->to_writer,
        .tidings = &b->tidings,
        .token = &b->token,
        .window = or_else(o->window, 8),
        .batch_size = or_else(o->batch_size, 100),
        .attempts = or_else(o->attempts, 3),
        .dlq_rounds = or_else(o->dlq_rounds, 8),
        .stop = &b->stop,
        .seed = 1,
    });
}

void bench_drop(struct bench *b) {
    realtime_free(b->w);
    b->w = NULL;
}

void bench_close(struct bench *b) {
    bench_drop(b);
    assert_int_equal(bench_taken(b), 0);
    keyqueue_free(b->ids);
    queue_release(&b->calls.queue);
    queue_release(&b->to_writer);
    stop_release(&b->stop);
}

enum verdict bench_step(struct bench *b) {
    return realtime_step(b->w, 0, &b->err);
}

void bench_offer(struct bench *b, int64_t id, uint32_t level, uint32_t flags) {
    const struct key_ticket t = {.key = id, .level = level, .flags = flags};
    assert_int_equal(keyqueue_offer(b->ids, t, false), KEY_ADDED);
}

void bench_name(struct bench *b, int64_t first, int64_t last) {
    for (int64_t id = first; id <= last; id++)
        bench_offer(b, id, 0, TICKET_NAMED);
}

struct call *bench_call(struct bench *b, int64_t id) {
    struct call *c = queue_pop(&b->calls.queue, 0);
    assert_non_null(c);
    assert_int_equal(c->letter, LETTER_CALL);
    if (id)
        assert_int_equal(c->id, id);
    c->started_db = bench_now_db(b);
    c->retry_after_ms = -1;
    return c;
}

void bench_no_call(struct bench *b) {
    assert_int_equal(queue_depth(&b->calls.queue), 0);
}

void bench_answer(struct bench *b UNUSED, struct call *c, enum net_class cls, const char *body) {
    c->cls = cls;
    strbuf_clear(&c->body);
    if (body)
        strbuf_adds(&c->body, body);
    if (cls != NET_OK)
        snprintf(c->detail, sizeof c->detail, "what the library said");
    mailbox_put(c->reply, c);
}

void bench_item(struct bench *b, struct call *c) {
    char body[200];
    snprintf(body, sizeof body,
             "{\"id\":%lld,\"type\":\"comment\",\"parent\":1,\"text\":\"hello\"}",
             (long long)c->id);
    bench_answer(b, c, NET_OK, body);
}

void bench_cancel(struct bench *b UNUSED, struct call *c) {
    c->cancelled = true;
    mailbox_put(c->reply, c);
}

struct job *bench_job(struct bench *b, size_t items, size_t exceptions) {
    struct job *j = queue_pop(&b->to_writer, 0);
    assert_non_null(j);
    assert_int_equal(j->letter, LETTER_JOB);
    assert_int_equal(j->kind, JOB_BATCH);
    assert_int_equal(j->batch->segment_id, 0);
    assert_int_equal(j->batch->lease_token, atomic_load(&b->token));
    assert_int_equal(j->batch->n_items, items);
    assert_int_equal(j->batch->n_exceptions, exceptions);
    for (size_t i = 0; i < items; i++)
        j->batch->items[i].ret_story = DB_NULL;
    return j;
}

void bench_no_job(struct bench *b) {
    assert_int_equal(queue_depth(&b->to_writer), 0);
}

void bench_written(struct bench *b UNUSED, struct job *j, enum verdict v) {
    j->verdict = v;
    if (v != V_OK)
        err_set(&j->err, v, "test", 0, "the writer said so");
    mailbox_put(j->reply, j);
}

int64_t bench_now_db(const struct bench *b) {
    return clock_mono(&b->clock) + DB_OFFSET;
}

size_t bench_waiting(struct bench *b) {
    return keyqueue_stats(b->ids).waiting;
}

size_t bench_taken(struct bench *b) {
    return keyqueue_stats(b->ids).taken;
}

int64_t bench_count(const struct bench *b, enum live_outcome o) {
    return metric_get(&m_live_outcomes, (int)o) - b->before[o];
}
