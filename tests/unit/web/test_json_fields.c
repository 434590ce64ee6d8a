/* Fields of JSON answers: numbers, texts, instants, and what is absent. */
#include "hn/item.h"
#include "web/json_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void said(struct strbuf *b, const char *wanted) {
    assert_string_equal(b->p, wanted);
    strbuf_clear(b);
}

static void values_and_what_is_absent(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    json_num(&b, "{\"n\":", 0);
    json_num(&b, ",\"m\":", -42);
    json_num(&b, ",\"o\":", INT64_MAX);
    json_num(&b, ",\"p\":", I64_NONE);
    said(&b, "{\"n\":0,\"m\":-42,\"o\":9223372036854775807,\"p\":null");
    json_str(&b, "\"s\":", STR("a \"b\"\n"));
    json_str(&b, ",\"t\":", STR(""));
    json_str(&b, ",\"u\":", STR_NONE);
    said(&b, "\"s\":\"a \\\"b\\\"\\n\",\"t\":\"\",\"u\":null");
}

static void instants(void **state UNUSED) {
    static const struct {
        int64_t at;
        const char *text;
    } cases[] = {
        {0, "\"1970-01-01T00:00:00Z\""},
        {951782400, "\"2000-02-29T00:00:00Z\""},
        {951868799, "\"2000-02-29T23:59:59Z\""},
        {1420232746, "\"2015-01-02T21:05:46Z\""},
        {4107542400, "\"2100-03-01T00:00:00Z\""}, /* 2100 has no 29 February */
        {253402300799, "\"9999-12-31T23:59:59Z\""},
        {253402300800, "null"},
        {-1, "null"},
        {I64_NONE, "null"},
        {INT64_MAX, "null"},
    };
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_when(&b, "", cases[i].at);
        said(&b, cases[i].text);
    }
}

static void the_calendar_of_the_library_agrees(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    for (time_t at = 0; at < 253402300799; at += 86400 * 9 + 12345) {
        char text[40];
        struct tm tm;
        gmtime_r(&at, &tm);
        strftime(text, sizeof text, "\"%Y-%m-%dT%H:%M:%SZ\"", &tm);
        json_when(&b, "", at);
        said(&b, text);
    }
}

static void what_was_never_fetched_says_so(void **state UNUSED) {
    assert_int_equal(fetched_seconds(INT64_C(1800000000999)), 1800000000);
    assert_true(fetched_seconds(0) == I64_NONE && fetched_seconds(1) == I64_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_what_is_absent),
        cmocka_unit_test(instants),
        cmocka_unit_test(the_calendar_of_the_library_agrees),
        cmocka_unit_test(what_was_never_fetched_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
