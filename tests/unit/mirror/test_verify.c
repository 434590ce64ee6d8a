/* verify_run() over a small archive: which ids it looks at, how it stops, what it makes. */
#include "archive.h"

#include "mirror/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stories lo..hi by way of a claimed segment, which is done then. */
static void fill(struct archive *a, int64_t lo, int64_t hi) {
    struct err e;
    int64_t added;
    struct claim c;
    struct arena arena;
    arena_init(&arena);
    assert_ok(store_plan_begin(a->s, &e));
    enum verdict v = store_add_segments(a->s, PURPOSE_MIRROR, &lo, &hi, 1, &added, &e);
    assert_ok(store_plan_end(a->s, v, &e));
    assert_ok(store_claim(a->s, "me", &(struct claim_ask){lo, hi, PURPOSE_RESCAN}, &arena, &c, &e));
    struct batch *b = batch_new();
    *b = (struct batch){.arena = b->arena,
                        .segment_id = c.segment_id,
                        .lease_token = c.lease_token,
                        .end_id = hi,
                        .cursor = hi,
                        .release = true};
    for (int64_t id = lo; id <= hi; id++) {
        char json[64];
        struct batch_item *it = batch_add_item(b);
        snprintf(json, sizeof json, "{\"id\":%lld,\"type\":\"story\"}", (long long)id);
        it->fetched_at = T0;
        assert_int_equal(item_parse(&b->arena, str_of(json), id, &it->item), ITEM_OK);
    }
    struct apply_stats stats;
    assert_ok(store_apply(a->s, b, &stats, &e));
    batch_free(b);
    arena_release(&arena);
}

struct ticks {
    struct stop_token *stop;
    int n;
    int64_t total, done;
};

static void tick(void *arg, const struct verify_view *v) {
    struct ticks *t = arg;
    t->n++;
    t->total = v->total;
    t->done = v->done;
    if (t->stop && t->n == 2)
        stop_raise(t->stop);
}

static struct verify_report *verify(struct archive *a, struct verify_options o, struct ticks *t,
                                    bool stops) {
    struct err e;
    struct stop_token stop;
    assert_ok(stop_init(&stop, &e));
    *t = (struct ticks){.stop = stops ? &stop : NULL};
    struct verify_report *r = xcalloc(1, sizeof *r);
    o.clock = &a->clock;
    o.store = a->s;
    o.stop = &stop;
    o.tick = tick;
    o.tick_arg = t;
    assert_ok(verify_run(&o, r, &e));
    stop_release(&stop);
    return r;
}

static void in_pages(void **state) {
    (void)state;
    struct archive a;
    struct ticks t;
    archive_open(&a);
    fill(&a, 1, 2500);
    CLEANUP(free_ptr) struct verify_report *r = verify(&a, (struct verify_options){0}, &t, false);
    assert_int_equal(verify_total(r), 0);
    assert_int_equal(r->ids, 2500);
    assert_int_equal(r->items, 2500);
    assert_int_equal(r->frontier.id, 2500);
    assert_int_equal(r->pages, 3);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.total, 2500);
    assert_int_equal(t.done, 2500);
    CLEANUP(free_ptr)
    struct verify_report *part =
        verify(&a, (struct verify_options){.start_id = 900, .end_id = 1100}, &t, false);
    assert_int_equal(part->ids, 201);
    assert_int_equal(part->range.lo, 900);
    assert_int_equal(part->range.hi, 1100);
    archive_close(&a);
}

/* A stretch of millions of ids without anything costs nothing. */
static void empty_stretches_are_skipped(void **state) {
    (void)state;
    struct archive a;
    struct ticks t;
    archive_open(&a);
    fill(&a, 1, 10);
    fill(&a, 90000001, 90000010);
    CLEANUP(free_ptr) struct verify_report *r = verify(&a, (struct verify_options){0}, &t, false);
    assert_int_equal(r->ids, 20);
    assert_true(r->pages <= 3);
    assert_int_equal(r->range.hi, 90000010);
    archive_close(&a);
}

