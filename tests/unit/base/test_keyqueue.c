/* The queue of keys on one thread, with a manual clock. */
#include "base/keyqueue.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define REST 500
#define CAP 4
#define T0 1000

static struct clock now;
static struct keyqueue *q;

static int setup(void **state UNUSED) {
    clock_manual_init(&now, T0, 0);
    q = keyqueue_new(&(struct keyqueue_options){.clock = &now, .cap = CAP, .rest_ms = REST});
    return 0;
}

static int teardown(void **state UNUSED) {
    keyqueue_free(q);
    return 0;
}

static enum key_offer offer(int64_t key) {
    return keyqueue_offer(q, (struct key_ticket){.key = key}, false);
}

static struct key_ticket take(void) {
    struct key_ticket t = {.key = -1};
    keyqueue_take(q, &t, 1, 0);
    return t;
}

/* The queue gives out these keys now, in this order, and no more; all stay taken. */
static void assert_takes(const int64_t *keys, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_int_equal(take().key, keys[i]);
    assert_int_equal(take().key, -1);
}
#define TAKES(...) \
    assert_takes((const int64_t[]){__VA_ARGS__}, ARRAY_LEN(((const int64_t[]){__VA_ARGS__})))
#define TAKES_NOTHING() assert_int_equal(take().key, -1)

static void first_in_first_out(void **state UNUSED) {
    TAKES_NOTHING();
    assert_int_equal(offer(30), KEY_ADDED);
    assert_int_equal(offer(10), KEY_ADDED);
    assert_int_equal(offer(-5), KEY_ADDED);
    assert_int_equal(offer(0), KEY_ADDED);
    TAKES(30, 10, -5, 0);
}

static void several_at_once(void **state UNUSED) {
    struct key_ticket t[3];
    for (int i = 1; i <= 4; i++)
        offer(i);
    assert_int_equal(keyqueue_take(q, t, 0, 0), 0);
    assert_int_equal(keyqueue_take(q, t, 0, 1000), 0); /* at once */
    assert_int_equal(keyqueue_take(q, t, 3, 0), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t[i].key, i + 1);
    assert_int_equal(keyqueue_take(q, t, 3, 1000), 1); /* does not wait for three */
    assert_int_equal(t[0].key, 4);
}

static void odd_waits_return(void **state UNUSED) {
    static const int waits[] = {0, 1, -1, -1500};
    struct key_ticket t;
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        assert_int_equal(keyqueue_take(q, &t, 1, waits[i]), 0);
    for (int i = 0; i < CAP; i++)
        offer(i);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        assert_false(keyqueue_wait_room(q, waits[i]));
}

static void named_twice_is_taken_once(void **state UNUSED) {
    assert_int_equal(offer(1), KEY_ADDED);
    assert_int_equal(offer(2), KEY_ADDED);
    assert_int_equal(offer(1), KEY_JOINED);
    TAKES(1, 2); /* and it keeps its place */
    struct keyqueue_stats s = keyqueue_stats(q);
    assert_int_equal(s.added, 2);
    assert_int_equal(s.joined, 1);
    assert_int_equal(s.taken, 2);
    assert_int_equal(s.waiting, 0);
}

