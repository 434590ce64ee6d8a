/* Lock order: the hub's lock, then the HTTP library's own inside suspend and resume. The reader
 * callback takes the hub's lock while it decides to sleep, so nothing published can be missed. */
#include "demo/stream.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_MAX (64 * 1024)

struct stream {
    struct hub *hub;
    struct MHD_Connection *connection;
    enum channel channel;
    uint64_t next; /* the frame that comes next */
    struct strbuf pending;
    size_t sent; /* of pending */
    bool suspended;
    struct stream *before, *after;
};

static void render_ids(const int64_t *ids, size_t n, struct strbuf *out) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%lld", i ? "," : "", (long long)ids[i]);
    strbuf_addc(out, ']');
}

static void render_updates(const struct hub *h, const int64_t *ids, size_t n, struct strbuf *out) {
    strbuf_adds(out, "{\"items\":");
    render_ids(ids, n, out);
    strbuf_adds(out, ",\"profiles\":[");
    for (size_t i = 0; i < h->n_profiles; i++) {
        strbuf_adds(out, i ? "," : "");
        strbuf_add_json(out, str_of(h->profiles[i]));
    }
    strbuf_adds(out, "]}");
}

/* The first frame of a stream, and the one a laggard starts over with. */
static void render_put(const struct hub *h, enum channel channel, struct strbuf *out) {
    strbuf_adds(out, "event: put\ndata: {\"path\":\"/\",\"data\":");
    if (channel == CHANNEL_MAXITEM)
        strbuf_addf(out, "%lld", (long long)corpus_maxitem(h->corpus));
    else
        render_updates(h, h->recent, h->n_recent, out);
    strbuf_adds(out, "}\n\n");
}

static void publish(struct hub *h, enum channel channel, const char *frame) {
    char **slot = &h->ring[channel][h->published[channel]++ % HUB_RING];
    free(*slot);
    *slot = xstrdup(frame);
    for (struct stream *s = h->streams; s; s = s->after) {
        if (s->channel != channel || !s->suspended)
            continue;
        s->suspended = false;
        MHD_resume_connection(s->connection);
    }
}

static void remember_id(struct hub *h, int64_t id) {
    size_t at = 0;
    while (at < h->n_recent && h->recent[at] != id)
        at++;
    if (at == HUB_RECENT)
        at--; /* the last one falls off */
    if (at == h->n_recent)
        h->n_recent++;
    memmove(h->recent + 1, h->recent, at * sizeof h->recent[0]);
    h->recent[0] = id;
}

static void remember_author(struct hub *h, int64_t id) {
    char name[CORPUS_NAME_MAX];
    if (!corpus_author(h->corpus, id, name))
        return;
    size_t at = 0;
    while (at < h->n_profiles && strcmp(h->profiles[at], name) != 0)
        at++;
    if (at == HUB_PROFILES)
        at--;
    if (at == h->n_profiles)
        h->n_profiles++;
    memmove(h->profiles + 1, h->profiles, at * sizeof h->profiles[0]);
    memcpy(h->profiles[0], name, sizeof name);
}

void hub_init(struct hub *h, const struct corpus *c) {
    *h = (struct hub){.corpus = c};
    pthread_mutex_init(&h->lock, NULL);
    int64_t max = corpus_maxitem(c);
    for (int64_t id = max > 30 ? max - 29 : 1; id <= max; id++) {
        remember_id(h, id);
        remember_author(h, id);
    }
}

/* Upstream sends several forms that mean the same; so do we, in turn. */
static void render_change(struct hub *h, const int64_t *ids, size_t n, struct strbuf *out) {
    uint64_t turn = h->published[CHANNEL_UPDATES] % 3;
    if (turn == 0) {
        strbuf_adds(out, "event: patch\ndata: {\"path\":\"/\",\"data\":");
        render_updates(h, ids, n, out);
    } else if (turn == 2 && n == 1) {
        strbuf_addf(out, "event: put\ndata: {\"path\":\"/items/0\",\"data\":%lld",
                    (long long)ids[0]);
    } else {
        strbuf_adds(out, "event: put\ndata: {\"path\":\"/items\",\"data\":");
        render_ids(ids, n, out);
    }
    strbuf_adds(out, "}\n\n");
}

