/* The hub of event streams: who gets which frame, when a connection sleeps and wakes, and that a
 * slow client costs nothing but a whole state. */
#include "web/stream.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct peer {
    int wakes;
    bool gone;
};

static void wake_up(void *connection) {
    ((struct peer *)connection)->wakes++;
}
static bool is_gone(void *connection) {
    return ((struct peer *)connection)->gone;
}

static struct stream_hub *hub(size_t max_clients) {
    const struct stream_door door = {wake_up, is_gone};
    return stream_hub_new(&door, max_clients);
}

/* Reads until it sleeps or ends, a few bytes at a time. */
static const char *drain(struct stream_client *c, size_t portion, ptrdiff_t end) {
    static char text[1 << 16];
    size_t n = 0;
    ptrdiff_t got;
    while ((got = stream_read(c, text + n, portion)) > 0)
        n += (size_t)got;
    assert_int_equal(got, end);
    text[n] = '\0';
    return text;
}

static void publish(struct stream_hub *h, const char *whole, const char *change) {
    stream_publish(h, TOPIC_UPDATES, str_of(whole), str_of(change));
}

static void everything_once_and_in_order(void **state UNUSED) {
    struct stream_hub *h = hub(10);
    struct peer p = {0}, q = {0};
    struct stream_client *c = stream_join(h, TOPIC_UPDATES, &p);
    assert_string_equal(drain(c, 3, 0), ""); /* there is no state yet */
    publish(h, "A.", "a.");
    assert_int_equal(p.wakes, 1);
    assert_string_equal(drain(c, 1, 0), "A.");
    publish(h, "AB.", "b.");
    publish(h, "ABC.", "c.");
    assert_int_equal(p.wakes, 2); /* it was awake when the second came */
    struct stream_client *late = stream_join(h, TOPIC_UPDATES, &q);
    assert_string_equal(drain(c, 100, 0), "b.c.");
    assert_string_equal(drain(late, 100, 0), "ABC.");
    publish(h, "new.", NULL);
    assert_string_equal(drain(c, 2, 0), "new.");
    stream_leave(c);
    assert_string_equal(drain(late, 2, 0), "new.");
    stream_leave(late);
    stream_hub_free(h);
}

static void topics_do_not_mix(void **state UNUSED) {
    struct stream_hub *h = hub(10);
    struct peer p = {0}, q = {0};
    struct stream_client *a = stream_join(h, TOPIC_UPDATES, &p);
    struct stream_client *b = stream_join(h, TOPIC_MAXITEM, &q);
    assert_string_equal(drain(a, 10, 0), "");
    assert_string_equal(drain(b, 10, 0), "");
    stream_publish(h, TOPIC_MAXITEM, STR("5."), STR_NONE);
    assert_int_equal(p.wakes, 0);
    assert_int_equal(q.wakes, 1);
    assert_string_equal(drain(b, 10, 0), "5.");
    struct stream_counts n;
    stream_count(h, &n);
    assert_int_equal(n.clients[TOPIC_UPDATES], 1);
    assert_int_equal(n.clients[TOPIC_MAXITEM], 1);
    stream_leave(a);
    stream_leave(b);
    stream_hub_free(h);
}

static void a_beat_comes_behind_what_is_under_way(void **state UNUSED) {
    struct stream_hub *h = hub(10);
    struct peer p = {0};
    char two[2];
    publish(h, "whole.", NULL);
    stream_beat(h); /* before it came: none of its business */
    struct stream_client *c = stream_join(h, TOPIC_UPDATES, &p);
    assert_int_equal(stream_read(c, two, 2), 2);
    stream_beat(h);
    assert_string_equal(drain(c, 100, 0), "ole." STREAM_KEEP_ALIVE);
    assert_int_equal(p.wakes, 0);
    stream_beat(h);
    stream_beat(h); /* one stands for both */
    assert_int_equal(p.wakes, 1);
    assert_string_equal(drain(c, 7, 0), STREAM_KEEP_ALIVE);
    stream_leave(c);
    stream_hub_free(h);
}

