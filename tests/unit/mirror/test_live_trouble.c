/* The live stream in trouble: backoff, silence, full queues, polling, outages, stopping. */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From ASKING: the stream is refused with these headers. */
static void refuse(struct wire *w, const char *head) {
    wire_maxitem(w, 100);
    for (int i = 0; i < 100 && !peer_called(&w->peer); i++)
        wire_turn(w);
    assert_true(peer_called(&w->peer));
    peer_say(&w->peer, "%s", head);
    wire_until(w, LIVE_DOWN);
}

#define REFUSED "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
#define JITTER_MS 250

static void assert_wait(struct wire *w, int64_t least) {
    int64_t took = wire_wait(w);
    if (took < least || took > least + JITTER_MS + 10)
        fail_msg("waited %lld ms, not %lld", (long long)took, (long long)least);
}

static void waits_double_up_to_half_a_minute(void **state UNUSED) {
    static const int64_t waits[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct wire w;
    wire_open(&w, 100, 10);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        refuse(&w, REFUSED);
        assert_wait(&w, waits[i]);
    }
    assert_int_equal(wire_count(&w, RECONNECTS), 0);
    wire_close(&w);
}

static void a_change_resets_the_waits_and_nothing_else_does(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    refuse(&w, REFUSED);
    assert_wait(&w, 500);
    refuse(&w, REFUSED);
    assert_wait(&w, 1000);
    wire_stream(&w, 100); /* an open stream */
    wire_say(&w, KEEP_ALIVE ": hm\n\nevent: put\ndata: garbage\n\n");
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    assert_wait(&w, 2000);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1"));
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    assert_wait(&w, 500);
    wire_stream(&w, 100);
    assert_int_equal(wire_count(&w, RECONNECTS), 2); /* opened three times */
    wire_close(&w);
}

static void a_retry_after_is_honoured_up_to_a_minute(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    refuse(&w, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    assert_wait(&w, 7000);
    refuse(&w, "HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n");
    assert_wait(&w, 1000);
    refuse(&w, "HTTP/1.1 429 Slow\r\nRetry-After: 3000\r\nContent-Length: 0\r\n\r\n");
    assert_wait(&w, 60000);
    wire_fail(&w, wire_call(&w, "/maxitem.json"), NET_HTTP_429, 20000);
    wire_until(&w, LIVE_DOWN);
    assert_wait(&w, 20000);
    wire_close(&w);
}

static const struct {
    const char *says;
    bool closes;
} losses[] = {
    {"event: cancel\ndata: null\n\n" PUT("9"), false},
    {"event: auth_revoked\ndata: \"expired\"\n\n" PUT("9"), false},
    {": bye\n\n", true},
};

static void how_a_stream_is_lost(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
        struct wire w;
        wire_open(&w, 100, 10);
        wire_stream(&w, 100);
        assert_int_equal(metric_get(&m_connected, 0), 1);
        wire_say(&w, PUT("1"));
        peer_say(&w.peer, "%s", losses[i].says);
        if (losses[i].closes)
            peer_hang_up(&w.peer);
        wire_until(&w, LIVE_DOWN);
        assert_false(w.tidings.connected);
        assert_int_equal(metric_get(&m_connected, 0), 0);
        assert_true(losses[i].closes || peer_left(&w.peer));
        wire_turns(&w, 2);
        assert_string_equal(wire_ids(&w), "1*");
        wire_wait(&w);
        wire_stream(&w, 100);
        wire_say(&w, PUT("2"));
        assert_string_equal(wire_ids(&w), "2*");
        wire_close(&w);
    }
}

static void a_frame_without_end(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    peer_say(&w.peer, PUT("1") "data: ");
    static char piece[8001];
    memset(piece, 'x', sizeof piece - 1);
    int said = 0;
    for (; said < 200 && live_state(w.l) == LIVE_STREAMING; said++) {
        peer_say(&w.peer, "%s", piece);
        wire_turns(&w, 2);
    }
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    assert_in_range(said, 131, 133); /* a megabyte */
    assert_string_equal(wire_ids(&w), "1*");
    wire_close(&w);
}

static void silence_is_death(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    wire_pass(&w, STREAM_TIMEOUT_MS - 1);
    wire_say(&w, ":"); /* a byte is enough */
    wire_pass(&w, STREAM_TIMEOUT_MS - 1);
    assert_int_equal(live_state(w.l), LIVE_STREAMING);
    wire_pass(&w, 1);
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    assert_true(peer_left(&w.peer));
    wire_close(&w);
}

