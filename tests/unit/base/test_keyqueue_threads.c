/* The queue of keys between threads: wake-ups, and a stress in which no mention may be lost.
 * "Asleep" is read from /proc, so that no test waits on a timer for another thread to block. */
#include "base/keyqueue.h"

#include "base/rng.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LONG_MS 240000 /* never reached unless a wake-up is lost */

struct actor {
    pthread_t thread;
    struct keyqueue *q;
    _Atomic pid_t tid;
    size_t n;
    struct key_ticket got;
    int64_t woke_at;
    bool room;
};

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

static void *take_one(void *arg) {
    struct actor *a = arg;
    a->tid = gettid();
    a->n = keyqueue_take(a->q, &a->got, 1, LONG_MS);
    a->woke_at = clock_mono(&clock_machine);
    return NULL;
}

static void *wait_room(void *arg) {
    struct actor *a = arg;
    a->tid = gettid();
    a->room = keyqueue_wait_room(a->q, LONG_MS);
    return NULL;
}

static void start(struct actor *a, struct keyqueue *q, void *(*fn)(void *)) {
    *a = (struct actor){.q = q};
    assert_int_equal(pthread_create(&a->thread, NULL, fn, a), 0);
}

static struct keyqueue *new_queue(size_t cap, int64_t rest_ms) {
    struct keyqueue_options o = {.clock = &clock_machine, .cap = cap, .rest_ms = rest_ms};
    return keyqueue_new(&o);
}

static void offer(struct keyqueue *q, int64_t key, enum key_offer want) {
    assert_int_equal(keyqueue_offer(q, (struct key_ticket){.key = key}, false), want);
}

static void offers_wake_as_many_takers(void **state UNUSED) {
    struct keyqueue *q = new_queue(4, 0);
    struct actor takers[3];
    for (int i = 0; i < 3; i++)
        start(&takers[i], q, take_one);
    for (int i = 0; i < 3; i++)
        until_asleep(&takers[i]);
    for (int i = 0; i < 3; i++) /* all at once: the first one woken has to call the next */
        offer(q, 1 << i, KEY_ADDED);
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(takers[i].thread, NULL);
        assert_int_equal(takers[i].n, 1);
        sum += takers[i].got.key;
    }
    assert_int_equal(sum, 1 + 2 + 4);
    keyqueue_free(q);
}

/* Two sleep, two keys rest, and nobody offers anything: each must be taken when it is due. */
static void takers_wake_when_a_rest_ends(void **state UNUSED) {
    enum { REST_MS = 30 };
    struct keyqueue *q = new_queue(4, REST_MS);
    struct key_ticket t[2];
    struct actor takers[2];
    offer(q, 1, KEY_ADDED);
    offer(q, 2, KEY_ADDED);
    int64_t taken_at = clock_mono(&clock_machine);
    assert_int_equal(keyqueue_take(q, t, 2, 0), 2);
    for (int i = 0; i < 2; i++)
        offer(q, t[i].key, KEY_JOINED);
    for (int i = 0; i < 2; i++)
        start(&takers[i], q, take_one);
    for (int i = 0; i < 2; i++)
        until_asleep(&takers[i]); /* with nothing to watch for */
    for (int i = 0; i < 2; i++)
        keyqueue_done(q, t[i].key);
    for (int i = 0; i < 2; i++) {
        pthread_join(takers[i].thread, NULL);
        assert_int_equal(takers[i].n, 1);
        assert_true(takers[i].woke_at - taken_at >= REST_MS);
        assert_true(takers[i].woke_at - taken_at < LONG_MS / 2);
    }
    assert_int_equal(takers[0].got.key + takers[1].got.key, 3);
    keyqueue_free(q);
}

/* Takers asleep cannot hear a manual clock tick, but look at it often enough. */
static void a_manual_clock_ends_rests_too(void **state UNUSED) {
    struct clock c;
    clock_manual_init(&c, 0, 0);
    struct keyqueue_options o = {.clock = &c, .cap = 4, .rest_ms = 100};
    struct keyqueue *q = keyqueue_new(&o);
    struct key_ticket t;
    for (int key = 1; key <= 2; key++) {
        offer(q, key, KEY_ADDED);
        assert_int_equal(keyqueue_take(q, &t, 1, 0), 1);
        offer(q, key, KEY_JOINED);
        clock_advance(&c, 10);
    }
    keyqueue_done(q, 2);
    struct actor a, b;
    start(&a, q, take_one);
    until_asleep(&a);
    start(&b, q, take_one);
    until_asleep(&b);
    keyqueue_done(q, 1); /* due before the one that is watched for */
    clock_advance(&c, 100);
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    assert_int_equal(a.n + b.n, 2);
    assert_int_equal(a.got.key + b.got.key, 3);
    keyqueue_free(q);
}

static void room_wakes_a_producer(void **state UNUSED) {
    struct keyqueue *q = new_queue(1, 0);
    struct key_ticket t;
    struct actor producer;
    offer(q, 1, KEY_ADDED);
    start(&producer, q, wait_room);
    until_asleep(&producer);
    assert_int_equal(keyqueue_take(q, &t, 1, 0), 1);
    pthread_join(producer.thread, NULL);
    assert_true(producer.room);
    keyqueue_free(q);
}

