/* Streams of updates that go wrong: each rule and each control as it looks on the wire. */
#include "client.h"
#include "events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UPDATES "/v0/updates.json"
#define FIRST "event: put\ndata: {\"path\":\"/\",\"data\":{\"items\":[5000,4999,"

static struct clock hands;

static int set_up(void **state) {
    clock_manual_init(&hands, 1000, 0);
    struct demo_options o = {.seed = 5, .maxitem = 5000, .threads = 1, .clock = &hands};
    struct err e;
    return demo_start(&o, (struct demo **)state, &e);
}

static int tear_down(void **state) {
    demo_stop(*state);
    return 0;
}

static void set_rules(struct demo *d, const char *specs) {
    assert_int_equal(control_post(d, "/demo/faults", specs), 200);
}

static void change(struct demo *d, int64_t id) {
    int64_t changed;
    struct err e;
    assert_int_equal(demo_mutate(d, id, id, CORPUS_EDIT, false, &changed, &e), V_OK);
}

static void a_rule_ends_the_stream_when_its_time_has_come(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *rule;
        enum events_end want;
        const char *last; /* how the body ends; NULL: with a whole frame */
    } CASES[] = {
        {"stream:drop=1000", EVENTS_DONE, "}\n\n"},
        {"stream:reset=1000", EVENTS_RESET, NULL},
        {"stream:cancel=1000", EVENTS_DONE, "\n\nevent: cancel\ndata: null\n\n"},
        {"stream:auth_revoked=1000", EVENTS_DONE,
         "\n\nevent: auth_revoked\ndata: \"credential is no longer valid\"\n\n"},
        {"stream:drop=1000:crlf", EVENTS_DONE, "}\r\n\r\n"},
        {"stream:redirect:drop=1000", EVENTS_DONE, "}\n\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct events ev;
        set_rules(d, CASES[i].rule);
        events_open(&ev, d, "/v0/elsewhere/updates.json?r=other");
        assert_true(events_wait(&ev, "event: put"));
        clock_advance(&hands, 999);
        change(d, 77);
        assert_true(events_wait(&ev, "77"));
        clock_advance(&hands, 1);
        assert_int_equal(events_finish(&ev), CASES[i].want);
        if (CASES[i].last)
            assert_true(str_ends(strbuf_str(&ev.body), CASES[i].last));
        events_close(&ev);
    }
}

static void a_stream_can_end_right_after_its_first_frame(void **state) {
    struct demo *d = *state;
    struct events ev;
    set_rules(d, "stream:drop=0");
    events_open(&ev, d, UPDATES);
    assert_int_equal(events_finish(&ev), EVENTS_DONE);
    assert_non_null(strstr(ev.body.p, FIRST));
    events_close(&ev);
}

/* Nothing may come although much happens; then everything, when it is woken. */
static void check_silence(struct demo *d, struct events *ev) {
    size_t had = ev->body.n;
    int64_t sent = control_get(d, "/demo/stats", "frames_sent");
    change(d, 123);
    demo_stream_do(d, DEED_KEEP_ALIVE);
    demo_stream_do(d, DEED_GARBAGE);
    clock_advance(&hands, 100000); /* beyond a keep-alive */
    for (int i = 0; i < 5; i++)
        assert_int_equal(control_get(d, "/demo/stats", "frames_sent"), sent);
    events_peek(ev, 30);
    assert_int_equal(ev->body.n, had);
    assert_int_equal(ev->end, EVENTS_OPEN);
    assert_int_equal(control_post(d, "/demo/stream?do=wake", ""), 200);
    assert_true(events_wait(ev, "123"));
    assert_true(events_wait(ev, "event: keep-alive"));
}

static void silence_is_total_until_it_is_woken(void **state) {
    struct demo *d = *state;
    static const char *const RULES[] = {"stream:silent=500", "", "stream:silent=0"};
    for (size_t i = 0; i < ARRAY_LEN(RULES); i++) {
        struct events ev;
        set_rules(d, RULES[i]);
        events_open(&ev, d, UPDATES);
        if (i < 2)
            assert_true(events_wait(&ev, "}\n\n"));
        clock_advance(&hands, 500);
        if (i == 1)
            assert_int_equal(control_post(d, "/demo/stream?do=silence", ""), 200);
        if (i == 2)
            assert_int_equal(ev.body.n, 0);
        check_silence(d, &ev);
        events_close(&ev);
        control_await(d, "streams_open", 0); /* it would take frames of the next round */
    }
}

