#include "hn/search_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *typed, *text;
} cases[] = {
    {"", ""},
    {"rust async", "rust async"},
    {"https://example.com/a?b=c", "example.com/a?b=c"},
    {"http://www.example.com/", "example.com/"},
    {"www.example.com", "example.com"},
    {"HTTPS://WWW.Example.com/A", "Example.com/A"},
    {"\"https://example.com/a b\"", "\"example.com/a b\""},
    {"rust -https://example.com/", "rust -example.com/"},
    {"rust -\"https://example.com/\"", "rust -\"example.com/\""},
    {"https://a.example http://b.example c", "a.example b.example c"},
    {"  https://a.example", "  a.example"},
    /* an address within an address is part of it */
    {"https://archive.example/web/https://www.a.example/",
     "archive.example/web/https://www.a.example/"},
    {"https://a.example/?u=http://b.example", "a.example/?u=http://b.example"},
    /* words of their own */
    {"https", "https"},
    {"https://", "https://"},
    {"https:// rust", "https:// rust"},
    {"\"http://\" rust", "\"http://\" rust"},
    {"www.", "www."},
    {"http://www.", "http://www."},
    {"wwww.example.com", "wwww.example.com"},
    {"what is http", "what is http"},
    {"state-https://a.example", "state-https://a.example"},
};

static void addresses_lose_what_the_index_has_not(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str got = search_text(&a, str_of(cases[i].typed));
        if (!str_eqc(got, cases[i].text))
            fail_msg("'%s' became '%.*s', not '%s'", cases[i].typed, STR_FMT(got), cases[i].text);
    }
    assert_null(search_text(&a, STR_NONE).p);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_lose_what_the_index_has_not)};
    return cmocka_run_group_tests_name("hn/search_text", tests, NULL, NULL);
}
