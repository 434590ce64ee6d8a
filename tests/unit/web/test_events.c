/* /events to the byte. The hub is the test's own. */
#include "server_fixture.h"

#include "feed/hub.h"
#include "store/cdc.h"

#include <sqlite3.h>

#define KEY "the-key-of-the-test"
#define EPOCH 1000

static struct feed_hub *hub;
static int64_t head;

static void tell(const char *schema, const char *name, bool is_public) {
    const struct feed_change c = {.pos = ++head,
                                  .schema = str_of(schema),
                                  .name = str_of(name),
                                  .action = FEED_INSERT,
                                  .is_public = is_public,
                                  .key = STR("{\"id\":7}"),
                                  .data = STR("{\"a\":1}")};
    struct feed_event *ev = feed_event_new(EPOCH, &c);
    feed_hub_add(hub, ev);
    feed_event_drop(ev);
}

static void know(int64_t epoch, int64_t common) {
    feed_hub_state(hub, &(struct feed_state){.epoch = epoch, .head = head, .oldest = 1}, common);
}

static void start_feed(struct place *p, struct web_options o) {
    head = 5;
    hub = feed_hub_new(100);
    know(EPOCH, 0);
    o.feed_hub = hub;
    o.feed_key = KEY;
    start(p, o);
}

static void stop_feed(struct place *p) {
    stop(p);
    feed_hub_free(hub);
}

static int dial(struct place *p, const char *query, const char *headers) {
    char text[2000];
    int fd = client_dial(p->port);
    snprintf(text, sizeof text, "GET /events%s HTTP/1.0\r\nHost: localhost\r\n%s\r\n", query,
             headers);
    client_send(fd, text);
    return fd;
}

#define EVENT(pos, table, schema)                                                             \
    "id: 1000-" pos "\nevent: " table "\ndata: {\"id\":\"1000-" pos "\",\"schema\":\"" schema \
    "\",\"table\":\"" table "\",\"action\":\"insert\",\"key\":{\"id\":7},\"data\":{\"a\":1}," \
    "\"timestamp\":\"1970-01-01T00:00:00.000Z\"}\n\n"
#define HELLO                                                                                 \
    "retry: 2000\n\nid: 1000-5\nevent: hello\ndata: {\"type\":\"hello\",\"head\":\"1000-5\"," \
    "\"oldest\":\"1000-1\",\"epoch\":1000}\n\n"

static void wait_text(int fd, const char *wanted) {
    free(client_until(fd, wanted));
}

