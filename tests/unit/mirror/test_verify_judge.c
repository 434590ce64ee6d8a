/* What is wrong with a page of ids, and with segments: pure judgements over rows made by hand. */
#include "mirror/verify_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One id, what is there of it, and the kind of the one fault it gives; FIND_N: none. */
struct id_case {
    bool item;
    enum exception_state state;
    int purpose; /* -2: no exception */
    int64_t frontier;
    enum finding_kind wanted;
    int missing, unresolved;
};

static struct stored_item plain(struct arena *a, int64_t id) {
    struct stored_item s = {.item = {.id = id,
                                     .type = STR("story"),
                                     .time = 1,
                                     .parent = I64_NONE,
                                     .poll = I64_NONE,
                                     .score = 1,
                                     .descendants = 0},
                            .story_id = id,
                            .parent_story = DB_NULL};
    item_derive(a, &s.item);
    return s;
}

static struct page_counts judge_one(const struct verify_page *p, int64_t frontier,
                                    struct fault_list *out) {
    struct range scanned = {5, 5};
    const struct claimed c = {&scanned, 1, frontier};
    struct page_counts counts = {0};
    struct arena a;
    arena_init(&a);
    out->n = 0;
    judge_page(p, &c, &a, &counts, out);
    arena_release(&a);
    return counts;
}

static void ids_and_exceptions(void **state) {
    (void)state;
    static const struct id_case rows[] = {
        {true, 0, -2, 9, FIND_N, 0, 0},
        {false, 0, -2, 9, FIND_MISSING, 0, 0},
        {false, 0, -2, 0, FIND_MISSING, 0, 0},
        {false, EXC_TERMINAL_MISSING, PURPOSE_MIRROR, 9, FIND_N, 1, 0},
        {false, EXC_TERMINAL_MISSING, PURPOSE_GAP, 9, FIND_N, 1, 0},
        {false, EXC_RETRY_WAIT, PURPOSE_MIRROR, 0, FIND_N, 0, 1},
        {false, EXC_DEAD_LETTER, PURPOSE_MIRROR, 0, FIND_DEAD_LETTER, 0, 1},
        {false, EXC_RETRY_WAIT, PURPOSE_GAP, 9, FIND_MISSING, 0, 0},
        {false, EXC_RETRY_WAIT, PURPOSE_GAP, 4, FIND_N, 0, 1},
        {false, EXC_TERMINAL_MISSING, -1, 9, FIND_STRAY_EXCEPTION, 1, 0},
        {true, EXC_TERMINAL_MISSING, PURPOSE_MIRROR, 9, FIND_EXCEPTION, 0, 0},
        {true, EXC_DEAD_LETTER, PURPOSE_GAP, 9, FIND_EXCEPTION, 0, 0},
        {true, EXC_DEAD_LETTER, PURPOSE_REPLAY, 9, FIND_DEAD_LETTER, 0, 0},
        {true, EXC_RETRY_WAIT, PURPOSE_MIRROR, 9, FIND_N, 0, 0}, /* [delayed] */
    };
    struct arena a;
    arena_init(&a);
    struct fault_list out = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct id_case *row = &rows[i];
        struct stored_item item = plain(&a, 5);
        struct stored_exception x = {5, 1, row->state, row->purpose, false};
        struct verify_page p = {.lo = 1, .hi = 10, .items = &item, .exceptions = &x};
        p.n_items = row->item;
        p.n_exceptions = row->purpose != -2;
        struct page_counts counts = judge_one(&p, row->frontier, &out);
        size_t wanted = row->wanted != FIND_N;
        if (out.n != wanted || (wanted && out.rows[0].kind != row->wanted))
            fail_msg("row %zu: %zu faults, the first is %s", i, out.n,
                     out.n ? finding_names[out.rows[0].kind] : "none");
        assert_int_equal(counts.ids, 1);
        assert_int_equal(counts.missing, row->missing);
        assert_int_equal(counts.unresolved, row->unresolved);
    }
    free(out.rows);
    arena_release(&a);
}

static void dead_letters_have_their_row(void **state) {
    (void)state;
    struct stored_exception x = {5, 1, EXC_DEAD_LETTER, PURPOSE_MIRROR, false};
    int64_t letter = 5;
    struct verify_page p = {
        .lo = 1, .hi = 10, .exceptions = &x, .n_exceptions = 1, .letters = &letter, .n_letters = 1};
    struct fault_list out = {0};
    judge_one(&p, 0, &out);
    assert_int_equal(out.n, 0);
    x.state = EXC_PENDING; /* set by hand: the queue follows later */
    judge_one(&p, 0, &out);
    assert_int_equal(out.n, 0);
    x.state = EXC_TERMINAL_MISSING;
    judge_one(&p, 9, &out);
    assert_int_equal(out.n, 1);
    assert_int_equal(out.rows[0].kind, FIND_DEAD_LETTER);
    free(out.rows);
}

