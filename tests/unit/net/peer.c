#include "peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void peer_open(struct peer *p) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *p = (struct peer){.fd = -1};
    p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int failed = bind(p->listen_fd, (struct sockaddr *)&a, n) || listen(p->listen_fd, 8) ||
                 getsockname(p->listen_fd, (struct sockaddr *)&a, &n);
    assert(!failed);
    p->port = ntohs(a.sin_port);
    snprintf(p->root, sizeof p->root, "http://127.0.0.1:%d", p->port);
}

void peer_close(struct peer *p) {
    peer_hang_up(p);
    close(p->listen_fd);
}

bool peer_left(struct peer *p) {
    char byte;
    ssize_t n = p->fd < 0 ? 0 : recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

bool peer_called(struct peer *p) {
    if (p->fd < 0 || peer_left(p)) {
        peer_hang_up(p);
        p->fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        p->n = 0;
        p->request[0] = '\0';
    }
    if (p->fd < 0)
        return false;
    ssize_t n = recv(p->fd, p->request + p->n, sizeof p->request - 1 - p->n, MSG_DONTWAIT);
    p->n += n > 0 ? (size_t)n : 0;
    p->request[p->n] = '\0';
    return strstr(p->request, "\r\n\r\n") != NULL;
}

void peer_say(struct peer *p, const char *fmt, ...) {
    char text[32768];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assert(n >= 0 && n < (int)sizeof text);
    ssize_t sent = send(p->fd, text, (size_t)n, MSG_NOSIGNAL);
    assert(sent == n);
}

size_t peer_pour(struct peer *p, size_t max) {
    static const char line[] = ":0123456789012345678901234567890123456789012345678901234567890\n\n";
    size_t sent = 0;
    while (sent < max) {
        size_t want = max - sent < sizeof line - 1 ? max - sent : sizeof line - 1;
        ssize_t n = send(p->fd, line, want, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    return sent;
}

void peer_hang_up(struct peer *p) {
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

void peer_reset(struct peer *p) {
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    peer_hang_up(p);
}