static void closing_wakes_everyone(void **state UNUSED) {
    struct keyqueue *q = new_queue(1, LONG_MS);
    struct key_ticket t;
    struct actor producers[2], takers[2];
    offer(q, 1, KEY_ADDED);
    assert_int_equal(keyqueue_take(q, &t, 1, 0), 1);
    offer(q, 1, KEY_JOINED);
    keyqueue_done(q, 1); /* rests: full, and nothing to take */
    for (int i = 0; i < 2; i++) {
        start(&producers[i], q, wait_room);
        start(&takers[i], q, take_one);
    }
    for (int i = 0; i < 2; i++) {
        until_asleep(&producers[i]);
        until_asleep(&takers[i]);
    }
    keyqueue_close(q);
    for (int i = 0; i < 2; i++) {
        pthread_join(producers[i].thread, NULL);
        pthread_join(takers[i].thread, NULL);
        assert_false(producers[i].room);
        assert_int_equal(takers[i].n, 0);
    }
    keyqueue_free(q);
}

/* Stress: producers raise a key's version and offer it; takers note the version they see. In the
 * end each key's last version must have been seen. Takers finish, or give back now and then. */
enum { KEYS = 300, PRODUCERS = 3, TAKERS = 8, OFFERS = 6000, MANY = 16 };

struct stress {
    struct keyqueue *q;
    int64_t rest_ms; /* to be seen to; a small queue remembers too few keys for it */
    _Atomic int64_t version[KEYS], seen[KEYS], taken_at[KEYS];
    atomic_bool held[KEYS];
    _Atomic int64_t faults;
};

struct stress_actor {
    pthread_t thread;
    struct stress *s;
    uint64_t seed;
};

static void *produce(void *arg) {
    struct stress_actor *a = arg;
    struct stress *s = a->s;
    struct rng rng = {a->seed};
    for (int i = 0; i < OFFERS; i++) {
        int64_t key = (int64_t)rng_below(&rng, KEYS);
        s->version[key]++;
        bool extra = rng_below(&rng, 50) == 0;
        while (keyqueue_offer(s->q, (struct key_ticket){.key = key}, extra) == KEY_FULL)
            keyqueue_wait_room(s->q, LONG_MS);
    }
    return NULL;
}

/* `before` and `after` are when the take began and ended. */
static void work_on(struct stress *s, const struct key_ticket *t, int64_t before, int64_t after,
                    bool give_back) {
    int64_t key = t->key;
    if (atomic_exchange(&s->held[key], true))
        s->faults++; /* two takers of one key */
    if (s->taken_at[key] && after - s->taken_at[key] < s->rest_ms)
        s->faults++; /* too soon */
    s->taken_at[key] = give_back ? 0 : before;
    if (!give_back)
        s->seen[key] = s->version[key];
    s->held[key] = false;
    if (give_back)
        keyqueue_return(s->q, t);
    else
        keyqueue_done(s->q, key);
}

static void *consume(void *arg) {
    struct stress_actor *a = arg;
    struct stress *s = a->s;
    struct rng rng = {a->seed};
    struct key_ticket t[MANY];
    for (;;) {
        int64_t before = clock_mono(&clock_machine);
        size_t n = keyqueue_take(s->q, t, 1 + rng_below(&rng, MANY), LONG_MS);
        if (n == 0)
            return NULL; /* closed */
        int64_t after = clock_mono(&clock_machine);
        for (size_t i = 0; i < n; i++)
            work_on(s, &t[i], before, after, rng_below(&rng, 10) == 0);
    }
}

static void stress(size_t cap, int64_t rest_ms) {
    static struct stress s;
    s = (struct stress){.q = new_queue(cap, rest_ms), .rest_ms = cap >= KEYS ? rest_ms : 0};
    struct stress_actor producers[PRODUCERS], takers[TAKERS];
    for (int i = 0; i < TAKERS; i++) {
        takers[i] = (struct stress_actor){.s = &s, .seed = 100 + (uint64_t)i};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, consume, &takers[i]), 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct stress_actor){.s = &s, .seed = 1 + (uint64_t)i};
        assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
    }
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i].thread, NULL);
    int64_t deadline = clock_mono(&clock_machine) + LONG_MS / 2;
    struct keyqueue_stats st;
    do {
        sched_yield();
        st = keyqueue_stats(s.q);
    } while (st.waiting + st.taken > 0 && clock_mono(&clock_machine) < deadline);
    assert_int_equal(st.waiting + st.taken, 0);
    keyqueue_close(s.q);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(takers[i].thread, NULL);
    assert_int_equal(s.faults, 0);
    assert_int_equal(st.added + st.joined, PRODUCERS * OFFERS);
    for (int key = 0; key < KEYS; key++)
        if (s.seen[key] != s.version[key])
            fail_msg("key %d: said %lld times, heard %lld", key, (long long)s.version[key],
                     (long long)s.seen[key]);
    keyqueue_free(s.q);
}

static void no_mention_is_lost(void **state UNUSED) {
    static const struct {
        size_t cap;
        int64_t rest_ms;
    } cases[] = {{KEYS, 0}, {KEYS, 5}, {20, 0}, {20, 3}, {1, 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        stress(cases[i].cap, cases[i].rest_ms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers_wake_as_many_takers),
        cmocka_unit_test(takers_wake_when_a_rest_ends),
        cmocka_unit_test(a_manual_clock_ends_rests_too),
        cmocka_unit_test(room_wakes_a_producer),
        cmocka_unit_test(closing_wakes_everyone),
        cmocka_unit_test(no_mention_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
