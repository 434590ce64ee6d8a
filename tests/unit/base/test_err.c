/* Errors: what is filled, what is cut, and what a prefix does to it. */
#include "base/err.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void set_fills_all_of_it(void **state UNUSED) {
    struct err e;
    memset(&e, 0xEE, sizeof e);
    assert_int_equal(err_set(&e, V_RETRY, "sqlite", 5, "busy after %d ms", 10), V_RETRY);
    assert_string_equal(e.domain, "sqlite");
    assert_int_equal(e.code, 5);
    assert_string_equal(e.msg, "busy after 10 ms");
    assert_int_equal(err_set(NULL, V_FATAL, "x", 1, "%s", "nobody listens"), V_FATAL);
    assert_int_equal(err_wrap(NULL, V_LIMIT, "%s", "nor here"), V_LIMIT);
}

static void the_end_of_a_message_is_trimmed(void **state UNUSED) {
    static const struct {
        const char *given, *want;
    } cases[] = {
        {"plain", "plain"},         {"one\n", "one"}, {"two \n\n ", "two"},
        {"in\nside\n", "in\nside"}, {"\n", ""},       {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e;
        (void)err_set(&e, V_RETRY, "postgres", 0, "%s", cases[i].given);
        assert_string_equal(e.msg, cases[i].want);
    }
}

static void a_prefix_goes_in_front(void **state UNUSED) {
    struct err e;
    (void)err_set(&e, V_RETRY, "http", 56, "reset");
    assert_int_equal(err_wrap(&e, V_FATAL, "item %d", 7), V_FATAL);
    assert_string_equal(e.msg, "item 7: reset");
    assert_string_equal(e.domain, "http");
    assert_int_equal(e.code, 56);
    (void)err_wrap(&e, V_FATAL, "segment");
    assert_string_equal(e.msg, "segment: item 7: reset");
}

static void long_messages_are_cut(void **state UNUSED) {
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct err e;
    (void)err_set(&e, V_RETRY, "x", 0, "%s", text);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    (void)err_wrap(&e, V_RETRY, "short");
    assert_memory_equal(e.msg, "short: aaa", 10);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    (void)err_wrap(&e, V_RETRY, "%s", text);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
}

static void every_verdict_has_a_name_of_its_own(void **state UNUSED) {
    for (int a = V_OK; a <= V_STOPPED; a++) {
        assert_string_not_equal(verdict_name((enum verdict)a), "?");
        for (int b = V_OK; b < a; b++)
            assert_string_not_equal(verdict_name((enum verdict)a), verdict_name((enum verdict)b));
    }
    assert_string_equal(verdict_name((enum verdict)99), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_all_of_it),
        cmocka_unit_test(the_end_of_a_message_is_trimmed),
        cmocka_unit_test(a_prefix_goes_in_front),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(every_verdict_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
