/* The hub: the ring, who is woken, and what a client gets from where. */
#include "hub_scene.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void from_now_on(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(10);
    int bell = 0;
    struct feed_client *c = join(h, -1, &bell);
    assert_int_equal(feed_client_cursor(c).pos, 10);
    gets_nothing(c);
    fake_log_write(h, 3);
    assert_int_equal(bell, 1); /* once per batch */
    for (int64_t pos = 11; pos <= 13; pos++)
        receives(c, pos);
    gets_nothing(c);
    assert_int_equal(feed_client_cursor(c).pos, 13);
    assert_int_equal(fake_log.reads, 0);
    feed_leave(c);
    feed_hub_free(h);
}

static void before_the_reader_stands_clients_wait(void **state UNUSED) {
    struct feed_hub *h = feed_hub_new(100);
    struct feed_state st;
    int bells[2] = {0, 0};
    struct feed_client *now = join(h, -1, &bells[0]), *since = join(h, 4, &bells[1]);
    assert_false(feed_hub_ready(h, &st));
    gets_nothing(now);
    gets_nothing(since);
    assert_int_equal(feed_client_cursor(now).pos, -1);
    fake_log_begin(EPOCH, 5);
    feed_hub_state(h, &fake_log.state, 0);
    assert_true(feed_hub_ready(h, &st));
    assert_int_equal(st.head, 5);
    assert_int_equal(bells[0], 1);
    assert_int_equal(bells[1], 1);
    fake_log_write(h, 1);
    receives(now, 6);
    receives(since, 5);
    receives(since, 6);
    feed_hub_ready(h, &st);
    assert_int_equal(st.head, 6);
    feed_leave(now);
    feed_leave(since);
    feed_hub_free(h);
}

static void a_page_and_then_the_ring(void **state UNUSED) {
    const int64_t old = 2 * FEED_PAGE_EVENTS + 7;
    struct feed_hub *h = hub_at_head(old);
    int bell = 0;
    fake_log_write(h, 10);
    struct feed_client *c = join(h, 0, &bell);
    for (int64_t pos = 1; pos <= old + 10; pos++)
        receives(c, pos);
    gets_nothing(c);
    assert_int_equal(fake_log.reads, 3);
    feed_leave(c);
    feed_hub_free(h);
}

/* A table that was removed is public no more, not even what everyone could read just before. */
static void what_was_public_once(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    int bell = 0;
    struct feed_join j = {.since = {EPOCH, 0},
                          .filter.public_only = true,
                          .wake = ring_the_bell,
                          .connection = &bell};
    fake_log_write(h, 4);
    struct feed_client *c = feed_join(h, &j), *late, *keyed;
    receives(c, 1);
    fake_log.users_hidden = true;
    fake_log.state.retired++;
    feed_hub_state(h, &fake_log.state, 0);
    late = feed_join(h, &j);
    keyed = join(h, 0, &bell);
    receives(c, 2);
    feed_hub_state(h, &fake_log.state, 0);
    receives(c, 4);
    gets_nothing(c);
    receives(late, 2);
    receives(late, 4);
    gets_nothing(late);
    for (int64_t pos = 1; pos <= 4; pos++)
        receives(keyed, pos);
    /* of a page that lies with the client too */
    struct feed_client *behind = feed_join(h, &j);
    receives(behind, 2);
    fake_log.state.retired++;
    feed_hub_state(h, &fake_log.state, 0);
    receives(behind, 4);
    gets_nothing(behind);
    fake_log_write(h, 2);
    receives(behind, 6);
    feed_leave(c);
    feed_leave(late);
    feed_leave(keyed);
    feed_leave(behind);
    feed_hub_free(h);
}

