/* What changed lately: who notes it, and what the mark promises. */
#include "fixture.h"

#include "store/feed.h"
#include "store/live.h"
#include "store/read.h"

/* What is committed is told when it is numbered. */
static void publish(struct fix *f) {
    struct err e;
    size_t n;
    assert_ok(store_feed_publish(f->s, 10000, &n, &e));
}

/* "items / names", the newest change first. */
static const char *recent_text(struct fix *f, size_t max_items, size_t max_names) {
    struct err e;
    struct recent r;
    int64_t mark = -1, alone = -1;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    publish(f);
    assert_ok(store_read_recent(f->s, &f->arena, max_items, max_names, &r, &mark, &e));
    assert_ok(store_recent_mark(f->s, &alone, &e));
    assert_int_equal(mark, alone);
    for (size_t i = 0; i < r.n_items; i++)
        strbuf_addf(&b, "%lld ", (long long)r.items[i]);
    strbuf_adds(&b, "/");
    for (size_t i = 0; i < r.n_names; i++)
        strbuf_addf(&b, " %.*s", STR_FMT(r.names[i]));
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static int64_t mark_of(struct fix *f) {
    struct err e;
    int64_t mark = -1;
    publish(f);
    assert_ok(store_recent_mark(f->s, &mark, &e));
    return mark;
}

static void live(struct fix *f, int64_t fetched_at, const char *json) {
    struct batch *b = live_batch(f);
    put_item(b, fetched_at, json);
    apply_live_ok(f, b);
}

static void the_live_stream_is_noted(void **state) {
    struct fix *f = *state;
    assert_string_equal(recent_text(f, 10, 10), "/");
    assert_int_equal(mark_of(f), 0);
    struct batch *b = live_batch(f);
    put_item(b, T0, "{'id':5,'type':'story','score':1}");
    put_item(b, T0, "{'id':3,'type':'story','score':1}");
    apply_live_ok(f, b);
    assert_string_equal(recent_text(f, 10, 10), "5 3 /");
    int64_t mark = mark_of(f);
    assert_true(mark > 0);
    live(f, T0 + 1, "{'id':3,'type':'story','score':1}"); /* unchanged */
    live(f, T0 - 1, "{'id':3,'type':'story','score':9}"); /* stale */
    assert_int_equal(mark_of(f), mark);
    live(f, T0 + 2, "{'id':3,'type':'story','score':2}");
    assert_true(mark_of(f) > mark);
    assert_string_equal(recent_text(f, 10, 10), "3 5 /");
    assert_string_equal(recent_text(f, 1, 10), "3 /");
    assert_string_equal(recent_text(f, 0, 0), "/");
}

static void history_is_no_news(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':1,'type':'story'}");
    assert_int_equal(mark_of(f), 0);
    static const enum purpose purposes[] = {PURPOSE_GAP, PURPOSE_REPLAY, PURPOSE_RESCAN};
    for (int i = 0; i < 3; i++) {
        struct claim c = claim_new(f, purposes[i], 200000 + i, 200000 + i);
        struct batch *b = batch_for(&c, c.end_id, true);
        char json[80];
        snprintf(json, sizeof json, "{'id':%d,'type':'story'}", 200000 + i);
        put_item(b, T0, json);
        apply_ok(f->s, b);
    }
    assert_string_equal(recent_text(f, 10, 10), "200002 200001 200000 /");
}

static void put_user(struct fix *f, const char *name, int64_t karma, bool exists) {
    struct err e;
    int64_t changed;
    struct user_answer a = {.name = str_of(name), .exists = exists, .fetched_at = T0};
    a.user = (struct user){.id = a.name, .created = 1, .karma = karma, .content_hash = karma};
    assert_ok(store_put_users(f->s, &a, 1, &changed, &e));
}

static void profiles_are_noted(void **state) {
    struct fix *f = *state;
    put_user(f, "b", 1, true);
    put_user(f, "a", 1, true);
    live(f, T0, "{'id':5,'type':'story'}");
    assert_string_equal(recent_text(f, 10, 10), "5 / a b");
    int64_t mark = mark_of(f);
    put_user(f, "b", 1, true);      /* unchanged */
    put_user(f, "ghost", 1, false); /* never known */
    assert_int_equal(mark_of(f), mark);
    put_user(f, "b", 2, true);
    assert_string_equal(recent_text(f, 10, 10), "5 / b a");
    put_user(f, "a", 2, false); /* gone */
    assert_string_equal(recent_text(f, 10, 1), "5 / a");
    assert_true(mark_of(f) > mark + 1);
}

/* "items / names", the oldest change first; moves the mark. */
static const char *since_text(struct fix *f, int64_t *mark, size_t max) {
    struct err e;
    struct recent r;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    publish(f);
    assert_ok(store_read_recent_since(f->s, &f->arena, *mark, max, &r, mark, &e));
    for (size_t i = 0; i < r.n_items; i++)
        strbuf_addf(&b, "%lld ", (long long)r.items[i]);
    strbuf_adds(&b, "/");
    for (size_t i = 0; i < r.n_names; i++)
        strbuf_addf(&b, " %.*s", STR_FMT(r.names[i]));
    return arena_strdup(&f->arena, b.p);
}

static void a_mark_can_be_followed(void **state) {
    struct fix *f = *state;
    int64_t mark = 0;
    assert_string_equal(since_text(f, &mark, 10), "/");
    assert_int_equal(mark, 0);
    live(f, T0, "{'id':5,'type':'story'}");
    put_user(f, "b", 1, true);
    live(f, T0, "{'id':3,'type':'story'}");
    live(f, T0 + 1, "{'id':5,'type':'story','score':2}");
    put_user(f, "a", 1, true);
    int64_t again = 0;
    assert_string_equal(since_text(f, &again, 10), "3 5 / b a");
    assert_int_equal(again, mark_of(f));
    assert_string_equal(since_text(f, &again, 10), "/");
    assert_string_equal(since_text(f, &mark, 2), "5 / b");
    assert_string_equal(since_text(f, &mark, 2), "3 5 /");
    assert_string_equal(since_text(f, &mark, 2), "/ a");
    assert_int_equal(mark, again);
    live(f, T0 + 2, "{'id':5,'type':'story','score':3}");
    assert_string_equal(since_text(f, &mark, 2), "5 /");
}

static void what_fails_leaves_no_news(void **state) {
    struct fix *f = *state;
    struct err e;
    struct apply_stats stats;
    struct batch *b = live_batch(f);
    put_item(b, T0, "{'id':5,'type':'story'}");
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_apply_live(f->s, b, &stats, &e), V_RETRY);
    fault_setup(NULL);
    assert_ok(store_recover(f->s, &e));
    assert_int_equal(mark_of(f), 0);
    apply_live_ok(f, b);
    assert_string_equal(recent_text(f, 10, 10), "5 /");
}

