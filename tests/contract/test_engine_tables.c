/* The engine and tables that are not easy: rules of their owner's, several sources, odd keys. What
 * is wrong with a row stays with that row. */
#include "fixture_enrich.h"

#include <string.h>
#include <unistd.h>

/* Refuses an update of the row `id` when `when` is true, in terms of OLD and NEW. */
static void refuse(struct world *w, int id, const char *when) {
    if (fix_kind == DB_POSTGRES)
        x(w->f,
          "CREATE FUNCTION %s_own.refuse() RETURNS trigger LANGUAGE plpgsql AS"
          " $$ BEGIN IF OLD.id = %d AND %s THEN RAISE EXCEPTION 'not today'; END IF; RETURN NEW;"
          " END $$; CREATE TRIGGER no BEFORE UPDATE ON tracks FOR EACH ROW"
          " EXECUTE FUNCTION %s_own.refuse()",
          w->f->schema, id, when, w->f->schema);
    else
        x(w->f,
          "CREATE TRIGGER no BEFORE UPDATE ON tracks WHEN OLD.id = %d AND %s"
          " BEGIN SELECT RAISE(ABORT, 'not today'); END",
          id, when);
}

static int64_t final_rows(struct world *w) {
    return world_count(w, "matched") + world_count(w, "unmatched") + world_count(w, "failed");
}

static void a_row_that_may_not_be_claimed(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    refuse(w, 7, "NEW.status = 'enriching'");
    world_rows(w, 1, 20);
    size_t a = world_engine(w);
    world_run(w, 200000, 500); /* several sweeps */
    assert_int_equal(final_rows(w), 19);
    assert_q("pending", w->f, "SELECT status FROM tracks WHERE id = 7");
    assert_int_equal(w->n_calls, 19);
    world_rows(w, 21, 21);
    assert_true(engine_offer(w->engines[a], 0, STR("7")));
    assert_true(engine_offer(w->engines[a], 0, STR("21")));
    world_run(w, 1000, 10);
    assert_int_equal(final_rows(w), 20);
    world_free(w);
}

/* It is asked for again, but ever more rarely. */
static void a_row_that_may_not_be_final(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    refuse(w, 8, "NEW.status IN ('matched', 'unmatched', 'failed')");
    world_rows(w, 1, 20);
    world_engine(w);
    world_run(w, 2000, 10);
    assert_int_equal(final_rows(w), 19);
    assert_q("pending", w->f, "SELECT status FROM tracks WHERE id = 8");
    assert_q("free|1|refused", w->f,
             "SELECT state, attempts, error_class FROM claims WHERE key = '8'");
    world_run(w, 3600000, 1000);
    assert_in_range(w->n_calls, 22, 35);
    world_free(w);
}

static void the_sixth_fails(void *ctx UNUSED, struct str path, struct script_answer *ret) {
    script_parity(NULL, path, ret);
    if (str_ends(path, "/6"))
        *ret = (struct script_answer){500, "", 10, -1};
}

/* Neither a release nor the sweep may have it pending again. */
static void a_row_that_may_not_go_back(void **state) {
    struct world *w = world_new(*state, the_sixth_fails, NULL);
    refuse(w, 6, "NEW.status = 'pending'");
    world_rows(w, 1, 10);
    size_t a = world_engine(w);
    world_run(w, 400000, 1000); /* beyond its lease */
    assert_int_equal(final_rows(w), 9);
    assert_q("enriching", w->f, "SELECT status FROM tracks WHERE id = 6");
    assert_int_equal(w->engines[a]->n_unused, ENGINE_BUSY_MAX);
    world_rows(w, 11, 15);
    world_run(w, 60000, 1000);
    assert_int_equal(final_rows(w), 14);
    world_free(w);
}

/* What a dead worker held goes on, but for the one row that may not; nor is that one asked for with
 * every sweep. The same of rows that are busy for nobody. */
