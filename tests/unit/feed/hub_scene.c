#include "hub_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void ring_the_bell(void *connection) {
    ++*(int *)connection;
}

struct feed_hub *hub_at_head(int64_t head) {
    struct feed_hub *h = feed_hub_new(100);
    fake_log_begin(EPOCH, head);
    feed_hub_state(h, &fake_log.state, 0);
    return h;
}

struct feed_client *join(struct feed_hub *h, int64_t pos, int *bell) {
    struct feed_join j = {.since = {EPOCH, pos}, .wake = ring_the_bell, .connection = bell};
    struct feed_client *c = feed_join(h, &j);
    assert_non_null(c);
    return c;
}

struct feed_client *join_items(struct feed_hub *h, int64_t pos, int *bell) {
    struct feed_join j = {.since = {EPOCH, pos}, .wake = ring_the_bell, .connection = bell};
    j.filter.tables[j.filter.n_tables++] = STR("items");
    return feed_join(h, &j);
}

/* Takes what comes, reading pages where they are needed. */
enum feed_next next(struct feed_client *c, struct feed_taken *ret) {
    enum feed_next n;
    struct err e;
    while ((n = feed_take(c, ret)) == FEED_READ)
        assert_int_equal(feed_client_page(c, NULL, &e), V_OK);
    return n;
}

void receives(struct feed_client *c, int64_t pos) {
    struct feed_taken t;
    assert_int_equal(next(c, &t), FEED_EVENT);
    assert_int_equal(t.event->id.pos, pos);
    feed_event_drop(t.event);
}

void gets_gap(struct feed_client *c, struct feed_id from, struct feed_id to) {
    struct feed_taken t;
    assert_int_equal(next(c, &t), FEED_GAP);
    assert_int_equal(t.from.epoch, from.epoch);
    assert_int_equal(t.from.pos, from.pos);
    assert_int_equal(t.to.epoch, to.epoch);
    assert_int_equal(t.to.pos, to.pos);
}

void gets_nothing(struct feed_client *c) {
    struct feed_taken t;
    assert_int_equal(next(c, &t), FEED_NOTHING);
}
