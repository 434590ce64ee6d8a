#include "hn/json_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FFFD "\xEF\xBF\xBD"

static struct arena arena;

static int set_up(void **state) {
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_release(&arena);
    return 0;
}

static const struct {
    struct str json, want; /* want absent: the string is broken */
} strings[] = {
    {STR("\"\""), STR("")},
    {STR("\"a\""), STR("a")},
    {STR("  \"seven..\""), STR("seven..")},
    {STR("\"eight...\""), STR("eight...")},
    {STR("\"nine.....\""), STR("nine.....")},
    {STR("\"a long one without anything to decode, of several words\""),
     STR("a long one without anything to decode, of several words")},
    {STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR("\"\\/\b\f\n\r\t")},
    {STR("\"a\\u0041\\u00e9\\u20AC\\ud83d\\ude00z\""), STR("aA\u00e9\u20ac\U0001F600z")},
    {STR("\"caf\u00e9 \u20ac \U0001F600 end\""), STR("caf\u00e9 \u20ac \U0001F600 end")},
    {STR("\"raw\ttab\nand newline\""), STR("raw\ttab\nand newline")},
    /* what no database holds, or not both */
    {STR("\"x\\u0000y\""), STR("x" FFFD "y")},
    {STR("\"x\0y\""), STR("x" FFFD "y")},
    {STR("\"\\ud83d\""), STR(FFFD)},
    {STR("\"\\ude00x\""), STR(FFFD "x")},
    {STR("\"\\ud83d\\u0041\""), STR(FFFD "A")},
    {STR("\"\\ud83d\\ud83d\\ude00\""), STR(FFFD "\U0001F600")},
    {STR("\"\\ud83d\\n\""), STR(FFFD "\n")},
    {STR("\"\x80 \xC3\""), STR(FFFD " " FFFD)},
    {STR("\"\xC0\x80\""), STR(FFFD FFFD)},
    {STR("\"\xED\xA0\x80\""), STR(FFFD FFFD FFFD)},
    {STR("\"\xF5\x80\x80\x80 12345678\xFF\""), STR(FFFD FFFD FFFD FFFD " 12345678" FFFD)},
    /* broken */
    {STR("\""), STR_NONE},
    {STR("\"abc"), STR_NONE},
    {STR("\"abc\\"), STR_NONE},
    {STR("\"abc\\\""), STR_NONE},
    {STR("\"\\x\""), STR_NONE},
    {STR("\"\\u12\""), STR_NONE},
    {STR("\"\\u12g4\""), STR_NONE},
    {STR("\"\\\0\""), STR_NONE},
    {STR("x"), STR_NONE},
    {STR(""), STR_NONE},
};

static void reads_strings(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        struct json_read r;
        struct str got = STR_NONE;
        json_read_init(&r, &arena, strings[i].json);
        bool ok = json_text(&r, &got);
        if (ok != (strings[i].want.p != NULL) || ok == r.bad)
            fail_msg("case %zu: %s", i, strings[i].json.p);
        if (!ok)
            continue;
        if (!str_eq(got, strings[i].want) || got.p[got.n] != '\0' || !json_at_end(&r))
            fail_msg("case %zu: %s gave %s", i, strings[i].json.p, got.p);
    }
}

/* Every place of the special byte against the eight-byte steps. */
static void finds_the_end_at_every_offset(void **state) {
    (void)state;
    static const char special[] = {'"', '\\', '\0', '\x80', '\x7F', '!', '#', '[', ']', '\x01'};
    for (size_t n = 0; n < 40; n++)
        for (size_t at = 0; at < n; at++)
            for (size_t k = 0; k < sizeof special; k++) {
                char text[64];
                struct json_read r;
                struct str got;
                text[0] = '"';
                memset(text + 1, 'a', n);
                text[1 + at] = special[k];
                if (special[k] == '\\')
                    text[2 + at] = 'n';
                size_t len = special[k] == '\\' && at + 1 == n ? n + 1 : n;
                text[1 + len] = '"';
                json_read_init(&r, &arena, (struct str){text, len + 2});
                assert_true(json_text(&r, &got));
                size_t want = special[k] == '"'                            ? at
                              : special[k] == '\\'                         ? len - 1
                              : special[k] == '\0' || special[k] == '\x80' ? len + 2
                                                                           : len;
                assert_int_equal(got.n, want);
            }
}

