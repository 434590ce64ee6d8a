/* The engine of enrichment, as several processes in one virtual time: what wins, what waits, what
 * is given back, and that limits hold for all of them together. */
#include "fixture_enrich.h"

#include <string.h>

static void rows_nobody_was_told_of_are_found(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    world_rows(w, 1, 700);
    x(w->f, "INSERT INTO tracks (id, kind) VALUES (1001, 'talk')");
    world_engine(w);
    world_drain(w, 10000, 10);
    assert_int_equal(world_count(w, "matched"), 350);
    assert_int_equal(world_count(w, "unmatched"), 350);
    assert_int_equal(w->n_calls, 700);
    assert_q("https://example.org/a|1999|-", w->f,
             "SELECT url, year, since FROM tracks WHERE id = 2");
    assert_q("-|-", w->f, "SELECT url, year FROM tracks WHERE id = 3");
    assert_q("pending", w->f, "SELECT status FROM tracks WHERE id = 1001");
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims WHERE state = 'done'"), 700);
    world_free(w);
}

/* Only the engine that is told finds it before the next sweep. */
static void a_key_that_is_offered_is_worked_on_at_once(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    size_t a = world_engine(w);
    world_run(w, 1000, 10);
    world_rows(w, 1, 1);
    assert_true(engine_offer(w->engines[a], 0, STR("1")));
    world_run(w, 50, 10);
    assert_int_equal(w->n_calls, 1);
    assert_int_equal(world_count(w, "unmatched"), 1);
    world_free(w);
}

static void one_of_two_wins(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    world_engine(w);
    world_engine(w);
    world_run(w, 100, 10);
    world_rows(w, 1, 50);
    for (size_t i = 0; i < 2; i++)
        for (int id = 1; id <= 50; id++) {
            char key[16];
            snprintf(key, sizeof key, "%d", id);
            assert_true(engine_offer(w->engines[i], 0, str_of(key)));
            assert_true(engine_offer(w->engines[i], 0, str_of(key))); /* the same event twice */
        }
    world_drain(w, 5000, 10);
    assert_int_equal(w->n_calls, 50);
    assert_int_equal(qi(w->f, "SELECT MAX(token) FROM claims"), 1);
    world_free(w);
}

static void dead_worker_is_swept_and_row_is_finished_once(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    world_rows(w, 1, 20);
    size_t a = world_engine(w);
    world_step(w); /* claims and calls all of them */
    assert_int_equal(world_count(w, "enriching"), 20);
    world_kill(w, a);
    world_engine(w);
    world_run(w, 30000, 500);
    assert_int_equal(world_count(w, "enriching"), 20); /* the lease of the dead still holds */
    world_drain(w, 300000, 1000);
    assert_int_equal(world_count(w, "matched") + world_count(w, "unmatched"), 20);
    assert_int_equal(w->n_calls, 40);
    world_free(w);
}

static void slow_answer(void *ctx, struct str path, struct script_answer *ret) {
    script_parity(NULL, path, ret);
    ret->takes_ms = *(int64_t *)ctx;
}

static void five_ms_apart(void *ctx, struct str path, struct script_answer *ret) {
    script_parity(ctx, path, ret);
    ret->takes_ms = 10 + 5 * (path.p[path.n - 1] - '1');
}

/* Results are gathered while calls are under way; the last one need not wait. */
static void the_last_result_waits_for_nobody(void **state) {
    struct world *w = world_new(*state, five_ms_apart, NULL);
    world_rows(w, 1, 2);
    world_engine(w);
    world_step(w);
    fix_advance(w->f, 10);
    world_step(w); /* hears of the first */
    world_step(w); /* and keeps it */
    assert_int_equal(world_count(w, "enriching"), 2);
    fix_advance(w->f, 5);
    world_step(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 0);
    world_free(w);
}

