/* Views and buffers: comparison, numbers, the maximum, JSON strings and UTF-8. */
#include "base/rng.h"
#include "base/str.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void comparisons(void **state UNUSED) {
    assert_null(str_of(NULL).p);
    assert_int_equal(str_of("abc").n, 3);
    assert_true(str_eq(STR("abc"), STR("abc")));
    assert_false(str_eq(STR("abc"), STR("abd")));
    assert_false(str_eq(STR("abc"), STR("ab")));
    assert_true(str_eq(STR(""), STR("")));
    assert_true(str_eq(STR_NONE, STR_NONE));
    assert_false(str_eq(STR_NONE, STR(""))); /* absent is not empty */
    assert_false(str_eq(STR(""), STR_NONE));
    assert_true(str_eq(STR("a\0b"), STR("a\0b")));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
    assert_true(str_eqc(STR("abc"), "abc"));
    assert_false(str_eqc(STR_NONE, ""));
    assert_true(str_starts(STR("abc"), "ab"));
    assert_true(str_starts(STR("abc"), ""));
    assert_false(str_starts(STR("ab"), "abc"));
    assert_false(str_starts(STR_NONE, ""));
    assert_true(str_ends(STR("abc"), "bc"));
    assert_true(str_ends(STR("abc"), "abc"));
    assert_false(str_ends(STR("bc"), "abc"));
    assert_false(str_ends(STR_NONE, ""));
}

static void integers(void **state UNUSED) {
    static const struct {
        struct str text;
        bool ok;
        int64_t value;
    } cases[] = {
        {{"0", 1}, true, 0},
        {{"-0", 2}, true, 0},
        {{"42", 2}, true, 42},
        {{"42x", 2}, true, 42}, /* the view ends before the x */
        {{"-17", 3}, true, -17},
        {{"007", 3}, true, 7},
        {{"9223372036854775807", 19}, true, INT64_MAX},
        {{"-9223372036854775808", 20}, true, INT64_MIN},
        {{"9223372036854775808", 19}, false, 0},
        {{"-9223372036854775809", 20}, false, 0},
        {{"99999999999999999999999999999999999999", 38}, false, 0},
        {{"", 0}, false, 0},
        {{NULL, 0}, false, 0},
        {{"-", 1}, false, 0},
        {{"+1", 2}, false, 0},
        {{"--1", 3}, false, 0},
        {{" 1", 2}, false, 0},
        {{"1 ", 2}, false, 0},
        {{"- 1", 3}, false, 0},
        {{"1.0", 3}, false, 0},
        {{"1e3", 3}, false, 0},
        {{"0x10", 4}, false, 0},
        {{"1\0", 2}, false, 0},
        {{"abc", 3}, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = 0;
        bool ok = str_to_i64(cases[i].text, &got);
        if (ok != cases[i].ok || got != cases[i].value)
            fail_msg("case %zu: %d %lld", i, ok, (long long)got);
    }
}

static void a_buffer_grows(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 100000);
    assert_string_equal(strbuf_str(&b).p, ""); /* before anything is in it */
    strbuf_adds(&b, "ab");
    strbuf_addc(&b, 'c');
    strbuf_add_str(&b, STR("d\0e"));
    strbuf_add_str(&b, STR_NONE);
    strbuf_addf(&b, "%d-%s", 7, "x");
    assert_true(str_eq(strbuf_str(&b), STR("abcd\0e7-x")));
    assert_int_equal(b.p[b.n], '\0');
    strbuf_clear(&b);
    assert_string_equal(b.p, "");
    for (int i = 0; i < 10000; i++)
        strbuf_addf(&b, "%05d", i);
    assert_int_equal(b.n, 50000);
    assert_int_equal(strlen(b.p), 50000);
    assert_memory_equal(b.p + 5 * 4321, "04321", 5);
    assert_false(b.overflow);
}

static void a_buffer_stops_at_its_maximum(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 10);
    strbuf_adds(&b, "123456789");
    strbuf_addc(&b, '0');
    assert_false(b.overflow); /* the maximum itself fits */
    strbuf_adds(&b, "");
    strbuf_addf(&b, "%s", "");
    assert_false(b.overflow);
    strbuf_addc(&b, 'x');
    assert_true(b.overflow);
    assert_string_equal(b.p, "1234567890");
    strbuf_clear(&b);
    assert_false(b.overflow);
    strbuf_adds(&b, "1234");
    strbuf_addf(&b, "%s", "way too long");
    assert_true(b.overflow);
    strbuf_addc(&b, '5'); /* would fit, but behind a hole */
    assert_string_equal(b.p, "1234");
    strbuf_add(&b, "", SIZE_MAX); /* a size that would wrap */
    assert_int_equal(b.n, 4);
}

static void a_release_leaves_a_usable_buffer(void **state UNUSED) {
    struct strbuf b;
    strbuf_init(&b, 3);
    strbuf_adds(&b, "abcd");
    strbuf_release(&b);
    strbuf_adds(&b, "abc");
    assert_string_equal(b.p, "abc");
    assert_false(b.overflow);
    strbuf_release(&b);
    strbuf_init(&b, 0);
    strbuf_addc(&b, 'x');
    assert_true(b.overflow);
    assert_string_equal(strbuf_str(&b).p, "");
    strbuf_release(&b);
}

#define BAD "\xEF\xBF\xBD"