static void falling_out_of_the_ring(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    int bell = 0;
    struct feed_client *c = join(h, -1, &bell);
    struct feed_counts counts;
    const int64_t more = FEED_PAGE_EVENTS + 200;
    fake_log_write(h, FEED_RING_EVENTS + more);
    feed_hub_count(h, &counts);
    assert_int_equal(counts.ring_events, FEED_RING_EVENTS);
    assert_int_equal(counts.added, FEED_RING_EVENTS + more);
    for (int64_t pos = 1; pos <= FEED_RING_EVENTS + more; pos++)
        receives(c, pos);
    gets_nothing(c);
    assert_int_equal(fake_log.reads, 2);
    feed_leave(c);
    feed_hub_free(h);
}

static void the_ring_is_bounded_in_bytes_too(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    size_t n = FEED_RING_BYTES / 2;
    char *text = xmalloc(n);
    memset(text, '1', n);
    struct feed_counts counts;
    for (int64_t pos = 1; pos <= 4; pos++) {
        struct feed_change c = fake_change(pos);
        c.data = (struct str){text, pos == 4 ? 2 : n};
        struct feed_event *ev = feed_event_new(c.epoch, &c);
        feed_hub_add(h, ev);
        feed_event_drop(ev);
        feed_hub_count(h, &counts);
        assert_int_equal(counts.ring_events, pos == 4 ? 2 : 1);
        assert_true(counts.ring_bytes <= FEED_RING_BYTES);
    }
    feed_hub_free(h);
    free(text);
}

static void a_filter_makes_the_only_holes(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(20);
    int bell = 0;
    struct feed_client *c = join_items(h, 0, &bell);
    for (int64_t pos = 2; pos <= 20; pos += 2)
        receives(c, pos);
    fake_log_write(h, 4);
    receives(c, 22);
    receives(c, 24);
    gets_nothing(c);
    feed_leave(c);
    c = join_items(h, 18, &bell);
    receives(c, 20); /* the last of its page that it wants */
    receives(c, 22);
    feed_leave(c);
    fake_log_begin(EPOCH, 21);
    c = join_items(h, 18, &bell);
    receives(c, 20);
    assert_int_equal(feed_client_cursor(c).pos, 21);
    feed_leave(c);
    feed_hub_free(h);
}

static void who_wants_nothing_of_it_is_not_woken_and_moves_along(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(0);
    int bell = 0;
    struct feed_join j = {.since = {0, -1}, .wake = ring_the_bell, .connection = &bell};
    j.filter.tables[j.filter.n_tables++] = STR("others");
    struct feed_client *c = feed_join(h, &j);
    gets_nothing(c);
    fake_log_write(h, 3);
    fake_log_write(h, 2 * FEED_RING_EVENTS); /* more than the ring holds between two flushes */
    assert_int_equal(bell, 0);
    assert_int_equal(feed_client_cursor(c).pos, 2 * FEED_RING_EVENTS + 3);
    gets_nothing(c);
    assert_int_equal(fake_log.reads, 0);
    feed_leave(c);
    feed_hub_free(h);
}

static void an_ill_database_changes_nothing(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(100);
    int bell = 0;
    struct feed_client *c = join(h, 0, &bell);
    struct feed_taken t;
    struct err e;
    fake_log.answer = V_RETRY;
    assert_int_equal(feed_take(c, &t), FEED_READ);
    assert_int_equal(feed_client_page(c, NULL, &e), V_RETRY);
    assert_int_equal(feed_take(c, &t), FEED_READ);
    fake_log.answer = V_OK;
    receives(c, 1);
    feed_leave(c);
    feed_hub_free(h);
}

static void no_more_than_so_many(void **state UNUSED) {
    struct feed_hub *h = feed_hub_new(2);
    int bell = 0;
    struct feed_join j = {.since = {0, -1}, .wake = ring_the_bell, .connection = &bell};
    struct feed_client *a = feed_join(h, &j), *b = feed_join(h, &j);
    assert_null(feed_join(h, &j));
    feed_leave(a);
    a = feed_join(h, &j);
    assert_non_null(a);
    struct feed_counts counts;
    feed_hub_count(h, &counts);
    assert_int_equal(counts.refused, 1);
    assert_int_equal(counts.joined, 3);
    assert_int_equal(counts.clients, 2);
    feed_leave(b);
    feed_leave(a);
    feed_hub_free(h);
}