static const struct {
    const char *text;
    bool ok;
    int64_t want;
} integers[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"007", true, 7},
    {"1.0", true, 1},
    {"1e3", true, 1000},
    {"1.5e1", true, 15},
    {"1200e-2", true, 12},
    {"0.0", true, 0},
    {"0e99999999999", true, 0},
    {"-12.50e2", true, -1250},
    {"123456789012345678", true, 123456789012345678},
    {"1234567890123456789", true, 1234567890123456789},
    {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9007199254740993.0", true, 9007199254740993}, /* strtod() rounds this one */
    {"9223372036854775808", false, 0},
    {"-9223372036854775809", false, 0},
    {"1e19", false, 0},
    {"1e99999999999999999999", false, 0},
    {"0.5", false, 0},
    {"1e-1", false, 0},
    {"10.05", false, 0},
    {"0.10e0", false, 0},
    {"100000000000000000000000000000000000000000000000000000000000", false, 0},
    {"0.00000000000000000000000000000000000000000000000000000000001", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"+1", false, 0},
    {".5", false, 0},
    {"1.", false, 0},
    {"1e", false, 0},
    {"1e+", false, 0},
    {"0x10", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"NaN", false, 0},
};

static void reads_integers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        int64_t got = 0;
        bool ok = json_integer_of(str_of(integers[i].text), &got);
        if (ok != integers[i].ok || (ok && got != integers[i].want))
            fail_msg("%s gave %d, %lld", integers[i].text, ok, (long long)got);
    }
    int64_t unused;
    assert_false(json_integer_of(STR_NONE, &unused));
}

static const struct {
    const char *json;
    bool ok;
} skipped[] = {
    {"null", true},
    {" true ", true},
    {"false", true},
    {"-1.5E+10", true},
    {"\"a\\\"b\"", true},
    {"[]", true},
    {"{}", true},
    {"[ 1 , [2,{\"a\":[ ]}] , \"x\" ]\n", true},
    {"{\"a\":{\"b\":[1,2,{\"c\":null}]},\"\\u0064\":1}", true},
    {"", false},
    {"nul", false},
    {"nullx", false},
    {"tru", false},
    {"[1,]", false},
    {"[,1]", false},
    {"[1 2]", false},
    {"[1", false},
    {"[1}", false},
    {"{\"a\"}", false},
    {"{\"a\":}", false},
    {"{\"a\":1,}", false},
    {"{a:1}", false},
    {"{\"a\":1", false},
    {"{\"a\" 1}", false},
    {"{1:1}", false},
    {"'a'", false},
    {"1 1", false},
    {"-", false},
    {"]", false},
};

static bool skips(struct str json) {
    struct json_read r;
    json_read_init(&r, &arena, json);
    json_skip(&r);
    return json_at_end(&r);
}

static void skips_values(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++)
        if (skips(str_of(skipped[i].json)) != skipped[i].ok)
            fail_msg("%s", skipped[i].json);
}

static bool skips_nested(size_t depth, const char *open, const char *close) {
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    for (size_t i = 0; i < depth; i++)
        strbuf_adds(&b, open);
    strbuf_adds(&b, "1");
    for (size_t i = 0; i < depth; i++)
        strbuf_adds(&b, close);
    bool ok = skips(strbuf_str(&b));
    strbuf_release(&b);
    return ok;
}

static void depth_has_a_limit(void **state) {
    (void)state;
    assert_true(skips_nested(JSON_DEPTH_MAX, "[", "]"));
    assert_false(skips_nested(JSON_DEPTH_MAX + 1, "[", "]"));
    assert_true(skips_nested(JSON_DEPTH_MAX, "{\"a\":", "}"));
    assert_false(skips_nested(JSON_DEPTH_MAX + 1, "{\"a\":", "}"));
    assert_false(skips_nested(100000, "[", "]"));
}

static void nothing_moves_once_bad(void **state) {
    (void)state;
    struct json_read r;
    struct str s;
    bool first = true;
    json_read_init(&r, &arena, STR("@ [1] \"x\" {\"a\":1}"));
    assert_int_equal(json_peek(&r), JSON_NOTHING);
    json_skip(&r);
    assert_true(r.bad);
    assert_false(json_next_element(&r, &first));
    assert_false(json_next_member(&r, &first, &s));
    assert_false(json_text(&r, &s));
    assert_false(json_raw_number(&r, &s));
    assert_int_equal(json_peek(&r), JSON_NOTHING);
    assert_false(json_at_end(&r));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_the_end_at_every_offset, set_up, tear_down),
        cmocka_unit_test(reads_integers),
        cmocka_unit_test_setup_teardown(skips_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depth_has_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_moves_once_bad, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