void hub_updates(struct hub *h, const int64_t *ids, size_t n) {
    CLEANUP(strbuf_release) struct strbuf frame;
    strbuf_init(&frame, FRAME_MAX);
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < n; i++) {
        remember_id(h, ids[i]);
        remember_author(h, ids[i]);
    }
    render_change(h, ids, n, &frame);
    publish(h, CHANNEL_UPDATES, frame.p);
    pthread_mutex_unlock(&h->lock);
}

void hub_maxitem(struct hub *h, int64_t maxitem) {
    CLEANUP(strbuf_release) struct strbuf frame;
    strbuf_init(&frame, FRAME_MAX);
    strbuf_addf(&frame, "event: put\ndata: {\"path\":\"/\",\"data\":%lld}\n\n", (long long)maxitem);
    pthread_mutex_lock(&h->lock);
    publish(h, CHANNEL_MAXITEM, frame.p);
    pthread_mutex_unlock(&h->lock);
}

void hub_keep_alive(struct hub *h) {
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < N_CHANNELS; i++)
        publish(h, (enum channel)i, "event: keep-alive\ndata: null\n\n");
    pthread_mutex_unlock(&h->lock);
}

void hub_render(struct hub *h, struct strbuf *out) {
    pthread_mutex_lock(&h->lock);
    render_updates(h, h->recent, h->n_recent, out);
    pthread_mutex_unlock(&h->lock);
}

void hub_stop(struct hub *h) {
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    for (struct stream *s = h->streams; s; s = s->after) {
        if (s->suspended)
            MHD_resume_connection(s->connection);
        s->suspended = false;
    }
    pthread_mutex_unlock(&h->lock);
}

void hub_release(struct hub *h) {
    for (int i = 0; i < N_CHANNELS; i++)
        for (int k = 0; k < HUB_RING; k++)
            free(h->ring[i][k]);
    pthread_mutex_destroy(&h->lock);
}

/* Puts the next frame into pending; false when there is none. Under the hub's lock. */
static bool next_frame(struct stream *s) {
    struct hub *h = s->hub;
    uint64_t newest = h->published[s->channel];
    if (s->next == newest)
        return false;
    strbuf_clear(&s->pending);
    s->sent = 0;
    if (newest - s->next > HUB_RING) {
        render_put(h, s->channel, &s->pending);
        s->next = newest;
    } else {
        strbuf_adds(&s->pending, h->ring[s->channel][s->next++ % HUB_RING]);
    }
    return true;
}

static ssize_t read_stream(void *cls, uint64_t pos UNUSED, char *buf, size_t max) {
    struct stream *s = cls;
    ssize_t n = 0;
    pthread_mutex_lock(&s->hub->lock);
    if (s->sent == s->pending.n && !next_frame(s)) {
        if (s->hub->stopping) {
            n = MHD_CONTENT_READER_END_OF_STREAM;
        } else {
            s->suspended = true;
            MHD_suspend_connection(s->connection);
        }
    } else {
        size_t left = s->pending.n - s->sent;
        n = (ssize_t)(left < max ? left : max);
        memcpy(buf, s->pending.p + s->sent, (size_t)n);
        s->sent += (size_t)n;
    }
    pthread_mutex_unlock(&s->hub->lock);
    return n;
}

static void close_stream(void *cls) {
    struct stream *s = cls;
    pthread_mutex_lock(&s->hub->lock);
    if (s->before)
        s->before->after = s->after;
    else
        s->hub->streams = s->after;
    if (s->after)
        s->after->before = s->before;
    pthread_mutex_unlock(&s->hub->lock);
    strbuf_release(&s->pending);
    free(s);
}

enum MHD_Result hub_open(struct hub *h, struct MHD_Connection *connection, enum channel channel) {
    struct stream *s = xcalloc(1, sizeof *s);
    *s = (struct stream){.hub = h, .connection = connection, .channel = channel};
    strbuf_init(&s->pending, FRAME_MAX);
    pthread_mutex_lock(&h->lock);
    render_put(h, channel, &s->pending);
    s->next = h->published[channel];
    s->after = h->streams;
    if (s->after)
        s->after->before = s;
    h->streams = s;
    pthread_mutex_unlock(&h->lock);
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, s, close_stream);
    if (!r) {
        close_stream(s);
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return queued;
}
