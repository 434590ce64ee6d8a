/* Threads: display order, what is not stored, loops, bounds. */
#include "fixture.h"

#include "store/read.h"

#include <string.h>

/* "id/depth/below", with a ? behind what is not stored. */
static const char *outline(struct fix *f, int64_t root, size_t max) {
    struct err e;
    struct thread t;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    assert_ok(store_read_thread(f->s, &f->arena, root, max, &t, &e));
    for (size_t i = 0; i < t.n; i++)
        strbuf_addf(&b, "%s%lld/%d/%zu%s", i ? " " : "", (long long)t.nodes[i].it.item.id,
                    t.nodes[i].depth, t.nodes[i].below, t.nodes[i].it.stored ? "" : "?");
    if (t.cut)
        strbuf_adds(&b, " ...");
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static void a_thread_comes_in_display_order(void **state) {
    struct fix *f = *state;
    struct err e;
    struct thread t;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':1,'type':'story','kids':[5,2,9]}");
    put_item(b, T0, "{'id':2,'type':'comment','parent':1,'text':'two','kids':[7,3]}");
    put_item(b, T0, "{'id':3,'type':'comment','parent':2,'kids':[4]}");
    put_item(b, T0, "{'id':4,'type':'comment','parent':3,'by':'x'}");
    put_item(b, T0, "{'id':5,'type':'comment','parent':1,'dead':true}");
    put_item(b, T0, "{'id':7,'type':'comment','parent':2,'deleted':true}");
    put_item(b, T0, "{'id':9,'type':'comment','parent':1}");
    put_item(b, T0, "{'id':11,'type':'story','kids':[12]}");
    put_item(b, T0, "{'id':12,'type':'comment','parent':11}");
    apply_ok(f->s, b);
    assert_string_equal(outline(f, 1, 100), "5/0/0 2/0/3 7/1/0 3/1/1 4/2/0 9/0/0");
    assert_string_equal(outline(f, 2, 100), "7/0/0 3/0/1 4/1/0");
    assert_string_equal(outline(f, 4, 100), "");
    assert_string_equal(outline(f, 99, 100), "");
    assert_ok(store_read_thread(f->s, &f->arena, 1, 100, &t, &e));
    assert_true(t.nodes[0].it.item.dead && t.nodes[2].it.item.deleted);
    assert_true(str_eqc(t.nodes[1].it.item.text, "two"));
    assert_true(str_eqc(t.nodes[4].it.item.by, "x"));
    assert_int_equal(t.nodes[4].it.story_id, 1);
    assert_int_equal(t.nodes[4].it.item.parent, 3);
    assert_int_equal(t.nodes[1].it.item.n_kids, 0);
}

static void a_kid_that_is_not_stored_is_named(void **state) {
    struct fix *f = *state;
    struct err e;
    struct thread t;
    store_item(f, T0, "{'id':1,'type':'story','kids':[3,2,4]}");
    store_item(f, T0, "{'id':2,'type':'comment','parent':1,'kids':[6]}");
    assert_string_equal(outline(f, 1, 100), "3/0/0? 2/0/1 6/1/0? 4/0/0?");
    assert_ok(store_read_thread(f->s, &f->arena, 1, 100, &t, &e));
    assert_int_equal(t.nodes[0].it.item.time, I64_NONE);
    assert_int_equal(t.nodes[0].it.story_id, I64_NONE);
    assert_null(t.nodes[0].it.item.text.p);
}

static void loops_end(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':1,'type':'story','kids':[2,1,3]}");
    store_item(f, T0, "{'id':2,'type':'comment','parent':1,'kids':[3,1]}");
    store_item(f, T0, "{'id':3,'type':'comment','parent':2,'kids':[2,4,3]}");
    store_item(f, T0, "{'id':4,'type':'comment','parent':3,'kids':[2,1]}");
    assert_string_equal(outline(f, 1, 100), "2/0/0 3/0/1 4/1/0");
}

static void more_than_enough_is_cut(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':1,'type':'story','kids':[3,2]}");
    put_item(b, T0, "{'id':2,'type':'comment','parent':1,'kids':[4]}");
    put_item(b, T0, "{'id':3,'type':'comment','parent':1,'kids':[5]}");
    put_item(b, T0, "{'id':4,'type':'comment','parent':2}");
    put_item(b, T0, "{'id':5,'type':'comment','parent':3}");
    apply_ok(f->s, b);
    assert_string_equal(outline(f, 1, 4), "3/0/1 5/1/0 2/0/1 4/1/0");
    assert_string_equal(outline(f, 1, 2), "3/0/0 2/0/0 ...");
    assert_string_equal(outline(f, 1, 0), " ...");
}

/* Deep and wide: every tenth node has ten kids, and one line of them goes down a thousand. */
static void a_large_thread(void **state) {
    struct fix *f = *state;
    struct err e;
    struct thread t;
    enum { DEEP = 1000, WIDE = 2000 };
    struct batch *b = wide_batch(f);
    CLEANUP(strbuf_release) struct strbuf json;
    strbuf_init(&json, 1 << 20);
    strbuf_adds(&json, "{'id':1,'type':'story','kids':[2");
    for (int i = 0; i < WIDE; i++)
        strbuf_addf(&json, ",%d", 50000 - i);
    strbuf_adds(&json, "]}");
    put_item(b, T0, json.p);
    for (int i = 0; i < DEEP; i++) {
        strbuf_clear(&json);
        strbuf_addf(&json, "{'id':%d,'type':'comment','parent':%d,'kids':[%d]}", i + 2, i + 1,
                    i + 3);
        put_item(b, T0, json.p);
    }
    apply_ok(f->s, b);
    assert_ok(store_read_thread(f->s, &f->arena, 1, 5000, &t, &e));
    assert_int_equal(t.n, DEEP + WIDE + 1);
    assert_false(t.cut);
    assert_int_equal(t.nodes[0].below, DEEP);
    assert_int_equal(t.nodes[DEEP].depth, DEEP);
    assert_false(t.nodes[DEEP].it.stored);
    for (int i = 0; i < WIDE; i++)
        assert_int_equal(t.nodes[DEEP + 1 + i].it.item.id, 50000 - i);
}

int read_thread_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(a_thread_comes_in_display_order),
        CASE(a_kid_that_is_not_stored_is_named),
        CASE(loops_end),
        CASE(more_than_enough_is_cut),
        CASE(a_large_thread),
    };
    return cmocka_run_group_tests_name("read_thread", tests, NULL, NULL);
}
