#include "hn/item.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static struct item parsed(const char *json) {
    struct item it;
    if (item_parse(&arena, str_of(json), 0, &it) != ITEM_OK)
        fail_msg("does not parse: %s", json);
    return it;
}

static void reads_every_field(void **state) {
    (void)state;
    struct item it = parsed(
        "{\"by\":\"norvig\",\"dead\":true,\"deleted\":true,\"descendants\":54,\"id\":2921983,"
        "\"kids\":[3,1,2],\"parent\":2921506,\"parts\":[7,8],\"poll\":160704,\"score\":-1,"
        "\"text\":\"Aw &amp; shucks<p>\\u00fc\",\"time\":1314211127,\"title\":\"T\","
        "\"type\":\"comment\",\"url\":\"http://x.com/\"}");
    assert_int_equal(it.id, 2921983);
    assert_true(it.dead && it.deleted);
    assert_string_equal(it.by.p, "norvig");
    assert_int_equal(it.descendants, 54);
    assert_int_equal(it.n_kids, 3);
    assert_memory_equal(it.kids, ((int64_t[]){3, 1, 2}), 24);
    assert_int_equal(it.parent, 2921506);
    assert_int_equal(it.n_parts, 2);
    assert_memory_equal(it.parts, ((int64_t[]){7, 8}), 16);
    assert_int_equal(it.poll, 160704);
    assert_int_equal(it.score, -1);
    assert_string_equal(it.text.p, "Aw &amp; shucks<p>\u00fc");
    assert_int_equal(it.time, 1314211127);
    assert_string_equal(it.title.p, "T");
    assert_string_equal(it.type.p, "comment");
    assert_string_equal(it.url.p, "http://x.com/");
}

static void only_an_id(void **state) {
    (void)state;
    struct item it = parsed("{\"id\":5}");
    assert_int_equal(it.id, 5);
    assert_false(it.dead || it.deleted);
    assert_true(!it.by.p && !it.type.p && !it.text.p && !it.url.p && !it.title.p);
    assert_true(it.time == I64_NONE && it.parent == I64_NONE && it.poll == I64_NONE);
    assert_true(it.score == I64_NONE && it.descendants == I64_NONE);
    assert_true(!it.kids && !it.parts && it.n_kids == 0 && it.n_parts == 0);
    assert_false(item_is_root(&it));
}

static const struct {
    struct str body;
    int64_t want_id;
    enum item_shape shape;
} shapes[] = {
    {STR("{\"id\":5}"), 0, ITEM_OK},
    {STR("{\"id\":5}"), 5, ITEM_OK},
    {STR("{\"id\":5}"), 6, ITEM_WRONG_ID},
    {STR(" \n{ \"id\" : 5 , \"x\" : 1 }\r\n\t"), 5, ITEM_OK},
    {STR("{\"id\":\"5\"}"), 5, ITEM_OK},
    {STR("{\"id\":5.0}"), 5, ITEM_OK},
    {STR("{\"id\":1e3}"), 1000, ITEM_OK},
    {STR("{\"id\":[5]}"), 5, ITEM_OK},
    {STR("{\"\\u0069d\":5}"), 5, ITEM_OK},
    {STR("{\"id\":9,\"id\":5}"), 5, ITEM_OK},
    {STR("null"), 5, ITEM_NULL},
    {STR(" null\n"), 0, ITEM_NULL},
    {STR("nullnull"), 0, ITEM_GARBAGE},
    {STR("null,"), 0, ITEM_GARBAGE},
    {STR("nul"), 0, ITEM_GARBAGE},
    {STR(""), 0, ITEM_GARBAGE},
    {STR_NONE, 0, ITEM_GARBAGE},
    {STR(" "), 0, ITEM_GARBAGE},
    {STR("{}"), 0, ITEM_GARBAGE},
    {STR("[]"), 0, ITEM_GARBAGE},
    {STR("5"), 0, ITEM_GARBAGE},
    {STR("true"), 0, ITEM_GARBAGE},
    {STR("\"id\""), 0, ITEM_GARBAGE},
    {STR("[{\"id\":5}]"), 0, ITEM_GARBAGE},
    {STR("<html>502 Bad Gateway</html>"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5}x"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5}\0"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5}{\"id\":5}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5,"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5,}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5,\"text\":\"cut off"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5,\"text\":\"\\q\"}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":0}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":-5}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":1.5}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":9223372036854775808}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":null}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":true}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":[]}"), 0, ITEM_GARBAGE},
    {STR("{\"id\":5,\"id\":null}"), 0, ITEM_GARBAGE},
    {STR("{\"error\":\"Permission denied\"}"), 0, ITEM_GARBAGE},
};

