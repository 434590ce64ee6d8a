/* One winner per row, whatever happens at once: races, zombies, the sweep. */
#include "fixture_rows.h"

#include "base/thread.h"

#include "fixture_raw.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RACE_ROWS 1000
#define RACE_BATCH 40
#define RACERS 3

struct racer {
    pthread_t thread;
    struct store *s;
    struct source *src;
    const struct str *keys;
    int first, won[RACE_ROWS + 1];
    enum verdict v;
    struct err e;
};

/* Each batch goes over all rows, from a place of its own, and some keys are in it twice. */
static enum verdict race_batch(struct racer *r, int from, struct arena *a) {
    struct str keys[RACE_BATCH];
    struct row_claim claims[RACE_BATCH];
    struct verdict_on_row results[RACE_BATCH];
    bool done[RACE_BATCH] = {false};
    size_t n = 0;
    for (int i = 0; i < RACE_BATCH; i++)
        keys[i] = r->keys[(from + (i % 7 == 6 ? 0 : i * 3)) % RACE_ROWS];
    enum verdict v =
        store_claim_rows(r->s, r->src, keys, RACE_BATCH, STR("racer"), LEASE, a, claims, &r->e);
    for (int i = 0; i < RACE_BATCH && v == V_OK; i++)
        if (claims[i].result == CLAIM_WON) {
            r->won[atoi(claims[i].key.p)]++;
            results[n++] = (struct verdict_on_row){.key = claims[i].key,
                                                   .token = claims[i].token,
                                                   .state = ROW_MATCH,
                                                   .values = STR("{\"release_year\":1}")};
        }
    if (v == V_OK && n)
        v = store_finalize(r->s, r->src, results, n, done, &r->e);
    for (size_t i = 0; i < n && v == V_OK; i++)
        v = done[i] ? V_OK : err_set(&r->e, V_FATAL, "race", 0, "a held row was not ours");
    return v;
}

static void *race(void *arg) {
    struct racer *r = arg;
    struct arena a;
    arena_init(&a);
    for (int step = 0; step < RACE_ROWS && r->v == V_OK; step += 10) {
        enum verdict v = race_batch(r, r->first + step, &a);
        if (v == V_RETRY)
            v = store_recover(r->s, &r->e);
        r->v = v;
        arena_reset(&a);
    }
    arena_release(&a);
    return NULL;
}

static void each_row_is_won_once(void **state) {
    struct fix *f = *state;
    static struct racer racers[RACERS];
    add_rows(f, RACE_ROWS);
    memset(racers, 0, sizeof racers);
    for (int i = 0; i < RACERS; i++) {
        racers[i].s = i ? fix_open(f) : f->s;
        racers[i].src = flowsheet(f, racers[i].s);
        racers[i].keys = keys_of(f, 1, RACE_ROWS);
        racers[i].first = i * 5;
        pthread_create(&racers[i].thread, NULL, race, &racers[i]);
    }
    for (int i = 0; i < RACERS; i++)
        pthread_join(racers[i].thread, NULL);
    for (int i = 0; i < RACERS; i++) {
        if (racers[i].v != V_OK)
            fail_msg("%s: %s", verdict_name(racers[i].v), racers[i].e.msg);
        store_source_close(racers[i].src);
    }
    for (int id = 1; id <= RACE_ROWS; id++) {
        int wins = 0;
        for (int i = 0; i < RACERS; i++)
            wins += racers[i].won[id];
        assert_int_equal(wins, 1);
    }
    assert_q("1000|1", f, "SELECT COUNT(*), MAX(token) FROM claims WHERE state = 'done'");
    assert_q("1000", f, "SELECT COUNT(*) FROM %s WHERE metadata_status = 'enriched_match'",
             user_table(f, "flowsheet"));
}