static void named_again_is_merged(void **state UNUSED) {
    static const struct {
        uint32_t level[2], flags[2], want_level, want_flags;
    } cases[] = {
        {{0, 0}, {0, 0}, 0, 0}, {{3, 1}, {1, 2}, 1, 3}, {{1, 3}, {1, 2}, 1, 3},
        {{5, 5}, {4, 0}, 5, 4}, {{0, 7}, {0, 8}, 0, 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t key = (int64_t)i, first = clock_mono(&now);
        for (int k = 0; k < 2; k++) {
            struct key_ticket t = {key, cases[i].level[k], cases[i].flags[k], -77};
            keyqueue_offer(q, t, false);
            clock_advance(&now, 3);
        }
        struct key_ticket got = take();
        assert_int_equal(got.key, key);
        assert_int_equal(got.level, cases[i].want_level);
        assert_int_equal(got.flags, cases[i].want_flags);
        assert_int_equal(got.since, first); /* the earlier one; the offer's own word is not taken */
    }
}

static void named_while_taken_comes_again(void **state UNUSED) {
    keyqueue_offer(q, (struct key_ticket){.key = 1, .flags = 1}, false);
    assert_int_equal(take().key, 1);
    clock_advance(&now, 100);
    assert_int_equal(keyqueue_offer(q, (struct key_ticket){1, 4, 2, 0}, false), KEY_JOINED);
    clock_advance(&now, 100);
    assert_int_equal(keyqueue_offer(q, (struct key_ticket){1, 6, 8, 0}, false), KEY_JOINED);
    clock_advance(&now, REST);
    TAKES_NOTHING(); /* however long it takes: never two takers of one key */
    assert_int_equal(keyqueue_stats(q).waiting, 0);
    keyqueue_done(q, 1);
    struct key_ticket t = take();
    assert_int_equal(t.key, 1);
    assert_int_equal(t.flags, 2 | 8); /* not those of the round before */
    assert_int_equal(t.level, 4);
    assert_int_equal(t.since, T0 + 100);
    keyqueue_done(q, 1);
    clock_advance(&now, 10 * REST);
    TAKES_NOTHING();
}

static void a_key_rests_after_it_was_taken(void **state UNUSED) {
    offer(1);
    assert_int_equal(take().key, 1);
    offer(1);
    clock_advance(&now, 100);
    keyqueue_done(q, 1); /* its rest counts from the take */
    assert_int_equal(keyqueue_stats(q).waiting, 1);
    assert_int_equal(offer(1), KEY_JOINED);
    clock_advance(&now, REST - 101);
    TAKES_NOTHING();
    clock_advance(&now, 1);
    assert_int_equal(take().key, 1);
}

static void a_finished_key_cools(void **state UNUSED) {
    offer(1);
    assert_int_equal(take().key, 1);
    clock_advance(&now, 100);
    keyqueue_done(q, 1);
    clock_advance(&now, 100);
    assert_int_equal(offer(1), KEY_ADDED);
    assert_int_equal(keyqueue_stats(q).waiting, 1);
    clock_advance(&now, REST - 201);
    TAKES_NOTHING();
    clock_advance(&now, 1);
    struct key_ticket t = take();
    assert_int_equal(t.key, 1);
    assert_int_equal(t.since, T0 + 200);
    clock_advance(&now, REST);
    keyqueue_done(q, 1);
    assert_int_equal(offer(1), KEY_ADDED); /* long enough ago */
    assert_int_equal(take().key, 1);
}

/* Taken 1, 2, 3 in turn, finished and named in another order. */
static void resting_keys_come_in_order_of_their_takes(void **state UNUSED) {
    for (int i = 1; i <= 3; i++) {
        offer(i);
        assert_int_equal(take().key, i);
        clock_advance(&now, 10);
    }
    offer(3);
    offer(2);
    keyqueue_done(q, 3);
    keyqueue_done(q, 1);
    keyqueue_done(q, 2);
    offer(1);
    offer(9);
    TAKES(9);
    clock_advance(&now, REST - 30);
    TAKES(1);
    clock_advance(&now, 10);
    TAKES(2);
    clock_advance(&now, 10);
    TAKES(3);
}

/* Became ready at 500, before the other was offered, though nobody looked in between. */
static void a_rested_key_comes_before_later_offers(void **state UNUSED) {
    offer(1);
    assert_int_equal(take().key, 1);
    offer(1);
    keyqueue_done(q, 1);
    clock_advance(&now, REST + 100);
    offer(2);
    TAKES(1, 2);
}

static void full_refuses_and_counts(void **state UNUSED) {
    for (int i = 0; i < CAP; i++)
        assert_int_equal(offer(i), KEY_ADDED);
    assert_false(keyqueue_wait_room(q, 0));
    assert_int_equal(offer(100), KEY_FULL);
    assert_int_equal(offer(100), KEY_FULL);
    assert_int_equal(offer(0), KEY_JOINED); /* needs no room */
    for (int i = CAP; i < 2 * CAP; i++)
        assert_int_equal(keyqueue_offer(q, (struct key_ticket){.key = i}, true), KEY_ADDED);
    assert_int_equal(keyqueue_offer(q, (struct key_ticket){.key = 100}, true), KEY_FULL);
    struct keyqueue_stats s = keyqueue_stats(q);
    assert_int_equal(s.refused, 3);
    assert_int_equal(s.waiting, 2 * CAP);

    for (int i = 0; i < CAP; i++) {
        assert_int_equal(take().key, i);
        assert_false(keyqueue_wait_room(q, 0));
        assert_int_equal(offer(100), KEY_FULL);
    }
    assert_int_equal(offer(1), KEY_JOINED); /* taken: it comes again, room or not */
    assert_int_equal(take().key, CAP);
    assert_true(keyqueue_wait_room(q, 0));
    assert_int_equal(offer(100), KEY_ADDED);
}

static void full_of_resting_keys(void **state UNUSED) {
    for (int i = 0; i <= CAP; i++) { /* one more, which only cools */
        offer(i);
        assert_int_equal(take().key, i);
    }
    for (int i = 0; i <= CAP; i++)
        keyqueue_done(q, i);
    for (int i = 0; i < CAP; i++)
        assert_int_equal(offer(i), KEY_ADDED);
    assert_int_equal(offer(CAP), KEY_FULL);
    assert_false(keyqueue_wait_room(q, 0));
    clock_advance(&now, REST);
    struct key_ticket t[CAP + 1];
    assert_int_equal(keyqueue_take(q, t, CAP + 1, 0), CAP); /* all at once */
    for (int i = 0; i < CAP; i++)
        assert_int_equal(t[i].key, i);
    assert_int_equal(offer(CAP), KEY_ADDED);
}

/* What is finished is remembered for a while, but not without limit. */
static void cooling_is_bounded(void **state UNUSED) {
    enum { N = 10 * CAP };
    for (int i = 0; i < N; i++) {
        offer(i);
        assert_int_equal(take().key, i);
        keyqueue_done(q, i);
    }
    offer(0); /* forgotten: no rest */
    TAKES(0);
    offer(N - 1); /* remembered */
    TAKES_NOTHING();
    clock_advance(&now, REST);
    TAKES(N - 1);
}

static void returned_is_ready_at_once(void **state UNUSED) {
    for (int i = 0; i < CAP; i++)
        offer(i);
    struct key_ticket t = take();
    assert_int_equal(offer(100), KEY_ADDED); /* full again */
    t.level++;
    clock_advance(&now, 50);
    keyqueue_return(q, &t);
    assert_int_equal(keyqueue_stats(q).waiting, CAP + 1);
    assert_int_equal(keyqueue_stats(q).oldest, T0);
    assert_int_equal(offer(100), KEY_JOINED);
    for (int i = 1; i < CAP; i++)
        assert_int_equal(take().key, i);
    assert_int_equal(take().key, 100);
    t = take();
    assert_int_equal(t.key, 0);
    assert_int_equal(t.level, 1); /* as it was given back */
    assert_int_equal(t.since, T0);
}

static void returned_and_named_meanwhile(void **state UNUSED) {
    keyqueue_offer(q, (struct key_ticket){1, 2, 1, 0}, false);
    struct key_ticket t = take();
    clock_advance(&now, 10);
    keyqueue_offer(q, (struct key_ticket){1, 0, 4, 0}, false);
    t.level = 3;
    keyqueue_return(q, &t);
    t = take();
    assert_int_equal(t.key, 1);
    assert_int_equal(t.level, 0);
    assert_int_equal(t.flags, 5);
    assert_int_equal(t.since, T0);
    keyqueue_done(q, 1); /* one return answers both */
    clock_advance(&now, 10 * REST);
    TAKES_NOTHING();
}

static void oldest(void **state UNUSED) {
    assert_int_equal(keyqueue_stats(q).oldest, -1);
    offer(1);
    clock_advance(&now, 10);
    offer(2);
    assert_int_equal(keyqueue_stats(q).oldest, T0);
    assert_int_equal(take().key, 1);
    assert_int_equal(keyqueue_stats(q).oldest, T0 + 10);
    offer(1);
    keyqueue_done(q, 1);
    clock_advance(&now, 10);
    assert_int_equal(take().key, 2);
    offer(3);
    assert_int_equal(keyqueue_stats(q).oldest, T0 + 10); /* a resting one waits too */
    clock_advance(&now, REST);
    TAKES(3, 1);
    assert_int_equal(keyqueue_stats(q).oldest, -1);
}

/* Ready, resting, taken, taken and named again: what is drained is what nobody has. */
static void closed_and_drained(void **state UNUSED) {
    for (int i = 1; i <= 4; i++)
        offer(i);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(take().key, i);
    offer(1);
    keyqueue_done(q, 1); /* rests */
    offer(2);
    keyqueue_offer(q, (struct key_ticket){.key = 3, .flags = 8}, false);
    offer(5);
    struct key_ticket t[2];
    assert_int_equal(keyqueue_drain(q, t, 2), 0); /* not before the close */
    keyqueue_close(q);
    assert_int_equal(offer(6), KEY_CLOSED);
    assert_int_equal(offer(5), KEY_CLOSED);
    assert_false(keyqueue_wait_room(q, 1000));
    assert_int_equal(keyqueue_take(q, t, 2, 1000), 0);
    keyqueue_done(q, 2); /* named again: rests, and is drained all the same */

    assert_int_equal(keyqueue_drain(q, t, 2), 2);
    assert_int_equal(t[0].key, 5);
    assert_int_equal(t[1].key, 1);
    assert_int_equal(keyqueue_drain(q, t, 2), 2);
    assert_int_equal(t[0].key, 2);
    assert_int_equal(t[1].key, 3);
    assert_int_equal(t[1].flags, 8);
    assert_int_equal(keyqueue_drain(q, t, 2), 0);

    keyqueue_done(q, 3); /* its second naming is written down: nothing is left of it */
    keyqueue_return(q, &(struct key_ticket){.key = 4, .level = 2});
    assert_int_equal(keyqueue_drain(q, t, 2), 1);
    assert_int_equal(t[0].key, 4);
    assert_int_equal(t[0].level, 2);
    struct keyqueue_stats s = keyqueue_stats(q);
    assert_int_equal(s.waiting, 0);
    assert_int_equal(s.taken, 0);
    assert_int_equal(s.oldest, -1);
}

/* A million namings of a thousand keys within five seconds: each is taken at most once per rest,
 * and nothing that was said after the last take of a key stays unheard. */
static void hot_keys(void **state UNUSED) {
    enum { KEYS = 1000, MS = 5000, PER_MS = 200, BATCH = 64 };
    static int64_t said[KEYS], heard[KEYS], taken_at[KEYS];
    struct clock c;
    clock_manual_init(&c, 0, 0);
    struct keyqueue_options o = {.clock = &c, .cap = KEYS, .rest_ms = REST};
    struct keyqueue *hot = keyqueue_new(&o);
    struct rng rng = {7};
    struct key_ticket t[BATCH];
    int64_t takes = 0;
    for (int ms = 0; ms < MS + 2 * REST; ms++) {
        for (int i = 0; ms < MS && i < PER_MS; i++) {
            int64_t key = (int64_t)rng_below(&rng, KEYS);
            said[key]++;
            enum key_offer r = keyqueue_offer(hot, (struct key_ticket){.key = key}, false);
            assert_true(r == KEY_ADDED || r == KEY_JOINED);
        }
        size_t n = keyqueue_take(hot, t, BATCH, 0);
        for (size_t i = 0; i < n; i++) {
            int64_t key = t[i].key;
            assert_true(heard[key] == 0 || ms - taken_at[key] >= REST);
            taken_at[key] = ms;
            heard[key] = said[key];
            keyqueue_done(hot, key);
        }
        takes += (int64_t)n;
        clock_advance(&c, 1);
    }
    assert_memory_equal(said, heard, sizeof said);
    assert_true(takes <= KEYS * (MS / REST + 2));
    assert_int_equal(keyqueue_stats(hot).waiting, 0);
    keyqueue_free(hot);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(first_in_first_out),
        TEST(several_at_once),
        TEST(odd_waits_return),
        TEST(named_twice_is_taken_once),
        TEST(named_again_is_merged),
        TEST(named_while_taken_comes_again),
        TEST(a_key_rests_after_it_was_taken),
        TEST(a_finished_key_cools),
        TEST(resting_keys_come_in_order_of_their_takes),
        TEST(a_rested_key_comes_before_later_offers),
        TEST(full_refuses_and_counts),
        TEST(full_of_resting_keys),
        TEST(cooling_is_bounded),
        TEST(returned_is_ready_at_once),
        TEST(returned_and_named_meanwhile),
        TEST(oldest),
        TEST(closed_and_drained),
        cmocka_unit_test(hot_keys),
    };
    keyqueue_free(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
