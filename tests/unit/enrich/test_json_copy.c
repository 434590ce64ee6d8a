#include "enrich/json_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FFFD "\xEF\xBF\xBD"

static const struct {
    struct str in, json, text; /* json absent: bad */
} cases[] = {
    {STR("\"a\""), STR("\"a\""), STR("a")},
    {STR(" null "), STR("null"), STR("")},
    {STR("true"), STR("true"), STR("true")},
    {STR("false"), STR("false"), STR("false")},
    {STR("-0.10"), STR("-0.10"), STR("-0.10")},
    {STR("1e999"), STR("1e999"), STR("1e999")},
    {STR("123456789012345678901234567890"), STR("123456789012345678901234567890"),
     STR("123456789012345678901234567890")},
    {STR("{ \"a\" : [ 1 , \"\\u0041\" , { } , [ ] ] , \"b\":null}"),
     STR("{\"a\":[1,\"A\",{},[]],\"b\":null}"), STR("{\"a\":[1,\"A\",{},[]],\"b\":null}")},
    {STR("{\"\\u0041\\\"\":1}"), STR("{\"A\\\"\":1}"), STR("{\"A\\\"\":1}")},
    {STR("\"\\ud800 \\u0000 \xFF\""), STR("\"" FFFD " " FFFD " " FFFD "\""),
     STR(FFFD " " FFFD " " FFFD)},
    {STR("\"raw\ttab \\\" \\\\ \x01\""), STR("\"raw\\ttab \\\" \\\\ \\u0001\""),
     STR("raw\ttab \" \\ \x01")},
    {STR("007"), STR_NONE, STR_NONE},
    {STR("-01"), STR_NONE, STR_NONE},
    {STR("[1,]"), STR_NONE, STR_NONE},
    {STR("{\"a\" 1}"), STR_NONE, STR_NONE},
    {STR("\"open"), STR_NONE, STR_NONE},
    {STR("nul"), STR_NONE, STR_NONE},
    {STR(""), STR_NONE, STR_NONE},
};

static void copies(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        struct strbuf json, text;
        struct json_read r, t;
        arena_init(&a);
        strbuf_init(&json, 1000);
        strbuf_init(&text, 1000);
        json_read_init(&r, &a, cases[i].in);
        t = r;
        json_copy_value(&r, &json);
        json_copy_text(&t, &text);
        assert_int_equal(json_at_end(&r), cases[i].json.p != NULL);
        assert_int_equal(json_at_end(&t), cases[i].json.p != NULL);
        if (cases[i].json.p) {
            assert_string_equal(strbuf_str(&json).p, cases[i].json.p);
            assert_true(str_eq(strbuf_str(&text), cases[i].text));
        }
        strbuf_release(&json);
        strbuf_release(&text);
        arena_release(&a);
    }
}

static void depth_has_a_limit(void **state) {
    (void)state;
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        char text[2 * (JSON_DEPTH_MAX + 1) + 1] = "";
        struct arena a;
        struct strbuf out;
        struct json_read r;
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        arena_init(&a);
        strbuf_init(&out, 1000);
        json_read_init(&r, &a, str_of(text));
        json_copy_value(&r, &out);
        assert_int_equal(json_at_end(&r), depth == JSON_DEPTH_MAX);
        strbuf_release(&out);
        arena_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),
        cmocka_unit_test(depth_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