static void who_falls_behind_gets_the_whole_state(void **state UNUSED) {
    struct stream_hub *h = hub(10);
    struct peer p = {0};
    struct stream_counts n;
    char text[STREAM_KEPT_FRAMES + 8] = ".first.", two[2];
    memset(text + 7, 'n', STREAM_KEPT_FRAMES - 1);
    publish(h, "0.", NULL);
    struct stream_client *c = stream_join(h, TOPIC_UPDATES, &p);
    assert_int_equal(stream_read(c, two, 1), 1); /* in the middle of a frame */
    for (int i = 1; i <= STREAM_KEPT_FRAMES; i++)
        publish(h, "kept.", i == 1 ? "first." : "n");
    assert_string_equal(drain(c, 100, 0), text);
    stream_count(h, &n);
    assert_int_equal(n.caught_up, 0);
    for (int i = 0; i <= STREAM_KEPT_FRAMES; i++)
        publish(h, "last.", "x");
    assert_string_equal(drain(c, 100, 0), "last.");
    stream_count(h, &n);
    assert_int_equal(n.caught_up, 1);
    stream_leave(c);
    stream_hub_free(h);
}

/* Changes are kept up to a number of bytes; a client that needs what was dropped loses nothing. */
static void kept_bytes_have_a_maximum(void **state UNUSED) {
    struct stream_hub *h = hub(10);
    struct peer p = {0};
    static char large[STREAM_KEPT_BYTES / 4];
    memset(large, 'x', sizeof large);
    publish(h, "0.", NULL);
    struct stream_client *c = stream_join(h, TOPIC_UPDATES, &p);
    assert_string_equal(drain(c, 100, 0), "0.");
    for (int i = 0; i < 6; i++)
        stream_publish(h, TOPIC_UPDATES, STR("W."), (struct str){large, sizeof large});
    assert_string_equal(drain(c, 100, 0), "W.");
    /* one that alone is too large is not kept at all */
    static char huge[STREAM_KEPT_BYTES + 1];
    memset(huge, 'y', sizeof huge);
    stream_publish(h, TOPIC_UPDATES, STR("V."), (struct str){huge, sizeof huge});
    assert_string_equal(drain(c, 100, 0), "V.");
    publish(h, "U.", "u.");
    assert_string_equal(drain(c, 100, 0), "u.");
    stream_leave(c);
    stream_hub_free(h);
}

static void no_more_than_allowed(void **state UNUSED) {
    struct stream_hub *h = hub(2);
    struct peer p = {0};
    struct stream_client *a = stream_join(h, TOPIC_UPDATES, &p);
    struct stream_client *b = stream_join(h, TOPIC_MAXITEM, &p);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(stream_join(h, TOPIC_UPDATES, &p));
    stream_leave(a);
    a = stream_join(h, TOPIC_MAXITEM, &p);
    assert_non_null(a);
    struct stream_counts n;
    stream_count(h, &n);
    assert_int_equal(n.joined, 3);
    assert_int_equal(n.refused, 1);
    stream_leave(a);
    stream_leave(b);
    stream_hub_free(h);
}

static void a_peer_that_hung_up_is_noticed(void **state UNUSED) {
    struct stream_hub *h = hub(2);
    struct peer p = {0}, q = {0};
    struct stream_client *a = stream_join(h, TOPIC_UPDATES, &p);
    struct stream_client *b = stream_join(h, TOPIC_UPDATES, &q);
    drain(a, 10, 0);
    drain(b, 10, 0);
    q.gone = true;
    stream_sweep(h);
    assert_int_equal(p.wakes, 0);
    assert_int_equal(q.wakes, 1);
    assert_string_equal(drain(b, 10, STREAM_END), "");
    stream_leave(a);
    stream_leave(b);
    stream_hub_free(h);
}

/* A frame that has begun is sent to its end. */
static void a_stop_ends_every_stream(void **state UNUSED) {
    struct stream_hub *h = hub(3);
    struct peer p = {0}, q = {0};
    char two[2];
    publish(h, "whole.", NULL);
    struct stream_client *a = stream_join(h, TOPIC_UPDATES, &p);
    struct stream_client *b = stream_join(h, TOPIC_MAXITEM, &q);
    assert_int_equal(stream_read(a, two, 2), 2);
    drain(b, 10, 0);
    stream_hub_stop(h);
    assert_int_equal(q.wakes, 1);
    assert_string_equal(drain(a, 2, STREAM_END), "ole.");
    assert_string_equal(drain(b, 2, STREAM_END), "");
    assert_null(stream_join(h, TOPIC_UPDATES, &p));
    stream_leave(a);
    stream_leave(b);
    stream_hub_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_once_and_in_order),
        cmocka_unit_test(topics_do_not_mix),
        cmocka_unit_test(a_beat_comes_behind_what_is_under_way),
        cmocka_unit_test(who_falls_behind_gets_the_whole_state),
        cmocka_unit_test(kept_bytes_have_a_maximum),
        cmocka_unit_test(no_more_than_allowed),
        cmocka_unit_test(a_peer_that_hung_up_is_noticed),
        cmocka_unit_test(a_stop_ends_every_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
