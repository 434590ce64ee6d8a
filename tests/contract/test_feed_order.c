/* One order for all readers, whoever commits when: writers on connections of their own. And the
 * doorbell. PostgreSQL only, where more than one can write. */
#include "fixture.h"

#include "fixture_raw.h"
#include "store/feed.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void publish(struct fix *f) {
    struct err e;
    size_t n;
    assert_ok(store_feed_publish(f->s, 10000, &n, &e));
}

static void run(struct raw *r, const char *sql) {
    if (!raw_run(r, sql, NULL))
        fail_msg("%s: %s", sql, raw_error(r));
}

static struct raw *writer(struct fix *f) {
    return raw_open(fix_kind, f->uri, f->schema);
}

#define INSERT(id)                                                                           \
    "INSERT INTO items (id, score, content_hash, kids_hash, first_seen_at, last_fetched_at," \
    " last_changed_at) VALUES (" #id ", 0, 1, 0, 1, 1, 1)"
#define SCORE(id, value) \
    "UPDATE items SET score = " #value ", last_changed_at = last_changed_at + 1 WHERE id = " #id

/* "pos:id=score" of each change behind a position. */
static const char *scores(struct fix *f, int64_t pos) {
    struct err e;
    const struct feed_change *c;
    size_t n;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    assert_ok(store_feed_read(f->s, &f->arena, pos, 1000, 1 << 20, &c, &n, &e));
    for (size_t i = 0; i < n; i++) {
        const char *json = arena_strdup(&f->arena, c[i].data.p);
        strbuf_addf(&b, "%s%lld:%d=%d", i ? " " : "", (long long)c[i].pos,
                    atoi(strstr(json, "\"id\":") + 5), atoi(strstr(json, "\"score\":") + 8));
    }
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

/* Its number of writing is the smallest; a reader that has passed it would never see it. */
static void a_late_commit_comes_later(void **state) {
    struct fix *f = *state;
    struct raw *late = writer(f), *quick = writer(f);
    run(late, "BEGIN");
    run(late, INSERT(1));
    run(quick, INSERT(2));
    publish(f);
    assert_string_equal(scores(f, 0), "1:2=0");
    run(quick, SCORE(2, 5));
    run(late, "COMMIT");
    publish(f);
    assert_string_equal(scores(f, 1), "2:1=0 3:2=5");
    raw_close(late);
    raw_close(quick);
}

/* Sorted by transaction it would be delivered before what it overwrote. */
static void who_began_first_and_wrote_last(void **state) {
    struct fix *f = *state;
    struct raw *old = writer(f), *young = writer(f);
    run(young, INSERT(1));
    run(old, "BEGIN; SELECT pg_current_xact_id()");
    run(young, SCORE(1, 5));
    run(old, SCORE(1, 6));
    run(old, "COMMIT");
    publish(f);
    assert_string_equal(scores(f, 0), "1:1=0 2:1=5 3:1=6");
    run(old, "BEGIN; SELECT pg_current_xact_id()");
    run(young, SCORE(1, 7));
    publish(f);
    run(old, SCORE(1, 8));
    run(old, "COMMIT");
    publish(f);
    assert_string_equal(scores(f, 3), "4:1=7 5:1=8");
    raw_close(old);
    raw_close(young);
}

static void what_is_rolled_back_leaves_no_hole(void **state) {
    struct fix *f = *state;
    struct raw *r = writer(f);
    run(r, "BEGIN; " INSERT(1) "; ROLLBACK");
    run(r, INSERT(2));
    run(r,
        "BEGIN; " INSERT(3) "; SAVEPOINT s; " INSERT(4) "; ROLLBACK TO s; " INSERT(5) "; COMMIT");
    publish(f);
    assert_string_equal(scores(f, 0), "1:2=0 2:3=0 3:5=0");
    raw_close(r);
}

static void a_forgotten_prepared_transaction(void **state) {
    struct fix *f = *state;
    struct raw *r = writer(f);
    char sql[100];
    run(r, "BEGIN");
    run(r, INSERT(1));
    snprintf(sql, sizeof sql, "PREPARE TRANSACTION '%s'", f->schema);
    run(r, sql);
    run(r, INSERT(2));
    publish(f);
    const char *then = scores(f, 0);
    run(r, INSERT(3));
    publish(f);
    const char *later = scores(f, 1);
    snprintf(sql, sizeof sql, "COMMIT PREPARED '%s'", f->schema);
    run(r, sql); /* before anything can fail: its locks would outlive the test */
    publish(f);
    assert_string_equal(then, "1:2=0");
    assert_string_equal(later, "2:3=0");
    assert_string_equal(scores(f, 2), "3:1=0");
    raw_close(r);
}

static void what_has_no_position_is_never_dropped(void **state) {
    struct fix *f = *state;
    struct err e;
    struct raw *r = writer(f);
    int64_t n, age;
    assert_ok(store_feed_waiting(f->s, &age, &e));
    assert_int_equal(age, -1);
    run(r, INSERT(1));
    x(f, "UPDATE change_log SET at = %lld", (long long)T0 - 500);
    assert_ok(store_feed_waiting(f->s, &age, &e));
    assert_int_equal(age, 500);
    assert_ok(store_feed_prune(f->s, 0, 0, &n, &e));
    assert_int_equal(n, 0);
    publish(f);
    assert_string_equal(scores(f, 0), "1:1=0");
    log_changes(f, 100, 9, T0);
    publish(f);
    assert_ok(store_feed_prune(f->s, 0, 0, &n, &e));
    assert_int_equal(n, 10);
    raw_close(r);
}

static void publishers_take_turns(void **state) {
    struct fix *f = *state;
    struct err e;
    struct raw *r = writer(f);
    size_t n;
    run(r, "INSERT INTO change_log (n, bytes, part, table_id, action, at, keys, data)"
           " SELECT 1, 0, 0, 100, 'resync', i, '{NULL}', '{NULL}'"
           " FROM generate_series(1, 25) AS t (i)");
    assert_ok(store_feed_publish(f->s, 10, &n, &e));
    assert_int_equal(n, 10);
    assert_ok(store_feed_publish(fix_open(f), 10, &n, &e));
    assert_int_equal(n, 10);
    assert_ok(store_feed_publish(f->s, 10, &n, &e));
    assert_int_equal(n, 5);
    assert_q("25|25|25", f,
             "SELECT MAX(pos), COUNT(*), COUNT(*) FILTER (WHERE pos = at) FROM change_log");
    raw_close(r);
}

static void *publish_ten(void *store) {
    struct err e;
    size_t n = 0;
    return store_feed_publish(store, 10, &n, &e) == V_OK ? (void *)n : NULL;
}

/* Two at the same moment: who comes second begins where the first one ended, which it cannot see
 * before that one has committed. */
static void who_comes_second_waits(void **state) {
    struct fix *f = *state;
    struct raw *first = writer(f);
    pthread_t second;
    void *n;
    run(first, "BEGIN");
    run(first, "SELECT head FROM feed_state WHERE only_row = 1 FOR UPDATE");
    x(f, "INSERT INTO change_log (n, bytes, part, table_id, action, at, keys, data)"
         " SELECT 1, 0, 0, 100, 'resync', i, '{NULL}', '{NULL}'"
         " FROM generate_series(1, 3) AS t (i)");
    assert_int_equal(pthread_create(&second, NULL, publish_ten, fix_open(f)), 0);
    while (qi(f, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                 " AND cardinality(pg_blocking_pids(pid)) > 0") == 0)
        usleep(10000);
    run(first, "UPDATE feed_state SET head = 5");
    run(first, "COMMIT");
    assert_int_equal(pthread_join(second, &n), 0);
    assert_int_equal((intptr_t)n, 3);
    assert_q("6,7,8|8", f,
             "SELECT string_agg(pos::text, ',' ORDER BY batch), (SELECT head FROM feed_state)"
             " FROM change_log");
    raw_close(first);
}

enum { WRITERS = 6, ROUNDS = 40, ROWS = 3 };

struct crowd {
    struct fix *f;
    unsigned seed;
    int failed;
};

/* Counts rows up, in transactions of one or two rows, and gives up some of them. */
static void *write_at_random(void *arg) {
    struct crowd *c = arg;
    struct raw *r = writer(c->f);
    for (int i = 0; i < ROUNDS; i++) {
        char sql[400];
        int a = rand_r(&c->seed) % ROWS, b = a + 1 + rand_r(&c->seed) % 2;
        static const char up[] = "UPDATE items SET score = score + 1, last_changed_at ="
                                 " last_changed_at + 1 WHERE id = ";
        snprintf(sql, sizeof sql, "BEGIN; %s%d; %s%d; %s", up, a, up, b,
                 rand_r(&c->seed) % 5 ? "COMMIT" : "ROLLBACK");
        c->failed += !raw_run(r, sql, NULL);
    }
    raw_close(r);
    return NULL;
}

/* Each row's scores rise one by one, and positions too. */
static void check_crowd(struct fix *f) {
    struct err e;
    const struct feed_change *c;
    size_t n;
    int last[ROWS + 2] = {0};
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10000, (size_t)64 << 20, &c, &n, &e));
    for (size_t i = 0; i < n; i++) {
        const char *json = arena_strdup(&f->arena, c[i].data.p);
        int id = atoi(strstr(json, "\"id\":") + 5), score = atoi(strstr(json, "\"score\":") + 8);
        assert_int_equal(c[i].pos, i + 1);
        assert_int_equal(score, c[i].action == FEED_INSERT ? 0 : last[id] + 1);
        last[id] = score;
    }
    assert_int_equal(n, qi(f, "SELECT SUM(score) + COUNT(*) FROM items"));
}

