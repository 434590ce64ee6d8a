/* Lanes: one provider's limits, kept by all processes together. Each store is a process. */
#include "fixture.h"

#include "base/rng.h"
#include "store/lanes.h"

#include <stdlib.h>
#include <string.h>

#define LOOKUP STR("lookup")

static const struct lane_limits fifty_a_minute = {50, 60000, 5};

static void declare(struct store *s, int per_window, int64_t window_ms, int slots) {
    struct err e;
    const struct lane_limits l = {per_window, window_ms, slots};
    assert_ok(store_lane_declare(s, LOOKUP, &l, &e));
}

static struct lane_turns *take_back(struct store *s, const char *holder, int want,
                                    const int *give_back, size_t n_give_back) {
    static struct lane_turns turns;
    struct err e;
    const struct lane_ask ask = {.name = LOOKUP,
                                 .holder = str_of(holder),
                                 .want = want,
                                 .hold_ms = 10000,
                                 .give_back = give_back,
                                 .n_give_back = n_give_back};
    assert_ok(store_lane_take(s, &ask, &turns, &e));
    return &turns;
}

static struct lane_turns *take(struct store *s, const char *holder, int want) {
    return take_back(s, holder, want, NULL, 0);
}

static enum lane_why why(struct fix *f) {
    return take(f->s, "me", 1)->grant.why;
}

static bool report(struct store *s, enum lane_result r, int64_t retry_after_ms) {
    struct err e;
    struct lane_told told;
    assert_ok(store_lane_report(s, LOOKUP, r, retry_after_ms, &told, &e));
    return told.changed;
}

static struct lane_row the_lane(struct fix *f) {
    const struct lane_row *rows;
    size_t n;
    struct err e;
    assert_ok(store_lane_list(f->s, &f->arena, &rows, &n, &e));
    assert_int_equal(n, 1);
    return rows[0];
}

/* --- an hour of five processes --- */

#define WORKERS 5
#define HOUR_MS INT64_C(3600000)
#define HOLD_MS 15000
#define CALLS_MAX 8192

struct call {
    int64_t start, end;
};

struct worker {
    struct store *s;
    char holder[16];
    struct lane_turns turns; /* in hand, times of the database */
    int used;
    int64_t wake, ask_at;
    bool dead;
    struct {
        int64_t end;
        int slot;
    } busy[LANE_SLOTS_MAX];
    int n_busy;
    int give_back[LANE_SLOTS_MAX];
    size_t n_give_back;
};

struct hour {
    struct fix *f;
    struct rng rng;
    struct worker w[WORKERS];
    struct call calls[CALLS_MAX];
    int n_calls;
    int64_t now;
};

static void set_now(struct hour *h, struct worker *w) {
    struct err e;
    char sql[80];
    clock_advance(&h->f->clock, h->now - clock_real(&h->f->clock));
    snprintf(sql, sizeof sql, "SET tain.now_ms = '%lld'", (long long)h->now);
    if (fix_kind == DB_POSTGRES)
        assert_ok(db_script(w->s->db, sql, &e));
}

static void end_calls(struct hour *h, struct worker *w) {
    for (int i = w->n_busy - 1; i >= 0; i--)
        if (w->busy[i].end <= h->now) {
            w->give_back[w->n_give_back++] = w->busy[i].slot;
            w->busy[i] = w->busy[--w->n_busy];
        }
}

static void start_calls(struct hour *h, struct worker *w) {
    struct lane_grant *g = &w->turns.grant;
    for (int next = lane_next_turn(g, w->used, h->now * 1000); w->used < next; w->used++)
        w->give_back[w->n_give_back++] = w->turns.slots[w->used];
    for (int due = lane_turns_due(g, w->used, h->now * 1000); due > 0; due--) {
        int64_t lasts =
            rng_below(&h->rng, 20) == 0 ? 9000 : 200 + (int64_t)rng_below(&h->rng, 4000);
        assert_true(h->n_calls < CALLS_MAX);
        h->calls[h->n_calls++] = (struct call){h->now, h->now + lasts};
        w->busy[w->n_busy].end = h->now + lasts;
        w->busy[w->n_busy++].slot = w->turns.slots[w->used++];
    }
}

