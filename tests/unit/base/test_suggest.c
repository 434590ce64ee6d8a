#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void distances(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        int expected;
    } cases[] = {
        {"", "", 0},
        {"a", "", 1},
        {"", "abc", 3},
        {"demo", "demo", 0},
        {"dmeo", "demo", 1},
        {"demmo", "demo", 1},
        {"deno", "demo", 1},
        {"catchpu", "catchup", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(suggest_distance(cases[i].a, cases[i].b), cases[i].expected);
        assert_int_equal(suggest_distance(cases[i].b, cases[i].a), cases[i].expected);
    }
    char word[100];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_false(suggest_near(word, suggest_distance(word, word)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
