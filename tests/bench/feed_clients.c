/* feed_clients PORT N: N WebSocket clients of /cdc, with the key of TAIN_CDC_KEY, in one thread.
 * Says "ready" when each of them was greeted. Every event must hold "at=MICROSECONDS", the unix
 * time at which it was about to be committed, and follow the one before. When standard input ends
 * it goes on until all have the same last event, and prints how long the way took as JSON. Exit
 * code 1: a hole, or a client that was sent away. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUFFER 65536
#define BUCKET_US 100
#define BUCKETS 100000 /* ten seconds */
#define PATIENCE_MS 30000

struct client {
    int fd;
    size_t n;
    bool greeted;
    int64_t last, events;
    char in[BUFFER];
};

static struct client *clients;
static int n_clients, n_greeted;
static uint64_t buckets[BUCKETS + 1], total;
static int64_t worst_us;

static void die(const char *what) {
    fprintf(stderr, "feed_clients: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void wrong(const struct client *c, const char *what, const char *p, size_t n) {
    fprintf(stderr, "feed_clients: client %d: %s: %.*s\n", (int)(c - clients), what,
            (int)(n > 300 ? 300 : n), p);
    exit(1);
}

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t number_behind(const char *p, size_t n, const char *mark) {
    const char *at = memmem(p, n, mark, strlen(mark));
    return at ? strtoll(at + strlen(mark), NULL, 10) : -1;
}

static void note(int64_t us) {
    us = us < 0 ? 0 : us;
    if (us > worst_us)
        worst_us = us;
    buckets[us / BUCKET_US < BUCKETS ? us / BUCKET_US : BUCKETS]++;
    total++;
}

static void take_text(struct client *c, const char *p, size_t n, int64_t now) {
    if (!c->greeted) {
        if (n < 15 || memcmp(p, "{\"type\":\"hello\"", 15) != 0)
            wrong(c, "no hello", p, n);
        c->greeted = true;
        n_greeted++;
        return;
    }
    const char *dash = n > 40 && memcmp(p, "{\"id\":\"", 7) == 0 ? memchr(p, '-', 40) : NULL;
    int64_t pos = dash ? strtoll(dash + 1, NULL, 10) : -1, at = number_behind(p, n, "at=");
    if (pos < 0 || at < 0)
        wrong(c, "no event", p, n);
    if (c->last && pos != c->last + 1)
        wrong(c, "a hole before", p, n);
    c->last = pos;
    c->events++;
    note(now - at);
}

/* Whole frames; what is left of the last one stays. */
static void cut_frames(struct client *c, int64_t now) {
    size_t at = 0;
    while (c->n - at >= 2) {
        const unsigned char *p = (const unsigned char *)c->in + at;
        size_t n = p[1], head = 2;
        if (n == 126) {
            if (c->n - at < 4)
                break;
            n = (size_t)p[2] << 8 | p[3];
            head = 4;
        }
        if (n > BUFFER - 8)
            wrong(c, "a frame that is too long", "", 0);
        if (c->n - at < head + n)
            break;
        if (p[0] == 0x88)
            wrong(c, "was sent away", (const char *)p + head + 2, n > 2 ? n - 2 : 0);
        if (p[0] == 0x81)
            take_text(c, (const char *)p + head, n, now);
        at += head + n;
    }
    memmove(c->in, c->in + at, c->n - at);
    c->n -= at;
}

static void pull(struct client *c) {
    for (;;) {
        ssize_t got = recv(c->fd, c->in + c->n, BUFFER - c->n, 0);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            wrong(c, "the connection ended", "", 0);
        c->n += (size_t)got;
        cut_frames(c, now_us());
    }
}

static void dial(struct client *c, int port, const char *key) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[2048];
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) < 0)
        die("connect");
    int n = snprintf(text, sizeof text,
                     "GET /cdc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     key);
    if (send(c->fd, text, (size_t)n, 0) != n)
        die("send");
    char *end = NULL;
    while (!end) { /* the answer, and what came with it */
        ssize_t got = recv(c->fd, c->in + c->n, BUFFER - 1 - c->n, 0);
        if (got <= 0)
            die("the handshake");
        c->n += (size_t)got;
        c->in[c->n] = '\0';
        end = strstr(c->in, "\r\n\r\n");
    }
    if (strncmp(c->in, "HTTP/1.1 101 ", 13) != 0)
        wrong(c, "refused", c->in, c->n);
    size_t head = (size_t)(end + 4 - c->in);
    memmove(c->in, c->in + head, c->n - head);
    c->n -= head;
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    cut_frames(c, now_us());
}

static double percentile(double share) {
    uint64_t wanted = (uint64_t)((double)total * share), seen = 0;
    for (int i = 0; i <= BUCKETS; i++)
        if ((seen += buckets[i]) > wanted)
            return (double)(i + 1) * BUCKET_US / 1000.0;
    return 0;
}

static bool all_have(int64_t events) {
    for (int i = 0; i < n_clients; i++)
        if (clients[i].events != events)
            return false;
    return true;
}

static void turn(int epoll) {
    struct epoll_event events[512];
    int n = epoll_wait(epoll, events, 512, 20);
    for (int i = 0; i < n; i++)
        pull(events[i].data.ptr);
}

/* How many there are in all, as soon as it is told; -1 until then. */
static int64_t told(void) {
    struct pollfd p = {0, POLLIN, 0};
    char text[32] = "";
    if (poll(&p, 1, 0) != 1)
        return -1;
    return read(0, text, sizeof text - 1) > 0 ? atoll(text) : 0;
}

static void open_all(int epoll, int port, const char *key) {
    for (int i = 0; i < n_clients; i++) {
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &clients[i]};
        dial(&clients[i], port, key);
        epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &ev);
    }
    while (n_greeted < n_clients)
        turn(epoll);
}

int main(int argc, char **argv) {
    struct rlimit files = {8192, 8192};
    const char *key = getenv("TAIN_CDC_KEY");
    if (argc != 3 || !key)
        return 2;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    n_clients = atoi(argv[2]);
    clients = calloc((size_t)n_clients, sizeof *clients);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!clients || epoll < 0)
        die("start");
    open_all(epoll, atoi(argv[1]), key);
    puts("ready");
    fflush(stdout);
    int64_t wanted;
    while ((wanted = told()) < 0)
        turn(epoll);
    int64_t deadline = now_us() + PATIENCE_MS * 1000;
    while (!all_have(wanted) && now_us() < deadline)
        turn(epoll);
    printf("{\"clients\":%d,\"events\":%" PRId64 ",\"delivered\":%" PRIu64
           ",\"complete\":%s,\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"max_ms\":%.1f}\n",
           n_clients, clients[0].events, total, all_have(wanted) ? "true" : "false",
           percentile(0.5), percentile(0.99), (double)worst_us / 1000);
    return all_have(wanted) ? 0 : 1;
}
