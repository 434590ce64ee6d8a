/* A transition table: which steps pass, what is said of the others, and how it is printed. */
#include "base/fsm.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { IDLE, BUSY, DONE };
static const char *const names[] = {"idle", "busy", "done"};
static const uint32_t next[] = {
    [IDLE] = 1u << BUSY,
    [BUSY] = 1u << IDLE | 1u << DONE,
    [DONE] = 0,
};
static const struct fsm door = {"door", names, next, 3};

static void steps(void **state UNUSED) {
    static const struct {
        int from, to;
        bool ok;
    } cases[] = {
        {IDLE, BUSY, true},  {BUSY, IDLE, true},  {BUSY, DONE, true},  {IDLE, DONE, false},
        {IDLE, IDLE, false}, {DONE, IDLE, false}, {DONE, DONE, false}, {-1, IDLE, false},
        {IDLE, -1, false},   {3, IDLE, false},    {IDLE, 3, false},    {IDLE, 40, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (fsm_check(&door, cases[i].from, cases[i].to, NULL) != (cases[i].ok ? V_OK : V_FATAL))
            fail_msg("case %zu", i);
}

static void a_wrong_step_is_named(void **state UNUSED) {
    struct err e;
    assert_int_equal(fsm_check(&door, DONE, BUSY, &e), V_FATAL);
    assert_string_equal(e.msg, "door may not go from done to busy");
    assert_int_equal(fsm_check(&door, 7, BUSY, &e), V_FATAL);
    assert_string_equal(e.msg, "door may not go from ? to busy");
}

static void states_by_name(void **state UNUSED) {
    assert_int_equal(fsm_state(&door, STR("idle")), IDLE);
    assert_int_equal(fsm_state(&door, STR("done")), DONE);
    assert_int_equal(fsm_state(&door, STR("don")), -1);
    assert_int_equal(fsm_state(&door, STR("")), -1);
    assert_int_equal(fsm_state(&door, STR_NONE), -1);
}

static void thirty_two_states_fit(void **state UNUSED) {
    static const char *many[32];
    static uint32_t to_last[32];
    for (int i = 0; i < 32; i++) {
        many[i] = "s";
        to_last[i] = 1u << 31;
    }
    const struct fsm wide = {"wide", many, to_last, 32};
    assert_int_equal(fsm_check(&wide, 31, 31, NULL), V_OK);
    assert_int_equal(fsm_check(&wide, 0, 30, NULL), V_FATAL);
}

static void prints_a_table(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1000);
    fsm_print(&door, &b);
    assert_string_equal(b.p, "| door | may become |\n|---|---|\n| idle | busy |\n"
                             "| busy | idle, done |\n| done | |\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps),          cmocka_unit_test(a_wrong_step_is_named),
        cmocka_unit_test(states_by_name), cmocka_unit_test(thirty_two_states_fit),
        cmocka_unit_test(prints_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
