#include "hn/user.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

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

static struct user parsed(const char *json) {
    struct user u;
    if (user_parse(&arena, str_of(json), STR_NONE, &u) != ITEM_OK)
        fail_msg("does not parse: %s", json);
    return u;
}

static const char *written(const struct user *u) {
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    user_write_json(u, &out);
    assert_false(out.overflow);
    const char *text = arena_strdup(&arena, out.p);
    strbuf_release(&out);
    return text;
}

static void reads_every_field(void **state) {
    (void)state;
    struct user u =
        parsed("{\"about\":\"a &amp; b<p>\\u00fc\",\"created\":1173923446,\"delay\":0,"
               "\"id\":\"jl\",\"karma\":-4,\"submitted\":[3,1,2,1],\"more\":{\"id\":[7]}}");
    assert_string_equal(u.id.p, "jl");
    assert_string_equal(u.about.p, "a &amp; b<p>\u00fc");
    assert_int_equal(u.created, 1173923446);
    assert_int_equal(u.karma, -4);
    assert_int_equal(u.n_submitted, 4);
    assert_memory_equal(u.submitted, ((int64_t[]){3, 1, 2, 1}), 32);
    assert_true(u.content_hash != 0);
}

static void only_a_name(void **state) {
    (void)state;
    struct user u = parsed("{\"id\":\"jl\"}");
    assert_true(u.created == I64_NONE && u.karma == I64_NONE && !u.about.p && u.n_submitted == 0);
    assert_string_equal(written(&u), "{\"id\":\"jl\"}");
}

static const struct {
    const char *body, *name;
    enum item_shape shape;
} shapes[] = {
    {"{\"id\":\"pg\"}", "pg", ITEM_OK},
    {"{\"id\":\"pg\"}", NULL, ITEM_OK},
    {"{\"id\":\"pg\"}", "PG", ITEM_WRONG_ID},
    {"{\"id\":\"pg\"}", "p", ITEM_WRONG_ID},
    {"{\"id\":\"pg\"}", "", ITEM_WRONG_ID},
    {"{\"id\":[\"pg\",7]}", "pg", ITEM_OK},
    {"{\"id\":1984}", "1984", ITEM_OK},
    {" {\"id\":\"a b\"}\n", "a b", ITEM_OK},
    {"null", "pg", ITEM_NULL},
    {" null\n", "pg", ITEM_NULL},
    {"nullnull", "pg", ITEM_GARBAGE},
    {"", "pg", ITEM_GARBAGE},
    {"{}", "pg", ITEM_GARBAGE},
    {"[]", "pg", ITEM_GARBAGE},
    {"7", "pg", ITEM_GARBAGE},
    {"{\"id\":\"\"}", "", ITEM_GARBAGE},
    {"{\"id\":null}", "pg", ITEM_GARBAGE},
    {"{\"id\":{\"a\":1}}", "pg", ITEM_GARBAGE},
    {"{\"id\":[]}", "pg", ITEM_GARBAGE},
    {"{\"id\":\"pg\"", "pg", ITEM_GARBAGE},
    {"{\"id\":\"pg\"}x", "pg", ITEM_GARBAGE},
    {"{\"id\":\"pg\",\"submitted\":[1,2", "pg", ITEM_GARBAGE},
    {"{\"error\":\"Permission denied\"}", "pg", ITEM_GARBAGE},
    {"<html>", "pg", ITEM_GARBAGE},
};

static void tells_shapes_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct user u;
        enum item_shape got =
            user_parse(&arena, str_of(shapes[i].body), str_of(shapes[i].name), &u);
        if (got != shapes[i].shape)
            fail_msg("%s gave %d", shapes[i].body, got);
    }
}

/* What is odd in a field is read leniently or left out, as it is then written. */
static const struct {
    const char *fields, *want;
} odd[] = {
    {"\"karma\":\"12\"", "\"karma\":12"},
    {"\"karma\":12.0", "\"karma\":12"},
    {"\"karma\":[12,13]", "\"karma\":12"},
    {"\"karma\":1.5", ""},
    {"\"karma\":null", ""},
    {"\"karma\":true", ""},
    {"\"karma\":99999999999999999999", ""},
    {"\"karma\":1,\"karma\":2", "\"karma\":2"},
    {"\"submitted\":[]", ""},
    {"\"submitted\":null", ""},
    {"\"submitted\":7", "\"submitted\":[7]"},
    {"\"submitted\":\"7\"", "\"submitted\":[7]"},
    {"\"submitted\":{\"0\":1,\"5\":2}", "\"submitted\":[1,2]"},
    {"\"submitted\":[null,0,-1,\"8\",9.0,1.5,\"x\",[2],{\"a\":3},true]", "\"submitted\":[8,9]"},
};

static void reads_odd_fields(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        char json[200], want[200];
        snprintf(json, sizeof json, "{\"id\":\"u\",%s}", odd[i].fields);
        snprintf(want, sizeof want, "{\"id\":\"u\"%s%s}", odd[i].want[0] ? "," : "", odd[i].want);
        struct user u = parsed(json);
        assert_string_equal(written(&u), want);
    }
    assert_null(parsed("{\"id\":\"u\",\"about\":\"\"}").about.p);
    assert_string_equal(parsed("{\"id\":\"u\",\"about\":\"a\\u0000\"}").about.p, "a" FFFD);
}