static void a_frame_is_cut_in_the_middle(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *rule, *control;
    } CASES[] = {
        {"stream:midframe=0", NULL},
        {"stream:midframe=0:close", NULL},
        {"stream:midframe=0:garbage:comments", NULL},
        {"", "/demo/stream?do=midframe"},
        {"", "/demo/stream?do=midframe-close"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct events ev;
        set_rules(d, CASES[i].rule);
        events_open(&ev, d, UPDATES);
        assert_true(events_wait(&ev, "}\n\n"));
        if (CASES[i].control)
            assert_int_equal(control_post(d, CASES[i].control, ""), 200);
        change(d, 77);
        assert_true(events_wait(&ev, "event: p"));
        change(d, 78);
        if (i == 1 || i == 4) {
            assert_int_equal(events_finish(&ev), EVENTS_DONE);
        } else {
            size_t had = ev.body.n;
            events_peek(&ev, 30);
            assert_true(ev.body.n < had + 40);
        }
        assert_false(str_ends(strbuf_str(&ev.body), "\n\n"));
        assert_null(strstr(ev.body.p + ev.seen, "78"));
        if (i == 0) { /* the other half, and what came since */
            demo_stream_do(d, DEED_WAKE);
            assert_true(events_wait(&ev, "77"));
            assert_true(events_wait(&ev, "78"));
        }
        events_close(&ev);
    }
}

static void controls_speak_and_end_at_once(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *what, *says;
        enum events_end end; /* OPEN: it goes on */
    } CASES[] = {
        {"keep-alive", "event: keep-alive\ndata: null\n\n", EVENTS_OPEN},
        {"garbage", "\n\n", EVENTS_OPEN},
        {"cancel", "event: cancel\ndata: null\n\n", EVENTS_DONE},
        {"auth_revoked", "event: auth_revoked\n", EVENTS_DONE},
        {"drop", NULL, EVENTS_DONE},
        {"reset", NULL, EVENTS_RESET},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct events ev[2]; /* all streams are meant */
        char path[64];
        snprintf(path, sizeof path, "/demo/stream?do=%s", CASES[i].what);
        for (int k = 0; k < 2; k++) {
            events_open(&ev[k], d, UPDATES);
            assert_true(events_wait(&ev[k], "}\n\n"));
        }
        assert_int_equal(control_post(d, path, ""), 200);
        for (int k = 0; k < 2; k++) {
            if (CASES[i].says)
                assert_true(events_wait(&ev[k], CASES[i].says));
            if (CASES[i].end != EVENTS_OPEN)
                assert_int_equal(events_finish(&ev[k]), CASES[i].end);
            events_close(&ev[k]);
        }
    }
    static const char *const BAD[] = {"/demo/stream", "/demo/stream?do=", "/demo/stream?do=sing"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(control_post(d, BAD[i], ""), 400);
}

static void forms_change_every_frame(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *rule, *first, *second;
    } CASES[] = {
        {"stream:crlf", "event: put\r\ndata: {\"path\":\"/\"", "}\r\n\r\nevent: "},
        {"stream:bom", "\xef\xbb\xbf" FIRST, "}\n\nevent: "},
        {"stream:comments", ": all is well\n:\n\nevent: put\n:data: 1\ndata: {",
         "}\n\n: all is well\n"},
        {"stream:garbage", FIRST, "}\n\nlorem ipsum\nno-such-field: 1\n\nevent: "},
        {"stream:split", FIRST, "}\n\nevent: "},
        {"stream:bom:crlf:comments:split",
         "\xef\xbb\xbf: all is well\r\n:\r\n\r\nevent: put\r\n:data: 1\r\n", "}\r\n\r\n: all"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct events ev;
        set_rules(d, CASES[i].rule);
        events_open(&ev, d, UPDATES);
        change(d, 5000);
        if (!events_wait(&ev, CASES[i].second))
            fail_msg("%s", CASES[i].rule);
        size_t n = strlen(CASES[i].first) < 40 ? strlen(CASES[i].first) : 40;
        assert_memory_equal(ev.body.p, CASES[i].first, n);
        bool split = strstr(CASES[i].rule, "split");
        assert_int_equal(split, ev.pieces > 20);
        events_close(&ev);
    }
}