static void a_key_twice_in_a_batch(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    const struct str keys[] = {STR("2"), STR("1"), STR("2"), STR("01"), STR("9")};
    struct row_claim c[ARRAY_LEN(keys)];
    add_rows(f, 2);
    assert_ok(
        store_claim_rows(f->s, src, keys, ARRAY_LEN(keys), STR("me"), LEASE, &f->arena, c, &e));
    assert_int_equal(c[0].result, CLAIM_WON);
    assert_int_equal(c[1].result, CLAIM_WON);
    assert_string_equal(c[1].key.p, "1");
    assert_int_equal(c[2].result, CLAIM_LOST);
    assert_int_equal(c[3].result, CLAIM_LOST);
    assert_int_equal(c[4].result, CLAIM_IGNORED);
    assert_q("1|1 2|1", f, "SELECT key, token FROM claims ORDER BY key");
    store_source_close(src);
}

static void what_is_ignored(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 4);
    x(f, "UPDATE %s SET entry_type = 'talk' WHERE id = 1", user_table(f, "flowsheet"));
    x(f, "UPDATE %s SET metadata_status = 'enriched_match' WHERE id = 2",
      user_table(f, "flowsheet"));
    x(f, "UPDATE %s SET metadata_status = 'enriching', entry_type = 'talk' WHERE id = 3",
      user_table(f, "flowsheet"));
    static const char *const keys[] = {"1",
                                       "2",
                                       "3",
                                       "9",
                                       "",
                                       "x",
                                       "1x",
                                       " 4",
                                       "4.0",
                                       "4e0",
                                       "99999999999999999999",
                                       "-9223372036854775809"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_string_equal(claimed(f, f->s, src, keys[i]), "ignored");
    struct row_claim c;
    struct err e;
    struct str nul = {"4\0", 2}, none = STR_NONE;
    assert_ok(store_claim_rows(f->s, src, &nul, 1, STR("me"), LEASE, &f->arena, &c, &e));
    assert_int_equal(c.result, CLAIM_IGNORED);
    assert_ok(store_claim_rows(f->s, src, &none, 1, STR("me"), LEASE, &f->arena, &c, &e));
    assert_int_equal(c.result, CLAIM_IGNORED);
    assert_ok(store_claim_rows(f->s, src, NULL, 0, STR("me"), LEASE, &f->arena, &c, &e));
    assert_int_equal(
        store_claim_rows(f->s, src, keys_of(f, 1, 600), 600, STR("me"), LEASE, &f->arena, &c, &e),
        V_LIMIT);
    assert_q("0", f, "SELECT COUNT(*) FROM claims");
    store_source_close(src);
}

/* A stalls, is swept, B claims, A comes back. */
static void a_zombie_writes_nothing(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    struct source *a = flowsheet(f, f->s), *b = flowsheet(f, other);
    add_rows(f, 1);
    assert_string_equal(claimed(f, f->s, a, "1"), "won 1 1");
    fix_advance(f, LEASE + SWEEP_GRACE_MS);
    assert_string_equal(swept(f, other, b, 10), "");
    fix_advance(f, 1);
    assert_string_equal(swept(f, other, b, 10), "1");
    assert_string_equal(row_of(f, 1), "pending|0");
    assert_string_equal(claim_state(f, 1), "2|free|1"); /* that attempt counts */
    assert_false(finalize_row(f->s, a, "1", 1, ROW_MATCH, "{\"artist_bio\":\"zombie\"}"));
    assert_false(release_row(f->s, a, "1", 1, false, 0));
    assert_string_equal(claim_state(f, 1), "2|free|1");
    assert_string_equal(claimed(f, other, b, "1"), "won 3 2");
    assert_false(finalize_row(f->s, a, "1", 1, ROW_MATCH, "{\"artist_bio\":\"zombie\"}"));
    assert_false(release_row(f->s, a, "1", 1, false, 99999));
    assert_string_equal(row_of(f, 1), "enriching|1");
    assert_string_equal(claim_state(f, 1), "3|held|2");
    assert_true(finalize_row(other, b, "1", 3, ROW_MATCH, "{\"artist_bio\":\"true\"}"));
    assert_q("true", f, "SELECT artist_bio FROM %s", user_table(f, "flowsheet"));
    store_source_close(a);
    store_source_close(b);
}

