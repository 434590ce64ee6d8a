/* Claims: in order, within the window, to one holder each, with all that the holder has to know. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static void ascending_and_within_the_window(void **state) {
    struct fix *f = *state;
    static const int64_t starts[] = {301, 1, 201, 101, 401};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        add_segment(f, PURPOSE_MIRROR, starts[i], starts[i] + 99);
    struct claim c;
    static const int64_t wanted[] = {101, 201, 301};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        c = claim_one(f, 50, 420); /* what is only partly in it is left alone */
        assert_int_equal(c.start_id, wanted[i]);
        assert_int_equal(c.end_id, wanted[i] + 99);
        assert_int_equal(c.cursor, wanted[i] - 1);
        assert_int_equal(c.purpose, PURPOSE_MIRROR);
    }
    assert_int_equal(try_claim(f, f->s, 50, 420, &c), V_NOT_FOUND);
    assert_int_equal(try_claim(f, f->s, 1, 100, &c), V_OK);
    assert_int_equal(c.start_id, 1);
    assert_int_equal(try_claim(f, f->s, 501, 1000, &c), V_NOT_FOUND);
    assert_q("me|1|in_progress", f,
             "SELECT holder, attempts, status FROM ingest_segments WHERE start_id = 101");
    assert_int_equal(qi(f, "SELECT lease_until FROM ingest_segments WHERE start_id = 101"),
                     T0 + LEASE_MS);
}

/* Gaps still come before the mirror, whatever the direction. */
static void descending_when_asked_for(void **state) {
    struct fix *f = *state;
    struct err e;
    static const int64_t starts[] = {301, 1, 201, 101, 401};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        add_segment(f, PURPOSE_MIRROR, starts[i], starts[i] + 99);
    add_segment(f, PURPOSE_GAP, 11, 20);
    add_segment(f, PURPOSE_RESCAN, 450, 460);
    const struct claim_ask ask = {
        .lo = 50, .hi = 420, .last = PURPOSE_RESCAN, .newest_first = true};
    static const int64_t wanted[] = {11, 301, 201, 101, 450};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        struct claim c;
        assert_ok(store_claim(f->s, "me", &ask, &f->arena, &c, &e));
        assert_int_equal(c.start_id, wanted[i]);
    }
}

static bool has(const struct claim *c, int64_t id) {
    size_t bit = (size_t)(id - c->cursor - 1);
    return c->stored[bit / 8] & (1u << (bit % 8));
}

static void stored_ids_are_known_to_the_claimer(void **state) {
    struct fix *f = *state;
    static const int64_t ids[] = {200001, 200009, 200010, 200100};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        x(f,
          "INSERT INTO items (id, content_hash, kids_hash, first_seen_at, last_fetched_at, "
          "last_changed_at) VALUES (%lld, 0, 0, 0, 0, 0)",
          (long long)ids[i]);
    for (int p = 0; p < PURPOSE_N; p++) {
        struct claim c = claim_new(f, (enum purpose)p, 200001, 200100);
        if (p == PURPOSE_REPLAY || p == PURPOSE_RESCAN) {
            assert_null(c.stored);
            continue;
        }
        for (int64_t id = 200001; id <= 200100; id++)
            assert_int_equal(has(&c, id),
                             id == 200001 || id == 200009 || id == 200010 || id == 200100);
    }
}

static void bitmap_begins_behind_the_cursor(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 50);
    struct batch *b = batch_for(&c, 20, true);
    put_item(b, T0, "{'id':20,'type':'story'}");
    put_item(b, T0, "{'id':22,'type':'story'}");
    put_item(b, T0, "{'id':50,'type':'story'}");
    apply_ok(f->s, b);
    c = claim_one(f, 1, 50);
    assert_int_equal(c.cursor, 20);
    assert_false(has(&c, 21));
    assert_true(has(&c, 22));
    assert_false(has(&c, 49));
    assert_true(has(&c, 50));
}

