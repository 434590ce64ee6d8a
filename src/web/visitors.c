#include "web/visitors.h"

#include "web/web_metrics.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct visitor {
    struct visitor *prev, *next;
    struct loop *loop;
    int fd;
    bool served; /* its request is complete, and being answered */
    bool counted;
    int64_t since; /* clock_mono() of the connection, or of the last turn between the two */
    unsigned char address[16];
};

/* Open addressing; addresses without connections are thrown out when it grows. */
struct guest {
    unsigned char address[16];
    int n;
    bool used;
};

struct crowd {
    pthread_mutex_t lock;
    struct guest *guests;
    size_t cap, used;
    int max;
};

struct crowd *crowd_new(int max_per_address) {
    struct crowd *c = xcalloc(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->cap = 64;
    c->guests = xcalloc(c->cap, sizeof *c->guests);
    c->max = max_per_address;
    return c;
}

void crowd_free(struct crowd *c) {
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c->guests);
    free(c);
}

static struct guest *find(struct guest *all, size_t cap, const unsigned char address[16]) {
    size_t i = XXH3_64bits(address, 16) & (cap - 1);
    while (all[i].used && memcmp(all[i].address, address, 16) != 0)
        i = (i + 1) & (cap - 1);
    return &all[i];
}

static void grow(struct crowd *c) {
    size_t living = 0;
    for (size_t i = 0; i < c->cap; i++)
        living += c->guests[i].n > 0;
    size_t cap = 64;
    while (cap < living * 4)
        cap *= 2;
    struct guest *all = xcalloc(cap, sizeof *all);
    for (size_t i = 0; i < c->cap; i++)
        if (c->guests[i].n > 0)
            *find(all, cap, c->guests[i].address) = c->guests[i];
    free(c->guests);
    c->guests = all;
    c->cap = cap;
    c->used = living;
}

/* By how many there are then; `by` 0 only asks. */
static int count(struct crowd *c, const unsigned char address[16], int by) {
    pthread_mutex_lock(&c->lock);
    if (by > 0 && c->used * 2 >= c->cap)
        grow(c);
    struct guest *g = find(c->guests, c->cap, address);
    if (by > 0 && !g->used) {
        *g = (struct guest){.used = true};
        memcpy(g->address, address, 16);
        c->used++;
    }
    if (g->used)
        g->n += by;
    int n = g->used ? g->n : 0;
    pthread_mutex_unlock(&c->lock);
    return n;
}

enum MHD_Result visitor_admit(void *arg, const struct sockaddr *address, socklen_t n UNUSED) {
    struct loop *l = arg;
    unsigned char key[16];
    if (atomic_load(&l->web->stopping))
        return MHD_NO;
    if (address_is_loopback(address)) /* a proxy in front, or this machine itself */
        return MHD_YES;
    address_key(address, key);
    if (count(l->web->crowd, key, 0) < l->web->crowd->max)
        return MHD_YES;
    metric_add(&m_web_refused, 1, 1);
    return MHD_NO;
}

bool crowd_stay(struct web *w, const struct sockaddr *address, unsigned char ret[16]) {
    address_key(address, ret);
    bool counted = !address_is_loopback(address);
    if (counted)
        (void)count(w->crowd, ret, 1);
    return counted;
}

void crowd_leave(struct web *w, const unsigned char address[16]) {
    (void)count(w->crowd, address, -1);
}

static void arrive(struct loop *l, struct MHD_Connection *connection, void **ret) {
    struct visitor *v = xcalloc(1, sizeof *v);
    const struct sockaddr *a =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    v->loop = l;
    v->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    v->since = clock_mono(l->web->o.clock);
    v->next = l->visitors;
    if (l->visitors)
        l->visitors->prev = v;
    l->visitors = v;
    address_key(a, v->address);
    v->counted = !address_is_loopback(a);
    if (v->counted)
        (void)count(l->web->crowd, v->address, 1);
    metric_add(&m_web_connections, 0, 1);
    *ret = v;
}

static void leave(struct loop *l, struct visitor *v) {
    if (v->prev)
        v->prev->next = v->next;
    else
        l->visitors = v->next;
    if (v->next)
        v->next->prev = v->prev;
    if (v->counted)
        (void)count(l->web->crowd, v->address, -1);
    metric_add(&m_web_connections, 0, -1);
    free(v);
}

void visitor_notify(void *arg, struct MHD_Connection *connection, void **visitor,
                    enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        arrive(arg, connection, visitor);
    else if (*visitor)
        leave(arg, *visitor);
}

static struct visitor *of(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void visitor_heard(struct MHD_Connection *connection) {
    struct visitor *v = of(connection);
    v->served = true;
    v->since = clock_mono(v->loop->web->o.clock);
}

void visitor_served(struct MHD_Connection *connection) {
    struct visitor *v = of(connection);
    if (!v)
        return;
    v->served = false;
    v->since = clock_mono(v->loop->web->o.clock);
}

void visitors_tick(struct loop *l) {
    int64_t now = clock_mono(l->web->o.clock);
    for (struct visitor *v = l->visitors; v; v = v->next)
        if (!v->served && now - v->since > HEARING_MS)
            shutdown(v->fd, SHUT_RDWR);
    for (struct request *r = l->active; r; r = r->next) {
        struct visitor *v = of(r->connection);
        if (r->state == REQUEST_SENT && !r->call.stream.read && now - v->since > ANSWER_MS)
            shutdown(v->fd, SHUT_RDWR);
    }
}
