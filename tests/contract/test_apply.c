/* One item through store_apply: what is stored, what is told apart, what survives unharmed. */
#include "fixture.h"

#include <string.h>

#define STORY "{'id':1,'type':'story','by':'ann','time':1600000000,'title':'One','score':3}"

static void first_time_is_an_insert(void **state) {
    struct fix *f = *state;
    struct apply_stats st = store_item(f, T0 - 50, STORY);
    assert_counts(st, 1, 0, 0, 0);
    assert_int_equal(st.revisions, 0);
    assert_q("1|0|story|ann|1600000000|-|0|-|-|-|3|One|-|-|1", f,
             "SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, "
             "parts, descendants, story_id FROM items");
    assert_int_equal(qi(f, "SELECT first_seen_at FROM items"), T0 - 50);
    assert_int_equal(qi(f, "SELECT last_changed_at FROM items"), T0 - 50);
}

static void same_item_twice_changes_nothing(void **state) {
    struct fix *f = *state;
    store_item(f, T0 - 50, STORY);
    const char *before = q(f, "SELECT id, content_hash, kids_hash, first_seen_at, last_changed_at, "
                              "score, title, story_id FROM items");
    struct apply_stats st = store_item(f, T0 - 10, STORY);
    assert_counts(st, 0, 0, 1, 0);
    assert_int_equal(st.revisions, 0);
    assert_int_equal(st.kids, 0);
    assert_q(before, f,
             "SELECT id, content_hash, kids_hash, first_seen_at, last_changed_at, "
             "score, title, story_id FROM items");
    assert_int_equal(qi(f, "SELECT last_fetched_at FROM items"), T0 - 10);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM item_revisions"), 0);
}

static void unchanged_with_kids_keeps_its_kids(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':1,'type':'story','kids':[9,5,7]}");
    struct apply_stats st = store_item(f, T0 + 1, "{'id':1,'type':'story','kids':[9,5,7]}");
    assert_counts(st, 0, 0, 1, 0);
    assert_q("9|0 5|1 7|2", f, "SELECT kid, display_order FROM kids ORDER BY display_order");
}

static void old_never_overwrites_new(void **state) {
    struct fix *f = *state;
    store_item(f, T0, STORY);
    const char *before = dump(f);
    struct batch *b = wide_batch(f);
    put_item(b, T0 - 1, "{'id':1,'type':'story','title':'Older','kids':[4]}");
    struct apply_stats st = apply_ok(f->s, b);
    assert_counts(st, 0, 0, 0, 1);
    assert_int_equal(st.revisions + st.kids, 0);
    assert_string_equal(dump(f), before);
}

static void the_same_instant_is_not_stale(void **state) {
    struct fix *f = *state;
    store_item(f, T0, STORY);
    struct apply_stats st = store_item(f, T0, "{'id':1,'type':'story','title':'Two'}");
    assert_counts(st, 0, 1, 0, 0);
}

static void stale_and_unchanged_are_told_apart(void **state) {
    struct fix *f = *state;
    store_item(f, T0, STORY);
    assert_counts(store_item(f, T0 - 1, STORY), 0, 0, 0, 1);
    assert_counts(store_item(f, T0, STORY), 0, 0, 1, 0);
    assert_int_equal(qi(f, "SELECT last_fetched_at FROM items"), T0);
}

/* A stamp more than five seconds ahead of the database's now was made by a wrong clock. */
static void stamp_from_the_future_freezes_nothing(void **state) {
    static const struct {
        int64_t stored_ahead;
        bool stale;
    } rows[] = {{1, true}, {5000, true}, {5001, false}, {86400000, false}};
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char json[100];
        snprintf(json, sizeof json, "{'id':%zu,'type':'story','title':'a'}", i + 1);
        store_item(f, T0 + rows[i].stored_ahead, json);
        snprintf(json, sizeof json, "{'id':%zu,'type':'story','title':'b'}", i + 1);
        struct apply_stats st = store_item(f, T0, json);
        assert_counts(st, 0, !rows[i].stale, 0, rows[i].stale);
        assert_q(rows[i].stale ? "a" : "b", f, "SELECT title FROM items WHERE id = %zu", i + 1);
    }
}