static void a_stop_is_told_to_all(void **state UNUSED) {
    struct feed_hub *h = hub_at_head(5);
    int bell = 0;
    struct feed_client *c = join(h, 0, &bell);
    receives(c, 1);
    for (int64_t pos = 2; pos <= 5; pos++)
        receives(c, pos);
    gets_nothing(c);
    feed_hub_stop(h);
    assert_int_equal(bell, 1);
    struct feed_taken t;
    assert_int_equal(feed_take(c, &t), FEED_OVER);
    struct feed_join j = {.since = {0, -1}, .wake = ring_the_bell, .connection = &bell};
    assert_null(feed_join(h, &j));
    feed_leave(c);
    feed_hub_free(h);
}

/* Whatever the order of writing, pruning, joining and taking: a client's positions rise by one, and
 * where they do not there was a gap that says exactly what is missing. */
static void any_order(void **state UNUSED) {
    enum { CLIENTS = 5, STEPS = 20000 };
    struct rng rng = {42};
    struct feed_hub *h = hub_at_head(0);
    struct feed_client *clients[CLIENTS] = {NULL};
    int64_t at[CLIENTS];
    int bell = 0;
    for (int step = 0; step < STEPS; step++) {
        size_t i = rng_below(&rng, CLIENTS);
        struct feed_taken t;
        switch (rng_below(&rng, 12)) {
        case 0:
            fake_log_write(h, (int64_t)rng_below(&rng, step % 100 ? 40 : 30000));
            break;
        case 1: {
            int64_t oldest = fake_log.state.head - (int64_t)rng_below(&rng, 40000);
            if (oldest > fake_log.state.oldest)
                fake_log.state.oldest = oldest;
            feed_hub_state(h, &fake_log.state, 0);
            break;
        }
        case 2:
            if (clients[i] && rng_below(&rng, 20) == 0) {
                feed_leave(clients[i]);
                clients[i] = NULL;
            }
            break;
        default:
            if (!clients[i]) {
                at[i] = (int64_t)rng_below(&rng, (uint64_t)fake_log.state.head + 1);
                clients[i] = join(h, at[i], &bell);
            }
            for (size_t n = rng_below(&rng, 2000); n > 0; n--) {
                enum feed_next got = next(clients[i], &t);
                if (got == FEED_NOTHING) {
                    assert_int_equal(at[i], fake_log.state.head);
                    break;
                }
                if (got == FEED_GAP) {
                    assert_int_equal(t.from.pos, at[i]);
                    assert_true(t.to.pos > at[i] && t.to.pos < fake_log.state.oldest);
                    at[i] = t.to.pos;
                    continue;
                }
                assert_int_equal(got, FEED_EVENT);
                assert_int_equal(t.event->id.pos, ++at[i]);
                feed_event_drop(t.event);
            }
        }
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i])
            feed_leave(clients[i]);
    feed_hub_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_now_on),
        cmocka_unit_test(before_the_reader_stands_clients_wait),
        cmocka_unit_test(a_page_and_then_the_ring),
        cmocka_unit_test(what_was_public_once),
        cmocka_unit_test(falling_out_of_the_ring),
        cmocka_unit_test(the_ring_is_bounded_in_bytes_too),
        cmocka_unit_test(a_filter_makes_the_only_holes),
        cmocka_unit_test(who_wants_nothing_of_it_is_not_woken_and_moves_along),
        cmocka_unit_test(an_ill_database_changes_nothing),
        cmocka_unit_test(no_more_than_so_many),
        cmocka_unit_test(a_stop_is_told_to_all),
        cmocka_unit_test(any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
