/* story_id: the root of the thread, known at once, later, or after a move. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

#define STORIES "SELECT id, story_id FROM items ORDER BY id"

static void put(struct fix *f, const char *const *json, size_t n) {
    struct batch *b = wide_batch(f);
    for (size_t i = 0; i < n; i++)
        put_item(b, clock_real(&f->clock), json[i]);
    apply_ok(f->s, b);
}
#define PUT(f, ...) \
    put(f, (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void roots_are_their_own_story(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story'}", "{'id':2,'type':'job'}", "{'id':3,'type':'poll'}",
        "{'id':4,'type':'story','parent':1}", "{'id':5}");
    assert_q("1|1 2|2 3|3 4|4 5|-", f, STORIES);
}

static void parents_in_the_same_batch(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':14,'type':'comment','parent':12}", "{'id':10,'type':'story'}",
        "{'id':13,'type':'comment','parent':12}", "{'id':12,'type':'comment','parent':11}",
        "{'id':11,'type':'comment','parent':10}");
    assert_q("10|10 11|10 12|10 13|10 14|10", f, STORIES);
}

static void parents_stored_earlier(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':10,'type':'story'}");
    PUT(f, "{'id':11,'type':'comment','parent':10}");
    PUT(f, "{'id':12,'type':'comment','parent':11}", "{'id':13,'type':'comment','parent':10}");
    assert_q("10|10 11|10 12|10 13|10", f, STORIES);
}

static void polls_and_their_options(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':20,'type':'poll','parts':[21,22]}", "{'id':21,'type':'pollopt','poll':20}",
        "{'id':22,'type':'pollopt','poll':20}", "{'id':23,'type':'comment','parent':20}",
        "{'id':24,'type':'comment','parent':23}");
    assert_q("20|20 21|20 22|20 23|20 24|20", f, STORIES);
}

static void options_before_their_poll(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':21,'type':'pollopt','poll':20}");
    PUT(f, "{'id':22,'type':'pollopt','poll':20,'parent':20}");
    PUT(f, "{'id':20,'type':'poll','parts':[21,22]}");
    assert_q("20|20 21|20 22|20", f, STORIES);
}

/* Deepest first, each in a batch of its own; then the root hands its id down to all. */
static void late_parent_many_levels_up(void **state) {
    struct fix *f = *state;
    for (int id = 18; id > 10; id--) {
        char json[80];
        snprintf(json, sizeof json, "{'id':%d,'type':'comment','parent':%d}", id, id - 1);
        PUT(f, json);
    }
    PUT(f, "{'id':19,'type':'comment','parent':12}");
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM items WHERE story_id IS NOT NULL"), 0);
    PUT(f, "{'id':10,'type':'story'}");
    assert_q("10|10 11|10 12|10 13|10 14|10 15|10 16|10 17|10 18|10 19|10", f, STORIES);
}

static void late_link_in_the_middle(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':10,'type':'story'}", "{'id':12,'type':'comment','parent':11}",
        "{'id':13,'type':'comment','parent':12}");
    assert_q("10|10 12|- 13|-", f, STORIES);
    PUT(f, "{'id':11,'type':'comment','parent':10}");
    assert_q("10|10 11|10 12|10 13|10", f, STORIES);
}

static void late_parent_in_a_scattered_batch(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':60000,'type':'comment','parent':59999}",
        "{'id':80000,'type':'comment','parent':60000}");
    PUT(f, "{'id':7,'type':'story'}", "{'id':59999,'type':'comment','parent':7}",
        "{'id':99999,'type':'job'}");
    assert_q("7|7 59999|7 60000|7 80000|7 99999|99999", f, STORIES);
}

static void moved_by_a_moderator(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','kids':[11]}", "{'id':2,'type':'story'}",
        "{'id':11,'type':'comment','parent':1,'kids':[12,13]}",
        "{'id':12,'type':'comment','parent':11,'kids':[14]}",
        "{'id':13,'type':'comment','parent':11}", "{'id':14,'type':'comment','parent':12}");
    assert_q("1|1 2|2 11|1 12|1 13|1 14|1", f, STORIES);
    fix_advance(f, 1000);
    PUT(f, "{'id':11,'type':'comment','parent':2,'kids':[12,13]}");
    assert_q("1|1 2|2 11|2 12|2 13|2 14|2", f, STORIES);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM item_revisions WHERE item_id = 11"), 1);
}

