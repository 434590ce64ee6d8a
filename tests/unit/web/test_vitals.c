/* Vitals: on which side of each limit a command lives and is ready, in words and in JSON. */
#include "web/vitals.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UPDATER                                                                   \
    (VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_STREAM) | VITAL_BIT(VITAL_LAG) | \
     VITAL_BIT(VITAL_WORKERS))
#define CATCHUP (VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_UPSTREAM))

static void expect(const struct vitals *v,
                   bool (*ask)(const struct vitals *, bool, struct strbuf *), bool json, bool well,
                   const char *text) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    assert_int_equal(ask(v, json, &b), well);
    assert_string_equal(b.p, text);
}

static void reasons(void **state UNUSED) {
    static const struct {
        unsigned watched;
        struct vitals_report r;
        const char *text; /* NULL: ready */
    } cases[] = {
        {UPDATER, {.workers_alive = 8}, NULL},
        {UPDATER,
         {.workers_alive = 1, .db_down_ms = 5000, .stream_age_ms = 300000, .lag = 50000},
         NULL},
        {UPDATER,
         {.workers_alive = 8, .db_down_ms = 5001},
         "database: the database has not answered for 5 s\n"},
        {UPDATER,
         {.workers_alive = 8, .stream_age_ms = 300001},
         "stream: no frame of the event stream for 300 s\n"},
        {UPDATER, {.workers_alive = 8, .lag = 50001}, "lag: 50001 ids behind the upstream\n"},
        {UPDATER, {0}, "workers: no realtime worker is alive\n"},
        {UPDATER, {.workers_alive = 8, .illness = "http_5xx"}, NULL},
        {UPDATER,
         {.db_down_ms = 90000, .stream_age_ms = 400000, .lag = 70000},
         "database: the database has not answered for 90 s\n"
         "stream: no frame of the event stream for 400 s\n"
         "lag: 70000 ids behind the upstream\n"
         "workers: no realtime worker is alive\n"},
        {CATCHUP, {.stream_age_ms = 400000, .lag = 70000}, NULL},
        {CATCHUP, {.illness = "http_5xx"}, "upstream: the upstream is ill: http_5xx\n"},
        {CATCHUP, {.db_down_ms = 6000}, "database: the database has not answered for 6 s\n"},
        {UPDATER,
         {.standby = true, .db_down_ms = 6000},
         "database: the database has not answered for 6 s\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct clock clock;
        struct vitals v;
        clock_manual_init(&clock, 1000, 0);
        vitals_init(&v, &clock, cases[i].watched);
        vitals_post(&v, &cases[i].r);
        expect(&v, vitals_ready, false, !cases[i].text, cases[i].text ? cases[i].text : "ready\n");
        expect(&v, vitals_alive, false, true, "ok\n");
    }
}

static void a_standby_is_ready_and_says_so(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, UPDATER);
    vitals_post(&v, &(struct vitals_report){.standby = true, .lag = 10000000});
    expect(&v, vitals_ready, false, true, "standby\n");
    expect(&v, vitals_ready, true, true, "{\"ok\":true,\"state\":\"standby\",\"reasons\":[]}\n");
    vitals_post(&v, &(struct vitals_report){.workers_alive = 1});
    expect(&v, vitals_ready, false, true, "ready\n");
}

static void before_the_first_turn_it_lives_and_is_not_ready(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, CATCHUP);
    expect(&v, vitals_alive, false, true, "ok\n");
    expect(&v, vitals_ready, false, false, "start: it is still starting\n");
}

static void a_turn_that_may_take_longer(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, CATCHUP);
    vitals_post(&v, &(struct vitals_report){.leave_ms = 600000});
    clock_advance(&clock, VITALS_BEAT_MS + 600000);
    expect(&v, vitals_alive, false, true, "ok\n");
    clock_advance(&clock, 1);
    expect(&v, vitals_alive, false, false, "loop: the main loop has not turned for 60 s\n");
    vitals_post(&v, &(struct vitals_report){0});
    expect(&v, vitals_alive, false, true, "ok\n");
}

