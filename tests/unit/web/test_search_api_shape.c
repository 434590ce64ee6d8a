#include "web/search_api_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define ONLY(bits) (HIT_ALL & ~(unsigned)(bits))
#define TITLE (1U << HIT_TITLE)
#define URL (1U << HIT_URL)

static void lists_of_names(void **state UNUSED) {
    static const struct {
        const char *list;
        unsigned left_out;
    } cases[] = {
        {"", 0},
        {"*", 0},
        {"title,*", 0},
        {"[\"*\"]", 0},
        {"title", ONLY(TITLE)},
        {"title,url", ONLY(TITLE | URL)},
        {" title , url ", ONLY(TITLE | URL)},
        {"[\"title\",\"url\"]", ONLY(TITLE | URL)},
        {"[\"title\", \"url\"]", ONLY(TITLE | URL)},
        {"[]", HIT_ALL},
        {"none", HIT_ALL},
        {"titles,objectID", HIT_ALL},
        {",,title,,", ONLY(TITLE)},
        {"_tags", ONLY(1U << HIT_TAGS)},
        {"fetched_at_i", ONLY(1U << HIT_FETCHED_AT_I)},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct search_api_shape got;
        struct call c = {.n_params = 1,
                         .params = {{STR("attributesToRetrieve"), str_of(cases[i].list)}}};
        search_api_shape(&c, &got);
        if (got.left_out != cases[i].left_out || got.unmarked)
            fail_msg("%s: %x, %x", cases[i].list, got.left_out, got.unmarked);
        c.params[0].name = STR("attributesToHighlight");
        search_api_shape(&c, &got);
        if (got.unmarked != cases[i].left_out || got.left_out)
            fail_msg("%s: %x, %x", cases[i].list, got.left_out, got.unmarked);
    }
}

static void everything_unless_told_otherwise(void **state UNUSED) {
    struct call c = {0};
    struct search_api_shape got = {1, 1};
    search_api_shape(&c, &got);
    assert_int_equal(got.left_out, 0);
    assert_int_equal(got.unmarked, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_names),
        cmocka_unit_test(everything_unless_told_otherwise),
    };
    return cmocka_run_group_tests_name("web/search_api_shape", tests, NULL, NULL);
}
