#include "enrich/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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

/* ---- paths */

static void paths_are_checked(void **state) {
    (void)state;
    static const char *const good[] = {
        "a",
        "results[0].artwork.x",
        "[0]",
        "[0][1]",
        "[\"odd. name\"]",
        "a[\"b\"].c",
        "a-b_c.d9",
        "a[1234567]",
        "\xC3\xBC",
        "[\"\"]",
        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p",
    };
    static const char *const bad[] = {
        "",
        ".a",
        "a.",
        "a..b",
        "a[",
        "a[]",
        "a[x]",
        "a[-1]",
        "a b",
        "a[0]b",
        "$.a",
        "a[\"b]",
        "a]",
        "a[0].",
        "a[\"b\"",
        "a[12345678]",
        "[",
        "a.[0]",
        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q",
    };
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (answer_check_path(str_of(good[i]), &e) != V_OK)
            fail_msg("%s: %s", good[i], e.msg);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (answer_check_path(str_of(bad[i]), &e) != V_INVALID)
            fail_msg("%s passed", bad[i]);
}

/* ---- which kind of answer */

static const struct str unsure_paths[] = {STR("timeout"), STR("degraded")};
static const struct map_rule url_rule[] = {
    {.column = STR("url"), .from = STR("results[0].artwork.url"), .type = MAP_TEXT}};
static const struct answer_rules lookup = {
    .match = STR("results[0].artwork"),
    .unsure = unsure_paths,
    .n_unsure = ARRAY_LEN(unsure_paths),
    .map = url_rule,
    .n_map = 1,
};

static struct answer read_with(const struct answer_rules *r, const char *body) {
    struct answer got;
    answer_read(r, str_of(body), NULL, NULL, &arena, &got);
    return got;
}

static const struct {
    const char *body;
    enum answer_kind kind;
    const char *values; /* of a match */
} kinds[] = {
    {"{\"results\":[{\"artwork\":{\"url\":\"u\"}}]}", ANSWER_MATCH, "{\"url\":\"u\"}"},
    {"{\"results\":[{\"artwork\":{\"x\":1}}]}", ANSWER_MATCH, "{\"url\":null}"},
    /* degraded, and yet something was found */
    {"{\"results\":[{\"artwork\":{\"url\":\"u\"}}],\"degraded\":true}", ANSWER_MATCH,
     "{\"url\":\"u\"}"},
    /* the last of two members counts */
    {"{\"results\":[],\"results\":[{\"artwork\":{\"url\":\"a\",\"url\":\"b\"}}]}", ANSWER_MATCH,
     "{\"url\":\"b\"}"},
    {"{\"results\":[{\"artwork\":{\"url\":\"b\"}}],\"results\":[]}", ANSWER_NO_MATCH, NULL},
    {" { \"\\u0072esults\" : [ { \"artwork\" : { \"u\\u0072l\" : \"u\" } } ] } ", ANSWER_MATCH,
     "{\"url\":\"u\"}"},
    /* huge and odd things beside what is asked for */
    {"{\"n\":1e999,\"m\":99999999999999999999999,\"s\":\"\\ud800\",\"results\":[{\"artwork\":{"
     "\"url\":\"\\ud800\\u0000\"}}]}",
     ANSWER_MATCH, "{\"url\":\"" FFFD FFFD "\"}"},
    {"{\"results\":[]}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":null}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[null]}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[{}]}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[{\"artwork\":null}]}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[{\"artwork\":{}}]}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[],\"timeout\":false,\"degraded\":false}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[],\"timeout\":null,\"degraded\":0}", ANSWER_NO_MATCH, NULL},
    {"{\"results\":[],\"timeout\":true}", ANSWER_UNSURE, NULL},
    {"{\"results\":[],\"degraded\":true}", ANSWER_UNSURE, NULL},
    {"{\"results\":[],\"degraded\":\"yes\"}", ANSWER_UNSURE, NULL},
    {"{\"results\":[],\"degraded\":1}", ANSWER_UNSURE, NULL},
    {"{\"degraded\":true}", ANSWER_UNSURE, NULL},
    {"{\"results\":[{\"artwork\":null}],\"timeout\":true}", ANSWER_UNSURE, NULL},
    {"", ANSWER_GARBAGE, NULL},
    {"<html>", ANSWER_GARBAGE, NULL},
    {"null", ANSWER_GARBAGE, NULL},
    {"[]", ANSWER_GARBAGE, NULL},
    {"{}", ANSWER_GARBAGE, NULL},
    {"{\"error\":\"over quota\"}", ANSWER_GARBAGE, NULL},
    {"{\"results\":{}}", ANSWER_GARBAGE, NULL},
    {"{\"results\":\"none\"}", ANSWER_GARBAGE, NULL},
    {"{\"results\":[1]}", ANSWER_GARBAGE, NULL},
    {"{\"results\":[{\"artwork\":[1]}]}", ANSWER_GARBAGE, NULL}, /* url leads into a list */
    {"{\"results\":[]", ANSWER_GARBAGE, NULL},
    {"{\"results\":[]} {}", ANSWER_GARBAGE, NULL},
    {"{\"results\":[{\"artwork\":{\"url\":\"u\"}}]", ANSWER_GARBAGE, NULL},
};

