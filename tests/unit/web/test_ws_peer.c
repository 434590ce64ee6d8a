/* A WebSocket client of the feed: its greeting, its events, and what it asked for. */
#include "ws_scene.h"

static void greets_and_tells(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 5, NULL);
    hears(&s, "{\"type\":\"hello\",\"head\":\"1000-5\",\"oldest\":\"1000-1\",\"epoch\":1000}");
    no_frame(&s);
    rings = 0;
    fake_log_write(s.hub, 3);
    assert_int_equal(rings, 1);
    assert_true(atomic_load(&s.peer->news));
    ws_peer_out(s.peer);
    for (int i = 6; i <= 8; i++)
        hears_event(&s, i);
    no_frame(&s);
    close_scene(&s);
}

/* They are gathered: the tick is no reason to send them one by one. */
static void leaves_news_to_the_flush(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 5, NULL);
    hears_hello(&s);
    fake_log_write(s.hub, 1);
    clock_advance(&now, 100);
    ws_peer_tick(s.peer);
    no_frame(&s);
    ws_peer_out(s.peer);
    hears_event(&s, 6);
    close_scene(&s);
}

static void waits_for_the_feed(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 5, false);
    connect_peer(&s, NULL, NULL, 0, STR_NONE);
    no_frame(&s);
    client_say(&s.client, 0x80 | OP_PING, "?", 1);
    ws_peer_in(s.peer);
    assert_int_equal(next_frame(&s).op, OP_PONG);
    feed_hub_state(s.hub, &fake_log.state, 0);
    clock_advance(&now, 100);
    ws_peer_tick(s.peer);
    hears_hello(&s);
    close_scene(&s);
}

static void goes_on_behind_since(void **state UNUSED) {
    struct scene s;
    open_scene(&s, 1200, "1000-3");
    hears(&s, "{\"type\":\"hello\",\"head\":\"1000-1200\"");
    for (int i = 4; i <= 1200; i++) {
        if (s.client.at == s.client.n)
            ws_peer_out(s.peer);
        hears_event(&s, i);
    }
    ws_peer_out(s.peer);
    no_frame(&s);
    close_scene(&s);
}

static void tells_a_gap(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 20, false);
    fake_log.state.oldest = 11;
    feed_hub_state(s.hub, &fake_log.state, 0);
    connect_peer(&s, "1000-3", "tain.items", 0, STR_NONE);
    ws_peer_out(s.peer);
    hears_hello(&s);
    hears(&s, "{\"type\":\"gap\",\"from\":\"1000-3\",\"to\":\"1000-10\"}");
    ws_peer_out(s.peer);
    for (int i = 12; i <= 20; i += 2) /* items are even */
        hears_event(&s, i);
    close_scene(&s);
}

/* The database is away: tried again, and nobody is sent off. */
static void bears_a_page_that_fails(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 20, true);
    fake_log.answer = V_RETRY;
    connect_peer(&s, "999-3", NULL, 0, STR_NONE);
    ws_peer_out(s.peer);
    ws_peer_out(s.peer);
    hears_hello(&s);
    fake_log.answer = V_OK;
    ws_peer_out(s.peer); /* not at once */
    no_frame(&s);
    clock_advance(&now, 1000);
    ws_peer_tick(s.peer);
    ws_peer_out(s.peer);
    hears(&s, "{\"type\":\"gap\"");
    close_scene(&s);
}

/* What came together with the request. */
static void hears_what_came_early(void **state UNUSED) {
    struct scene s;
    char early[64];
    size_t n = frame_of(early, 0x80 | OP_PING, "early", 5);
    n += frame_of(early + n, 0x80 | OP_PING, "bird", 4);
    open_hub(&s, 5, true);
    connect_peer(&s, NULL, NULL, 0, (struct str){early, n - 3});
    assert_int_equal(send(s.client.fd, early + n - 3, 3, 0), 3);
    ws_peer_in(s.peer);
    struct ws_frame f = next_frame(&s);
    assert_int_equal(f.op, OP_PONG);
    assert_int_equal(f.n, 5);
    hears_hello(&s);
    f = next_frame(&s);
    assert_int_equal(f.op, OP_PONG);
    assert_int_equal(f.n, 4);
    close_scene(&s);
}

/* The connection ends while a query thread reads for it: it stays until that is back. */
static void waits_for_its_errand(void **state UNUSED) {
    struct scene s;
    open_hub(&s, 20, true);
    hold_errands = true;
    connect_peer(&s, "999-3", NULL, 0, STR_NONE);
    assert_true(s.peer->reading);
    shutdown(s.client.fd, SHUT_WR);
    ws_peer_in(s.peer);
    assert_int_equal(s.peer->state, WS_DONE);
    assert_false(ws_peer_is_over(s.peer));
    rings = 0;
    run_errand(&s.peer->errand);
    assert_int_equal(rings, 1);
    assert_true(ws_peer_is_over(s.peer));
    close_scene(&s);
}

static void reads_what_is_asked(void **state UNUSED) {
    struct ws_ask a;
    struct err e;
    assert_int_equal(ws_ask_read(STR("12-34"), STR("items,a.b"), STR("insert"), &a, &e), V_OK);
    assert_int_equal(a.since.epoch, 12);
    assert_int_equal(a.since.pos, 34);
    assert_int_equal(a.filter.n_tables, 2);
    assert_int_equal(a.filter.actions, 1u << FEED_INSERT);
    ws_ask_release(&a);
    static const char *const bad[] = {"", "12", "x", "12-", "-3", "1-2-3"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(ws_ask_read(str_of(bad[i]), STR_NONE, STR_NONE, &a, &e), V_INVALID);
        assert_non_null(strstr(e.msg, "since"));
    }
    assert_int_equal(ws_ask_read(STR_NONE, STR("a,,b"), STR_NONE, &a, &e), V_INVALID);
    assert_int_equal(ws_ask_read(STR_NONE, STR("a"), STR("eat"), &a, &e), V_INVALID);
}

static void has_a_table_of_states(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf table;
    strbuf_init(&table, 4096);
    fsm_print(&ws_fsm, &table);
    FILE *f = fopen(TAIN_SOURCE_ROOT "/docs/states.md", "r");
    assert_non_null(f);
    char *page = xcalloc(1, 1 << 16);
    (void)!fread(page, 1, (1 << 16) - 1, f);
    fclose(f);
    if (!strstr(page, table.p))
        fail_msg("docs/states.md lacks\n%s", table.p);
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greets_and_tells),      cmocka_unit_test(leaves_news_to_the_flush),
        cmocka_unit_test(waits_for_the_feed),    cmocka_unit_test(goes_on_behind_since),
        cmocka_unit_test(tells_a_gap),           cmocka_unit_test(bears_a_page_that_fails),
        cmocka_unit_test(hears_what_came_early), cmocka_unit_test(waits_for_its_errand),
        cmocka_unit_test(reads_what_is_asked),   cmocka_unit_test(has_a_table_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