/* It was asleep for longer than its lease; another one did its work. */
static void a_zombie_changes_nothing(void **state) {
    int64_t takes = 3600000;
    struct world *w = world_new(*state, slow_answer, &takes);
    struct err e;
    world_rows(w, 2, 2);
    size_t a = world_engine(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 1);
    struct engine *zombie = w->engines[a];
    w->engines[a] = NULL; /* asleep */
    takes = 10;
    world_engine(w);
    world_drain(w, 600000, 1000);
    x(w->f, "UPDATE tracks SET url = 'https://example.org/mark' WHERE id = 2");
    fix_advance(w->f, 4000000);
    for (int i = 0; i < 5; i++) {
        assert_ok(engine_step(zombie, clock_mono(&w->f->clock), &e));
        fix_advance(w->f, 50);
    }
    assert_q("matched|https://example.org/mark", w->f, "SELECT status, url FROM tracks");
    assert_int_equal(zombie->n_unused, ENGINE_BUSY_MAX);
    w->engines[a] = zombie;
    world_free(w);
}

static void a_stop_gives_back_without_spending_an_attempt(void **state) {
    int64_t takes = 5000;
    struct world *w = world_new(*state, slow_answer, &takes);
    struct err e;
    world_rows(w, 1, 10);
    w->plan.providers[0].limits.slots = 4;
    size_t a = world_engine(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 4);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM provider_slots WHERE holder IS NOT NULL"), 4);
    assert_ok(engine_stop(w->engines[a], &e));
    assert_int_equal(world_count(w, "pending"), 10);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims WHERE attempts > 0 OR state = 'held'"),
                     0);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM provider_slots WHERE holder IS NOT NULL"), 0);
    world_free(w);
}

struct mood {
    long status;
    const char *body;
    int64_t retry_after_ms;
};

static void in_a_mood(void *ctx, struct str path, struct script_answer *ret) {
    const struct mood *m = ctx;
    if (m->status == 200 && !m->body) {
        script_parity(NULL, path, ret);
        return;
    }
    *ret = (struct script_answer){m->status, m->body ? m->body : "", 10, m->retry_after_ms};
}

static void down_for_an_hour(void **state, int rows, const struct mood *trouble) {
    struct mood mood = *trouble;
    struct world *w = world_new(*state, in_a_mood, &mood);
    world_rows(w, 1, rows);
    world_engine(w);
    world_engine(w);
    world_run(w, 3600000, 2000);
    assert_int_equal(world_count(w, "failed") + world_count(w, "unmatched"), 0);
    assert_int_equal(world_count(w, "pending") + world_count(w, "enriching"), rows);
    assert_in_range(w->n_calls, 1, 400); /* it was left alone */
    mood = (struct mood){.status = 200, .retry_after_ms = -1};
    world_drain(w, 3 * 3600000, 1000);
    assert_int_equal(world_count(w, "matched"), rows / 2);
    assert_int_equal(world_count(w, "unmatched"), rows / 2);
    world_free(w);
}

static void no_connection_for_an_hour(void **state) {
    down_for_an_hour(state, 100, &(struct mood){.status = 0, .retry_after_ms = -1});
}

static void server_errors_for_an_hour(void **state) {
    down_for_an_hour(state, 100, &(struct mood){.status = 500, .retry_after_ms = -1});
}

/* Each of them is asked for more often than it has attempts. */
static void an_hour_for_two_rows(void **state) {
    down_for_an_hour(state, 2, &(struct mood){.status = 500, .retry_after_ms = -1});
}

static void too_many_requests_for_an_hour(void **state) {
    down_for_an_hour(state, 100, &(struct mood){.status = 429, .retry_after_ms = 60000});
}

static void degraded_answers_for_an_hour(void **state) {
    down_for_an_hour(state, 100, &(struct mood){200, DEGRADED, -1});
}

static void garbage_for_an_hour(void **state) {
    down_for_an_hour(state, 100, &(struct mood){200, "<html>", -1});
}

static void refused_by_the_provider_pauses_and_burns_no_row(void **state) {
    struct mood mood = {.status = 401, .retry_after_ms = -1};
    struct world *w = world_new(*state, in_a_mood, &mood);
    struct err e;
    w->plan.providers[0].limits.slots = 1;
    world_rows(w, 1, 10);
    world_engine(w);
    world_run(w, 600000, 500);
    assert_int_equal(w->n_calls, 1);
    assert_int_equal(world_count(w, "pending"), 10);
    assert_int_equal(qi(w->f, "SELECT MAX(attempts) FROM claims"), 0);
    mood.status = 200;
    assert_ok(store_lane_resume(w->f->s, STR("lookup"), &e));
    world_drain(w, 60000, 100);
    assert_int_equal(w->n_calls, 11);
    world_free(w);
}

