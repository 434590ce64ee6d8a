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

/* The whole JSON of the change at a position. */
static struct feed_change change_at(struct fix *f, int64_t pos) {
    struct err e;
    const struct feed_change *c;
    size_t n;
    assert_ok(store_feed_read(f->s, &f->arena, pos - 1, 1, (size_t)64 << 20, &c, &n, &e));
    assert_int_equal(n, 1);
    assert_int_equal(c[0].pos, pos);
    return c[0];
}

static void assert_json(struct fix *f, struct str json, const char *with_single_quotes) {
    char *want = arena_strdup(&f->arena, with_single_quotes);
    for (char *p = want; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (!str_eqc(json, want))
        fail_msg("not %s\nbut %.*s", want, STR_FMT(json));
}

#define STAMPS "'first_seen_at':1700000000000,'last_fetched_at':1700000000000,"

/* Byte by byte the same on both databases. */
static void rows_are_the_same_json(void **state) {
    struct fix *f = *state;
    live(f, T0,
         "{'id':5,'type':'poll','by':'x','time':1160418111,'title':'\\u00e9 \\u20ac \\\" \\\\ / "
         "\\t\\u0001\\u007f','text':'<p>&#x27;\\n','score':-3,'parts':[6, 7],'descendants':0,"
         "'url':'https://www.example.com/a?b=c'}");
    live(f, T0, "{'id':6,'deleted':true,'type':'comment','parent':77,'dead':true}");
    put_user(f, "a\"\\b", T0, 7);
    publish(f);
    struct feed_change c = change_at(f, 1);
    assert_string_equal(q(f, "SELECT schema_name FROM cdc_tables WHERE table_id = 1"),
                        fix_kind == DB_SQLITE ? "main" : f->schema);
    assert_true(str_eqc(c.schema, fix_kind == DB_SQLITE ? "main" : f->schema));
    assert_int_equal(c.table, 1);
    assert_true(c.is_public);
    assert_json(f, c.key, "{'id':5}");
    assert_json(f, c.data,
                "{'id':5,'deleted':false,'type':'poll','by':'x','time':1160418111,"
                "'text':'<p>&#x27;\\n','dead':false,'parent':null,'poll':null,"
                "'url':'https://www.example.com/a?b=c','score':-3,"
                "'title':'\xc3\xa9 \xe2\x82\xac \\' \\\\ / \\t\\u0001\x7f','parts':[6,7],"
                "'descendants':0,'story_id':5,'domain':'example.com'," STAMPS
                "'last_changed_at':1700000000000}");
    assert_json(f, change_at(f, 2).data,
                "{'id':6,'deleted':true,'type':'comment','by':null,'time':null,'text':null,"
                "'dead':true,'parent':77,'poll':null,'url':null,'score':null,'title':null,"
                "'parts':null,'descendants':null,'story_id':null,'domain':null," STAMPS
                "'last_changed_at':1700000000000}");
    c = change_at(f, 3);
    assert_int_equal(c.table, 2);
    assert_json(f, c.key, "{'id':'a\\'\\\\b'}");
    assert_json(f, c.data,
                "{'id':'a\\'\\\\b','created':1,'karma':7,'about':null,'gone':false," STAMPS
                "'last_changed_at':1700000000000}");
}

static void what_is_no_change_is_not_logged(void **state) {
    struct fix *f = *state;
    live(f, T0, "{'id':5,'type':'story','score':1}");
    live(f, T0, "{'id':9,'type':'comment','parent':8}");
    publish(f);
    int64_t head = state_of(f).head;
    x(f, "UPDATE items SET last_fetched_at = last_fetched_at + 1");
    x(f, "UPDATE items SET story_id = 5 WHERE id = 9");
    x(f, "UPDATE items SET content_hash = 0 WHERE id = 5"); /* a doubt */
    x(f, "UPDATE items SET score = score");
    publish(f);
    assert_int_equal(state_of(f).head, head);
    /* the same stamp, and another score: an import of the same day */
    x(f, "UPDATE items SET score = 2 WHERE id = 5");
    live(f, T0 + 5, "{'id':5,'type':'story','score':2}"); /* the doubt is gone */
    publish(f);
    assert_int_equal(state_of(f).head, head + 2);
}

static void tables_are_truncated(void **state) {
    struct fix *f = *state;
    live(f, T0, "{'id':5,'type':'story'}");
    live(f, T0, "{'id':6,'type':'story'}");
    x(f, fix_kind == DB_POSTGRES ? "TRUNCATE items" : "DELETE FROM items");
    publish(f);
    assert_string_equal(log_text(f, 2, 10),
                        fix_kind == DB_POSTGRES
                            ? "3 items truncate "
                            : "3 items delete {\"id\":5}, 4 items delete {\"id\":6}");
}

/* What the mirror fetches for the first time below the first maxitem it heard of is history. */
static void history_is_silent(void **state) {
    struct fix *f = *state;
    struct err e;
    store_item(f, T0, "{'id':50000,'type':'story'}"); /* nobody has said yet what is old */
    assert_ok(store_note_maxitem(f->s, 100, &e));
    assert_int_equal(state_of(f).history_to, 100);
    assert_ok(store_note_maxitem(f->s, 200, &e));
    assert_int_equal(state_of(f).history_to, 100);
    store_item(f, T0, "{'id':100,'type':'story'}");
    store_item(f, T0 + 1, "{'id':100,'type':'story'}");
    publish(f);
    assert_int_equal(state_of(f).head, 0);
    store_item(f, T0, "{'id':101,'type':'story'}");
    live(f, T0, "{'id':7,'type':'story'}"); /* named by the stream */
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':99,'type':'story'}");
    put_item(b, T0, "{'id':102,'type':'story'}");
    apply_ok(f->s, b);
    publish(f);
    assert_string_equal(log_text(f, 0, 10),
                        "1 items insert {\"id\":101}, 2 items insert {\"id\":7}, "
                        "3 items insert {\"id\":99}, 4 items insert {\"id\":102}");
    if (fix_kind == DB_SQLITE)
        assert_q("0", f, "SELECT bulk FROM feed_state");
}

/* Readers were told of a row; that the mirror comes by later is no reason to keep quiet about what
 * became of it. What is new in the same batch is history all the same. */
static void a_change_of_history_is_told(void **state) {
    struct fix *f = *state;
    struct err e;
    assert_ok(store_note_maxitem(f->s, 100, &e));
    live(f, T0, "{'id':7,'type':'story','score':1}");
    struct batch *b = wide_batch(f);
    put_item(b, T0 + 1, "{'id':7,'type':'story','score':2}");
    put_item(b, T0 + 1, "{'id':8,'type':'story'}");
    apply_ok(f->s, b);
    store_item(f, T0 + 2, "{'id':9,'type':'story'}");
    store_item(f, T0 + 3, "{'id':9,'type':'story','score':2}");
    publish(f);
    assert_string_equal(log_text(f, 0, 10), "1 items insert {\"id\":7}, 2 items update {\"id\":7}, "
                                            "3 items update {\"id\":9}");
    if (fix_kind == DB_SQLITE)
        assert_q("0", f, "SELECT bulk FROM feed_state");
}

static void history_can_be_asked_for(void **state) {
    struct fix *f = *state;
    struct err e;
    struct store_options o = fix_options(f);
    struct store *ours = f->s, *tells;
    o.log_history = true;
    assert_ok(store_open(&o, &tells, &e));
    f->s = tells;
    store_item(f, T0, "{'id':50,'type':'story'}");
    publish(f);
    assert_int_equal(state_of(f).head, 1);
    f->s = ours;
    store_close(tells);
}

static void a_row_of_a_mebibyte(void **state) {
    struct fix *f = *state;
    struct err e;
    enum { MIB = 1 << 20 };
    for (int id = 1; id <= 3; id++)
        x(f,
          "INSERT INTO items (id, text, content_hash, kids_hash, first_seen_at, last_fetched_at,"
          " last_changed_at) SELECT %d, %s, 1, 0, 1, 1, 1",
          id, fix_kind == DB_SQLITE ? "hex(zeroblob(524288))" : "repeat('0', 1048576)");
    publish(f);
    struct feed_change c = change_at(f, 2);
    assert_in_range(c.data.n, MIB, MIB + 1000);
    assert_true(c.data.p[c.data.n - 1] == '}');
    const struct feed_change *all;
    size_t n;
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10, 1, &all, &n, &e));
    assert_int_equal(n, 1); /* one at least */
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10, MIB + 5000, &all, &n, &e));
    assert_int_equal(n, 2);
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10, 64 * MIB, &all, &n, &e));
    assert_int_equal(n, 3);
}

