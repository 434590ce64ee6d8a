#include "enrich/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
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

static struct request_template post(const char *body) {
    return (struct request_template){STR("POST"), STR("/lookup"), str_of(body)};
}

static void assert_body(const char *body, struct str row, const char *want) {
    struct request_template t = post(body);
    struct str path, filled;
    struct err e = {0};
    if (request_fill(&t, row, &arena, &path, &filled, &e) != V_OK)
        fail_msg("%s", e.msg);
    assert_string_equal(path.p, "/lookup");
    assert_string_equal(filled.p, want);
}

static void a_lone_place_keeps_its_type(void **state) {
    (void)state;
    struct str row = STR("{\"t\":\"a\",\"i\":7,\"r\":0.10,\"b\":true,\"n\":null,"
                         "\"big\":12345678901234567890123,\"j\":{\"x\":[1]}}");
    assert_body("{\"v\":\"{t}\"}", row, "{\"v\":\"a\"}");
    assert_body("{\"v\":\"{i}\"}", row, "{\"v\":7}");
    assert_body("{\"v\":\"{r}\"}", row, "{\"v\":0.10}");
    assert_body("{\"v\":\"{b}\"}", row, "{\"v\":true}");
    assert_body("{\"v\":\"{n}\"}", row, "{\"v\":null}");
    assert_body("{\"v\":\"{big}\"}", row, "{\"v\":12345678901234567890123}");
    assert_body("{\"v\":\"{j}\"}", row, "{\"v\":{\"x\":[1]}}");
    assert_body("\"{i}\"", row, "7");
    assert_body("[\"{i}\", \"{t}\", 1, null]", row, "[7,\"a\",1,null]");
}

static void places_among_text_are_joined(void **state) {
    (void)state;
    struct str row = STR("{\"artist\":\"Sun Ra\",\"album\":null,\"year\":1973,\"live\":false,"
                         "\"tags\":[\"a\"]}");
    assert_body("{\"raw\":\"{artist} - {album} - {year}\"}", row, "{\"raw\":\"Sun Ra -  - 1973\"}");
    assert_body("\"{artist}{artist}\"", row, "\"Sun RaSun Ra\"");
    assert_body("\" {year}\"", row, "\" 1973\"");
    assert_body("\"{live} {tags}\"", row, "\"false [\\\"a\\\"]\"");
    assert_body("\"{{artist}} {artist} }}{{\"", row, "\"{artist} Sun Ra }{\"");
    assert_body("{\"{{k}}\":\"{{\"}", row, "{\"{{k}}\":\"{\"}"); /* names are as they are */
}

/* What a column holds can never end its string, its document or its request. */
static void any_bytes_are_safe(void **state) {
    (void)state;
    assert_body("{\"a\":\"{x}\",\"b\":\"<{x}>\"}",
                STR("{\"x\":\"\\\"},{\\\"evil\\\":1,{y}{{\\\\ \\u0000\\n\\ud800\xFF\\u0001\"}"),
                "{\"a\":\"\\\"},{\\\"evil\\\":1,{y}{{\\\\ " FFFD "\\n" FFFD FFFD "\\u0001\","
                "\"b\":\"<\\\"},{\\\"evil\\\":1,{y}{{\\\\ " FFFD "\\n" FFFD FFFD "\\u0001>\"}");
    assert_body("\"{odd name.\\\"}\"", STR("{\"odd name.\\\"\":1}"), "1");
    assert_body("\"{x}\"", STR("{\"x\":1,\"x\":2}"), "2");
}

static void paths_are_percent_encoded(void **state) {
    (void)state;
    struct request_template t = {STR("GET"), STR("/by/{a}/x?q={b}&n={n}&{{}}"), STR_NONE};
    struct str path, body = STR("was"),
                     row = STR("{\"a\":\"a/b?c#d%\",\"b\":\"\xC3\xBC &=\\u0000\","
                               "\"n\":null}");
    struct err e;
    assert_int_equal(request_fill(&t, row, &arena, &path, &body, &e), V_OK);
    assert_string_equal(path.p, "/by/a%2Fb%3Fc%23d%25/x?q=%C3%BC%20%26%3D%EF%BF%BD&n=&{}");
    assert_null(body.p);
}