/* The zombie's result and its successor's in one batch, in either order. */
static void a_zombie_beside_its_successor(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    bool done[3];
    add_rows(f, 4);
    for (int round = 0; round < 2; round++) {
        char key[2] = {(char)('1' + round), 0}, other[2] = {(char)('3' + round), 0};
        assert_string_equal(claimed(f, f->s, src, key), "won 1 1");
        fix_advance(f, LEASE + SWEEP_GRACE_MS + 1);
        assert_string_equal(swept(f, f->s, src, 10), key);
        assert_string_equal(claimed(f, f->s, src, key), "won 3 2");
        assert_string_equal(claimed(f, f->s, src, other), "won 1 1");
        struct verdict_on_row rows[] = {
            {.key = str_of(key), .token = round ? 3 : 1, .state = ROW_MATCH},
            {.key = str_of(other), .token = 1, .state = ROW_MATCH},
            {.key = str_of(key), .token = round ? 1 : 3, .state = ROW_MATCH},
        };
        assert_ok(store_finalize(f->s, src, rows, 3, done, &e));
        assert_int_equal(done[0], round);
        assert_true(done[1]);
        assert_int_equal(done[2], !round);
        assert_string_equal(row_of(f, 1 + round), "enriched_match|0");
    }
    store_source_close(src);
}

struct zombie {
    struct store *s;
    struct source *src;
    bool release, done;
    enum verdict v;
    struct err e;
};

static void *come_back(void *arg) {
    struct zombie *z = arg;
    struct verdict_on_row r = {.key = STR("1"),
                               .token = 1,
                               .state = ROW_MATCH,
                               .values = STR("{\"artist_bio\":\"zombie\"}")};
    struct release b = {.key = STR("1"), .token = 1};
    z->v = z->release ? store_release(z->s, z->src, &b, 1, &z->done, &z->e)
                      : store_finalize(z->s, z->src, &r, 1, &z->done, &z->e);
    return NULL;
}

static void watch_locks_of(struct fix *f, struct store *s) {
    struct err e;
    int64_t pid;
    int ask;
    assert_ok(db_add(s->db, "pid", "SELECT pg_backend_pid()", &ask, &e));
    assert_ok(db_run_int(s->db, ask, DB_NO_VALS, &pid, &e));
    db_drop(s->db, ask);
    x(f, "CREATE TEMPORARY TABLE waiter AS SELECT %lld AS pid", (long long)pid);
}

static void until_it_waits(struct fix *f) {
    while (qi(f, "SELECT COUNT(*) FROM pg_locks JOIN waiter USING (pid) WHERE NOT granted") == 0)
        usleep(1000);
}

/* The same while the sweep and the new claim are not committed yet: the zombie waits for their
 * locks, and sees then what it may not do. */
static void check_waiting_zombie(struct fix *f, bool release) {
    struct store *other = fix_open(f);
    struct zombie z = {.s = f->s, .src = flowsheet(f, f->s), .release = release};
    struct source *b = flowsheet(f, other);
    pthread_t thread;
    add_rows(f, 1);
    assert_string_equal(claimed(f, f->s, z.src, "1"), "won 1 1");
    fix_advance(f, LEASE + SWEEP_GRACE_MS + 1);
    watch_locks_of(f, f->s);
    /* the sweep has a transaction of its own, so it is done by hand */
    x(f, "BEGIN");
    x(f, "UPDATE claims SET token = token + 1, state = 'free' WHERE key = '1'");
    x(f, "UPDATE %s SET metadata_status = 'pending' WHERE id = 1", user_table(f, "flowsheet"));
    x(f, "UPDATE %s SET metadata_status = 'enriching' WHERE id = 1", user_table(f, "flowsheet"));
    x(f, "UPDATE claims SET token = token + 1, state = 'held' WHERE key = '1'");
    pthread_create(&thread, NULL, come_back, &z);
    until_it_waits(f);
    x(f, "COMMIT");
    pthread_join(thread, NULL);
    if (z.v != V_OK)
        fail_msg("%s: %s", verdict_name(z.v), z.e.msg);
    assert_false(z.done);
    assert_string_equal(claim_state(f, 1), "3|held|1");
    assert_q("enriching|-", f, "SELECT metadata_status, artist_bio FROM %s",
             user_table(f, "flowsheet"));
    store_source_close(z.src);
    store_source_close(b);
}