static void what_is_too_large_goes_by_key(void **state) {
    struct fix *f = *state;
    x(f,
      "INSERT INTO items (id, text, content_hash, kids_hash, first_seen_at, last_fetched_at,"
      " last_changed_at) SELECT 1, %s, 1, 0, 1, 1, 1",
      fix_kind == DB_SQLITE ? "hex(zeroblob(8388608))" : "repeat('0', 16777216)");
    publish(f);
    struct feed_change c = change_at(f, 1);
    assert_json(f, c.key, "{'id':1}");
    assert_null(c.data.p);
}

static int64_t prune(struct fix *f, int64_t age_ms, int64_t rows) {
    struct err e;
    int64_t n = -1;
    assert_ok(store_feed_prune(f->s, age_ms, rows, &n, &e));
    return n;
}

static void fill_log(struct fix *f, int n) {
    for (int i = 0; i < n; i++)
        log_changes(f, 100, 1, T0 - 1000);
    publish(f);
}

/* Of partitions each call drops one at most. */
static int64_t prune_all(struct fix *f, int64_t age_ms, int64_t rows) {
    int64_t all = 0;
    for (int64_t n; (n = prune(f, age_ms, rows)) > 0;)
        all += n;
    return all;
}

/* What goes ends where a partition ends (4, 9, 14), so that it is the same without them. */
static void old_changes_go(void **state) {
    struct fix *f = *state;
    const char *pos = fix_kind == DB_SQLITE ? "seq" : "pos";
    fill_log(f, 16);
    x(f, "UPDATE change_log SET at = %lld WHERE %s <= 4 OR %s BETWEEN 10 AND 14",
      (long long)T0 - 50000, pos, pos);
    assert_int_equal(prune_all(f, 100000, 1000), 0);
    assert_int_equal(prune_all(f, 10000, 1000), 4); /* no hole is made at 10 */
    assert_int_equal(state_of(f).oldest, 5);
    assert_int_equal(state_of(f).head, 16);
    assert_int_equal(prune_all(f, 10000, 1000), 0);
    assert_int_equal(prune_all(f, 10000, 6), 10); /* 5 to 10 by number, 11 to 14 by age too */
    assert_int_equal(prune_all(f, 100000, 2), 0);
    assert_int_equal(state_of(f).oldest, 15);
}

