/* The hub where something cannot be had: what was pruned, and other lives of the database. */
#include "hub_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_was_pruned_is_a_gap(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(100);
    int bell = 0;
    fake_log.state.oldest = 51;
    struct feed_client *c = join(h, 10, &bell);
    gets_gap(c, (struct feed_id){EPOCH, 10}, (struct feed_id){EPOCH, 50});
    assert_int_equal(feed_client_cursor(c).pos, 50);
    receives(c, 51);
    feed_leave(c);

    c = join(h, 100, &bell); /* at the head nothing is missed, even if nothing is kept */
    fake_log.state.oldest = 101;
    gets_nothing(c);
    feed_leave(c);

    c = join(h, 99, &bell);
    gets_gap(c, (struct feed_id){EPOCH, 99}, (struct feed_id){EPOCH, 100});
    gets_nothing(c);
    feed_leave(c);

    struct feed_counts counts;
    feed_hub_count(h, &counts);
    assert_int_equal(counts.gaps, 2);
    assert_int_equal(counts.clients, 0);
    feed_hub_free(h);
}

static void pruned_before_the_reader_came_to_it(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(100);
    int bell = 0;
    struct feed_client *c = join(h, -1, &bell);
    gets_nothing(c);
    fake_log.state.head = 200;
    fake_log.state.oldest = 151;
    feed_hub_state(h, &fake_log.state, 0);
    assert_int_equal(bell, 1);
    gets_gap(c, (struct feed_id){EPOCH, 100}, (struct feed_id){EPOCH, 150});
    for (int64_t pos = 151; pos <= 200; pos++) /* the page is ahead of the ring */
        receives(c, pos);
    gets_nothing(c);
    fake_log.state.head = 150;
    fake_log_write(h, 51);
    receives(c, 201);
    gets_nothing(c);
    feed_leave(c);
    feed_hub_free(h);
}

/* What the ring still has is no gap, whatever the log has dropped. */
static void pruned_but_in_the_ring(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    int bell = 0;
    fake_log_write(h, 10);
    fake_log.state.oldest = 8;
    feed_hub_state(h, &fake_log.state, 0);
    struct feed_client *c = join(h, 2, &bell);
    receives(c, 3);
    feed_leave(c);
    feed_hub_free(h);
}

static void prune_now(void) {
    fake_log.state.oldest = 31;
}

static void pruned_while_it_reads(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(40);
    int bell = 0;
    struct feed_client *c = join_items(h, 10, &bell);
    fake_log.before = prune_now;
    gets_gap(c, (struct feed_id){EPOCH, 10}, (struct feed_id){EPOCH, 30});
    receives(c, 32);
    feed_leave(c);
    feed_hub_free(h);
}

static void a_cursor_beyond_the_head(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(40);
    int bell = 0;
    fake_log.state.head = 45; /* this process has yet to read five */
    struct feed_client *c = join(h, 44, &bell), *wrong = join(h, 99, &bell);
    gets_nothing(c);
    gets_gap(wrong, (struct feed_id){EPOCH, 99}, (struct feed_id){EPOCH, 45});
    fake_log.state.head = 40;
    fake_log_write(h, 6);
    receives(c, 45);
    receives(c, 46);
    receives(wrong, 46);
    feed_leave(c);
    feed_leave(wrong);
    feed_hub_free(h);
}

/* An event keeps its name, whoever reads it and however late. */
static void what_is_common_keeps_its_epoch(void **state UNUSED) {
    struct feed_hub *h = feed_hub_new(10);
    int bell = 0;
    fake_log_begin(EPOCH + 5, 20);
    fake_log.common = 10;
    fake_log.epoch_before = EPOCH;
    feed_hub_state(h, &fake_log.state, 0);
    struct feed_client *c = join(h, 8, &bell);
    for (int64_t pos = 9; pos <= 20; pos++) {
        struct feed_taken t;
        assert_int_equal(next(c, &t), FEED_EVENT);
        assert_int_equal(t.event->id.pos, pos);
        assert_int_equal(t.event->id.epoch, pos <= 10 ? EPOCH : EPOCH + 5);
        feed_event_drop(t.event);
    }
    feed_leave(c);
    feed_hub_free(h);
}