static void dots_for_a_step_are_refused(void **state) {
    (void)state;
    struct request_template t = {STR("GET"), STR("/by/{a}?q={a}"), STR_NONE};
    struct str path, body;
    struct err e;
    assert_int_equal(request_fill(&t, STR("{\"a\":\"..\"}"), &arena, &path, &body, &e), V_INVALID);
    assert_int_equal(request_fill(&t, STR("{\"a\":\".\"}"), &arena, &path, &body, &e), V_INVALID);
    assert_int_equal(request_fill(&t, STR("{\"a\":\"...\"}"), &arena, &path, &body, &e), V_OK);
    assert_int_equal(request_fill(&t, STR("{\"a\":\"../x\"}"), &arena, &path, &body, &e), V_OK);
    assert_string_equal(path.p, "/by/..%2Fx?q=..%2Fx");
}

static void rows_that_do_not_do(void **state) {
    (void)state;
    static const struct str rows[] = {STR("[]"),          STR("{\"x\":1"), STR(""),
                                      STR("{\"x\":1} 2"), STR("{}"),       STR("{\"x\":nope}")};
    struct request_template t = post("\"{x}\"");
    struct str path, body;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err e;
        assert_int_equal(request_fill(&t, rows[i], &arena, &path, &body, &e), V_INVALID);
    }
}

/* {"x":"aaa…"} of n bytes of text. */
static struct str long_row(size_t n, char c) {
    char *p = arena_alloc(&arena, n + 16);
    memcpy(p, "{\"x\":\"", 6);
    memset(p + 6, c, n);
    memcpy(p + 6 + n, "\"}", 3);
    return (struct str){p, n + 8};
}

static void lengths_have_limits(void **state) {
    (void)state;
    struct request_template t = post("\"{x}\""), joined = post("\"-{x}\""),
                            get = {STR("GET"), STR("/{x}"), STR_NONE};
    struct str path, body;
    struct err e;
    enum verdict v = request_fill(&t, long_row(REQUEST_MAX - 2, 'a'), &arena, &path, &body, &e);
    assert_int_equal(v, V_OK);
    assert_int_equal(body.n, REQUEST_MAX);
    v = request_fill(&t, long_row(REQUEST_MAX - 1, 'a'), &arena, &path, &body, &e);
    assert_int_equal(v, V_LIMIT);
    v = request_fill(&joined, long_row(REQUEST_MAX * 2, 'a'), &arena, &path, &body, &e);
    assert_int_equal(v, V_LIMIT);
    v = request_fill(&t, long_row(REQUEST_MAX / 2, '\t'), &arena, &path, &body, &e);
    assert_int_equal(v, V_LIMIT); /* escapes count */
    v = request_fill(&get, long_row(REQUEST_PATH_MAX - 1, 'a'), &arena, &path, &body, &e);
    assert_int_equal(v, V_OK);
    v = request_fill(&get, long_row(REQUEST_PATH_MAX, 'a'), &arena, &path, &body, &e);
    assert_int_equal(v, V_LIMIT);
}

static void a_row_has_so_many_columns(void **state) {
    (void)state;
    struct request_template t = post("\"{c0}\"");
    struct str path, body;
    struct err e;
    for (int n = REQUEST_COLUMNS_MAX; n <= REQUEST_COLUMNS_MAX + 1; n++) {
        struct strbuf row;
        strbuf_init(&row, 10000);
        for (int i = 0; i < n; i++)
            strbuf_addf(&row, "%s\"c%d\":%d", i ? "," : "{", i, i);
        strbuf_addc(&row, '}');
        assert_int_equal(request_fill(&t, strbuf_str(&row), &arena, &path, &body, &e),
                         n == REQUEST_COLUMNS_MAX ? V_OK : V_LIMIT);
        strbuf_release(&row);
    }
}

