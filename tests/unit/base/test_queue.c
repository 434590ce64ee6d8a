/* The queue, alone and between threads. "Asleep" is read from /proc, so that no test waits on a
 * timer for another thread to block. */
#include "base/queue.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LONG_MS 60000 /* never reached unless a wake-up is lost */

static int numbers[2000];

static void first_in_first_out(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 3);
    assert_null(queue_pop(&q, 0));
    for (int i = 0; i < 50; i++) { /* many times around the ring */
        assert_true(queue_push(&q, &numbers[2 * i]));
        assert_true(queue_push(&q, &numbers[2 * i + 1]));
        assert_int_equal(queue_depth(&q), 2);
        assert_ptr_equal(queue_pop(&q, 0), &numbers[2 * i]);
        assert_ptr_equal(queue_pop(&q, LONG_MS), &numbers[2 * i + 1]);
        assert_null(queue_pop(&q, 0));
    }
    queue_release(&q);
}

static void try_push_says_full(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 2);
    assert_true(queue_try_push(&q, &numbers[0]));
    assert_true(queue_try_push(&q, &numbers[1]));
    assert_false(queue_try_push(&q, &numbers[2]));
    assert_int_equal(queue_depth(&q), 2);
    assert_ptr_equal(queue_pop(&q, 0), &numbers[0]);
    assert_true(queue_try_push(&q, &numbers[2]));
    assert_ptr_equal(queue_pop(&q, 0), &numbers[1]);
    assert_ptr_equal(queue_pop(&q, 0), &numbers[2]);
    queue_release(&q);
}

static void closed_refuses_and_drains(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 4);
    assert_true(queue_push(&q, &numbers[0]));
    assert_true(queue_push(&q, &numbers[1]));
    queue_close(&q);
    assert_false(queue_push(&q, &numbers[2]));
    assert_false(queue_try_push(&q, &numbers[2]));
    assert_ptr_equal(queue_pop(&q, LONG_MS), &numbers[0]);
    assert_ptr_equal(queue_pop(&q, LONG_MS), &numbers[1]);
    assert_null(queue_pop(&q, LONG_MS)); /* at once, not after a minute */
    queue_close(&q);
    queue_release(&q);
}

static void odd_waits_return(void **state UNUSED) {
    static const int waits[] = {0, 1, -1, -1500};
    struct queue q;
    queue_init(&q, 1);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        assert_null(queue_pop(&q, waits[i]));
    queue_release(&q);
}

struct actor {
    pthread_t thread;
    struct queue *q;
    _Atomic pid_t tid;
    _Atomic int pushed;
    bool pushed_last;
    void *popped;
    int count;
};

/* Waits, without a timer, until the actor's thread sleeps in the kernel. */
static void until_asleep(struct actor *a) {
    char state = '?';
    while (state != 'S') {
        sched_yield();
        if (a->tid == 0)
            continue;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)a->tid);
        FILE *f = fopen(path, "re");
        if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = '?';
        if (f)
            fclose(f);
    }
}

static void *push_many(void *arg) {
    struct actor *a = arg;
    a->tid = gettid();
    for (int i = 0; i < a->count; i++) {
        a->pushed_last = queue_push(a->q, &numbers[i]);
        if (!a->pushed_last)
            break;
        a->pushed++;
    }
    return NULL;
}

static void *pop_one(void *arg) {
    struct actor *a = arg;
    a->tid = gettid();
    a->popped = queue_pop(a->q, LONG_MS);
    return NULL;
}

static void *pop_until_drained(void *arg) {
    struct actor *a = arg;
    while (queue_pop(a->q, LONG_MS))
        a->count++;
    return NULL;
}

static void start(struct actor *a, void *(*fn)(void *)) {
    assert_int_equal(pthread_create(&a->thread, NULL, fn, a), 0);
}

static void several_at_once(void **state UNUSED) {
    struct queue q;
    void *in[5], *out[8];
    for (int i = 0; i < 5; i++)
        in[i] = &numbers[i];
    queue_init(&q, 6);
    assert_int_equal(queue_push_many(&q, in, 0), 0);
    assert_int_equal(queue_pop_many(&q, out, 8, 1), 0);
    for (int round = 0; round < 9; round++) { /* around the ring */
        assert_int_equal(queue_push_many(&q, in, 5), 5);
        assert_int_equal(queue_pop_many(&q, out, 3, LONG_MS), 3);
        assert_int_equal(queue_pop_many(&q, out + 3, 5, LONG_MS), 2);
        for (int i = 0; i < 5; i++)
            assert_ptr_equal(out[i], &numbers[i]);
    }
    queue_close(&q);
    assert_int_equal(queue_push_many(&q, in, 5), 0);
    assert_int_equal(queue_pop_many(&q, out, 8, LONG_MS), 0);
    queue_release(&q);
}

static void *push_at_once(void *arg) {
    struct actor *a = arg;
    void *in[ARRAY_LEN(numbers)];
    for (int i = 0; i < a->count; i++)
        in[i] = &numbers[i];
    a->tid = gettid();
    a->pushed = (int)queue_push_many(a->q, in, (size_t)a->count);
    return NULL;
}