/* Whoever resumes a lane need not wait until its workers would have asked by themselves. */
static void resumed(void **state, const struct mood *trouble) {
    struct mood mood = *trouble;
    struct world *w = world_new(*state, in_a_mood, &mood);
    struct err e;
    world_rows(w, 1, 50);
    world_engine(w);
    world_engine(w);
    world_run(w, 1200000, 1000);
    size_t before = w->n_calls;
    mood = (struct mood){.status = 200, .retry_after_ms = -1};
    x(w->f, "UPDATE claims SET next_try_at = NULL");
    assert_ok(store_lane_resume(w->f->s, STR("lookup"), &e));
    world_run(w, 3000, 100);
    assert_true(w->n_calls > before);
    world_drain(w, 120000, 1000);
    world_free(w);
}

static void a_wait_that_is_resumed(void **state) {
    resumed(state, &(struct mood){.status = 429, .retry_after_ms = 3600000});
}

static void a_breaker_that_is_resumed(void **state) {
    resumed(state, &(struct mood){.status = 500, .retry_after_ms = -1});
}

static void one_bad_row(void *ctx UNUSED, struct str path, struct script_answer *ret) {
    script_parity(NULL, path, ret);
    if (str_ends(path, "/4"))
        *ret = (struct script_answer){422, "{\"detail\":\"no\"}", 10, -1};
    if (str_ends(path, "/6"))
        *ret = (struct script_answer){500, "", 10, -1};
    if (str_ends(path, "/8"))
        *ret = (struct script_answer){
            200, "{\"results\":[{\"url\":\"https://a.example/\",\"year\":3001}]}", 10, -1};
}

/* What the provider says of one row, what it cannot bear, and what the table refuses. */
static void a_bad_row_fails_alone(void **state) {
    struct world *w = world_new(*state, one_bad_row, NULL);
    world_rows(w, 1, 40);
    world_engine(w);
    for (int i = 0; i < 24 && world_count(w, "failed") < 3; i++) {
        world_rows(w, 100 + i, 100 + i); /* others do well meanwhile */
        world_run(w, 300000, 1000);
    }
    assert_q("failed|-", w->f, "SELECT status, url FROM tracks WHERE id = 4");
    assert_q("failed|-", w->f, "SELECT status, url FROM tracks WHERE id = 6");
    assert_q("failed|-", w->f, "SELECT status, url FROM tracks WHERE id = 8");
    assert_q("http_4xx|1", w->f, "SELECT error_class, attempts FROM claims WHERE key = '4'");
    assert_q("http_5xx|5", w->f, "SELECT error_class, attempts FROM claims WHERE key = '6'");
    assert_q("refused|1", w->f, "SELECT error_class, attempts FROM claims WHERE key = '8'");
    assert_int_equal(world_count(w, "failed"), 3);
    assert_int_equal(world_count(w, "pending") + world_count(w, "enriching"), 0);
    world_free(w);
}

static void the_fifth_is_no_request(void *ctx UNUSED, struct str path, struct script_answer *ret) {
    script_parity(NULL, path, ret);
    if (str_ends(path, "/5"))
        ret->status = -1;
}

/* Its address is too long, say: that will not change. */
static void what_is_no_request_has_failed(void **state) {
    struct world *w = world_new(*state, the_fifth_is_no_request, NULL);
    w->plan.providers[0].limits.slots = 2;
    world_rows(w, 1, 9);
    world_engine(w);
    world_drain(w, 10000, 10);
    assert_int_equal(w->n_calls, 8);
    assert_q("failed", w->f, "SELECT status FROM tracks WHERE id = 5");
    assert_q("request|1|as the script says", w->f,
             "SELECT error_class, attempts, error FROM claims WHERE key = '5'");
    world_run(w, 2000, 100);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM provider_slots WHERE holder IS NOT NULL"), 0);
    world_free(w);
}

static void ill_for_long(void *ctx UNUSED, struct str path UNUSED, struct script_answer *ret) {
    *ret = (struct script_answer){500, "", 1000, -1};
}

