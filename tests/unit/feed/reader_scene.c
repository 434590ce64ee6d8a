#include "reader_scene.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct clock now;
struct feed_hub *hub;
struct feed_reader *reader;
struct feed_client *client;
int bell;

static void ring_the_bell(void *connection) {
    ++*(int *)connection;
}

void set_up(const struct feed_options *extra) {
    clock_manual_init(&now, 5000, 1700000000000);
    hub = feed_hub_new(10);
    struct feed_options o = extra ? *extra : (struct feed_options){0};
    o.hub = hub;
    o.clock = &now;
    reader = feed_reader_new(&o);
    struct feed_join j = {.since = {0, -1}, .wake = ring_the_bell, .connection = &bell};
    client = feed_join(hub, &j);
}

int begin(void **state UNUSED) {
    fake_log_begin(EPOCH, 10);
    return 0;
}

int end(void **state UNUSED) {
    feed_leave(client);
    feed_reader_free(reader);
    feed_hub_free(hub);
    assert_int_equal(fake_log.connections, 0);
    return 0;
}

int step(void) {
    struct err e;
    int wait_ms = -1;
    assert_int_equal(feed_reader_step(reader, &wait_ms, &e), V_OK);
    return wait_ms;
}

/* Steps and waits as the thread does, for so long. */
void live(int64_t ms) {
    int64_t until = clock_mono(&now) + ms;
    while (clock_mono(&now) < until) {
        int wait_ms = step();
        reader_wait(reader, 0);
        if (reader->look_at <= clock_mono(&now) && wait_ms)
            continue; /* it was rung */
        int64_t left = until - clock_mono(&now);
        clock_advance(&now, wait_ms < 1 ? 1 : wait_ms < left ? wait_ms : left);
    }
}

void receives(int64_t pos) {
    struct feed_taken t;
    assert_int_equal(feed_take(client, &t), FEED_EVENT);
    assert_int_equal(t.event->id.pos, pos);
    feed_event_drop(t.event);
}

void gets_nothing(void) {
    struct feed_taken t;
    assert_int_equal(feed_take(client, &t), FEED_NOTHING);
}

size_t times(const char *diary, char what) {
    size_t n = 0;
    for (; *diary; diary++)
        n += *diary == what;
    return n;
}

void assert_before(const char *diary, char first, char second) {
    const char *a = strchr(diary, first), *b = strchr(diary, second);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(a < b);
}
