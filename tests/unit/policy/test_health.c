/* When the upstream counts as ill, how it is probed, and that recovery starts afresh. */
#include "policy/health.h"

#include "base/rng.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A run of results: "7*12" is written {12, 7}: twelve of class 7. */
struct run {
    int times, cls;
};

/* Notes the runs; answers after how many results it fell ill, 0 when it did not. */
static int fell_ill_at(struct health *h, const struct run *runs, size_t n) {
    int at = 0, noted = 0;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < runs[i].times; k++) {
            noted++;
            if (health_note(h, 1000 + noted, runs[i].cls, noted)) {
                assert_int_equal(at, 0);
                at = noted;
            }
        }
    assert_int_equal(h->ill, at != 0);
    return at;
}

static void ill_exactly_above_half(void **state UNUSED) {
    static const struct {
        struct run runs[5];
        int at, cls;
    } cases[] = {
        {{{200, 0}}, 0, 0},
        {{{49, 3}}, 0, 0}, /* too few */
        {{{50, 3}}, 50, 3},
        {{{25, 3}, {25, 0}}, 0, 0},  /* half is not more than half */
        {{{26, 3}, {24, 0}}, 50, 3}, /* a success completes the fifty */
        {{{24, 0}, {26, 3}}, 50, 3},
        {{{25, 0}, {25, 3}, {1, 3}}, 51, 3},
        {{{25, 0}, {25, 3}, {1, 0}, {1, 3}}, 0, 0}, /* 26 of 52 */
        {{{200, 0}, {100, 3}}, 0, 0},
        {{{200, 0}, {101, 3}}, 301, 3},
        {{{500, 0}, {101, 3}}, 601, 3}, /* only the last 200 count */
        {{{100, 0}, {101, 3}}, 201, 3}, /* the oldest success has left */
        {{{100, 0}, {100, 3}, {100, 0}}, 0, 0},
        {{{200, 0}, {80, 3}, {80, 4}}, 0, 0}, /* failures that share no class */
        {{{200, 0}, {70, 3}, {30, 4}, {30, 3}}, 0, 0},
        {{{200, 0}, {70, 3}, {30, 4}, {31, 3}}, 331, 3},
        {{{20, 5}, {80, 0}, {100, 3}, {1, 3}}, 201, 3},
        {{{50, HEALTH_MAX_CLASSES - 1}}, 50, HEALTH_MAX_CLASSES - 1},
        {{{50, HEALTH_MAX_CLASSES}}, 50, HEALTH_MAX_CLASSES - 1},
        {{{50, -1}}, 50, HEALTH_MAX_CLASSES - 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct health h;
        health_init(&h);
        int at = fell_ill_at(&h, cases[i].runs, ARRAY_LEN(cases[i].runs));
        if (at != cases[i].at || (at && (h.ill_class != cases[i].cls || h.ill_since_ms != at)))
            fail_msg("case %zu: ill at %d, class %d", i, at, h.ill_class);
    }
}

/* Against a plain recount of the last results. */
static bool recount(const uint8_t *results, int n) {
    int from = n > HEALTH_WINDOW ? n - HEALTH_WINDOW : 0, by_class[HEALTH_MAX_CLASSES] = {0};
    for (int i = from; i < n; i++)
        by_class[results[i]]++;
    for (int cls = 1; cls < HEALTH_MAX_CLASSES; cls++)
        if (n >= HEALTH_MIN_RESULTS && by_class[cls] * 2 > n - from)
            return true;
    return false;
}

static void agrees_with_a_recount(void **state UNUSED) {
    struct rng rng = {11};
    int ill_runs = 0;
    for (int round = 0; round < 300; round++) {
        static uint8_t results[600];
        struct health h;
        health_init(&h);
        uint64_t failing = 30 + rng_below(&rng, 60), bias = rng_below(&rng, 4);
        for (int n = 0; n < (int)ARRAY_LEN(results); n++) {
            uint64_t cls = rng_below(&rng, 100) < failing ? 1 + rng_below(&rng, 3) : 0;
            if (cls && rng_below(&rng, 4) < bias)
                cls = 2;
            results[n] = (uint8_t)cls;
            bool ill = health_note(&h, n, (int)cls, n);
            assert_int_equal(ill, recount(results, n + 1));
            if (ill) {
                ill_runs++;
                break;
            }
        }
    }
    assert_in_range(ill_runs, 50, 250); /* both endings were seen */
}

static void make_ill(struct health *h, int64_t now_ms) {
    health_init(h);
    for (int i = 0; i < HEALTH_MIN_RESULTS; i++)
        health_note(h, 1 + i, i % 5 == 0 ? 0 : 6, now_ms);
    assert_true(h->ill);
}

static void the_ring_keeps_the_ids_to_refund(void **state UNUSED) {
    struct health h;
    make_ill(&h, 0);
    assert_int_equal(h.n, HEALTH_MIN_RESULTS);
    int refunds = 0;
    for (int i = 0; i < h.n; i++) {
        assert_in_range(h.ring[i].id, 1, HEALTH_MIN_RESULTS);
        refunds += h.ring[i].cls == h.ill_class;
    }
    assert_int_equal(refunds, 40);
    struct health before = h;
    for (int i = 0; i < 300; i++)
        assert_false(health_note(&h, 9000 + i, i % 2 ? 6 : 0, 50));
    assert_memory_equal(&before, &h, sizeof h); /* results are ignored while ill */
}

static void probes_double_up_to_fifteen_seconds(void **state UNUSED) {
    static const int64_t waits[] = {500, 1000, 2000, 4000, 8000, 15000, 15000, 15000};
    struct health h;
    int64_t now = 777;
    make_ill(&h, now);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        assert_false(health_probe_due(&h, now));
        assert_false(health_probe_due(&h, now + waits[i] - 1));
        assert_true(health_probe_due(&h, now + waits[i]));
        assert_true(health_probe_due(&h, now + waits[i] + 1000000));
        now += waits[i];
        health_probe_failed(&h, now);
        assert_int_equal(h.probes, i + 1);
    }
    for (int i = 0; i < 1000; i++)
        health_probe_failed(&h, now);
    assert_int_equal(h.next_probe_ms, now + 15000);
    assert_int_equal(health_ill_for_ms(&h, now), now - 777);
    assert_int_equal(health_ill_for_ms(&h, 0), 0);
}