static void kinds_of_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct answer got = read_with(&lookup, kinds[i].body);
        if (got.kind != kinds[i].kind)
            fail_msg("%s: %d %.*s", kinds[i].body, got.kind, STR_FMT(got.error));
        if (kinds[i].values)
            assert_string_equal(got.values.p, kinds[i].values);
        else
            assert_null(got.values.p);
        bool silent = got.kind == ANSWER_MATCH || got.kind == ANSWER_NO_MATCH;
        assert_int_equal(got.error.p == NULL, silent);
    }
}

/* A match rule of one step: {} may well be how a service says that it has nothing. */
static void short_match_rules(void **state) {
    (void)state;
    struct answer_rules r = {.match = STR("found")};
    assert_int_equal(read_with(&r, "{\"found\":true}").kind, ANSWER_MATCH);
    assert_string_equal(read_with(&r, "{\"found\":true}").values.p, "{}");
    assert_int_equal(read_with(&r, "{\"found\":3}").kind, ANSWER_MATCH);
    assert_int_equal(read_with(&r, "{\"found\":\"x\"}").kind, ANSWER_MATCH);
    assert_int_equal(read_with(&r, "{\"found\":0.5}").kind, ANSWER_MATCH);
    assert_int_equal(read_with(&r, "{\"found\":false}").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "{\"found\":0}").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "{\"found\":-0.0e7}").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "{\"found\":\"\"}").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "{}").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "[]").kind, ANSWER_GARBAGE);
    assert_int_equal(read_with(&r, "7").kind, ANSWER_GARBAGE);
    r.match = STR("[0]");
    assert_int_equal(read_with(&r, "[{\"a\":1}]").kind, ANSWER_MATCH);
    assert_int_equal(read_with(&r, "[]").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "{}").kind, ANSWER_GARBAGE);
    r.match = STR("[1].x");
    assert_int_equal(read_with(&r, "[1]").kind, ANSWER_NO_MATCH);
    assert_int_equal(read_with(&r, "[1,2]").kind, ANSWER_GARBAGE);
}

/* ---- values by type and column */

static const struct source_column
    text512 = {.type = COLUMN_TEXT, .max_chars = 512, .type_name = STR("character varying")},
    text = {.type = COLUMN_TEXT, .type_name = STR("text")},
    small = {.type = COLUMN_INT, .min = -32768, .max = 32767, .type_name = STR("smallint")},
    real = {.type = COLUMN_REAL, .type_name = STR("real")},
    whole = {.type = COLUMN_REAL, .type_name = STR("double precision")},
    boolean = {.type = COLUMN_BOOL, .type_name = STR("boolean")};

static const struct source_column *the_column(void *ctx, size_t i) {
    assert_int_equal(i, 0);
    return ctx;
}

static struct answer read_value(struct map_rule rule, const struct source_column *c,
                                const char *json) {
    rule.column = STR("c");
    rule.from = STR("v.x");
    struct answer_rules r = {.match = STR("v"), .map = &rule, .n_map = 1};
    struct strbuf body;
    struct answer got;
    strbuf_init(&body, ANSWER_MAX);
    strbuf_addf(&body, "{\"v\":{\"x\":%s,\"y\":1}}", json);
    answer_read(&r, strbuf_str(&body), the_column, (void *)(uintptr_t)c, &arena, &got);
    strbuf_release(&body);
    return got;
}