static void ask(struct hour *h, struct worker *w) {
    struct err e;
    const struct lane_ask a = {.name = LOOKUP,
                               .holder = str_of(w->holder),
                               .want = 1 + (int)rng_below(&h->rng, 3),
                               .hold_ms = HOLD_MS,
                               .give_back = w->give_back,
                               .n_give_back = w->n_give_back};
    assert_ok(store_lane_take(w->s, &a, &w->turns, &e));
    w->n_give_back = 0;
    w->used = 0;
    if (w->turns.grant.why == LANE_GO) {
        w->turns.grant.start_us += h->now * 1000;
        w->turns.grant.until_us += h->now * 1000;
    } else {
        assert_true(w->turns.grant.wait_ms > 0);
        w->ask_at = h->now + w->turns.grant.wait_ms + (int64_t)rng_below(&h->rng, 20);
    }
}

static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void act(struct hour *h, struct worker *w) {
    const struct lane_grant *g = &w->turns.grant;
    set_now(h, w);
    end_calls(h, w);
    start_calls(h, w);
    if (w->used >= g->n && (h->now >= w->ask_at || w->n_give_back))
        ask(h, w);
    w->wake = w->used < g->n ? (g->start_us + w->used * g->interval_us + 999) / 1000 : w->ask_at;
    for (int i = 0; i < w->n_busy; i++)
        w->wake = sooner(w->wake, w->busy[i].end);
    if (w->wake <= h->now)
        w->wake = h->now + 1;
    if (rng_below(&h->rng, 100) == 0) /* a stall: it comes too late for whatever was due */
        w->wake = h->now + (int64_t)rng_below(&h->rng, 6000);
}

/* Its calls may go on over there; the slots are counted until their leases end. */
static void die(struct hour *h, struct worker *w) {
    assert_true(w->n_busy > 0);
    w->dead = true;
    int64_t until =
        qi(h->f, "SELECT MAX(until) FROM provider_slots WHERE holder = '%s'", w->holder);
    assert_true(until > h->now && until < h->now + HOLD_MS + 3000);
    for (int i = 0; i < w->n_busy; i++)
        for (int k = 0; k < h->n_calls; k++)
            if (h->calls[k].end == w->busy[i].end)
                h->calls[k].end = until;
}