static void a_zombie_that_waits_for_a_lock(void **state) {
    if (fix_kind != DB_POSTGRES)
        skip();
    check_waiting_zombie(*state, false);
}

static void a_zombie_that_waits_and_releases(void **state) {
    if (fix_kind != DB_POSTGRES)
        skip();
    check_waiting_zombie(*state, true);
}

static void set_since(struct fix *f, int id, int64_t ms_ago) {
    if (fix_kind == DB_POSTGRES)
        x(f,
          "UPDATE %s SET metadata_status = 'enriching',"
          " enriching_since = now() - interval '%lld milliseconds' WHERE id = %d",
          user_table(f, "flowsheet"), (long long)ms_ago, id);
    else
        x(f,
          "UPDATE %s SET metadata_status = 'enriching', enriching_since ="
          " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', %lld / 1000.0, 'unixepoch') WHERE id = %d",
          user_table(f, "flowsheet"), (long long)(T0 - ms_ago), id);
}

struct sweeper {
    struct store *s;
    struct source *src;
    struct arena *a;
    struct swept_row rows[4];
    size_t n;
    enum verdict v;
    struct err e;
};
static const struct sweep_ask four = {.max = 4, .spare_ago = -1};

static void *sweep(void *arg) {
    struct sweeper *w = arg;
    w->v = store_sweep(w->s, w->src, &four, w->a, w->rows, &w->n, &w->e);
    return NULL;
}

/* A busy row without a claim gets one while it is being swept: the claim has the last word. */
static void an_orphan_that_is_claimed_meanwhile(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    struct sweeper w = {.s = f->s, .src = flowsheet(f, f->s), .a = &f->arena};
    pthread_t thread;
    add_rows(f, 1);
    set_since(f, 1, 3600000);
    watch_locks_of(f, f->s);
    x(f, "BEGIN");
    x(f,
      "INSERT INTO claims (source, key, token, state, lease_until, updated_at)"
      " VALUES ('flowsheet', '1', 7, 'held', %lld, %lld)",
      (long long)T0 + LEASE, (long long)T0);
    pthread_create(&thread, NULL, sweep, &w);
    until_it_waits(f);
    x(f, "COMMIT");
    pthread_join(thread, NULL);
    if (w.v != V_OK)
        fail_msg("%s: %s", verdict_name(w.v), w.e.msg);
    assert_int_equal(w.n, 0);
    assert_string_equal(row_of(f, 1), "enriching|1");
    assert_string_equal(claim_state(f, 1), "7|held|0");
    store_source_close(w.src);
}

/* A row that its owner has locked is passed over, not waited for. */
static void a_locked_row_is_lost(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    struct source *src = flowsheet(f, f->s);
    struct err e;
    struct row_claim c[3];
    add_rows(f, 3);
    x(f, "BEGIN");
    x(f, "UPDATE %s SET artist_name = 'x' WHERE id = 2", user_table(f, "flowsheet"));
    assert_ok(store_claim_rows(f->s, src, keys_of(f, 1, 3), 3, STR("me"), LEASE, &f->arena, c, &e));
    x(f, "COMMIT");
    assert_int_equal(c[0].result, CLAIM_WON);
    assert_int_equal(c[1].result, CLAIM_LOST);
    assert_int_equal(c[2].result, CLAIM_WON);
    assert_string_equal(claimed(f, f->s, src, "2"), "won 1 1");
    add_rows(f, 1);
    x(f, "BEGIN"); /* what a row that refers to it does: that is in nobody's way */
    x(f, "SELECT 1 FROM %s WHERE id = 4 FOR KEY SHARE", user_table(f, "flowsheet"));
    assert_string_equal(claimed(f, f->s, src, "4"), "won 1 1");
    x(f, "COMMIT");
    store_source_close(src);
}