/* What came while the thread itself was away counts before the watchdog does. */
static void a_late_turn_reads_first(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    peer_say(&w.peer, PUT("5"));
    clock_advance(&w.clock, 10 * STREAM_TIMEOUT_MS);
    wire_turns(&w, 3);
    assert_int_equal(live_state(w.l), LIVE_STREAMING);
    assert_string_equal(wire_ids(&w), "5*");
    wire_close(&w);
}

static void an_answer_that_does_not_come(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_maxitem(&w, 100);
    wire_until(&w, LIVE_OPENING);
    wire_pass(&w, STREAM_TIMEOUT_MS - 1);
    assert_int_equal(live_state(w.l), LIVE_OPENING);
    wire_pass(&w, 1);
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    wire_close(&w);
}

static void a_full_queue_holds_the_stream_and_drops_nothing(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 2, 10);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1,2,3,4,5"));
    wire_say(&w, PUT("6"));
    wire_say(&w, PUT("7"));
    assert_int_equal(wire_count(&w, FULLS), 1);
    assert_string_equal(wire_ids(&w), "1* 2*");
    wire_turns(&w, 4);
    assert_string_equal(wire_ids(&w), "3* 4*");
    wire_turns(&w, 4);
    assert_string_equal(wire_ids(&w), "5* 6*");
    wire_turns(&w, 4);
    assert_string_equal(wire_ids(&w), "7*");
    assert_int_equal(wire_count(&w, FULLS), 2); /* and once more for the 7 */
    wire_close(&w);
}

static void time_held_is_not_silence(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 2, 10);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1,2,3"));
    wire_pass(&w, 2 * STREAM_TIMEOUT_MS);
    assert_int_equal(live_state(w.l), LIVE_STREAMING);
    assert_string_equal(wire_ids(&w), "1* 2*");
    wire_turns(&w, 3);
    assert_string_equal(wire_ids(&w), "3*");
    wire_pass(&w, STREAM_TIMEOUT_MS - 1); /* let go, the silence begins */
    assert_int_equal(live_state(w.l), LIVE_STREAMING);
    wire_pass(&w, 1);
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    wire_close(&w);
}

#define PROFILES(list) "event: put\ndata: {\"path\":\"/profiles\",\"data\":[" list "]}\n\n"

static void a_full_queue_of_names_does_too(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 2);
    wire_stream(&w, 100);
    wire_say(&w, PROFILES("\"a\",\"b\",\"c\""));
    wire_say(&w, PROFILES("\"d\"") PUT("1"));
    assert_string_equal(wire_ids(&w), "");
    assert_string_equal(wire_names(&w), "a b");
    wire_turns(&w, 4);
    assert_string_equal(wire_ids(&w), "1*");
    assert_string_equal(wire_names(&w), "c d");
    assert_int_equal(wire_count(&w, FULLS), 1);
    wire_close(&w);
}

static void what_was_named_survives_its_stream(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 2, 10);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1,2,3,4") "event: cancel\ndata: null\n\n");
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    assert_string_equal(wire_ids(&w), "1* 2*");
    wire_turns(&w, 2);
    assert_string_equal(wire_ids(&w), "3* 4*");
    wire_close(&w);
}

static void polls_while_it_is_down(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_pass(&w, 100);
    wire_fail(&w, wire_call(&w, "/maxitem.json"), NET_CONNECT, 60000);
    wire_until(&w, LIVE_DOWN);
    /* at once */
    wire_poll(&w, "{\"items\":[3,4],\"profiles\":[\"ann\"]}", 104);
    assert_string_equal(wire_ids(&w), "3* 4*");
    assert_string_equal(wire_names(&w), "ann");
    assert_int_equal(w.tidings.maxitem, 104);
    assert_int_equal(w.tidings.last_event_at, 0); /* only the stream sets it */
    wire_pass(&w, POLL_MS - 1);
    wire_no_call(&w);
    wire_pass(&w, 1);
    wire_poll(&w, "null", 105); /* not good: not counted */
    wire_pass(&w, POLL_MS);
    struct call *updates = wire_call(&w, "/updates.json");
    wire_maxitem(&w, 90);
    wire_pass(&w, 2 * POLL_MS);
    wire_no_call(&w); /* while one is out there is no other */
    wire_fail(&w, updates, NET_HTTP_429, 9000);
    wire_pass(&w, 8900);
    wire_no_call(&w);
    wire_pass(&w, 200);
    wire_poll(&w, "{\"items\":[5]}", 106);
    assert_int_equal(wire_count(&w, POLLS), 2);
    assert_int_equal(w.tidings.maxitem, 106);
    assert_string_equal(wire_ids(&w), "5*");
    wire_close(&w);
}