static const struct {
    enum map_type type;
    const struct source_column *column;
    const char *json, *want; /* want NULL: a misfit */
} values[] = {
    {MAP_TEXT, &text, "\"a \\u00fc\"", "\"a \xC3\xBC\""},
    {MAP_TEXT, &text, "\"\"", "\"\""},
    {MAP_TEXT, &text, "null", "null"},
    {MAP_TEXT, &text, "1.50", "\"1.50\""},
    {MAP_TEXT, &text, "true", "\"true\""},
    {MAP_TEXT, &text, "\"\\u0000\"", "\"" FFFD "\""},
    {MAP_TEXT, &text, "[]", NULL},
    {MAP_TEXT, &text, "{\"a\":1}", NULL},
    {MAP_URL, &text512, "\"https://a.example/x?y=%20#z\"", "\"https://a.example/x?y=%20#z\""},
    {MAP_URL, &text512, "\" HTTP://a.example \"", "\"HTTP://a.example\""},
    {MAP_URL, &text512, "\"\"", "null"},
    {MAP_URL, &text512, "\"https://\xC3\xBC.example/|\"", "\"https://\xC3\xBC.example/|\""},
    {MAP_URL, &text512, "\"javascript:alert(1)\"", NULL},
    {MAP_URL, &text512, "\"//a.example\"", NULL},
    {MAP_URL, &text512, "\"http://\"", NULL},
    {MAP_URL, &text512, "\"https:///x\"", NULL},
    {MAP_URL, &text512, "\"ftp://a.example\"", NULL},
    {MAP_URL, &text512, "\"http://a b\"", NULL},
    {MAP_URL, &text512, "\"http://a\\nb\"", NULL},
    {MAP_URL, &text512, "\"http://a/\\\"onclick=\"", NULL},
    {MAP_URL, &text512, "7", NULL},
    {MAP_INT, &small, "1973", "1973"},
    {MAP_INT, &small, "1973.0", "1973"},
    {MAP_INT, &small, "1.973e3", "1973"},
    {MAP_INT, &small, "\"1973\"", "1973"},
    {MAP_INT, &small, "-32768", "-32768"},
    {MAP_INT, &small, "32767", "32767"},
    {MAP_INT, &small, "32768", NULL},
    {MAP_INT, &small, "-32769", NULL},
    {MAP_INT, &small, "1973.5", NULL},
    {MAP_INT, &small, "\"1973 \"", NULL},
    {MAP_INT, &small, "\"\"", NULL},
    {MAP_INT, &small, "true", NULL},
    {MAP_INT, &small, "[1973]", NULL},
    {MAP_INT, &small, "1e999", NULL},
    {MAP_INT, &small, "99999999999999999999", NULL},
    {MAP_INT, NULL, "9223372036854775807", "9223372036854775807"},
    {MAP_INT, NULL, "9223372036854775808", NULL},
    {MAP_REAL, &whole, "0.10", "0.10"},
    {MAP_REAL, &whole, "-1e300", "-1e300"},
    {MAP_REAL, &whole, "\"2.5\"", "2.5"},
    {MAP_REAL, &whole, "1e999", NULL},
    {MAP_REAL, &whole, "\"2.5x\"", NULL},
    {MAP_REAL, &whole, "\"nan\"", NULL},
    {MAP_REAL, &whole, "\"\"", NULL},
    {MAP_REAL, &whole, "\"007\"", NULL},
    {MAP_REAL, &whole, "false", NULL},
    {MAP_REAL, &real, "1e38", "1e38"},
    {MAP_REAL, &real, "1e39", NULL},
    {MAP_BOOL, &boolean, "true", "true"},
    {MAP_BOOL, &boolean, "0", "false"},
    {MAP_BOOL, &boolean, "\"Yes\"", "true"},
    {MAP_BOOL, &boolean, "2", NULL},
    {MAP_BOOL, &boolean, "\"maybe\"", NULL},
    {MAP_BOOL, &boolean, "[true]", NULL},
    {MAP_JSON, NULL, "{ \"a\" : [1, \"\\u0000\"] }", "{\"a\":[1,\"" FFFD "\"]}"},
    {MAP_JSON, NULL, "\"x\"", "\"x\""},
    {MAP_JSON, NULL, "[1,007]", NULL},
};