static void busy_rows_without_a_claim(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 6);
    assert_string_equal(claimed(f, f->s, src, "4"), "won 1 1");
    assert_true(finalize_row(f->s, src, "4", 1, ROW_MATCH, NULL));
    assert_string_equal(claimed(f, f->s, src, "5"), "won 1 1"); /* at work */
    set_since(f, 1, SWEEP_GRACE_MS + 5000);
    set_since(f, 2, 0);
    x(f, "UPDATE %s SET metadata_status = 'enriching' WHERE id = 3", user_table(f, "flowsheet"));
    set_since(f, 4, 3600000);
    set_since(f, 5, 3600000);
    swept(f, f->s, src, 2);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM claims WHERE state = 'free'"), 2);
    swept(f, f->s, src, 10);
    assert_q("1|pending 2|enriching 3|pending 4|pending 5|enriching 6|pending", f,
             "SELECT id, metadata_status FROM %s ORDER BY id", user_table(f, "flowsheet"));
    assert_string_equal(claim_state(f, 1), "1|free|0");
    assert_string_equal(claim_state(f, 4), "2|free|1");
    assert_string_equal(claimed(f, f->s, src, "1"), "won 2 1");
    assert_string_equal(swept(f, f->s, src, 10), "");
    store_source_close(src);
}

static void the_sweep_has_a_maximum(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    struct row_claim c[10];
    add_rows(f, 10);
    assert_ok(
        store_claim_rows(f->s, src, keys_of(f, 1, 10), 10, STR("me"), LEASE, &f->arena, c, &e));
    fix_advance(f, LEASE + SWEEP_GRACE_MS + 1);
    for (int i = 0; i < 3; i++) {
        swept(f, f->s, src, 4);
        assert_int_equal(qi(f, "SELECT COUNT(*) FROM claims WHERE state = 'held'"), i == 0   ? 6
                                                                                    : i == 1 ? 2
                                                                                             : 0);
    }
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM %s WHERE metadata_status = 'pending'",
                        user_table(f, "flowsheet")),
                     10);
    store_source_close(src);
}

/* A process of this host that is no more, by the looks of its name. */
static void name_of_the_dead(char *out, size_t size) {
    char mine[256];
    process_identity(mine, sizeof mine);
    const char *pid = strchr(mine, ':'), *start = strchr(pid + 1, ':');
    snprintf(out, size, "%.*s:1%s", (int)(start - mine), mine, start + 1);
}

/* Of a worker that died here nobody has to wait for the lease; of any other one has to. */
static void the_dead_of_this_host(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    char dead[300], alive[256];
    name_of_the_dead(dead, sizeof dead);
    process_identity(alive, sizeof alive);
    const struct str holders[] = {str_of(dead), str_of(alive), STR("elsewhere:1:2:3:4"), STR("x")};
    add_rows(f, 4);
    for (int i = 1; i <= 4; i++) {
        struct row_claim c;
        assert_ok(store_claim_rows(f->s, src, keys_of(f, i, i), 1, holders[i - 1], LEASE, &f->arena,
                                   &c, &e));
        assert_int_equal(c.result, CLAIM_WON);
    }
    assert_string_equal(swept(f, f->s, src, 10), "1");
    assert_string_equal(claim_state(f, 1), "2|free|1");
    assert_string_equal(swept(f, f->s, src, 10), "");
    assert_true(finalize_row(f->s, src, "2", 1, ROW_MATCH, NULL));
    store_source_close(src);
}

