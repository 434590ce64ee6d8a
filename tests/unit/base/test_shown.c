/* What may be shown of a text from elsewhere. */
#include "base/shown.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *given, *line, *in_place;
} cases[] = {
    {"", "", ""},
    {"plain", "plain", "plain"},
    {"two\nlines\tand", "two lines and", "two\nlines\tand"},
    {"\033[2J", FFFD "[2J", "?[2J"},
    {"\r\a\b\177", FFFD FFFD FFFD FFFD, "????"},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
     "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"\xc2\x80x\xc2\x9b"
     "31m\xc2\x9f\xc2\xa0",
     FFFD "x" FFFD "31m" FFFD "\xc2\xa0", "??x??31m??\xc2\xa0"},
    {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf", "\xe2\x80\xa7" FFFD FFFD "\xe2\x80\xaf",
     "\xe2\x80\xa7??????\xe2\x80\xaf"},
    {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5" FFFD FFFD "\xe2\x81\xaa",
     "\xe2\x81\xa5??????\xe2\x81\xaa"},
    {"\x9b\xff", FFFD FFFD, "??"},
    {"cut \xc3", "cut " FFFD, "cut ?"},
    {"cut \xe2\x82", "cut " FFFD FFFD, "cut ??"},
};

static void in_one_line(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, 1000);
        strbuf_adds(&b, "<");
        strbuf_add_shown(&b, str_of(cases[i].given));
        assert_string_equal(b.p + 1, cases[i].line);
    }
    CLEANUP(strbuf_release) struct strbuf none;
    strbuf_init(&none, 1000);
    strbuf_add_shown(&none, STR_NONE);
    strbuf_add_shown(&none, (struct str){"a\0b", 3});
    assert_string_equal(none.p, "a" FFFD "b");
}

static void where_it_stands(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[100];
        strcpy(text, cases[i].given);
        shown_in_place(text);
        assert_string_equal(text, cases[i].in_place);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_one_line),
        cmocka_unit_test(where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