static void tells_shapes_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct item it;
        enum item_shape got = item_parse(&arena, shapes[i].body, shapes[i].want_id, &it);
        if (got != shapes[i].shape)
            fail_msg("case %zu: %s is %d", i, shapes[i].body.p, (int)got);
    }
}

static void every_truncation_is_garbage(void **state) {
    (void)state;
    const char *json = "{\"by\":\"a\\u00e9\",\"id\":5,\"kids\":[1,2],\"x\":{\"y\":[null]},"
                       "\"dead\":[true],\"time\":1e9,\"type\":\"story\"}";
    for (size_t n = 0; n < strlen(json); n++) {
        struct item it;
        assert_int_equal(item_parse(&arena, (struct str){json, n}, 0, &it), ITEM_GARBAGE);
    }
    parsed(json);
}

/* JSON of one field besides the id, and what the item then says. */
static const struct {
    const char *json;
    bool dead;
} flags[] = {
    {"\"dead\":true", true},
    {"\"dead\":[true]", true},
    {"\"dead\":[true,false]", true},
    {"\"dead\":1", true},
    {"\"dead\":\"true\"", true},
    {"\"dead\":false", false},
    {"\"dead\":null", false},
    {"\"dead\":[]", false},
    {"\"dead\":[false]", false},
    {"\"dead\":[[true]]", false},
    {"\"dead\":{}", false},
    {"\"dead\":{\"0\":true}", false},
    {"\"dead\":0", false},
    {"\"dead\":\"\"", false},
    {"\"dead\":true,\"dead\":false", false},
    {"\"dead\":true,\"dead\":[]", false},
    {"\"Dead\":true", false},
};

static void reads_flags(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"id\":5,%s}", flags[i].json);
        if (parsed(json).dead != flags[i].dead)
            fail_msg("%s", json);
    }
}

static const struct {
    const char *value;
    int64_t want;
} times[] = {
    {"1314211127", 1314211127},
    {"\"1314211127\"", 1314211127},
    {"1314211127.0", 1314211127},
    {"1.314211127e9", 1314211127},
    {"[1314211127]", 1314211127},
    {"4102444800000", 4102444800000}, /* far in the future: kept, the id is the better clock */
    {"0", 0},
    {"-1", -1},
    {"1.5", I64_NONE},
    {"99999999999999999999", I64_NONE},
    {"\"\"", I64_NONE},
    {"\"now\"", I64_NONE},
    {"\"\\u0031\"", I64_NONE},
    {"null", I64_NONE},
    {"true", I64_NONE},
    {"{\"a\":1}", I64_NONE},
    {"[]", I64_NONE},
    {"[null]", I64_NONE},
    {"[[1]]", I64_NONE},
    {"1,\"time\":2", 2},
    {"1,\"time\":null", I64_NONE},
};

static void reads_numbers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"time\":%s,\"id\":5}", times[i].value);
        if (parsed(json).time != times[i].want)
            fail_msg("%s gave %lld", json, (long long)parsed(json).time);
    }
    struct item it = parsed("{\"id\":5,\"parent\":0,\"poll\":-3}"); /* no ids */
    assert_true(it.parent == I64_NONE && it.poll == I64_NONE);
}

static const struct {
    const char *value, *want;
} texts[] = {
    {"\"x\"", "x"},
    {"\"\"", NULL}, /* items of 2014 */
    {"null", NULL},
    {"true", NULL},
    {"{}", NULL},
    {"[]", NULL},
    {"[\"x\",\"y\"]", "x"},
    {"[\"\"]", NULL},
    {"1984", "1984"},
    {"\"a\",\"title\":\"b\"", "b"},
    {"\"a\",\"title\":\"\"", NULL},
    {"\"\\u0000\"", FFFD},
    {"\"\\ud800!\"", FFFD "!"},
    {"\"a\\ud83d\\ude00\"", "a\U0001F600"},
    {"\"\xFF\"", FFFD},
};

