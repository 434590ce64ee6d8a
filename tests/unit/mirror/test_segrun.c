#include "mirror/segrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW 1000

static uint8_t bitmap[32];

static struct claim claim_of(int64_t start, int64_t end, int64_t cursor) {
    return (struct claim){
        .segment_id = 5, .lease_token = 3, .start_id = start, .end_id = end, .cursor = cursor};
}

/* The ids it hands out, one after the other, as text. */
static const char *all_ids(struct segrun *r) {
    static char out[400];
    struct next_fetch next;
    size_t at = 0;
    out[0] = '\0';
    while (segrun_has_next(r) && segrun_next(r, &next))
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%lld", at ? " " : "",
                               (long long)next.id);
    assert_false(segrun_next(r, &next));
    return out;
}

static void in_order_and_complete(void **state UNUSED) {
    struct claim c = claim_of(10, 15, 9);
    struct segrun *r = segrun_new(&c, NOW, NOW);
    assert_int_equal(segrun_left(r), 6);
    assert_string_equal(all_ids(r), "10 11 12 13 14 15");
    assert_int_equal(segrun_left(r), 0);
    assert_int_equal(r->cursor, 9);
    assert_false(segrun_is_complete(r));
    for (int64_t id = 10; id <= 15; id++)
        segrun_settle(r, id);
    assert_int_equal(r->cursor, 15);
    assert_true(segrun_is_complete(r));
    segrun_free(r);
}

static void begins_behind_the_cursor(void **state UNUSED) {
    struct claim c = claim_of(10, 15, 13);
    struct segrun *r = segrun_new(&c, NOW, NOW);
    assert_int_equal(segrun_left(r), 2);
    assert_true(segrun_is_settled(r, 12));
    assert_false(segrun_is_settled(r, 14));
    assert_string_equal(all_ids(r), "14 15");
    segrun_free(r);
}

static void stored_ids_are_skipped(void **state UNUSED) {
    struct claim c = claim_of(1, 20, 0);
    static const int64_t stored[] = {1, 2, 5, 8, 9, 16, 17, 20};
    c.stored = bitmap;
    for (size_t i = 0; i < sizeof bitmap; i++)
        bitmap[i] = 0;
    for (size_t i = 0; i < ARRAY_LEN(stored); i++)
        bitmap[(stored[i] - 1) / 8] |= (uint8_t)(1u << ((stored[i] - 1) % 8));
    struct segrun *r = segrun_new(&c, NOW, NOW);
    assert_int_equal(r->cursor, 2); /* it moves over what is there already */
    assert_int_equal(segrun_left(r), 12);
    assert_string_equal(all_ids(r), "3 4 6 7 10 11 12 13 14 15 18 19");
    segrun_free(r);
}

static void all_stored_needs_no_fetch(void **state UNUSED) {
    struct claim c = claim_of(1, 10, 0);
    c.stored = bitmap;
    for (size_t i = 0; i < sizeof bitmap; i++)
        bitmap[i] = 0xff;
    struct segrun *r = segrun_new(&c, NOW, NOW);
    assert_false(segrun_has_next(r));
    assert_int_equal(r->cursor, 10);
    assert_true(segrun_is_complete(r));
    segrun_free(r);
}

static void only_due_exceptions_are_fetched_again(void **state UNUSED) {
    static struct claim_exception xs[] = {
        {.id = 3, .state = EXC_DEAD_LETTER, .attempts = 8},
        {.id = 5, .state = EXC_RETRY_WAIT, .next_retry_at = NOW, .attempts = 4},
        {.id = 6, .state = EXC_RETRY_WAIT, .next_retry_at = NOW + 1, .attempts = 2},
        {.id = 7, .state = EXC_TERMINAL_MISSING},
        {.id = 8, .state = EXC_PENDING, .rung = 2},
        {.id = 12, .state = EXC_RETRY_WAIT, .next_retry_at = NOW - 1, .attempts = 1},
        {.id = 13, .state = EXC_TERMINAL_MISSING},
    };
    struct claim c = claim_of(1, 15, 10);
    c.exceptions = xs;
    c.n_exceptions = ARRAY_LEN(xs);
    struct segrun *r = segrun_new(&c, NOW, NOW);
    static const struct next_fetch wanted[] = {{5, EXC_RETRY_WAIT, 4, 0},  {8, EXC_PENDING, 0, 2},
                                               {12, EXC_RETRY_WAIT, 1, 0}, {11, EXC_PENDING, 0, 0},
                                               {14, EXC_PENDING, 0, 0},    {15, EXC_PENDING, 0, 0}};
    assert_int_equal(segrun_left(r), ARRAY_LEN(wanted));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        struct next_fetch next;
        assert_true(segrun_next(r, &next));
        assert_int_equal(next.id, wanted[i].id);
        assert_int_equal(next.state, wanted[i].state);
        assert_int_equal(next.attempts, wanted[i].attempts);
        assert_int_equal(next.rung, wanted[i].rung);
    }
    assert_false(segrun_has_next(r));
    segrun_settle(r, 11);
    assert_int_equal(r->cursor, 13); /* 12 and 13 have their rows */
    segrun_free(r);
}

static void a_woken_segment_has_only_its_exceptions(void **state UNUSED) {
    static struct claim_exception xs[] = {{.id = 4, .state = EXC_PENDING}};
    struct claim c = claim_of(1, 1000000, 1000000);
    c.exceptions = xs;
    c.n_exceptions = 1;
    struct segrun *r = segrun_new(&c, NOW, NOW);
    assert_int_equal(segrun_left(r), 1);
    assert_false(segrun_is_complete(r));
    assert_string_equal(all_ids(r), "4");
    segrun_settle(r, 4);
    assert_true(segrun_is_complete(r));
    segrun_free(r);
}

static void settled_in_any_order(void **state UNUSED) {
    struct claim c = claim_of(1, 9, 0);
    struct segrun *r = segrun_new(&c, NOW, NOW);
    all_ids(r);
    static const struct {
        int64_t id, cursor;
    } steps[] = {{3, 0}, {2, 0}, {1, 3}, {9, 3}, {5, 3}, {4, 5}, {4, 5}, {7, 5}, {8, 5}, {6, 9}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        segrun_settle(r, steps[i].id);
        assert_true(segrun_is_settled(r, steps[i].id));
        assert_int_equal(r->cursor, steps[i].cursor);
    }
    assert_true(segrun_is_complete(r));
    segrun_free(r);
}

static void open_ends_keep_it_from_being_complete(void **state UNUSED) {
    struct claim c = claim_of(1, 2, 0);
    struct segrun *r = segrun_new(&c, NOW, NOW);
    all_ids(r);
    segrun_settle(r, 1);
    segrun_settle(r, 2);
    assert_true(segrun_is_complete(r));
    r->in_flight = 1;
    assert_false(segrun_is_complete(r));
    assert_false(segrun_only_waits(r));
    r->in_flight = 0;
    r->waiting = 1;
    assert_false(segrun_is_complete(r));
    assert_true(segrun_only_waits(r));
    segrun_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_and_complete),
        cmocka_unit_test(begins_behind_the_cursor),
        cmocka_unit_test(stored_ids_are_skipped),
        cmocka_unit_test(all_stored_needs_no_fetch),
        cmocka_unit_test(only_due_exceptions_are_fetched_again),
        cmocka_unit_test(a_woken_segment_has_only_its_exceptions),
        cmocka_unit_test(settled_in_any_order),
        cmocka_unit_test(open_ends_keep_it_from_being_complete),
    };
    return cmocka_run_group_tests_name("segrun", tests, NULL, NULL);
}
