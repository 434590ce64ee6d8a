/* Items that are updated together are logged together: in fewer rows of the log, where it keeps
 * several changes in one, and with nothing missing. */
#include "fixture.h"

#include "store/feed.h"
#include "store/live.h"
#include "store/partitions.h"
#include "store/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 300, WIDTH = 1000 };

static void put_scored(struct batch *b, int64_t at, int id, int score, int width) {
    char json[WIDTH + 200];
    char words[WIDTH + 1];
    memset(words, 'w', sizeof words);
    words[width] = 0;
    snprintf(json, sizeof json, "{'id':%d,'type':'story','score':%d,'text':'%s'}", id, score,
             words);
    put_item(b, at, json);
}

static void store_all(struct fix *f, int64_t at, int n, int score, int width) {
    struct batch *b = live_batch(f);
    for (int i = 1; i <= n; i++)
        put_scored(b, at, i, score, width);
    apply_live_ok(f, b);
}

/* "action id=score", one after another, behind a position. */
static const char *told(struct fix *f, int64_t pos) {
    struct err e;
    const struct feed_change *c;
    size_t n;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    assert_ok(store_feed_publish(f->s, 10000, &n, &e));
    assert_ok(store_feed_read(f->s, &f->arena, pos, 1000, 1 << 20, &c, &n, &e));
    for (size_t i = 0; i < n; i++) {
        const char *json = arena_strdup(&f->arena, c[i].data.p);
        assert_int_equal(c[i].pos, pos + 1 + (int64_t)i);
        strbuf_addf(&b, "%s%s %d=%d", i ? ", " : "", feed_action_name(c[i].action),
                    atoi(strstr(json, "\"id\":") + 5), atoi(strstr(json, "\"score\":") + 8));
    }
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static void updates_of_a_batch(void **state) {
    struct fix *f = *state;
    store_all(f, T0, 3, 1, 5);
    store_all(f, T0 + 1, 3, 2, 5);
    assert_string_equal(told(f, 3), "update 1=2, update 2=2, update 3=2");
    if (fix_kind == DB_POSTGRES)
        assert_q("insert|3 update|3", f, "SELECT action, n FROM change_log ORDER BY batch, part");
}

/* The same words in the log, whoever has written them there: the batch, or the trigger of a
 * statement that somebody gives by hand. */
static void they_say_what_a_trigger_says(void **state) {
    struct fix *f = *state;
    store_all(f, T0, 1, 1, 5);
    store_all(f, T0 + 1, 1, 2, 5);
    x(f, "UPDATE items SET score = 3 WHERE id = 1");
    x(f, "UPDATE items SET score = 2 WHERE id = 1");
    assert_string_equal(told(f, 0), "insert 1=1, update 1=2, update 1=3, update 1=2");
    if (fix_kind == DB_POSTGRES)
        assert_q("1|1|1", f,
                 "SELECT a.data = b.data, a.keys = b.keys, a.bytes = b.bytes"
                 " FROM change_log a, change_log b WHERE a.pos = 2 AND b.pos = 4");
}

static void a_row_of_the_log_does_not_grow_for_ever(void **state) {
    struct fix *f = *state;
    store_all(f, T0, MANY, 1, WIDTH);
    store_all(f, T0 + 1, MANY, 2, WIDTH);
    const char *all = told(f, MANY); /* in whatever order */
    for (int i = 1; i <= MANY; i++) {
        char one[40];
        snprintf(one, sizeof one, "update %d=2", i);
        assert_non_null(strstr(all, one));
    }
    if (fix_kind == DB_POSTGRES)
        assert_q("300|1|1", f,
                 "SELECT SUM(n), (COUNT(*) > 2)::int, (MAX(bytes) < 140000)::int FROM change_log"
                 " WHERE action = 'update'");
}

/* What a trigger of the user's does to other items meanwhile is in no batch of ours. */
static void what_a_trigger_does_within_is_told_too(void **state) {
    struct fix *f = *state;
    if (fix_kind == DB_SQLITE)
        skip();
    store_all(f, T0, 3, 1, 5);
    x(f, "CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
         " UPDATE items SET score = 77 WHERE id = 3 AND score <> 77; RETURN NULL; END $$");
    x(f, "CREATE TRIGGER also AFTER UPDATE OF score ON items FOR EACH ROW WHEN (NEW.id = 2)"
         " EXECUTE FUNCTION also()");
    store_all(f, T0 + 1, 2, 2, 5);
    assert_string_equal(told(f, 3), "update 1=2, update 2=2, update 3=77");
    x(f, "DROP TRIGGER also ON items");
    x(f, "UPDATE items SET score = 5 WHERE id = 1"); /* and by hand, after it */
    assert_string_equal(told(f, 6), "update 1=5");
}

/* As triggers do it, and who makes partitions: else these wait for each other. */
static void the_sequence_is_locked_before_the_log(void **state) {
    struct fix *f = *state;
    struct err e;
    if (fix_kind == DB_SQLITE)
        skip();
    assert_ok(db_begin(f->s->db, &e));
    assert_ok(db_run(f->s->db, SQL_FEED_TOGETHER, DB_NO_VALS, NULL, NULL, &e));
    assert_q("change_log_batch_seq", f,
             "SELECT relname FROM pg_locks JOIN pg_class c ON c.oid = relation"
             " WHERE relnamespace = current_schema()::regnamespace AND mode = 'RowExclusiveLock'");
    assert_ok(db_commit(f->s->db, &e));
}

static void assert_all_packed(struct fix *f) {
    assert_q("lx", f,
             "SELECT DISTINCT attcompression::text || attstorage::text FROM pg_attribute"
             " JOIN pg_class c ON c.oid = attrelid"
             " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
             " AND relname LIKE 'change_log%%' AND attname IN ('keys', 'data')");
}

static void what_is_long_is_packed(void **state) {
    struct fix *f = *state;
    struct err e;
    if (fix_kind == DB_SQLITE || !*q(f, "SELECT 1 FROM pg_settings WHERE 'lz4' = ANY (enumvals)"
                                        " AND name = 'default_toast_compression'"))
        skip();
    store_all(f, T0, MANY, 1, WIDTH);
    assert_all_packed(f);
    assert_q("1", f, "SELECT (SUM(pg_column_size(data)) * 5 < SUM(bytes))::int FROM change_log");
    if (fix_partitioned)
        return;
    assert_ok(store_partition(f->s, 50, &e));
    assert_q("1", f, "SELECT (COUNT(*) > 2)::int FROM partition_list WHERE parent = 'change_log'");
    assert_all_packed(f);
}

int feed_together_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(updates_of_a_batch),
        CASE(they_say_what_a_trigger_says),
        CASE(a_row_of_the_log_does_not_grow_for_ever),
        CASE(what_a_trigger_does_within_is_told_too),
        CASE(the_sequence_is_locked_before_the_log),
        CASE(what_is_long_is_packed),
    };
    return cmocka_run_group_tests_name("feed together", tests, NULL, NULL);
}
