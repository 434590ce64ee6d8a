/* Live batches that are written as one. */
#include "mirror/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define TOKEN 7

static struct mailbox mailbox;

static struct job *new_job(int64_t first_id, int items, int exceptions) {
    struct job *j = xcalloc(1, sizeof *j);
    *j = (struct job){
        .letter = LETTER_JOB, .kind = JOB_BATCH, .reply = &mailbox, .batch = batch_new()};
    j->batch->lease_token = TOKEN;
    j->batch->ages[3] = items;
    for (int i = 0; i < items; i++)
        batch_add_item(j->batch)->item.id = first_id + i;
    for (int i = 0; i < exceptions; i++)
        batch_add_exception(j->batch)->id = first_id + items + i;
    return j;
}

static void drop_job(struct job *j) {
    batch_free(j->batch);
    free(j);
}

static int open_box(void **state UNUSED) {
    mailbox_init(&mailbox, 16, NULL, NULL);
    return 0;
}

static int close_box(void **state UNUSED) {
    mailbox_release(&mailbox);
    return 0;
}

static void the_whole_has_all_of_them(void **state UNUSED) {
    struct group g;
    struct job *a = new_job(10, 2, 1), *b = new_job(20, 3, 0);
    group_init(&g);
    for (int round = 0; round < 2; round++) { /* nothing of the first is left in the second */
        group_begin(&g);
        group_add(&g, a);
        group_add(&g, b);
        assert_int_equal(g.n, 2);
        assert_int_equal(g.whole->lease_token, TOKEN);
        assert_int_equal(g.whole->n_items, 5);
        assert_int_equal(g.whole->items[1].item.id, 11);
        assert_int_equal(g.whole->items[4].item.id, 22);
        assert_int_equal(g.whole->n_exceptions, 1);
        assert_int_equal(g.whole->exceptions[0].id, 12);
        assert_int_equal(g.whole->ages[3], 5);
    }
    group_release(&g);
    drop_job(a);
    drop_job(b);
}

static void what_does_not_belong_stays_out(void **state UNUSED) {
    struct group g;
    struct job *live = new_job(10, 1, 0), *more = new_job(20, 1, 0), *segment = new_job(30, 1, 0),
               *foreign = new_job(40, 1, 0), *other = new_job(50, 1, 0), *big = new_job(60, 600, 0);
    segment->batch->segment_id = 5;
    foreign->batch->lease_token = TOKEN + 1;
    other->kind = JOB_RUN;
    group_init(&g);
    group_begin(&g);
    assert_false(group_takes(&g, segment));
    assert_false(group_takes(&g, other));
    assert_true(group_takes(&g, foreign)); /* the first says under which lease */
    assert_true(group_takes(&g, big));     /* and may be of any size */
    group_add(&g, live);
    assert_true(group_takes(&g, more));
    assert_false(group_takes(&g, foreign));
    assert_false(group_takes(&g, segment));
    group_add(&g, big);
    assert_false(group_takes(&g, more));
    group_release(&g);
    struct job *const jobs[] = {live, more, segment, foreign, other, big};
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        drop_job(jobs[i]);
}

static void only_so_many_jobs(void **state UNUSED) {
    struct group g;
    struct job *j = new_job(1, 0, 0);
    group_init(&g);
    group_begin(&g);
    for (int i = 0; i < GROUP_MAX; i++) {
        assert_true(group_takes(&g, j));
        group_add(&g, j);
    }
    assert_false(group_takes(&g, j));
    group_release(&g);
    drop_job(j);
}

static void everyone_gets_an_answer(void **state UNUSED) {
    struct group g;
    struct job *a = new_job(10, 2, 0), *b = new_job(20, 1, 0);
    group_init(&g);
    group_begin(&g);
    group_add(&g, a);
    group_add(&g, b);
    g.whole->items[1].ret_inserted = g.whole->items[2].ret_inserted = true;
    g.whole->items[1].ret_story = 5;
    g.whole->items[2].ret_story = 6;
    struct job whole = {.verdict = V_CONFLICT, .batch = g.whole, .stats = {.changed = 3}};
    err_set(&whole.err, V_CONFLICT, "test", 0, "because");
    group_answer(&g, &whole);
    assert_ptr_equal(mailbox_take(&mailbox, 0), a);
    assert_ptr_equal(mailbox_take(&mailbox, 0), b);
    assert_null(mailbox_take(&mailbox, 0));
    assert_false(a->batch->items[0].ret_inserted);
    assert_true(a->batch->items[1].ret_inserted && b->batch->items[0].ret_inserted);
    assert_int_equal(a->batch->items[1].ret_story, 5);
    assert_int_equal(b->batch->items[0].ret_story, 6);
    assert_int_equal(a->verdict, V_CONFLICT);
    assert_int_equal(b->verdict, V_CONFLICT);
    assert_string_equal(b->err.msg, "because");
    assert_int_equal(a->stats.changed, 3); /* once in all */
    assert_int_equal(b->stats.changed, 0);
    group_release(&g);
    drop_job(a);
    drop_job(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_whole_has_all_of_them, open_box, close_box),
        cmocka_unit_test_setup_teardown(what_does_not_belong_stays_out, open_box, close_box),
        cmocka_unit_test_setup_teardown(only_so_many_jobs, open_box, close_box),
        cmocka_unit_test_setup_teardown(everyone_gets_an_answer, open_box, close_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