static void a_stream_may_not_even_be_opened(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *rule;
        int status;
        const char *head; /* what must be in it */
    } CASES[] = {
        {"stream:status=503:retry_after=9", 503, "retry-after: 9"},
        {"all:status=503:for=600s", 503, "content-type: application/json"},
        {"stream:wrongtype", 200, "content-type: application/json"},
        {"stream:redirect", 307, "location: http://localhost:"},
        {"stream:redirect=endless", 307, "location: /v0/updates.json?r=1"},
        {"stream:reset", 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct answer a;
        set_rules(d, CASES[i].rule);
        int fd = client_connect(demo_port(d));
        client_send(fd, "GET", UPDATES, "Accept: text/event-stream\r\nConnection: close\r\n", NULL);
        client_finish(fd, 1 << 20, &a);
        assert_int_equal(a.status, CASES[i].status);
        assert_int_equal(a.reset, CASES[i].status == 0);
        if (CASES[i].head)
            assert_non_null(strcasestr(a.raw.p, CASES[i].head));
        answer_release(&a);
    }
    clock_advance(&hands, 600000);
    struct events ev; /* the outage of the second case would be over */
    set_rules(d, "stream:redirect");
    events_open(&ev, d, "/v0/elsewhere/updates.json?r=other");
    assert_true(events_wait(&ev, FIRST));
    events_close(&ev);
}

static void rules_count_requests_for_streams(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *rule;
        int want[5];
    } CASES[] = {
        {"stream:status=503:times=2", {503, 503, 200, 200, 200}},
        {"stream:status=503:after=1:for=2", {200, 503, 503, 200, 200}},
        {"stream:status=503:for=10s", {503, 503, 503, 503, 503}},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        set_rules(d, CASES[i].rule);
        for (size_t k = 0; k < ARRAY_LEN(CASES[i].want); k++) {
            struct events ev, other;
            struct answer a;
            client_get(demo_port(d), "/v0/item/7.json", &a); /* counts for others only */
            assert_int_equal(a.status, 200);
            answer_release(&a);
            events_open(&other, d, "/v0/maxitem.json");
            assert_int_equal(other.status, 200);
            events_close(&other);
            events_open(&ev, d, UPDATES);
            assert_int_equal(ev.status, CASES[i].want[k]);
            events_close(&ev);
        }
    }
    clock_advance(&hands, 10000);
    struct events ev;
    events_open(&ev, d, UPDATES);
    assert_int_equal(ev.status, 200);
    events_close(&ev);
}

static void the_figures_follow_the_streams(void **state) {
    struct demo *d = *state;
    struct events ev[3];
    for (int i = 0; i < 3; i++) {
        events_open(&ev[i], d, UPDATES);
        assert_true(events_wait(&ev[i], "}\n\n"));
    }
    control_await(d, "streams_open", 3);
    control_await(d, "streams_opened", 3);
    control_await(d, "frames_sent", 3);
    demo_stream_do(d, DEED_SILENCE);
    for (int i = 0; i < 3; i++)
        events_close(&ev[i]); /* whoever hangs up on a silent stream is noticed all the same */
    control_await(d, "streams_open", 0);
    assert_int_equal(control_post(d, "/demo/reset-stats", ""), 200);
    control_await(d, "streams_opened", 0);
}

static void it_stops_whatever_its_streams_do(void **state) {
    struct demo *d = *state;
    struct events ev[5];
    static const char *const RULES[] = {"", "stream:silent=0", "stream:midframe=0", "stream:split",
                                        "stream:drop=5000"};
    for (size_t i = 0; i < ARRAY_LEN(RULES); i++) {
        set_rules(d, RULES[i]);
        events_open(&ev[i], d, UPDATES);
    }
    change(d, 77);
    demo_stop(d);
    for (size_t i = 0; i < ARRAY_LEN(RULES); i++) {
        assert_int_not_equal(events_finish(&ev[i]), EVENTS_OPEN);
        events_close(&ev[i]);
    }
    assert_int_equal(set_up(state), V_OK); /* for the tear-down */
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_rule_ends_the_stream_when_its_time_has_come),
        WITH_SERVER(a_stream_can_end_right_after_its_first_frame),
        WITH_SERVER(silence_is_total_until_it_is_woken),
        WITH_SERVER(a_frame_is_cut_in_the_middle),
        WITH_SERVER(controls_speak_and_end_at_once),
        WITH_SERVER(forms_change_every_frame),
        WITH_SERVER(a_stream_may_not_even_be_opened),
        WITH_SERVER(rules_count_requests_for_streams),
        WITH_SERVER(the_figures_follow_the_streams),
        WITH_SERVER(it_stops_whatever_its_streams_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
