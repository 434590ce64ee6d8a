/* Crews of workers that do in each step what the test tells them, with a manual clock. */
#include "base/crew.h"

#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX 4
#define MINUTE 60000

struct worker {
    int index;
    sem_t orders;
    _Atomic enum verdict order; /* what the next step answers */
    _Atomic int made, unmade, deaths, entered, steps;
    _Atomic enum verdict make; /* what making it answers */
    bool mute;                 /* it dies without a word */
    char thread_name[16];
};

static struct worker workers[MAX];
static struct clock now;
static int told[MAX]; /* deaths by index */
static char last_words[480];

static enum verdict make(void *arg, int index, void **ret_worker, struct err *e) {
    struct worker *w = (struct worker *)arg + index;
    if (w->make != V_OK)
        return err_set(e, w->make, "test", 0, "worker %d is not to be", index);
    w->made++;
    *ret_worker = w;
    return V_OK;
}

static enum verdict step(void *worker, struct err *e) {
    struct worker *w = worker;
    w->entered++;
    while (sem_wait(&w->orders) != 0)
        ;
    w->steps++;
    pthread_getname_np(pthread_self(), w->thread_name, sizeof w->thread_name);
    if (w->order != V_OK && w->order != V_STOPPED && !w->mute)
        return err_set(e, w->order, "test", 7, "worker %d was told to die", w->index);
    return w->order;
}

static void unmake(void *worker, bool died) {
    struct worker *w = worker;
    w->unmade++;
    w->deaths += died;
}

static struct crew_kind kind(int n) {
    return (struct crew_kind){
        .name = "hand",
        .n = n,
        .make = make,
        .step = step,
        .unmake = unmake,
        .arg = workers,
        .restart = true,
        .delay_ms = 100,
        .max_delay_ms = 1000,
        .budget = 100,
        .budget_ms = MINUTE,
        .clock = &now,
    };
}

static int setup(void **state UNUSED) {
    clock_manual_init(&now, 5000, 0);
    memset(told, 0, sizeof told);
    memset(last_words, 0, sizeof last_words);
    for (int i = 0; i < MAX; i++) {
        memset(&workers[i], 0, sizeof workers[i]);
        workers[i].index = i;
        sem_init(&workers[i].orders, 0, 0);
    }
    return 0;
}

static int teardown(void **state UNUSED) {
    for (int i = 0; i < MAX; i++)
        sem_destroy(&workers[i].orders);
    return 0;
}

static struct crew *start(const struct crew_kind *k) {
    struct crew *c = NULL;
    struct err e;
    assert_int_equal(crew_start(k, &c, &e), V_OK);
    return c;
}

/* Another thread gets there soon, or never. */
#define UNTIL(condition)                                                      \
    do {                                                                      \
        int64_t deadline_ = clock_mono(&clock_machine) + 120000;              \
        while (!(condition)) {                                                \
            if (clock_mono(&clock_machine) > deadline_)                       \
                fail_msg("line %d: " #condition " did not happen", __LINE__); \
            sched_yield();                                                    \
        }                                                                     \
    } while (0)

static void order(int index, enum verdict v) {
    workers[index].order = v;
    sem_post(&workers[index].orders);
}

static void order_end(struct crew *c, int index, enum verdict v) {
    int alive = crew_alive(c);
    order(index, v);
    UNTIL(crew_alive(c) == alive - 1);
}

static void on_death(void *arg, int index, const struct err *e) {
    assert_ptr_equal(arg, told);
    told[index]++;
    memcpy(last_words, e->msg, sizeof last_words);
}

static enum crew_state tend(struct crew *c) {
    return crew_tend(c, on_death, told);
}

static void stop(struct crew *c, int n) {
    for (int i = 0; i < n; i++)
        order(i, V_STOPPED);
    crew_join(c);
    crew_free(c);
}

static void all_finish(void **state UNUSED) {
    struct crew_kind k = kind(3);
    struct crew *c = start(&k);
    assert_int_equal(crew_alive(c), 3);
    assert_int_equal(tend(c), CREW_WORKING);
    for (int i = 0; i < 3; i++)
        order(i, V_OK);
    for (int i = 0; i < 3; i++)
        UNTIL(workers[i].steps == 1);
    order_end(c, 1, V_STOPPED);
    assert_int_equal(tend(c), CREW_WORKING);
    order_end(c, 0, V_STOPPED);
    order_end(c, 2, V_STOPPED);
    assert_int_equal(tend(c), CREW_FINISHED);
    clock_advance(&now, 10 * MINUTE);
    assert_int_equal(tend(c), CREW_FINISHED); /* nobody comes back */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(workers[i].made, 1);
        assert_int_equal(workers[i].unmade, 1);
        assert_int_equal(workers[i].deaths, 0);
        assert_int_equal(told[i], 0);
    }
    assert_string_equal(workers[2].thread_name, "hand-2");
    assert_int_equal(crew_restarts(c), 0);
    crew_join(c);
    crew_free(c);
    crew_free(NULL);
}