/* Failures that come in after the breaker was opened, by whomever, cost no row an attempt. */
static void a_breaker_is_open_for_all(void **state) {
    struct world *w = world_new(*state, ill_for_long, NULL);
    world_rows(w, 1, 12);
    size_t all[3];
    for (size_t i = 0; i < 3; i++)
        all[i] = world_engine(w);
    world_run(w, 50, 10);
    world_rows(w, 13, 60);
    for (int id = 13; id <= 60; id++) {
        char key[16];
        snprintf(key, sizeof key, "%d", id);
        assert_true(engine_offer(w->engines[all[id % 3]], 0, str_of(key)));
    }
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 60);
    world_run(w, 3000, 100);
    assert_int_equal(world_count(w, "pending"), 60);
    assert_int_equal(qi(w->f, "SELECT SUM(attempts) FROM claims"), LANE_TRIP_AFTER - 1);
    world_free(w);
}

/* A probe that was granted and not needed is for whoever has a row: not after a minute. */
static void a_probe_goes_back(void **state) {
    struct mood mood = {.status = 200, .retry_after_ms = -1};
    struct world *w = world_new(*state, in_a_mood, &mood);
    size_t a = world_engine(w);
    world_run(w, 100, 10);
    x(w->f, "UPDATE providers SET breaker = 'open', failures = 5, breaker_until = 0");
    assert_true(engine_offer(w->engines[a], 0, STR("12345"))); /* no such row */
    world_step(w);
    assert_q("half_open", w->f, "SELECT breaker FROM providers");
    world_run(w, 3000, 100);
    assert_q("open", w->f, "SELECT breaker FROM providers");
    world_rows(w, 1, 1);
    assert_true(engine_offer(w->engines[a], 0, STR("1")));
    world_step(w); /* it is under way, and then the worker is stopped */
    assert_q("half_open", w->f, "SELECT breaker FROM providers");
    struct err e;
    assert_ok(engine_stop(w->engines[a], &e));
    assert_q("open", w->f, "SELECT breaker FROM providers");
    world_free(w);
}

/* While a file is rolled out, workers differ on the limits: the table says what holds. */
static void limits_of_another_file(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    struct err e;
    world_rows(w, 1, 60);
    w->plan.providers[0].limits.slots = 0;
    world_engine(w);
    assert_ok(store_lane_declare(w->f->s, STR("lookup"), &(struct lane_limits){0, 60000, 3}, &e));
    world_drain(w, 20000, 10);
    assert_int_equal(w->most_at_once, 3);
    assert_ok(store_lane_declare(w->f->s, STR("lookup"), &(struct lane_limits){0, 60000, 0}, &e));
    world_kill(w, 0);
    w->plan.providers[0].limits.slots = 3;
    world_engine(w);
    assert_ok(store_lane_declare(w->f->s, STR("lookup"), &(struct lane_limits){0, 60000, 0}, &e));
    world_rows(w, 101, 160);
    world_run(w, 61000, 500);
    assert_int_equal(w->n_calls, 120);
    world_free(w);
}

static void random_length(void *ctx, struct str path, struct script_answer *ret) {
    struct rng *r = ctx;
    script_parity(NULL, path, ret);
    ret->takes_ms = 100 + (int64_t)rng_below(r, 5000);
}

static void limits_hold_for_five(void **state) {
    struct rng rng = {.state = 7};
    struct world *w = world_new(*state, random_length, &rng);
    w->plan.providers[0].limits = (struct lane_limits){50, 60000, 5};
    world_rows(w, 1, 600);
    for (int i = 0; i < 5; i++)
        world_engine(w);
    world_run(w, 600000, 200);
    assert_true(world_most_in(w, 60000) <= 50);
    assert_true(w->most_at_once <= 5);
    assert_in_range(w->n_calls, 475, 500); /* 95 of 100 at least */
    world_free(w);
}

static void slow_answers(void *ctx, struct str path, struct script_answer *ret) {
    random_length(ctx, path, ret);
    ret->takes_ms += 15000;
}

