/* The live stream when all is well: the gap before it, what its frames name, where the mark is. */
#include "archive.h"
#include "wire.h"

#include "hn/updates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs the job that plans segments as the writer would. */
static void plan(struct wire *w, struct archive *a) {
    struct job *j = queue_pop(&w->to_writer, 0);
    assert_non_null(j);
    assert_int_equal(j->kind, JOB_RUN);
    j->verdict = j->run(a->s, j->arg, &j->err);
    if (j->verdict != V_OK)
        fail_msg("%s", j->err.msg);
    mailbox_put(j->reply, j);
}

static void answer_job(struct wire *w, enum verdict v) {
    struct job *j = queue_pop(&w->to_writer, 0);
    assert_non_null(j);
    j->verdict = v;
    err_set(&j->err, v, "test", 0, "so it is");
    mailbox_put(j->reply, j);
}

static const struct {
    int64_t before, after;
    const char *ids;
} gaps[] = {
    {100, 100, ""},
    {100, 101, "101"},
    {100, 103, "101 102 103"},
    {100, 120, "101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120"},
    {100, 90, ""}, /* an upstream of several that lags */
};

static void the_gap_goes_to_the_queue(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
        struct wire w;
        wire_open(&w, 100, 10);
        assert_int_equal(live_state(w.l), LIVE_ASKING);
        wire_open_stream(&w, gaps[i].before);
        wire_say(&w, PUT("7")); /* lies there unread */
        assert_string_equal(wire_ids(&w), "");
        assert_false(w.tidings.connected);
        assert_int_equal(w.tidings.last_event_at, 0);
        wire_maxitem(&w, gaps[i].after);
        wire_turn(&w);
        assert_int_equal(live_state(w.l), LIVE_STREAMING);
        assert_true(w.tidings.connected);
        wire_turns(&w, 2);
        char all[200];
        snprintf(all, sizeof all, "%s%s7*", gaps[i].ids, *gaps[i].ids ? " " : "");
        assert_string_equal(wire_ids(&w), all);
        int64_t n = gaps[i].after - gaps[i].before;
        assert_int_equal(wire_count(&w, BY_QUEUE), n > 0 ? n : 0);
        assert_int_equal(w.tidings.maxitem, n > 0 ? gaps[i].after : gaps[i].before);
        assert_int_equal(w.tidings.last_event_at, wire_now_db(&w));
        assert_int_equal(queue_depth(&w.to_writer), 0);
        wire_close(&w);
    }
}

static void many_go_into_committed_segments(void **state UNUSED) {
    struct wire w;
    struct archive a;
    wire_open(&w, 100, 10);
    archive_open(&a);
    wire_measure(&w, 100, 125);
    assert_int_equal(live_state(w.l), LIVE_FILLING);
    wire_say(&w, PUT("7"));
    assert_string_equal(wire_ids(&w), ""); /* not before the answer */
    assert_int_equal(wire_count(&w, BY_SEGMENTS), 0);
    plan(&w, &a);
    wire_turns(&w, 2);
    assert_int_equal(live_state(w.l), LIVE_STREAMING);
    assert_string_equal(wire_ids(&w), "7*");
    assert_int_equal(wire_count(&w, BY_SEGMENTS), 25);
    assert_int_equal(wire_count(&w, BY_QUEUE), 0);
    assert_string_equal(archive_ask(&a, "SELECT purpose, MIN(start_id), MAX(end_id), COUNT(*), "
                                        "MAX(status) FROM ingest_segments GROUP BY 1"),
                        "gap|101|125|3|pending");
    archive_close(&a);
    wire_close(&w);
}

/* After whatever went wrong, what the mark stands for is asked for again. */
static void expect_gap_next_time(struct wire *w, int64_t maxitem, const char *ids) {
    wire_wait(w);
    wire_measure(w, maxitem, maxitem);
    wire_until(w, LIVE_STREAMING);
    assert_string_equal(wire_ids(w), ids);
}