static void values_by_type(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct map_rule rule = {.type = values[i].type};
        struct answer got = read_value(rule, values[i].column, values[i].json);
        char want[200];
        snprintf(want, sizeof want, "{\"c\":%s}", values[i].want ? values[i].want : "null");
        if (got.kind != (values[i].want ? ANSWER_MATCH : ANSWER_MISFIT))
            fail_msg("%s: %d %.*s", values[i].json, got.kind, STR_FMT(got.error));
        if (values[i].want)
            assert_string_equal(got.values.p, want);
        else
            assert_true(str_starts(got.error, "c from v.x: "));
        rule.misfit = MISFIT_NULL; /* what does not fit is left out, and the rest is kept */
        got = read_value(rule, values[i].column, values[i].json);
        assert_int_equal(got.kind, ANSWER_MATCH);
        assert_string_equal(got.values.p, want);
    }
}

static void none_means_null(void **state) {
    (void)state;
    struct map_rule year = {.type = MAP_INT, .none = STR("0")};
    assert_string_equal(read_value(year, &small, "0").values.p, "{\"c\":null}");
    assert_string_equal(read_value(year, &small, "0.0").values.p, "{\"c\":null}");
    assert_string_equal(read_value(year, &small, "\"0\"").values.p, "{\"c\":null}");
    assert_string_equal(read_value(year, &small, "\"00\"").values.p, "{\"c\":null}");
    assert_string_equal(read_value(year, &small, "1").values.p, "{\"c\":1}");
    struct map_rule word = {.type = MAP_TEXT, .none = STR("unknown")};
    assert_string_equal(read_value(word, &text, "\"unknown\"").values.p, "{\"c\":null}");
    assert_string_equal(read_value(word, &text, "\"unknown!\"").values.p, "{\"c\":\"unknown!\"}");
    word.none = STR("");
    assert_string_equal(read_value(word, &text, "\"\"").values.p, "{\"c\":null}");
    assert_string_equal(read_value(word, &text, "0").values.p, "{\"c\":\"0\"}");
}

/* n times the two bytes of one character, in quotes. */
static const char *long_text(const char *start, size_t n) {
    static char made[256 * 1024];
    size_t at = (size_t)snprintf(made, sizeof made, "\"%s", start);
    assert_true(at + n * 2 + 2 <= sizeof made);
    for (size_t i = 0; i < n; i++, at += 2)
        memcpy(made + at, "\xC3\xBC", 2);
    memcpy(made + at, "\"", 2);
    return arena_strdup(&arena, made);
}

static void limits_count_characters(void **state) {
    (void)state;
    struct map_rule rule = {.type = MAP_TEXT};
    assert_int_equal(read_value(rule, &text512, long_text("", 512)).kind, ANSWER_MATCH);
    assert_int_equal(read_value(rule, &text512, long_text("", 513)).kind, ANSWER_MISFIT);
    assert_int_equal(read_value(rule, &text, long_text("", 100000)).kind, ANSWER_MATCH);
    rule.max = 600; /* the smaller of the two counts */
    assert_int_equal(read_value(rule, &text512, long_text("", 513)).kind, ANSWER_MISFIT);
    assert_int_equal(read_value(rule, &text, long_text("", 600)).kind, ANSWER_MATCH);
    assert_int_equal(read_value(rule, NULL, long_text("", 601)).kind, ANSWER_MISFIT);
    rule.max = 3;
    rule.misfit = MISFIT_CUT;
    assert_string_equal(read_value(rule, &text512, long_text("", 4)).values.p,
                        "{\"c\":\"\xC3\xBC\xC3\xBC\xC3\xBC\"}");
    rule.misfit = MISFIT_NULL;
    assert_string_equal(read_value(rule, &text512, long_text("", 4)).values.p, "{\"c\":null}");
}

static void addresses_are_never_cut(void **state) {
    (void)state;
    struct map_rule rule = {.type = MAP_URL};
    const char *fits = long_text("http://a/", 503), *longer = long_text("http://a/", 504);
    assert_int_equal(read_value(rule, &text512, fits).kind, ANSWER_MATCH);
    assert_int_equal(read_value(rule, &text512, longer).kind, ANSWER_MISFIT);
    rule.misfit = MISFIT_CUT;
    assert_string_equal(read_value(rule, &text512, longer).values.p, "{\"c\":null}");
}

