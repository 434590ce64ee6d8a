#include "server.h"
#include "base/attr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNS 128
#define TICK_MS 5

enum mode { READING, DRIPPING, FLOODING, SILENT };

struct conn {
    int fd;
    enum mode mode;
    int answered;
    size_t n;
    char in[2048];
};

/* Answers false to close the connection. */
typedef bool route_fn(struct server *s, struct conn *c, const char *arg);

static bool say(struct conn *c, const char *text) {
    return send(c->fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static bool answer(struct conn *c, int status, const char *headers, const char *body) {
    char out[1024];
    snprintf(out, sizeof out, "HTTP/1.1 %d Whatever\r\n%sContent-Length: %zu\r\n\r\n%s", status,
             headers, strlen(body), body);
    return say(c, out);
}

static bool reset(struct conn *c) {
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    return false;
}

static bool on_ok(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    return answer(c, 200, "", arg);
}

static bool on_status(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    return answer(c, atoi(arg), "", "said so");
}

static bool on_retry(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    return answer(c, 429,
                  strcmp(arg, "date") == 0 ? "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                           : "Retry-After: 7\r\n",
                  "");
}

static bool on_known(struct server *s, struct conn *c, const char *arg) {
    char header[60];
    (void)s;
    snprintf(header, sizeof header, "X-Tain-Known: %.20s\r\n", arg);
    return answer(c, 200, header, "null");
}

static bool on_redirect(struct server *s, struct conn *c, const char *arg) {
    char header[200] = "";
    if (strcmp(arg, "relative") == 0)
        strcpy(header, "Location: /ok/moved\r\n");
    else if (strcmp(arg, "absolute") == 0)
        snprintf(header, sizeof header, "Location: %s/ok/moved?a=b\r\n", s->root);
    else if (strcmp(arg, "port") == 0)
        snprintf(header, sizeof header, "Location: http://127.0.0.1:%d/ok\r\n", s->port ^ 1);
    else if (strcmp(arg, "scheme") == 0)
        snprintf(header, sizeof header, "Location: https://127.0.0.1:%d/ok\r\n", s->port);
    else if (strcmp(arg, "host") == 0)
        strcpy(header, "Location: http://user:word@elsewhere.invalid/ok\r\n");
    else if (strcmp(arg, "file") == 0)
        strcpy(header, "Location: file:///etc/passwd\r\n");
    else if (strcmp(arg, "loop") == 0)
        strcpy(header, "Location: loop\r\n");
    return answer(c, 302, header, "the body of a redirect");
}

static bool on_truncated(struct server *s, struct conn *c, const char *arg) {
    (void)s, (void)arg;
    say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    return false;
}

static bool on_reset(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    if (strcmp(arg, "midway") == 0)
        say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    return reset(c);
}

static bool on_nothing(struct server *s, struct conn *c, const char *arg) {
    (void)s, (void)c, (void)arg;
    return false;
}

static bool on_garbage(struct server *s, struct conn *c, const char *arg) {
    (void)s, (void)arg;
    say(c, "\x16\x03 this is not HTTP at all\n\n");
    return false;
}

static bool on_huge(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    bool announced = strcmp(arg, "announced") == 0; /* and then not a byte of it */
    c->mode = announced ? SILENT : FLOODING;
    if (announced)
        return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
    return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

static bool on_sized(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    char head[100], body[2000];
    int n = atoi(arg);
    assert(n < (int)sizeof body);
    memset(body, 'x', sizeof body);
    body[n] = '\0';
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n);
    return say(c, head) && say(c, body);
}

static bool on_drip(struct server *s, struct conn *c, const char *arg) {
    (void)s, (void)arg;
    c->mode = DRIPPING;
    return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n");
}

static bool on_silent(struct server *s, struct conn *c, const char *arg) {
    (void)s, (void)arg;
    c->mode = SILENT;
    return true;
}

/* Answers as if the connection stayed, and closes it. */
static bool on_close(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    answer(c, 200, "", arg);
    return false;
}

/* Keeps the connection until a second request is on its way: what a server does whose keep-alive
 * time is over just then. */
static bool on_stale(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    return c->answered == 0 && answer(c, 200, "", arg);
}

static bool on_bad_chunk(struct server *s, struct conn *c, const char *arg) {
    (void)s, (void)arg;
    return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnope\r\n");
}

static bool on_page(struct server *s, struct conn *c, const char *arg) {
    (void)s;
    return answer(c, 200, "Content-Type: text/html; charset=utf-8\r\n", arg);
}

static bool on_type(struct server *s, struct conn *c, const char *arg) {
    char header[100];
    (void)s;
    snprintf(header, sizeof header, "Content-Type: %.60s\r\n", arg);
    return answer(c, 200, header, "typed");
}

static bool on_to(struct server *s, struct conn *c, const char *arg) {
    char header[400];
    (void)s;
    snprintf(header, sizeof header, "Set-Cookie: a=b; path=/\r\nLocation: %.250s\r\n", arg);
    return answer(c, 302, header, "the body of a redirect");
}

static bool on_hops(struct server *s, struct conn *c, const char *arg) {
    char header[100];
    int left = atoi(arg);
    snprintf(header, sizeof header, "Location: /hops/%d\r\n", left - 1);
    return left > 0 ? answer(c, 301, header, "") : on_page(s, c, "arrived");
}

/* Says what it was asked. */
static bool on_echo(struct server *s, struct conn *c, const char *arg) {
    char asked[900];
    (void)arg;
    snprintf(asked, sizeof asked, "%.800s", c->in);
    return on_page(s, c, asked);
}

/* A head, or heads, without an end. */
static bool on_heads(struct server *s, struct conn *c, const char *arg) {
    bool early = strcmp(arg, "early") == 0;
    char line[1000];
    (void)s;
    memset(line, 'x', sizeof line);
    memcpy(line, "X-Long: ", 8);
    strcpy(line + sizeof line - 3, "\r\n");
    say(c, early ? "" : "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 2000; i++)
        if (!say(c, early ? "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" : line))
            break;
    return false;
}

/* What the test has put there, as it is. */
static bool on_bytes(struct server *s, struct conn *c, const char *arg) {
    (void)arg;
    const struct server_bytes *b = s->bytes;
    for (size_t at = 0; at < b->n;) {
        ssize_t n = send(c->fd, b->p + at, b->n - at, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    return false;
}

static const struct {
    const char *prefix;
    route_fn *run;
} routes[] = {
    {"/ok/", on_ok},
    {"/status/", on_status},
    {"/retry/", on_retry},
    {"/known/", on_known},
    {"/redirect/", on_redirect},
    {"/truncated", on_truncated},
    {"/reset/", on_reset},
    {"/nothing", on_nothing},
    {"/garbage", on_garbage},
    {"/huge/", on_huge},
    {"/sized/", on_sized},
    {"/drip", on_drip},
    {"/silent", on_silent},
    {"/close/", on_close},
    {"/stale/", on_stale},
    {"/badchunk", on_bad_chunk},
    {"/page/", on_page},
    {"/type/", on_type},
    {"/to/", on_to},
    {"/hops/", on_hops},
    {"/echo", on_echo},
    {"/heads/", on_heads},
    {"/bytes", on_bytes},
};

static bool route(struct server *s, struct conn *c) {
    char path[256];
    if (sscanf(c->in, "GET %255s", path) != 1)
        return false;
    s->requests++;
    c->n = 0;
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        size_t n = strlen(routes[i].prefix);
        if (strncmp(path, routes[i].prefix, n) != 0)
            continue;
        bool stays = routes[i].run(s, c, path + n);
        c->answered++;
        return stays;
    }
    return answer(c, 404, "", "no such route");
}

static bool on_readable(struct server *s, struct conn *c) {
    ssize_t n = recv(c->fd, c->in + c->n, sizeof c->in - 1 - c->n, 0);
    if (n <= 0)
        return false;
    c->n += (size_t)n;
    c->in[c->n] = '\0';
    return !strstr(c->in, "\r\n\r\n") || route(s, c);
}

static bool flood(struct conn *c) {
    char chunk[4096 + 8];
    int head = sprintf(chunk, "1000\r\n");
    memset(chunk + head, 'x', 4096);
    return send(c->fd, chunk, sizeof chunk - 2, MSG_NOSIGNAL | MSG_DONTWAIT) > 0 &&
           send(c->fd, "\r\n", 2, MSG_NOSIGNAL) > 0;
}

static bool serve(struct server *s, struct conn *c, short events) {
    if (c->mode == DRIPPING && !say(c, "."))
        return false;
    if (c->mode == FLOODING && (events & POLLOUT) && !flood(c))
        return false;
    return !(events & (POLLIN | POLLHUP | POLLERR)) || on_readable(s, c);
}

static void accept_one(struct server *s, struct conn *conns) {
    int fd = accept(s->listen_fd, NULL, NULL);
    struct conn *c = conns;
    while (c->fd >= 0) {
        c++;
        assert(c < conns + MAX_CONNS);
    }
    *c = (struct conn){.fd = fd};
    s->connections++;
}

static void *serve_all(void *arg) {
    struct server *s = arg;
    static _Thread_local struct conn conns[MAX_CONNS];
    for (int i = 0; i < MAX_CONNS; i++)
        conns[i].fd = -1;
    for (;;) {
        struct pollfd p[MAX_CONNS + 2] = {{.fd = s->stop_pipe[0], .events = POLLIN},
                                          {.fd = s->listen_fd, .events = POLLIN}};
        bool ticking = false;
        for (int i = 0; i < MAX_CONNS; i++) {
            p[i + 2].fd = conns[i].fd;
            p[i + 2].events = conns[i].mode == FLOODING ? POLLIN | POLLOUT : POLLIN;
            ticking |= conns[i].fd >= 0 && conns[i].mode == DRIPPING;
        }
        poll(p, MAX_CONNS + 2, ticking ? TICK_MS : -1);
        if (p[0].revents)
            break;
        for (int i = 0; i < MAX_CONNS; i++)
            if (conns[i].fd >= 0 && !serve(s, &conns[i], p[i + 2].revents)) {
                close(conns[i].fd);
                conns[i].fd = -1;
            }
        if (p[1].revents)
            accept_one(s, conns);
    }
    for (int i = 0; i < MAX_CONNS; i++)
        if (conns[i].fd >= 0)
            close(conns[i].fd);
    return NULL;
}

static int bind_somewhere(int *ret_port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = bind(fd, (struct sockaddr *)&a, n) || getsockname(fd, (struct sockaddr *)&a, &n);
    assert(!failed);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

void server_start(struct server *s) {
    memset(s, 0, sizeof *s);
    s->listen_fd = bind_somewhere(&s->port);
    int deaf = listen(s->listen_fd, MAX_CONNS);
    assert(!deaf);
    snprintf(s->root, sizeof s->root, "http://127.0.0.1:%d", s->port);
    int failed = pipe2(s->stop_pipe, O_CLOEXEC) || pthread_create(&s->thread, NULL, serve_all, s);
    assert(!failed);
}

void server_stop(struct server *s) {
    close(s->stop_pipe[1]);
    pthread_join(s->thread, NULL);
    close(s->stop_pipe[0]);
    close(s->listen_fd);
}

int server_free_port(void) {
    int port;
    close(bind_somewhere(&port));
    return port;
}

int server_unused_port(void) {
    int port;
    bind_somewhere(&port); /* and kept until the program ends: it can be nobody else's */
    return port;
}
