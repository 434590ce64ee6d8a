#include "hn/item.h"
#include "item_same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

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

static struct item derived(const char *json) {
    struct item it;
    if (item_parse(&arena, str_of(json), 0, &it) != ITEM_OK)
        fail_msg("does not parse: %s", json);
    item_derive(&arena, &it);
    return it;
}

static const struct {
    const char *json, *want; /* want NULL: the same */
} rendered[] = {
    {"{\"id\":5}", NULL},
    {"{\"by\":\"a\",\"dead\":true,\"deleted\":true,\"descendants\":0,\"id\":9223372036854775807,"
     "\"kids\":[3,1,2],\"parent\":4,\"parts\":[7],\"poll\":6,\"score\":-12,"
     "\"text\":\"\\\"q\\\" \\\\ \\n\\r\\t\\u0001 \u00e9\U0001F600</p>\",\"time\":-5,"
     "\"title\":\"T\",\"type\":\"poll\",\"url\":\"http://x.com/?a&b\"}",
     NULL},
    {"{ \"url\":\"\", \"type\":\"job\", \"id\":\"5\", \"dead\":false, \"kids\":[1,1,null] }",
     "{\"id\":5,\"kids\":[1],\"type\":\"job\"}"},
    {"{\"id\":5,\"text\":\"\\u0000\\ud800\\/\"}", "{\"id\":5,\"text\":\"\uFFFD\uFFFD/\"}"},
};

static void renders_as_the_upstream_does(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rendered / sizeof rendered[0]; i++) {
        struct item it = derived(rendered[i].json), again;
        struct strbuf out;
        strbuf_init(&out, 4096);
        item_render(&it, &out);
        assert_string_equal(out.p, rendered[i].want ? rendered[i].want : rendered[i].json);
        assert_int_equal(item_parse(&arena, strbuf_str(&out), it.id, &again), ITEM_OK);
        assert_null(item_difference(&it, &again));
        strbuf_release(&out);
    }
}

static void renders_up_to_the_maximum(void **state) {
    (void)state;
    struct item it = derived("{\"id\":5,\"text\":\"much too long for a small buffer\"}");
    struct strbuf out;
    strbuf_init(&out, 16);
    item_render(&it, &out);
    assert_true(out.overflow);
    strbuf_release(&out);
}

#define BASE "\"id\":5,\"type\":\"story\",\"by\":\"a\",\"time\":7"

/* Pairs whose content differs, each in a way that a careless form of hashing would miss. */
static const struct {
    const char *a, *b;
} unlike[] = {
    {"{" BASE "}", "{" BASE ",\"dead\":true}"},
    {"{" BASE "}", "{" BASE ",\"deleted\":true}"},
    {"{" BASE ",\"dead\":true}", "{" BASE ",\"deleted\":true}"},
    {"{" BASE "}", "{\"id\":5,\"type\":\"story\",\"by\":\"a\"}"},
    {"{" BASE "}", "{\"id\":5,\"type\":\"story\",\"by\":\"a\",\"time\":0}"},
    {"{" BASE ",\"text\":\"x\"}", "{" BASE ",\"title\":\"x\"}"},
    {"{" BASE ",\"text\":\"x\"}", "{" BASE ",\"text\":\"X\"}"},
    {"{" BASE ",\"title\":\"xy\",\"url\":\"z\"}", "{" BASE ",\"title\":\"x\",\"url\":\"yz\"}"},
    {"{" BASE ",\"parent\":1}", "{" BASE ",\"poll\":1}"},
    {"{" BASE ",\"parent\":1}", "{" BASE ",\"parent\":2}"},
    {"{" BASE ",\"parts\":[1,2]}", "{" BASE ",\"parts\":[2,1]}"},
    {"{" BASE ",\"parts\":[1]}", "{" BASE "}"},
    {"{\"id\":5,\"type\":\"story\"}", "{\"id\":5,\"type\":\"job\"}"},
    {"{\"id\":5,\"by\":\"story\"}", "{\"id\":5,\"type\":\"story\"}"},
};

