/* Batches of the live stream: items without a segment, under the updater's token. */
#include "fixture.h"

#include "store/live.h"

#include <string.h>

#define STORIES "SELECT id, story_id FROM items ORDER BY id"
#define QUEUE                                                                               \
    "SELECT item_id, state, failure_class, attempts, rung, next_retry_at, last_error FROM " \
    "ingest_dlq_items WHERE source = 'realtime' ORDER BY item_id"

static void items_are_stored_as_ever(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':10,'type':'story','title':'old','kids':[11]}");
    store_item(f, T0, "{'id':11,'type':'comment','parent':10,'text':'same'}");
    store_item(f, T0 + 9, "{'id':12,'type':'comment','parent':10,'text':'newer'}");
    struct batch *b = live_batch(f);
    put_item(b, T0 + 5, "{'id':900,'type':'comment','parent':11,'text':'fresh'}");
    put_item(b, T0 + 5, "{'id':10,'type':'story','title':'new','kids':[11,12]}");
    put_item(b, T0 + 5, "{'id':11,'type':'comment','parent':10,'text':'same'}");
    put_item(b, T0 + 5, "{'id':12,'type':'comment','parent':10,'text':'older'}");
    put_item(b, T0 + 5, "{'id':901,'type':'comment','parent':70000,'text':'an orphan'}");
    struct apply_stats st;
    struct err e;
    assert_ok(store_apply_live(f->s, b, &st, &e));
    assert_counts(st, 2, 1, 1, 1);
    static const struct {
        bool inserted;
        int64_t story;
    } told[] = {{true, 10}, {false, 10}, {false, 10}, {false, 10}, {true, DB_NULL}};
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        assert_int_equal(b->items[i].ret_inserted, told[i].inserted);
        assert_true(b->items[i].ret_story == told[i].story);
    }
    batch_free(b);
    assert_q("10|new 11|- 12|- 900|- 901|-", f, "SELECT id, title FROM items ORDER BY id");
    assert_q("11|0 12|1", f, "SELECT kid, display_order FROM kids WHERE item = 10 ORDER BY 2");
    assert_int_equal(st.revisions, 1);
    assert_int_equal(qi(f, "SELECT last_fetched_at FROM items WHERE id = 11"), T0 + 5);
}

/* Ids far apart: the orphans of each are found all the same. */
static void a_late_parent_adopts(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    put_item(b, T0, "{'id':5000,'type':'comment','parent':4000,'text':'child'}");
    put_item(b, T0, "{'id':6000,'type':'comment','parent':5000,'text':'grandchild'}");
    put_item(b, T0, "{'id':90000,'type':'comment','parent':80000,'text':'of another'}");
    apply_live_ok(f, b);
    assert_q("5000|- 6000|- 90000|-", f, STORIES);
    b = live_batch(f);
    put_item(b, T0, "{'id':4000,'type':'story'}");
    put_item(b, T0, "{'id':80000,'type':'story'}");
    put_item(b, T0, "{'id':70,'type':'comment','parent':60}");
    apply_live_ok(f, b);
    assert_q("70|- 4000|4000 5000|4000 6000|4000 80000|80000 90000|80000", f, STORIES);
}

static void the_last_of_an_id_counts(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    put_item(b, T0 + 1, "{'id':7,'type':'story','title':'first'}");
    put_item(b, T0 + 1, "{'id':7,'type':'story','title':'second'}");
    put_item(b, T0 + 3, "{'id':8,'type':'story','title':'later'}");
    put_item(b, T0 + 2, "{'id':8,'type':'story','title':'earlier'}");
    put_exception(b, 9, EXC_DEAD_LETTER, "timeout");
    put_exception(b, 9, EXC_RETRY_WAIT, "reset")->next_retry_at = T0 + 1000;
    struct apply_stats st;
    struct err e;
    assert_ok(store_apply_live(f->s, b, &st, &e));
    assert_counts(st, 2, 0, 0, 0);
    assert_int_equal(st.repeated, 2);
    assert_q("7|second 8|later", f, "SELECT id, title FROM items ORDER BY id");
    assert_q("9|retry_wait|reset", f, "SELECT item_id, state, failure_class FROM ingest_dlq_items");
    static const bool inserted[] = {false, true, true, false};
    for (size_t i = 0; i < ARRAY_LEN(inserted); i++) {
        assert_int_equal(b->items[i].ret_inserted, inserted[i]);
        assert_true(b->items[i].ret_story == (inserted[i] ? b->items[i].item.id : DB_NULL));
    }
    batch_free(b);
}

