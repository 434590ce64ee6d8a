/* The manual clock and the waits computed from it; the machine's clock only for plausibility. */
#include "base/clock.h"

#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_manual_clock_moves_when_told(void **state UNUSED) {
    struct clock c;
    clock_manual_init(&c, 1000, 1700000000000);
    assert_int_equal(clock_mono(&c), 1000);
    assert_int_equal(clock_real(&c), 1700000000000);
    assert_int_equal(clock_mono(&c), 1000);
    clock_advance(&c, 250);
    assert_int_equal(clock_mono(&c), 1250);
    assert_int_equal(clock_real(&c), 1700000000250);
}

static void waits(void **state UNUSED) {
    static const struct {
        int64_t deadline;
        int cap, want;
    } cases[] = {
        {1000, 100, 0},
        {999, 100, 0},
        {-5, 100, 0},
        {1001, 100, 1},
        {1100, 100, 100},
        {1101, 100, 100},
        {5000, 100, 100},
        {1050, 0, 0},
        {NO_DEADLINE, 100, 100},
        {NO_DEADLINE - 1, 100, 100},
        {1000 + (1LL << 40), INT32_MAX, INT32_MAX},
    };
    struct clock c;
    clock_manual_init(&c, 1000, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (clock_wait_ms(&c, cases[i].deadline, cases[i].cap) != cases[i].want)
            fail_msg("case %zu: %d", i, clock_wait_ms(&c, cases[i].deadline, cases[i].cap));
}

static void the_machine_clock_tells_the_time(void **state UNUSED) {
    int64_t before = clock_mono(&clock_machine);
    assert_true(clock_mono(&clock_machine) >= before);
    int64_t seconds = (int64_t)time(NULL);
    int64_t real = clock_real(&clock_machine) / 1000;
    assert_true(real >= seconds - 1 && real <= seconds + 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_clock_moves_when_told),
        cmocka_unit_test(waits),
        cmocka_unit_test(the_machine_clock_tells_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
