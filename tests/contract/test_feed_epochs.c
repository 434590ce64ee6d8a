/* Lives of a database: an event keeps the name of the one it was numbered in, and a new one is
 * named as soon as a publisher sees it. */
#include "fixture.h"

#include "store/feed.h"

static void publish(struct fix *f) {
    struct err e;
    size_t n;
    assert_ok(store_feed_publish(f->s, 10000, &n, &e));
}

static void change(struct fix *f, int id) {
    struct batch *b = live_batch(f);
    char json[60];
    snprintf(json, sizeof json, "{'id':%d,'type':'story'}", id);
    put_item(b, T0, json);
    apply_live_ok(f, b);
    publish(f);
}

static struct feed_state state_of(struct fix *f) {
    struct err e;
    struct feed_state st;
    assert_ok(store_feed_state(f->s, &st, &e));
    return st;
}

static void events_keep_their_epoch(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t first = state_of(f).epoch, second, third;
    change(f, 1);
    change(f, 2);
    assert_ok(store_feed_new_epoch(f->s, &second, &e));
    assert_ok(store_feed_new_epoch(f->s, &third, &e)); /* nothing happened in the second */
    change(f, 3);
    assert_true(first < second && second < third);
    const struct feed_change *c;
    size_t n;
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10, 1000, &c, &n, &e));
    assert_int_equal(n, 3);
    assert_int_equal(c[0].epoch, first);
    assert_int_equal(c[1].epoch, first);
    assert_int_equal(c[2].epoch, third);
}

static void resolves(struct fix *f, int64_t epoch, int64_t pos, int64_t expected, bool gap) {
    struct err e;
    int64_t at;
    bool missed;
    assert_ok(store_feed_resolve(f->s, (struct feed_id){epoch, pos}, &at, &missed, &e));
    assert_int_equal(at, expected);
    assert_int_equal(missed, gap);
}

static void a_cursor_is_good_up_to_where_lives_part(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t first = state_of(f).epoch, second;
    change(f, 1);
    change(f, 2);
    assert_ok(store_feed_new_epoch(f->s, &second, &e));
    change(f, 3);
    resolves(f, first, 0, 0, false);
    resolves(f, first, 2, 2, false);
    resolves(f, first, 3, 2, true); /* what the lost life had there is not what this one has */
    resolves(f, second, 3, 3, false);
    resolves(f, second, 1, 1, false);
    resolves(f, second, 4, 3, true);
    resolves(f, second + 1000, 1, 0, true); /* nobody knows it */
}

static void another_life_is_named_before_it_has_a_change(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES) /* a file does not tell */
        skip();
    change(f, 1);
    struct feed_state before = state_of(f);
    publish(f);
    assert_int_equal(state_of(f).epoch, before.epoch);
    x(f, "UPDATE feed_epochs SET mark = 'of another timeline'");
    publish(f);
    struct feed_state after = state_of(f);
    assert_true(after.epoch > before.epoch);
    assert_int_equal(after.head, 1);
    publish(f);
    assert_int_equal(state_of(f).epoch, after.epoch);
}

int feed_epoch_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(events_keep_their_epoch),
        CASE(a_cursor_is_good_up_to_where_lives_part),
        CASE(another_life_is_named_before_it_has_a_change),
    };
    return cmocka_run_group_tests_name("feed epochs", tests, NULL, NULL);
}
