#include "mirror/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Failures of the transport: the body plays no part in them. */
static const struct {
    enum net_class net;
    enum track track;
    bool overload;
    const char *name;
} failures[] = {
    {NET_TIMEOUT, TRACK_BACKOFF, true, "timeout"},
    {NET_CONNECT, TRACK_BACKOFF, false, "connect"},
    {NET_DNS, TRACK_BACKOFF, false, "dns"},
    {NET_TLS, TRACK_BACKOFF, false, "tls"},
    {NET_RESET, TRACK_BACKOFF, true, "reset"},
    {NET_TRUNCATED, TRACK_BACKOFF, false, "truncated"},
    {NET_TOO_LARGE, TRACK_BACKOFF, false, "too_large"},
    {NET_REDIRECT, TRACK_BACKOFF, false, "redirect"},
    {NET_PROTOCOL, TRACK_BACKOFF, false, "protocol"},
    {NET_HTTP_401, TRACK_LADDER, false, "http_401"},
    {NET_HTTP_403, TRACK_LADDER, false, "http_403"},
    {NET_HTTP_404, TRACK_LADDER, false, "http_404"},
    {NET_HTTP_429, TRACK_BACKOFF, true, "http_429"},
    {NET_HTTP_4XX, TRACK_BACKOFF, false, "http_4xx"},
    {NET_HTTP_5XX, TRACK_BACKOFF, true, "http_5xx"},
    {NET_HTTP_OTHER, TRACK_BACKOFF, false, "http_other"},
    {NET_OTHER, TRACK_BACKOFF, false, "other"},
    {NET_UNKNOWN, TRACK_LADDER, false, "unknown_upstream"},
};

static void every_failure_with_every_shape(void **state UNUSED) {
    assert_int_equal(ARRAY_LEN(failures), NET_N_CLASSES - 1);
    for (size_t i = 0; i < ARRAY_LEN(failures); i++)
        for (int shape = ITEM_OK; shape <= ITEM_WRONG_ID; shape++)
            for (int bits = 0; bits < 4; bits++) {
                struct judgement j =
                    judge_answer(failures[i].net, (enum item_shape)shape, bits & 1, bits & 2);
                assert_int_equal(j.track, failures[i].track);
                assert_int_equal((int)j.cls, (int)failures[i].net);
                assert_int_equal(j.overload, failures[i].overload);
                assert_int_equal(j.ill, failures[i].net != NET_UNKNOWN);
                assert_false(j.has_item);
                assert_string_equal(fail_class_name(j.cls), failures[i].name);
            }
}

static const struct {
    enum item_shape shape;
    bool delayed, young;
    enum track track;
    enum fail_class cls;
    bool has_item, ill;
    const char *name;
} bodies[] = {
    {ITEM_OK, false, false, TRACK_STORED, FAIL_NONE, true, false, "ok"},
    {ITEM_OK, false, true, TRACK_STORED, FAIL_NONE, true, false, "ok"},
    {ITEM_OK, true, false, TRACK_LADDER, FAIL_DELAYED, true, false, "delayed"},
    {ITEM_OK, true, true, TRACK_LADDER, FAIL_DELAYED, true, false, "delayed"},
    {ITEM_NULL, false, false, TRACK_MISSING, FAIL_NULL_OLD, false, false, "null_old"},
    {ITEM_NULL, false, true, TRACK_LADDER, FAIL_NULL_YOUNG, false, false, "null_young"},
    {ITEM_GARBAGE, false, false, TRACK_BACKOFF, FAIL_GARBAGE, false, true, "garbage"},
    {ITEM_GARBAGE, false, true, TRACK_BACKOFF, FAIL_GARBAGE, false, true, "garbage"},
    {ITEM_WRONG_ID, false, false, TRACK_BACKOFF, FAIL_WRONG_ID, false, true, "wrong_id"},
    {ITEM_WRONG_ID, false, true, TRACK_BACKOFF, FAIL_WRONG_ID, false, true, "wrong_id"},
};

static void every_body(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct judgement j =
            judge_answer(NET_OK, bodies[i].shape, bodies[i].delayed, bodies[i].young);
        assert_int_equal(j.track, bodies[i].track);
        assert_int_equal(j.cls, bodies[i].cls);
        assert_int_equal(j.has_item, bodies[i].has_item);
        assert_int_equal(j.ill, bodies[i].ill);
        assert_false(j.overload);
        assert_string_equal(fail_class_name(j.cls), bodies[i].name);
    }
}

static void every_class_has_a_name_of_its_own(void **state UNUSED) {
    for (int a = 0; a < FAIL_N; a++) {
        assert_true(strlen(fail_class_name((enum fail_class)a)) > 1);
        for (int b = 0; b < a; b++)
            assert_string_not_equal(fail_class_name((enum fail_class)a),
                                    fail_class_name((enum fail_class)b));
    }
}