static void a_row_that_may_not_be_swept(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    refuse(w, 6, "NEW.status = 'pending'");
    world_rows(w, 1, 10);
    size_t a = world_engine(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 10);
    world_kill(w, a);
    world_engine(w);
    world_run(w, 300000, 1000);
    assert_int_equal(final_rows(w), 9);
    assert_q("enriching", w->f, "SELECT status FROM tracks WHERE id = 6");
    assert_q("held|-|2|refused", w->f,
             "SELECT state, holder, token, error_class FROM claims WHERE key = '6'");
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims WHERE error LIKE '%%not today%%'"), 1);
    x(w->f, "DROP TRIGGER no%s", fix_kind == DB_POSTGRES ? " ON tracks" : "");
    world_run(w, 3000000, 10000);
    assert_int_equal(final_rows(w), 9);
    world_drain(w, 1000000, 10000);
    world_free(w);
}

static void a_busy_row_that_may_not_be_freed(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    refuse(w, 3, "NEW.status = 'pending'");
    world_rows(w, 1, 600);
    x(w->f, "UPDATE tracks SET status = 'enriching'");
    world_engine(w);
    world_run(w, 10000, 100);
    assert_int_equal(final_rows(w), 599);
    assert_q("held|-|1|refused", w->f,
             "SELECT state, holder, token, error_class FROM claims WHERE key = '3'");
    world_free(w);
}

/* A filter that fails for these rows, and is true for all others. */
static struct str picky(int a, int b) {
    static char text[200];
    snprintf(text, sizeof text,
             fix_kind == DB_POSTGRES
                 ? "12 / ((id - %d) * (id - %d)) < 100"
                 : "json_extract(CASE WHEN id IN (%d, %d) THEN '{' ELSE '{}' END, '$.a') IS NULL",
             a, b);
    return str_of(text);
}

/* The scan goes past them, however the database comes by its rows. */
static void a_filter_that_fails_in_a_scan(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.sources[0].spec.filter = picky(9, 300);
    world_rows(w, 1, 700);
    x(w->f, "ANALYZE tracks");
    world_engine(w);
    world_run(w, 5000, 10);
    assert_int_equal(final_rows(w), 698);
    assert_q("pending", w->f, "SELECT DISTINCT status FROM tracks WHERE id IN (9, 300)");
    world_run(w, 200000, 1000);
    assert_int_equal(w->n_calls, 698);
    world_free(w);
}

static void a_filter_that_fails_in_a_sweep(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.sources[0].spec.filter = picky(2, 5);
    world_rows(w, 1, 8);
    x(w->f, "UPDATE tracks SET status = 'enriching' WHERE id > 4");
    x(w->f, "ANALYZE tracks");
    world_engine(w);
    world_run(w, 5000, 10);
    assert_int_equal(final_rows(w), 6);
    assert_q("2|pending 5|enriching", w->f,
             "SELECT id, status FROM tracks WHERE id IN (2, 5) ORDER BY id");
    world_free(w);
}

/* Of 12 rows, half of them without a match, those are looked up again but row 3; that one waits as
 * long again, each time. */
static void all_but_the_third(struct world *w) {
    size_t before = w->n_calls;
    world_run(w, 3700000, 5000);
    assert_int_equal(w->n_calls - before, 5);
    assert_q("unmatched", w->f, "SELECT status FROM tracks WHERE id = 3");
    assert_q("3|done|no_match|refused", w->f,
             "SELECT key, state, outcome, error_class FROM claims WHERE error IS NOT NULL");
    world_run(w, 3700000, 5000);
    assert_int_equal(w->n_calls - before, 10);
    assert_int_equal(final_rows(w), 12);
}

static void a_row_that_may_not_be_looked_up_again(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.sources[0].recheck_ms = 3600000;
    refuse(w, 3, "NEW.status = 'pending' AND OLD.status = 'unmatched'");
    world_rows(w, 1, 12);
    world_engine(w);
    world_run(w, 5000, 10);
    assert_int_equal(final_rows(w), 12);
    all_but_the_third(w);
    world_free(w);
}

