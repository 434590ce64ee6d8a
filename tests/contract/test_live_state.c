/* Who is the updater: one at a time, fenced by its token; and what it leaves for its successor. */
#include "fixture.h"

#include "base/thread.h"
#include "store/live.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define LEASE 20000

static enum verdict acquire(struct store *s, const char *holder, int64_t *ret_token) {
    struct err e;
    return store_updater_acquire(s, holder, LEASE, ret_token, &e);
}

static struct updater_row row_of(struct fix *f) {
    struct updater_row row;
    struct err e;
    assert_ok(store_updater_row(f->s, &row, &e));
    return row;
}

static void one_at_a_time(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    struct err e;
    int64_t first, second = -1;
    assert_string_equal(row_of(f).holder, "");
    assert_int_equal(row_of(f).lease_left_ms, 0);
    assert_int_equal(acquire(f->s, "one", &first), V_OK);
    assert_string_equal(row_of(f).holder, "one");
    assert_int_equal(row_of(f).lease_left_ms, LEASE);
    assert_int_equal(store_updater_acquire(other, "two", LEASE, &second, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "one"));
    assert_int_equal(second, -1);
    /* it lives as long as it is renewed */
    for (int i = 0; i < 5; i++) {
        fix_advance(f, LEASE);
        assert_int_equal(acquire(other, "two", &second), V_CONFLICT);
        assert_ok(store_updater_renew(f->s, first, LEASE, &e));
    }
    fix_advance(f, LEASE + 1);
    assert_int_equal(row_of(f).lease_left_ms, 0);
    assert_int_equal(acquire(other, "two", &second), V_OK);
    assert_true(second > first);
    assert_int_equal(store_updater_renew(f->s, first, LEASE, &e), V_CONFLICT);
    assert_int_equal(acquire(f->s, "one", &first), V_CONFLICT);
}

static void nobody_took_it_though_it_ran_out(void **state) {
    struct fix *f = *state;
    struct err e;
    be_updater(f);
    fix_advance(f, 10 * LEASE_MS);
    assert_ok(store_updater_renew(f->s, f->token, LEASE, &e));
    assert_int_equal(row_of(f).lease_left_ms, LEASE);
}

static void released_is_free_at_once(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t first, second;
    assert_int_equal(acquire(f->s, "one", &first), V_OK);
    assert_ok(store_updater_release(f->s, first, &e));
    assert_string_equal(row_of(f).holder, "");
    assert_int_equal(store_updater_renew(f->s, first, LEASE, &e), V_CONFLICT);
    assert_int_equal(store_updater_persist(f->s, first, T0, T0, &e), V_CONFLICT);
    assert_int_equal(acquire(f->s, "two", &second), V_OK);
    /* a release that is repeated is not the successor's */
    assert_ok(store_updater_release(f->s, first, &e));
    assert_string_equal(row_of(f).holder, "two");
}

static void the_same_holder_asks_again(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t first, second;
    assert_int_equal(acquire(f->s, "one", &first), V_OK);
    assert_int_equal(acquire(f->s, "one", &second), V_OK);
    assert_int_equal(second, first + 1);
    assert_int_equal(store_updater_renew(f->s, first, LEASE, &e), V_CONFLICT);
    assert_ok(store_updater_renew(f->s, second, LEASE, &e));
}

static void a_dead_process_of_this_host(void **state) {
    struct fix *f = *state;
    char dead[200], alive[200], elsewhere[260];
    dead_identity(dead, sizeof dead);
    process_identity(alive, sizeof alive);
    snprintf(elsewhere, sizeof elsewhere, "far-away%s", strchr(dead, ':'));
    const struct {
        const char *holder;
        enum verdict v;
    } cases[] = {
        {dead, V_OK}, {alive, V_CONFLICT}, {elsewhere, V_CONFLICT}, {"nonsense", V_CONFLICT}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t token, mine;
        struct err e;
        assert_int_equal(acquire(f->s, cases[i].holder, &token), V_OK);
        assert_int_equal(acquire(f->s, "next", &mine), cases[i].v);
        assert_ok(store_updater_release(f->s, cases[i].v == V_OK ? mine : token, &e));
    }
}

static void a_wrong_clock_freezes_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t token;
    fix_advance(f, INT64_C(86400000));
    assert_int_equal(acquire(f->s, "one", &token), V_OK);
    assert_ok(store_updater_persist(f->s, token, T0 + 86400000, T0 + 86400000, &e));
    fix_set_now(f, T0);
    assert_int_equal(row_of(f).last_sse_event_at, 0);
    assert_int_equal(row_of(f).last_rescan_at, 0);
    assert_int_equal(acquire(f->s, "two", &token), V_OK);
    assert_ok(store_updater_persist(f->s, token, T0 - 5, T0 - 7, &e));
    assert_int_equal(row_of(f).last_sse_event_at, T0 - 5);
    assert_int_equal(row_of(f).last_rescan_at, T0 - 7);
    /* a holder with a longer lease than the asker's is no wrong clock */
    assert_ok(store_updater_renew(f->s, token, LEASE_MS, &e));
    int64_t mine;
    assert_int_equal(store_updater_acquire(f->s, "three", 1000, &mine, &e), V_CONFLICT);
}

