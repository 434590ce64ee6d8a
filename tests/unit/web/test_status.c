/* What /status says and draws, from figures of our own. */
#include "web/status.h"

#include "page_check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1800000000000)

static struct strbuf b;

static int fresh(void **state UNUSED) {
    strbuf_init(&b, 1024 * 1024);
    return 0;
}

static int release(void **state UNUSED) {
    strbuf_release(&b);
    return 0;
}

static struct status healthy(void) {
    struct status s = {
        .now = NOW,
        .state = {.floor_id = 1,
                  .frontier_id = 900,
                  .frontier_excluding_waiting = 990,
                  .maxitem = 1000,
                  .maxitem_at = NOW,
                  .present = true},
        .updater = {.holder = "here:1",
                    .lease_left_ms = 9000,
                    .last_sse_event_at = NOW - 1000,
                    .last_rescan_at = NOW - 3600000},
        .queue = 12,
        .ranges = {{1, 250}, {501, 1000}},
        .n_ranges = 2,
    };
    s.changes[STATUS_MINUTES - 1] = 10;
    s.ages.n[3] = 100;
    return s;
}

static void says(const char *words) {
    if (!strstr(b.p, words))
        fail_msg("'%s' is not in\n%s", words, b.p);
}

static void says_not(const char *words) {
    if (strstr(b.p, words))
        fail_msg("'%s' is in\n%s", words, b.p);
}

static void a_healthy_mirror(void **state UNUSED) {
    struct status s = healthy();
    status_render(&b, &s);
    says("<dt>Frontier</dt><dd>900</dd>");
    says("<dt>Lag</dt><dd>10</dd>");
    says("<dt>Updater</dt><dd>active</dd>");
    says("<dt>Queue</dt><dd>12</dd>");
    says("2.0 in the last five, at most 10");
    says("but for ids that are looked at again, up to 990</dd>");
    says("<dt>Newest upstream</dt><dd>1,000</dd>");
    says("following the event stream");
    says("75.0 % of the ids from 1 to 1,000");
    says("<span>half younger than");
    says("this minute: 10<");
    says("1 minute ago: 0<");
    says("2 minutes ago: 0<");
    says("100 updates");
    says_not("card bad");
    says_not("nan");
}

static void lanes_of_enrichment(void **state UNUSED) {
    const struct lane_row lanes[] = {
        {.name = STR("well")},
        {.name = STR("held"),
         .why = LANE_PAUSED,
         .state.pause = LANE_PAUSED_BY_HAND,
         .paused_why = STR("a secret reason")},
        {.name = STR("asked"), .why = LANE_NOT_BEFORE},
        {.name = STR("<b>&"), .why = LANE_BREAKER, .state.breaker = BREAKER_OPEN},
        {.name = STR("key"), .why = LANE_PAUSED, .state.pause = LANE_PAUSED_AUTH},
    };
    struct status s = healthy();
    s.lanes = lanes;
    s.n_lanes = 3;
    status_render(&b, &s);
    says("<dt>well</dt><dd>ready</dd><dd class=\"note\">a provider of enrichment</dd>");
    says("<dt>held</dt><dd>paused</dd>");
    says("the provider asked to wait");
    says_not("secret");
    says_not("card bad");
    s.n_lanes = ARRAY_LEN(lanes);
    strbuf_clear(&b);
    status_render(&b, &s);
    says("<div class=\"card bad\"><dt>&lt;b&gt;&amp;</dt><dd>waiting</dd>");
    says("the provider refuses us");
}

static void ranges_are_drawn_where_they_are(void **state UNUSED) {
    struct status s = healthy();
    status_render(&b, &s);
    says("<rect class=\"full\" x=\"0.00\" width=\"250.00\"");
    says("<rect class=\"full\" x=\"500.00\" width=\"500.00\"");
}

/* Newest first: much is missing, and nothing is wrong. */
static void history_is_being_filled(void **state UNUSED) {
    struct status s = healthy();
    s.state.maxitem = 60000;
    s.state.frontier_id = s.state.frontier_excluding_waiting = 0;
    s.ranges[1] = (struct range){50000, 60000};
    s.counts.segments[SEG_PENDING] = 1200;
    s.counts.segments[SEG_DONE] = 3;
    status_render(&b, &s);
    says("<dt>Lag</dt><dd>60,000</dd><dd class=\"note\">ids of history");
    says("every id up to here is stored or confirmed missing");
    says("Segments: 1,200 pending, 3 done.");
    says_not("card bad");
}

