/* Trees of the Search API and our own: nesting, order, depth without end, and the recorded shape.
 */
#include "web/search_api_items.h"
#include "web/thread_api.h"

#include "../hn/shared_data.h"

#include <setjmp.h>
#include <stdarg.h>

#include "shapes.h"

#define NOW INT64_C(1800000000123)

static struct arena arena;
static struct strbuf out;

static int begin(void **state UNUSED) {
    arena_init(&arena);
    strbuf_init(&out, 256 * 1024 * 1024);
    return 0;
}

static int end(void **state UNUSED) {
    strbuf_release(&out);
    arena_release(&arena);
    return 0;
}

static struct read_item item_of(int64_t id, const char *type, int64_t parent) {
    return (struct read_item){
        .item = {.id = id,
                 .type = str_of(type),
                 .by = STR("ann"),
                 .text = STR("words &amp; more<p>two"),
                 .time = 1420232746,
                 .parent = parent,
                 .poll = I64_NONE,
                 .score = I64_NONE,
                 .descendants = I64_NONE},
        .story_id = 1,
        .last_fetched_at = NOW,
        .stored = true,
    };
}

static struct read_item root_of(const char *type) {
    struct read_item root = item_of(1, type, I64_NONE);
    root.item.title = STR("A \"title\"");
    root.item.url = STR("https://example.com/");
    root.item.score = 270;
    root.item.descendants = 5;
    return root;
}

/* id, depth, what it is; in display order. '.' living, 'd' dead, 'x' deleted, '-' not stored. */
struct sketch {
    int64_t id;
    int depth;
    char what;
};

static struct thread thread_of(const struct sketch *s, size_t n) {
    struct thread t = {arena_zalloc(&arena, n * sizeof *t.nodes), n, false};
    for (size_t i = 0; i < n; i++) {
        struct thread_node *node = &t.nodes[i];
        node->it = item_of(s[i].id, "comment", 1);
        node->depth = s[i].depth;
        node->it.item.dead = s[i].what == 'd';
        node->it.item.deleted = s[i].what == 'x';
        node->it.stored = s[i].what != '-';
        while (i + node->below + 1 < n && s[i + node->below + 1].depth > s[i].depth)
            node->below++;
    }
    return t;
}

static json_t *read_out(void) {
    json_error_t why;
    json_t *j = json_loads(out.p, 0, &why);
    if (!j)
        fail_msg("%s in %.400s", why.text, out.p);
    strbuf_clear(&out);
    return j;
}

/* "2(3(4)5)6" */
static void sketch_of(const json_t *children, struct strbuf *b) {
    size_t i;
    json_t *child;
    json_array_foreach((json_t *)children, i, child) {
        const json_t *below = json_object_get(child, "children");
        strbuf_addf(b, "%s%d", i ? " " : "", (int)json_integer_value(json_object_get(child, "id")));
        if (json_array_size(below)) {
            strbuf_addc(b, '(');
            sketch_of(below, b);
            strbuf_addc(b, ')');
        }
    }
}

static void expect_tree(const struct sketch *s, size_t n, const char *wanted) {
    struct search_api_tree t = {.root = root_of("story"), .below = thread_of(s, n)};
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    search_api_tree(&out, &arena, &t);
    json_t *j = read_out();
    sketch_of(json_object_get(j, "children"), &b);
    assert_string_equal(b.n ? b.p : "", wanted);
    json_decref(j);
}

static void children_are_nested_in_order(void **state UNUSED) {
    expect_tree(NULL, 0, "");
    static const struct sketch one[] = {{9, 0, '.'}};
    expect_tree(one, 1, "9");
    static const struct sketch some[] = {{9, 0, '.'}, {4, 1, '.'}, {5, 2, '.'}, {3, 1, '.'},
                                         {2, 0, '.'}, {8, 0, '.'}, {7, 1, '.'}};
    expect_tree(some, ARRAY_LEN(some), "9(4(5) 3) 2 8(7)");
}

static void what_is_gone_stands_where_it_is_needed(void **state UNUSED) {
    static const struct sketch some[] = {{2, 0, 'd'},  {3, 0, 'x'}, {4, 1, 'd'}, {5, 2, '.'},
                                         {6, 1, 'x'},  {7, 0, '-'}, {8, 0, '.'}, {9, 1, '-'},
                                         {10, 1, '.'}, {11, 0, 'd'}};
    expect_tree(some, ARRAY_LEN(some), "3(4(5)) 8(10)");
    static const struct sketch none[] = {{2, 0, 'd'}, {3, 1, 'x'}, {4, 2, '-'}};
    expect_tree(none, ARRAY_LEN(none), "");
}

static void a_poll_has_options(void **state UNUSED) {
    struct read_item options[2] = {item_of(7, "pollopt", I64_NONE),
                                   item_of(8, "pollopt", I64_NONE)};
    struct search_api_tree t = {.root = root_of("poll"), .options = {options, 2}};
    options[0].item.poll = options[1].item.poll = 1;
    options[1].item.score = 12;
    t.below.cut = true;
    search_api_tree(&out, &arena, &t);
    json_t *j = read_out(), *o = json_object_get(j, "options");
    assert_int_equal(json_array_size(o), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(o, 1), "points")), 12);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(o, 1), "parent_id")), 1);
    assert_true(json_is_true(json_object_get(j, "cut")));
    json_decref(j);
}

static size_t count(char what) {
    size_t n = 0;
    for (size_t i = 0; i < out.n; i++)
        n += out.p[i] == what;
    return n;
}