static void the_dead_come_back_after_a_delay(void **state UNUSED) {
    struct crew_kind k = kind(2);
    struct crew *c = start(&k);
    order_end(c, 1, V_FATAL);
    assert_int_equal(tend(c), CREW_WORKING);
    assert_int_equal(told[1], 1);
    assert_string_equal(last_words, "worker 1 was told to die");
    assert_string_equal(crew_error(c)->msg, "worker 1 was told to die");
    assert_int_equal(crew_error(c)->code, 7);
    assert_int_equal(workers[1].deaths, 1);
    clock_advance(&now, 99);
    assert_int_equal(tend(c), CREW_WORKING);
    assert_int_equal(crew_alive(c), 1);
    assert_int_equal(crew_restarts(c), 0);
    clock_advance(&now, 1);
    assert_int_equal(tend(c), CREW_WORKING);
    assert_int_equal(crew_alive(c), 2);
    assert_int_equal(crew_restarts(c), 1);
    assert_int_equal(told[1], 1); /* once */
    order(1, V_OK);
    UNTIL(workers[1].steps == 2);
    assert_int_equal(workers[1].made, 2);
    stop(c, 2);
}

/* Kills worker 1 and answers after how many milliseconds it lives again; at most 5000. */
static int64_t delay_after_death(struct crew *c) {
    order_end(c, 1, V_RETRY);
    int64_t from = clock_mono(&now);
    while (tend(c) == CREW_WORKING && crew_alive(c) < 2 && clock_mono(&now) - from < 5000)
        clock_advance(&now, 10);
    return clock_mono(&now) - from;
}

static void delays_grow_and_are_reset(void **state UNUSED) {
    struct crew_kind k = kind(2);
    struct crew *c = start(&k);
    static const int64_t want[] = {100, 200, 400, 800, 1000, 1000};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_int_equal(delay_after_death(c), want[i]);
    clock_advance(&now, MINUTE); /* a good life */
    assert_int_equal(delay_after_death(c), 100);
    clock_advance(&now, MINUTE - 1);
    assert_int_equal(delay_after_death(c), 200);
    assert_int_equal(crew_restarts(c), 8);
    stop(c, 2);
}

static void who_dies_too_often_stays_dead(void **state UNUSED) {
    struct crew_kind k = kind(2);
    k.budget = 3;
    k.delay_ms = k.max_delay_ms = 100;
    struct crew *c = start(&k);
    for (int i = 0; i < 3; i++)
        assert_int_equal(delay_after_death(c), 100);
    assert_int_equal(delay_after_death(c), 5000);
    clock_advance(&now, 10 * MINUTE);
    assert_int_equal(tend(c), CREW_WORKING); /* with one hand less, for good */
    assert_int_equal(crew_alive(c), 1);
    assert_int_equal(crew_restarts(c), 3);
    assert_int_equal(told[1], 4);
    order_end(c, 0, V_RETRY);
    assert_int_equal(tend(c), CREW_DEAD);
    crew_join(c);
    crew_free(c);
}