static void trouble_stands_out(void **state UNUSED) {
    static const struct {
        const char *card;
        int what;
    } cases[] = {
        {"bad\" id=\"s-dead\"", 0},  {"bad\" id=\"s-lag\"", 1},   {"bad\" id=\"s-updater\"", 2},
        {"bad\" id=\"s-event\"", 3}, {"bad\" id=\"s-queue\"", 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct status s = healthy();
        s.counts.dead_letters = cases[i].what == 0;
        s.state.maxitem = cases[i].what == 1 ? 60000 : s.state.maxitem;
        s.updater.lease_left_ms = cases[i].what == 2 ? 0 : 9000;
        s.updater.last_sse_event_at = NOW - (cases[i].what == 3 ? 301000 : 1000);
        s.queue = cases[i].what == 4 ? 2001 : 0;
        strbuf_clear(&b);
        status_render(&b, &s);
        says(cases[i].card);
        if (cases[i].what == 3)
            says("the event stream is silent");
        assert_null(strstr(strstr(b.p, "card bad") + 1, "card bad"));
    }
}

/* An archive of which nothing is known yet, and another process that is the updater. */
static void nothing_is_known(void **state UNUSED) {
    struct status s = {.now = NOW, .queue = METRIC_NONE};
    status_render(&b, &s);
    says("<dt>Last event</dt><dd>never</dd>");
    says("<dt>Updater</dt><dd>not running</dd>");
    says("<dt>Newest upstream</dt><dd>unknown</dd>");
    says("no updates yet");
    says("none in the last hour");
    says("Segments: none.");
    says_not("s-queue");
    says_not("Coverage");
    says_not("nan");
}

static void it_is_a_page(void **state UNUSED) {
    struct status s = healthy();
    s.ages.n[AGES_OLDER] = 5;
    status_render(&b, &s);
    struct page_check check = {0};
    const char *wrong = page_check(&check, strbuf_str(&b));
    if (wrong)
        fail_msg("%s: %.80s", check.why, wrong);
}

static void the_queue_comes_from_the_process(void **state UNUSED) {
    static struct metric depth = {
        .name = "tain_realtime_queue_depth", .type = METRIC_GAUGE, .n_series = 1};
    struct metric *const families[] = {&depth};
    struct status s = {.queue = METRIC_NONE};
    metric_set(&depth, 0, METRIC_NONE);
    status_of_process(&s, families, 1);
    assert_true(s.queue == METRIC_NONE);
    metric_set(&depth, 0, 7);
    status_of_process(&s, families, 1);
    assert_int_equal(s.queue, 7);
}

/* The archive is told of events once a minute; who follows the stream knows better. */
static void the_last_event_comes_from_the_process(void **state UNUSED) {
    static struct metric open = {
        .name = "tain_realtime_listener_connected", .type = METRIC_GAUGE, .n_series = 1};
    static struct metric age = {
        .name = "tain_realtime_last_event_age_seconds", .type = METRIC_GAUGE, .n_series = 1};
    struct metric *const families[] = {&age, &open};
    struct status s = {.now = NOW, .updater = {.last_sse_event_at = NOW - 50000}};
    metric_set(&age, 0, 3000);
    metric_set(&open, 0, 0);
    status_of_process(&s, families, 2);
    assert_int_equal(s.updater.last_sse_event_at, NOW - 50000);
    metric_set(&open, 0, 1);
    status_of_process(&s, families, 2);
    assert_int_equal(s.updater.last_sse_event_at, NOW - 3000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_healthy_mirror, fresh, release),
        cmocka_unit_test_setup_teardown(lanes_of_enrichment, fresh, release),
        cmocka_unit_test_setup_teardown(ranges_are_drawn_where_they_are, fresh, release),
        cmocka_unit_test_setup_teardown(history_is_being_filled, fresh, release),
        cmocka_unit_test_setup_teardown(trouble_stands_out, fresh, release),
        cmocka_unit_test_setup_teardown(nothing_is_known, fresh, release),
        cmocka_unit_test_setup_teardown(it_is_a_page, fresh, release),
        cmocka_unit_test(the_queue_comes_from_the_process),
        cmocka_unit_test(the_last_event_comes_from_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
