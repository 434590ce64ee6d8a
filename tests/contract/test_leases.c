/* Fenced leases: who lost one can write nothing, live work is never taken, dead work at once. */
#include "fixture.h"

#include "base/thread.h"

#include <string.h>

static struct batch *full_batch(const struct claim *c) {
    struct batch *b = batch_for(c, 15, false);
    put_item(b, T0 + 5, "{'id':11,'type':'story','kids':[12,13]}");
    put_item(b, T0 + 5, "{'id':12,'type':'comment','parent':11,'text':'changed'}");
    put_exception(b, 13, EXC_DEAD_LETTER, "garbage");
    put_exception(b, 14, EXC_TERMINAL_MISSING, "null_old");
    return b;
}

static void wrong_token_writes_nothing_at_all(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    struct batch *b = batch_for(&c, 12, false);
    put_item(b, T0, "{'id':12,'type':'comment','parent':11,'text':'first'}");
    put_exception(b, 11, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 1;
    apply_ok(f->s, b);
    const char *before = dump(f);
    static const int64_t off[] = {-1, 1, 1000};
    for (size_t i = 0; i < ARRAY_LEN(off); i++) {
        struct claim wrong = c;
        wrong.lease_token += off[i];
        assert_int_equal(apply_verdict(f->s, full_batch(&wrong)), V_CONFLICT);
        assert_string_equal(dump(f), before);
    }
    struct claim other = c;
    other.segment_id += 7;
    assert_int_equal(apply_verdict(f->s, full_batch(&other)), V_CONFLICT);
    assert_string_equal(dump(f), before);
    assert_int_equal(apply_verdict(f->s, full_batch(&c)), V_OK);
}

/* The holder sleeps through its lease; another one claims, works and finishes. */
static void zombie_can_finish_nothing(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    struct claim zombie = claim_new(f, PURPOSE_MIRROR, 10, 19), next;
    fix_advance(f, LEASE_MS + 1);
    struct err e;
    assert_ok(store_reclaim(other, &e));
    const char *before = dump(f);
    assert_int_equal(apply_verdict(f->s, full_batch(&zombie)), V_CONFLICT);
    assert_string_equal(dump(f), before);

    assert_ok(store_claim(other, "other", &(struct claim_ask){1, 100, PURPOSE_RESCAN}, &f->arena,
                          &next, &e));
    assert_int_equal(next.segment_id, zombie.segment_id);
    assert_true(next.lease_token > zombie.lease_token);
    before = dump(f);
    struct batch *release = batch_for(&zombie, 19, true);
    assert_int_equal(apply_verdict(f->s, release), V_CONFLICT);
    assert_string_equal(dump(f), before);

    apply_ok(other, batch_for(&next, 19, true));
    before = dump(f);
    assert_int_equal(apply_verdict(f->s, full_batch(&zombie)), V_CONFLICT);
    assert_string_equal(dump(f), before);
}

static void released_is_released(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19);
    apply_ok(f->s, batch_for(&c, 12, true));
    const char *before = dump(f);
    assert_int_equal(apply_verdict(f->s, full_batch(&c)), V_CONFLICT);
    assert_string_equal(dump(f), before);
}

/* Of a database whose clock was hours ahead and was set right. */
static void wrong_clock_freezes_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t now = clock_real(&f->clock);
    fix_advance(f, 5 * 3600000);
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19),
                 held = claim_new(f, PURPOSE_MIRROR, 20, 29), next;
    struct batch *b = batch_for(&c, 19, true);
    for (int64_t id = 10; id < 19; id++)
        put_exception(b, id, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 19, EXC_RETRY_WAIT, "timeout")->next_retry_at = now + 5 * 3600000 + 1000;
    apply_ok(f->s, b);
    fix_set_now(f, now + 10000);
    reclaim(f);
    for (int i = 0; i < 2; i++) {
        assert_ok(store_claim(f->s, "next", &(struct claim_ask){1, 100, PURPOSE_RESCAN}, &f->arena,
                              &next, &e));
        assert_int_equal(next.segment_id, i == 0 ? c.segment_id : held.segment_id);
        if (i == 0)
            assert_true(next.exceptions[next.n_exceptions - 1].next_retry_at <= now + 10000);
    }
    assert_int_equal(apply_verdict(f->s, batch_for(&held, 20, false)), V_CONFLICT);
    x(f,
      "INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, rung,"
      " next_retry_at, first_at, last_at) VALUES ('realtime', 5, 'retry_wait', 'timeout', 1, 0,"
      " %lld, %lld, %lld)",
      (long long)now + 9000000, (long long)now + 8000000, (long long)now + 8000000);
    reclaim(f);
    assert_q("0", f, "SELECT next_retry_at - %lld FROM ingest_dlq_items WHERE item_id = 5",
             (long long)now + 10000);
}