/* Answers take so long that the slots are what is scarce. */
static void slots_hold_for_five(void **state) {
    struct rng rng = {.state = 7};
    struct world *w = world_new(*state, slow_answers, &rng);
    w->plan.providers[0].limits = (struct lane_limits){50, 60000, 5};
    world_rows(w, 1, 600);
    for (int i = 0; i < 5; i++)
        world_engine(w);
    world_run(w, 300000, 200);
    assert_int_equal(w->most_at_once, 5);
    assert_in_range(w->n_calls, 70, 100); /* 5 in 15 to 20 s */
    world_free(w);
}

static void stall(void *world) {
    fix_advance(((struct world *)world)->f, 1000);
}

static void stall_and_pause(void *world) {
    struct err e;
    stall(world);
    assert_ok(store_lane_pause(((struct world *)world)->f->s, STR("lookup"), NULL, &e));
}

/* The claim took so long that the turn was lost: the row waits for the next, and is not claimed
 * anew. */
static void a_turn_that_is_lost_is_not_used(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.providers[0].limits = (struct lane_limits){50, 60000, 5};
    world_rows(w, 1, 100);
    world_engine(w);
    fault_set_call(stall, w);
    for (int i = 0; i < 60; i++) {
        fault_setup(i % 3 ? "enrich_after_claim:1:call" : "enrich_before_claim:1:call");
        world_run(w, 1000, 100);
    }
    fault_setup(NULL);
    assert_true(world_most_in(w, 60000) <= 50);
    assert_true(w->n_calls > 20);
    for (size_t i = 1; i < w->n_calls; i++) /* 1224 ms apart, and each good for 918 */
        assert_true(w->calls[i].started - w->calls[i - 1].started >= 300);
    assert_int_equal(qi(w->f, "SELECT MAX(token) FROM claims"), 1);
    const struct lane *l = &w->engines[0]->lanes[0];
    struct err e;
    fault_set_call(stall_and_pause, w);
    fault_setup("enrich_after_claim:1:call");
    for (int i = 0; i < 300 && l->n_ready == 0; i++)
        world_run(w, 10, 10);
    assert_int_equal(l->n_ready, 1);
    assert_true(world_count(w, "enriching") > 0);
    fault_setup(NULL);
    world_run(w, 2 * READY_MAX_MS, 100); /* and then it is given back */
    assert_int_equal(world_count(w, "enriching"), 0);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM provider_slots WHERE holder IS NOT NULL"), 0);
    assert_ok(store_lane_resume(w->f->s, STR("lookup"), &e));
    world_drain(w, 300000, 100);
    assert_int_equal(qi(w->f, "SELECT MAX(attempts) FROM claims"), 1);
    world_free(w);
}

/* It took turns for rows that a sibling had: the slots are for others then. */
static void slots_without_work_go_back(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.providers[0].limits.slots = 3;
    size_t a = world_engine(w);
    world_run(w, 100, 10);
    for (int i = 0; i < 3; i++)
        assert_true(engine_offer(w->engines[a], 0, STR("12345")));
    world_step(w);
    world_run(w, 3000, 50);
    assert_int_equal(w->n_calls, 0);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM provider_slots WHERE holder IS NOT NULL"), 0);
    world_free(w);
}

static void a_flood_larger_than_the_ring_loses_nothing(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    int rows = 400, taken = 0;
    w->ring = 100;
    size_t a = world_engine(w);
    world_run(w, 100, 10);
    world_rows(w, 1, rows);
    for (int i = 1; i <= rows; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        taken += engine_offer(w->engines[a], 0, str_of(key));
    }
    assert_int_equal(taken, 100);
    world_run(w, 10000, 100); /* long before the next sweep */
    assert_int_equal(w->n_calls, rows);
    assert_int_equal(world_count(w, "pending") + world_count(w, "enriching"), 0);
    world_free(w);
}

static void rows_without_a_match_are_looked_up_again(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.sources[0].recheck_ms = 3600000;
    world_rows(w, 1, 4);
    world_engine(w);
    world_run(w, 3500000, 1000);
    assert_int_equal(w->n_calls, 4);
    world_run(w, 400000, 1000);
    assert_int_equal(w->n_calls, 6);
    assert_int_equal(world_count(w, "unmatched"), 2);
    assert_int_equal(qi(w->f, "SELECT MAX(attempts) FROM claims"), 1);
    world_free(w);
}

