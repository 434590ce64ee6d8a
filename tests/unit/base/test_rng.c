/* The seeded generator: repeatable, and even enough for jitter and made-up data. */
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_same_seed_says_the_same(void **state UNUSED) {
    struct rng a = {5}, b = {5}, c = {6};
    int differs = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&a);
        assert_int_equal(x, rng_next(&b));
        differs += x != rng_next(&c);
    }
    assert_int_equal(differs, 100);
    struct rng zero = {0};
    assert_true(rng_next(&zero) == 0xE220A8397B1DCDAFULL); /* published first value of splitmix64 */
}

static void below_is_even_and_below(void **state UNUSED) {
    static const uint64_t sizes[] = {1, 2, 3, 7, 10};
    struct rng rng = {1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        int seen[10] = {0};
        for (int k = 0; k < 10000; k++) {
            uint64_t v = rng_below(&rng, sizes[i]);
            assert_true(v < sizes[i]);
            seen[v]++;
        }
        int even = 10000 / (int)sizes[i];
        for (uint64_t v = 0; v < sizes[i]; v++)
            assert_in_range(seen[v], even * 8 / 10, even * 12 / 10);
    }
    assert_true(rng_below(&rng, UINT64_MAX) != rng_below(&rng, UINT64_MAX));
}

static void fresh_seeds_differ(void **state UNUSED) {
    assert_true(rng_fresh().state != rng_fresh().state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_says_the_same),
        cmocka_unit_test(below_is_even_and_below),
        cmocka_unit_test(fresh_seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
