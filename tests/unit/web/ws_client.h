/* The other end of a WebSocket, for tests: frames as a client sends them, and what came back, frame
 * by frame. Over any stream socket. */
#ifndef TAIN_TESTS_WS_CLIENT_H
#define TAIN_TESTS_WS_CLIENT_H

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OP_TEXT = 1, OP_BINARY = 2, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };

struct ws_frame {
    bool fin;
    int op;
    size_t n;
    const char *p; /* in the client's buffer, until the next frame is asked for */
};

struct ws_client {
    int fd;
    char *in;
    size_t n, at, cap;
    bool over;
};

/* A frame as a client sends it: masked, with this first byte. Answers its length. */
static inline size_t frame_of(char *out, unsigned first, const void *payload, size_t n) {
    static const unsigned char mask[] = {0x12, 0x34, 0x56, 0x78};
    size_t len = 0;
    out[len++] = (char)first;
    out[len++] = (char)(0x80 | (n < 126 ? n : n <= 0xffff ? 126 : 127));
    for (int i = n < 126 ? 0 : n <= 0xffff ? 2 : 8; i > 0; i--)
        out[len++] = (char)(n >> (8 * (i - 1)));
    memcpy(out + len, mask, 4);
    len += 4;
    for (size_t i = 0; i < n; i++)
        out[len++] = (char)(((const unsigned char *)payload)[i] ^ mask[i % 4]);
    return len;
}

static inline void client_say(struct ws_client *c, unsigned first, const void *payload, size_t n) {
    char *frame = malloc(n + 16);
    size_t len = frame_of(frame, first, payload, n);
    assert_int_equal(send(c->fd, frame, len, MSG_NOSIGNAL), (ssize_t)len);
    free(frame);
}

/* Reads what is there. */
static inline void client_pull(struct ws_client *c) {
    ssize_t got;
    do {
        if (c->cap - c->n < 65536)
            c->in = realloc(c->in, c->cap = c->cap * 2 + 65536);
        got = recv(c->fd, c->in + c->n, c->cap - c->n, MSG_DONTWAIT);
        c->n += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    c->over |= got == 0 || errno != EAGAIN;
}

/* The next whole frame; false: there is none yet. A frame of a server is not masked, and one of
 * ours is never a fragment. */
static inline bool client_frame(struct ws_client *c, struct ws_frame *ret) {
    const unsigned char *p = (const unsigned char *)c->in + c->at;
    size_t left = c->n - c->at, head = 2;
    if (left < 2)
        return false;
    assert_int_equal(p[0] & 0xf0, 0x80);
    assert_int_equal(p[1] & 0x80, 0);
    size_t n = p[1];
    int wide = n == 126 ? 2 : n == 127 ? 8 : 0;
    if (left < head + (size_t)wide)
        return false;
    if (wide)
        n = 0;
    for (int i = 0; i < wide; i++)
        n = n << 8 | p[head++];
    if (left < head + n)
        return false;
    *ret = (struct ws_frame){p[0] & 0x80, p[0] & 15, n, (const char *)p + head};
    c->at += head + n;
    return true;
}

static inline void client_release(struct ws_client *c) {
    free(c->in);
    close(c->fd);
}

#endif
