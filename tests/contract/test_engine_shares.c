/* Several workers and one backlog: each begins with a share of its own, and none of it waits for
 * whoever does not come to it. */
#include "fixture_enrich.h"

#include "base/fault.h"

/* Blocks of ids, by the worker that has claimed rows of them: "0 2 4". */
static const char *blocks_of(struct world *w, size_t engine) {
    return q(w->f,
             "SELECT string_agg(b.block::text, ' ' ORDER BY b.block) FROM (SELECT DISTINCT "
             "key::bigint >> %d AS block FROM claims WHERE holder = '%s') AS b",
             SHARE_BLOCK_BITS, w->holders[engine]);
}

static void never(void *ctx UNUSED, struct str path UNUSED, struct script_answer *ret) {
    *ret = (struct script_answer){200, MATCH, 1000000, -1};
}

static void workers_keep_out_of_each_others_way(void **state) {
    if (fix_kind != DB_POSTGRES)
        skip();
    struct world *w = world_new(*state, never, NULL);
    world_rows(w, 0, 2047);
    world_engine(w);
    world_engine(w);
    struct engine *second = w->engines[1];
    w->engines[1] = NULL; /* comes to it later: its share has been left to it */
    for (int i = 0; i < 4; i++)
        world_step(w);
    assert_int_equal(world_count(w, "enriching"), 512);
    w->engines[1] = second;
    for (int i = 0; i < 4; i++)
        world_step(w);
    assert_int_equal(world_count(w, "enriching"), 1024);
    bool first = blocks_of(w, 0)[0] == '0';
    assert_string_equal(blocks_of(w, first ? 0 : 1), "0 2");
    assert_string_equal(blocks_of(w, first ? 1 : 0), "1 3");
    world_free(w);
}

/* Its connection is there, but it does nothing. The other one does not wait for a minute. */
static void what_a_sibling_leaves_is_found(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    world_rows(w, 1, 3000);
    size_t a = world_engine(w);
    world_engine(w);
    struct engine *asleep = w->engines[a];
    w->engines[a] = NULL;
    world_drain(w, 20000, 10);
    assert_int_equal(w->n_calls, 3000);
    w->engines[a] = asleep;
    world_free(w);
}

static void together_they_do_each_row_once(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    world_rows(w, 1, 5000);
    x(w->f, "INSERT INTO tracks (id) VALUES (-9223372036854775807), (-300), (9223372036854775807)");
    for (int i = 0; i < 5; i++)
        world_engine(w);
    world_drain(w, 20000, 10);
    assert_int_equal(w->n_calls, 5003);
    assert_int_equal(qi(w->f, "SELECT MAX(token) FROM claims"), 1);
    world_free(w);
}

/* The feed tells both of every row; each row is picked up by one, and left by the other. */
static void who_hears_of_anothers_row_leaves_it(void **state) {
    if (fix_kind != DB_POSTGRES)
        skip();
    struct world *w = world_new(*state, never, NULL);
    size_t a = world_engine(w), b = world_engine(w);
    for (int i = 0; i < 20; i++) { /* so that both know of each other */
        world_step(w);
        fix_advance(w->f, 100);
    }
    world_rows(w, 0, 511);
    int left[2] = {0, 0};
    for (int id = 0; id < 512; id++) {
        char key[16];
        snprintf(key, sizeof key, "%d", id);
        bool by_a = engine_leave(w->engines[a], 0, str_of(key));
        assert_int_not_equal(by_a, engine_leave(w->engines[b], 0, str_of(key)));
        left[by_a ? 0 : 1]++;
    }
    assert_int_equal(left[0], 256);
    assert_int_equal(left[1], 256);
    struct engine *asleep = w->engines[a]; /* it does not come to what was left to it */
    w->engines[a] = NULL;
    for (int i = 0; i < 10; i++) {
        world_step(w);
        fix_advance(w->f, 50);
    }
    assert_int_equal(world_count(w, "enriching"), 512);
    w->engines[a] = asleep;
    world_free(w);
}

/* Each minute each of them has another's. */
static void shares_move_on(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    struct share one, other, later;
    struct err e;
    size_t a = world_engine(w), b = world_engine(w);
    struct store *sa = w->engines[a]->store, *sb = w->engines[b]->store;
    struct source *ra = w->engines[a]->works[0].source, *rb = w->engines[b]->works[0].source;
    assert_ok(store_source_share(sa, ra, &one, &e));
    assert_ok(store_source_share(sb, rb, &other, &e));
    assert_true(one.by_number);
    if (fix_kind == DB_POSTGRES) {
        assert_int_equal(one.of, 2);
        assert_int_equal(other.of, 2);
        assert_int_equal(one.mine + other.mine, 1);
        fix_advance(w->f, 60000);
        assert_ok(store_source_share(sa, ra, &later, &e));
        assert_int_equal(later.mine, other.mine);
    } else {
        assert_int_equal(one.of, 1);
        assert_int_equal(other.of, 1);
    }
    world_free(w);
}

static void at_once(void *ctx UNUSED, struct str path UNUSED, struct script_answer *ret) {
    *ret = (struct script_answer){200, MATCH, 0, -1};
}

static void count(void *n) {
    ++*(int *)n;
}

static void offer(struct world *w, size_t a, int first, int last) {
    char key[16];
    for (int id = first; id <= last; id++) {
        snprintf(key, sizeof key, "%d", id);
        assert_true(engine_offer(w->engines[a], 0, str_of(key)));
    }
}

/* Of 512 rows a sibling had 100: no statement for the hundred that fit beside the others, and then
 * for ten, and one. They are written, and there is room for all. */
static void there_is_no_claim_for_a_few(void **state) {
    struct world *w = world_new(*state, at_once, NULL);
    int again = 0;
    size_t a = world_engine(w);
    world_run(w, 100, 10);
    world_rows(w, 1, 1000);
    x(w->f, "UPDATE tracks SET status = 'matched' WHERE id <= 100");
    offer(w, a, 1, 1000);
    fault_set_call(count, &again);
    fault_setup("enrich_before_claim:2:call");
    world_step(w);
    fault_setup(NULL);
    assert_int_equal(again, 0);
    assert_int_equal(world_count(w, "enriching"), 412);
    world_step(w);
    assert_int_equal(world_count(w, "matched"), 512);
    assert_int_equal(world_count(w, "enriching"), 488);
    world_drain(w, 1000, 10);
    world_free(w);
}

int engine_share_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(workers_keep_out_of_each_others_way), CASE(what_a_sibling_leaves_is_found),
        CASE(together_they_do_each_row_once),      CASE(shares_move_on),
        CASE(there_is_no_claim_for_a_few),         CASE(who_hears_of_anothers_row_leaves_it),
    };
    return cmocka_run_group_tests_name("engine and shares", tests, NULL, NULL);
}