static void a_stream_that_comes_and_goes_is_not_polled_more_often(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    int polls = 0;
    for (int i = 0; i < 12; i++) { /* a second each */
        wire_maxitem(&w, 100);
        for (int k = 0; k < 50 && !peer_called(&w.peer); k++)
            wire_turn(&w);
        peer_say(&w.peer, PEER_HEAD PUT("1"));
        wire_until(&w, LIVE_MEASURING);
        wire_maxitem(&w, 100);
        wire_turns(&w, 4);
        wire_pass(&w, 300);
        peer_hang_up(&w.peer);
        wire_until(&w, LIVE_DOWN);
        int64_t before = clock_mono(&w.clock);
        while (live_state(w.l) == LIVE_DOWN) {
            struct call *c = queue_pop(&w.calls.queue, 0);
            polls += c && strcmp(c->path, "/updates.json") == 0;
            if (c)
                wire_fail(&w, c, NET_TIMEOUT, -1);
            wire_pass(&w, 10);
            assert_true(clock_mono(&w.clock) - before < 1000);
        }
    }
    assert_in_range(polls, 2, 3);
    wire_close(&w);
}

/* Down for so long, measured from the last frame. */
static int64_t outages_after(int64_t silent_ms, int64_t down_ms) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1"));
    clock_advance(&w.clock, silent_ms);
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    clock_advance(&w.clock, down_ms);
    wire_wait(&w);
    wire_stream(&w, 100);
    int64_t n = w.tidings.outages;
    /* counted once: it is over now */
    wire_say(&w, KEEP_ALIVE);
    peer_hang_up(&w.peer);
    wire_until(&w, LIVE_DOWN);
    wire_wait(&w);
    wire_stream(&w, 100);
    assert_int_equal(w.tidings.outages, n);
    wire_close(&w);
    return n;
}

static void long_outages_are_told(void **state UNUSED) {
    assert_int_equal(outages_after(0, OUTAGE_MS), 0);
    assert_int_equal(outages_after(0, OUTAGE_MS + 1), 1);
    assert_int_equal(outages_after(40000, OUTAGE_MS - 39000), 1);
    assert_int_equal(outages_after(40000, OUTAGE_MS - 41000), 0);
}

static void never_connected_counts_from_the_start(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_turn(&w);
    clock_advance(&w.clock, OUTAGE_MS + 1);
    assert_int_equal(w.tidings.outages, 0);
    wire_fail(&w, wire_call(&w, "/maxitem.json"), NET_CONNECT, -1);
    wire_until(&w, LIVE_DOWN);
    wire_wait(&w);
    assert_int_equal(w.tidings.outages, 0); /* at the reconnect, not before */
    wire_stream(&w, 100);
    assert_int_equal(w.tidings.outages, 1);
    wire_close(&w);
}

/* A stream that opens, says nothing and goes is no end of an outage. */
static void a_mute_stream_ends_no_outage(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1"));
    for (int i = 0; i < 2; i++) {
        peer_hang_up(&w.peer);
        wire_until(&w, LIVE_DOWN);
        clock_advance(&w.clock, OUTAGE_MS / 2 + 1000);
        wire_wait(&w);
        wire_stream(&w, 100);
        assert_int_equal(w.tidings.outages, i);
    }
    peer_hang_up(&w.peer); /* mute again, but it was told */
    wire_until(&w, LIVE_DOWN);
    wire_wait(&w);
    wire_stream(&w, 100);
    assert_int_equal(w.tidings.outages, 1);
    wire_close(&w);
}

static void redirected_to_another_host(void **state UNUSED) {
    struct wire w;
    struct peer other;
    wire_open(&w, 100, 10);
    peer_open(&other);
    wire_maxitem(&w, 100);
    for (int i = 0; i < 50 && !peer_called(&w.peer); i++)
        wire_turn(&w);
    assert_non_null(strstr(w.peer.request, "GET /updates.json "));
    peer_say(&w.peer, "HTTP/1.1 307 Off\r\nLocation: %s/updates.json?ns=x\r\n\r\n", other.root);
    for (int i = 0; i < 50 && !peer_called(&other); i++)
        wire_turn(&w);
    peer_say(&other, PEER_HEAD PUT("1"));
    wire_until(&w, LIVE_MEASURING);
    wire_maxitem(&w, 100);
    wire_turns(&w, 4);
    assert_string_equal(wire_ids(&w), "1*");
    peer_close(&other);
    wire_close(&w);
}

