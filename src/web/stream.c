/* Lock order: the hub's lock, then whatever the door's functions take. That a client
 * sleeps is noted under the lock, so that nothing published in between is missed: it is woken, if
 * need be before it lies down. */
#include "web/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    size_t refs, n;
    char bytes[];
};

struct topic {
    struct frame *whole; /* the state as it is, NULL before the first */
    uint64_t version;    /* of that state; 0 before the first */
    /* Changes: the one that leads to version v is at v % STREAM_KEPT_FRAMES, and NULL where only
     * the whole state says it. Kept are those to the versions above `forgotten`. */
    struct frame *changes[STREAM_KEPT_FRAMES];
    uint64_t forgotten;
    size_t bytes;
    size_t n_clients;
    struct stream_client *clients;
};

struct stream_client {
    struct stream_hub *hub;
    void *connection;
    enum stream_topic topic;
    uint64_t version; /* of the state it was told */
    uint64_t beat;    /* the last it was told of */
    struct frame *sending;
    size_t sent;
    bool asleep, gone;
    struct stream_client *before, *after;
};

struct stream_hub {
    pthread_mutex_t lock;
    struct stream_door door;
    size_t max_clients;
    bool stopped;
    uint64_t beat;
    struct frame *keep_alive;
    struct topic topics[TOPIC_N];
    struct stream_counts counts; /* its clients are counted by topic */
};

static struct frame *frame_new(struct str bytes) {
    struct frame *f = xmalloc(sizeof *f + bytes.n);
    f->refs = 1;
    f->n = bytes.n;
    memcpy(f->bytes, bytes.p, bytes.n);
    return f;
}

static struct frame *frame_ref(struct frame *f) {
    f->refs++;
    return f;
}

static void frame_unref(struct frame *f) {
    if (f && --f->refs == 0)
        free(f);
}