static void a_crowd_of_writers(void **state) {
    struct fix *f = *state;
    struct crowd crowd[WRITERS];
    pthread_t threads[WRITERS];
    for (int id = 0; id < ROWS + 2; id++)
        x(f, INSERT(% d), id);
    for (int i = 0; i < WRITERS; i++) {
        crowd[i] = (struct crowd){f, 100u + (unsigned)i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, write_at_random, &crowd[i]), 0);
    }
    while (qi(f, "SELECT SUM(score) FROM items") < 100) {
        publish(f);
        sched_yield();
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(crowd[i].failed, 0);
    }
    publish(f);
    check_crowd(f);
}

static bool rung(struct store *s, int fd, int wait_ms) {
    struct err e;
    bool rang = false;
    assert_ok(store_feed_wait(s, fd, wait_ms, &rang, &e));
    return rang;
}

/* A wait may end early for nothing. */
static bool rung_at_last(struct store *s) {
    for (int i = 0; i < 1000; i++)
        if (rung(s, -1, 60))
            return true;
    return false;
}

static void the_doorbell(void **state) {
    struct fix *f = *state;
    struct err e;
    struct store *ear = fix_open(f);
    int64_t now;
    bool rang;
    assert_int_equal(store_feed_wait(ear, -1, 0, &rang, &e), V_RETRY); /* it does not listen */
    assert_ok(store_feed_listen(ear, &e));
    assert_false(rung(ear, -1, 0));
    assert_ok(store_feed_ring(f->s, &e));
    assert_ok(store_feed_ring(f->s, &e));
    assert_true(rung_at_last(ear));
    publish(f);
    while (rung(ear, -1, 0)) /* the second may have come by itself */
        ;
    assert_false(rung(ear, -1, 0)); /* there was nothing to number */
    x(f, INSERT(1));
    publish(f);
    assert_ok(store_now(ear, &now, &e)); /* it comes along with an answer */
    assert_true(rung_at_last(ear));
    int fd = eventfd(1, 0);
    assert_false(rung(ear, fd, 60000));
    close(fd);
}

