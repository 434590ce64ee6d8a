#include "net/reach.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 60000

/* A socket on a free port of this machine. */
static int bound(char url[64]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    snprintf(url, 64, "http://127.0.0.1:%d/base", ntohs(at.sin_port));
    return fd;
}

static void who_listens_is_reached(void **state) {
    (void)state;
    char url[64];
    struct err e = {0};
    int fd = bound(url);
    assert_int_equal(listen(fd, 1), 0);
    if (reach_url(url, PATIENCE_MS, &e) != V_OK)
        fail_msg("%s", e.msg);
    char byte;
    int peer = accept(fd, NULL, NULL);
    assert_int_equal(recv(peer, &byte, 1, 0), 0); /* nothing was asked */
    close(peer);
    close(fd);
}

/* Bound, so that nobody else listens there meanwhile. */
static void who_does_not_listen_is_not(void **state) {
    (void)state;
    char url[64];
    struct err e = {0};
    int fd = bound(url);
    assert_int_equal(reach_url(url, PATIENCE_MS, &e), V_RETRY);
    assert_string_equal(e.msg, "Couldn't connect to server");
    close(fd);
}

static void what_is_no_address(void **state) {
    (void)state;
    struct err e;
    assert_int_equal(reach_url("http://", PATIENCE_MS, &e), V_INVALID);
    assert_int_equal(reach_url("ftp://127.0.0.1/", PATIENCE_MS, &e), V_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_listens_is_reached),
        cmocka_unit_test(who_does_not_listen_is_not),
        cmocka_unit_test(what_is_no_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