static void a_thread_may_be_deep_without_end(void **state UNUSED) {
    enum { N = 50000 };
    struct search_api_tree t = {.root = root_of("story")};
    t.below = (struct thread){arena_zalloc(&arena, N * sizeof *t.below.nodes), N, false};
    for (int i = 0; i < N; i++) {
        t.below.nodes[i].it = item_of(i + 2, "comment", i + 1);
        t.below.nodes[i].depth = i;
        t.below.nodes[i].below = (size_t)(N - 1 - i);
    }
    search_api_tree(&out, &arena, &t);
    assert_false(out.overflow);
    assert_int_equal(count('{'), N + 1);
    assert_int_equal(count('}'), N + 1);
    assert_int_equal(count('['), 2 * (N + 1));
    assert_int_equal(count(']'), 2 * (N + 1));
    strbuf_clear(&out);
    thread_api_tree(&out, &arena, &t.root, &t.below);
    json_t *j = read_out(), *c = json_object_get(j, "comments");
    assert_int_equal(json_array_size(c), N);
    json_t *last = json_array_get(c, N - 1);
    assert_int_equal(json_integer_value(json_object_get(last, "depth")), N - 1);
    assert_int_equal(json_integer_value(json_object_get(last, "parent")), N);
    json_decref(j);
}

static void the_flat_tree_says_who_is_where(void **state UNUSED) {
    static const struct sketch some[] = {{9, 0, '.'}, {4, 1, 'd'}, {5, 2, '.'}, {3, 1, 'x'},
                                         {2, 0, '.'}, {8, 1, '-'}, {7, 1, '.'}};
    static const struct {
        int id, parent, depth, rank, below;
    } wanted[] = {{9, 1, 0, 1, 3}, {4, 9, 1, 1, 1}, {5, 4, 2, 1, 0}, {3, 9, 1, 2, 0},
                  {2, 1, 0, 2, 2}, {8, 2, 1, 1, 0}, {7, 2, 1, 2, 0}};
    struct read_item root = root_of("story");
    struct thread t = thread_of(some, ARRAY_LEN(some));
    thread_api_tree(&out, &arena, &root, &t);
    json_t *j = read_out(), *c = json_object_get(j, "comments");
    assert_int_equal(json_array_size(c), ARRAY_LEN(wanted));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        int id, parent, depth, rank, below;
        json_t *one = json_array_get(c, i);
        assert_int_equal(json_unpack(one, "{s:i,s:i,s:i,s:i,s:i}", "id", &id, "parent", &parent,
                                     "depth", &depth, "rank", &rank, "below", &below),
                         0);
        assert_int_equal(id, wanted[i].id);
        assert_int_equal(parent, wanted[i].parent);
        assert_int_equal(depth, wanted[i].depth);
        assert_int_equal(rank, wanted[i].rank);
        assert_int_equal(below, wanted[i].below);
        assert_int_equal(json_is_true(json_object_get(one, "dead")), some[i].what == 'd');
        assert_int_equal(json_is_true(json_object_get(one, "deleted")), some[i].what == 'x');
        assert_int_equal(json_is_false(json_object_get(one, "stored")), some[i].what == '-');
        assert_int_equal(json_object_get(one, "text") == NULL, some[i].what == '-');
    }
    json_decref(j);
}

static void discussions_of_an_address(void **state UNUSED) {
    struct read_item items[2] = {root_of("story"), root_of("story")};
    items[1].item.dead = true;
    items[1].item.score = I64_NONE;
    thread_api_discussions(&out, STR("http://a.b/?c"), STR("a.b"), &(struct read_items){items, 2});
    json_t *j = read_out(), *d = json_object_get(j, "discussions");
    assert_string_equal(json_string_value(json_object_get(j, "key")), "a.b");
    assert_int_equal(json_integer_value(json_object_get(j, "count")), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(d, 0), "score")), 270);
    assert_true(json_is_null(json_object_get(json_array_get(d, 1), "score")));
    assert_true(json_is_true(json_object_get(json_array_get(d, 1), "dead")));
    json_decref(j);
    thread_api_discussions(&out, STR("x"), STR("x"), &(struct read_items){NULL, 0});
    json_decref(read_out());
}

#define EXTRA "fetched_at fetched_at_i"

static void the_shape_is_the_recorded_one(void **state UNUSED) {
    static const char *const files[] = {"algolia/santiagobasulto_item.json",
                                        "algolia/items_tree_shazow.json"};
    static const struct sketch some[] = {{9, 0, '.'}, {4, 1, '.'}};
    struct search_api_tree t = {.root = root_of("story"), .below = thread_of(some, 2)};
    search_api_tree(&out, &arena, &t);
    json_t *ours = read_out();
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        FILE *f = shared_data_open("cat", files[i]);
        if (!f)
            continue;
        json_t *theirs = json_loadf(f, 0, NULL);
        pclose(f);
        assert_non_null(theirs);
        shapes_check(ours, theirs, "", EXTRA);
        shapes_check(json_array_get(json_object_get(ours, "children"), 0),
                     json_array_get(json_object_get(theirs, "children"), 0), "", EXTRA);
        json_decref(theirs);
    }
    json_decref(ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_nested_in_order),
        cmocka_unit_test(what_is_gone_stands_where_it_is_needed),
        cmocka_unit_test(a_poll_has_options),
        cmocka_unit_test(a_thread_may_be_deep_without_end),
        cmocka_unit_test(the_flat_tree_says_who_is_where),
        cmocka_unit_test(discussions_of_an_address),
        cmocka_unit_test(the_shape_is_the_recorded_one),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
