/* Bursts: nothing that was to be named is lost, however slowly it is read. */
#include "events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UPDATES "/v0/updates.json"
#define N_IDS 200000

static int set_up(void **state) {
    struct demo_options o = {.seed = 5, .maxitem = 5000};
    struct err e;
    return demo_start(&o, (struct demo **)state, &e);
}

static int tear_down(void **state) {
    demo_stop(*state);
    return 0;
}

static void open_stream(struct events *ev, struct demo *d) {
    events_open(ev, d, UPDATES);
    assert_true(events_wait(ev, "}\n\n"));
}

/* Counts each id in what is between the brackets of whole events; answers how many there were. */
static int64_t count_ids(const char *p, uint32_t *counts) {
    int64_t n = 0;
    while ((p = strstr(p, "\ndata: {\"path\":\"/"))) {
        const char *end = strstr(p, "\n\n");
        assert_non_null(end);
        p = strstr(p, "\"data\":") + strlen("\"data\":");
        if (strncmp(p, "{\"items\":", 9) == 0)
            p += 9;
        p += *p == '[';
        while (p < end && *p >= '0' && *p <= '9') {
            char *after;
            int64_t id = strtoll(p, &after, 10);
            assert_in_range(id, 1, N_IDS - 1);
            counts[id]++;
            n++;
            p = after + 1;
        }
    }
    return n;
}

/* Reads until `want` more ids were named, and counts them. */
static void read_ids(struct events *ev, int64_t want, uint32_t *counts) {
    size_t from = ev->seen;
    int64_t got = 0;
    while (got < want) {
        assert_true(events_wait(ev, "}\n\n"));
        char kept = ev->body.p[ev->seen];
        ev->body.p[ev->seen] = '\0';
        got += count_ids(ev->body.p + from - 2, counts);
        ev->body.p[ev->seen] = kept;
        from = ev->seen;
    }
    assert_int_equal(got, want);
}

static void every_id_is_named_as_often_as_asked(void **state) {
    struct demo *d = *state;
    static const struct {
        const char *path;
        int64_t first, n, repeat;
    } CASES[] = {
        {"/demo/mention?from=4000", 4000, 1, 1},
        {"/demo/mention?from=10&n=3&repeat=2", 10, 3, 2},
        {"/demo/mention?from=7&n=1&repeat=9&per_frame=1", 7, 1, 9},
        {"/demo/mention?from=1&n=1000&repeat=3&per_frame=7", 1, 1000, 3},
        {"/demo/mention?from=100000&n=50000", 100000, 50000, 1}, /* beyond maxitem too */
        {"/demo/mention?from=1&n=100&repeat=10&per_frame=5000&spread_ms=20", 1, 100, 10},
    };
    uint32_t *counts = malloc(N_IDS * sizeof *counts);
    struct events ev;
    open_stream(&ev, d);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        memset(counts, 0, N_IDS * sizeof *counts);
        assert_int_equal(control_post(d, CASES[i].path, ""), 200);
        read_ids(&ev, CASES[i].n * CASES[i].repeat, counts);
        for (int64_t id = 0; id < N_IDS; id++) {
            bool meant = id >= CASES[i].first && id < CASES[i].first + CASES[i].n;
            assert_int_equal(counts[id], meant ? CASES[i].repeat : 0);
        }
    }
    free(counts);
    control_await(d, "bursts", 0);
    assert_int_equal(corpus_version(demo_corpus(d), 10), 0);
    assert_int_equal(control_get(d, "/demo/stats", "requests.item"), 0);
    events_close(&ev);
}

/* Until the number of mentions has not moved for a while. */
static void await_standstill(struct demo *d) {
    int64_t last = 0;
    for (int same = 0; same < 50; same++) {
        int64_t now = control_get(d, "/demo/stats", "mentions");
        if (now != last || now == 0)
            same = 0;
        last = now;
    }
}

static void a_million_mentions_lose_none_to_a_slow_reader(void **state) {
    struct demo *d = *state;
    uint32_t *counts = calloc(N_IDS, sizeof *counts);
    struct events slow, gone;
    struct mentions m = {1000, 1000, 1000, 0, 0};
    struct err e;
    open_stream(&slow, d);
    open_stream(&gone, d);
    assert_int_equal(demo_mention(d, &m, &e), V_OK);
    await_standstill(d); /* it waits for both */
    assert_int_equal(control_get(d, "/demo/stats", "bursts"), 1);
    assert_true(control_get(d, "/demo/stats", "mentions") < 1000000);
    for (int64_t id = 1; id <= 100; id++) { /* what happens meanwhile is not lost either */
        int64_t changed;
        assert_int_equal(demo_mutate(d, id, id, CORPUS_EDIT, false, &changed, &e), V_OK);
    }
    events_close(&gone); /* nobody waits for the dead */
    read_ids(&slow, 1000000 + 100, counts);
    for (int64_t id = 1; id < 2000; id++)
        assert_int_equal(counts[id], id <= 100 ? 1 : id >= 1000 ? 1000 : 0);
    assert_int_equal(control_get(d, "/demo/stats", "streams_overrun"), 0);
    assert_int_equal(control_get(d, "/demo/stats", "mentions"), 1000000);
    free(counts);
    events_close(&slow);
}