static void the_hash_knows_every_field(void **state) {
    (void)state;
    static const char *const others[] = {
        "{\"id\":\"v\",\"about\":\"a\",\"created\":1,\"karma\":2,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"about\":\"b\",\"created\":1,\"karma\":2,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"created\":1,\"karma\":2,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"about\":\"a\",\"created\":2,\"karma\":2,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"about\":\"a\",\"karma\":2,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"about\":\"a\",\"created\":1,\"karma\":3,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"about\":\"a\",\"created\":1,\"submitted\":[3,4]}",
        "{\"id\":\"u\",\"about\":\"a\",\"created\":1,\"karma\":2,\"submitted\":[4,3]}",
        "{\"id\":\"u\",\"about\":\"a\",\"created\":1,\"karma\":2,\"submitted\":[3]}",
        "{\"id\":\"u\",\"about\":\"a\",\"created\":1,\"karma\":2}",
    };
    int64_t hash = parsed("{\"id\":\"u\",\"about\":\"a\",\"created\":1,\"karma\":2,"
                          "\"submitted\":[3,4]}")
                       .content_hash;
    /* what is stored must stay true */
    assert_int_equal(hash, INT64_C(0x436305d43e09eaec));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (parsed(others[i]).content_hash == hash)
            fail_msg("the same hash: %s", others[i]);
    assert_int_equal(parsed("{\"karma\":2,\"x\":1,\"submitted\":[3,4],\"id\":\"u\",\"created\":1,"
                            "\"about\":\"a\"}")
                         .content_hash,
                     hash);
}

static void what_is_written_is_read_again(void **state) {
    (void)state;
    const char *json = "{\"about\":\"\\\"q\\\" \\\\ \\n<i>x</i>\",\"created\":1173923446,"
                       "\"id\":\"a_b-c\",\"karma\":0,\"submitted\":[9007199254740993,1]}";
    struct user u = parsed(json);
    assert_string_equal(written(&u), json);
    assert_int_equal(parsed(written(&u)).content_hash, u.content_hash);
}

static const struct {
    struct str name;
    const char *path;
} paths[] = {
    {STR("dang"), "dang"},       {STR("a_B-9"), "a_B-9"}, {STR(""), ""},
    {STR("a b/c"), "a%20b%2Fc"}, {STR(".."), "%2E%2E"},   {STR("%41?#&"), "%2541%3F%23%26"},
    {STR("\u00fc"), "%C3%BC"},   {STR("a\0b"), "a%00b"},
};

static void names_become_paths(void **state) {
    (void)state;
    char out[32];
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_true(user_path(paths[i].name, out, sizeof out));
        assert_string_equal(out, paths[i].path);
        size_t n = strlen(paths[i].path);
        assert_true(user_path(paths[i].name, out, n + 1));
        assert_false(user_path(paths[i].name, out, n));
    }
    assert_false(user_path(STR("a"), out, 0));
}

static const struct {
    const char *body;
    bool list;
    size_t n;
    int64_t want[3];
} lists[] = {
    {"[3,1,2]", true, 3, {3, 1, 2}},
    {" [ 3 , \"1\" ]\n", true, 2, {3, 1}},
    {"[]", true, 0, {0}},
    {"[null,0,-1,1.5,\"x\",true,{},[5],6]", true, 1, {6}},
    {"{\"0\":3,\"2\":4}", true, 2, {3, 4}},
    {"{}", false, 0, {0}},
    {"{\"0\":3,\"error\":4}", false, 0, {0}},
    {"{\"error\":4,\"0\":3}", false, 0, {0}},
    {"{\"error\":\"Permission denied\"}", false, 0, {0}},
    {"null", false, 0, {0}},
    {"7", false, 0, {0}},
    {"\"7\"", false, 0, {0}},
    {"", false, 0, {0}},
    {"[1,2", false, 0, {0}},
    {"[1,2]x", false, 0, {0}},
    {"<html>", false, 0, {0}},
};

static void reads_lists(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const int64_t *ids = NULL;
        size_t n = 0;
        bool got = id_list_parse(&arena, str_of(lists[i].body), &ids, &n);
        if (got != lists[i].list || n != lists[i].n ||
            (n && memcmp(ids, lists[i].want, n * sizeof *ids) != 0))
            fail_msg("%s", lists[i].body);
    }
}

/* Recorded ------------------------------------------------------------------------------------- */

static struct str slurp(const char *name) {
    FILE *f = shared_data_open("cat", name);
    if (!f)
        skip();
    struct strbuf b;
    char piece[512];
    size_t n;
    strbuf_init(&b, 1 << 20);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        strbuf_add(&b, piece, n);
    pclose(f);
    struct str s = arena_str(&arena, strbuf_str(&b));
    strbuf_release(&b);
    return s;
}

static void reads_a_recorded_user(void **state) {
    (void)state;
    struct user u;
    assert_int_equal(user_parse(&arena, slurp("lists/user_*.json"), STR_NONE, &u), ITEM_OK);
    assert_true(u.id.n > 0 && u.created > 1100000000 && u.n_submitted > 0);
    assert_true(u.submitted[0] > u.submitted[u.n_submitted - 1]);
    assert_int_equal(parsed(written(&u)).content_hash, u.content_hash);
}

static void reads_recorded_lists(void **state) {
    (void)state;
    static const char *const names[] = {"top", "new", "best", "ask", "show", "job"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char file[64];
        const int64_t *ids;
        size_t n;
        snprintf(file, sizeof file, "lists/%sstories_*.json", names[i]);
        assert_true(id_list_parse(&arena, slurp(file), &ids, &n));
        assert_in_range(n, 10, 500);
        for (size_t k = 0; k < n; k++)
            assert_in_range(ids[k], 1, 100000000);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(reads_every_field),          CASE(only_a_name),
        CASE(tells_shapes_apart),         CASE(reads_odd_fields),
        CASE(the_hash_knows_every_field), CASE(what_is_written_is_read_again),
        CASE(names_become_paths),         CASE(reads_lists),
        CASE(reads_a_recorded_user),      CASE(reads_recorded_lists),
    };
    return cmocka_run_group_tests_name("hn/user", tests, NULL, NULL);
}
