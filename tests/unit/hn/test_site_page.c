#include "hn/site_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define SITE "https://news.ycombinator.com"

static void pages_that_are_here_too(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {SITE "/item?id=8863", "/item?id=8863"},
        {"http://news.ycombinator.com/item?id=1", "/item?id=1"},
        {"HTTPS://News.YCombinator.com/item?id=1", "/item?id=1"},
        {SITE "/item?id=8863#9224", "/item?id=8863#9224"},
        {SITE "/user?id=pg", "/user?id=pg"},
        {SITE "/user?id=A-b_9", "/user?id=A-b_9"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str got = STR_NONE;
        assert_true(site_page(str_of(cases[i][0]), &got));
        assert_true(str_eqc(got, cases[i][1]));
    }
}

static void everything_else_is_foreign(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "/item?id=1",
        SITE,
        SITE "/",
        SITE "/news",
        SITE "/item",
        SITE "/item?id=",
        SITE "/item?id=x",
        SITE "/item?id=-1",
        SITE "/item?id=1&p=2",
        SITE "/item?id=1#",
        SITE "/item?id=1#x",
        SITE "/item?id=1\"><script>",
        SITE "/item?id=1234567890123456789",
        SITE "/Item?id=1",
        SITE "/item?ID=1",
        SITE "/item/?id=1",
        SITE "/user?id=",
        SITE "/user?id=a b",
        SITE "/user?id=a'b",
        SITE "/user?id=a#b",
        SITE "/user?id=a&b=c",
        SITE ":80/item?id=1",
        SITE ".example/item?id=1",
        SITE "@e.example/item?id=1",
        "https://e.example/?u=" SITE "/item?id=1",
        "https://xnews.ycombinator.com/item?id=1",
        "ftp://news.ycombinator.com/item?id=1",
        "javascript://news.ycombinator.com/item?id=1",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str got = STR_NONE;
        if (site_page(str_of(cases[i]), &got))
            fail_msg("'%s' became '%.*s'", cases[i], STR_FMT(got));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_are_here_too),
        cmocka_unit_test(everything_else_is_foreign),
    };
    return cmocka_run_group_tests_name("hn/site_page", tests, NULL, NULL);
}