static void content_hash_sees_content(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unlike / sizeof unlike[0]; i++)
        if (derived(unlike[i].a).content_hash == derived(unlike[i].b).content_hash)
            fail_msg("%s and %s", unlike[i].a, unlike[i].b);
    int64_t plain = derived("{" BASE "}").content_hash;
    assert_true(plain ==
                derived("{" BASE ",\"score\":3,\"kids\":[1],\"descendants\":1}").content_hash);
    assert_true(plain == derived("{\"time\":7.0,\"by\":\"a\",\"id\":6,\"url\":\"\","
                                 "\"type\":\"story\",\"new\":1}")
                             .content_hash);
}

static void kids_hash_sees_order(void **state) {
    (void)state;
    assert_int_equal(derived("{\"id\":5}").kids_hash, 0);
    assert_int_equal(derived("{\"id\":5,\"kids\":[]}").kids_hash, 0);
    int64_t h = derived("{\"id\":5,\"kids\":[1,2]}").kids_hash;
    assert_true(h != 0);
    assert_true(h != derived("{\"id\":5,\"kids\":[2,1]}").kids_hash);
    assert_true(h != derived("{\"id\":5,\"kids\":[1]}").kids_hash);
    assert_true(h == derived("{\"id\":9,\"kids\":[1,null,2,1],\"text\":\"x\"}").kids_hash);
}

/* Stored in databases, so these values may not change between versions or machines. */
static void hashes_are_the_same_for_ever(void **state) {
    (void)state;
    struct item it = derived("{\"by\":\"pg\",\"id\":1,\"kids\":[15,234509],\"parts\":[2,3],"
                             "\"text\":\"caf\u00e9\",\"time\":1160418111,\"title\":\"Y\","
                             "\"type\":\"story\",\"url\":\"http://ycombinator.com\"}");
    assert_int_equal(it.content_hash, -2837636880252290846);
    assert_int_equal(it.kids_hash, -6946024143923623443);
}

static void derives_key_and_domain(void **state) {
    (void)state;
    struct item it = derived("{\"id\":5,\"url\":\"http://www.Example.com/a/?utm_source=hn\"}");
    assert_string_equal(it.url_key.p, "example.com/a");
    assert_string_equal(it.domain.p, "example.com");
    it = derived("{\"id\":5,\"url\":\"ftp://example.com/a\"}");
    assert_true(!it.url_key.p && !it.domain.p && it.url.p);
    it = derived("{\"id\":5}");
    assert_true(!it.url_key.p && !it.domain.p);
    it.url_key = it.domain = STR("left over");
    item_derive(&arena, &it);
    assert_true(!it.url_key.p && !it.domain.p);
}

/* Over rows of a table it is the hash of an item with these kids. */
static void kids_hash_of_a_list(void **state) {
    (void)state;
    static const int64_t kids[] = {9, 7, 8};
    struct item it = derived("{\"id\":5,\"kids\":[9,7,8]}");
    assert_int_equal(item_kids_hash(&arena, kids, 3), it.kids_hash);
    assert_int_not_equal(item_kids_hash(&arena, kids, 2), it.kids_hash);
    assert_int_equal(item_kids_hash(&arena, NULL, 0), 0);
}

static void kinds(void **state) {
    (void)state;
    struct item story = derived("{\"id\":5,\"type\":\"story\"}");
    struct item job = derived("{\"id\":5,\"type\":\"job\"}");
    struct item poll = derived("{\"id\":5,\"type\":\"poll\"}");
    struct item opt = derived("{\"id\":5,\"type\":\"pollopt\",\"text\":\"delayed\"}");
    struct item comment = derived("{\"id\":5,\"type\":\"comment\",\"text\":\"[delayed]\"}");
    assert_true(item_is_root(&story) && item_is_root(&job) && item_is_root(&poll));
    assert_false(item_is_root(&opt) || item_is_root(&comment));
    assert_true(item_is_delayed(&comment));
    assert_false(item_is_delayed(&opt) || item_is_delayed(&story));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(renders_as_the_upstream_does), CASE(renders_up_to_the_maximum),
        CASE(content_hash_sees_content),    CASE(kids_hash_sees_order),
        CASE(kids_hash_of_a_list),          CASE(hashes_are_the_same_for_ever),
        CASE(derives_key_and_domain),       CASE(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
