#include "cli/options.h"
#include "cli/suggest.h"

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

static void nearest_option(void **state) {
    (void)state;
    static const struct {
        const char *typed;
        unsigned commands;
        const char *expected;
    } cases[] = {
        {"segment-widht", CMD_CATCHUP, "segment-width"},
        {"start", CMD_CATCHUP, NULL},
        {"startid", CMD_CATCHUP, "start-id"},
        {"upstraem", CMD_CATCHUP, "upstream"},
        {"segment-widht", CMD_STATUS, NULL}, /* never one that would be refused next */
        {"concurency", CMD_CATCHUP, "concurrency"},
        {"zzzzzz", CMD_CATCHUP, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct option_def *d = option_nearest(cases[i].typed, cases[i].commands);
        if (!cases[i].expected)
            assert_null(d);
        else
            assert_string_equal(d ? d->name : "(none)", cases[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances),
                                       cmocka_unit_test(nearest_option)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
