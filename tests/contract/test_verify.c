/* What a proof reads, and the hand tools that mend: store/verify.h, and store/health.h. */
#include "fixture.h"

#include "store/health.h"
#include "store/verify.h"

#include <string.h>

static void read_page(struct fix *f, int64_t lo, int64_t hi, struct verify_page *p) {
    struct err e;
    assert_ok(store_verify_read(f->s, lo, hi, p, &e));
}

/* A thread of three, a poll, and one item whose parent is not there. */
static void store_thread(struct fix *f) {
    struct batch *b = wide_batch(f);
    put_item(b, T0,
             "{'id':10,'type':'story','by':'a','title':'T','url':'http://www.example.com/x?b=1',"
             "'kids':[12,11],'score':3,'descendants':2,'time':5}");
    put_item(b, T0, "{'id':11,'type':'comment','parent':10,'text':'one \xc3\xa9','kids':[13]}");
    put_item(b, T0, "{'id':12,'type':'comment','parent':10,'dead':true,'deleted':true}");
    put_item(b, T0, "{'id':13,'type':'comment','parent':11}");
    put_item(b, T0, "{'id':14,'type':'poll','parts':[15,16]}");
    put_item(b, T0, "{'id':15,'type':'pollopt','poll':14}");
    put_item(b, T0, "{'id':17,'type':'comment','parent':999}");
    apply_ok(f->s, b);
}

/* Row and derived values come back so that they can be computed again, on both databases. */
static void rows_come_back_whole(void **state) {
    struct fix *f = *state;
    store_thread(f);
    CLEANUP(verify_page_release) struct verify_page p;
    verify_page_init(&p);
    read_page(f, 1, 1000, &p);
    assert_int_equal(p.n_items, 7);
    assert_int_equal(p.n_kids, 3);
    assert_int_equal(p.n_stray_kids + p.n_exceptions + p.n_letters, 0);
    for (size_t i = 0; i < p.n_items; i++) {
        struct item now = p.items[i].item;
        item_derive(&p.arena, &now);
        assert_int_equal(now.content_hash, p.items[i].item.content_hash);
        assert_int_equal(now.kids_hash, p.items[i].item.kids_hash);
        assert_true(str_eq(now.url_key, p.items[i].item.url_key));
        assert_true(str_eq(now.domain, p.items[i].item.domain));
        assert_int_equal(p.items[i].last_fetched_at, T0);
    }
    assert_int_equal(p.items[0].item.kids[0], 12);
    assert_int_equal(p.items[0].story_id, 10);
    assert_int_equal(p.items[1].parent_story, 10);
    assert_int_equal(p.items[4].item.n_parts, 2);
    assert_int_equal(p.items[4].item.parts[1], 16);
    assert_true(p.items[5].parent_stored);
    assert_int_equal(p.items[5].parent_story, 14);
    assert_false(p.items[6].parent_stored);
    assert_int_equal(p.items[6].story_id, DB_NULL);
    read_page(f, 12, 13, &p);
    assert_int_equal(p.n_items, 2);
    assert_true(p.items[0].item.dead && p.items[0].item.deleted);
}

static void strays_are_seen(void **state) {
    struct fix *f = *state;
    store_thread(f);
    x(f, "DELETE FROM items WHERE id = 11");
    x(f, "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) "
         "VALUES (12, 77, 'dead_letter', 0)");
    int64_t gap = add_segment(f, PURPOSE_GAP, 500, 600);
    x(f,
      "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) "
      "VALUES (13, %lld, 'retry_wait', 0)",
      (long long)gap);
    x(f, "INSERT INTO ingest_dlq_items (source, item_id, state, attempts, first_at, last_at) "
         "VALUES ('catchup', 5, 'dead_letter', 1, 0, 0), ('rescan', 5, 'dead_letter', 1, 0, 0), "
         "('realtime', 6, 'dead_letter', 1, 0, 0), ('catchup', 7, 'resolved', 1, 0, 0)");
    CLEANUP(verify_page_release) struct verify_page p;
    verify_page_init(&p);
    read_page(f, 1, 100, &p);
    assert_int_equal(p.n_stray_kids, 1);
    assert_int_equal(p.stray_kids[0], 11);
    assert_int_equal(p.n_exceptions, 2);
    assert_int_equal(p.exceptions[0].purpose, -1);
    assert_int_equal(p.exceptions[1].purpose, PURPOSE_GAP);
    assert_true(p.exceptions[1].outside);
    assert_int_equal(p.n_letters, 1);
    assert_int_equal(p.letters[0], 5);
    struct err e;
    int64_t next;
    assert_ok(store_verify_next(f->s, 1, &next, &e));
    assert_int_equal(next, 5);
    assert_ok(store_verify_next(f->s, 8, &next, &e));
    assert_int_equal(next, 10);
    assert_ok(store_verify_next(f->s, 18, &next, &e));
    assert_int_equal(next, 0);
    assert_ok(store_last_item(f->s, &next, &e));
    assert_int_equal(next, 17);
}