static void segments_that_cannot_be_made(void **state UNUSED) {
    static const enum verdict verdicts[] = {V_CONFLICT, V_INVALID, V_STOPPED, V_LIMIT};
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        struct wire w;
        wire_open(&w, 100, 10);
        wire_measure(&w, 100, 125);
        answer_job(&w, verdicts[i]);
        wire_until(&w, LIVE_DOWN);
        assert_true(peer_left(&w.peer));
        wire_wait(&w);
        wire_measure(&w, 126, 126);
        assert_int_equal(live_state(w.l), LIVE_FILLING); /* with all of it again */
        answer_job(&w, V_OK);
        wire_until(&w, LIVE_STREAMING);
        assert_int_equal(wire_count(&w, BY_SEGMENTS), 26);
        wire_close(&w);
    }
}

static void a_broken_archive_is_the_end(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_measure(&w, 100, 125);
    answer_job(&w, V_FATAL);
    assert_int_equal(live_step(w.l, clock_mono(&w.clock), &w.e), V_FATAL);
    assert_non_null(strstr(w.e.msg, "so it is"));
    assert_false(w.tidings.connected);
    assert_int_equal(live_step(w.l, clock_mono(&w.clock), &w.e), V_FATAL);
    wire_close(&w);
}

/* With a call lent the end waits until it is back: its receiver will write into it. */
static void the_end_waits_for_what_is_lent(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_maxitem(&w, 100);
    wire_until(&w, LIVE_OPENING);
    wire_pass(&w, POLL_MS); /* polls while the answer does not come */
    struct call *updates = wire_call(&w, "/updates.json");
    wire_maxitem(&w, 100);
    for (int i = 0; i < 50 && !peer_called(&w.peer); i++)
        wire_turn(&w);
    peer_say(&w.peer, PEER_HEAD);
    wire_until(&w, LIVE_MEASURING);
    wire_maxitem(&w, 200);
    wire_until(&w, LIVE_FILLING);
    wire_turn(&w);
    answer_job(&w, V_FATAL);
    wire_turns(&w, 3);
    assert_true(peer_left(&w.peer));
    wire_answer(&w, updates, "{\"items\":[5]}");
    assert_int_equal(live_step(w.l, clock_mono(&w.clock), &w.e), V_FATAL);
    wire_close(&w);
}

static void the_writer_has_no_time(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    for (int i = 0; i < 4; i++)
        assert_true(queue_try_push(&w.to_writer, &w));
    wire_measure(&w, 100, 125);
    wire_turns(&w, 5);
    assert_int_equal(live_state(w.l), LIVE_FILLING);
    while (queue_pop(&w.to_writer, 0))
        ;
    wire_turn(&w);
    wire_turn(&w); /* and not twice */
    assert_int_equal(queue_depth(&w.to_writer), 1);
    answer_job(&w, V_OK);
    wire_until(&w, LIVE_STREAMING);
    wire_close(&w);
}

static void a_gap_larger_than_the_room(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 3, 10);
    wire_measure(&w, 100, 107);
    wire_say(&w, PUT("7"));
    assert_int_equal(live_state(w.l), LIVE_FILLING);
    assert_int_equal(wire_count(&w, BY_QUEUE), 3);
    assert_string_equal(wire_ids(&w), "101 102 103");
    wire_turns(&w, 3);
    assert_string_equal(wire_ids(&w), "104 105 106");
    assert_int_equal(wire_count(&w, FULLS), 1); /* one time, though it was met again and again */
    wire_turns(&w, 3);
    assert_int_equal(live_state(w.l), LIVE_STREAMING);
    assert_string_equal(wire_ids(&w), "107 7*");
    wire_close(&w);
}

static void maxitem_fails_before_the_connect(void **state UNUSED) {
    static const char *const answers[] = {NULL, "", "null", "\"100\"", "-5", "0", "1e9", "{}"};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct wire w;
        wire_open(&w, 100, 10);
        wire_stream(&w, 100);
        peer_hang_up(&w.peer);
        wire_until(&w, LIVE_DOWN);
        wire_wait(&w);
        struct call *c = wire_call(&w, "/maxitem.json");
        if (answers[i])
            wire_answer(&w, c, "%s", answers[i]);
        else
            wire_fail(&w, c, NET_HTTP_5XX, -1);
        wire_until(&w, LIVE_DOWN);
        assert_false(peer_called(&w.peer));
        expect_gap_next_time(&w, 102, "101 102");
        wire_close(&w);
    }
}

