/* What changed lately: who notes it, and what the mark promises. */
#include "fixture.h"

#include "store/live.h"
#include "store/read.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* "items / names", the newest change first. */
static const char *recent_text(struct fix *f, size_t max_items, size_t max_names) {
    struct err e;
    struct recent r;
    int64_t mark = -1, alone = -1;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
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

static void old_changes_go(void **state) {
    struct fix *f = *state;
    enum { BATCH = 700, ROUNDS = 32 };
    for (int round = 0; round < ROUNDS; round++) {
        struct batch *b = live_batch(f);
        for (int i = 0; i < BATCH; i++) {
            char json[80];
            snprintf(json, sizeof json, "{'id':%d,'type':'story'}", 1 + round * BATCH + i);
            put_item(b, T0, json);
        }
        apply_live_ok(f, b);
    }
    assert_int_equal(mark_of(f), ROUNDS * BATCH);
    assert_in_range(qi(f, "SELECT COUNT(*) FROM recent_changes"), 20000, 21700);
    assert_int_equal(qi(f, "SELECT MAX(item_id) FROM recent_changes"), ROUNDS * BATCH);
}

struct second_writer {
    struct store *s;
    enum verdict v;
};

static enum verdict note(struct store *s, int64_t id) {
    struct err e;
    const struct str none = STR_NONE;
    return store_note_changes(s, &id, &none, 1, &e);
}

static void *write_second(void *arg) {
    struct second_writer *w = arg;
    struct err e;
    w->v = db_begin(w->s->db, &e);
    if (w->v == V_OK)
        w->v = store_end(w->s, note(w->s, 8), &e);
    return NULL;
}

/* A writer that numbered its change first and commits last would be passed over by a mark that has
 * risen already. So the second one waits, and counts on from what the first one wrote. */
static void numbers_follow_commits(void **state) {
    struct fix *f = *state;
    struct err e;
    if (fix_kind == DB_SQLITE)
        return; /* one writer at a time */
    struct store *first = fix_open(f);
    struct second_writer second = {.s = fix_open(f)};
    pthread_t thread;
    assert_ok(db_begin(first->db, &e));
    assert_int_equal(note(first, 7), V_OK);
    assert_int_equal(pthread_create(&thread, NULL, write_second, &second), 0);
    while (qi(f, "SELECT COUNT(*) FROM pg_locks WHERE NOT granted") == 0)
        sched_yield();
    assert_int_equal(mark_of(f), 0);
    assert_ok(db_commit(first->db, &e));
    pthread_join(thread, NULL);
    assert_int_equal(second.v, V_OK);
    assert_q("1|7 2|8", f, "SELECT change_id, item_id FROM recent_changes ORDER BY change_id");
}

int read_recent_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(the_live_stream_is_noted), CASE(history_is_no_news),        CASE(profiles_are_noted),
        CASE(a_mark_can_be_followed),   CASE(what_fails_leaves_no_news), CASE(old_changes_go),
        CASE(numbers_follow_commits),
    };
    return cmocka_run_group_tests_name("read_recent", tests, NULL, NULL);
}
