/* How many turns a client has, and that it does not matter how many clients there are. */
#include "web/turnstile.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(5000000)

static const unsigned char *client(uint64_t n) {
    static unsigned char key[16];
    memcpy(key + 8, &n, sizeof n);
    return key;
}

static void so_many_and_then_evenly(void **state UNUSED) {
    struct turnstile *t = turnstile_new(30, 60000);
    for (int i = 0; i < 30; i++)
        assert_int_equal(turnstile_pass(t, client(1), NOW), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW), 2000);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 500), 1500); /* asking costs nothing */
    assert_int_equal(turnstile_pass(t, client(2), NOW), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 2000), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 2000), 2000);
    for (int i = 0; i < 30; i++)
        assert_int_equal(turnstile_pass(t, client(1), NOW + 70000), 0);
    assert_int_not_equal(turnstile_pass(t, client(1), NOW + 70000), 0);
    turnstile_free(t);
}

static void the_quiet_are_forgotten_first(void **state UNUSED) {
    struct turnstile *t = turnstile_new(2, 60000);
    for (uint64_t n = 0; n < 2000; n++)
        assert_int_equal(turnstile_pass(t, client(100 + n), NOW), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 50000), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 50000), 0);
    for (uint64_t n = 0; n < 100000; n++) /* each of them once, long after the one before */
        assert_int_equal(turnstile_pass(t, client(10000 + n), NOW + 50000 + (int64_t)n / 10), 0);
    assert_int_not_equal(turnstile_pass(t, client(10000 + 99999), NOW + 60000), 1);
    turnstile_free(t);
}

static void whoever_waits_is_kept(void **state UNUSED) {
    struct turnstile *t = turnstile_new(1, 60000);
    for (uint64_t n = 0; n < 2048; n++)
        assert_int_equal(turnstile_pass(t, client(100 + n), NOW), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 60001), 0); /* all others have gone */
    assert_int_equal(turnstile_pass(t, client(1), NOW + 60002), 59999);
    for (uint64_t n = 0; n < 900; n++)
        assert_int_equal(turnstile_pass(t, client(5000 + n), NOW + 60003), 0);
    assert_int_equal(turnstile_pass(t, client(1), NOW + 60004), 59997);
    turnstile_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_and_then_evenly),
        cmocka_unit_test(the_quiet_are_forgotten_first),
        cmocka_unit_test(whoever_waits_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
