/* The engine and workers that die: what it costs a row, and what costs nothing. */
#include "fixture_enrich.h"

#include <stdio.h>
#include <string.h>

#define LAPSE                                                                           \
    (INT64_C(20000) + LEASE_GRACE_MS + SWEEP_GRACE_MS + 1000) /* until a claim is stale \
                                                               */

static void never(void *ctx UNUSED, struct str path UNUSED, struct script_answer *ret) {
    *ret = (struct script_answer){200, NO_MATCH, INT64_C(86400000), -1};
}

/* A worker that claims all of them, and is killed. What waits for another attempt is waited for. */
static void die(struct world *w, int rows) {
    size_t i = world_engine(w), calls = w->n_calls + (size_t)rows;
    for (int64_t spent = 0; w->n_calls < calls; spent += 1000) {
        assert_true(spent < 7200000);
        world_step(w);
        fix_advance(w->f, 1000);
    }
    world_kill(w, i);
    fix_advance(w->f, LAPSE);
}

static const char *claim_of(struct world *w, int id) {
    return q(w->f, "SELECT state, outcome, attempts, error_class FROM claims WHERE key = '%d'", id);
}

static void a_row_that_kills_its_workers(void **state) {
    struct world *w = world_new(*state, never, NULL);
    w->plan.sources[0].max_attempts = 3;
    world_rows(w, 7, 7);
    for (int i = 0; i < 3; i++)
        die(w, 1);
    assert_int_equal(w->n_calls, 3);
    world_engine(w);
    world_run(w, 200000, 1000);
    assert_int_equal(w->n_calls, 3);
    assert_q("failed|-", w->f, "SELECT status, since FROM tracks");
    assert_string_equal(claim_of(w, 7), "done|failed|3|worker_died");
    assert_q("attempt 3 has no end: its worker died, or lost the row", w->f,
             "SELECT error FROM claims");
    x(w->f, "UPDATE tracks SET status = 'pending'"); /* to have it done again */
    w->script = script_parity;
    world_drain(w, 100000, 1000);
    assert_string_equal(claim_of(w, 7), "done|no_match|1|-");
    world_free(w);
}

/* What died together does not come again together: only one of them is to blame. */
static void the_second_death_parts_them(void **state) {
    struct world *w = world_new(*state, never, NULL);
    world_rows(w, 1, 50);
    die(w, 50);
    assert_q("0", w->f, "SELECT COUNT(*) FROM claims WHERE next_try_at IS NOT NULL");
    die(w, 50); /* the first costs no time */
    world_engine(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 0);
    assert_in_range(qi(w->f, "SELECT COUNT(DISTINCT next_try_at) FROM claims"), 40, 50);
    assert_in_range(qi(w->f, "SELECT MAX(next_try_at) FROM claims") - clock_real(&w->f->clock),
                    60000, 120000);
    w->script = script_parity;
    world_run(w, 60000, 1000);
    assert_in_range(world_count(w, "matched") + world_count(w, "unmatched"), 1, 49);
    world_drain(w, 200000, 1000);
    world_free(w);
}

/* The paths that were asked for, in their order. */
static void remember(void *ctx, struct str path, struct script_answer *ret) {
    char *said = ctx;
    size_t n = strlen(said);
    snprintf(said + n, 256 - n, "%.*s ", STR_FMT(path));
    script_parity(NULL, path, ret);
}

/* Whoever waits for them has waited for a lease by then: what is newer comes later, also where the
 * feed has more to tell than its ring has room for. */
static void what_the_dead_held_goes_first(void **state) {
    struct world *w = world_new(*state, never, NULL);
    char said[256] = "", key[8];
    world_rows(w, 5, 6);
    die(w, 2);
    w->plan.providers[0].limits.slots = 1;
    world_rows(w, 1, 4);
    world_rows(w, 7, 12);
    w->script = remember;
    w->script_ctx = said;
    w->ring = 4;
    size_t b = world_engine(w);
    for (int id = 7; id <= 12; id++) {
        if (id == 9) /* the sweep, and the first call */
            world_step(w);
        snprintf(key, sizeof key, "%d", id);
        engine_offer(w->engines[b], 0, str_of(key));
    }
    assert_string_equal(said, "/t/5 ");
    world_drain(w, 600000, 100);
    assert_memory_equal(said, "/t/5 /t/6 /t/9 /t/10 /t/11 /t/12 ", 33);
    world_free(w);
}