static void a_well_upstream_is_not_probed(void **state UNUSED) {
    struct health h;
    health_init(&h);
    assert_false(health_probe_due(&h, INT64_MAX));
    health_probe_failed(&h, 100);
    assert_int_equal(h.probes, 0);
    assert_int_equal(health_ill_for_ms(&h, 5000), 0);
}

static void recovery_empties_the_window(void **state UNUSED) {
    struct health h;
    make_ill(&h, 100);
    health_probe_failed(&h, 600);
    health_recovered(&h);
    assert_false(h.ill);
    assert_false(health_probe_due(&h, INT64_MAX));
    assert_int_equal(health_ill_for_ms(&h, 5000), 0);
    assert_int_equal(h.n, 0);
    const struct run again[] = {{49, 6}};
    assert_int_equal(fell_ill_at(&h, again, 1), 0);
    assert_true(health_note(&h, 1, 6, 9000)); /* the fiftieth since */
    assert_int_equal(h.next_probe_ms, 9500);  /* and the waits begin anew */
    assert_int_equal(h.probes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ill_exactly_above_half),
        cmocka_unit_test(agrees_with_a_recount),
        cmocka_unit_test(the_ring_keeps_the_ids_to_refund),
        cmocka_unit_test(probes_double_up_to_fifteen_seconds),
        cmocka_unit_test(a_well_upstream_is_not_probed),
        cmocka_unit_test(recovery_empties_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
