/* feed_clients PORT N EVENTS: N WebSocket clients of /cdc, with the key of TAIN_CDC_KEY, in one
 * thread. Says "ready" when each of them was greeted. Every event must hold "ev=NUMBER at=TIME",
 * the writer's number of it and the time before it was written, and follow the one before.
 * Standard input says in the end how many there were, and when each was acknowledged: "NUMBER
 * TIME". Times are unix microseconds. An event has arrived when the kernel has it for its client:
 * that this program reads a thousand sockets in turn is its own lag, which is counted apart. Prints
 * JSON. Exit code 1: a hole, a client that was sent away, or one that has not heard all. */
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
#define PAUSE_US 4000L /* well below what the server gathers */
#define EVENTS_MAX 1000000

struct client {
    int fd;
    size_t n;
    bool greeted;
    int64_t last, events;
    uint32_t *arrived; /* by event, since the beginning */
    char in[BUFFER];
};

struct event {
    int64_t number, written, acked; /* acked 0: not yet known */
};

struct spread {
    uint64_t buckets[BUCKETS + 1], total;
    int64_t worst_us;
};

static struct client *clients;
static struct event *events;
static int64_t *acks; /* by the writer's numbers */
static int n_clients, n_greeted;
static int64_t n_events, began_us;
static uint64_t delivered;
static struct spread lag, from_ack, from_write, commits;

static void die(const char *what) {
    fprintf(stderr, "feed_clients: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void wrong(const struct client *c, const char *what, const char *p, size_t n) {
    fprintf(stderr, "feed_clients: client %d: %s: %.*s\n", (int)(c - clients), what,
            (int)(n > 300 ? 300 : n), p);
    exit(1);
}

static int64_t us_of(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return us_of(t);
}

static int64_t number_behind(const char *p, size_t n, const char *mark) {
    const char *at = memmem(p, n, mark, strlen(mark));
    return at ? strtoll(at + strlen(mark), NULL, 10) : -1;
}

static void note(struct spread *s, int64_t us) {
    us = us < 0 ? 0 : us;
    if (us > s->worst_us)
        s->worst_us = us;
    s->buckets[us / BUCKET_US < BUCKETS ? us / BUCKET_US : BUCKETS]++;
    s->total++;
}

static double percentile(const struct spread *s, double share) {
    uint64_t wanted = (uint64_t)((double)s->total * share), seen = 0;
    for (int i = 0; i <= BUCKETS; i++)
        if ((seen += s->buckets[i]) > wanted)
            return (double)(i + 1) * BUCKET_US / 1000.0;
    return 0;
}

/* The first client to hear an event looks into it; its position says the rest to the others. */
static void take_event(struct client *c, const char *p, size_t n, int64_t pos, int64_t at) {
    struct event *ev = &events[c->events];
    if (c->events >= n_events)
        wrong(c, "one event too many", p, n);
    if (!ev->number) {
        ev->number = number_behind(p, n, "ev=");
        ev->written = number_behind(p, n, "at=");
        if (ev->number < 1 || ev->written < 0)
            wrong(c, "no event of the writer", p, n);
    }
    c->arrived[c->events++] = (uint32_t)(at - began_us);
    c->last = pos;
    delivered++;
}

static void take_text(struct client *c, const char *p, size_t n, int64_t at) {
    if (!c->greeted) {
        if (n < 15 || memcmp(p, "{\"type\":\"hello\"", 15) != 0)
            wrong(c, "no hello", p, n);
        c->greeted = true;
        n_greeted++;
        return;
    }
    const char *dash = n > 40 && memcmp(p, "{\"id\":\"", 7) == 0 ? memchr(p, '-', 40) : NULL;
    int64_t pos = dash ? strtoll(dash + 1, NULL, 10) : -1;
    if (pos < 0)
        wrong(c, "no event", p, n);
    if (c->last && pos != c->last + 1)
        wrong(c, "a hole before", p, n);
    take_event(c, p, n, pos, at);
}

/* Whole frames; what is left of the last one stays. */
static void cut_frames(struct client *c, int64_t arrived) {
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
            take_text(c, (const char *)p + head, n, arrived);
        at += head + n;
    }
    memmove(c->in, c->in + at, c->n - at);
    c->n -= at;
}

/* The time at which the kernel had the last of these bytes; of the earlier ones it is too late a
 * time, never too early. */
static int64_t arrival(struct msghdr *m, int64_t otherwise) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            return us_of(t);
        }
    return otherwise;
}

