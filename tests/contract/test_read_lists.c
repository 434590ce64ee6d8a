/* Reading lists, seen and made, and profiles. */
#include "fixture.h"

#include "store/live.h"
#include "store/read.h"

#include <string.h>

static const char *list_text(struct fix *f, const char *name, int64_t *ret_seen_at) {
    struct err e;
    const int64_t *ids;
    size_t n;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    assert_ok(store_read_list(f->s, &f->arena, name, &ids, &n, ret_seen_at, &e));
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%lld", i ? " " : "", (long long)ids[i]);
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static void a_list_that_was_seen(void **state) {
    struct fix *f = *state;
    struct err e;
    bool changed;
    int64_t seen_at = -1;
    const int64_t ids[] = {9, 3, 7};
    store_item(f, T0, "{'id':1,'type':'story','score':5}");
    assert_ok(store_put_list(f->s, "top", ids, 3, T0 + 7, &changed, &e));
    assert_ok(store_put_list(f->s, "job", NULL, 0, T0 + 8, &changed, &e));
    assert_string_equal(list_text(f, "top", &seen_at), "9 3 7");
    assert_int_equal(seen_at, T0 + 7);
    assert_string_equal(list_text(f, "job", &seen_at), ""); /* seen, and empty */
    assert_int_equal(seen_at, T0 + 8);
    assert_string_equal(list_text(f, "new", &seen_at), "1"); /* never seen */
    assert_int_equal(seen_at, 0);
}

static void a_list_that_was_never_seen_is_made(void **state) {
    struct fix *f = *state;
    int64_t seen_at = -1;
    assert_string_equal(list_text(f, "top", &seen_at), "");
    assert_int_equal(seen_at, 0);
    struct batch *b = wide_batch(f);
    /* times in seconds: the newest of them is now */
    put_item(b, T0, "{'id':1,'type':'story','score':900,'time':1000000,'title':'Ask HN: old'}");
    put_item(b, T0, "{'id':2,'type':'story','score':9999,'time':2,'dead':true,'title':'Ask HN'}");
    put_item(b, T0, "{'id':3,'type':'comment','time':1080000,'parent':1}");
    put_item(b, T0, "{'id':4,'type':'story','score':100,'time':1083600,'title':'Show HN: x'}");
    put_item(b, T0, "{'id':5,'type':'story','score':20,'time':1086000,'title':'y'}");
    put_item(b, T0, "{'id':6,'type':'job','time':1086400,'title':'Ask HN no, a job'}");
    put_item(b, T0, "{'id':7,'type':'story','score':3,'time':1086400,'title':'Ask HN: young'}");
    put_item(b, T0, "{'id':8,'type':'story','score':1,'title':'without a time'}");
    apply_ok(f->s, b);
    assert_string_equal(list_text(f, "top", &seen_at), "4 5 1 7 8 6");
    assert_int_equal(seen_at, 0);
    assert_string_equal(list_text(f, "new", &seen_at), "8 7 6 5 4 1");
    assert_string_equal(list_text(f, "best", &seen_at), "1 4 5 7 8 6");
    assert_string_equal(list_text(f, "ask", &seen_at), "1 7");
    assert_string_equal(list_text(f, "show", &seen_at), "4");
    assert_string_equal(list_text(f, "job", &seen_at), "6");
}

static void a_made_list_is_good_for_a_moment(void **state) {
    struct fix *f = *state;
    int64_t seen_at;
    store_item(f, T0, "{'id':1,'type':'story','score':9,'time':1000}");
    store_item(f, T0, "{'id':2,'type':'story','score':5,'time':1000}");
    assert_string_equal(list_text(f, "best", &seen_at), "1 2");
    store_item(f, T0 + 1, "{'id':2,'type':'story','score':50,'time':1000}");
    assert_string_equal(list_text(f, "best", &seen_at), "1 2");
    fix_advance(f, 5000);
    assert_string_equal(list_text(f, "best", &seen_at), "2 1");
    store_item(f, T0 + 1, "{'id':3,'type':'story','score':99,'time':1000}");
    assert_string_equal(list_text(f, "best", &seen_at), "3 2 1"); /* a newer item: at once */
}

static void an_unknown_list(void **state) {
    struct fix *f = *state;
    struct err e;
    const int64_t *ids;
    size_t n;
    int64_t seen_at;
    assert_int_equal(store_read_list(f->s, &f->arena, "worst", &ids, &n, &seen_at, &e), V_INVALID);
}

static void a_profile(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_user r;
    int64_t changed;
    struct user_answer a = {.name = STR("pg"), .exists = true, .fetched_at = T0 + 1};
    assert_int_equal(user_parse(&f->arena,
                                STR("{\"id\":\"pg\",\"created\":1160418092,\"karma\":5,"
                                    "\"about\":\"a <p>\",\"submitted\":[3,1,2]}"),
                                a.name, &a.user),
                     ITEM_OK);
    assert_ok(store_put_users(f->s, &a, 1, &changed, &e));
    assert_ok(store_read_user(f->s, &f->arena, STR("pg"), &r, &e));
    CLEANUP(strbuf_release) struct strbuf was, is;
    strbuf_init(&was, 1 << 16);
    strbuf_init(&is, 1 << 16);
    user_write_json(&a.user, &was);
    user_write_json(&r.user, &is);
    assert_string_equal(is.p, was.p);
    assert_false(r.gone);
    assert_int_equal(r.last_fetched_at, T0 + 1);
    assert_int_equal(r.user.content_hash, a.user.content_hash);
    assert_int_equal(store_read_user(f->s, &f->arena, STR("PG"), &r, &e), V_NOT_FOUND);
    struct user_answer gone = {.name = STR("pg"), .fetched_at = T0 + 2};
    assert_ok(store_put_users(f->s, &gone, 1, &changed, &e));
    assert_ok(store_read_user(f->s, &f->arena, STR("pg"), &r, &e));
    assert_true(r.gone);
    assert_int_equal(r.user.karma, 5);
}

int read_list_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(a_list_that_was_seen),
        CASE(a_list_that_was_never_seen_is_made),
        CASE(a_made_list_is_good_for_a_moment),
        CASE(an_unknown_list),
        CASE(a_profile),
    };
    return cmocka_run_group_tests_name("read_lists", tests, NULL, NULL);
}