static void stories(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int64_t parent, story;
        bool parent_stored;
        int64_t parent_story;
        bool fine;
    } rows[] = {
        {"story", I64_NONE, 5, false, DB_NULL, true},
        {"story", I64_NONE, DB_NULL, false, DB_NULL, false},
        {"story", I64_NONE, 4, false, DB_NULL, false},
        {"comment", 3, 2, true, 2, true},
        {"comment", 3, 1, true, 2, false},
        {"comment", 3, DB_NULL, true, 2, false},
        {"comment", 3, DB_NULL, true, DB_NULL, true},
        {"comment", 3, 2, true, DB_NULL, false},
        {"comment", 3, DB_NULL, false, DB_NULL, true},
        {"comment", 3, 2, false, DB_NULL, false},
        {"comment", I64_NONE, DB_NULL, false, DB_NULL, true},
    };
    struct arena a;
    arena_init(&a);
    struct fault_list out = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stored_item s = plain(&a, 5);
        s.item.type = str_of(rows[i].type);
        s.item.parent = rows[i].parent;
        item_derive(&a, &s.item);
        s.story_id = rows[i].story;
        s.parent_stored = rows[i].parent_stored;
        s.parent_story = rows[i].parent_story;
        struct verify_page p = {.lo = 1, .hi = 10, .items = &s, .n_items = 1};
        judge_one(&p, 9, &out);
        if (rows[i].fine ? out.n != 0 : out.n != 1 || out.rows[0].kind != FIND_STORY)
            fail_msg("row %zu: %zu faults", i, out.n);
    }
    free(out.rows);
    arena_release(&a);
}

static void derived_values(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    struct fault_list out = {0};
    int64_t kids[] = {7, 6};
    struct stored_item s = plain(&a, 5);
    s.item.url = STR("http://example.com/x");
    s.item.kids = kids;
    s.item.n_kids = 2;
    item_derive(&a, &s.item);
    struct verify_page p = {.lo = 1, .hi = 10, .items = &s, .n_items = 1};
    judge_one(&p, 9, &out);
    assert_int_equal(out.n, 0);
    kids[0] = 8;
    s.item.url_key = STR("other");
    s.item.content_hash++;
    judge_one(&p, 9, &out);
    assert_int_equal(out.n, 3);
    assert_int_equal(out.rows[0].kind, FIND_CONTENT);
    assert_int_equal(out.rows[1].kind, FIND_KIDS);
    assert_int_equal(out.rows[2].kind, FIND_URL_KEY);
    free(out.rows);
    arena_release(&a);
}

static void segments(void **state) {
    (void)state;
    struct segment_facts rows[] = {
        {1, 1, 100, 100, PURPOSE_MIRROR, SEG_DONE, 0, 0, 0, false},
        {2, 50, 60, 60, PURPOSE_GAP, SEG_DEAD_LETTER, 1, 1, 0, false},
        {3, 101, 200, 150, PURPOSE_MIRROR, SEG_PENDING, 9, 0, 0, false},
        {4, 201, 300, 300, PURPOSE_MIRROR, SEG_RETRY_WAIT, 1, 2, 1, false}, /* set by hand */
    };
    struct segment_facts_list l = {.rows = rows, .n = ARRAY_LEN(rows)};
    const struct range everywhere = {1, INT64_MAX};
    struct fault_list out = {0};
    judge_segments(&l, everywhere, &out);
    assert_int_equal(out.n, 0);
    struct claimed c = claimed_of(&l, 150);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.scanned[0].hi, 150);
    assert_int_equal(c.scanned[1].lo, 201);
    free(c.scanned);
    rows[0].cursor = 90;
    rows[1].counted = 2;
    rows[2].stale_lease = true;
    rows[3].start_id = 180;
    judge_segments(&l, everywhere, &out);
    static const enum finding_kind wanted[] = {FIND_CURSOR, FIND_UNRESOLVED_COUNT, FIND_LEASE,
                                               FIND_OVERLAP};
    assert_int_equal(out.n, ARRAY_LEN(wanted));
    for (size_t i = 0; i < out.n; i++)
        assert_int_equal(out.rows[i].kind, wanted[i]);
    assert_int_equal(out.rows[3].id, 180);
    assert_int_equal(out.rows[3].end_id, 200);
    out.n = 0;
    judge_segments(&l, (struct range){400, 500}, &out);
    assert_int_equal(out.n, 0);
    free(out.rows);
}