static void stops_between_pages(void **state) {
    (void)state;
    struct archive a;
    struct ticks t;
    archive_open(&a);
    fill(&a, 1, 5000);
    CLEANUP(free_ptr) struct verify_report *r = verify(&a, (struct verify_options){0}, &t, true);
    assert_true(r->stopped);
    assert_int_equal(r->ids, 2000);
    archive_close(&a);
}

static void counts_all_and_lists_some(void **state) {
    (void)state;
    struct archive a;
    struct ticks t;
    archive_open(&a);
    fill(&a, 1, 2000);
    archive_ask(&a, "DELETE FROM items WHERE id %% 2 = 0");
    CLEANUP(free_ptr) struct verify_report *r = verify(&a, (struct verify_options){0}, &t, false);
    assert_int_equal(r->found[FIND_MISSING].count, 1000);
    assert_int_equal(r->found[FIND_MISSING].n, FINDINGS_LISTED);
    assert_int_equal(r->found[FIND_MISSING].list[99].id, 200);
    assert_int_equal(archive_int(&a, "SELECT COUNT(*) FROM ingest_segments"), 1);
    archive_close(&a);
}

static void makes_segments_once(void **state) {
    (void)state;
    struct archive a;
    struct ticks t;
    archive_open(&a);
    fill(&a, 1, 3000);
    archive_ask(&a, "DELETE FROM items WHERE id IN (5, 900, 1004, 1005, 2900)");
    archive_ask(&a, "UPDATE items SET title = 'x' WHERE id IN (7, 9, 1500)");
    const struct verify_options repair = {.repair = true};
    CLEANUP(free_ptr) struct verify_report *r = verify(&a, repair, &t, false);
    assert_int_equal(r->gap_ids, 5);
    assert_int_equal(r->rescan_ids, 3);
    assert_string_equal(archive_ask(&a, "SELECT purpose, start_id, end_id FROM ingest_segments "
                                        "WHERE purpose <> 'mirror' ORDER BY 1, 2"),
                        "gap|5|900 gap|1004|1005 gap|2900|2900 rescan|7|9 rescan|1500|1500");
    assert_int_equal(r->found[FIND_CONTENT].count, 3);
    CLEANUP(free_ptr) struct verify_report *again = verify(&a, repair, &t, false);
    assert_int_equal(again->found[FIND_CONTENT].count, 0);
    assert_int_equal(again->found[FIND_UNCONFIRMED].count, 3);
    assert_int_equal(again->found[FIND_MISSING].count, 5);
    assert_int_equal(again->gap_segments + again->rescan_segments, 0);
    assert_int_equal(again->open_repairs, 5);
    archive_close(&a);
}

/* Wherever its segment is, an unconfirmed item is found, and is given one unless one has it. */
static void unconfirmed_until_fetched(void **state) {
    (void)state;
    static const struct {
        const char *sql; /* what becomes of the segment */
        int64_t made;
    } cases[] = {
        {"SELECT 1", 0},
        {"UPDATE ingest_segments SET status = 'in_progress', scan_cursor_id = 1499, "
         "lease_until = 99999999999999 WHERE purpose = 'rescan'",
         0},
        {"UPDATE ingest_segments SET status = 'dead_letter', scan_cursor_id = 1500, "
         "unresolved_count = 1 WHERE purpose = 'rescan'",
         0},
        {"DELETE FROM ingest_exceptions", 1}, /* scanned, and without a word about the id */
        {"DELETE FROM ingest_segments WHERE purpose = 'rescan'", 1},
    };
    struct archive a;
    struct ticks t;
    const struct verify_options repair = {.repair = true};
    archive_open(&a);
    fill(&a, 1, 2000);
    archive_ask(&a, "UPDATE items SET title = 'x' WHERE id = 1500");
    free(verify(&a, repair, &t, false));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        archive_ask(&a, "%s", cases[i].sql);
        if (i == 2)
            archive_ask(&a, "INSERT INTO ingest_exceptions (item_id, segment_id, state, "
                            "updated_at) VALUES (1500, 2, 'dead_letter', 0)");
        CLEANUP(free_ptr)
        struct verify_report *look = verify(&a, (struct verify_options){0}, &t, false);
        assert_int_equal(look->found[FIND_UNCONFIRMED].count, 1);
        assert_false(verify_is_fine(look));
        CLEANUP(free_ptr) struct verify_report *r = verify(&a, repair, &t, false);
        if (r->rescan_segments != cases[i].made)
            fail_msg("case %zu made %lld", i, (long long)r->rescan_segments);
    }
    archive_close(&a);
}