static void stamps_only_rise(void **state) {
    struct fix *f = *state;
    struct err e;
    be_updater(f);
    static const struct {
        int64_t sse, rescan, sse_after, rescan_after;
    } steps[] = {
        {0, 0, 0, 0},
        {T0 - 100, 0, T0 - 100, 0},
        {0, T0 - 50, T0 - 100, T0 - 50},
        {T0 - 200, T0 - 60, T0 - 100, T0 - 50},
        {T0 - 90, T0 - 40, T0 - 90, T0 - 40},
        {T0 - 90, T0 - 40, T0 - 90, T0 - 40},
        {T0 + 5000, 0, T0 + 5000, T0 - 40},
        {T0, 0, T0 + 5000, T0 - 40},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        assert_ok(store_updater_persist(f->s, f->token, steps[i].sse, steps[i].rescan, &e));
        assert_int_equal(row_of(f).last_sse_event_at, steps[i].sse_after);
        assert_int_equal(row_of(f).last_rescan_at, steps[i].rescan_after);
    }
    assert_int_equal(store_updater_persist(f->s, f->token + 1, T0 + 9, T0 + 9, &e), V_CONFLICT);
    assert_int_equal(row_of(f).last_sse_event_at, T0 + 5000);
    /* the rest of the row is as it was */
    assert_ok(store_note_maxitem(f->s, 77, &e));
    assert_ok(store_updater_persist(f->s, f->token, T0 + 6, 0, &e));
    assert_q("77", f, "SELECT maxitem FROM updater_state");
}

static struct batch *some_batch(struct fix *f, int64_t token) {
    struct batch *b = live_batch(f);
    b->lease_token = token;
    put_item(b, T0, "{'id':1,'type':'story'}");
    put_exception(b, 2, EXC_DEAD_LETTER, "timeout");
    b->ages[1] = 1;
    return b;
}

/* The zombie writes nothing, whatever its token. */
static void a_batch_demands_the_token(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    int64_t next;
    struct err e;
    struct apply_stats st;
    be_updater(f);
    fix_advance(f, LEASE_MS + 1);
    assert_int_equal(acquire(other, "two", &next), V_OK);
    const char *was = dump(f);
    const int64_t wrong[] = {f->token, 0, next + 1, f->token - 1};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct batch *b = some_batch(f, wrong[i]);
        assert_int_equal(store_apply_live(f->s, b, &st, &e), V_CONFLICT);
        assert_false(b->items[0].ret_inserted);
        batch_free(b);
        assert_string_equal(dump(f), was);
    }
    assert_ok(store_updater_release(other, next, &e));
    struct batch *b = some_batch(f, next);
    assert_int_equal(store_apply_live(other, b, &st, &e), V_CONFLICT);
    batch_free(b);
    assert_string_equal(q(f, "SELECT COUNT(*) FROM items"), "0");
}

struct taker {
    struct store *s;
    char holder[8];
    int64_t token;
    enum verdict v;
    atomic_bool done;
};

static void *take_it(void *arg) {
    struct taker *t = arg;
    struct err e;
    t->v = store_updater_acquire(t->s, t->holder, LEASE, &t->token, &e);
    atomic_store(&t->done, true);
    return NULL;
}

/* PostgreSQL: a batch that passed the fence is committed before another becomes the updater, and
 * the row can be written for other reasons meanwhile. */
static void a_batch_under_way_is_waited_for(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    struct store *other = fix_open(f), *third = fix_open(f);
    struct err e;
    int64_t now;
    be_updater(f);
    fix_advance(f, LEASE_MS + 1);
    assert_ok(db_begin(f->s->db, &e));
    assert_ok(db_run_int(f->s->db, SQL_LIVE_FENCE, DB_VALS(DBI(f->token)), &now, &e));
    assert_ok(store_note_maxitem(third, 5, &e));
    struct taker t = {.s = other, .holder = "two", .v = V_FATAL};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_it, &t), 0);
    bool waits = false;
    while (!waits && !atomic_load(&t.done))
        waits = qi(f, "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                      "AND query LIKE '%%updater_holder%%' AND query LIKE '%%FOR UPDATE%%'") > 0;
    assert_true(waits);
    assert_ok(db_commit(f->s->db, &e));
    pthread_join(thread, NULL);
    assert_int_equal(t.v, V_OK);
    assert_int_equal(t.token, f->token + 1);
    assert_q("5|two", f, "SELECT maxitem, updater_holder FROM updater_state");
    assert_int_equal(db_run_int(f->s->db, SQL_LIVE_FENCE, DB_VALS(DBI(f->token)), &now, &e),
                     V_NOT_FOUND);
}

/* Many ask at once: exactly one gets it. */
static void one_of_many(void **state) {
    struct fix *f = *state;
    struct taker takers[6];
    pthread_t threads[ARRAY_LEN(takers)];
    for (size_t i = 0; i < ARRAY_LEN(takers); i++) {
        takers[i].s = fix_open(f);
        snprintf(takers[i].holder, sizeof takers[i].holder, "t%zu", i);
    }
    for (int round = 1; round <= 5; round++) {
        int won = 0, lost = 0;
        for (size_t i = 0; i < ARRAY_LEN(takers); i++)
            assert_int_equal(pthread_create(&threads[i], NULL, take_it, &takers[i]), 0);
        for (size_t i = 0; i < ARRAY_LEN(takers); i++) {
            pthread_join(threads[i], NULL);
            won += takers[i].v == V_OK && takers[i].token == round;
            lost += takers[i].v == V_CONFLICT;
        }
        assert_int_equal(won, 1);
        assert_int_equal(lost, ARRAY_LEN(takers) - 1);
        fix_advance(f, LEASE + 1);
    }
}

int live_state_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(one_at_a_time),
        CASE(nobody_took_it_though_it_ran_out),
        CASE(released_is_free_at_once),
        CASE(the_same_holder_asks_again),
        CASE(a_dead_process_of_this_host),
        CASE(a_wrong_clock_freezes_nothing),
        CASE(stamps_only_rise),
        CASE(a_batch_demands_the_token),
        CASE(a_batch_under_way_is_waited_for),
        CASE(one_of_many),
    };
    return cmocka_run_group_tests_name("live state", tests, NULL, NULL);
}