/* The owner may do with a row as it likes while it is being worked on. */
static void the_owner_goes_first(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 3);
    for (int i = 1; i <= 3; i++) {
        char key[2] = {(char)('0' + i), 0};
        assert_string_equal(claimed(f, f->s, src, key), "won 1 1");
    }
    x(f, "UPDATE %s SET metadata_status = 'pending' WHERE id = 1", user_table(f, "flowsheet"));
    x(f, "DELETE FROM %s WHERE id = 2", user_table(f, "flowsheet"));
    assert_false(finalize_row(f->s, src, "1", 1, ROW_MATCH, "{\"artist_bio\":\"late\"}"));
    assert_false(finalize_row(f->s, src, "2", 1, ROW_MATCH, NULL));
    assert_string_equal(row_of(f, 1), "pending|1");
    assert_string_equal(claimed(f, f->s, src, "1"), "won 2 1"); /* asked for anew */
    x(f, "UPDATE %s SET metadata_status = 'failed_no_retry' WHERE id = 3",
      user_table(f, "flowsheet"));
    fix_advance(f, LEASE + SWEEP_GRACE_MS + 1);
    assert_string_equal(swept(f, f->s, src, 10), "1");
    assert_string_equal(row_of(f, 3), "failed_no_retry|1");
    assert_string_equal(claim_state(f, 3), "2|free|1");
    store_source_close(src);
}

/* A clock that was years ahead holds nothing for years. */
static void a_wrong_clock_freezes_nothing(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 2);
    fix_advance(f, INT64_C(1000) * 86400 * 365);
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1");
    assert_string_equal(claimed(f, f->s, src, "2"), "won 1 1");
    assert_true(release_row(f->s, src, "2", 1, true, 60000));
    fix_set_now(f, T0);
    assert_string_equal(claimed(f, f->s, src, "2"), "won 2 2");
    assert_string_equal(swept(f, f->s, src, 10), "1");
    store_source_close(src);
}

/* A failure in the midst leaves nothing half done. */
static void a_failure_between_the_steps(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    add_rows(f, 2);
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1");
    assert_string_equal(claimed(f, f->s, src, "2"), "won 1 1");
    if (fix_kind == DB_SQLITE) {
        fault_setup("claims_step:1:fail");
        assert_int_equal(try_finalize(f->s, src, "1", 1, ROW_MATCH, NULL, &e), V_RETRY);
        assert_string_equal(claim_state(f, 1), "1|held|1");
    }
    assert_true(finalize_row(f->s, src, "1", 1, ROW_MATCH, NULL));
    fix_advance(f, LEASE + SWEEP_GRACE_MS + 1);
    struct swept_row rows[4];
    size_t n;
    fault_setup("claims_step:1:fail");
    assert_int_equal(store_sweep(f->s, src, &four, &f->arena, rows, &n, &e), V_RETRY);
    assert_string_equal(claim_state(f, 2), "1|held|1");
    assert_string_equal(row_of(f, 2), "enriching|1");
    assert_ok(store_recover(f->s, &e));
    fix_advance(f, 0);
    assert_string_equal(swept(f, f->s, src, 4), "2");
    store_source_close(src);
}

int row_fence_tests(void) {
    static const struct CMUnitTest tests[] = {
        ROWS_CASE(each_row_is_won_once),
        ROWS_CASE(a_key_twice_in_a_batch),
        ROWS_CASE(what_is_ignored),
        ROWS_CASE(a_zombie_writes_nothing),
        ROWS_CASE(a_zombie_beside_its_successor),
        ROWS_CASE(a_zombie_that_waits_for_a_lock),
        ROWS_CASE(a_zombie_that_waits_and_releases),
        ROWS_CASE(an_orphan_that_is_claimed_meanwhile),
        ROWS_CASE(a_locked_row_is_lost),
        ROWS_CASE(busy_rows_without_a_claim),
        ROWS_CASE(the_sweep_has_a_maximum),
        ROWS_CASE(the_dead_of_this_host),
        ROWS_CASE(the_owner_goes_first),
        ROWS_CASE(a_wrong_clock_freezes_nothing),
        ROWS_CASE(a_failure_between_the_steps),
    };
    return cmocka_run_group_tests_name("rows, one winner", tests, NULL, NULL);
}