/* Tables of the user's own that are logged. */
static void install(struct place *p, const char *name) {
    struct store *s;
    struct err e;
    struct cdc_table done;
    CLEANUP(arena_release) struct arena a;
    char sql[200];
    sqlite3 *db;
    arena_init(&a);
    snprintf(sql, sizeof sql, "CREATE TABLE %s (id INTEGER PRIMARY KEY)", name);
    assert_int_equal(sqlite3_open(p->uri + strlen("sqlite:"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(
        store_open(&(struct store_options){.uri = p->uri, .clock = &clock_machine}, &s, &e), V_OK);
    assert_int_equal(
        store_cdc_install(s, &(struct cdc_install){.table = str_of(name)}, &a, &done, &e), V_OK);
    store_close(s);
}

static void hello_and_events(void **state) {
    struct place *p = *state;
    install(p, "orders");
    start_feed(p, (struct web_options){0});
    int fd = dial(p, "", "");
    wait_text(fd, "\r\n\r\n" HELLO);
    tell("tain", "items", true);
    tell("shop", "orders", false);
    tell("shop", "notes", true);
    feed_hub_flush(hub);
    wait_text(fd, EVENT("6", "items", "tain") EVENT("8", "notes", "shop"));
    int all = dial(p, "?since=1000-5&topics=orders,items", "Authorization: bearer " KEY "\r\n");
    wait_text(all, EVENT("6", "items", "tain") EVENT("7", "orders", "shop"));
    int back = dial(p, "?since=1000-5&key=" KEY, "Last-Event-ID: 1000-7\r\n");
    wait_text(back, "id: 1000-7\nevent: hello\ndata: {\"type\":\"hello\",\"head\":\"1000-8\","
                    "\"oldest\":\"1000-1\",\"epoch\":1000}\n\n" EVENT("8", "notes", "shop"));
    stop_feed(p);
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
    close(all);
    close(back);
}

/* Before the feed stands there is nothing to greet with. */
static void who_comes_early_waits(void **state) {
    struct place *p = *state;
    hub = feed_hub_new(100);
    start(p, (struct web_options){.feed_hub = hub});
    int fd = dial(p, "", "");
    wait_text(fd, "retry: 2000\n\n");
    head = 5;
    know(EPOCH, 0);
    wait_text(fd, "event: hello\n");
    tell("tain", "items", true);
    feed_hub_flush(hub);
    wait_text(fd, EVENT("6", "items", "tain"));
    close(fd);
    stop_feed(p);
}

static void another_life_is_a_gap(void **state) {
    struct place *p = *state;
    start_feed(p, (struct web_options){0});
    int fd = dial(p, "", "");
    wait_text(fd, HELLO);
    tell("tain", "items", true);
    feed_hub_flush(hub);
    wait_text(fd, EVENT("6", "items", "tain"));
    head = 3;
    know(EPOCH + 1, 3);
    wait_text(fd, "id: 1001-3\nevent: gap\ndata: "
                  "{\"type\":\"gap\",\"from\":\"1000-6\",\"to\":\"1001-3\"}\n\n");
    close(fd);
    stop_feed(p);
}

static void signs_of_life(void **state) {
    struct place *p = *state;
    start_feed(p, (struct web_options){.keep_alive_ms = 50});
    int fd = dial(p, "?topics=users", "");
    wait_text(fd, ": keep-alive\nid: 1000-5\n\n");
    tell("tain", "items", true);
    feed_hub_flush(hub);
    wait_text(fd, ": keep-alive\nid: 1000-6\n\n");
    close(fd);
    stop_feed(p);
}

static void mistakes_and_wrong_keys(void **state) {
    struct place *p = *state;
    install(p, "orders");
    start_feed(p, (struct web_options){0});
    expect(p, "/events?since=nothing", 400, "{\"message\":\"since is 'nothing'; give the id");
    expect(p, "/events?topics=a,,b", 400, "{\"message\":\"topics: ");
    expect(p, "/events?actions=jump", 400, "jump");
    expect(p, "/events?topics=users,%22no%22", 400,
           "{\"message\":\"topics: there is no public \\\"\\\"no\\\"\\\"; there are items, users, "
           "links, "
           "link_processing, external_discussions\"}");
    expect(p, "/events?topics=orders", 400, "there is no public \\\"orders\\\"; there are items,");
    expect(p, "/events?topics=none&key=" KEY, 400,
           "there is no \\\"none\\\"; there are items, users, links, "
           "link_processing, external_discussions, main.orders\"}");
    expect(p, "/events?tables=items", 400, "tables: they are called topics here");
    install(p, "late"); /* what was not there a moment ago may be there now */
    int fd = dial(p, "?topics=main.late,users&key=" KEY, "");
    wait_text(fd, HELLO);
    close(fd);
    expect(p, "/events?key=wrong", 403, "{\"message\":");
    expect(p, "/events?key=", 403, "{\"message\":");
    stop_feed(p);
}

/* A name may hold anything. */
static void a_name_breaks_no_line(void **state) {
    struct place *p = *state;
    start_feed(p, (struct web_options){0});
    int fd = dial(p, "", "");
    wait_text(fd, HELLO);
    tell("tain", "two\nlines\rand: more", true);
    feed_hub_flush(hub);
    wait_text(fd, "id: 1000-6\nevent: two lines and: more\ndata: {");
    close(fd);
    stop_feed(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(hello_and_events), TEST(who_comes_early_waits),   TEST(another_life_is_a_gap),
        TEST(signs_of_life),    TEST(mistakes_and_wrong_keys), TEST(a_name_breaks_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
