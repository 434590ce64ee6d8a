#include "cli/cli.h"
#include "load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const no_variables[] = {NULL};

static void words_are_taken_in_order(void **state) {
    (void)state;
    fake_env = no_variables;
    struct settings s;
    assert_int_equal(load_line(&s, CMD_DEAD_LETTER, "list"), V_OK);
    assert_int_equal(s.words.n, 1);
    settings_release(&s);
    assert_int_equal(load_line(&s, CMD_DEAD_LETTER, "replay --json 5 --class x 7"), V_OK);
    assert_int_equal(s.words.n, 3);
    assert_string_equal(s.words.items[0], "replay");
    assert_string_equal(s.words.items[1], "5");
    assert_string_equal(s.words.items[2], "7");
    assert_string_equal(s.failure_class, "x");
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, 1000);
    settings_command_line(&s, &line);
    assert_string_equal(line.p, "tain dead-letter replay 5 7 --class x --json");
    settings_release(&s);
}

static void wrong_words_are_named(void **state) {
    (void)state;
    static const struct {
        enum command_id command;
        const char *line, *message;
    } cases[] = {
        {CMD_DEAD_LETTER, "", "ACTION is missing; give one of list|show|replay|accept"},
        {CMD_DEAD_LETTER, "--json", "ACTION is missing"},
        {CMD_DEAD_LETTER, "remove", "ACTION: 'remove' is not allowed; give one of list|show|"},
        {CMD_DEAD_LETTER, "lis", "ACTION: 'lis' is not allowed"},
        {CMD_DEAD_LETTER, "list|show", "is not allowed"},
        {CMD_DEAD_LETTER, "list -x", "unknown option '-x' for 'tain dead-letter'"},
        {CMD_DEAD_LETTER, "list --", "unexpected argument '--'"},
        {CMD_VERIFY, "now", "unexpected argument 'now' for 'tain verify'"},
        {CMD_DOCTOR, "-", "unexpected argument '-' for 'tain doctor'"},
        {CMD_VERIFY, "postgres://me:hush@host/hn", "unexpected argument '***' for"},
        {CMD_VERIFY, "password=hush", "unexpected argument '***' for"},
        {CMD_VERIFY, "-postgres://me:hush@host/hn", "unknown option '***' for"},
        {CMD_VERIFY, "--dbpostgres://me:hush@host/hn", "unknown option --*** for"},
        {CMD_DEAD_LETTER, "postgres://me:hush@host/hn", "ACTION: '***' is not allowed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s;
        if (load_line(&s, cases[i].command, cases[i].line) != V_INVALID)
            fail_msg("'%s' was accepted", cases[i].line);
        if (!strstr(last_error.msg, cases[i].message))
            fail_msg("'%s': %s", cases[i].line, last_error.msg);
        settings_release(&s);
    }
}

static void more_than_fit(void **state) {
    (void)state;
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, 1000);
    strbuf_adds(&line, "list");
    for (int i = 0; i < 60; i++)
        strbuf_adds(&line, " 1");
    struct settings s;
    assert_int_equal(load_line(&s, CMD_DEAD_LETTER, line.p), V_OK);
    assert_int_equal(s.words.n, 61);
    settings_release(&s);
}

/* Help comes before what is missing. */
static void help_needs_no_words(void **state) {
    (void)state;
    struct settings s;
    assert_int_equal(load_line(&s, CMD_DEAD_LETTER, "--help"), V_OK);
    assert_true(last_help);
    settings_release(&s);
}

static void usage_line(void **state) {
    (void)state;
    static const struct command c = {
        .name = "x",
        .words = {{"ACTION", "a|b"}, {"FILE"}, {"ID", .optional = true, .many = true}},
    };
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 1000);
    words_usage(&c, &out);
    assert_string_equal(out.p, " a|b FILE [ID...]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_taken_in_order),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(more_than_fit),
        cmocka_unit_test(help_needs_no_words),
        cmocka_unit_test(usage_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