static void live_work_is_never_taken(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19), none;
    for (int beat = 0; beat < 8; beat++) {
        fix_advance(f, LEASE_MS - 1);
        reclaim(f);
        assert_int_equal(try_claim(f, f->s, 1, 100, &none), V_NOT_FOUND);
        apply_ok(f->s, batch_for(&c, 9, false));
    }
    fix_advance(f, LEASE_MS);
    reclaim(f);
    assert_int_equal(try_claim(f, f->s, 1, 100, &none), V_NOT_FOUND);
}

static void lease_ends_without_a_heartbeat(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 10, 19), again;
    apply_ok(f->s, batch_for(&c, 14, false));
    fix_advance(f, LEASE_MS + 1);
    assert_int_equal(try_claim(f, f->s, 1, 100, &again), V_NOT_FOUND);
    reclaim(f);
    assert_q("pending|-|0|14", f,
             "SELECT status, holder, lease_until, scan_cursor_id FROM ingest_segments");
    assert_int_equal(try_claim(f, f->s, 1, 100, &again), V_OK);
    assert_int_equal(again.cursor, 14);
    assert_int_equal(qi(f, "SELECT attempts FROM ingest_segments"), 2);
}

static void length_of_a_lease_is_an_option(void **state) {
    struct fix *f = *state;
    f->s->lease_ms = 5000;
    claim_new(f, PURPOSE_MIRROR, 10, 19);
    assert_int_equal(qi(f, "SELECT lease_until FROM ingest_segments"), T0 + 5000);
    assert_int_equal(qi(f, "SELECT started_at FROM ingest_segments"), T0);
}

static void dead_local_holder_is_reclaimed_at_once(void **state) {
    struct fix *f = *state;
    char dead[200], alive[200], elsewhere[260];
    dead_identity(dead, sizeof dead);
    process_identity(alive, sizeof alive);
    snprintf(elsewhere, sizeof elsewhere, "far-away%s", strchr(dead, ':'));
    const char *const holders[] = {dead, alive, elsewhere, "nonsense", dead};
    struct claim claims[ARRAY_LEN(holders)];
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        add_segment(f, PURPOSE_MIRROR, 10 * (int64_t)i + 1, 10 * (int64_t)i + 10);
        assert_ok(store_claim(f->s, holders[i], &(struct claim_ask){1, 100, PURPOSE_RESCAN},
                              &f->arena, &claims[i], &e));
    }
    reclaim(f);
    assert_q("pending in_progress in_progress in_progress pending", f,
             "SELECT status FROM ingest_segments ORDER BY start_id");
    /* the token went up, so even a ghost could write nothing */
    assert_int_equal(apply_verdict(f->s, batch_for(&claims[0], 5, false)), V_CONFLICT);
    assert_int_equal(apply_verdict(f->s, batch_for(&claims[1], 15, false)), V_OK);
}

int lease_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(wrong_token_writes_nothing_at_all),
        CASE(zombie_can_finish_nothing),
        CASE(released_is_released),
        CASE(wrong_clock_freezes_nothing),
        CASE(live_work_is_never_taken),
        CASE(lease_ends_without_a_heartbeat),
        CASE(length_of_a_lease_is_an_option),
        CASE(dead_local_holder_is_reclaimed_at_once),
    };
    return cmocka_run_group_tests_name("leases", tests, NULL, NULL);
}