static void a_loop_that_does_not_turn(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, CATCHUP);
    vitals_post(&v, &(struct vitals_report){0});
    clock_advance(&clock, 60000);
    expect(&v, vitals_alive, false, true, "ok\n");
    expect(&v, vitals_ready, false, true, "ready\n");
    clock_advance(&clock, 1);
    expect(&v, vitals_alive, false, false, "loop: the main loop has not turned for 60 s\n");
    expect(&v, vitals_ready, false, false, "loop: the main loop has not turned for 60 s\n");
    vitals_post(&v, &(struct vitals_report){0});
    expect(&v, vitals_alive, false, true, "ok\n");
}

static void a_feed_that_hangs_or_has_no_database(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_FEED));
    vitals_post(&v, &(struct vitals_report){0});
    vitals_post_feed(&v, 15000, 60000);
    expect(&v, vitals_alive, false, true, "ok\n");
    expect(&v, vitals_ready, false, true, "ready\n");
    vitals_post_feed(&v, 15001, 0);
    expect(&v, vitals_alive, false, true, "ok\n"); /* another process would not reach it either */
    expect(&v, vitals_ready, false, false,
           "feed: the change feed has had no answer of its database for 15 s\n");
    vitals_post_feed(&v, 0, 60001);
    expect(&v, vitals_alive, false, false,
           "feed: the thread of the change feed has not moved for 60 s\n");
    expect(&v, vitals_ready, false, false,
           "feed: the thread of the change feed has not moved for 60 s\n");
    vitals_post(&v, &(struct vitals_report){.standby = true}); /* it serves all the same */
    expect(&v, vitals_ready, false, false,
           "feed: the thread of the change feed has not moved for 60 s\n");
    vitals_post_feed(&v, 0, 0);
    expect(&v, vitals_ready, false, true, "standby\n");
    vitals_init(&v, &clock, UPDATER); /* it has none */
    vitals_post(&v, &(struct vitals_report){.workers_alive = 1});
    vitals_post_feed(&v, 90000, 90000);
    expect(&v, vitals_ready, false, true, "ready\n");
}

static void an_enrichment(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_ENRICH));
    vitals_post(&v, &(struct vitals_report){.enrich_silence_ms = 60000});
    expect(&v, vitals_ready, false, true, "ready\n");
    vitals_post(&v, &(struct vitals_report){.enrich_silence_ms = 60001});
    expect(&v, vitals_alive, false, false,
           "enrich: the thread that enriches has not moved for 60 s\n");
    vitals_post(&v, &(struct vitals_report){.refused = "shop"});
    expect(&v, vitals_alive, false, true, "ok\n");
    expect(&v, vitals_ready, false, false,
           "lanes: shop refused our key; with a new one: tain enrich resume shop\n");
    vitals_init(&v, &clock, CATCHUP); /* nobody else has lanes */
    vitals_post(&v, &(struct vitals_report){.refused = "shop", .enrich_silence_ms = 90000});
    expect(&v, vitals_ready, false, true, "ready\n");
}

static void json(void **state UNUSED) {
    struct clock clock;
    struct vitals v;
    clock_manual_init(&clock, 1000, 0);
    vitals_init(&v, &clock, CATCHUP);
    expect(&v, vitals_alive, true, true, "{\"ok\":true,\"state\":\"ok\",\"reasons\":[]}\n");
    vitals_post(&v, &(struct vitals_report){.db_down_ms = 7000, .illness = "a \"b\""});
    expect(&v, vitals_ready, true, false,
           "{\"ok\":false,\"state\":\"failing\",\"reasons\":["
           "{\"check\":\"database\",\"reason\":\"the database has not answered for 7 s\"},"
           "{\"check\":\"upstream\",\"reason\":\"the upstream is ill: a \\\"b\\\"\"}]}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons),
        cmocka_unit_test(a_standby_is_ready_and_says_so),
        cmocka_unit_test(before_the_first_turn_it_lives_and_is_not_ready),
        cmocka_unit_test(a_turn_that_may_take_longer),
        cmocka_unit_test(a_loop_that_does_not_turn),
        cmocka_unit_test(a_feed_that_hangs_or_has_no_database),
        cmocka_unit_test(an_enrichment),
        cmocka_unit_test(json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
