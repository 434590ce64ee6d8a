/* Partitions of items and the change log, on PostgreSQL: what there is stays, what comes finds its
 * place, whatever is in the way. */
#include "fixture_partitions.h"

#include "store/partitions.h"
#include "store/status.h"

#include <string.h>

static void fill(struct fix *f) {
    for (int64_t id = 1; id <= 120; id += 7)
        put(f, id);
    log_changes(f, 100, 3, T0);
    number_all(f);
    log_changes(f, 100, 2, T0);
}

static void partition(struct fix *f) {
    struct err e;
    assert_ok(store_partition(f->s, WIDTH, &e));
}

static const char *place_of(struct fix *f, int64_t id) {
    return q(f, "SELECT tableoid::regclass FROM items WHERE id = %lld", (long long)id);
}

static void sqlite_has_none(void **state) {
    struct fix *f = *state;
    struct partition_state st;
    struct err e;
    if (fix_kind == DB_POSTGRES)
        return;
    assert_int_equal(store_partition(f->s, WIDTH, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "PostgreSQL"));
    assert_ok(store_partition_state(f->s, &st, &e));
    assert_int_equal(st.of[PARTITION_ITEMS].width, 0);
}

static void what_there_is_stays(void **state) {
    struct fix *f = *state;
    struct partition_state st;
    struct archive_status status;
    struct err e;
    ELSEWHERE_ONLY;
    fill(f);
    x(f, "GRANT SELECT ON items TO PUBLIC");
    const char *before = dump(f);
    partition(f);
    assert_string_equal(dump(f), before);
    partition(f); /* again is nothing */
    assert_string_equal(dump(f), before);
    assert_ok(store_partition_state(f->s, &st, &e));
    assert_int_equal(st.of[PARTITION_ITEMS].width, WIDTH);
    assert_int_equal(st.of[PARTITION_LOG].width, WIDTH / PARTITION_LOG_SHARE);
    assert_false(st.unfinished || st.of[0].stray || st.of[1].stray);
    assert_string_equal(place_of(f, 1), "items_first");
    assert_q("1", f, "SELECT has_table_privilege('pg_monitor', 'items', 'SELECT')");
    assert_ok(store_status(f->s, &status, &e));
    assert_int_equal(status.items, 18);
    number_all(f);
    assert_q("0", f, "SELECT COUNT(*) FROM change_log WHERE pos IS NULL");
}

static void partitions_come_before_rows(void **state) {
    struct fix *f = *state;
    ELSEWHERE_ONLY;
    fill(f);
    partition(f);
    static const int64_t ids[] = {199, 200, 249, 250, 10000, 9, 99999};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        put(f, ids[i]);
    assert_string_equal(place_of(f, 250), "items_250");
    assert_string_equal(place_of(f, 10000), "items_10000");
    assert_q("1", f, "SELECT to_regclass('items_300') IS NOT NULL"); /* ahead of need */
    assert_q("0", f, "SELECT COUNT(*) FROM items_other");
    log_changes(f, 100, 2, T0);
    for (int i = 0; i < 20; i++)
        x(f, "UPDATE items SET score = score + 1 WHERE id = 250");
    number_all(f);
    assert_q("0", f, "SELECT COUNT(*) FROM change_log_other");
    assert_q("20", f, "SELECT COUNT(*) FROM changes WHERE table_id = 1 AND action = 'update'");
}

static void the_last_resort(void **state) {
    struct fix *f = *state;
    struct partition_state st;
    struct err e;
    ELSEWHERE_ONLY;
    partition(f);
    put(f, 5);
    x(f, "BEGIN; LOCK TABLE items_other IN ACCESS SHARE MODE"); /* no partition can be made */
    put(f, 5000);
    x(f, "COMMIT");
    assert_string_equal(place_of(f, 5000), "items_other");
    assert_ok(store_partition_state(f->s, &st, &e));
    assert_true(st.of[PARTITION_ITEMS].stray);
    const char *before = q(f, "SELECT * FROM items ORDER BY id");
    fix_advance(f, 120000);
    assert_ok(store_cover_items(f->s, (int64_t[]){5}, 1, &e));
    assert_string_equal(place_of(f, 5000), "items_5000");
    assert_q(before, f, "SELECT * FROM items ORDER BY id");
}