static void facts_of_segments(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 2, EXC_DEAD_LETTER, "http_5xx");
    put_exception(b, 3, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 4, EXC_PENDING, "straggler");
    apply_ok(f->s, b);
    claim_new(f, PURPOSE_GAP, 20, 30);
    CLEANUP(segment_facts_release) struct segment_facts_list l = {0};
    struct err e;
    assert_ok(store_segment_facts(f->s, &l, &e));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.rows[0].unresolved, 2);
    assert_int_equal(l.rows[0].counted, 2);
    assert_int_equal(l.rows[0].pending, 1);
    assert_int_equal(l.rows[1].status, SEG_IN_PROGRESS);
    assert_false(l.rows[1].stale_lease);
    fix_advance(f, LEASE_MS + 1);
    assert_ok(store_segment_facts(f->s, &l, &e));
    assert_true(l.rows[1].stale_lease);
}

#define MEND(call)                                    \
    do {                                              \
        struct err e;                                 \
        assert_ok(store_plan_begin(f->s, &e));        \
        enum verdict mended_ = (call);                \
        assert_ok(store_plan_end(f->s, mended_, &e)); \
    } while (0)

/* What is read from it is written anew; what it is may only come from the upstream. */
static void derived_values_are_written_anew(void **state) {
    struct fix *f = *state;
    store_thread(f);
    x(f, "UPDATE items SET url_key = 'x', domain = 'y', content_hash = 1, kids_hash = 2 "
         "WHERE id = 10");
    CLEANUP(verify_page_release) struct verify_page p;
    verify_page_init(&p);
    read_page(f, 10, 10, &p);
    struct item now = p.items[0].item;
    item_derive(&p.arena, &now);
    p.items[0].last_fetched_at--; /* it was stored anew since it was read */
    MEND(repair_derived(f->s, &p.items[0], &now, &e));
    MEND(repair_unconfirmed(f->s, &p.items[0], &e));
    assert_q("x|1", f, "SELECT url_key, content_hash FROM items WHERE id = 10");
    p.items[0].last_fetched_at++;
    MEND(repair_derived(f->s, &p.items[0], &now, &e));
    assert_q("example.com|1|2", f,
             "SELECT domain, content_hash, kids_hash FROM items WHERE id = 10");
    MEND(repair_unconfirmed(f->s, &p.items[0], &e));
    assert_q("0|2", f, "SELECT content_hash, kids_hash FROM items WHERE id = 10");
}

/* The next fetch makes the row what the upstream says, words and kids, though the hashes that were
 * stored with it are those of the item that is fetched. */
static void a_fetch_confirms(void **state) {
    struct fix *f = *state;
    const char *json = "{'id':10,'type':'story','title':'T','kids':[12,11],'score':3}";
    store_item(f, T0, json);
    char *before = xstrdup(q(f, "SELECT title, content_hash, kids_hash FROM items"));
    x(f, "UPDATE items SET title = 'evil', content_hash = 0 WHERE id = 10");
    x(f, "UPDATE kids SET kid = 666 WHERE kid = 12");
    fix_advance(f, 1000);
    assert_counts(store_item(f, T0 + 1000, json), 0, 1, 0, 0);
    assert_q(before, f, "SELECT title, content_hash, kids_hash FROM items");
    assert_q("12|0 11|1", f, "SELECT kid, display_order FROM kids ORDER BY display_order");
    x(f, "UPDATE items SET content_hash = 0, kids_hash = 0 WHERE id = 10");
    assert_counts(store_item(f, T0 + 1000, json), 0, 1, 0, 0);
    assert_q("12|0 11|1", f, "SELECT kid, display_order FROM kids ORDER BY display_order");
    free_ptr(&before);
}