static void a_filter_that_fails_in_a_recheck(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    world_rows(w, 1, 12);
    size_t a = world_engine(w);
    world_run(w, 5000, 10);
    assert_int_equal(final_rows(w), 12);
    world_kill(w, a);
    w->plan.sources[0].recheck_ms = 3600000;
    w->plan.sources[0].spec.filter = picky(3, 3);
    world_engine(w);
    all_but_the_third(w);
    world_free(w);
}

/* A filter that the database can read, but not for every row. SQLite divides by zero without
 * trouble. */
static void a_filter_that_fails(void **state) {
    struct world *w = world_new(*state, script_parity, NULL);
    w->plan.sources[0].spec.filter = STR("12 / (id - 9) < 100");
    world_rows(w, 1, 8);
    size_t a = world_engine(w);
    world_run(w, 1000, 10);
    assert_int_equal(final_rows(w), 8);
    world_rows(w, 9, 12);
    for (int i = 9; i <= 12; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        assert_true(engine_offer(w->engines[a], 0, str_of(key)));
    }
    world_run(w, 200000, 500);
    assert_int_equal(final_rows(w), 11);
    assert_q("pending", w->f, "SELECT status FROM tracks WHERE id = 9");
    world_free(w);
}

static void takes_long(void *ctx, struct str path, struct script_answer *ret) {
    script_parity(NULL, path, ret);
    ret->takes_ms = *(const int64_t *)ctx;
}

/* Two sources may share a table: what is busy for one is no orphan of the other. */
static void two_sources_of_one_table(void **state) {
    int64_t takes = 300000;
    struct world *w = world_new(*state, takes_long, &takes);
    struct plan_source *sources = w->plan.sources;
    w->plan.providers[0].timeout_ms = 600000;
    sources[0].spec.filter = STR("kind = 'track' AND id <= 10");
    sources[0].spec.since = STR_NONE;
    sources[1] = sources[0];
    sources[1].spec.name = STR("others");
    sources[1].spec.filter = STR("kind = 'track' AND id > 10");
    w->plan.n_sources = 2;
    world_rows(w, 1, 20);
    world_engine(w);
    world_run(w, 200000, 1000);
    assert_int_equal(world_count(w, "enriching"), 20);
    world_drain(w, 200000, 1000);
    assert_int_equal(w->n_calls, 20);
    assert_int_equal(qi(w->f, "SELECT MAX(token) FROM claims"), 1);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims"), 20);
    world_free(w);
}

/* Two files that name their source alike would take each other's claims. */
static void one_name_for_two_tables(void **state) {
    if (fix_kind != DB_POSTGRES)
        skip();
    struct world *w = world_new(*state, script_parity, NULL);
    struct engine *other;
    struct err e;
    x(w->f, "CREATE TABLE songs (LIKE tracks INCLUDING ALL)");
    world_engine(w);
    world_engine(w); /* the same twice is one worker more */
    struct enrich_plan plan = w->plan;
    plan.sources[0].spec.table = world_table(w, "songs");
    plan.sources[0].provider = &plan.providers[0];
    const struct engine_options o = {.plan = &plan,
                                     .store = &w->store,
                                     .clock = &w->f->clock,
                                     .caller = &w->callers[0].head,
                                     .holder = "other"};
    assert_int_equal(engine_new(&o, &other, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "source tracks: its table is "));
    assert_non_null(strstr(e.msg, ".songs here, and "));
    assert_non_null(strstr(e.msg, "tracks for a worker on "));
    world_run(w, 130000, 10000); /* who was there goes on */
    plan.sources[0].spec.name = STR("songs");
    assert_ok(engine_new(&o, &other, &e));
    engine_free(other);
    plan.sources[0].spec.name = STR("tracks");
    world_kill(w, 0);
    assert_int_equal(engine_new(&o, &other, &e), V_CONFLICT);
    world_kill(w, 1);
    enum verdict v; /* the name was of another table once: that is fine, when the server knows */
    for (int i = 0; (v = engine_new(&o, &other, &e)) == V_CONFLICT && i < 6000; i++)
        usleep(10000);
    assert_ok(v);
    engine_free(other);
    world_free(w);
}