/* Attempts until the id is a dead letter, when every answer is the same failure. */
static int attempts_until_dead(int max, enum net_class net) {
    const struct retry_policy p = {max, {.initial_ms = 100, .max_ms = 1000, .jitter_ms = 50}};
    struct rng rng = {1};
    struct judgement j = judge_answer(net, ITEM_GARBAGE, false, false);
    struct decision d = {0};
    for (int made = 1; made < 1000; made++) {
        d = decide(&j, d.attempts, d.rung, &p, &rng);
        assert_int_equal(d.attempts, made);
        assert_int_equal(d.rung, 0);
        if (d.outcome == OUT_DEAD)
            return made;
        assert_int_equal(d.outcome, OUT_WAIT);
        assert_in_range(d.wait_ms, 100, 1050);
    }
    return -1;
}

static void dead_letter_after_exactly_so_many_attempts(void **state UNUSED) {
    assert_int_equal(attempts_until_dead(8, NET_HTTP_5XX), 8);
    assert_int_equal(attempts_until_dead(8, NET_OK), 8); /* garbage */
    assert_int_equal(attempts_until_dead(8, NET_TIMEOUT), 8);
    assert_int_equal(attempts_until_dead(1, NET_RESET), 1);
    assert_int_equal(attempts_until_dead(3, NET_TOO_LARGE), 3);
    assert_int_equal(attempts_until_dead(100, NET_CONNECT), 100);
}

static void attempts_made_before_count(void **state UNUSED) {
    const struct retry_policy p = {8, {.initial_ms = 1, .max_ms = 1}};
    struct judgement j = judge_answer(NET_RESET, ITEM_GARBAGE, false, false);
    assert_int_equal(decide(&j, 6, 0, &p, NULL).outcome, OUT_WAIT);
    assert_int_equal(decide(&j, 7, 0, &p, NULL).outcome, OUT_DEAD);
    assert_int_equal(decide(&j, 20, 0, &p, NULL).outcome, OUT_DEAD);
}

static void up_the_ladder_to_its_end(void **state UNUSED) {
    static const int64_t waits[] = {5000, 30000, 120000, 600000, 3600000, 21600000, 86400000};
    static const struct {
        enum net_class net;
        enum item_shape shape;
        bool delayed;
        enum outcome end;
    } rows[] = {
        {NET_OK, ITEM_NULL, false, OUT_MISSING},     {NET_OK, ITEM_OK, true, OUT_STORED},
        {NET_HTTP_404, ITEM_OK, false, OUT_MISSING}, {NET_HTTP_401, ITEM_OK, false, OUT_DEAD},
        {NET_HTTP_403, ITEM_OK, false, OUT_DEAD},    {NET_UNKNOWN, ITEM_NULL, false, OUT_DEAD},
    };
    const struct retry_policy p = {8, {.initial_ms = 1, .max_ms = 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct judgement j = judge_answer(rows[i].net, rows[i].shape, rows[i].delayed, true);
        struct decision d = {.attempts = 5};
        for (size_t rung = 1; rung <= ARRAY_LEN(waits); rung++) {
            d = decide(&j, d.attempts, d.rung, &p, NULL);
            assert_int_equal(d.outcome, OUT_WAIT);
            assert_int_equal(d.rung, rung);
            assert_int_equal(d.wait_ms, waits[rung - 1]);
        }
        d = decide(&j, d.attempts, d.rung, &p, NULL);
        assert_int_equal(d.outcome, rows[i].end);
        assert_int_equal(d.attempts, 5); /* a recheck is not a failure */
    }
}

static void success_and_old_null_are_final(void **state UNUSED) {
    const struct retry_policy p = {8, {.initial_ms = 1, .max_ms = 1}};
    struct judgement j = judge_answer(NET_OK, ITEM_OK, false, false);
    assert_int_equal(decide(&j, 7, 3, &p, NULL).outcome, OUT_STORED);
    j = judge_answer(NET_OK, ITEM_NULL, false, false);
    assert_int_equal(decide(&j, 7, 3, &p, NULL).outcome, OUT_MISSING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_with_every_shape),
        cmocka_unit_test(every_body),
        cmocka_unit_test(every_class_has_a_name_of_its_own),
        cmocka_unit_test(dead_letter_after_exactly_so_many_attempts),
        cmocka_unit_test(attempts_made_before_count),
        cmocka_unit_test(up_the_ladder_to_its_end),
        cmocka_unit_test(success_and_old_null_are_final),
    };
    return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
