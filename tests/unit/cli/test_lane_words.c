/* What is said of a lane. */
#include "cli/lane_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void limits(void **state UNUSED) {
    static const struct {
        struct lane_limits l;
        const char *want;
    } cases[] = {
        {{50, 60000, 0}, "50/min"},       {{100, 1000, 0}, "100/s"},
        {{10000, 3600000, 5}, "10000/h"}, {{7, 86400000, 0}, "7/day"},
        {{10, 90000, 0}, "10 in 1m 30s"}, {{0, 60000, 9}, "no limit"},
    };
    char out[LANE_WORDS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(lane_limit_words(out, &cases[i].l), cases[i].want);
}

static void states(void **state UNUSED) {
    static const struct {
        struct lane_row r;
        const char *want;
    } cases[] = {
        {{.why = LANE_GO}, "ready"},
        {{.why = LANE_PACED, .wait_ms = 725}, "ready; the next turn is given out in 725ms"},
        {{.why = LANE_FULL, .wait_ms = 50}, "as many calls under way as may be"},
        {{.why = LANE_NOT_BEFORE, .wait_ms = 12000}, "the provider asked to wait, 12s more"},
        {{.why = LANE_BREAKER, .wait_ms = 5000, .state.breaker = BREAKER_OPEN},
         "the provider is ill: a probe goes in 5s"},
        {{.why = LANE_BREAKER, .wait_ms = 1000, .state.breaker = BREAKER_HALF_OPEN},
         "the provider is ill: a probe is under way"},
        {{.why = LANE_GO, .state.breaker = BREAKER_OPEN},
         "the provider was ill: the next call is a probe"},
        {{.why = LANE_PAUSED,
          .wait_ms = -1,
          .state.pause = LANE_PAUSED_BY_HAND,
          .paused_at = INT64_C(1700000000000)},
         "paused by hand since 2023-11-14 22:13:20Z"},
        {{.why = LANE_PAUSED,
          .wait_ms = -1,
          .state.pause = LANE_PAUSED_AUTH,
          .paused_at = INT64_C(1700000000000),
          .paused_why = {"it refuses us", 13}},
         "paused since 2023-11-14 22:13:20Z: it refuses us"},
    };
    char out[LANE_WORDS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(lane_state_words(out, &cases[i].r), cases[i].want);
}

static void a_long_reason_is_cut(void **state UNUSED) {
    char why[1000], out[LANE_WORDS_MAX];
    memset(why, 'w', sizeof why);
    const struct lane_row r = {
        .why = LANE_PAUSED, .state.pause = LANE_PAUSED_BY_HAND, .paused_why = {why, sizeof why}};
    assert_in_range(strlen(lane_state_words(out, &r)), 200, 260);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(states),
        cmocka_unit_test(a_long_reason_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