static void future_stamp_comes_back_down_when_unchanged(void **state) {
    struct fix *f = *state;
    store_item(f, T0 + 600000, STORY);
    assert_counts(store_item(f, T0, STORY), 0, 0, 1, 0);
    assert_int_equal(qi(f, "SELECT last_fetched_at FROM items"), T0);
}

static void null_never_erases(void **state) {
    static const struct {
        enum purpose purpose;
        enum exception_state state;
        const char *cls;
    } rows[] = {
        {PURPOSE_MIRROR, EXC_TERMINAL_MISSING, "null_old"},
        {PURPOSE_MIRROR, EXC_RETRY_WAIT, "null_young"},
        {PURPOSE_GAP, EXC_TERMINAL_MISSING, "null_old"},
        {PURPOSE_REPLAY, EXC_TERMINAL_MISSING, "null_old"},
        {PURPOSE_RESCAN, EXC_RETRY_WAIT, "null_young"},
    };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t id = 200001 + 10 * (int64_t)i;
        struct claim c = claim_new(f, PURPOSE_GAP, id, id);
        struct batch *b = batch_for(&c, id, true);
        char json[80];
        snprintf(json, sizeof json, "{'id':%lld,'type':'story','title':'here'}", (long long)id);
        put_item(b, T0, json);
        apply_ok(f->s, b);
        const char *item = q(f, "SELECT * FROM items WHERE id = %lld", (long long)id);
        c = claim_new(f, rows[i].purpose, id, id);
        b = batch_for(&c, id, true);
        put_exception(b, id, rows[i].state, rows[i].cls);
        struct apply_stats st = apply_ok(f->s, b);
        assert_int_equal(st.missing + st.waiting, 0);
        assert_int_equal(st.status, SEG_DONE);
        assert_q(item, f, "SELECT * FROM items WHERE id = %lld", (long long)id);
        assert_q("", f, "SELECT * FROM ingest_exceptions WHERE item_id = %lld", (long long)id);
    }
}

static void empty_batch_is_a_heartbeat(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    fix_advance(f, 7000);
    struct apply_stats st = apply_ok(f->s, batch_for(&c, 9, false));
    assert_counts(st, 0, 0, 0, 0);
    assert_false(st.released);
    assert_int_equal(qi(f, "SELECT heartbeat_at FROM ingest_segments"), T0 + 7000);
    assert_int_equal(qi(f, "SELECT lease_until FROM ingest_segments"), T0 + 7000 + LEASE_MS);
    assert_q("in_progress|9|0", f,
             "SELECT status, scan_cursor_id, unresolved_count FROM ingest_segments");
}

static void cursor_never_goes_back(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    apply_ok(f->s, batch_for(&c, 15, false));
    apply_ok(f->s, batch_for(&c, 12, false));
    assert_int_equal(qi(f, "SELECT scan_cursor_id FROM ingest_segments"), 15);
    apply_ok(f->s, batch_for(&c, 19, false));
    assert_int_equal(qi(f, "SELECT scan_cursor_id FROM ingest_segments"), 19);
}

/* A cursor beyond the end breaks a constraint. That is our bug, never a lost lease. */
static void broken_constraint_is_fatal(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    const char *before = dump(f);
    assert_int_not_equal(apply_verdict(f->s, batch_for(&c, 20, false)), V_OK);
    struct batch *b = batch_for(&c, 12, false);
    put_item(b, T0, "{'id':11,'type':'story'}");
    put_item(b, T0, "{'id':11,'type':'story','title':'twice in a batch'}");
    enum verdict v = apply_verdict(f->s, b);
    assert_true(v == V_FATAL || v == V_RETRY);
    assert_string_equal(dump(f), before);
}