static void repairs_of_a_range(void **state) {
    struct fix *f = *state;
    add_segment(f, PURPOSE_MIRROR, 1, 100);
    add_segment(f, PURPOSE_GAP, 10, 20);
    add_segment(f, PURPOSE_RESCAN, 30, 40);
    CLEANUP(segment_facts_release) struct segment_facts_list l = {0};
    struct err e;
    assert_ok(store_repairs_in(f->s, 20, 30, &l, &e));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.rows[0].purpose, PURPOSE_GAP);
    assert_int_equal(l.rows[1].cursor, 29);
    assert_ok(store_repairs_in(f->s, 21, 29, &l, &e));
    assert_int_equal(l.n, 0);
}

static void sum(void *ctx, int64_t id) {
    *(int64_t *)ctx += id;
}

static void what_cannot_be_goes(void **state) {
    struct fix *f = *state;
    store_thread(f);
    x(f, "UPDATE items SET id = -5 WHERE id = 12");
    x(f, "INSERT INTO kids (item, kid, display_order) VALUES (-5, 1, 0)");
    struct err why;
    int64_t ids = 0;
    assert_int_equal(store_impossible_items(f->s, sum, &ids, &why), V_OK);
    assert_int_equal(ids, -5);
    MEND(repair_impossible(f->s, &e));
    assert_q("0|0", f,
             "SELECT (SELECT COUNT(*) FROM items WHERE id < 1), "
             "(SELECT COUNT(*) FROM kids WHERE item < 1)");
    x(f, "DELETE FROM updater_state");
    MEND(repair_state(f->s, 7, &e));
    assert_q("1|7", f, "SELECT only_row, floor_id FROM updater_state");
    MEND(repair_state(f->s, 9, &e));
    assert_q("1|7", f, "SELECT only_row, floor_id FROM updater_state");
}

static void stories_are_the_parents(void **state) {
    struct fix *f = *state;
    store_thread(f);
    x(f, "UPDATE items SET story_id = 3");
    for (int64_t id = 10; id <= 17; id++)
        MEND(repair_story(f->s, id, &e));
    assert_q("10|10 11|10 12|10 13|10 14|14 15|14 17|-", f,
             "SELECT id, story_id FROM items ORDER BY id");
}

static void exceptions_find_a_home(void **state) {
    struct fix *f = *state;
    store_thread(f);
    x(f, "UPDATE ingest_segments SET scan_cursor_id = 50");
    for (int id = 9; id <= 10; id++) /* 10 is stored, 9 is not */
        x(f,
          "INSERT INTO ingest_exceptions (item_id, segment_id, state, last_error, updated_at) "
          "VALUES (%d, 77, 'terminal_missing', 'why', 5)",
          id);
    for (int64_t id = 9; id <= 10; id++) {
        const struct stored_exception lost = {.id = id, .segment_id = 77, .purpose = -1};
        MEND(repair_exception(f->s, &lost, &e));
    }
    assert_q("9|1|why", f, "SELECT item_id, segment_id, last_error FROM ingest_exceptions");
    const struct stored_exception held = {.id = 9, .segment_id = 1, .purpose = PURPOSE_MIRROR};
    MEND(repair_exception(f->s, &held, &e));
    assert_q("", f, "SELECT item_id FROM ingest_exceptions");
}

static void letters_follow_exceptions(void **state) {
    struct fix *f = *state;
    int64_t id = add_segment(f, PURPOSE_MIRROR, 1, 10);
    x(f,
      "INSERT INTO ingest_exceptions (item_id, segment_id, state, attempts, failure_class, "
      "updated_at) VALUES (2, %lld, 'dead_letter', 8, 'http_5xx', 7)",
      (long long)id);
    const struct stored_exception dead = {.id = 2, .segment_id = id};
    MEND(repair_letter(f->s, 2, &dead, &e));
    assert_q("catchup|2|dead_letter|http_5xx|8|7", f,
             "SELECT source, item_id, state, failure_class, attempts, first_at "
             "FROM ingest_dlq_items");
    MEND(repair_letter(f->s, 2, NULL, &e));
    assert_q("resolved", f, "SELECT state FROM ingest_dlq_items");
    MEND(repair_letter(f->s, 2, &dead, &e));
    assert_q("dead_letter|-", f, "SELECT state, resolved_at FROM ingest_dlq_items");
}