static struct worker *next_worker(struct hour *h) {
    struct worker *first = NULL;
    for (int i = 0; i < WORKERS; i++)
        if (!h->w[i].dead && (!first || h->w[i].wake < first->wake))
            first = &h->w[i];
    return first;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void assert_never_more(const struct hour *h) {
    static int64_t starts[CALLS_MAX], ends[CALLS_MAX];
    for (int i = 0; i < h->n_calls; i++) {
        starts[i] = h->calls[i].start;
        ends[i] = h->calls[i].end;
    }
    qsort(starts, (size_t)h->n_calls, sizeof starts[0], by_number);
    qsort(ends, (size_t)h->n_calls, sizeof ends[0], by_number);
    for (int i = 0; i + 50 < h->n_calls; i++)
        if (starts[i + 50] - starts[i] <= 60000)
            fail_msg("51 calls within %lld ms", (long long)(starts[i + 50] - starts[i]));
    for (int i = 0, over = 0; i < h->n_calls; i++) {
        while (ends[over] <= starts[i])
            over++;
        if (i + 1 - over > 5)
            fail_msg("%d at once", i + 1 - over);
    }
}

static void five_processes_keep_one_limit_for_an_hour(void **state) {
    struct fix *f = *state;
    struct hour *h = xcalloc(1, sizeof *h);
    h->f = f;
    h->rng.state = 8;
    declare(f->s, 50, 60000, 5);
    for (int i = 0; i < WORKERS; i++) {
        h->w[i].s = fix_open(f);
        snprintf(h->w[i].holder, sizeof h->w[i].holder, "worker-%d", i);
        h->w[i].wake = T0 + i * 10;
    }
    struct worker *w;
    while ((w = next_worker(h))->wake < T0 + HOUR_MS) {
        h->now = w->wake;
        act(h, w);
        if (w == &h->w[3] && h->now > T0 + HOUR_MS / 3 && w->n_busy > 0)
            die(h, w);
    }
    assert_true(h->w[3].dead);
    assert_never_more(h);
    if (h->n_calls < 2850)
        fail_msg("%d calls in an hour of 3000", h->n_calls);
    free(h);
}

/* --- one by one --- */

static void turns_are_shared(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    declare(f->s, 50, 60000, 5);
    struct lane_turns *t = take(f->s, "me", 10);
    assert_int_equal(t->grant.why, LANE_GO);
    assert_int_equal(t->grant.n, 1);
    assert_int_equal(t->grant.start_us, 0);
    assert_in_range(t->grant.until_us, 500000, 1000000);
    assert_false(t->troubled);
    t = take(other, "other", 1);
    assert_int_equal(t->grant.why, LANE_PACED);
    assert_int_equal(t->grant.wait_ms, 725);
    fix_advance(f, 725);
    t = take(other, "other", 1);
    assert_int_equal(t->grant.why, LANE_GO);
    assert_int_equal(t->grant.start_us, 499490);
    assert_int_equal(t->slots[0], 1);
    assert_int_equal(the_lane(f).slots_taken, 2);
}

static void high_rates_take_leases(void **state) {
    struct fix *f = *state;
    declare(f->s, 60000, 60000, 0);
    int turns = 0, takes = 0;
    for (int64_t ms = 0; ms < 10000; takes++) {
        struct lane_turns *t = take(f->s, "me", 300);
        int64_t wait = t->grant.why == LANE_GO ? 1 : t->grant.wait_ms;
        turns += t->grant.n;
        fix_advance(f, wait);
        ms += wait;
    }
    assert_in_range(turns, 9500, 10300);
    assert_true(takes * 50 < turns);
}

static void slots_come_back(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    declare(f->s, 0, 60000, 3);
    struct lane_turns *t = take(f->s, "me", 2);
    assert_int_equal(t->grant.n, 2);
    const int mine[] = {t->slots[0], t->slots[1], 2, -1, 99999};
    t = take(other, "other", 5);
    assert_int_equal(t->grant.n, 1);
    assert_int_equal(t->slots[0], 2);
    assert_int_equal(take(other, "other", 1)->grant.why, LANE_FULL);
    /* the third one is not ours to give back; a slot that is given back can be taken again at once
     */
    t = take_back(f->s, "me", 1, mine, 5);
    assert_int_equal(t->grant.n, 1);
    assert_q("0|me 2|other", f,
             "SELECT slot, holder FROM provider_slots WHERE holder IS NOT NULL ORDER BY slot");
    struct err e;
    const int all[] = {0, 1, 2};
    assert_ok(store_lane_give_back(f->s, LOOKUP, STR("me"), all, 3, &e));
    assert_int_equal(the_lane(f).slots_taken, 1);
    assert_ok(store_lane_give_back(other, LOOKUP, STR("other"), all, 3, &e));
    assert_int_equal(the_lane(f).slots_taken, 0);
    /* without asking for more */
    take(f->s, "me", 2);
    t = take_back(f->s, "me", 0, mine, 2);
    assert_int_equal(t->grant.n, 0);
    assert_int_equal(the_lane(f).slots_taken, 0);
}

static void slots_of_the_dead_end_with_their_lease(void **state) {
    struct fix *f = *state;
    declare(f->s, 0, 60000, 2);
    assert_int_equal(take(f->s, "dead", 5)->grant.n, 2);
    fix_advance(f, 10000); /* of hold_ms; and the turn itself was good for a second */
    assert_int_equal(take(f->s, "me", 1)->grant.why, LANE_FULL);
    fix_advance(f, 1001);
    assert_int_equal(take(f->s, "me", 5)->grant.n, 2);
    const int both[] = {0, 1};
    take_back(f->s, "dead", 0, both, 2); /* a zombie */
    assert_int_equal(the_lane(f).slots_taken, 2);
}

static void limits_can_change(void **state) {
    struct fix *f = *state;
    declare(f->s, 0, 60000, 5);
    assert_int_equal(take(f->s, "me", 5)->grant.n, 5);
    declare(f->s, 60, 60000, 3);
    assert_int_equal(why(f), LANE_FULL);
    const int three[] = {0, 1, 2};
    struct lane_turns *t = take_back(f->s, "me", 1, three, 3);
    assert_int_equal(t->grant.n, 1); /* two of five are held: one of three is free */
    assert_true(t->slots[0] < 3);
    assert_int_equal(the_lane(f).limits.per_window, 60);
    declare(f->s, 0, 60000, 0);
    assert_int_equal(take(f->s, "me", 400)->grant.n, 400);
    const char *before = dump(f);
    declare(f->s, 0, 60000, 0);
    assert_string_equal(dump(f), before);
}

static void a_lane_is_named_and_limited(void **state) {
    struct fix *f = *state;
    struct err e;
    static const struct {
        const char *name;
        struct lane_limits l;
    } wrong[] = {
        {"", {1, 60000, 1}},
        {"hn-upstream", {1, 60000, 1}},
        {"a-name-of-sixty-five-bytes-is-longer-than-any-that-a-lane-may-ever", {1, 60000, 1}},
        {"x", {-1, 60000, 1}},
        {"x", {1, 999, 1}},
        {"x", {1, LANE_WINDOW_MAX_MS + 1, 1}},
        {"x", {1, 60000, -1}},
        {"x", {1, 60000, LANE_SLOTS_MAX + 1}},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (store_lane_declare(f->s, str_of(wrong[i].name), &wrong[i].l, &e) != V_INVALID)
            fail_msg("case %zu", i);
    struct lane_turns t;
    const struct lane_ask ask = {.name = STR("none"), .holder = STR("me"), .want = 1};
    struct lane_told told;
    assert_int_equal(store_lane_take(f->s, &ask, &t, &e), V_NOT_FOUND);
    assert_int_equal(store_lane_report(f->s, STR("none"), LANE_OK, -1, &told, &e), V_NOT_FOUND);
    assert_int_equal(store_lane_report(f->s, STR("none"), LANE_AUTH, -1, &told, &e), V_NOT_FOUND);
    assert_int_equal(store_lane_pause(f->s, STR("none"), "x", &e), V_NOT_FOUND);
    assert_int_equal(store_lane_resume(f->s, STR("none"), &e), V_NOT_FOUND);
    /* the mirror's own rate is no lane */
    int64_t wait;
    assert_ok(store_reserve_turns(f->s, "hn-upstream", 10, 1, &wait, &e));
    assert_int_equal(store_lane_pause(f->s, STR("hn-upstream"), "x", &e), V_NOT_FOUND);
    const struct lane_row *rows;
    size_t n;
    assert_ok(store_lane_list(f->s, &f->arena, &rows, &n, &e));
    assert_int_equal(n, 0);
}

static void it_is_paused_and_resumed(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    struct err e;
    declare(f->s, 0, 60000, 0);
    assert_ok(store_lane_pause(other, LOOKUP, "they asked \xff us to", &e));
    assert_int_equal(take(f->s, "me", 1)->grant.wait_ms, -1);
    assert_int_equal(why(f), LANE_PAUSED);
    struct lane_row row = the_lane(f);
    assert_int_equal(row.state.pause, LANE_PAUSED_BY_HAND);
    assert_int_equal(row.paused_at, T0);
    assert_int_equal(row.wait_ms, -1);
    assert_true(str_eqc(row.paused_why, "they asked ? us to"));
    assert_false(report(f->s, LANE_AUTH, -1));
    assert_int_equal(the_lane(f).state.pause, LANE_PAUSED_BY_HAND);
    report(f->s, LANE_WAIT, 60000);
    assert_ok(store_lane_resume(f->s, LOOKUP, &e));
    assert_int_equal(why(f), LANE_GO);
    row = the_lane(f);
    assert_null(row.paused_why.p);
    assert_int_equal(row.paused_at, 0);
}

static void a_refusal_pauses_it_for_all(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    declare(f->s, 0, 60000, 0);
    assert_true(report(f->s, LANE_AUTH, -1));
    assert_false(report(other, LANE_AUTH, -1));
    assert_int_equal(take(other, "other", 1)->grant.why, LANE_PAUSED);
    struct lane_row row = the_lane(f);
    assert_int_equal(row.state.pause, LANE_PAUSED_AUTH);
    assert_non_null(strstr(row.paused_why.p, "401"));
}

static void what_a_provider_asks_for_is_kept(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    declare(f->s, 0, 60000, 2);
    assert_false(report(f->s, LANE_WAIT, 30000));
    struct lane_turns *t = take(other, "other", 1);
    assert_int_equal(t->grant.why, LANE_NOT_BEFORE);
    assert_int_equal(t->grant.wait_ms, 30000);
    assert_false(t->troubled);
    fix_advance(f, 30000);
    assert_int_equal(take(other, "other", 1)->grant.why, LANE_GO);
}

static void one_probe_over_all_processes(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    declare(f->s, 0, 60000, 0);
    for (int i = 1; i < LANE_TRIP_AFTER; i++)
        assert_false(report(i % 2 ? f->s : other, LANE_TRANSIENT, -1));
    assert_true(take(f->s, "me", 1)->troubled);
    assert_true(report(other, LANE_TRANSIENT, -1));
    assert_int_equal(take(f->s, "me", 1)->grant.wait_ms, LANE_OPEN_MS);
    fix_advance(f, LANE_OPEN_MS);
    struct lane_turns *t = take(other, "other", 100);
    assert_int_equal(t->grant.n, 1);
    assert_true(t->grant.probe);
    assert_int_equal(why(f), LANE_BREAKER);
    assert_int_equal(the_lane(f).state.breaker, BREAKER_HALF_OPEN);
    /* it comes back unused */
    struct err e;
    struct lane_turns turns;
    const struct lane_ask ask = {
        .name = LOOKUP, .holder = STR("other"), .want = 0, .probe_back = true};
    assert_ok(store_lane_take(other, &ask, &turns, &e));
    t = take(f->s, "me", 100);
    assert_true(t->grant.probe);
    assert_true(report(f->s, LANE_TRANSIENT, -1));
    assert_int_equal(take(other, "other", 1)->grant.wait_ms, 2 * LANE_OPEN_MS);
    fix_advance(f, 2 * LANE_OPEN_MS);
    assert_true(take(other, "other", 1)->grant.probe);
    fix_advance(f, LANE_PROBE_MS); /* it died with it */
    assert_true(take(f->s, "me", 1)->grant.probe);
    assert_true(report(f->s, LANE_OK, -1));
    t = take(other, "other", 100);
    assert_int_equal(t->grant.n, 100);
    assert_false(t->troubled);
}

static void success_of_a_lane_that_is_well_writes_nothing(void **state) {
    struct fix *f = *state;
    declare(f->s, 50, 60000, 5);
    take(f->s, "me", 1);
    const char *before = dump(f);
    assert_false(report(f->s, LANE_OK, -1));
    assert_string_equal(dump(f), before);
    report(f->s, LANE_TRANSIENT, -1);
    assert_int_equal(the_lane(f).state.failures, 1);
    assert_false(report(f->s, LANE_OK, -1));
    assert_string_equal(dump(f), before);
}

/* Turns of a lane without limits are not counted: so nobody has to wait for who holds its row. */
static void a_lane_without_limits_has_no_queue(void **state) {
    struct fix *f = *state;
    declare(f->s, 0, 60000, 0);
    const char *before = dump(f);
    if (fix_kind == DB_POSTGRES) {
        x(f, "BEGIN");
        x(f, "SELECT 1 FROM providers WHERE name = 'lookup' FOR UPDATE");
    }
    const struct lane_turns *t = take(f->s, "me", 500);
    assert_int_equal(t->grant.why, LANE_GO);
    assert_int_equal(t->grant.n, 500);
    assert_int_equal(t->grant.start_us, 0);
    assert_true(t->grant.until_us > 0);
    if (fix_kind == DB_POSTGRES)
        x(f, "COMMIT");
    assert_string_equal(dump(f), before);
    for (int i = 0; i < LANE_TRIP_AFTER; i++) /* in trouble it has a state like any other */
        report(f->s, LANE_TRANSIENT, -1);
    assert_int_equal(why(f), LANE_BREAKER);
    fix_advance(f, LANE_OPEN_MS + 1);
    assert_true(take(f->s, "me", 500)->grant.probe);
    assert_int_equal(why(f), LANE_BREAKER);
}

static void a_wrong_clock_freezes_no_lane(void **state) {
    struct fix *f = *state;
    declare(f->s, 50, 60000, 2);
    fix_advance(f, 86400000);
    take(f->s, "other", 1);
    report(f->s, LANE_WAIT, 60000);
    fix_set_now(f, T0);
    struct lane_turns *t = take(f->s, "me", 1);
    assert_int_equal(t->grant.why, LANE_GO);
    assert_int_equal(t->grant.start_us, 0);
    assert_int_equal(the_lane(f).slots_taken, 1);
}

static void lanes_are_listed(void **state) {
    struct fix *f = *state;
    struct err e;
    const struct lane_row *rows;
    size_t n;
    assert_ok(store_lane_declare(f->s, STR("zebra"), &fifty_a_minute, &e));
    assert_ok(store_lane_declare(f->s, STR("ant"), &fifty_a_minute, &e));
    declare(f->s, 50, 60000, 1);
    assert_int_equal(why(f), LANE_GO);
    assert_ok(store_lane_list(f->s, &f->arena, &rows, &n, &e));
    assert_int_equal(n, 3);
    assert_true(str_eqc(rows[0].name, "ant") && str_eqc(rows[2].name, "zebra"));
    assert_int_equal(rows[0].why, LANE_GO);
    assert_int_equal(rows[0].wait_ms, 0);
    assert_int_equal(rows[1].why, LANE_FULL);
    assert_int_equal(rows[1].slots_taken, 1);
    assert_true(rows[1].wait_ms > 0);
}

int lane_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(turns_are_shared),
        CASE(five_processes_keep_one_limit_for_an_hour),
        CASE(high_rates_take_leases),
        CASE(slots_come_back),
        CASE(slots_of_the_dead_end_with_their_lease),
        CASE(limits_can_change),
        CASE(a_lane_is_named_and_limited),
        CASE(it_is_paused_and_resumed),
        CASE(a_refusal_pauses_it_for_all),
        CASE(what_a_provider_asks_for_is_kept),
        CASE(one_probe_over_all_processes),
        CASE(success_of_a_lane_that_is_well_writes_nothing),
        CASE(a_lane_without_limits_has_no_queue),
        CASE(a_wrong_clock_freezes_no_lane),
        CASE(lanes_are_listed),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