static void exceptions_go_to_the_queue(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    struct batch_exception *ex = put_exception(b, 1, EXC_RETRY_WAIT, "timeout");
    ex->attempts = 3;
    ex->next_retry_at = T0 + 5000;
    ex = put_exception(b, 2, EXC_RETRY_WAIT, "null_young");
    ex->rung = 2;
    ex->next_retry_at = T0 + 30000;
    put_exception(b, 3, EXC_DEAD_LETTER, "http_5xx")->attempts = 9;
    put_exception(b, 4, EXC_PENDING, "straggler");
    put_exception(b, 5, EXC_TERMINAL_MISSING, "null_old");
    struct apply_stats st = apply_live_ok(f, b);
    assert_int_equal(st.waiting, 3);
    assert_int_equal(st.dead, 1);
    assert_int_equal(st.missing, 1);
    assert_q("1|retry_wait|timeout|3|0|1700000005000|it_did_not_work "
             "2|retry_wait|null_young|0|2|1700000030000|it_did_not_work "
             "3|dead_letter|http_5xx|9|0|-|it_did_not_work "
             "4|retry_wait|straggler|0|0|1700000000000|it_did_not_work",
             f,
             "SELECT item_id, state, failure_class, attempts, rung, next_retry_at, "
             "REPLACE(last_error, ' ', '_') FROM ingest_dlq_items ORDER BY item_id");
    assert_q("", f, "SELECT * FROM ingest_exceptions");
    /* a later word takes the place of the earlier one */
    fix_advance(f, 1000);
    b = live_batch(f);
    put_exception(b, 1, EXC_DEAD_LETTER, "timeout")->attempts = 6;
    put_exception(b, 2, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 3, EXC_RETRY_WAIT, "reset")->next_retry_at = T0 + 9000;
    apply_live_ok(f, b);
    assert_q("1|dead_letter|6|-|- 2|resolved|0|-|1700000001000 3|retry_wait|0|1700000009000|-", f,
             "SELECT item_id, state, attempts, next_retry_at, resolved_at FROM ingest_dlq_items "
             "WHERE item_id < 4 ORDER BY item_id");
    assert_q("1700000000000|1700000001000", f,
             "SELECT first_at, last_at FROM ingest_dlq_items WHERE item_id = 1");
}

/* Words of an error may be no text at all. */
static void an_error_may_say_anything(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    put_exception(b, 1, EXC_RETRY_WAIT, "garbage")->error = STR("a\xC3\0\xE2\x82");
    apply_live_ok(f, b);
    assert_q("a????", f, "SELECT last_error FROM ingest_dlq_items");
}