/* Three restarts a minute, on and on, and then one that comes 10 ms early. */
static void a_budget_refills(void **state UNUSED) {
    struct crew_kind k = kind(2);
    k.budget = 3;
    k.delay_ms = k.max_delay_ms = 100;
    struct crew *c = start(&k);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(delay_after_death(c), 100);
        clock_advance(&now, MINUTE / 3 - 100 - (i == 8 ? 10 : 0));
    }
    assert_int_equal(delay_after_death(c), 5000);
    assert_int_equal(crew_restarts(c), 9);
    order(0, V_STOPPED);
    crew_join(c);
    crew_free(c);
}

static void no_budget_at_all(void **state UNUSED) {
    struct crew_kind k = kind(2);
    k.budget = 0;
    struct crew *c = start(&k);
    assert_int_equal(delay_after_death(c), 5000);
    order(0, V_STOPPED);
    crew_join(c);
    crew_free(c);
}

static void without_restart_one_death_is_the_end(void **state UNUSED) {
    struct crew_kind k = kind(3);
    k.restart = false;
    struct crew *c = start(&k);
    order_end(c, 0, V_STOPPED);
    assert_int_equal(tend(c), CREW_WORKING);
    order_end(c, 1, V_CONFLICT);
    assert_int_equal(tend(c), CREW_DEAD);
    assert_int_equal(crew_alive(c), 1);
    clock_advance(&now, 10 * MINUTE);
    assert_int_equal(tend(c), CREW_DEAD);
    order_end(c, 2, V_STOPPED);
    assert_int_equal(tend(c), CREW_DEAD);
    assert_int_equal(told[1], 1);
    assert_int_equal(crew_restarts(c), 0);
    crew_join(c);
    crew_free(c);
}

static void none_alive_is_the_end(void **state UNUSED) {
    struct crew_kind k = kind(2);
    struct crew *c = start(&k);
    order_end(c, 0, V_FATAL);
    assert_int_equal(tend(c), CREW_WORKING);
    clock_advance(&now, 50);
    order_end(c, 1, V_FATAL);
    assert_int_equal(tend(c), CREW_DEAD);
    clock_advance(&now, MINUTE);
    assert_int_equal(tend(c), CREW_DEAD); /* and stays so, though a restart would be due */
    assert_int_equal(crew_alive(c), 0);
    assert_int_equal(crew_restarts(c), 0);
    crew_join(c);
    crew_free(c);
}

static void a_restart_that_is_due_saves_the_crew(void **state UNUSED) {
    struct crew_kind k = kind(2);
    struct crew *c = start(&k);
    order_end(c, 0, V_FATAL);
    assert_int_equal(tend(c), CREW_WORKING);
    clock_advance(&now, 100);
    order_end(c, 1, V_FATAL);
    assert_int_equal(tend(c), CREW_WORKING);
    clock_advance(&now, 100);
    assert_int_equal(tend(c), CREW_WORKING);
    assert_int_equal(crew_alive(c), 2);
    assert_int_equal(told[0] + told[1], 2);
    stop(c, 2);
}

static void some_finished_and_some_died(void **state UNUSED) {
    struct crew_kind k = kind(2);
    struct crew *c = start(&k);
    order_end(c, 0, V_STOPPED);
    order_end(c, 1, V_LIMIT);
    assert_int_equal(tend(c), CREW_DEAD);
    crew_join(c);
    crew_free(c);
}