/* The changes of others are passed over, and not looked at again. */
static void others_move_the_mark(void **state) {
    struct fix *f = *state;
    live(f, T0, "{'id':5,'type':'story'}");
    log_changes(f, 100, 3, T0);
    x(f, "DELETE FROM items WHERE id = 5");
    int64_t mark = 0;
    assert_int_equal(mark_of(f), 5);
    assert_string_equal(recent_text(f, 10, 10), "5 /");
    assert_string_equal(since_text(f, &mark, 10), "5 /");
    assert_int_equal(mark, 5);
    live(f, T0, "{'id':6,'type':'story'}");
    assert_string_equal(since_text(f, &mark, 1), "6 /");
    assert_int_equal(mark, 6);
}

static void changes_are_counted_by_minutes(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t rate[3];
    live(f, T0, "{'id':5,'type':'story'}");
    live(f, T0, "{'id':6,'type':'story'}");
    live(f, T0, "{'id':7,'type':'story'}");
    put_user(f, "a", 1, true);
    (void)mark_of(f);
    const char *pos = fix_kind == DB_SQLITE ? "seq" : "pos";
    x(f, "UPDATE change_log SET at = %lld", (long long)T0 - 1000);
    x(f, "UPDATE change_log SET at = %lld WHERE %s = 2", (long long)T0 - 61000, pos);
    x(f, "UPDATE change_log SET at = %lld WHERE %s = 3", (long long)T0 + 61000, pos);
    assert_ok(store_recent_rate(f->s, rate, 3, &e));
    assert_int_equal(rate[0], 0);
    assert_int_equal(rate[1], 1);
    assert_int_equal(rate[2], 1);
}

int read_recent_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(the_live_stream_is_noted),
        CASE(history_is_no_news),
        CASE(profiles_are_noted),
        CASE(a_mark_can_be_followed),
        CASE(what_fails_leaves_no_news),
        CASE(others_move_the_mark),
        CASE(changes_are_counted_by_minutes),
    };
    return cmocka_run_group_tests_name("read_recent", tests, NULL, NULL);
}