static void lookups_open_one(void **state) {
    struct fix *f = *state;
    ELSEWHERE_ONLY;
    partition(f);
    for (int64_t id = 25; id < 1000; id += 50)
        put(f, id);
    x(f, "ANALYZE items; SET enable_seqscan TO off; SET plan_cache_mode TO force_generic_plan");
    static const char *const asked[] = {
        "SELECT * FROM items WHERE id = $1",
        "SELECT * FROM items WHERE id = ANY (ARRAY[$1])",
        ("UPDATE items SET last_fetched_at = 1 FROM unnest(ARRAY[$1]) AS u (id)"
         " WHERE items.id = u.id"),
    };
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        x(f, "PREPARE p%zu (bigint) AS %s", i, asked[i]);
        const char *plan = q(f, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE p%zu (225)", i);
        if (strstr(plan, "Seq Scan") || !strstr(plan, "items_200"))
            fail_msg("%s", plan);
        size_t ran = 0;
        for (const char *p = plan; (p = strstr(p, "items_")); p++) {
            const char *end = strstr(p, ")");
            if (strstr(p, "_pkey") && strstr(p, "_pkey") < end && strstr(p, "(actual") &&
                strstr(p, "(actual") - p < 60)
                ran++;
        }
        if (ran != 1)
            fail_msg("%zu partitions were opened: %s", ran, plan);
    }
}

static void old_positions_go_by_partitions(void **state) {
    struct fix *f = *state;
    struct feed_state st;
    struct err e;
    int64_t n;
    ELSEWHERE_ONLY;
    partition(f);
    for (int i = 0; i < 23; i++)
        log_changes(f, 100, 1, T0);
    number_all(f); /* of 5 positions each: up to 4, 9, 14, 19, 24 */
    assert_ok(store_feed_prune(f->s, 1000, 1000, &n, &e));
    assert_int_equal(n, 0);
    static const struct {
        int64_t age_ms, rows, gone, oldest;
    } steps[] = {
        {1 << 30, 14, 4, 5}, /* 10 to 23 are to stay */
        {1 << 30, 14, 5, 10}, {1 << 30, 13, 0, 10}, {1000, 1000, 5, 15},
        {1000, 1000, 5, 20},  {1000, 1, 0, 20}, /* nor does the one that is being filled */
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (i == 3)
            fix_advance(f, 2000);
        assert_ok(store_feed_prune(f->s, steps[i].age_ms, steps[i].rows, &n, &e));
        assert_int_equal(n, steps[i].gone);
        assert_ok(store_feed_state(f->s, &st, &e));
        assert_int_equal(st.oldest, steps[i].oldest);
    }
    assert_q("0", f, "SELECT to_regclass('change_log_5') IS NOT NULL");
    log_changes(f, 100, 4, T0); /* the sequence is still there, and the triggers' way to it */
    number_all(f);
    assert_ok(store_feed_state(f->s, &st, &e));
    assert_int_equal(st.head, 27);
}

static void what_would_not_follow_is_named(void **state) {
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    fill(f);
    x(f, "CREATE VIEW stories_of_mine AS SELECT id FROM items");
    const char *before = dump(f);
    assert_int_equal(store_partition(f->s, WIDTH, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "stories_of_mine"));
    assert_string_equal(dump(f), before);
    x(f, "DROP VIEW stories_of_mine");
    partition(f);
    assert_string_equal(dump(f), before);
}

static void cut_off_anywhere(void **state) {
    struct fix *f = *state;
    struct partition_state st;
    struct err e;
    ELSEWHERE_ONLY;
    fill(f);
    const char *before = dump(f);
    for (int n = 1; n <= 6; n++) {
        char spec[40];
        snprintf(spec, sizeof spec, "partition_step:%d:fail", n);
        fault_setup(spec);
        assert_int_equal(store_partition(f->s, WIDTH, &e), V_FATAL);
        fault_setup(NULL);
        assert_string_equal(dump(f), before);
        assert_ok(store_partition_state(f->s, &st, &e));
        if (n <= 3) { /* who writes takes away what would be in the way one day */
            assert_true(st.unfinished);
            fix_advance(f, 120000);
            assert_ok(store_cover_items(f->s, (int64_t[]){5}, 1, &e));
            assert_ok(store_partition_state(f->s, &st, &e));
        }
        assert_false(st.unfinished);
        if (st.of[PARTITION_ITEMS].width)
            break;
    }
    for (int n = 1; n <= 2 && !st.of[PARTITION_LOG].width; n++) {
        char spec[40];
        snprintf(spec, sizeof spec, "partition_step:%d:fail", n);
        fault_setup(spec);
        assert_int_equal(store_partition(f->s, WIDTH, &e), V_FATAL);
        fault_setup(NULL);
        assert_string_equal(dump(f), before);
        assert_ok(store_partition_state(f->s, &st, &e));
    }
    assert_true(st.of[PARTITION_ITEMS].width && st.of[PARTITION_LOG].width);
    put(f, 1);
    number_all(f);
}

int partition_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(sqlite_has_none),
        CASE(what_there_is_stays),
        CASE(partitions_come_before_rows),
        CASE(the_last_resort),
        CASE(lookups_open_one),
        CASE(old_positions_go_by_partitions),
        CASE(what_would_not_follow_is_named),
        CASE(cut_off_anywhere),
    };
    return cmocka_run_group_tests_name("partitions", tests, NULL, NULL);
}