static void exceptions_come_with_the_claim(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 100);
    struct batch *b = batch_for(&c, 0, true);
    for (int64_t id = 40; id >= 1; id--) {
        struct batch_exception *ex =
            put_exception(b, id, (enum exception_state)(id % EXC_N), "timeout");
        ex->attempts = (int)id;
        ex->rung = (int)id % 3;
        ex->next_retry_at = id % EXC_N == EXC_RETRY_WAIT ? T0 + id : DB_NULL;
    }
    apply_ok(f->s, b);
    c = claim_one(f, 1, 100);
    assert_int_equal(c.n_exceptions, 40);
    for (int64_t id = 1; id <= 40; id++) {
        const struct claim_exception *ex = &c.exceptions[id - 1];
        assert_int_equal(ex->id, id);
        assert_int_equal(ex->state, id % EXC_N);
        assert_int_equal(ex->attempts, id);
        assert_int_equal(ex->rung, id % 3);
        assert_int_equal(ex->next_retry_at, id % EXC_N == EXC_RETRY_WAIT ? T0 + id : 0);
    }
    /* behind the cursor, what is confirmed missing needs no one's attention */
    apply_ok(f->s, batch_for(&c, 40, true));
    c = claim_one(f, 1, 100);
    assert_int_equal(c.n_exceptions, 30);
}

static void a_segment_is_cut_in_two(void **state) {
    struct fix *f = *state;
    struct err e;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 100);
    struct batch *b = batch_for(&c, 60, true);
    put_exception(b, 10, EXC_DEAD_LETTER, "timeout");
    put_exception(b, 50, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 55, EXC_DEAD_LETTER, "timeout");
    apply_ok(f->s, b);
    struct segment_list l = {0};
    assert_ok(store_segments(f->s, PURPOSE_MIRROR, &l, &e));
    assert_ok(store_split(f->s, &l.rows[0], 41, &e));
    assert_q("1|40|40|1|pending 41|100|60|1|pending", f,
             "SELECT start_id, end_id, scan_cursor_id, unresolved_count, status "
             "FROM ingest_segments ORDER BY start_id");
    assert_q("10|1 50|41 55|41", f,
             "SELECT x.item_id, s.start_id FROM ingest_exceptions x "
             "JOIN ingest_segments s ON s.segment_id = x.segment_id ORDER BY x.item_id");
    /* one that is held is left as it is */
    claim_one(f, 41, 100);
    assert_ok(store_segments(f->s, PURPOSE_MIRROR, &l, &e));
    assert_ok(store_split(f->s, &l.rows[1], 71, &e));
    assert_q("2", f, "SELECT COUNT(*) FROM ingest_segments");
    segment_list_release(&l);
}

static void troubled_replays_are_forgotten(void **state) {
    struct fix *f = *state;
    struct err e;
    struct claim c = claim_new(f, PURPOSE_REPLAY, 1, 100);
    struct batch *b = batch_for(&c, 100, true);
    put_exception(b, 10, EXC_DEAD_LETTER, "timeout");
    apply_ok(f->s, b);
    assert_ok(store_forget_replays(f->s, 101, 200, &e));
    assert_q("1", f, "SELECT COUNT(*) FROM ingest_segments");
    assert_ok(store_forget_replays(f->s, 100, 200, &e));
    assert_q("0", f, "SELECT COUNT(*) FROM ingest_segments");
    assert_q("0", f, "SELECT COUNT(*) FROM ingest_exceptions");
}

/* What the mirror gave up on is settled when a replay is told that there is no such item. */
static void a_replay_believes_an_old_null(void **state) {
    struct fix *f = *state;
    struct err e;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 100);
    struct batch *b = batch_for(&c, 100, true);
    put_exception(b, 10, EXC_DEAD_LETTER, "timeout");
    apply_ok(f->s, b);
    c = claim_new(f, PURPOSE_REPLAY, 1, 100);
    b = batch_for(&c, 100, true);
    put_exception(b, 10, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 11, EXC_TERMINAL_MISSING, "null_old");
    apply_ok(f->s, b);
    assert_q("10|terminal_missing|null_old", f,
             "SELECT item_id, state, failure_class FROM ingest_exceptions");
    assert_q("resolved", f, "SELECT state FROM ingest_dlq_items");
    assert_ok(store_reclaim(f->s, &e));
    assert_q("done|0", f, "SELECT status, unresolved_count FROM ingest_segments");
}