static void maxitem_fails_after_the_connect(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    wire_wait(&w);
    wire_open_stream(&w, 103);
    wire_say(&w, PUT("7"));
    for (int try = 1; try <= 3; try++) {
        wire_fail(&w, wire_call(&w, "/maxitem.json"), NET_TIMEOUT, -1);
        wire_turns(&w, 3);
        assert_int_equal(live_state(w.l), try < 3 ? LIVE_MEASURING : LIVE_DOWN);
        if (try < 3) {
            clock_advance(&w.clock, 499);
            wire_no_call(&w);
            clock_advance(&w.clock, 1);
        }
    }
    assert_true(peer_left(&w.peer));
    assert_string_equal(wire_ids(&w), ""); /* not a frame of it was consumed */
    expect_gap_next_time(&w, 104, "101 102 103 104");
    wire_close(&w);
}

static void a_second_try_measures(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_open_stream(&w, 100);
    wire_fail(&w, wire_call(&w, "/maxitem.json"), NET_TIMEOUT, -1);
    wire_turn(&w);
    clock_advance(&w.clock, 500);
    wire_maxitem(&w, 101);
    wire_until(&w, LIVE_STREAMING);
    assert_string_equal(wire_ids(&w), "101");
    wire_close(&w);
}

/* What others know of maxitem does not move the mark, and neither does a poll. */
static void the_mark_is_what_the_stream_has_covered(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    tidings_maxitem(&w.tidings, 105);
    wire_measure(&w, 103, 106);
    wire_until(&w, LIVE_STREAMING);
    assert_string_equal(wire_ids(&w), "104 105 106");
    tidings_maxitem(&w.tidings, 108); /* no frame since: it may name 107 and 108, or not */
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    wire_poll(&w, "{\"items\":[]}", 109);
    assert_int_equal(w.tidings.maxitem, 109);
    expect_gap_next_time(&w, 109, "107 108 109");
    wire_close(&w);
}

static void an_upstream_that_lags_moves_nothing_back(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_measure(&w, 100, 90);
    wire_until(&w, LIVE_STREAMING);
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    expect_gap_next_time(&w, 101, "101");
    wire_close(&w);
}

static void the_mark_follows_a_frame_behind(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    tidings_maxitem(&w.tidings, 102);
    wire_say(&w, KEEP_ALIVE);
    tidings_maxitem(&w.tidings, 104);
    wire_say(&w, PUT("900")); /* an id above maxitem moves nothing */
    tidings_maxitem(&w.tidings, 105);
    assert_string_equal(wire_ids(&w), "900*");
    assert_int_equal(w.tidings.maxitem, 105);
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    expect_gap_next_time(&w, 106, "103 104 105 106");
    wire_close(&w);
}

#define BOM "\xEF\xBB\xBF"

static const struct {
    const char *says, *ids, *names;
    enum updates_kind kind;
} frames[] = {
    {PUT("1,2,1"), "1* 2*", "", UPDATES_CHANGES},
    {"event: patch\ndata: {\"path\":\"/\",\"data\":{\"items\":[3],\"profiles\":[\"ann\",\"bob\"]}}"
     "\n\n",
     "3*", "ann bob", UPDATES_CHANGES},
    {"event: put\ndata: {\"path\":\"/items\",\"data\":[4,5]}\n\n", "4* 5*", "", UPDATES_CHANGES},
    {"event: put\ndata: {\"path\":\"/items/0\",\"data\":6}\n\n", "6*", "", UPDATES_CHANGES},
    {"event: put\ndata: {\"path\":\"/profiles/3\",\"data\":\"cy\"}\n\n", "", "cy", UPDATES_CHANGES},
    {BOM ":hello\r\nevent: put\r\ndata: {\"path\":\"/items\",\r\ndata: \"data\":[8]}\r\n\r\n", "8*",
     "", UPDATES_CHANGES},
    {KEEP_ALIVE, "", "", UPDATES_KEEP_ALIVE},
    {"event: weather\ndata: rain\n\n", "", "", UPDATES_UNKNOWN},
    {"event: put\ndata: {\"path\":\"/\",\"da\n\n", "", "", UPDATES_GARBAGE},
    {"event: put\ndata: \xFF\xFE<html>\n\n", "", "", UPDATES_GARBAGE},
};

