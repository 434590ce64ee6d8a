/* Several workers at once, each on its thread, with the machine's clock: nothing is lost, nothing
 * is fetched twice at once, and everyone is woken in time. The test's own thread is the writer. */
#include "worker.h"

#include <stdlib.h>

#define WORKERS 4
#define IDS 5000
#define FIRST_FAILS(id) ((id) % 1000 == 0)

struct crowd {
    struct bench b; /* its own worker stays idle */
    struct realtime *workers[WORKERS];
    pthread_t threads[WORKERS], service;
    _Atomic int ends[WORKERS];
    unsigned char asked[IDS + 1]; /* the service's */
};

struct seat {
    struct crowd *c;
    int i;
};

static void *work(void *arg) {
    const struct seat *seat = arg;
    struct err e;
    enum verdict v;
    do
        v = realtime_step(seat->c->workers[seat->i], 200, &e);
    while (v == V_OK);
    atomic_store(&seat->c->ends[seat->i], (int)v);
    return NULL;
}

static void *serve(void *arg) {
    struct crowd *c = arg;
    struct call *call;
    while ((call = queue_pop(&c->b.calls.queue, 10000)) != NULL) {
        bool fails = FIRST_FAILS(call->id) && c->asked[call->id] == 0;
        c->asked[call->id]++;
        if (fails)
            bench_answer(&c->b, call, NET_HTTP_5XX, NULL);
        else
            bench_item(&c->b, call);
    }
    return NULL;
}

static void write_all(struct crowd *c, int n, unsigned char *seen) {
    while (n > 0) {
        struct job *j = queue_pop(&c->b.to_writer, 10000);
        assert_non_null(j);
        assert_int_equal(j->batch->n_exceptions, 0);
        for (size_t i = 0; i < j->batch->n_items; i++, n--)
            seen[j->batch->items[i].item.id]++;
        bench_written(&c->b, j, V_OK);
    }
}

static void many_workers(void **state UNUSED) {
    struct crowd *c = calloc(1, sizeof *c);
    struct seat seats[WORKERS];
    static unsigned char seen[IDS + 1];
    bench_open(&c->b, &(struct bench_options){.cap = IDS});
    for (int i = 0; i < WORKERS; i++) {
        seats[i] = (struct seat){c, i};
        c->workers[i] = realtime_new(&(struct realtime_options){.clock = &clock_machine,
                                                                .ids = c->b.ids,
                                                                .calls = &c->b.calls,
                                                                .to_writer = &c->b.to_writer,
                                                                .tidings = &c->b.tidings,
                                                                .token = &c->b.token,
                                                                .window = 16,
                                                                .batch_size = 50,
                                                                .attempts = 3,
                                                                .stop = &c->b.stop});
        assert_int_equal(thread_start(&c->threads[i], "worker", work, &seats[i], &c->b.err), V_OK);
    }
    assert_int_equal(thread_start(&c->service, "service", serve, c, &c->b.err), V_OK);
    bench_name(&c->b, 1, IDS);
    write_all(c, IDS, seen);
    stop_raise(&c->b.stop);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(c->threads[i], NULL);
        assert_int_equal(atomic_load(&c->ends[i]), V_STOPPED);
        realtime_free(c->workers[i]);
    }
    queue_close(&c->b.calls.queue);
    pthread_join(c->service, NULL);
    for (int id = 1; id <= IDS; id++) {
        assert_int_equal(seen[id], 1);
        assert_int_equal(c->asked[id], FIRST_FAILS(id) ? 2 : 1);
    }
    assert_int_equal(bench_waiting(&c->b), 0);
    bench_close(&c->b);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_workers)};
    return cmocka_run_group_tests_name("mirror/realtime_threads", tests, NULL, NULL);
}