/* More than fits: the consumer that sleeps hears of the part that did, and makes room. */
static void several_at_once_wait_for_room(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 4);
    struct actor consumer = {.q = &q}, producer = {.q = &q, .count = (int)ARRAY_LEN(numbers)};
    start(&consumer, pop_until_drained);
    start(&producer, push_at_once);
    pthread_join(producer.thread, NULL);
    assert_int_equal(producer.pushed, producer.count);
    queue_close(&q);
    pthread_join(consumer.thread, NULL);
    assert_int_equal(consumer.count, producer.count);
    queue_release(&q);
}

static void closing_cuts_several_short(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 4);
    struct actor producer = {.q = &q, .count = 9};
    start(&producer, push_at_once);
    until_asleep(&producer);
    queue_close(&q);
    pthread_join(producer.thread, NULL);
    assert_int_equal(producer.pushed, 4);
    assert_int_equal(queue_depth(&q), 4);
    queue_release(&q);
}

static void a_full_queue_blocks_its_producer(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 4);
    struct actor producer = {.q = &q, .count = 5};
    start(&producer, push_many);
    until_asleep(&producer);
    assert_int_equal(producer.pushed, 4);
    assert_int_equal(queue_depth(&q), 4);
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(queue_pop(&q, LONG_MS), &numbers[i]);
    pthread_join(producer.thread, NULL);
    assert_int_equal(producer.pushed, 5);
    queue_release(&q);
}

static void nothing_is_lost_or_reordered(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 3);
    struct actor producer = {.q = &q, .count = (int)ARRAY_LEN(numbers)};
    start(&producer, push_many);
    for (int i = 0; i < producer.count; i++) {
        assert_ptr_equal(queue_pop(&q, LONG_MS), &numbers[i]);
        assert_true(producer.pushed <= i + 1 + 3); /* never further ahead than the queue is long */
    }
    pthread_join(producer.thread, NULL);
    assert_null(queue_pop(&q, 0));
    queue_release(&q);
}

static void closing_wakes_a_blocked_producer(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 1);
    struct actor producer = {.q = &q, .count = 2};
    start(&producer, push_many);
    until_asleep(&producer);
    queue_close(&q);
    pthread_join(producer.thread, NULL);
    assert_int_equal(producer.pushed, 1);
    assert_false(producer.pushed_last);
    assert_ptr_equal(queue_pop(&q, 0), &numbers[0]); /* what was in it is still there */
    queue_release(&q);
}

static void closing_wakes_every_waiting_consumer(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 1);
    struct actor consumers[3] = {{.q = &q}, {.q = &q}, {.q = &q}};
    for (size_t i = 0; i < ARRAY_LEN(consumers); i++)
        start(&consumers[i], pop_one);
    for (size_t i = 0; i < ARRAY_LEN(consumers); i++)
        until_asleep(&consumers[i]);
    queue_close(&q);
    for (size_t i = 0; i < ARRAY_LEN(consumers); i++) {
        pthread_join(consumers[i].thread, NULL);
        assert_null(consumers[i].popped);
    }
    queue_release(&q);
}

static void a_push_wakes_a_waiting_consumer(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 1);
    struct actor consumer = {.q = &q};
    start(&consumer, pop_one);
    until_asleep(&consumer);
    assert_true(queue_try_push(&q, &numbers[7]));
    pthread_join(consumer.thread, NULL);
    assert_ptr_equal(consumer.popped, &numbers[7]);
    queue_release(&q);
}

static void many_producers_and_consumers(void **state UNUSED) {
    struct queue q;
    queue_init(&q, 5);
    struct actor producers[3] = {
        {.q = &q, .count = 1000}, {.q = &q, .count = 1000}, {.q = &q, .count = 1000}};
    struct actor consumers[3] = {{.q = &q}, {.q = &q}, {.q = &q}};
    for (int i = 0; i < 3; i++) {
        start(&consumers[i], pop_until_drained);
        start(&producers[i], push_many);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(producers[i].thread, NULL);
    queue_close(&q);
    int popped = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(consumers[i].thread, NULL);
        popped += consumers[i].count;
    }
    assert_int_equal(popped, 3000);
    queue_release(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_first_out),
        cmocka_unit_test(try_push_says_full),
        cmocka_unit_test(closed_refuses_and_drains),
        cmocka_unit_test(odd_waits_return),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(several_at_once_wait_for_room),
        cmocka_unit_test(closing_cuts_several_short),
        cmocka_unit_test(a_full_queue_blocks_its_producer),
        cmocka_unit_test(nothing_is_lost_or_reordered),
        cmocka_unit_test(closing_wakes_a_blocked_producer),
        cmocka_unit_test(closing_wakes_every_waiting_consumer),
        cmocka_unit_test(a_push_wakes_a_waiting_consumer),
        cmocka_unit_test(many_producers_and_consumers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