static void spans(void **state) {
    (void)state;
    struct spans s = {.reach = 8};
    static const int64_t ids[] = {1, 2, 2, 10, 19, 500, 3, 2000};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        spans_add(&s, ids[i]);
    static const struct range wanted[] = {{1, 10}, {19, 19}, {500, 500}, {3, 3}, {2000, 2000}};
    assert_int_equal(s.n, ARRAY_LEN(wanted));
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.rows[i].lo, wanted[i].lo);
        assert_int_equal(s.rows[i].hi, wanted[i].hi);
    }
    assert_int_equal(s.ids, 7);
    free(s.rows);
    struct spans wide = {.reach = VERIFY_SPAN_IDS};
    for (int64_t id = 1; id <= 2500; id += 3)
        spans_add(&wide, id);
    assert_int_equal(wide.n, 3);
    free(wide.rows);
}

/* Without its hash an item is unconfirmed, whatever its row gives. */
static void unconfirmed(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    struct fault_list out = {0};
    struct stored_item s = plain(&a, 5);
    struct verify_page p = {.lo = 1, .hi = 10, .items = &s, .n_items = 1};
    assert_int_not_equal(s.item.content_hash, ITEM_UNCONFIRMED);
    s.item.content_hash = ITEM_UNCONFIRMED;
    s.item.kids_hash = 77;
    judge_one(&p, 9, &out);
    assert_int_equal(out.n, 1);
    assert_int_equal(out.rows[0].kind, FIND_UNCONFIRMED);
    s = plain(&a, 5);
    s.parts_unreadable = true;
    judge_one(&p, 9, &out);
    assert_int_equal(out.n, 1);
    assert_int_equal(out.rows[0].kind, FIND_CONTENT);
    free(out.rows);
    arena_release(&a);
}

static void an_exception_of_no_state(void **state) {
    (void)state;
    struct stored_exception x = {5, 1, EXC_N, PURPOSE_MIRROR, false};
    struct verify_page p = {.lo = 1, .hi = 10, .exceptions = &x, .n_exceptions = 1};
    struct fault_list out = {0};
    judge_one(&p, 0, &out);
    assert_int_equal(out.n, 1);
    assert_int_equal(out.rows[0].kind, FIND_STRAY_EXCEPTION);
    assert_int_equal(out.rows[0].id, 5);
    free(out.rows);
}

static void what_the_archive_says_of_itself(void **state) {
    (void)state;
    struct segment_facts rows[] = {
        {1, 5, 6, 6, PURPOSE_GAP, SEG_PENDING, 0, 0, 0, false},
        {2, 10, 100, 90, PURPOSE_MIRROR, SEG_PENDING, 0, 0, 0, false},
    };
    const struct segment_facts_list l = {.rows = rows, .n = ARRAY_LEN(rows)};
    const struct frontier now = {.id = 90};
    static const struct {
        struct archive_state st;
        bool excused;
        size_t faults;
    } cases[] = {
        {{.present = true, .floor_id = 10, .frontier_id = 90}, false, 0},
        {{.present = true, .floor_id = 10, .frontier_id = 40}, false, 0}, /* written by and by */
        {{.present = true, .floor_id = 1}, false, 0},
        {{.present = true}, false, 0},
        {{.present = true, .floor_id = 11, .frontier_id = 90}, false, 1},
        {{.present = true, .floor_id = 10, .frontier_id = 91}, false, 1},
        {{.present = true, .floor_id = 10, .frontier_id = 91}, true, 0},
        {{.present = true, .floor_id = 30000, .frontier_id = 29999}, false, 2},
        {{.present = false}, false, 1},
    };
    struct fault_list out = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        out.n = 0;
        judge_state(&cases[i].st, &l, &now, cases[i].excused, &out);
        if (out.n != cases[i].faults || (out.n && out.rows[0].kind != FIND_STATE))
            fail_msg("case %zu: %zu faults", i, out.n);
    }
    free(out.rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_exceptions),
        cmocka_unit_test(dead_letters_have_their_row),
        cmocka_unit_test(stories),
        cmocka_unit_test(derived_values),
        cmocka_unit_test(segments),
        cmocka_unit_test(spans),
        cmocka_unit_test(unconfirmed),
        cmocka_unit_test(an_exception_of_no_state),
        cmocka_unit_test(what_the_archive_says_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