static enum verdict stopped_step(struct wire *w) {
    return live_step(w->l, clock_mono(&w->clock), &w->e);
}

static void stops_while_streaming(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 2, 10);
    wire_stream(&w, 100);
    wire_say(&w, PUT("1,2,3,4"));
    stop_raise(&w.stop);
    assert_int_equal(stopped_step(&w), V_STOPPED);
    assert_true(peer_left(&w.peer));
    assert_false(w.tidings.connected);
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    assert_string_equal(wire_ids(&w), "1* 2* 3* 4*"); /* where others write it down */
    assert_int_equal(stopped_step(&w), V_STOPPED);
    wire_close(&w);
}

static void stops_when_what_it_lent_is_back(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_fail(&w, wire_call(&w, "/maxitem.json"), NET_CONNECT, -1);
    wire_until(&w, LIVE_DOWN);
    wire_turn(&w);
    struct call *updates = wire_call(&w, "/updates.json");
    struct call *maxitem = wire_call(&w, "/maxitem.json");
    clock_advance(&w.clock, 1000);
    struct call *ask = wire_call(&w, "/maxitem.json");
    stop_raise(&w.stop);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stopped_step(&w), V_OK);
    wire_cancel(&w, updates);
    wire_answer(&w, maxitem, "105");
    assert_int_equal(stopped_step(&w), V_OK);
    wire_cancel(&w, ask);
    assert_int_equal(stopped_step(&w), V_STOPPED);
    assert_false(peer_called(&w.peer));
    wire_close(&w);
}

static void stops_while_the_writer_has_its_job(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    wire_measure(&w, 100, 100 + GAP_QUEUE_MAX + 1);
    struct job *j = queue_pop(&w.to_writer, 0);
    assert_non_null(j);
    stop_raise(&w.stop);
    assert_int_equal(stopped_step(&w), V_OK);
    j->verdict = V_STOPPED;
    mailbox_put(j->reply, j);
    assert_int_equal(stopped_step(&w), V_STOPPED);
    wire_close(&w);
}

static void the_fetch_service_has_ended(void **state UNUSED) {
    struct wire w;
    wire_open(&w, 100, 10);
    queue_close(&w.calls.queue);
    wire_turns(&w, 3);
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    wire_pass(&w, 3 * POLL_MS);
    assert_int_equal(live_state(w.l), LIVE_DOWN);
    stop_raise(&w.stop);
    assert_int_equal(stopped_step(&w), V_STOPPED);
    wire_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_up_to_half_a_minute),
        cmocka_unit_test(a_change_resets_the_waits_and_nothing_else_does),
        cmocka_unit_test(a_retry_after_is_honoured_up_to_a_minute),
        cmocka_unit_test(how_a_stream_is_lost),
        cmocka_unit_test(a_frame_without_end),
        cmocka_unit_test(silence_is_death),
        cmocka_unit_test(a_late_turn_reads_first),
        cmocka_unit_test(an_answer_that_does_not_come),
        cmocka_unit_test(a_full_queue_holds_the_stream_and_drops_nothing),
        cmocka_unit_test(time_held_is_not_silence),
        cmocka_unit_test(a_full_queue_of_names_does_too),
        cmocka_unit_test(what_was_named_survives_its_stream),
        cmocka_unit_test(polls_while_it_is_down),
        cmocka_unit_test(a_stream_that_comes_and_goes_is_not_polled_more_often),
        cmocka_unit_test(long_outages_are_told),
        cmocka_unit_test(never_connected_counts_from_the_start),
        cmocka_unit_test(a_mute_stream_ends_no_outage),
        cmocka_unit_test(redirected_to_another_host),
        cmocka_unit_test(stops_while_streaming),
        cmocka_unit_test(stops_when_what_it_lent_is_back),
        cmocka_unit_test(stops_while_the_writer_has_its_job),
        cmocka_unit_test(the_fetch_service_has_ended),
    };
    return cmocka_run_group_tests_name("live trouble", tests, NULL, NULL);
}
