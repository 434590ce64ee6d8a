/* Lines to someone who reads slowly, not at all, or not any more. */
#include "cli/line_out.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct stop_token stop;
static struct line_out out;
static int ends[2]; /* of a pipe */

static int begin(void **state UNUSED) {
    struct err e;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(stop_init(&stop, &e), V_OK);
    assert_int_equal(pipe(ends), 0);
    line_out_init(&out, ends[1], &stop);
    return 0;
}

static int end(void **state UNUSED) {
    line_out_release(&out);
    stop_release(&stop);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void waits_until_it_is_flushed(void **state UNUSED) {
    struct err e;
    char got[20];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    assert_int_equal(line_out_add(&out, STR("one\n"), &e), V_OK);
    assert_int_equal(line_out_add(&out, STR("two\n"), &e), V_OK);
    assert_int_equal(read(ends[0], got, sizeof got), -1);
    assert_int_equal(line_out_flush(&out, &e), V_OK);
    assert_int_equal(read(ends[0], got, sizeof got), 8);
    assert_memory_equal(got, "one\ntwo\n", 8);
    assert_int_equal(line_out_flush(&out, &e), V_OK);
    assert_int_equal(read(ends[0], got, sizeof got), -1);
}

/* Larger than the pipe: it goes out as the other end takes it. */
static void *drain(void *arg) {
    size_t *total = arg;
    char got[5000];
    for (ssize_t n; (n = read(ends[0], got, sizeof got)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            *total += got[i] == 'x';
    return NULL;
}

static void large_lines_go_out_whole(void **state UNUSED) {
    struct err e;
    size_t n = (size_t)3 * 1024 * 1024, total = 0;
    char *line = xmalloc(n);
    memset(line, 'x', n);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, drain, &total), 0);
    assert_int_equal(line_out_add(&out, (struct str){line, n}, &e), V_OK);
    assert_int_equal(line_out_flush(&out, &e), V_OK);
    close(ends[1]);
    pthread_join(thread, NULL);
    assert_int_equal(total, n);
    ends[1] = dup(ends[0]); /* for end() */
    free(line);
}

static void nobody_reads_any_more(void **state UNUSED) {
    struct err e;
    close(ends[0]);
    ends[0] = dup(ends[1]);
    assert_int_equal(line_out_add(&out, STR("one\n"), &e), V_OK);
    close(ends[0]);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    out.fd = fds[1];
    assert_int_equal(line_out_flush(&out, &e), V_NOT_FOUND);
    ends[0] = fds[1];
}

static void a_stop_is_heard_while_the_pipe_is_full(void **state UNUSED) {
    struct err e;
    char piece[4096];
    memset(piece, 'x', sizeof piece);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], piece, sizeof piece) > 0)
        ;
    fcntl(ends[1], F_SETFL, 0);
    stop_raise(&stop);
    assert_int_equal(line_out_add(&out, STR("one\n"), &e), V_OK);
    assert_int_equal(line_out_flush(&out, &e), V_STOPPED);
}

static void a_full_disk_is_said(void **state UNUSED) {
    struct err e;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        skip();
    out.fd = full;
    assert_int_equal(line_out_add(&out, STR("one\n"), &e), V_OK);
    assert_int_equal(line_out_flush(&out, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "No space"));
    close(full);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(waits_until_it_is_flushed), TEST(large_lines_go_out_whole),
        TEST(nobody_reads_any_more),     TEST(a_stop_is_heard_while_the_pipe_is_full),
        TEST(a_full_disk_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