/* Reads in pages; each key is that of its position. Answers how many there were. */
static int64_t walk(struct fix *f, int64_t pos, size_t page, size_t max_bytes) {
    struct err e;
    const struct feed_change *c;
    size_t n = 1;
    int64_t all = 0;
    for (; n; all += (int64_t)n) {
        assert_ok(store_feed_read(f->s, &f->arena, pos, page, max_bytes, &c, &n, &e));
        assert_true(n <= page);
        for (size_t i = 0; i < n; i++) {
            char key[40];
            assert_int_equal(c[i].pos, ++pos);
            snprintf(key, sizeof key, "{\"id\":%lld}", (long long)pos);
            if (!str_eqc(c[i].key, key))
                fail_msg("%.*s at %lld", STR_FMT(c[i].key), (long long)pos);
        }
    }
    return all;
}

/* As rows of the log, on PostgreSQL, there are fewer; whole ones of them go, so that some more than
 * was asked for may stay. */
static void a_statement_of_many_rows(void **state) {
    struct fix *f = *state;
    enum { ROWS = 9000, KEEP = 1234, ROW_MAX = 4096 };
    x(f,
      "INSERT INTO items (id, text, content_hash, kids_hash, first_seen_at, last_fetched_at,"
      " last_changed_at) SELECT i, %s, 1, 0, 1, 1, 1 FROM (WITH RECURSIVE t(i) AS (SELECT 1 UNION"
      " ALL SELECT i + 1 FROM t WHERE i < %d) SELECT i FROM t) AS t",
      fix_kind == DB_SQLITE ? "substr(hex(zeroblob(150)), 1, i % 300)" : "repeat('x', i % 300)",
      ROWS);
    publish(f);
    assert_int_equal(state_of(f).head, ROWS);
    if (fix_kind == DB_POSTGRES)
        assert_q("9000|1|1|1", f,
                 "SELECT SUM(n), COUNT(DISTINCT batch), (MAX(n) <= 4096)::int,"
                 " (MAX(bytes) < 140000)::int FROM change_log");
    assert_int_equal(walk(f, 0, 700, (size_t)64 << 20), ROWS);
    assert_int_equal(walk(f, 0, 5000, 100000), ROWS);
    assert_int_equal(walk(f, ROWS - 1, 5000, 100000), 1);
    int64_t gone = prune_all(f, (int64_t)1 << 50, KEEP);
    int64_t oldest = state_of(f).oldest;
    assert_int_equal(oldest, gone + 1);
    assert_in_range(oldest, ROWS - KEEP - ROW_MAX, ROWS - KEEP + 1);
    assert_int_equal(walk(f, oldest - 1, 700, (size_t)64 << 20), ROWS - gone);
    assert_int_equal(state_of(f).head, ROWS);
    gone += prune_all(f, (int64_t)1 << 50, 0);
    if (!fix_partitioned) /* the partition at work stays */
        assert_int_equal(gone, ROWS);
    assert_int_equal(state_of(f).oldest, gone + 1);
}