/* Threads that claim for as long as there is something, each over a connection of its own. */
#define N_SEGMENTS 200

struct claimer {
    struct store *s;
    atomic_int *taken; /* per segment, by start id */
    int n;
    enum verdict last;
};

static void *claim_all(void *arg) {
    struct claimer *me = arg;
    struct arena a;
    arena_init(&a);
    for (;;) {
        struct claim c;
        struct err e;
        me->last = store_claim(me->s, "me", &(struct claim_ask){1, N_SEGMENTS * 10, PURPOSE_RESCAN},
                               &a, &c, &e);
        if (me->last == V_RETRY && store_recover(me->s, &e) == V_OK)
            continue;
        if (me->last != V_OK)
            break;
        atomic_fetch_add(&me->taken[c.start_id / 10], 1);
        me->n++;
        arena_reset(&a);
    }
    arena_release(&a);
    return NULL;
}

static void never_the_same_twice(void **state) {
    struct fix *f = *state;
    int n = fix_kind == DB_POSTGRES ? 8 : 2;
    static atomic_int taken[N_SEGMENTS];
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < N_SEGMENTS; i++)
        x(f,
          "INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id) "
          "VALUES (%d, %d, 'mirror', %d)",
          i * 10 + 1, i * 10 + 10, i * 10);
    struct claimer claimers[8];
    pthread_t threads[8];
    for (int i = 0; i < n; i++)
        claimers[i] = (struct claimer){.s = fix_open(f), .taken = taken};
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_all, &claimers[i]), 0);
    int total = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(claimers[i].last, V_NOT_FOUND);
        total += claimers[i].n;
    }
    assert_int_equal(total, N_SEGMENTS);
    for (int i = 0; i < N_SEGMENTS; i++)
        assert_int_equal(atomic_load(&taken[i]), 1);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM ingest_segments WHERE status = 'in_progress' "
                           "AND lease_token = 1"),
                     N_SEGMENTS);
}

static void work_of_a_window(void **state) {
    struct fix *f = *state;
    struct err e;
    struct window_work w;
    assert_ok(store_window_work(f->s, 1, 1000, &w, &e));
    assert_int_equal(w.pending + w.unfinished, 0);
    assert_int_equal(w.failure_due_ms, -1);
    assert_int_equal(w.ladder_due_ms, -1);
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 2, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 700;
    put_exception(b, 3, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 500;
    struct batch_exception *ex = put_exception(b, 4, EXC_RETRY_WAIT, "null_young");
    ex->rung = 1;
    ex->next_retry_at = T0 + 5000;
    apply_ok(f->s, b);
    claim_new(f, PURPOSE_MIRROR, 11, 20);
    add_segment(f, PURPOSE_MIRROR, 21, 30);
    assert_ok(store_window_work(f->s, 1, 1000, &w, &e));
    assert_int_equal(w.pending, 1);
    assert_int_equal(w.unfinished, 2);
    assert_int_equal(w.failure_due_ms, 500);
    assert_int_equal(w.ladder_due_ms, 5000);
    fix_advance(f, 600);
    assert_ok(store_window_work(f->s, 1, 10, &w, &e));
    assert_int_equal(w.pending + w.unfinished, 0);
    assert_int_equal(w.failure_due_ms, 0);
    assert_int_equal(w.ladder_due_ms, 4400);
}

int claim_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(ascending_and_within_the_window),
        CASE(descending_when_asked_for),
        CASE(stored_ids_are_known_to_the_claimer),
        CASE(bitmap_begins_behind_the_cursor),
        CASE(exceptions_come_with_the_claim),
        CASE(a_segment_is_cut_in_two),
        CASE(troubled_replays_are_forgotten),
        CASE(a_replay_believes_an_old_null),
        CASE(never_the_same_twice),
        CASE(work_of_a_window),
    };
    return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