/* Trouble of an id in a mirror segment, in the queue of catch-up, and in that of the stream. */
static void make_troubles(struct fix *f, int64_t id) {
    struct batch *b = wide_batch(f);
    put_exception(b, id, EXC_DEAD_LETTER, "http_5xx");
    apply_ok(f->s, b);
    b = live_batch(f);
    put_exception(b, id, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 5000;
    apply_live_ok(f, b);
}

#define TROUBLES "SELECT item_id, source, state FROM ingest_dlq_items ORDER BY item_id, source"

static void what_is_stored_has_no_trouble(void **state) {
    struct fix *f = *state;
    make_troubles(f, 20);
    make_troubles(f, 9000);
    struct batch *b = live_batch(f);
    put_item(b, T0 + 1, "{'id':20,'type':'story'}");
    put_item(b, T0 + 1, "{'id':9000,'type':'story'}");
    struct apply_stats st = apply_live_ok(f, b);
    assert_int_equal(st.resolved, 2);
    assert_q("", f, "SELECT * FROM ingest_exceptions");
    assert_q("20|catchup|resolved 20|realtime|resolved 9000|catchup|resolved "
             "9000|realtime|resolved",
             f, TROUBLES);
}

static void delayed_goes_on_waiting(void **state) {
    struct fix *f = *state;
    make_troubles(f, 20);
    struct batch *b = live_batch(f);
    put_item(b, T0 + 1, "{'id':20,'type':'comment','parent':3,'text':'[delayed]'}");
    struct batch_exception *ex = put_exception(b, 20, EXC_RETRY_WAIT, "delayed");
    ex->rung = 1;
    ex->next_retry_at = T0 + 30000;
    struct apply_stats st = apply_live_ok(f, b);
    assert_int_equal(st.inserted, 1);
    assert_int_equal(st.waiting, 1);
    assert_q("20|catchup|dead_letter 20|realtime|retry_wait", f, TROUBLES);
    assert_q("20|retry_wait|delayed|0|1|1700000030000|it did not work", f, QUEUE);
}

static void an_overtaken_answer_settles_nothing(void **state) {
    struct fix *f = *state;
    store_item(f, T0 + 50, "{'id':20,'type':'comment','parent':3,'text':'[delayed]'}");
    struct batch *b = live_batch(f);
    put_exception(b, 20, EXC_RETRY_WAIT, "delayed")->next_retry_at = T0 + 30000;
    apply_live_ok(f, b);
    b = live_batch(f);
    put_item(b, T0 + 10, "{'id':20,'type':'comment','parent':3,'text':'of before'}");
    assert_counts(apply_live_ok(f, b), 0, 0, 0, 1);
    assert_q("20|realtime|retry_wait", f, TROUBLES);
    assert_q("[delayed]", f, "SELECT text FROM items");
}

static void a_null_erases_nothing(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':20,'type':'story','title':'words'}");
    struct batch *b = live_batch(f);
    put_exception(b, 20, EXC_RETRY_WAIT, "null_young")->next_retry_at = T0 + 5000;
    apply_live_ok(f, b);
    assert_q("words|0", f, "SELECT title, dead FROM items");
    assert_q("20|realtime|retry_wait", f, TROUBLES);
    b = live_batch(f);
    put_exception(b, 20, EXC_TERMINAL_MISSING, "null_old");
    apply_live_ok(f, b);
    assert_q("words", f, "SELECT title FROM items");
    assert_q("20|realtime|resolved", f, TROUBLES);
}

/* A believed null of the stream is no answer to what the mirror has on its books. */
static void the_mirrors_letters_are_its_own(void **state) {
    struct fix *f = *state;
    make_troubles(f, 20);
    struct batch *b = live_batch(f);
    put_exception(b, 20, EXC_TERMINAL_MISSING, "null_old");
    apply_live_ok(f, b);
    assert_q("20|catchup|dead_letter 20|realtime|resolved", f, TROUBLES);
    assert_q("dead_letter", f, "SELECT state FROM ingest_exceptions");
}

/* The segment that waits for an id is done when the stream brings it. */
static void the_mirror_settles(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    for (int id = 1; id < 10; id++) {
        char json[60];
        snprintf(json, sizeof json, "{'id':%d,'type':'story'}", id);
        put_item(b, T0, json);
    }
    struct batch_exception *ex = put_exception(b, 10, EXC_RETRY_WAIT, "null_young");
    ex->rung = 3;
    ex->next_retry_at = T0 + 600000;
    apply_ok(f->s, b);
    assert_q("retry_wait|1", f, "SELECT status, unresolved_count FROM ingest_segments");
    b = live_batch(f);
    put_item(b, T0 + 1, "{'id':10,'type':'story'}");
    assert_int_equal(apply_live_ok(f, b).resolved, 1);
    reclaim(f);
    assert_q("done|0|10", f,
             "SELECT status, unresolved_count, scan_cursor_id FROM ingest_segments");
}

static void ages_add_up(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t ages[BATCH_AGES + 1];
    assert_ok(store_ages(f->s, ages, ARRAY_LEN(ages), &e));
    for (size_t i = 0; i < ARRAY_LEN(ages); i++)
        assert_int_equal(ages[i], 0);
    for (int round = 0; round < 2; round++) {
        struct batch *b = live_batch(f);
        b->ages[0] = 3;
        b->ages[5] = 1;
        b->ages[BATCH_AGES - 1] = 2 + round;
        apply_live_ok(f, b);
    }
    assert_ok(store_ages(f->s, ages, ARRAY_LEN(ages), &e));
    assert_int_equal(ages[0], 6);
    assert_int_equal(ages[5], 2);
    assert_int_equal(ages[BATCH_AGES - 1], 5);
    assert_q("0|6 5|2 31|5", f, "SELECT bucket, n FROM update_ages ORDER BY bucket");
    ages[5] = 77;
    assert_ok(store_ages(f->s, ages, 5, &e));
    assert_int_equal(ages[5], 77);
}

static struct batch *batch_with_everything(struct fix *f) {
    struct batch *b = live_batch(f);
    put_item(b, T0 + 5, "{'id':11,'type':'story','title':'new','kids':[13,15]}");
    put_item(b, T0 + 5, "{'id':14,'type':'comment','parent':11,'text':'at last'}");
    put_item(b, T0 + 5, "{'id':70000,'type':'comment','parent':11,'text':'far away'}");
    put_exception(b, 16, EXC_DEAD_LETTER, "garbage");
    put_exception(b, 17, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 18, EXC_RETRY_WAIT, "reset")->next_retry_at = T0 + 99;
    b->ages[3] = 7;
    return b;
}

/* Whatever fails on the way, nothing is written, nothing is told, and the same batch may be applied
 * again. */
static void fail_and_repeat(struct fix *f, const char *fault) {
    make_troubles(f, 14);
    store_item(f, T0, "{'id':11,'type':'story','title':'old','kids':[12,13]}");
    struct batch *b = batch_with_everything(f);
    const char *was = dump(f);
    struct apply_stats st;
    struct err e;
    fault_setup(fault);
    assert_int_equal(store_apply_live(f->s, b, &st, &e), V_RETRY);
    assert_string_equal(dump(f), was);
    for (size_t i = 0; i < b->n_items; i++)
        assert_false(b->items[i].ret_inserted);
    assert_ok(store_recover(f->s, &e));
    assert_ok(store_apply_live(f->s, b, &st, &e));
    assert_true(!b->items[0].ret_inserted && b->items[1].ret_inserted && b->items[2].ret_inserted);
    assert_int_equal(b->items[2].ret_story, 11);
    batch_free(b);
    assert_counts(st, 2, 1, 0, 0);
    assert_int_equal(st.resolved, 1);
    assert_q("11|11 14|11 70000|11", f, STORIES);
    assert_q("14|catchup|resolved 14|realtime|resolved 16|realtime|dead_letter "
             "18|realtime|retry_wait",
             f, TROUBLES);
    assert_q("3|7", f, "SELECT bucket, n FROM update_ages");
}

static void after_step_1(void **state) {
    fail_and_repeat(*state, "apply_step:1:fail");
}
static void after_step_2(void **state) {
    fail_and_repeat(*state, "apply_step:2:fail");
}
static void after_step_3(void **state) {
    fail_and_repeat(*state, "apply_step:3:fail");
}
static void after_step_4(void **state) {
    fail_and_repeat(*state, "apply_step:4:fail");
}
static void after_step_5(void **state) {
    fail_and_repeat(*state, "apply_step:5:fail");
}
static void after_step_6(void **state) {
    fail_and_repeat(*state, "apply_step:6:fail");
}
static void after_step_7(void **state) {
    fail_and_repeat(*state, "apply_step:7:fail");
}
static void after_step_8(void **state) {
    fail_and_repeat(*state, "apply_step:8:fail");
}
static void before_the_commit(void **state) {
    fail_and_repeat(*state, "db_before_commit:1:fail");
}

static void no_step_was_forgotten(void **state) {
    struct fix *f = *state;
    fault_setup("apply_step:9:fail");
    apply_live_ok(f, batch_with_everything(f));
}

static void empty_batches_are_fine(void **state) {
    struct fix *f = *state;
    struct batch *b = live_batch(f);
    const char *was = dump(f);
    apply_live_ok(f, b);
    assert_string_equal(dump(f), was);
}

int live_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(items_are_stored_as_ever),
        CASE(a_late_parent_adopts),
        CASE(the_last_of_an_id_counts),
        CASE(exceptions_go_to_the_queue),
        CASE(an_error_may_say_anything),
        CASE(what_is_stored_has_no_trouble),
        CASE(delayed_goes_on_waiting),
        CASE(an_overtaken_answer_settles_nothing),
        CASE(a_null_erases_nothing),
        CASE(the_mirrors_letters_are_its_own),
        CASE(the_mirror_settles),
        CASE(ages_add_up),
        CASE(after_step_1),
        CASE(after_step_2),
        CASE(after_step_3),
        CASE(after_step_4),
        CASE(after_step_5),
        CASE(after_step_6),
        CASE(after_step_7),
        CASE(after_step_8),
        CASE(before_the_commit),
        CASE(no_step_was_forgotten),
        CASE(empty_batches_are_fine),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
