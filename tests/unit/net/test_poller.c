#include "net/poller_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
    struct poller p;
    int pair[2];
};

static int setup(void **state) {
    static struct fixture f;
    struct err e;
    *state = &f;
    return poller_init(&f.p, &e) != V_OK || socketpair(AF_UNIX, SOCK_STREAM, 0, f.pair);
}

static int teardown(void **state) {
    struct fixture *f = *state;
    close(f->pair[0]);
    close(f->pair[1]);
    poller_release(&f->p);
    return 0;
}

static int wait_now(struct poller *p, struct ready *ready) {
    bool woken = false;
    int n = poller_wait(p, 0, ready, &woken);
    assert_false(woken);
    return n;
}

static void test_wanted_events_only(void **state) {
    struct fixture *f = *state;
    struct ready r[POLLER_BATCH];
    poller_want(&f->p, f->pair[0], EPOLLIN);
    assert_int_equal(wait_now(&f->p, r), 0);
    poller_want(&f->p, f->pair[0], EPOLLIN | EPOLLOUT);
    assert_int_equal(wait_now(&f->p, r), 1);
    assert_int_equal(r[0].fd, f->pair[0]);
    assert_int_equal(r[0].events, EPOLLOUT);
    assert_int_equal(write(f->pair[1], "x", 1), 1);
    assert_int_equal(wait_now(&f->p, r), 1);
    assert_int_equal(r[0].events, EPOLLIN | EPOLLOUT);
}

static void test_an_idle_socket_that_stirs_is_dropped_once(void **state) {
    struct fixture *f = *state;
    struct ready r[POLLER_BATCH];
    struct epoll_event ev;
    poller_want(&f->p, f->pair[0], EPOLLIN);
    poller_want(&f->p, f->pair[0], 0);
    assert_int_equal(write(f->pair[1], "x", 1), 1);
    assert_int_equal(epoll_wait(f->p.epoll_fd, &ev, 1, 0), 1); /* it was left in the set */
    assert_int_equal(wait_now(&f->p, r), 0);
    assert_int_equal(epoll_wait(f->p.epoll_fd, &ev, 1, 0), 0);
    poller_want(&f->p, f->pair[0], EPOLLIN);
    assert_int_equal(wait_now(&f->p, r), 1);
}

static void test_a_hang_up_counts_as_what_was_wanted(void **state) {
    struct fixture *f = *state;
    struct ready r[POLLER_BATCH];
    poller_want(&f->p, f->pair[0], EPOLLIN);
    shutdown(f->pair[1], SHUT_RDWR);
    assert_int_equal(wait_now(&f->p, r), 1);
    assert_int_equal(r[0].events, EPOLLIN);
}

static void test_a_number_that_comes_back_is_another_socket(void **state) {
    struct fixture *f = *state;
    struct ready r[POLLER_BATCH];
    poller_want(&f->p, f->pair[0], EPOLLIN);
    int kept = dup(f->pair[0]); /* keeps the open file alive, so the kernel removes nothing */
    poller_forget(&f->p, f->pair[0]);
    close(f->pair[0]);
    close(f->pair[1]);
    assert_int_equal(wait_now(&f->p, r), 0);
    int fresh[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fresh), 0);
    assert_int_equal(fresh[0], f->pair[0]);
    f->pair[1] = fresh[1];
    poller_want(&f->p, fresh[0], EPOLLIN);
    assert_int_equal(write(fresh[1], "x", 1), 1);
    assert_int_equal(wait_now(&f->p, r), 1);
    close(kept);
}

static void test_wake_is_kept_until_it_is_seen(void **state) {
    struct fixture *f = *state;
    struct ready r[POLLER_BATCH];
    bool woken = false;
    poller_wake(&f->p);
    poller_wake(&f->p);
    assert_int_equal(poller_wait(&f->p, 5000, r, &woken), 0);
    assert_true(woken);
    assert_int_equal(wait_now(&f->p, r), 0);
}

int main(void) {
#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_wanted_events_only),
        CASE(test_an_idle_socket_that_stirs_is_dropped_once),
        CASE(test_a_hang_up_counts_as_what_was_wanted),
        CASE(test_a_number_that_comes_back_is_another_socket),
        CASE(test_wake_is_kept_until_it_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