static void a_doorbell_that_dies(void **state) {
    struct fix *f = *state;
    struct err e;
    struct store *ear = fix_open(f);
    bool rang;
    assert_ok(store_feed_listen(ear, &e));
    x(f, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%%s%%'",
      f->schema);
    enum verdict v = V_OK;
    for (int i = 0; i < 1000 && v == V_OK; i++)
        v = store_feed_wait(ear, -1, 60, &rang, &e);
    assert_int_equal(v, V_RETRY);
    assert_ok(store_recover(ear, &e));
    assert_int_equal(store_feed_wait(ear, -1, 0, &rang, &e), V_RETRY);
    assert_ok(store_feed_listen(ear, &e));
    assert_ok(store_feed_ring(f->s, &e));
    assert_true(rung_at_last(ear));
}

static void one_has_the_role(void **state) {
    struct fix *f = *state;
    struct err e;
    struct store_options o = fix_options(f);
    struct store *first;
    bool ours = false;
    assert_ok(store_open(&o, &first, &e));
    assert_ok(store_feed_role(first, &ours, &e));
    assert_true(ours);
    assert_ok(store_feed_role(first, &ours, &e));
    assert_true(ours);
    assert_ok(store_feed_role(f->s, &ours, &e));
    assert_false(ours);
    store_close(first);
    for (int i = 0; i < 60000 && !ours; i++, usleep(1000))
        assert_ok(store_feed_role(f->s, &ours, &e));
    assert_true(ours);
}