/* PostgreSQL: between the look and the insert another one may have stored the item. Here a trigger
 * does. It is no contradiction, and the next try finds the item. */
static void whoever_was_faster_is_no_contradiction(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    x(f, "CREATE FUNCTION be_faster() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
         " IF pg_trigger_depth() = 1 THEN INSERT INTO items SELECT NEW.*; END IF;"
         " RETURN NEW; END $$");
    x(f, "CREATE TRIGGER faster BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION be_faster()");
    const char *before = dump(f);
    struct batch *b = batch_for(&c, 12, false);
    put_item(b, T0, "{'id':11,'type':'story'}");
    assert_int_equal(apply_verdict(f->s, b), V_RETRY);
    assert_string_equal(dump(f), before);
    x(f, "DROP TRIGGER faster ON items");
    b = batch_for(&c, 12, false);
    put_item(b, T0, "{'id':11,'type':'story'}");
    assert_counts(apply_ok(f->s, b), 1, 0, 0, 0);
}

/* Whatever else a table does not want stays one. */
static void what_the_table_does_not_want_is_one(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    x(f, "ALTER TABLE items ADD CONSTRAINT short CHECK (length(title) < 5) NOT VALID");
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':11,'type':'story','title':'a long one'}");
    assert_int_equal(apply_verdict(f->s, b), V_FATAL);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM items"), 0);
}

/* To look again, and again, would not help. */
static void a_unique_index_of_others_is_no_race(void **state) {
    struct fix *f = *state;
    struct err e;
    if (fix_kind != DB_POSTGRES || fix_partitioned) /* where it must have the id in it */
        skip();
    x(f, "CREATE UNIQUE INDEX items_by_idx ON items (by)");
    struct batch *b = wide_batch(f);
    struct apply_stats stats;
    put_item(b, T0, "{'id':11,'type':'story','by':'a'}");
    put_item(b, T0, "{'id':12,'type':'story','by':'a'}");
    assert_int_equal(store_apply(f->s, b, &stats, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "items_by_idx"));
    assert_null(strstr(e.msg, "another process"));
    batch_free(b);
}

static void a_batch_that_lies_scattered_is_compared_too(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':90000,'type':'story','title':'far'}");
    put_item(b, T0, "{'id':2,'type':'story','title':'near'}");
    put_item(b, T0, "{'id':40000,'type':'story','title':'middle'}");
    assert_counts(apply_ok(f->s, b), 3, 0, 0, 0);
    b = wide_batch(f);
    put_item(b, T0 + 1, "{'id':40000,'type':'story','title':'middle'}");
    put_item(b, T0 - 1, "{'id':2,'type':'story','title':'older'}");
    put_item(b, T0 + 1, "{'id':90000,'type':'story','title':'changed'}");
    put_item(b, T0 + 1, "{'id':70000,'type':'story','title':'new'}");
    assert_counts(apply_ok(f->s, b), 1, 1, 1, 1);
    assert_q("2|near 40000|middle 70000|new 90000|changed", f,
             "SELECT id, title FROM items ORDER BY id");
}

int apply_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(first_time_is_an_insert),
        CASE(same_item_twice_changes_nothing),
        CASE(unchanged_with_kids_keeps_its_kids),
        CASE(old_never_overwrites_new),
        CASE(the_same_instant_is_not_stale),
        CASE(stale_and_unchanged_are_told_apart),
        CASE(stamp_from_the_future_freezes_nothing),
        CASE(future_stamp_comes_back_down_when_unchanged),
        CASE(null_never_erases),
        CASE(empty_batch_is_a_heartbeat),
        CASE(cursor_never_goes_back),
        CASE(broken_constraint_is_fatal),
        CASE(whoever_was_faster_is_no_contradiction),
        CASE(what_the_table_does_not_want_is_one),
        CASE(a_unique_index_of_others_is_no_race),
        CASE(a_batch_that_lies_scattered_is_compared_too),
    };
    return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