struct stream_hub *stream_hub_new(const struct stream_door *door, size_t max_clients) {
    struct stream_hub *h = xcalloc(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    h->door = *door;
    h->max_clients = max_clients;
    h->keep_alive = frame_new(STR(STREAM_KEEP_ALIVE));
    return h;
}

static void wake(struct stream_client *c) {
    if (!c->asleep)
        return;
    c->asleep = false;
    c->hub->door.wake(c->connection);
}

static void wake_all(struct topic *t) {
    for (struct stream_client *c = t->clients; c; c = c->after)
        wake(c);
}

void stream_hub_stop(struct stream_hub *h) {
    pthread_mutex_lock(&h->lock);
    h->stopped = true;
    for (int i = 0; i < TOPIC_N; i++)
        wake_all(&h->topics[i]);
    pthread_mutex_unlock(&h->lock);
}

static struct frame **change_to(struct topic *t, uint64_t version) {
    return &t->changes[version % STREAM_KEPT_FRAMES];
}

static void forget_oldest(struct topic *t) {
    struct frame **f = change_to(t, ++t->forgotten);
    if (*f)
        t->bytes -= (*f)->n;
    frame_unref(*f);
    *f = NULL;
}

void stream_hub_free(struct stream_hub *h) {
    if (!h)
        return;
    for (int i = 0; i < TOPIC_N; i++) {
        struct topic *t = &h->topics[i];
        while (t->forgotten < t->version)
            forget_oldest(t);
        frame_unref(t->whole);
    }
    frame_unref(h->keep_alive);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void stream_publish(struct stream_hub *h, enum stream_topic topic, struct str whole,
                    struct str change) {
    pthread_mutex_lock(&h->lock);
    struct topic *t = &h->topics[topic];
    frame_unref(t->whole);
    t->whole = frame_new(whole);
    t->version++;
    while (t->version - t->forgotten > STREAM_KEPT_FRAMES)
        forget_oldest(t);
    if (change.p) {
        *change_to(t, t->version) = frame_new(change);
        t->bytes += change.n;
    }
    while (t->bytes > STREAM_KEPT_BYTES)
        forget_oldest(t);
    wake_all(t);
    pthread_mutex_unlock(&h->lock);
}

void stream_beat(struct stream_hub *h) {
    pthread_mutex_lock(&h->lock);
    h->beat++;
    for (int i = 0; i < TOPIC_N; i++)
        wake_all(&h->topics[i]);
    pthread_mutex_unlock(&h->lock);
}

void stream_sweep(struct stream_hub *h) {
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < TOPIC_N; i++)
        for (struct stream_client *c = h->topics[i].clients; c; c = c->after)
            if (c->asleep && h->door.gone(c->connection)) {
                c->gone = true;
                wake(c);
            }
    pthread_mutex_unlock(&h->lock);
}

static size_t n_clients(const struct stream_hub *h) {
    size_t n = 0;
    for (int i = 0; i < TOPIC_N; i++)
        n += h->topics[i].n_clients;
    return n;
}

static struct stream_client *add_client(struct stream_hub *h, enum stream_topic topic,
                                        void *connection) {
    struct topic *t = &h->topics[topic];
    struct stream_client *c = xcalloc(1, sizeof *c);
    *c = (struct stream_client){.hub = h, .connection = connection, .topic = topic};
    c->beat = h->beat;
    c->after = t->clients;
    if (c->after)
        c->after->before = c;
    t->clients = c;
    t->n_clients++;
    return c;
}

struct stream_client *stream_join(struct stream_hub *h, enum stream_topic topic, void *connection) {
    struct stream_client *c = NULL;
    pthread_mutex_lock(&h->lock);
    if (!h->stopped && n_clients(h) < h->max_clients) {
        c = add_client(h, topic, connection);
        h->counts.joined++;
    } else {
        h->counts.refused++;
    }
    pthread_mutex_unlock(&h->lock);
    return c;
}

void stream_leave(struct stream_client *c) {
    struct stream_hub *h = c->hub;
    pthread_mutex_lock(&h->lock);
    struct topic *t = &h->topics[c->topic];
    if (c->before)
        c->before->after = c->after;
    else
        t->clients = c->after;
    if (c->after)
        c->after->before = c->before;
    t->n_clients--;
    frame_unref(c->sending);
    pthread_mutex_unlock(&h->lock);
    free(c);
}

/* The frame that brings the client further, NULL when it knows everything. */
static struct frame *next_frame(struct stream_client *c) {
    struct stream_hub *h = c->hub;
    struct topic *t = &h->topics[c->topic];
    if (c->version == t->version) {
        bool due = c->beat != h->beat;
        c->beat = h->beat;
        return due ? h->keep_alive : NULL;
    }
    bool new = c->version == 0;
    struct frame *change =
        !new && c->version >= t->forgotten ? *change_to(t, c->version + 1) : NULL;
    if (change) {
        c->version++;
        return change;
    }
    h->counts.caught_up += !new && t->version - c->version > 1;
    c->version = t->version;
    return t->whole;
}

static bool take_frame(struct stream_client *c) {
    frame_unref(c->sending);
    c->sending = NULL;
    c->sent = 0;
    struct frame *f = next_frame(c);
    if (!f)
        return false;
    c->sending = frame_ref(f);
    c->hub->counts.frames++;
    return true;
}

static size_t take_bytes(struct stream_client *c, char *to, size_t max) {
    size_t left = c->sending->n - c->sent;
    size_t n = left < max ? left : max;
    memcpy(to, c->sending->bytes + c->sent, n);
    c->sent += n;
    return n;
}

ptrdiff_t stream_read(struct stream_client *c, char *to, size_t max) {
    struct stream_hub *h = c->hub;
    ptrdiff_t n = 0;
    pthread_mutex_lock(&h->lock);
    bool inside = c->sending && c->sent < c->sending->n;
    if (c->gone || (h->stopped && !inside)) {
        n = STREAM_END;
    } else if (inside || take_frame(c)) {
        n = (ptrdiff_t)take_bytes(c, to, max);
    } else {
        c->asleep = true;
    }
    pthread_mutex_unlock(&h->lock);
    return n;
}

void stream_count(struct stream_hub *h, struct stream_counts *ret) {
    pthread_mutex_lock(&h->lock);
    *ret = h->counts;
    for (int i = 0; i < TOPIC_N; i++)
        ret->clients[i] = h->topics[i].n_clients;
    pthread_mutex_unlock(&h->lock);
}
