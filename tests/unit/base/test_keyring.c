/* A ring of keys: order and marks, what is dropped for what, and that nothing goes without a trace.
 */
#include "base/keyring.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct str key_of(char out[16], int n) {
    return (struct str){out, (size_t)snprintf(out, 16, "k%d", n)};
}

static void keys_come_out_in_order_with_their_marks(void **state) {
    (void)state;
    struct keyring *r = keyring_new(4);
    char text[16], out[KEYRING_KEY_MAX + 1];
    int dropped, mark;
    for (int i = 0; i < 3; i++)
        assert_int_equal(keyring_push(r, key_of(text, i), i * 10, &dropped), KEYRING_TAKEN);
    assert_int_equal(keyring_count(r), 3);
    assert_int_equal(keyring_room(r), 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(keyring_pop(r, out, &mark), 2);
        assert_string_equal(out, key_of(text, i).p);
        assert_int_equal(mark, i * 10);
    }
    assert_int_equal(keyring_pop(r, out, &mark), -1);
    keyring_free(r);
}

static void a_full_ring_drops_its_oldest_and_says_whose(void **state) {
    (void)state;
    struct keyring *r = keyring_new(2);
    char text[16], out[KEYRING_KEY_MAX + 1];
    int dropped = -1, mark;
    assert_int_equal(keyring_push(r, key_of(text, 1), 1, &dropped), KEYRING_TAKEN);
    assert_int_equal(keyring_push(r, key_of(text, 2), 2, &dropped), KEYRING_TAKEN);
    assert_int_equal(keyring_push(r, key_of(text, 3), 3, &dropped), KEYRING_DROPPED_OLDEST);
    assert_int_equal(dropped, 1);
    assert_false(keyring_push_if_room(r, key_of(text, 4), 4));
    assert_int_equal(keyring_pop(r, out, &mark), 2);
    assert_int_equal(mark, 2);
    assert_true(keyring_push_if_room(r, key_of(text, 5), 5));
    assert_int_equal(keyring_pop(r, out, &mark), 2);
    assert_int_equal(mark, 3);
    assert_int_equal(keyring_pop(r, out, &mark), 2);
    assert_string_equal(out, "k5");
    keyring_free(r);
}

static void a_key_that_is_too_long_is_not_taken(void **state) {
    (void)state;
    struct keyring *r = keyring_new(1);
    char text[KEYRING_KEY_MAX + 1], out[KEYRING_KEY_MAX + 1];
    int dropped, mark;
    memset(text, 'x', sizeof text);
    struct str key = {text, sizeof text};
    assert_int_equal(keyring_push(r, key, 0, &dropped), KEYRING_TOO_LONG);
    assert_false(keyring_push_if_room(r, key, 0));
    key.n--;
    assert_int_equal(keyring_push(r, key, 7, &dropped), KEYRING_TAKEN);
    assert_int_equal(keyring_pop(r, out, &mark), KEYRING_KEY_MAX);
    assert_memory_equal(out, text, KEYRING_KEY_MAX);
    keyring_free(r);
}

#define PUSHES 20000

struct pusher {
    struct keyring *r;
    int dropped;
};

static void *push_many(void *arg) {
    struct pusher *p = arg;
    char text[16];
    int mark;
    for (int i = 0; i < PUSHES; i++)
        p->dropped += keyring_push(p->r, key_of(text, i), 0, &mark) == KEYRING_DROPPED_OLDEST;
    return NULL;
}

static void what_is_pushed_is_popped_or_dropped(void **state) {
    (void)state;
    struct keyring *r = keyring_new(64);
    struct pusher pushers[2] = {{.r = r}, {.r = r}};
    pthread_t threads[2];
    char out[KEYRING_KEY_MAX + 1];
    int mark, popped = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_many, &pushers[i]), 0);
    for (int i = 0; i < PUSHES; i++)
        popped += keyring_pop(r, out, &mark) >= 0;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    while (keyring_pop(r, out, &mark) >= 0)
        popped++;
    assert_int_equal(popped + pushers[0].dropped + pushers[1].dropped, 2 * PUSHES);
    keyring_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_out_in_order_with_their_marks),
        cmocka_unit_test(a_full_ring_drops_its_oldest_and_says_whose),
        cmocka_unit_test(a_key_that_is_too_long_is_not_taken),
        cmocka_unit_test(what_is_pushed_is_popped_or_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
