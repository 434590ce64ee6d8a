#include "cli/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct shape_case {
    bool (*accepts)(const char *);
    const char *text;
    bool expected;
};

static void shapes(void **state) {
    (void)state;
    static const struct shape_case cases[] = {
        {shape_database, "sqlite:tain.db", true},
        {shape_database, "sqlite:", false},
        {shape_database, "tain.db", false},
        {shape_database, "postgres://host/x", true},
        {shape_database, "postgresql:///x?host=/run", true},
        {shape_database, "host=x", false},
        {shape_identifier, "tain", true},
        {shape_identifier, "_a9", true},
        {shape_identifier, "9a", false},
        {shape_identifier, "", false},
        {shape_identifier, "a-b", false},
        {shape_identifier, "a\"b", false},
        {shape_identifier, "pg_x", false},
        {shape_http_root, "http://h", true},
        {shape_http_root, "https://h:80/v0", true},
        {shape_http_root, "http://[::1]:8080/v0", true},
        {shape_http_root, "http://[::1]/v0", true},
        {shape_http_root, "http://h:99999/v0", false},
        {shape_http_root, "http://h:x/v0", false},
        {shape_http_root, "http://h:/v0", false},
        {shape_http_root, "http://", false},
        {shape_http_root, "http:///v0", false},
        {shape_http_root, "http://h/v0?x", false},
        {shape_http_root, "http://h/v 0", false},
        {shape_http_root, "file:///etc", false},
        {shape_bind_or_none, "none", true},
        {shape_bind_or_none, "", true},
        {shape_bind_or_none, "127.0.0.1:9464", true},
        {shape_bind_or_none, "off", false},
        {shape_bind_or_none, "[off]", false}, /* no colon at all: nothing behind the end is read */
        {shape_bind_or_none, "h:65536", false},
        {shape_address, "::1", true},
        {shape_address, "0.0.0.0", true},
        {shape_address, "localhost", false},
        {shape_id_range, "1-1", true},
        {shape_id_range, "1-20", true},
        {shape_id_range, "2-1", false},
        {shape_id_range, "0-1", false},
        {shape_id_range, "5", false},
        {shape_id_range, "1-2-3", false},
        {shape_words, "gone for good", true},
        {shape_words, "caf\xC3\xA9", true},
        {shape_words, "", false},
        {shape_words, "caf\xE9", false},
        {shape_words, "\xFF\xFE", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cases[i].accepts(cases[i].text) != cases[i].expected)
            fail_msg("case %zu: '%s'", i, cases[i].text);
}

static void addresses_to_listen_on(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool expected;
    } cases[] = {
        {"127.0.0.1:9464", true},
        {"localhost:0", true},
        {"[::1]:1", true},
        {"0.0.0.0:65535", true},
        {"::1:1", false},
        {"[127.0.0.1]:1", false},
        {"*:1", false},
        {"nowhere.invalid:1", false},
        {"127.0.0.1:-0", false},
        {"127.0.0.1:", false},
        {"127.0.0.1:65536", false},
        {"[]:1", false},
        {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:1", true},
        {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555]:1", false},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1", false},
        {":80", false},
        {"h:65536", false},
        {"h:", false},
        {"h:-1", false},
        {"none", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (shape_bind(cases[i].text) != cases[i].expected)
            fail_msg("case %zu: '%s'", i, cases[i].text);
}

static void instants(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* -1: none */
    } cases[] = {
        {"1700000000", 1700000000000},
        {"100000000", 100000000000},
        {"99999999", -1},
        {"2020", -1},
        {"20200101", -1},
        {"2023-11-14T22:13:20Z", 1700000000000},
        {"2023-11-14T22:13:20", 1700000000000},
        {"2023-11-14 22:13:20", 1700000000000},
        {"2023-11-14", 1699920000000},
        {"2024-02-29", 1709164800000},
        {"2023-02-29", -1},
        {"2023-13-01", -1},
        {"2023-11-14T22:13", -1},
        {"2023-11-14T22:13:20+01:00", -1},
        {"0", -1},
        {"-5", -1},
        {"1700000000000", -1}, /* milliseconds: some 50,000 years ahead */
        {"1960-01-01", -1},
        {"yesterday", -1},
        {"", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = -1;
        bool expected = cases[i].ms >= 0;
        if (shape_instant(cases[i].text) != expected ||
            shape_parse_instant(cases[i].text, &ms) != expected || (expected && ms != cases[i].ms))
            fail_msg("'%s' gave %lld", cases[i].text, (long long)ms);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes),
                                       cmocka_unit_test(addresses_to_listen_on),
                                       cmocka_unit_test(instants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
