/* The change log: what is logged, in which order it is read, and where a reader goes on. */
#include "fixture.h"

#include "store/feed.h"
#include "store/live.h"

#include <string.h>

static size_t publish(struct fix *f) {
    struct err e;
    size_t n = 0;
    assert_ok(store_feed_publish(f->s, 10000, &n, &e));
    return n;
}

static struct feed_state state_of(struct fix *f) {
    struct err e;
    struct feed_state st;
    assert_ok(store_feed_state(f->s, &st, &e));
    return st;
}

/* "pos table action key", one after another. */
static const char *log_text(struct fix *f, int64_t pos, size_t max) {
    struct err e;
    const struct feed_change *c;
    size_t n;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    assert_ok(store_feed_read(f->s, &f->arena, pos, max, 1 << 20, &c, &n, &e));
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%lld %.*s %s %.*s", i ? ", " : "", (long long)c[i].pos,
                    STR_FMT(c[i].name), feed_action_name(c[i].action), STR_FMT(c[i].key));
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static void live(struct fix *f, int64_t fetched_at, const char *json) {
    struct batch *b = live_batch(f);
    put_item(b, fetched_at, json);
    apply_live_ok(f, b);
}

static void put_user(struct fix *f, const char *name, int64_t fetched_at, int64_t karma) {
    struct err e;
    int64_t changed;
    struct user_answer a = {.name = str_of(name), .exists = true, .fetched_at = fetched_at};
    a.user = (struct user){.id = a.name, .created = 1, .karma = karma, .content_hash = karma};
    assert_ok(store_put_users(f->s, &a, 1, &changed, &e));
}

static void an_empty_log(void **state) {
    struct fix *f = *state;
    struct feed_state st = state_of(f);
    assert_int_equal(st.epoch, qi(f, "SELECT MAX(epoch) FROM feed_epochs"));
    assert_true(st.epoch > 0);
    assert_int_equal(st.head, 0);
    assert_int_equal(st.oldest, 1);
    assert_int_equal(st.history_to, 0);
    assert_int_equal(publish(f), 0);
    assert_string_equal(log_text(f, 0, 10), "");
}

static void changes_are_logged_in_order(void **state) {
    struct fix *f = *state;
    live(f, T0, "{'id':5,'type':'story','score':1}");
    put_user(f, "a\"b", T0, 1);
    live(f, T0 + 1, "{'id':5,'type':'story','score':1}"); /* unchanged */
    live(f, T0 - 1, "{'id':5,'type':'story','score':9}"); /* stale */
    live(f, T0 + 2, "{'id':5,'type':'story','score':2}");
    put_user(f, "a\"b", T0 + 1, 1); /* unchanged */
    put_user(f, "a\"b", T0 + 2, 2);
    x(f, "DELETE FROM items WHERE id = 5");
    if (fix_kind == DB_POSTGRES)
        assert_string_equal(log_text(f, 0, 10), ""); /* nobody has numbered them yet */
    publish(f);
    assert_string_equal(log_text(f, 0, 10),
                        "1 items insert {\"id\":5}, 2 users insert {\"id\":\"a\\\"b\"}, "
                        "3 items update {\"id\":5}, 4 users update {\"id\":\"a\\\"b\"}, "
                        "5 items delete {\"id\":5}");
    assert_string_equal(log_text(f, 2, 1), "3 items update {\"id\":5}");
    assert_int_equal(state_of(f).head, 5);
    assert_int_equal(state_of(f).oldest, 1);
    assert_int_equal(publish(f), 0);
}

int feed_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(an_empty_log),
        CASE(changes_are_logged_in_order),
    };
    return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
