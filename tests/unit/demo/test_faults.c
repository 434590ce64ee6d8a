/* The language of faults, and when a rule strikes. */
#include "demo/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct clock hands;

static struct faults *make(const char *const *specs, size_t n) {
    struct faults *f = NULL;
    struct err e;
    clock_manual_init(&hands, 1000, 0);
    assert_int_equal(faults_new(specs, n, 42, &hands, &f, &e), V_OK);
    return f;
}

static struct faults *make_one(const char *spec) {
    return make(&spec, 1);
}

static void good_specs_are_read(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        int64_t id; /* someone it strikes at the first request */
        struct fault_action want;
    } CASES[] = {
        {"id=123:status=500:times=3", 123, {FAULT_STATUS, 0, 500, -1, 0, false, 0}},
        {"id=1:status=429:retry_after=7", 1, {FAULT_STATUS, 0, 429, 7, 0, false, 0}},
        {"range=100-200:delay=250", 200, {FAULT_NONE, 250, 0, -1, 0, false, 0}},
        {"range=100-200:delay=5:reset", 100, {FAULT_RESET, 5, 0, -1, 0, false, 0}},
        {"rate=1:reset", 9, {FAULT_RESET, 0, 0, -1, 0, false, 0}},
        {"share=1.0:truncate", 9, {FAULT_TRUNCATE, 0, 0, -1, 0, false, 0}},
        {"all:garbage", -1, {FAULT_GARBAGE, 0, 0, -1, 0, false, 0}},
        {"items:wrong_id", 1, {FAULT_WRONG_ID, 0, 0, -1, 0, false, 0}},
        {"items:null:times=2", 1, {FAULT_NULL, 0, 0, -1, 0, false, 0}},
        {"delayed:items", 1, {FAULT_DELAYED, 0, 0, -1, 0, false, 0}},
        {"id=5:drip", 5, {FAULT_DRIP, 0, 0, -1, 0, false, 0}},
        {"id=5:huge=1073741824", 5, {FAULT_HUGE, 0, 0, -1, 1073741824, false, 0}},
        {"id=5:huge=10:chunked", 5, {FAULT_HUGE, 0, 0, -1, 10, true, 0}},
        {"id=5:redirect=endless", 5, {FAULT_REDIRECT, 0, 0, -1, 0, false, REDIRECT_ENDLESS}},
        {"id=5:redirect=other", 5, {FAULT_REDIRECT, 0, 0, -1, 0, false, REDIRECT_OTHER}},
        {"id=5:redirect=same", 5, {FAULT_REDIRECT, 0, 0, -1, 0, false, REDIRECT_SAME}},
        {"all:status=503:for=60s:after=0", 1, {FAULT_STATUS, 0, 503, -1, 0, false, 0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct faults *f = make_one(CASES[i].spec);
        struct fault_action got = faults_take(f, CASES[i].id), *want = (void *)&CASES[i].want;
        assert_int_equal(got.kind, want->kind);
        assert_int_equal(got.delay_ms, want->delay_ms);
        assert_int_equal(got.status, want->status);
        assert_int_equal(got.retry_after, want->retry_after);
        assert_int_equal(got.bytes, want->bytes);
        assert_int_equal(got.chunked, want->chunked);
        assert_int_equal(got.redirect, want->redirect);
        faults_free(f);
    }
}

static void specs_of_streams_are_read(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        enum fault_kind kind;
        struct stream_fault want;
    } CASES[] = {
        {"stream:drop=1000", FAULT_STREAM, {DEED_DROP, 1000, 0}},
        {"drop=0:stream", FAULT_STREAM, {DEED_DROP, 0, 0}},
        {"stream:reset=5", FAULT_STREAM, {DEED_RESET, 5, 0}},
        {"stream:reset", FAULT_RESET, {DEED_NONE, 0, 0}},
        {"stream:silent=7:times=1", FAULT_STREAM, {DEED_SILENCE, 7, 0}},
        {"stream:cancel=7", FAULT_STREAM, {DEED_CANCEL, 7, 0}},
        {"stream:auth_revoked=7", FAULT_STREAM, {DEED_AUTH_REVOKED, 7, 0}},
        {"stream:midframe=7", FAULT_STREAM, {DEED_MIDFRAME, 7, 0}},
        {"stream:close:midframe=7", FAULT_STREAM, {DEED_MIDFRAME_CLOSE, 7, 0}},
        {"stream:garbage", FAULT_STREAM, {DEED_NONE, 0, FORM_GARBAGE}},
        {"stream:crlf:bom:comments:split:drop=9",
         FAULT_STREAM,
         {DEED_DROP, 9, FORM_CRLF | FORM_BOM | FORM_COMMENTS | FORM_SPLIT}},
        {"stream:redirect", FAULT_NONE, {DEED_NONE, 0, FORM_REDIRECT}},
        {"stream:redirect:status=503", FAULT_STATUS, {DEED_NONE, 0, FORM_REDIRECT}},
        {"stream:redirect:silent=1", FAULT_STREAM, {DEED_SILENCE, 1, FORM_REDIRECT}},
        {"stream:redirect=endless", FAULT_REDIRECT, {DEED_NONE, 0, 0}},
        {"stream:wrongtype", FAULT_WRONGTYPE, {DEED_NONE, 0, 0}},
        {"stream:status=503:retry_after=5", FAULT_STATUS, {DEED_NONE, 0, 0}},
        {"stream:delay=50:rate=1", FAULT_NONE, {DEED_NONE, 0, 0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct faults *f = make_one(CASES[i].spec);
        assert_int_equal(faults_take(f, 1).kind, FAULT_NONE);
        assert_int_equal(faults_take(f, -5).kind, FAULT_NONE);
        struct fault_action got = faults_take(f, FAULTS_STREAM);
        assert_int_equal(got.kind, CASES[i].kind);
        assert_int_equal(got.stream.deed, CASES[i].want.deed);
        assert_int_equal(got.stream.after_ms, CASES[i].want.after_ms);
        assert_int_equal(got.stream.forms, CASES[i].want.forms);
        faults_free(f);
    }
}

static void bad_specs_name_the_bad_part(void **state) {
    (void)state;
    static const struct {
        const char *spec, *named;
    } CASES[] = {
        {"", "\"\""},
        {"id=5", "nothing happens"},
        {"reset", "id, range"},
        {"id=5:explode", "\"explode\""},
        {"id=x:reset", "\"id=x\""},
        {"id=0:reset", "\"id=0\""},
        {"id=:reset", "\"id=\""},
        {"id:reset", "\"id\""},
        {"id=5:reset=1", "\"reset=1\""},
        {"id=5:reset:garbage", "second thing to happen \"garbage\""},
        {"id=5:range=1-2:reset", "second choice of ids \"range=1-2\""},
        {"range=5:reset", "\"range=5\""},
        {"range=9-5:reset", "\"range=9-5\""},
        {"rate=2:reset", "\"rate=2\""},
        {"rate=0.5x:reset", "\"rate=0.5x\""},
        {"share=-1:reset", "\"share=-1\""},
        {"rate=nan:reset", "\"rate=nan\""},
        {"all:status=99", "\"status=99\""},
        {"all:status=600", "\"status=600\""},
        {"all:delay=-1", "\"delay=-1\""},
        {"all:huge=0", "\"huge=0\""},
        {"all:redirect=away", "\"redirect=away\""},
        {"all:reset:times=0", "\"times=0\""},
        {"all:reset:for=60d", "\"for=60d\""},
        {"all:reset:for=s", "\"for=s\""},
        {"all:reset:for=6030000000080006783s", "\"for=6030000000080006783s\""},
        {"all:reset:after=-3", "\"after=-3\""},
        {"all:reset:retry_after=3", "\"retry_after\""},
        {"all:status=500:chunked", "\"chunked\""},
        {"stream", "nothing happens"},
        {"drop=5", "for streams only: \"drop=5\""},
        {"all:drop=5", "for streams only: \"drop=5\""},
        {"all:crlf", "for streams only: \"crlf\""},
        {"all:reset=5", "\"reset=5\""},
        {"stream:null", "not for streams: \"null\""},
        {"stream:share=0.5:reset", "not for streams: \"share=0.5\""},
        {"stream:all:reset", "not for streams: \"all\""},
        {"stream:drop", "missing after \"drop\""},
        {"stream:drop=", "\"drop=\""},
        {"stream:drop=-1", "\"drop=-1\""},
        {"stream:silent=1s", "\"silent=1s\""},
        {"stream:crlf=1", "no value to \"crlf=1\""},
        {"stream:drop=5:reset=6", "second thing to happen \"reset=6\""},
        {"stream:drop=5:status=503", "second thing to happen \"status=503\""},
        {"stream:drop=5:close", "only midframe goes with \"close\""},
        {"stream:status=503:crlf", "only a stream that is opened"},
        {"stream:wrongtype:bom", "only a stream that is opened"},
        {"all::reset", "\"\""},
        {"all:reset:", "\"\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct faults *f = NULL;
        struct err e = {0};
        assert_int_equal(faults_new(&CASES[i].spec, 1, 1, &clock_machine, &f, &e), V_INVALID);
        assert_null(f);
        if (!strstr(e.msg, CASES[i].named))
            fail_msg("%s: %s", CASES[i].spec, e.msg);
    }
}

static int strikes(struct faults *f, int64_t id, int n) {
    int hit = 0;
    for (int i = 0; i < n; i++)
        hit += faults_take(f, id).kind != FAULT_NONE;
    return hit;
}

static void times_counts_per_id(void **state) {
    (void)state;
    struct faults *f = make_one("range=10-20:status=500:times=3");
    assert_int_equal(strikes(f, 9, 5), 0);
    assert_int_equal(strikes(f, 10, 5), 3);
    assert_int_equal(strikes(f, 20, 5), 3);
    assert_int_equal(strikes(f, 21, 5), 0);
    assert_int_equal(strikes(f, 10, 5), 0);
    faults_free(f);
}

static void after_and_for_bound_a_rule(void **state) {
    (void)state;
    struct faults *f = make_one("items:reset:after=10:for=60s");
    assert_int_equal(strikes(f, 1, 10), 0);
    clock_advance(&hands, 100000); /* the minute begins with the first strike */
    assert_int_equal(strikes(f, 1, 5), 5);
    clock_advance(&hands, 59999);
    assert_int_equal(strikes(f, 1, 5), 5);
    clock_advance(&hands, 1);
    assert_int_equal(strikes(f, 1, 5), 0);
    faults_free(f);

    f = make_one("items:reset:after=10:for=4");
    assert_int_equal(strikes(f, 1, 10), 0);
    assert_int_equal(strikes(f, 1, 10), 4);
    faults_free(f);

    f = make_one("items:reset:for=500ms");
    clock_advance(&hands, 500); /* without `after` it begins at once */
    assert_int_equal(strikes(f, 1, 10), 0);
    faults_free(f);
}

static void chance_is_fair_and_repeats(void **state) {
    (void)state;
    static char first[10000];
    for (int round = 0; round < 2; round++) {
        struct faults *f = make_one("rate=0.1:reset");
        int hit = 0;
        for (int64_t id = 0; id < 10000; id++) {
            char now = (char)strikes(f, id + 1, 1);
            hit += now;
            if (round)
                assert_int_equal(now, first[id]);
            first[id] = now;
        }
        assert_in_range(hit, 850, 1150);
        assert_in_range(strikes(f, 1, 10000), 850, 1150);
        faults_free(f);
    }
}

static void a_share_is_always_the_same_ids(void **state) {
    (void)state;
    struct faults *f = make_one("share=0.1:reset");
    int hit = 0;
    for (int64_t id = 1; id <= 10000; id++) {
        int n = strikes(f, id, 3);
        assert_true(n == 0 || n == 3);
        hit += n / 3;
    }
    assert_in_range(hit, 850, 1150);
    faults_free(f);
}

static void the_first_rule_that_strikes_decides(void **state) {
    (void)state;
    static const char *const SPECS[] = {"id=5:status=500:times=1", "range=1-9:reset:times=2",
                                        "all:status=503"};
    struct faults *f = make(SPECS, ARRAY_LEN(SPECS));
    assert_int_equal(faults_take(f, 5).status, 500);
    assert_int_equal(faults_take(f, 5).kind, FAULT_RESET);
    assert_int_equal(faults_take(f, 5).status, 503);
    assert_int_equal(faults_take(f, -1).status, 503);
    faults_free(f);
}

static void other_endpoints_are_struck_by_all_only(void **state) {
    (void)state;
    static const char *const SPECS[] = {"items:reset", "rate=1:reset", "all:wrong_id",
                                        "all:status=503:times=2"};
    struct faults *f = make(SPECS, ARRAY_LEN(SPECS));
    assert_int_equal(strikes(f, -1, 5), 2);
    assert_int_equal(strikes(f, -2, 5), 2);
    faults_free(f);
    f = make(NULL, 0);
    assert_int_equal(strikes(f, 1, 5), 0);
    faults_free(f);
}

static void streams_count_for_themselves(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        int first, second; /* strikes among five requests each */
    } CASES[] = {
        {"stream:reset:times=3", 3, 0},
        {"stream:reset:after=4", 1, 5},
        {"stream:reset:after=4:for=2", 1, 1},
        {"stream:reset:for=10s", 5, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct faults *f = make_one(CASES[i].spec);
        assert_int_equal(strikes(f, 7, 20), 0); /* requests for items do not count */
        assert_int_equal(strikes(f, FAULTS_STREAM, 5), CASES[i].first);
        clock_advance(&hands, 10000);
        assert_int_equal(strikes(f, FAULTS_STREAM, 5), CASES[i].second);
        faults_free(f);
    }
    struct faults *f = make_one("all:reset");
    assert_int_equal(strikes(f, FAULTS_STREAM, 5), 5);
    faults_free(f);
}

static void too_many_rules_are_refused(void **state) {
    (void)state;
    const char *specs[FAULTS_MAX_RULES + 1];
    for (size_t i = 0; i < ARRAY_LEN(specs); i++)
        specs[i] = "all:reset";
    struct faults *f = NULL;
    struct err e;
    assert_int_equal(faults_new(specs, ARRAY_LEN(specs), 1, &clock_machine, &f, &e), V_INVALID);
    assert_int_equal(faults_new(specs, FAULTS_MAX_RULES, 1, &clock_machine, &f, &e), V_OK);
    faults_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_specs_are_read),
        cmocka_unit_test(specs_of_streams_are_read),
        cmocka_unit_test(bad_specs_name_the_bad_part),
        cmocka_unit_test(times_counts_per_id),
        cmocka_unit_test(after_and_for_bound_a_rule),
        cmocka_unit_test(chance_is_fair_and_repeats),
        cmocka_unit_test(a_share_is_always_the_same_ids),
        cmocka_unit_test(the_first_rule_that_strikes_decides),
        cmocka_unit_test(other_endpoints_are_struck_by_all_only),
        cmocka_unit_test(streams_count_for_themselves),
        cmocka_unit_test(too_many_rules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