static void a_silent_stream_holds_no_burst_up(void **state) {
    struct demo *d = *state;
    struct events ev;
    open_stream(&ev, d);
    demo_stream_do(d, DEED_SILENCE);
    assert_int_equal(control_post(d, "/demo/mention?from=1&n=1000&repeat=1000", ""), 200);
    control_await(d, "mentions", 1000000);
    control_await(d, "bursts", 0);
    demo_stream_do(d, DEED_WAKE);
    uint32_t *counts = calloc(N_IDS, sizeof *counts);
    read_ids(&ev, 1000000, counts);
    free(counts);
    events_close(&ev);
}

static void what_nobody_keeps_up_with_starts_over(void **state) {
    struct demo *d = *state;
    struct events ev;
    open_stream(&ev, d);
    demo_stream_do(d, DEED_SILENCE);
    assert_int_equal(control_post(d, "/demo/mention?from=1&n=5000&per_frame=1", ""), 200);
    control_await(d, "bursts", 0);
    demo_stream_do(d, DEED_WAKE);
    assert_true(events_wait(&ev, "event: put\ndata: {\"path\":\"/\",\"data\":{\"items\":[5000,"));
    assert_int_equal(control_get(d, "/demo/stats", "streams_overrun"), 1);
    events_close(&ev);
}

static void a_burst_takes_the_time_it_is_given(void **state) {
    struct demo *d = *state;
    int64_t begin = clock_mono(&clock_machine);
    assert_int_equal(
        control_post(d, "/demo/mention?from=1&n=100&repeat=10&per_frame=10&spread_ms=150", ""),
        200);
    control_await(d, "mentions", 1000);
    assert_true(clock_mono(&clock_machine) - begin >= 140);
}

static void nonsense_is_refused(void **state) {
    struct demo *d = *state;
    static const char *const BAD[] = {
        "/demo/mention",
        "/demo/mention?from=0",
        "/demo/mention?from=x",
        "/demo/mention?from=1&n=0",
        "/demo/mention?from=1&n=300000000",
        "/demo/mention?from=268435456&n=2",
        "/demo/mention?from=1&n=1000000&repeat=100000000",
        "/demo/mention?from=1&repeat=0",
        "/demo/mention?from=1&per_frame=0",
        "/demo/mention?from=1&per_frame=5001",
        "/demo/mention?from=1&spread_ms=-1",
        "/demo/mention?from=1&spread_ms=3600001",
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(control_post(d, BAD[i], ""), 400);
    assert_int_equal(control_get(d, "/demo/stats", "bursts"), 0);
}

static void it_stops_in_the_midst_of_bursts(void **state) {
    struct demo *d = *state;
    struct events ev;
    open_stream(&ev, d);
    int status = 200;
    for (int i = 0; i < 20 && status == 200; i++)
        status = control_post(d, "/demo/mention?from=1&n=1000&spread_ms=600000", "");
    assert_int_equal(status, 409); /* more than may wait */
    demo_stop(d);
    events_close(&ev);
    assert_int_equal(set_up(state), V_OK);
    d = *state;
    open_stream(&ev, d); /* and while it waits for a reader */
    assert_int_equal(control_post(d, "/demo/mention?from=1&n=1000&repeat=10000", ""), 200);
    while (control_get(d, "/demo/stats", "frames_sent") < 10)
        ;
    demo_stop(d);
    events_close(&ev);
    assert_int_equal(set_up(state), V_OK); /* for the tear-down */
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(every_id_is_named_as_often_as_asked),
        WITH_SERVER(a_million_mentions_lose_none_to_a_slow_reader),
        WITH_SERVER(a_silent_stream_holds_no_burst_up),
        WITH_SERVER(what_nobody_keeps_up_with_starts_over),
        WITH_SERVER(a_burst_takes_the_time_it_is_given),
        WITH_SERVER(nonsense_is_refused),
        WITH_SERVER(it_stops_in_the_midst_of_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
