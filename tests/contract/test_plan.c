/* Planners: mirror segments never overlap, whoever plans and however many at a time. */
#include "fixture.h"

#include <pthread.h>

#define OVERLAPS                                                                            \
    "SELECT COUNT(*) FROM ingest_segments a JOIN ingest_segments b "                        \
    "ON a.segment_id < b.segment_id AND a.start_id <= b.end_id AND b.start_id <= a.end_id " \
    "WHERE a.purpose = 'mirror' AND b.purpose = 'mirror'"

static int64_t add_many(struct fix *f, enum purpose p, const int64_t *lo, const int64_t *hi,
                        size_t n) {
    struct err e;
    int64_t added;
    assert_ok(store_plan_begin(f->s, &e));
    enum verdict v = store_add_segments(f->s, p, lo, hi, n, &added, &e);
    assert_ok(store_plan_end(f->s, v, &e));
    return added;
}

static void overlapping_ones_are_left_out(void **state) {
    struct fix *f = *state;
    static const int64_t lo[] = {1, 101, 301}, hi[] = {100, 200, 400};
    assert_int_equal(add_many(f, PURPOSE_MIRROR, lo, hi, 3), 3);
    static const int64_t lo2[] = {100, 201, 400, 401, 50, 1, 150},
                         hi2[] = {100, 300, 400, 500, 60, 1000, 350};
    assert_int_equal(add_many(f, PURPOSE_MIRROR, lo2, hi2, 7), 2);
    assert_q("1|100 101|200 201|300 301|400 401|500", f,
             "SELECT start_id, end_id FROM ingest_segments ORDER BY start_id");
    assert_int_equal(add_many(f, PURPOSE_MIRROR, lo, hi, 0), 0);
}

static void only_the_mirror_minds(void **state) {
    struct fix *f = *state;
    static const int64_t lo[] = {1, 1, 50}, hi[] = {100, 100, 60};
    assert_int_equal(add_many(f, PURPOSE_GAP, lo, hi, 3), 3);
    assert_int_equal(add_many(f, PURPOSE_REPLAY, lo, hi, 3), 3);
    assert_int_equal(add_many(f, PURPOSE_RESCAN, lo, hi, 3), 3);
    assert_int_equal(add_many(f, PURPOSE_MIRROR, lo, hi, 1), 1);
    assert_int_equal(add_many(f, PURPOSE_GAP, lo, hi, 1), 1);
}

static void a_plan_that_fails_adds_nothing(void **state) {
    struct fix *f = *state;
    static const int64_t lo = 1, hi = 10;
    struct err e;
    int64_t added;
    assert_ok(store_plan_begin(f->s, &e));
    assert_ok(store_add_segments(f->s, PURPOSE_MIRROR, &lo, &hi, 1, &added, &e));
    assert_int_equal(store_plan_end(f->s, V_RETRY, &e), V_RETRY);
    assert_q("", f, "SELECT * FROM ingest_segments");
}

/* A planner that reads what is covered and adds what is not, as the real one does. */
struct planner {
    struct store *s;
    int64_t width;
    enum verdict v;
    int64_t added;
};

static enum verdict plan_once(struct planner *p, struct err *e) {
    struct segment_list l = {0};
    enum verdict v = store_plan_begin(p->s, e);
    if (v != V_OK)
        return v;
    v = store_segments(p->s, PURPOSE_MIRROR, &l, e);
    int64_t lo = l.n ? l.rows[l.n - 1].end_id + 1 : 1, hi = lo + p->width - 1, added = 0;
    segment_list_release(&l);
    if (v == V_OK)
        v = store_add_segments(p->s, PURPOSE_MIRROR, &lo, &hi, 1, &added, e);
    v = store_plan_end(p->s, v, e);
    p->added += v == V_OK ? added : 0;
    return v;
}

static void *plan_on(void *arg) {
    struct planner *p = arg;
    struct err e;
    for (int i = 0; i < 40 && p->v == V_OK; i++)
        p->v = plan_once(p, &e);
    return NULL;
}

static void planners_race_without_overlap(void **state) {
    struct fix *f = *state;
    struct planner planners[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        planners[i] = (struct planner){.s = fix_open(f), .width = 7 + 3 * i};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, plan_on, &planners[i]), 0);
    int64_t added = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(planners[i].v, V_OK);
        added += planners[i].added;
    }
    /* with the lock nobody ever sees a stale list, so not one is refused */
    assert_int_equal(added, 160);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM ingest_segments"), 160);
    assert_int_equal(qi(f, OVERLAPS), 0);
    assert_int_equal(qi(f, "SELECT MAX(end_id) FROM ingest_segments"), 40 * (7 + 10 + 13 + 16));
}

/* Even one who writes without the lock cannot make two overlap. */
static void the_database_itself_refuses(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    add_segment(f, PURPOSE_MIRROR, 1, 10);
    int64_t lo = 5, hi = 20, added = -1;
    struct err e;
    assert_ok(store_add_segments(f->s, PURPOSE_MIRROR, &lo, &hi, 1, &added, &e));
    assert_int_equal(added, 0);
    assert_int_equal(db_script(f->s->db,
                               "INSERT INTO ingest_segments (start_id, end_id, purpose, "
                               "scan_cursor_id) VALUES (5, 20, 'mirror', 4)",
                               &e),
                     V_CONFLICT);
    assert_int_equal(qi(f, OVERLAPS), 0);
}

int plan_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(overlapping_ones_are_left_out),  CASE(only_the_mirror_minds),
        CASE(a_plan_that_fails_adds_nothing), CASE(planners_race_without_overlap),
        CASE(the_database_itself_refuses),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