/* The new parent is younger than what was moved below it, and not here yet. */
static void moved_below_something_unknown(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','kids':[11]}",
        "{'id':11,'type':'comment','parent':1,'kids':[12]}",
        "{'id':12,'type':'comment','parent':11}");
    fix_advance(f, 1000);
    PUT(f, "{'id':11,'type':'comment','parent':30,'kids':[12]}");
    assert_q("1|1 11|- 12|-", f, STORIES);
    PUT(f, "{'id':30,'type':'story','kids':[11]}");
    assert_q("1|1 11|30 12|30 30|30", f, STORIES);
}

static void moved_together_with_its_new_parent(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','kids':[11]}",
        "{'id':11,'type':'comment','parent':1,'kids':[12]}",
        "{'id':12,'type':'comment','parent':11}");
    fix_advance(f, 1000);
    PUT(f, "{'id':11,'type':'comment','parent':30,'kids':[12]}",
        "{'id':12,'type':'comment','parent':11}", "{'id':30,'type':'story','kids':[11]}");
    assert_q("1|1 11|30 12|30 30|30", f, STORIES);
}

static void a_figure_that_changes_keeps_the_story(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story'}", "{'id':11,'type':'comment','parent':1}");
    fix_advance(f, 1000);
    PUT(f, "{'id':11,'type':'comment','parent':1,'text':'more'}");
    assert_q("1|1 11|1", f, STORIES);
}

static void strange_threads_do_no_harm(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':5,'type':'comment','parent':5}", "{'id':6,'type':'comment','parent':7}",
        "{'id':7,'type':'comment','parent':6}", "{'id':8,'type':'comment'}",
        "{'id':9,'deleted':true,'parent':1}");
    int64_t adopted;
    struct err e;
    assert_ok(store_adopt_orphans(f->s, &adopted, &e));
    assert_int_equal(adopted, 0);
    assert_q("5|- 6|- 7|- 8|- 9|-", f, STORIES);
}

/* Parent and child in two transactions that cannot see each other: a lock of ours keeps the child's
 * batch from committing until the parent's has come and gone. */
struct side {
    struct store *s;
    struct batch *b;
    enum verdict v;
};

static void *apply_aside(void *arg) {
    struct side *side = arg;
    struct apply_stats st;
    struct err e;
    side->v = store_apply(side->s, side->b, &st, &e);
    return NULL;
}

static void adopted_after_concurrent_batches(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip(); /* one writer at a time: it cannot happen */
    struct claim mine = claim_new(f, PURPOSE_MIRROR, 1, 10),
                 theirs = claim_new(f, PURPOSE_MIRROR, 11, 20);
    x(f, "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
         "PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$");
    x(f, "CREATE TRIGGER hold AFTER UPDATE OF status ON ingest_segments FOR EACH ROW "
         "WHEN (NEW.start_id = 11 AND NEW.status = 'done') EXECUTE FUNCTION hold()");
    x(f, "SELECT pg_advisory_lock(4711)");
    struct side side = {.s = fix_open(f), .b = batch_for(&theirs, 20, true)};
    put_item(side.b, T0, "{'id':12,'type':'comment','parent':3}");
    put_item(side.b, T0, "{'id':13,'type':'comment','parent':12}");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, apply_aside, &side), 0);
    while (qi(f, "SELECT COUNT(*) FROM pg_locks WHERE objid = 4711 AND NOT granted") == 0)
        sched_yield();
    struct batch *b = batch_for(&mine, 10, true);
    put_item(b, T0, "{'id':3,'type':'story'}");
    apply_ok(f->s, b);
    x(f, "SELECT pg_advisory_unlock(4711)");
    pthread_join(thread, NULL);
    batch_free(side.b);
    assert_int_equal(side.v, V_OK);
    assert_q("3|3 12|- 13|-", f, STORIES);
    int64_t adopted;
    struct err e;
    assert_ok(store_adopt_orphans(f->s, &adopted, &e));
    assert_int_equal(adopted, 2);
    assert_q("3|3 12|3 13|3", f, STORIES);
}

int story_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(roots_are_their_own_story),
        CASE(parents_in_the_same_batch),
        CASE(parents_stored_earlier),
        CASE(polls_and_their_options),
        CASE(options_before_their_poll),
        CASE(late_parent_many_levels_up),
        CASE(late_link_in_the_middle),
        CASE(late_parent_in_a_scattered_batch),
        CASE(moved_by_a_moderator),
        CASE(moved_below_something_unknown),
        CASE(moved_together_with_its_new_parent),
        CASE(a_figure_that_changes_keeps_the_story),
        CASE(strange_threads_do_no_harm),
        CASE(adopted_after_concurrent_batches),
    };
    return cmocka_run_group_tests_name("story", tests, NULL, NULL);
}