static void json_strings(void **state UNUSED) {
    static const struct {
        struct str text;
        const char *want;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{NULL, 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"a\"b\\c/", 6}, "\"a\\\"b\\\\c/\""},
        {{"\n\r\t", 3}, "\"\\n\\r\\t\""},
        {{"\0\x01\x08\x1F\x7F", 5}, "\"\\u0000\\u0001\\u0008\\u001f\x7F\""},
        {{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9}, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {{"a\xFFz", 3}, "\"a" BAD "z\""},
        {{"\xC3", 1}, "\"" BAD "\""}, /* cut short */
        {{"\xE2\x82", 2}, "\"" BAD BAD "\""},
        {{"\xE2\x82\"", 3}, "\"" BAD BAD "\\\"\""},   /* the quote is not swallowed */
        {{"\xED\xA0\x80", 3}, "\"" BAD BAD BAD "\""}, /* half a surrogate pair */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, 1000);
        strbuf_add_json(&b, cases[i].text);
        if (strcmp(b.p, cases[i].want) != 0)
            fail_msg("case %zu: %s", i, b.p);
    }
}

/* Byte by byte, as plainly as it can be said. */
static void add_json_slowly(struct strbuf *b, struct str s) {
    strbuf_addc(b, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        size_t len = utf8_len((const unsigned char *)s.p + i, s.n - i);
        if (c == '"' || c == '\\')
            strbuf_addf(b, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            strbuf_addf(b, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c < 0x20)
            strbuf_addf(b, "\\u%04x", c);
        else if (len)
            strbuf_add(b, s.p + i, len);
        else
            strbuf_adds(b, "\xEF\xBF\xBD");
        i += len ? len : 1;
    }
    strbuf_addc(b, '"');
}

/* Runs of every length before and behind bytes of every kind. */
static void json_runs(void **state UNUSED) {
    static const char *const kinds[] = {"a",    "\"",       "\\",   "\n",   "\x01",
                                        "\x7f", "\xC3\xA9", "\xC3", "\xFF", "\xF0\x9F\x9A\x80"};
    struct rng rng = {42};
    for (int round = 0; round < 20000; round++) {
        CLEANUP(strbuf_release) struct strbuf text, quick, slow;
        strbuf_init(&text, 1000);
        strbuf_init(&quick, 5000);
        strbuf_init(&slow, 5000);
        for (size_t pieces = rng_below(&rng, 6); pieces > 0; pieces--) {
            for (size_t plain = rng_below(&rng, 20); plain > 0; plain--)
                strbuf_addc(&text, (char)(0x20 + rng_below(&rng, 0x5F)));
            strbuf_adds(&text, kinds[rng_below(&rng, ARRAY_LEN(kinds))]);
        }
        strbuf_add_json(&quick, strbuf_str(&text));
        add_json_slowly(&slow, strbuf_str(&text));
        assert_string_equal(quick.p, slow.p);
    }
}

static void json_respects_the_maximum(void **state UNUSED) {
    for (size_t max = 0; max < 12; max++) {
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, max);
        strbuf_add_json(&b, STR("a\x01\xC3\xA9\""));
        assert_true(b.n <= max);
        assert_true(b.overflow);
    }
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 13);
    strbuf_add_json(&b, STR("a\x01\xC3\xA9\""));
    assert_false(b.overflow);
}

static const struct {
    const char *bytes;
    size_t n, want;
} utf8_cases[] = {
    {"", 0, 0},
    {"\0", 1, 1},
    {"a", 1, 1},
    {"\x7F", 1, 1},
    {"\x80", 1, 0},
    {"\xBF\xBF", 2, 0},
    {"\xC0\x80", 2, 0}, /* overlong */
    {"\xC1\xBF", 2, 0},
    {"\xC2\x80", 2, 2},
    {"\xDF\xBF", 2, 2},
    {"\xC2", 1, 0},
    {"\xC2\x41", 2, 0},
    {"\xC2\xC2", 2, 0},
    {"\xE0\x9F\xBF", 3, 0},
    {"\xE0\xA0\x80", 3, 3},
    {"\xED\x9F\xBF", 3, 3},
    {"\xED\xA0\x80", 3, 0}, /* surrogates */
    {"\xED\xBF\xBF", 3, 0},
    {"\xEE\x80\x80", 3, 3},
    {"\xEF\xBF\xBF", 3, 3},
    {"\xE2\x82\xAC", 2, 0},
    {"\xE2\x28\xA1", 3, 0},
    {"\xE2\x82\x28", 3, 0},
    {"\xF0\x8F\xBF\xBF", 4, 0},
    {"\xF0\x90\x80\x80", 4, 4},
    {"\xF4\x8F\xBF\xBF", 4, 4},
    {"\xF4\x90\x80\x80", 4, 0}, /* beyond Unicode */
    {"\xF5\x80\x80\x80", 4, 0},
    {"\xFF\xFF\xFF\xFF", 4, 0},
    {"\xF0\x9F\x98\x80", 3, 0},
    {"\xF0\x9F\x98\x41", 4, 0},
    {"\xC3\xA9zzzz", 6, 2},
};

static void utf8_lengths(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(utf8_cases); i++)
        if (utf8_len((const unsigned char *)utf8_cases[i].bytes, utf8_cases[i].n) !=
            utf8_cases[i].want)
            fail_msg("case %zu", i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons),
        cmocka_unit_test(integers),
        cmocka_unit_test(a_buffer_grows),
        cmocka_unit_test(a_buffer_stops_at_its_maximum),
        cmocka_unit_test(a_release_leaves_a_usable_buffer),
        cmocka_unit_test(json_strings),
        cmocka_unit_test(json_runs),
        cmocka_unit_test(json_respects_the_maximum),
        cmocka_unit_test(utf8_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
