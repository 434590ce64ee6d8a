#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(nearest_option)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
