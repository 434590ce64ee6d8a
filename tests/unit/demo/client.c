#include "client.h"

#include "base/attr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 120000

static NORETURN void give_up(const char *what) {
    fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    abort();
}

int client_connect(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        give_up("connect");
    return fd;
}

void client_send(int fd, const char *method, const char *path, const char *headers,
                 const char *body) {
    struct strbuf q;
    strbuf_init(&q, 1 << 20);
    strbuf_addf(&q, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s", method, path, headers);
    if (body)
        strbuf_addf(&q, "Content-Length: %zu\r\n", strlen(body));
    strbuf_addf(&q, "\r\n%s", body ? body : "");
    if (send(fd, q.p, q.n, MSG_NOSIGNAL) != (ssize_t)q.n)
        give_up("send");
    strbuf_release(&q);
}

/* More bytes into out; 0 at the end, -1 after a reset. */
static ssize_t read_more(int fd, struct strbuf *out) {
    char chunk[65536];
    struct pollfd p = {fd, POLLIN, 0};
    if (poll(&p, 1, WAIT_MS) != 1)
        give_up("nothing came");
    ssize_t n = recv(fd, chunk, sizeof chunk, 0);
    if (n > 0)
        strbuf_add(out, chunk, (size_t)n);
    return n;
}

bool client_wait_for(int fd, const char *needle, struct strbuf *out) {
    while (!out->p || !memmem(out->p, out->n, needle, strlen(needle)))
        if (read_more(fd, out) <= 0)
            return false;
    return true;
}

void answer_header(const struct answer *a, const char *name, char *out, size_t size) {
    out[0] = '\0';
    const char *at = a->raw.p ? strcasestr(a->raw.p, name) : NULL;
    if (at && at < a->body)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(name) + 2, "\r\n"),
                 at + strlen(name) + 2);
}

void client_finish(int fd, size_t max, struct answer *ret) {
    *ret = (struct answer){.length = -1};
    strbuf_init(&ret->raw, max + 65536);
    ssize_t n;
    while ((n = read_more(fd, &ret->raw)) > 0 && ret->raw.n < max)
        ;
    ret->reset = n < 0 && errno == ECONNRESET;
    close(fd);
    const char *end = ret->raw.p ? strstr(ret->raw.p, "\r\n\r\n") : NULL;
    if (!end)
        return;
    ret->status = atoi(ret->raw.p + strlen("HTTP/1.1 "));
    ret->body = end + 4;
    ret->body_len = ret->raw.n - (size_t)(ret->body - ret->raw.p);
    char length[32];
    answer_header(ret, "Content-Length", length, sizeof length);
    if (length[0])
        ret->length = atoll(length);
}

static void ask(int port, const char *method, const char *path, const char *body,
                struct answer *ret) {
    int fd = client_connect(port);
    client_send(fd, method, path, "Connection: close\r\n", body);
    client_finish(fd, 8 << 20, ret);
}

void client_get(int port, const char *path, struct answer *ret) {
    ask(port, "GET", path, NULL, ret);
}

void client_post(int port, const char *path, const char *body, struct answer *ret) {
    ask(port, "POST", path, body, ret);
}

void answer_release(struct answer *a) {
    strbuf_release(&a->raw);
}