static void a_stop_costs_nothing(void **state) {
    struct world *w = world_new(*state, never, NULL);
    struct err e;
    w->plan.sources[0].max_attempts = 2;
    world_rows(w, 1, 5);
    for (int i = 0; i < 5; i++) {
        size_t a = world_engine(w);
        world_step(w);
        assert_int_equal(world_count(w, "enriching"), 5);
        assert_ok(engine_stop(w->engines[a], &e));
        world_kill(w, a);
        fix_advance(w->f, LAPSE);
    }
    assert_q("free|0", w->f, "SELECT DISTINCT state, attempts FROM claims");
    w->script = script_parity;
    world_engine(w);
    world_drain(w, 100000, 1000);
    assert_int_equal(world_count(w, "failed"), 0);
    world_free(w);
}

/* Whoever sweeps could not reach the database itself since the claim: nobody has to have died. */
static void a_database_that_was_away(void **state) {
    struct world *w = world_new(*state, never, NULL);
    w->plan.sources[0].max_attempts = 1;
    world_rows(w, 1, 5);
    size_t a = world_engine(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 5);
    world_kill(w, a);
    fault_setup("claims_step:1:fail");
    size_t b = world_engine(w);
    world_step(w);
    assert_true(engine_down_ms(w->engines[b]) == 0 && w->engines[b]->outage.again_at > 0);
    world_run(w, LAPSE + 61000, 1000);
    assert_int_equal(world_count(w, "enriching"), 5); /* with the second one now */
    assert_q("held|1", w->f, "SELECT DISTINCT state, attempts FROM claims");
    world_kill(w, b);
    fix_advance(w->f, LAPSE);
    world_engine(w); /* which knows of no trouble */
    world_step(w);
    assert_int_equal(world_count(w, "failed"), 5);
    world_free(w);
}

/* A death costs an attempt, whatever the others were spent on. */
static void deaths_and_failures_count_alike(void **state) {
    struct world *w = world_new(*state, never, NULL);
    w->plan.sources[0].max_attempts = 2;
    world_rows(w, 1, 1);
    die(w, 1);
    x(w->f, "UPDATE claims SET error_class = 'http_5xx'");
    die(w, 1);
    world_engine(w);
    world_step(w);
    assert_string_equal(claim_of(w, 1), "done|failed|2|worker_died");
    world_free(w);
}

/* PostgreSQL ended a transaction of ours in favour of another one: it is there, and asked again. */
static void a_deadlock(void **state) {
    if (fix_kind != DB_POSTGRES)
        skip();
    struct world *w = world_new(*state, script_parity, NULL);
    struct err e;
    x(w->f, "CREATE SEQUENCE %s_own.asked", w->f->schema);
    x(w->f,
      "CREATE FUNCTION %s_own.deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF nextval('%s_own.asked') IN (1, 8) THEN"
      " RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF; RETURN NEW; END $$;"
      " CREATE TRIGGER no BEFORE UPDATE ON tracks FOR EACH ROW EXECUTE FUNCTION %s_own.deadlock()",
      w->f->schema, w->f->schema, w->f->schema);
    world_rows(w, 1, 5);
    size_t a = world_engine(w);
    for (int i = 0; i < 10; i++) {
        world_step(w);
        assert_int_equal(w->engines[a]->outage.again_at, 0); /* nobody was waited for */
        fix_advance(w->f, 25);
    }
    assert_int_equal(world_count(w, "matched") + world_count(w, "unmatched"), 5);
    assert_int_equal(w->n_calls, 5);
    assert_int_equal(qi(w->f, "SELECT last_value FROM %s_own.asked", w->f->schema), 13);
    /* and at the end */
    w->script = never;
    x(w->f, "SELECT setval('%s_own.asked', 100)", w->f->schema);
    x(w->f, "INSERT INTO tracks (id) VALUES (6)");
    assert_true(engine_offer(w->engines[a], 0, STR("6")));
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 1);
    x(w->f, "ALTER SEQUENCE %s_own.asked RESTART WITH 1", w->f->schema);
    assert_ok(engine_stop(w->engines[a], &e));
    assert_int_equal(world_count(w, "pending"), 1);
    world_free(w);
}

int engine_death_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_row_that_kills_its_workers),
        CASE(the_second_death_parts_them),
        CASE(what_the_dead_held_goes_first),
        CASE(a_stop_costs_nothing),
        CASE(a_database_that_was_away),
        CASE(deaths_and_failures_count_alike),
        CASE(a_deadlock),
    };
    return cmocka_run_group_tests_name("engine and deaths", tests, NULL, NULL);
}