static void who_cannot_be_made_has_died(void **state UNUSED) {
    struct crew_kind k = kind(3);
    workers[1].make = V_RETRY;
    workers[2].make = V_STOPPED;
    struct crew *c = start(&k);
    UNTIL(crew_alive(c) == 1);
    assert_int_equal(tend(c), CREW_WORKING);
    assert_int_equal(told[1], 1);
    assert_int_equal(told[2], 0); /* finished before it began */
    assert_string_equal(last_words, "worker 1 is not to be");
    assert_int_equal(workers[1].unmade, 0);
    assert_int_equal(workers[2].unmade, 0);
    workers[1].make = V_OK;
    clock_advance(&now, 100);
    assert_int_equal(tend(c), CREW_WORKING);
    UNTIL(workers[1].made == 1);
    assert_int_equal(crew_alive(c), 2);
    stop(c, 2);
}

static void a_death_without_a_word_gets_one(void **state UNUSED) {
    struct crew_kind k = kind(2);
    workers[1].mute = true;
    struct crew *c = start(&k);
    order_end(c, 1, V_NOT_FOUND);
    assert_int_equal(crew_tend(c, NULL, NULL), CREW_WORKING);
    assert_non_null(strstr(crew_error(c)->msg, "hand-1"));
    assert_non_null(strstr(crew_error(c)->msg, verdict_name(V_NOT_FOUND)));
    stop(c, 2);
}

static void silence(void **state UNUSED) {
    struct crew_kind k = kind(2);
    struct crew *c = start(&k);
    for (int i = 0; i < 2; i++)
        UNTIL(workers[i].entered == 1);
    clock_advance(&now, 700);
    assert_int_equal(crew_silence_ms(c), 700);
    order(0, V_OK);
    UNTIL(workers[0].entered == 2);
    clock_advance(&now, 300);
    assert_int_equal(crew_silence_ms(c), 1000); /* worker 1 has not been heard of */
    order(1, V_OK);
    UNTIL(workers[1].entered == 2);
    assert_int_equal(crew_silence_ms(c), 300); /* now it is worker 0 */
    order_end(c, 0, V_FATAL);
    assert_int_equal(crew_silence_ms(c), 0); /* the dead do not count */
    assert_int_equal(tend(c), CREW_WORKING);
    clock_advance(&now, 100);
    assert_int_equal(tend(c), CREW_WORKING); /* a new life begins with a beat */
    assert_int_equal(crew_silence_ms(c), 100);
    stop(c, 2);
}

static void after_the_join_nothing_is_restarted(void **state UNUSED) {
    struct crew_kind k = kind(3);
    struct crew *c = start(&k);
    order_end(c, 0, V_FATAL);
    assert_int_equal(tend(c), CREW_WORKING);
    order(1, V_STOPPED);
    order(2, V_FATAL);
    crew_join(c);
    assert_int_equal(crew_alive(c), 0);
    clock_advance(&now, MINUTE);
    assert_int_equal(tend(c), CREW_DEAD);
    assert_int_equal(told[0], 1);
    assert_int_equal(told[1], 0);
    assert_int_equal(told[2], 1);
    assert_int_equal(crew_restarts(c), 0);
    crew_join(c);
    crew_free(c);
}

static void wrong_kinds_are_refused(void **state UNUSED) {
    static const int wrong[] = {0, -1, CREW_MAX + 1};
    struct crew *c = NULL;
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct crew_kind k = kind(wrong[i]);
        assert_int_equal(crew_start(&k, &c, &e), V_INVALID);
    }
    struct crew_kind k = kind(1);
    k.budget = -1;
    assert_int_equal(crew_start(&k, &c, &e), V_INVALID);
    assert_null(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(all_finish),
        TEST(the_dead_come_back_after_a_delay),
        TEST(delays_grow_and_are_reset),
        TEST(who_dies_too_often_stays_dead),
        TEST(a_budget_refills),
        TEST(no_budget_at_all),
        TEST(without_restart_one_death_is_the_end),
        TEST(none_alive_is_the_end),
        TEST(a_restart_that_is_due_saves_the_crew),
        TEST(some_finished_and_some_died),
        TEST(who_cannot_be_made_has_died),
        TEST(a_death_without_a_word_gets_one),
        TEST(silence),
        TEST(after_the_join_nothing_is_restarted),
        TEST(wrong_kinds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