static void a_standby_does_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n;
    x(f, INSERT(1));
    x(f, "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'");
    assert_int_equal(store_feed_publish(f->s, 10, &n, &e), V_CONFLICT);
    assert_int_equal(store_feed_listen(f->s, &e), V_CONFLICT);
    assert_int_equal(store_feed_ring(f->s, &e), V_CONFLICT);
    x(f, "DROP FUNCTION \"%s\".pg_is_in_recovery()", f->schema);
    assert_ok(store_feed_publish(f->s, 10, &n, &e));
    assert_int_equal(n, 1);
}

/* Whoever may write items need not be allowed to write the log, nor be a superuser. */
static void a_stranger_writes(void **state) {
    struct fix *f = *state;
    char role[100];
    snprintf(role, sizeof role, "r_%s", f->schema);
    x(f, "CREATE ROLE %s; GRANT USAGE ON SCHEMA %s TO %s; GRANT INSERT ON items TO %s", role,
      f->schema, role, role);
    struct raw *r = writer(f);
    char sql[400];
    snprintf(sql, sizeof sql,
             "SET ROLE %s; CREATE TEMP TABLE change_log (batch INT); SET search_path TO pg_temp",
             role);
    run(r, sql);
    snprintf(sql, sizeof sql,
             "INSERT INTO \"%s\".items (id, score, content_hash, kids_hash, first_seen_at,"
             " last_fetched_at, last_changed_at) VALUES (1, 0, 1, 0, 1, 1, 1)",
             f->schema);
    bool ok = raw_run(r, sql, NULL);
    bool marks = raw_run(r, "SELECT system_identifier FROM pg_control_system()", NULL);
    raw_close(r);
    x(f, "DROP OWNED BY %s; DROP ROLE %s", role, role);
    assert_true(ok && marks);
    publish(f);
    assert_string_equal(scores(f, 0), "1:1=0");
}

static void a_file_has_none_of_it(void **state) {
    struct fix *f = *state;
    struct err e;
    bool rang, ours = false;
    int64_t age = 0;
    assert_int_equal(store_feed_listen(f->s, &e), V_INVALID);
    assert_int_equal(store_feed_ring(f->s, &e), V_INVALID);
    assert_int_equal(store_feed_wait(f->s, -1, 0, &rang, &e), V_INVALID);
    assert_ok(store_feed_role(f->s, &ours, &e));
    assert_true(ours);
    assert_ok(store_feed_waiting(f->s, &age, &e));
    assert_int_equal(age, -1);
}

int feed_order_tests(void) {
    static const struct CMUnitTest shared[] = {
        CASE(a_late_commit_comes_later),
        CASE(who_began_first_and_wrote_last),
        CASE(what_is_rolled_back_leaves_no_hole),
        CASE(a_forgotten_prepared_transaction),
        CASE(what_has_no_position_is_never_dropped),
        CASE(publishers_take_turns),
        CASE(who_comes_second_waits),
        CASE(a_crowd_of_writers),
        CASE(the_doorbell),
        CASE(a_doorbell_that_dies),
        CASE(one_has_the_role),
        CASE(a_standby_does_nothing),
        CASE(a_stranger_writes),
    };
    static const struct CMUnitTest alone[] = {CASE(a_file_has_none_of_it)};
    return fix_kind == DB_POSTGRES ? cmocka_run_group_tests_name("feed order", shared, NULL, NULL)
                                   : cmocka_run_group_tests_name("feed order", alone, NULL, NULL);
}