static void nothing_within_the_bounds(void **state) {
    (void)state;
    struct archive a;
    struct err e;
    struct stop_token stop;
    archive_open(&a);
    fill(&a, 100, 200);
    assert_ok(stop_init(&stop, &e));
    CLEANUP(free_ptr) struct verify_report *r = xcalloc(1, sizeof *r);
    struct verify_options o = {.clock = &a.clock, .store = a.s, .stop = &stop, .start_id = 300};
    assert_int_equal(verify_run(&o, r, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "the archive ends at 200"));
    o.start_id = 0;
    o.end_id = 99;
    assert_int_equal(verify_run(&o, r, &e), V_INVALID);
    o.end_id = 100;
    assert_ok(verify_run(&o, r, &e));
    stop_release(&stop);
    archive_close(&a);
}

static void what_cannot_be(void **state) {
    (void)state;
    struct archive a;
    struct ticks t;
    archive_open(&a);
    fill(&a, 1, 10);
    archive_ask(&a, "UPDATE items SET id = 1 - id WHERE id IN (1, 4)"); /* 0 and -3 */
    archive_ask(&a, "UPDATE items SET parts = 'junk' WHERE id = 5");
    archive_ask(&a, "UPDATE updater_state SET floor_id = 8, frontier_id = 500");
    archive_ask(&a, "PRAGMA ignore_check_constraints = 1");
    archive_ask(&a, "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) "
                    "VALUES (6, 1, 'sideways', 0)");
    const struct verify_options repair = {.repair = true};
    CLEANUP(free_ptr) struct verify_report *r = verify(&a, repair, &t, false);
    assert_int_equal(r->found[FIND_ID].count, 2);
    assert_int_equal(r->found[FIND_ID].list[0].id, -3);
    assert_int_equal(r->found[FIND_CONTENT].list[0].id, 5);
    assert_int_equal(r->found[FIND_STRAY_EXCEPTION].list[0].id, 6);
    assert_int_equal(r->found[FIND_STATE].count, 2);
    assert_int_equal(r->floor, 1);
    assert_string_equal(archive_ask(&a, "SELECT floor_id, frontier_id FROM updater_state"), "1|5");
    assert_string_equal(archive_ask(&a, "SELECT state FROM ingest_exceptions"), "pending");
    archive_ask(&a, "DELETE FROM updater_state");
    CLEANUP(free_ptr) struct verify_report *again = verify(&a, repair, &t, false);
    assert_int_equal(again->found[FIND_ID].count, 0);
    assert_int_equal(again->found[FIND_STATE].count, 1);
    assert_int_equal(again->found[FIND_UNCONFIRMED].count, 1);
    assert_string_equal(archive_ask(&a, "SELECT floor_id, frontier_id FROM updater_state"), "1|5");
    archive_close(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_pages),
        cmocka_unit_test(empty_stretches_are_skipped),
        cmocka_unit_test(stops_between_pages),
        cmocka_unit_test(counts_all_and_lists_some),
        cmocka_unit_test(makes_segments_once),
        cmocka_unit_test(unconfirmed_until_fetched),
        cmocka_unit_test(nothing_within_the_bounds),
        cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