/* A step that fails for good still gives back what it holds. */
static void what_a_failure_leaves(void **state) {
    int64_t takes = 5000;
    struct world *w = world_new(*state, takes_long, &takes);
    struct err e;
    world_rows(w, 1, 10);
    w->plan.providers[0].limits.slots = 8;
    size_t a = world_engine(w);
    world_step(w);
    assert_int_equal(world_count(w, "enriching"), 8);
    fix_advance(w->f, takes);
    world_step(w); /* answered */
    x(w->f, "ALTER TABLE tracks RENAME COLUMN url TO address");
    fix_advance(w->f, 100);
    enum verdict v = V_OK;
    for (int i = 0; i < 3 && v == V_OK; i++, fix_advance(w->f, 1000))
        v = engine_step(w->engines[a], clock_mono(&w->f->clock), &e);
    assert_int_equal(v, V_FATAL);
    assert_ok(engine_stop(w->engines[a], &e));
    assert_int_equal(world_count(w, "pending"), 10);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims WHERE attempts > 0 OR state = 'held'"),
                     0);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM provider_slots WHERE holder IS NOT NULL"), 0);
    x(w->f, "ALTER TABLE tracks RENAME COLUMN address TO url");
    world_free(w);
}

/* Keys beyond what a page ends with, and one that no ring takes. */
static void long_keys(void **state) {
    static const struct str inputs[] = {{"status", 6}};
    struct world *w = world_new(*state, script_parity, NULL);
    struct plan_source *s = &w->plan.sources[0];
    x(w->f, "CREATE TABLE names (id TEXT PRIMARY KEY, kind TEXT DEFAULT 'track', "
            "status TEXT NOT NULL DEFAULT 'pending', since BIGINT, url TEXT, year INTEGER)");
    s->spec.table = world_table(w, "names");
    s->spec.inputs = inputs;
    s->request.path = STR("/t/{status}/2");
    for (int i = 0; i < 600; i++)
        x(w->f, "INSERT INTO names (id) VALUES ('n%04d')", i);
    static const int longer[] = {2000, KEYRING_KEY_MAX + 2};
    for (size_t i = 0; i < ARRAY_LEN(longer); i++)
        x(w->f,
          fix_kind == DB_POSTGRES
              ? "INSERT INTO names (id) VALUES ('n025%d' || repeat('x', %d))"
              : "INSERT INTO names (id) VALUES ('n025%d' || hex(zeroblob(%d / 2)))",
          5 - (int)i, longer[i]);
    world_engine(w);
    world_run(w, 5000, 10);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM names WHERE status = 'matched'"), 601);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM names WHERE status = 'pending'"), 1);
    world_kill(w, 0);
    x(w->f, "DROP TABLE names");
    world_free(w);
}

int engine_table_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_row_that_may_not_be_claimed),
        CASE(a_row_that_may_not_be_final),
        CASE(a_row_that_may_not_go_back),
        CASE(a_row_that_may_not_be_swept),
        CASE(a_busy_row_that_may_not_be_freed),
        CASE(a_filter_that_fails_in_a_scan),
        CASE(a_filter_that_fails_in_a_sweep),
        CASE(a_row_that_may_not_be_looked_up_again),
        CASE(a_filter_that_fails_in_a_recheck),
        CASE(a_filter_that_fails),
        CASE(two_sources_of_one_table),
        CASE(one_name_for_two_tables),
        CASE(what_a_failure_leaves),
        CASE(long_keys),
    };
    return cmocka_run_group_tests_name("engine and tables", tests, NULL, NULL);
}