static void a_new_epoch(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    int bells[4] = {0};
    struct feed_client *ahead = join(h, -1, &bells[0]), *behind = join(h, -1, &bells[1]);
    struct feed_client *at_eight = join(h, -1, &bells[3]);
    fake_log_write(h, 10);
    for (int64_t pos = 1; pos <= 8; pos++)
        receives(at_eight, pos);
    for (int64_t pos = 1; pos <= 10; pos++)
        receives(ahead, pos);
    gets_nothing(ahead);
    for (int64_t pos = 1; pos <= 3; pos++)
        receives(behind, pos);
    /* The new primary has the first seven, and numbers its own from eight on. */
    fake_log_begin(EPOCH + 5, 7);
    fake_log.common = 7;
    feed_hub_state(h, &fake_log.state, 7);
    assert_int_equal(bells[0], 2);
    fake_log_write(h, 2);
    gets_gap(ahead, (struct feed_id){EPOCH, 10}, (struct feed_id){EPOCH + 5, 7});
    gets_gap(at_eight, (struct feed_id){EPOCH, 8}, (struct feed_id){EPOCH + 5, 7});
    feed_leave(at_eight);
    struct feed_taken t;
    assert_int_equal(next(ahead, &t), FEED_EVENT);
    assert_int_equal(t.event->id.epoch, EPOCH + 5);
    assert_int_equal(t.event->id.pos, 8);
    feed_event_drop(t.event);
    for (int64_t pos = 4; pos <= 9; pos++)
        receives(behind, pos);
    gets_nothing(behind);
    struct feed_client *late = join(h, 10, &bells[2]); /* of the old life */
    gets_gap(late, (struct feed_id){EPOCH, 10}, (struct feed_id){EPOCH + 5, 7});
    receives(late, 8);
    feed_leave(late);
    late = join(h, 7, &bells[2]);
    receives(late, 8);
    feed_leave(late);
    feed_leave(ahead);
    feed_leave(behind);
    feed_hub_free(h);
}

/* A page that was read from the new life before the reader has seen it must not go out under the
 * old name. */
static void the_database_is_ahead_of_the_reader(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    int bell = 0;
    fake_log_write(h, FEED_RING_EVENTS + 100);
    struct feed_client *c = join(h, 0, &bell);
    fake_log.state.epoch = EPOCH + 5;
    gets_nothing(c);
    assert_int_equal(bell, 0);
    feed_hub_state(h, &fake_log.state, 50);
    assert_int_equal(bell, 1);
    struct feed_taken t;
    assert_int_equal(next(c, &t), FEED_EVENT);
    assert_int_equal(t.event->id.epoch, EPOCH + 5);
    assert_int_equal(t.event->id.pos, 1);
    feed_event_drop(t.event);
    feed_leave(c);
    feed_hub_free(h);
}

static void a_page_of_the_old_life_is_thrown_away(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(100);
    int bell = 0;
    struct feed_client *c = join(h, 0, &bell);
    receives(c, 1); /* a page of a hundred lies with the client now */
    fake_log_begin(EPOCH + 5, 20);
    feed_hub_state(h, &fake_log.state, 20);
    for (int64_t pos = 2; pos <= 20; pos++)
        receives(c, pos);
    gets_nothing(c);
    feed_leave(c);
    feed_hub_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_pruned_is_a_gap),
        cmocka_unit_test(pruned_before_the_reader_came_to_it),
        cmocka_unit_test(pruned_but_in_the_ring),
        cmocka_unit_test(pruned_while_it_reads),
        cmocka_unit_test(a_cursor_beyond_the_head),
        cmocka_unit_test(what_is_common_keeps_its_epoch),
        cmocka_unit_test(a_new_epoch),
        cmocka_unit_test(the_database_is_ahead_of_the_reader),
        cmocka_unit_test(a_page_of_the_old_life_is_thrown_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