/* A table that was full of pending rows at the first start does not keep today's waiting. */
static void fresh_rows_go_before_the_backlog(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.providers[0].limits = (struct lane_limits){60, 60000, 1};
    world_rows(w, 1, 300);
    size_t a = world_engine(w);
    world_run(w, 10000, 100);
    world_rows(w, 1000, 1000);
    assert_true(engine_offer(w->engines[a], 0, STR("1000")));
    world_run(w, 3500, 100);
    assert_q("matched", w->f, "SELECT status FROM tracks WHERE id = 1000");
    size_t before = w->n_calls;
    world_rows(w, 1001, 1200); /* and a flood of them does not stop the backlog */
    for (int id = 1001; id <= 1200; id++) {
        char key[16];
        snprintf(key, sizeof key, "%d", id);
        assert_true(engine_offer(w->engines[a], 0, str_of(key)));
    }
    int64_t old = qi(w->f, "SELECT COUNT(*) FROM tracks WHERE id <= 300 AND status <> 'pending'");
    world_run(w, 80000, 100);
    old = qi(w->f, "SELECT COUNT(*) FROM tracks WHERE id <= 300 AND status <> 'pending'") - old;
    assert_in_range(w->n_calls - before, 70, 80);
    assert_in_range(old, 8, 12);
    world_free(w);
}

static void a_blocked_lane_blocks_no_other(void **state) {
    struct mood mood = {.status = 401, .retry_after_ms = -1};
    struct world *w = world_new(*state, in_a_mood, &mood);
    world_rows(w, 1, 10);
    world_engine(w);
    world_run(w, 10000, 100);
    assert_int_equal(world_count(w, "pending"), 10);
    world_kill(w, 0);
    mood.status = 200;
    w->plan.providers[1] = w->plan.providers[0];
    w->plan.providers[1].name = STR("other");
    w->plan.n_providers = 2;
    x(w->f, "CREATE TABLE talks AS SELECT * FROM tracks");
    x(w->f, "CREATE UNIQUE INDEX talks_id ON talks (id)");
    w->plan.sources[1] = w->plan.sources[0];
    w->plan.sources[1].spec.name = STR("talks");
    w->plan.sources[1].spec.table = world_table(w, "talks");
    w->plan.sources[1].provider = &w->plan.providers[1];
    w->plan.n_sources = 2;
    world_engine(w);
    world_run(w, 10000, 100);
    assert_int_equal(world_count(w, "pending"), 10);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM talks WHERE status = 'matched'"), 5);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM talks WHERE status = 'unmatched'"), 5);
    world_kill(w, 1);
    x(w->f, "DROP TABLE talks");
    world_free(w);
}

int engine_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(rows_nobody_was_told_of_are_found),
        CASE(a_key_that_is_offered_is_worked_on_at_once),
        CASE(one_of_two_wins),
        CASE(dead_worker_is_swept_and_row_is_finished_once),
        CASE(the_last_result_waits_for_nobody),
        CASE(a_zombie_changes_nothing),
        CASE(a_stop_gives_back_without_spending_an_attempt),
        CASE(no_connection_for_an_hour),
        CASE(server_errors_for_an_hour),
        CASE(an_hour_for_two_rows),
        CASE(too_many_requests_for_an_hour),
        CASE(degraded_answers_for_an_hour),
        CASE(garbage_for_an_hour),
        CASE(refused_by_the_provider_pauses_and_burns_no_row),
        CASE(a_wait_that_is_resumed),
        CASE(a_breaker_that_is_resumed),
        CASE(a_bad_row_fails_alone),
        CASE(what_is_no_request_has_failed),
        CASE(a_breaker_is_open_for_all),
        CASE(a_probe_goes_back),
        CASE(limits_of_another_file),
        CASE(limits_hold_for_five),
        CASE(slots_hold_for_five),
        CASE(a_turn_that_is_lost_is_not_used),
        CASE(slots_without_work_go_back),
        CASE(a_flood_larger_than_the_ring_loses_nothing),
        CASE(rows_without_a_match_are_looked_up_again),
        CASE(fresh_rows_go_before_the_backlog),
        CASE(a_blocked_lane_blocks_no_other),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
