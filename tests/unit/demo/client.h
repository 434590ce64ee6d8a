/* A plain socket client, so that a test sees the very bytes of an answer. Waits at most 10 s for
 * anything; a test that waits longer fails. */
#ifndef TAIN_TESTS_DEMO_CLIENT_H
#define TAIN_TESTS_DEMO_CLIENT_H

#include "base/str.h"

struct answer {
    int status;        /* 0: none came */
    struct strbuf raw; /* head and body */
    const char *body;  /* into raw */
    size_t body_len;
    int64_t length; /* Content-Length; -1: not given */
    bool reset;     /* ended by RST rather than in order */
};

/* A connected socket. */
int client_connect(int port);
void client_send(int fd, const char *method, const char *path, const char *headers,
                 const char *body);
/* Reads to the end of the connection and closes it. Keeps at most `max` bytes, then hangs up. */
void client_finish(int fd, size_t max, struct answer *ret);
/* Reads until the needle is there, keeping everything in out. False: the end came first. */
bool client_wait_for(int fd, const char *needle, struct strbuf *out);

void client_get(int port, const char *path, struct answer *ret);
void client_post(int port, const char *path, const char *body, struct answer *ret);
void answer_release(struct answer *a);
/* The value of a header within the raw answer, copied; "" when there is none. */
void answer_header(const struct answer *a, const char *name, char *out, size_t size);

#endif
