/* A very small HTTP client for tests of servers: one request on a connection of its own, or several
 * on one that stays open. Fails the test when nothing comes for two minutes. */
#ifndef TAIN_TESTS_HTTP_CLIENT_H
#define TAIN_TESTS_HTTP_CLIENT_H

#include "base/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct answer_text {
    int status;
    char *head, *body; /* of one allocation, which `head` begins */
    size_t n;          /* bytes of the body, as they came */
};

static inline int client_dial(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 120};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void client_send(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Up to the end of the connection. */
static inline struct answer_text client_rest(int fd) {
    struct answer_text a = {0};
    size_t n = 0, cap = 1 << 16;
    char *all = xcalloc(1, cap + 1);
    for (ssize_t got; (got = recv(fd, all + n, cap - n, 0)) > 0;) {
        n += (size_t)got;
        if (n == cap)
            all = xrealloc(all, (cap *= 2) + 1);
    }
    all[n] = '\0';
    char *gap = strstr(all, "\r\n\r\n");
    a.head = all;
    a.body = gap ? gap + 4 : all + n;
    if (gap)
        gap[2] = '\0';
    a.n = (size_t)(all + n - a.body);
    (void)sscanf(all, "HTTP/1.1 %d", &a.status);
    return a;
}

/* A request with these further header lines, each with its line end. */
static inline struct answer_text client_ask(int port, const char *method, const char *uri,
                                            const char *headers) {
    char *text = malloc(strlen(uri) + strlen(headers) + 200);
    sprintf(text, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method, uri,
            headers);
    int fd = client_dial(port);
    client_send(fd, text);
    free(text);
    struct answer_text a = client_rest(fd);
    close(fd);
    return a;
}

static inline struct answer_text client_get(int port, const char *uri) {
    return client_ask(port, "GET", uri, "");
}

/* Reads until `wanted` has come; answers all that was read, to be freed. */
static inline char *client_until(int fd, const char *wanted) {
    size_t n = 0, cap = 1 << 16;
    char *all = calloc(1, cap + 1);
    while (!strstr(all, wanted)) {
        ssize_t got = n < cap ? recv(fd, all + n, cap - n, 0) : -1;
        if (got <= 0)
            fail_msg("'%s' did not come, but: %s", wanted, all);
        n += (size_t)got;
        all[n] = '\0';
    }
    return all;
}

#endif
