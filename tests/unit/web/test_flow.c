/* Long answers on their way: the pipe between two threads, and compression in pieces. */
#include "web/gzip.h"
#include "web/pipe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void unpack(struct str in, char *out, size_t max, size_t *ret_n) {
    z_stream z = {.next_in = (unsigned char *)in.p, .avail_in = (unsigned)in.n};
    assert_int_equal(inflateInit2(&z, 31), Z_OK);
    z.next_out = (unsigned char *)out;
    z.avail_out = (unsigned)max;
    int rc = inflate(&z, Z_SYNC_FLUSH);
    assert_true(rc == Z_OK || rc == Z_STREAM_END);
    *ret_n = max - z.avail_out;
    inflateEnd(&z);
}

static void pieces_can_be_read_as_they_come(void **state UNUSED) {
    struct gzip *g = gzip_new();
    char out[100];
    size_t n;
    for (int round = 0; round < 3; round++) { /* it is used again and again */
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, 10000);
        gzip_begin(g);
        assert_true(gzip_piece(g, STR("one, "), false, &b));
        unpack(strbuf_str(&b), out, sizeof out, &n);
        assert_memory_equal(out, "one, ", n);
        assert_int_equal(n, 5);
        assert_true(gzip_piece(g, STR("two"), true, &b));
        unpack(strbuf_str(&b), out, sizeof out, &n);
        assert_int_equal(n, 8);
        assert_memory_equal(out, "one, two", n);
    }
    gzip_free(g);
}

static void what_does_not_shrink_is_left(void **state UNUSED) {
    struct gzip *g = gzip_new();
    char noise[2000];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, sizeof noise);
    assert_false(gzip_whole(g, (struct str){noise, sizeof noise}, &b));
    gzip_free(g);
}

static void who_takes_gzip(void **state UNUSED) {
    static const char *const yes[] = {"gzip", "GZIP", "deflate, gzip;q=1.0, *;q=0.5",
                                      "br;q=1,gzip ;", "gzip; q=0.001"};
    static const char *const no[] = {"", "br", "gzipped", "gzip;q=0", "gzip; q=0.0, br", "x-gzip"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(gzip_accepted(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(gzip_accepted(no[i]));
    assert_false(gzip_accepted(NULL));
    assert_true(gzip_worthwhile("text/html; charset=utf-8"));
    assert_true(gzip_worthwhile("application/json"));
    assert_false(gzip_worthwhile("image/png"));
}

static void what_goes_in_comes_out(void **state UNUSED) {
    struct pipe *p = pipe_new(1 << 20, false);
    enum pipe_end end;
    char out[8];
    assert_int_equal(pipe_take(p, out, sizeof out, &end), 0);
    assert_int_equal(end, PIPE_OPEN);
    assert_true(pipe_put(p, STR("0123456789")));
    assert_int_equal(pipe_take(p, out, 8, &end), 8);
    assert_memory_equal(out, "01234567", 8);
    assert_true(pipe_put(p, STR("abc")));
    pipe_finish(p, PIPE_ENDED);
    assert_int_equal(pipe_take(p, out, 4, &end), 4);
    assert_memory_equal(out, "89ab", 4);
    assert_int_equal(end, PIPE_OPEN); /* there is something left */
    assert_int_equal(pipe_take(p, out, 8, &end), 1);
    assert_int_equal(pipe_take(p, out, 8, &end), 0);
    assert_int_equal(end, PIPE_ENDED);
    pipe_free(p);
}

static void nobody_takes_it(void **state UNUSED) {
    struct pipe *p = pipe_new(10, false);
    assert_true(pipe_put(p, STR("0123456789")));
    assert_false(pipe_put(p, STR("x"))); /* more than it may hold */
    pipe_finish(p, PIPE_ENDED);
    enum pipe_end end;
    char out[16];
    (void)pipe_take(p, out, sizeof out, &end);
    assert_int_equal(end, PIPE_CUT); /* an end that came too late is none */
    pipe_free(p);
    p = pipe_new(1 << 20, false);
    pipe_finish(p, PIPE_GONE);
    assert_false(pipe_put(p, STR("x")));
    pipe_free(p);
}

static char far_ahead[PIPE_AHEAD + 1];

static void *take_all(void *arg) {
    struct pipe *p = arg;
    enum pipe_end end = PIPE_OPEN;
    char out[4096];
    while (end == PIPE_OPEN)
        (void)pipe_take(p, out, sizeof out, &end);
    return NULL;
}

static void a_producer_waits_for_a_client_that_reads(void **state UNUSED) {
    struct pipe *p = pipe_new(1 << 24, false);
    p->patience_ms = 240000; /* never used up, however slow the machine */
    pthread_t reader;
    assert_true(pipe_put(p, (struct str){far_ahead, sizeof far_ahead}));
    assert_int_equal(pthread_create(&reader, NULL, take_all, p), 0);
    pipe_pause(p);
    assert_true(p->waited_ms < p->patience_ms);
    for (int i = 0; i < 20; i++) {
        assert_true(pipe_put(p, (struct str){far_ahead, sizeof far_ahead}));
        pipe_pause(p);
    }
    pipe_finish(p, PIPE_ENDED);
    pthread_join(reader, NULL);
    assert_int_equal(p->bytes, 21 * (int64_t)sizeof far_ahead);
    pipe_free(p);
}

static void a_client_that_does_not_read_is_not_waited_for_twice(void **state UNUSED) {
    struct pipe *p = pipe_new(1 << 24, false);
    p->patience_ms = 20;
    assert_true(pipe_put(p, (struct str){far_ahead, sizeof far_ahead}));
    pipe_pause(p);
    assert_true(p->waited_ms >= 20);
    int64_t waited = p->waited_ms;
    for (int i = 0; i < 10; i++) {
        assert_true(pipe_put(p, (struct str){far_ahead, sizeof far_ahead}));
        pipe_pause(p);
    }
    assert_int_equal(p->waited_ms, waited);
    pipe_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_can_be_read_as_they_come),
        cmocka_unit_test(what_does_not_shrink_is_left),
        cmocka_unit_test(who_takes_gzip),
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(nobody_takes_it),
        cmocka_unit_test(a_producer_waits_for_a_client_that_reads),
        cmocka_unit_test(a_client_that_does_not_read_is_not_waited_for_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
