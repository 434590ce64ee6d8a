#include "web/feed_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void only_the_whole_key_is_right(void **state UNUSED) {
    static const char *const wrong[] = {
        "", "s", "secre", "secret ", "Secret", "secretsecret", "secretsecre", "tercs"};
    assert_true(feed_key_equals(STR("secret"), STR("secret")));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(feed_key_equals(STR("secret"), str_of(wrong[i])));
    assert_true(feed_key_equals(STR("a"), STR("a")));
    assert_false(feed_key_equals(STR("a"), STR("aa")));
}

static void without_a_key_nothing_is_right(void **state UNUSED) {
    assert_false(feed_key_equals(STR_NONE, STR("")));
    assert_false(feed_key_equals(STR_NONE, STR("secret")));
    assert_false(feed_key_equals(STR(""), STR("")));
    assert_false(feed_key_equals(STR("secret"), STR_NONE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_whole_key_is_right),
        cmocka_unit_test(without_a_key_nothing_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