static void every_kind_of_frame(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
        struct wire w;
        wire_open(&w, 100, 10);
        wire_stream(&w, 100);
        int64_t before = metric_get(&m_frames, (int)frames[i].kind);
        clock_advance(&w.clock, 1234);
        wire_say(&w, frames[i].says);
        assert_string_equal(wire_ids(&w), frames[i].ids);
        assert_string_equal(wire_names(&w), frames[i].names);
        assert_int_equal(metric_get(&m_frames, (int)frames[i].kind), before + 1);
        assert_int_equal(w.tidings.last_event_at, wire_now_db(&w));
        wire_say(&w, PUT("77")); /* whatever that was, it goes on */
        assert_string_equal(wire_ids(&w), "77*");
        wire_close(&w);
    }
}

static void frames_cut_anywhere(void **state UNUSED) {
    static const char all[] = BOM PUT("1") "\r\n: comment\r\r" PUT("2") KEEP_ALIVE PUT("3");
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    for (size_t i = 0; i < sizeof all - 1; i++) {
        char piece[2] = {all[i], '\0'};
        wire_say(&w, piece);
    }
    assert_string_equal(wire_ids(&w), "1* 2* 3*");
    wire_close(&w);
}

/* A comment is a sign of life for the watchdog, and no frame. */
static void a_comment_is_no_event(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    wire_say(&w, ": nothing new\n\n");
    assert_int_equal(w.tidings.last_event_at, 0);
    wire_close(&w);
}

static void half_a_frame_dies_with_its_connection(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    wire_say(&w, "event: put\ndata: {\"path\":\"/items\",\"data\":[1");
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    wire_wait(&w);
    wire_stream(&w, 100);
    wire_say(&w, "]}\n\n" PUT("2"));
    assert_string_equal(wire_ids(&w), "2*");
    wire_close(&w);
}

static void expect_in(const char *path, const char *table) {
    CLEANUP(strbuf_release) struct strbuf page;
    strbuf_init(&page, 1 << 20);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        strbuf_add(&page, chunk, n);
    fclose(file);
    if (!strstr(page.p, table))
        fail_msg("%s does not show this table:\n%s", path, table);
}

static void the_pages_show_the_states(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf table;
    strbuf_init(&table, 1 << 16);
    fsm_print(&live_fsm, &table);
    expect_in(TAIN_SOURCE_ROOT "/docs/states.md", table.p);
    expect_in(TAIN_SOURCE_ROOT "/docs/mirror.md", table.p);
    assert_int_equal(live_fsm.n, LIVE_N);
    for (int s = 0; s < LIVE_N; s++)
        assert_true(live_fsm.next[s]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gap_goes_to_the_queue),
        cmocka_unit_test(many_go_into_committed_segments),
        cmocka_unit_test(segments_that_cannot_be_made),
        cmocka_unit_test(a_broken_archive_is_the_end),
        cmocka_unit_test(the_end_waits_for_what_is_lent),
        cmocka_unit_test(the_writer_has_no_time),
        cmocka_unit_test(a_gap_larger_than_the_room),
        cmocka_unit_test(maxitem_fails_before_the_connect),
        cmocka_unit_test(maxitem_fails_after_the_connect),
        cmocka_unit_test(a_second_try_measures),
        cmocka_unit_test(the_mark_is_what_the_stream_has_covered),
        cmocka_unit_test(an_upstream_that_lags_moves_nothing_back),
        cmocka_unit_test(the_mark_follows_a_frame_behind),
        cmocka_unit_test(every_kind_of_frame),
        cmocka_unit_test(frames_cut_anywhere),
        cmocka_unit_test(a_comment_is_no_event),
        cmocka_unit_test(half_a_frame_dies_with_its_connection),
        cmocka_unit_test(the_pages_show_the_states),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