static void a_number_is_never_given_twice(void **state) {
    struct fix *f = *state;
    fill_log(f, 9);
    assert_int_equal(prune_all(f, 0, 1000), fix_partitioned ? 4 : 9);
    struct feed_state st = state_of(f);
    assert_int_equal(st.head, 9);
    assert_int_equal(st.oldest, fix_partitioned ? 5 : 10);
    assert_string_equal(log_text(f, 9, 10), "");
    live(f, T0, "{'id':5,'type':'story'}");
    publish(f);
    assert_string_equal(log_text(f, 9, 10), "10 items insert {\"id\":5}");
}

static void a_reader_that_was_away_too_long(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t pos;
    bool gap;
    fill_log(f, 11);
    int64_t epoch = state_of(f).epoch;
    assert_int_equal(prune_all(f, 100000, 2), 9);
    static const struct {
        int64_t since, pos;
        bool gap;
    } cases[] = {{0, 9, true}, {8, 9, true}, {9, 9, false}, {11, 11, false}, {12, 11, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct feed_id since = {epoch, cases[i].since};
        assert_ok(store_feed_resolve(f->s, since, &pos, &gap, &e));
        assert_int_equal(pos, cases[i].pos);
        assert_int_equal(gap, cases[i].gap);
    }
}

int feed_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(an_empty_log),
        CASE(changes_are_logged_in_order),
        CASE(rows_are_the_same_json),
        CASE(what_is_no_change_is_not_logged),
        CASE(tables_are_truncated),
        CASE(history_is_silent),
        CASE(a_change_of_history_is_told),
        CASE(history_can_be_asked_for),
        CASE(a_row_of_a_mebibyte),
        CASE(what_is_too_large_goes_by_key),
        CASE(old_changes_go),
        WIDE_CASE(a_statement_of_many_rows),
        CASE(a_number_is_never_given_twice),
        CASE(a_reader_that_was_away_too_long),
    };
    return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