static void pull(struct client *c) {
    char control[CMSG_SPACE(sizeof(struct timespec))];
    size_t room = BUFFER - c->n;
    struct iovec to = {c->in + c->n, room};
    struct msghdr m = {
        .msg_iov = &to, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(c->fd, &m, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        wrong(c, "the connection ended", "", 0);
    int64_t now = now_us(), arrived = arrival(&m, now);
    note(&lag, now - arrived);
    c->n += (size_t)got;
    cut_frames(c, arrived);
}

static void dial(struct client *c, int port, const char *key) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int one = 1;
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
    if (setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one) < 0)
        die("SO_TIMESTAMPNS");
    cut_frames(c, now_us());
}

static bool all_have(int64_t n) {
    for (int i = 0; i < n_clients; i++)
        if (clients[i].events != n)
            return false;
    return true;
}

/* Reads what is there, and then lets it gather: a thousand clients on other machines would not ask
 * for this one's processors with each frame. */
static void turn(int epoll) {
    static const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
    struct epoll_event ready[512];
    int n;
    do {
        n = epoll_wait(epoll, ready, 512, 0);
        for (int i = 0; i < n; i++)
            pull(ready[i].data.ptr);
    } while (n == 512);
    nanosleep(&pause, NULL);
}

static void open_all(int epoll, int port, const char *key) {
    for (int i = 0; i < n_clients; i++) {
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &clients[i]};
        clients[i].arrived = calloc((size_t)n_events, sizeof(uint32_t));
        if (!clients[i].arrived)
            die("start");
        dial(&clients[i], port, key);
        epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &ev);
    }
    while (n_greeted < n_clients)
        turn(epoll);
}

static bool is_told(void) {
    struct pollfd p = {0, POLLIN, 0};
    return poll(&p, 1, 0) == 1;
}

/* Numbers are those of the writer, and need not be in the order of positions. */
static int64_t read_acks(void) {
    int64_t n, number, at;
    if (scanf("%" SCNd64, &n) != 1 || n < 0 || n > n_events)
        die("how many?");
    for (int64_t i = 0; i < n; i++)
        if (scanf("%" SCNd64 " %" SCNd64, &number, &at) == 2 && number >= 1 && number <= n_events)
            acks[number] = at;
        else
            die("when was it acknowledged?");
    return n;
}

static void sum_up(int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        struct event *ev = &events[i];
        ev->acked = ev->number >= 1 && ev->number <= n_events ? acks[ev->number] : 0;
        if (!ev->acked)
            die("an event that nobody wrote");
        note(&commits, ev->acked - ev->written);
    }
    for (int c = 0; c < n_clients; c++)
        for (int64_t i = 0; i < clients[c].events; i++) {
            int64_t at = began_us + clients[c].arrived[i];
            note(&from_ack, at - events[i].acked);
            note(&from_write, at - events[i].written);
        }
}

static void print_spread(const char *name, const struct spread *s) {
    printf(",\"%s\":{\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"max_ms\":%.1f}", name, percentile(s, 0.5),
           percentile(s, 0.99), (double)s->worst_us / 1000);
}

static int report(int64_t wanted) {
    bool complete = all_have(wanted);
    printf("{\"clients\":%d,\"events\":%" PRId64 ",\"delivered\":%" PRIu64 ",\"lost\":%" PRId64,
           n_clients, clients[0].events, delivered, wanted * n_clients - (int64_t)delivered);
    print_spread("from_ack", &from_ack);
    print_spread("from_write", &from_write);
    print_spread("commit", &commits);
    print_spread("client_lag", &lag);
    printf("}\n");
    return complete ? 0 : 1;
}

int main(int argc, char **argv) {
    struct rlimit files = {8192, 8192};
    const char *key = getenv("TAIN_CDC_KEY");
    if (argc != 4 || !key)
        return 2;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    n_clients = atoi(argv[2]);
    n_events = atoi(argv[3]);
    if (n_clients < 1 || n_events < 1 || n_events > EVENTS_MAX)
        return 2;
    clients = calloc((size_t)n_clients, sizeof *clients);
    events = calloc((size_t)n_events, sizeof *events);
    acks = calloc((size_t)n_events + 1, sizeof *acks);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!clients || !events || !acks || epoll < 0)
        die("start");
    began_us = now_us();
    open_all(epoll, atoi(argv[1]), key);
    puts("ready");
    fflush(stdout);
    while (!is_told())
        turn(epoll);
    int64_t wanted = read_acks(), deadline = now_us() + (int64_t)PATIENCE_MS * 1000;
    while (!all_have(wanted) && now_us() < deadline)
        turn(epoll);
    sum_up(clients[0].events);
    return report(wanted);
}