static void columns_are_named_once(void **state) {
    (void)state;
    struct request_template t = {
        STR("POST"), STR("/x/{id}?a={artist_name}"),
        STR("{\"a\":[\"{artist_name}\",{\"b\":\"{track} - {id}{{no}}\"}],\"{{c}}\":1}")};
    struct str columns[8];
    size_t n;
    int line = 9;
    struct err e;
    assert_int_equal(request_check(&t, &arena, columns, 8, &n, &line, &e), V_OK);
    assert_int_equal(n, 3);
    assert_int_equal(line, 0);
    assert_string_equal(columns[0].p, "id");
    assert_string_equal(columns[1].p, "artist_name");
    assert_string_equal(columns[2].p, "track");
    assert_int_equal(request_check(&t, &arena, columns, 2, &n, NULL, &e), V_INVALID);
}

static const struct {
    const char *method, *path, *body;
    int line;
    const char *message; /* in it */
} mistakes[] = {
    {"PUT", "/", NULL, 0, "method: GET or POST"},
    {"GET", "/", "{}", 0, "body: a GET has none"},
    {"POST", "x", "{}", 0, "path: must begin with a slash"},
    {"POST", "", "{}", 0, "path: must begin with a slash"},
    {"POST", "/a b", "{}", 0, "path: percent-encode"},
    {"POST", "/a#b", "{}", 0, "path: percent-encode"},
    {"POST", "/\xC3\xBC", "{}", 0, "path: percent-encode"},
    {"POST", "/{", "{}", 0, "path: write a place as {column}"},
    {"POST", "/{}", "{}", 0, "path: write a place as {column}"},
    {"POST", "/}", "{}", 0, "path: write a place as {column}"},
    {"POST", "/{{{}", "{}", 0, "path: write a place as {column}"},
    {"POST", "/", "", 0, "body: not JSON"},
    {"POST", "/", "{\n\n\"a\":1,\n\"b\" 2}", 3, "body: not JSON"},
    {"POST", "/", "{} {}", 0, "body: not JSON"},
    {"POST", "/", "{\"a\":1,\n\"a\":1}", 1, "body: not JSON: duplicate"},
    {"POST", "/", "{\n\"a\":\n\"{x\"}", 2, "body: write a place as {column} and a brace"},
    {"POST", "/", "{\n\"a\":\n\"{ x }\"}", 2, "not: { x }"},
    {"POST", "/", "[\"ok {x}\",\n\"}\"]", 1, "body: write a place as {column}"},
    {"POST", "/", "\"{a{b}\"", 0, "body: write a place as {column}"},
};

static void mistakes_are_told(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct request_template t = {str_of(mistakes[i].method), str_of(mistakes[i].path),
                                     str_of(mistakes[i].body)};
        struct str columns[8];
        size_t n;
        int line = 0;
        struct err e = {0};
        assert_int_equal(request_check(&t, &arena, columns, 8, &n, &line, &e), V_INVALID);
        if (!strstr(e.msg, mistakes[i].message) || line != mistakes[i].line)
            fail_msg("%zu: line %d: %s", i, line, e.msg);
    }
}

static void templates_have_a_depth(void **state) {
    (void)state;
    char text[301] = "";
    memset(text, '[', 150);
    memset(text + 150, ']', 150);
    struct request_template t = post(text);
    struct str columns[8];
    size_t n;
    struct err e = {0};
    assert_int_equal(request_check(&t, &arena, columns, 8, &n, NULL, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "nested"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_lone_place_keeps_its_type), CASE(places_among_text_are_joined),
        CASE(any_bytes_are_safe),          CASE(paths_are_percent_encoded),
        CASE(dots_for_a_step_are_refused), CASE(rows_that_do_not_do),
        CASE(lengths_have_limits),         CASE(a_row_has_so_many_columns),
        CASE(columns_are_named_once),      CASE(mistakes_are_told),
        CASE(templates_have_a_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