static void reads_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"id\":5,\"title\":%s}", texts[i].value);
        struct item it = parsed(json);
        if (!str_eq(it.title, str_of(texts[i].want)) || (it.title.p && it.title.p[it.title.n]))
            fail_msg("%s gave %s", json, it.title.p ? it.title.p : "nothing");
    }
}

static const struct {
    const char *value;
    size_t n;
    int64_t want[4];
} lists[] = {
    {"[3,1,2]", 3, {3, 1, 2}},
    {"[]", 0, {0}},
    {"null", 0, {0}},
    {"{}", 0, {0}},
    {"7", 1, {7}},
    {"\"7\"", 1, {7}},
    {"7.0", 1, {7}},
    {"true", 0, {0}},
    {"\"x\"", 0, {0}},
    {"{\"0\":1,\"1\":2}", 2, {1, 2}},
    {"{\"\\u0030\":1,\"\\u0031\":2}", 2, {1, 2}},
    {"[null,4,null,5]", 2, {4, 5}},
    {"[null]", 0, {0}},
    {"[1,2,1,3,2]", 3, {1, 2, 3}},
    {"{\"a\":1,\"b\":1}", 1, {1}},
    {"[\"4\",5.0,6e0]", 3, {4, 5, 6}},
    {"[0,-1,1,1.5,true,\"x\",{},[2],{\"a\":[9]}]", 1, {1}},
    {"[1],\"kids\":[2]", 1, {2}},
    {"[1],\"kids\":null", 0, {0}},
    {"[99999999999999999999,1]", 1, {1}},
};

static void reads_lists(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"id\":5,\"kids\":%s}", lists[i].value);
        struct item it = parsed(json);
        if (it.n_kids != lists[i].n || (it.n_kids == 0) != (it.kids == NULL) ||
            (it.n_kids && memcmp(it.kids, lists[i].want, it.n_kids * 8) != 0))
            fail_msg("%s", json);
    }
}

/* Every id twice: around the size where the way of dropping repeats changes, and large. The time
 * is bounded loosely: a quadratic search over 100,000 ids takes tens of seconds. */
static void long_lists_without_repeats(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 15, 16, 17, 31, 32, 33, 64, 65, 1000, 100000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        struct strbuf b;
        struct item it;
        size_t n = sizes[k];
        strbuf_init(&b, 1 << 24);
        strbuf_adds(&b, "{\"id\":5,\"kids\":[");
        for (size_t i = 0; i < 2 * n; i++)
            strbuf_addf(&b, "%s%zu", i ? "," : "", 1000000 + (i * 7919) % n);
        strbuf_adds(&b, "],\"by\":\"x\"}");
        clock_t start = clock();
        assert_int_equal(item_parse(&arena, strbuf_str(&b), 0, &it), ITEM_OK);
        assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
        assert_int_equal(it.n_kids, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(it.kids[i], 1000000 + (i * 7919) % n);
        assert_string_equal(it.by.p, "x");
        strbuf_release(&b);
    }
}

static void skips_unknown_fields(void **state) {
    (void)state;
    struct item it = parsed("{\"\":1,\"a\":{\"id\":7,\"kids\":[[],{}]},\"b\":[{\"text\":\"no\"}],"
                            "\"id\":5,\"url_key\":\"k\",\"z\":-1.5e-7}");
    assert_int_equal(it.id, 5);
    assert_true(!it.text.p && it.n_kids == 0 && !it.url_key.p);
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    char json[512] = "{\"id\":5,\"x\":";
    struct item it;
    memset(json + strlen(json), '[', 100);
    memset(json + strlen(json), ']', 100);
    strcat(json, "}");
    assert_int_equal(item_parse(&arena, str_of(json), 0, &it), ITEM_GARBAGE);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(reads_every_field),
        CASE(only_an_id),
        CASE(tells_shapes_apart),
        CASE(every_truncation_is_garbage),
        CASE(reads_flags),
        CASE(reads_numbers),
        CASE(reads_texts),
        CASE(reads_lists),
        CASE(long_lists_without_repeats),
        CASE(skips_unknown_fields),
        CASE(nesting_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