/* Only SQLite can be brought into this state: PostgreSQL has a constraint against it. */
static void overlaps_are_trimmed(void **state) {
    struct fix *f = *state;
    if (fix_kind == DB_POSTGRES)
        return;
    static const int64_t ranges[][3] = {{1, 100, 100}, {20, 30, 30}, {90, 120, 95}};
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        x(f,
          "INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id) "
          "VALUES (%lld, %lld, 'mirror', %lld)",
          (long long)ranges[i][0], (long long)ranges[i][1], (long long)ranges[i][2]);
    x(f, "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) VALUES "
         "(25, 2, 'terminal_missing', 0), (26, 1, 'pending', 0), (26, 2, 'dead_letter', 0), "
         "(95, 3, 'terminal_missing', 0), (110, 3, 'terminal_missing', 0)");
    CLEANUP(segment_facts_release) struct segment_facts_list l = {0};
    struct err why;
    assert_int_equal(store_segment_facts(f->s, &l, &why), V_OK);
    MEND(repair_overlap(f->s, &l.rows[0], &l.rows[1], &e));
    MEND(repair_overlap(f->s, &l.rows[0], &l.rows[2], &e));
    assert_q("1|100|100 101|120|100", f,
             "SELECT start_id, end_id, scan_cursor_id FROM ingest_segments ORDER BY 1");
    assert_q("25|1|terminal_missing 26|1|pending 95|1|terminal_missing 110|3|terminal_missing", f,
             "SELECT item_id, segment_id, state FROM ingest_exceptions ORDER BY 1");
}

static void segments_are_counted_and_woken(void **state) {
    struct fix *f = *state;
    int64_t a = add_segment(f, PURPOSE_MIRROR, 1, 10), b = add_segment(f, PURPOSE_MIRROR, 11, 20),
            c = add_segment(f, PURPOSE_MIRROR, 21, 30);
    x(f, "UPDATE ingest_segments SET status = 'done', scan_cursor_id = end_id, "
         "unresolved_count = 7");
    x(f, "UPDATE ingest_segments SET scan_cursor_id = 15 WHERE segment_id = %lld", (long long)b);
    x(f,
      "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) "
      "VALUES (25, %lld, 'dead_letter', 0)",
      (long long)c);
    MEND(repair_segments(f->s, &e));
    assert_q("done|0", f,
             "SELECT status, unresolved_count FROM ingest_segments WHERE segment_id = %lld",
             (long long)a);
    assert_q("pending|0", f,
             "SELECT status, unresolved_count FROM ingest_segments WHERE segment_id = %lld",
             (long long)b);
    assert_q("dead_letter|1", f,
             "SELECT status, unresolved_count FROM ingest_segments WHERE segment_id = %lld",
             (long long)c);
}

static void missing_once_more(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 3);
    struct batch *b = batch_for(&c, 3, true);
    put_exception(b, 2, EXC_TERMINAL_MISSING, "null_old");
    apply_ok(f->s, b);
    struct err why;
    int64_t id;
    assert_int_equal(store_sample_missing(f->s, 1, &id, &why), V_OK);
    assert_int_equal(id, 2);
    assert_int_equal(store_sample_missing(f->s, 3, &id, &why), V_OK);
    assert_int_equal(id, 0);
    MEND(repair_missing_again(f->s, 2, &e));
    reclaim(f);
    assert_q("pending|pending", f,
             "SELECT x.state, s.status FROM ingest_exceptions x JOIN ingest_segments s "
             "USING (segment_id)");
}

static void health_of_the_database(void **state) {
    struct fix *f = *state;
    struct err e;
    struct store_health h;
    char said[HEALTH_TEXT_MAX];
    assert_ok(store_health(f->s, &h, &e));
    assert_non_null(strstr(h.version, fix_kind == DB_POSTGRES ? "PostgreSQL " : "SQLite 3."));
    assert_int_equal(h.schema, h.schema_wanted);
    char *before = xstrdup(dump(f));
    assert_ok(store_try_write(f->s, &e));
    assert_string_equal(dump(f), before);
    free_ptr(&before);
    for (int deep = 0; deep < 2; deep++) {
        assert_ok(store_quick_check(f->s, deep, said, &e));
        assert_string_equal(said, "ok");
    }
}

int verify_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(rows_come_back_whole),   CASE(strays_are_seen),
        CASE(facts_of_segments),      CASE(derived_values_are_written_anew),
        CASE(a_fetch_confirms),       CASE(repairs_of_a_range),
        CASE(what_cannot_be_goes),    CASE(stories_are_the_parents),
        CASE(exceptions_find_a_home), CASE(letters_follow_exceptions),
        CASE(overlaps_are_trimmed),   CASE(segments_are_counted_and_woken),
        CASE(missing_once_more),      CASE(health_of_the_database),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