static void maps_of_several_columns(void **state) {
    (void)state;
    static const struct map_rule map[] = {
        {.column = STR("a"), .from = STR("r[0].x.a"), .type = MAP_TEXT},
        {.column = STR("odd \"name"), .from = STR("r[0].x[\"b c\"]"), .type = MAP_INT},
        {.column = STR("d"), .from = STR("r[0].y[1]"), .type = MAP_INT},
        {.column = STR("e"), .from = STR("top"), .type = MAP_BOOL},
        {.column = STR("f"), .from = STR("r[1].x.a"), .type = MAP_TEXT},
        {.column = STR("g"), .from = STR("r[0].z.a"), .type = MAP_TEXT},
    };
    struct answer_rules r = {.match = STR("r[0]"), .map = map, .n_map = ARRAY_LEN(map)};
    struct answer got = read_with(
        &r, "{\"top\":true,\"r\":[{\"x\":{\"a\":\"A\",\"b c\":2},\"y\":[1,3],\"z\":null}]}");
    assert_int_equal(got.kind, ANSWER_MATCH);
    assert_string_equal(got.values.p, "{\"a\":\"A\",\"odd \\\"name\":2,\"d\":3,\"e\":true,"
                                      "\"f\":null,\"g\":null}");
}

/* ---- large and deep */

static struct str nested(size_t depth) {
    char *p = arena_alloc(&arena, depth * 2 + 64), *to = p;
    to += sprintf(to, "{\"results\":[],\"x\":");
    memset(to, '[', depth);
    memset(to + depth, ']', depth);
    to += depth * 2;
    *to++ = '}';
    return (struct str){p, (size_t)(to - p)};
}

static void deep_nesting_is_garbage(void **state) {
    (void)state;
    struct answer got;
    answer_read(&lookup, nested(60), NULL, NULL, &arena, &got);
    assert_int_equal(got.kind, ANSWER_NO_MATCH);
    answer_read(&lookup, nested(1000000), NULL, NULL, &arena, &got);
    assert_int_equal(got.kind, ANSWER_GARBAGE);
}

static void long_bodies_are_garbage(void **state) {
    (void)state;
    size_t n = (size_t)10 * 1024 * 1024;
    char *p = xmalloc(n);
    memset(p, ' ', n);
    memcpy(p, "{\"results\":[]}", 14);
    struct answer got;
    answer_read(&lookup, (struct str){p, ANSWER_MAX}, NULL, NULL, &arena, &got);
    assert_int_equal(got.kind, ANSWER_NO_MATCH);
    answer_read(&lookup, (struct str){p, ANSWER_MAX + 1}, NULL, NULL, &arena, &got);
    assert_int_equal(got.kind, ANSWER_GARBAGE);
    answer_read(&lookup, (struct str){p, n}, NULL, NULL, &arena, &got);
    assert_int_equal(got.kind, ANSWER_GARBAGE);
    free(p);
}

/* Values that grow beyond all measure when they are written as JSON. */
static void values_have_a_limit(void **state) {
    (void)state;
    static char p[ANSWER_MAX];
    static const char head[] = "{\"v\":{\"x\":\"";
    size_t n = ANSWER_MAX - 64, start = sizeof head - 1;
    memcpy(p, head, start);
    memset(p + start, '\x01', n);
    memcpy(p + start + n, "\"}}", 3);
    struct map_rule rule = {.column = STR("c"), .from = STR("v.x"), .type = MAP_TEXT};
    struct answer_rules r = {.match = STR("v"), .map = &rule, .n_map = 1};
    struct answer got;
    answer_read(&r, (struct str){p, start + n + 3}, NULL, NULL, &arena, &got);
    assert_int_equal(got.kind, ANSWER_MISFIT);
}

static void errors_are_printable(void **state) {
    (void)state;
    struct answer got = read_with(&lookup, "<html>\x1b[31m\x01\xFF and so on and on and on and on");
    assert_int_equal(got.kind, ANSWER_GARBAGE);
    for (size_t i = 0; i < got.error.n; i++)
        assert_in_range(got.error.p[i], ' ', '~');
    assert_non_null(strstr(got.error.p, "<html>?[31m??"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(paths_are_checked),       CASE(kinds_of_answers),        CASE(short_match_rules),
        CASE(values_by_type),          CASE(none_means_null),         CASE(limits_count_characters),
        CASE(addresses_are_never_cut), CASE(maps_of_several_columns), CASE(deep_nesting_is_garbage),
        CASE(long_bodies_are_garbage), CASE(values_have_a_limit),     CASE(errors_are_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
