/* Lock order: the hub's lock, then the HTTP library's own inside suspend and resume. The reader
 * callback takes the hub's lock while it decides to sleep, so nothing published can be missed. */
#include "demo/reply.h"
#include "demo/stream_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void hub_init(struct hub *h, const struct corpus *c, const struct clock *clock, struct stats *s) {
    *h = (struct hub){.corpus = c, .clock = clock, .stats = s};
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* what clock_mono() counts */
    pthread_cond_init(&h->progress, &attr);
    pthread_condattr_destroy(&attr);
    int64_t max = corpus_maxitem(c);
    char name[CORPUS_NAME_MAX];
    for (int64_t id = max > 30 ? max - 29 : 1; id <= max; id++) {
        sliding_id(&h->recent, id);
        if (corpus_author(c, id, name))
            sliding_name(&h->recent, name);
    }
}

void hub_stop(struct hub *h) {
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    for (struct stream *s = h->streams; s; s = s->after)
        stream_resume(s);
    pthread_cond_broadcast(&h->progress);
    pthread_mutex_unlock(&h->lock);
}

static void drop_oldest(struct ring *r) {
    size_t at = r->oldest++ % HUB_RING;
    r->bytes -= r->slots[at].n;
    free(r->slots[at].p);
    r->slots[at].p = NULL;
}

void hub_release(struct hub *h) {
    for (int i = 0; i < N_CHANNELS; i++)
        while (h->rings[i].oldest < h->rings[i].published)
            drop_oldest(&h->rings[i]);
    pthread_cond_destroy(&h->progress);
    pthread_mutex_destroy(&h->lock);
}

/* Forgets what every stream has taken; a stream that is opened later needs none of it. */
static void trim(struct hub *h, enum channel channel) {
    struct ring *r = &h->rings[channel];
    uint64_t needed = r->published;
    for (struct stream *s = h->streams; s; s = s->after)
        if (s->channel == channel && !s->broken && s->next < needed)
            needed = s->next;
    while (r->oldest < needed)
        drop_oldest(r);
}

/* Under the lock. */
static void publish(struct hub *h, enum channel channel, struct str frame) {
    struct ring *r = &h->rings[channel];
    trim(h, channel);
    while (r->published - r->oldest >= HUB_RING ||
           (r->bytes + frame.n > HUB_RING_BYTES && r->oldest < r->published))
        drop_oldest(r);
    size_t at = r->published++ % HUB_RING;
    r->slots[at].p = xmalloc(frame.n);
    r->slots[at].n = frame.n;
    memcpy(r->slots[at].p, frame.p, frame.n);
    r->bytes += frame.n;
    for (struct stream *s = h->streams; s; s = s->after)
        if (s->channel == channel && !s->silent)
            stream_resume(s);
}

/* The authors of some ids, as many as a frame names. */
static void collect_authors(const struct corpus *c, const int64_t *ids, size_t n,
                            struct sliding *ret) {
    char name[CORPUS_NAME_MAX];
    for (size_t i = n; i > 0; i--)
        if (corpus_writer(c, ids[i - 1], name))
            sliding_name(ret, name);
}

void hub_updates(struct hub *h, const int64_t *ids, size_t n) {
    CLEANUP(strbuf_release) struct strbuf frame;
    struct sliding authors = {0};
    strbuf_init(&frame, FRAME_MAX);
    collect_authors(h->corpus, ids, n, &authors);
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < n; i++)
        sliding_id(&h->recent, ids[i]);
    for (size_t i = authors.n_names; i > 0; i--)
        sliding_name(&h->recent, authors.names[i - 1]);
    uint64_t turn = h->turn++;
    bool both = frame_ids(ids, n, &authors, turn, &frame);
    publish(h, CHANNEL_UPDATES, strbuf_str(&frame));
    if (!both && authors.n_names) {
        strbuf_clear(&frame);
        frame_names(&authors, turn, &frame);
        publish(h, CHANNEL_UPDATES, strbuf_str(&frame));
    }
    pthread_mutex_unlock(&h->lock);
}

void hub_profile(struct hub *h, const char *name) {
    CLEANUP(strbuf_release) struct strbuf frame;
    struct sliding names = {0};
    strbuf_init(&frame, FRAME_MAX);
    sliding_name(&names, name);
    pthread_mutex_lock(&h->lock);
    sliding_name(&h->recent, name);
    frame_names(&names, h->turn++, &frame);
    publish(h, CHANNEL_UPDATES, strbuf_str(&frame));
    pthread_mutex_unlock(&h->lock);
}

void hub_maxitem(struct hub *h, int64_t maxitem) {
    CLEANUP(strbuf_release) struct strbuf frame;
    strbuf_init(&frame, FRAME_MAX);
    frame_maxitem(maxitem, &frame);
    pthread_mutex_lock(&h->lock);
    publish(h, CHANNEL_MAXITEM, strbuf_str(&frame));
    pthread_mutex_unlock(&h->lock);
}

void hub_keep_alive(struct hub *h) {
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < N_CHANNELS; i++)
        publish(h, (enum channel)i, STR(FRAME_KEEP_ALIVE));
    pthread_mutex_unlock(&h->lock);
}

void hub_render(struct hub *h, struct strbuf *out) {
    pthread_mutex_lock(&h->lock);
    frame_lists(&h->recent, out);
    pthread_mutex_unlock(&h->lock);
}

/* Someone a burst has to wait for. Under the lock, as the next two. */
static bool lags(const struct hub *h, const struct stream *s) {
    return s->channel == CHANNEL_UPDATES && !s->silent && !s->ending && !s->broken && !s->stalled &&
           h->rings[CHANNEL_UPDATES].published - s->next >= HUB_BURST_LAG;
}

static bool anyone_lags(const struct hub *h) {
    for (const struct stream *s = h->streams; s; s = s->after)
        if (lags(h, s))
            return true;
    return false;
}

/* False: the instant has come. */
static bool wait_progress(struct hub *h, int64_t until_mono_ms) {
    struct timespec at = {until_mono_ms / 1000, until_mono_ms % 1000 * 1000000};
    return pthread_cond_timedwait(&h->progress, &h->lock, &at) == 0;
}

bool hub_mention(struct hub *h, const int64_t *ids, size_t n, int wait_ms) {
    CLEANUP(strbuf_release) struct strbuf frame;
    strbuf_init(&frame, FRAME_MAX);
    int64_t until = clock_mono(&clock_machine) + wait_ms;
    pthread_mutex_lock(&h->lock);
    frame_ids(ids, n, NULL, h->turn++, &frame);
    while (!h->stopping && anyone_lags(h))
        if (!wait_progress(h, until))
            for (struct stream *s = h->streams; s; s = s->after)
                s->stalled |= lags(h, s);
    bool go = !h->stopping;
    if (go) {
        for (size_t i = n > SLIDING_IDS ? n - SLIDING_IDS : 0; i < n; i++)
            sliding_id(&h->recent, ids[i]);
        publish(h, CHANNEL_UPDATES, strbuf_str(&frame));
        atomic_fetch_add(&h->stats->mentions, (int64_t)n);
    }
    pthread_mutex_unlock(&h->lock);
    return go;
}

bool hub_pause(struct hub *h, int64_t until_mono_ms) {
    pthread_mutex_lock(&h->lock);
    while (!h->stopping && clock_mono(&clock_machine) < until_mono_ms)
        wait_progress(h, until_mono_ms);
    bool go = !h->stopping;
    pthread_mutex_unlock(&h->lock);
    return go;
}

static void say_all(struct stream *s) {
    CLEANUP(strbuf_release) struct strbuf frame;
    strbuf_init(&frame, FRAME_MAX);
    if (s->channel == CHANNEL_MAXITEM)
        frame_maxitem(corpus_maxitem(s->hub->corpus), &frame);
    else
        frame_put(&s->hub->recent, &frame);
    stream_say(s, strbuf_str(&frame));
    s->next = s->hub->rings[s->channel].published;
}

/* Puts the next frame into pending, all of which was sent; false when there is none. */
static bool next_frame(struct stream *s) {
    struct ring *r = &s->hub->rings[s->channel];
    if (s->silent || s->ending || s->next == r->published)
        return false;
    if (s->next < r->oldest) {
        stats_count(&s->hub->stats->streams_overrun);
        say_all(s);
    } else {
        size_t at = s->next++ % HUB_RING;
        struct str frame = {r->slots[at].p, r->slots[at].n};
        if (s->cut)
            stream_say_half(s, frame);
        else
            stream_say(s, frame);
    }
    s->stalled = false;
    pthread_cond_signal(&s->hub->progress);
    return true;
}

/* How much goes at once. */
static size_t portion(const struct stream *s, size_t max) {
    size_t left = s->stop - s->sent;
    size_t few = s->fault.forms & FORM_SPLIT ? 1 + s->sent % 7 : SIZE_MAX;
    left = left < max ? left : max;
    return left < few ? left : few;
}

static ssize_t read_stream(void *cls, uint64_t pos UNUSED, char *buf, size_t max) {
    struct stream *s = cls;
    ssize_t n = 0;
    pthread_mutex_lock(&s->hub->lock);
    stream_do_due(s);
    if (s->broken) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (s->sent < s->stop || next_frame(s)) {
        n = (ssize_t)portion(s, max);
        memcpy(buf, s->pending.p + s->sent, (size_t)n);
        s->sent += (size_t)n;
    } else if (s->ending || s->hub->stopping) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->suspended = true;
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&s->hub->lock);
    return n;
}

static void free_stream(struct stream *s) {
    strbuf_release(&s->pending);
    free(s);
}

static void close_stream(void *cls) {
    struct stream *s = cls;
    struct hub *h = s->hub;
    pthread_mutex_lock(&h->lock);
    if (s->before)
        s->before->after = s->after;
    else
        h->streams = s->after;
    if (s->after)
        s->after->before = s->before;
    atomic_fetch_sub(&h->stats->streams_open, 1);
    pthread_cond_signal(&h->progress);
    pthread_mutex_unlock(&h->lock);
    free_stream(s);
}

static struct stream *stream_new(struct hub *h, struct MHD_Connection *connection,
                                 enum channel channel, const struct stream_fault *fault) {
    struct stream *s = xcalloc(1, sizeof *s);
    *s = (struct stream){
        .hub = h, .connection = connection, .channel = channel, .fault = *fault, .due_ms = -1};
    strbuf_init(&s->pending, 4 * FRAME_MAX);
    if (fault->forms & FORM_BOM)
        strbuf_adds(&s->pending, "\xef\xbb\xbf");
    s->stop = s->pending.n;
    if (fault->deed != DEED_NONE)
        s->due_ms = clock_mono(h->clock) + fault->after_ms;
    return s;
}

/* False: the server plays dead. */
static bool join(struct stream *s) {
    struct hub *h = s->hub;
    pthread_mutex_lock(&h->lock);
    bool ok = !hub_is_down(h);
    if (ok) {
        say_all(s);
        s->after = h->streams;
        if (s->after)
            s->after->before = s;
        h->streams = s;
        stats_count(&h->stats->streams_open);
        stats_count(&h->stats->streams_opened);
    }
    pthread_mutex_unlock(&h->lock);
    return ok;
}

enum MHD_Result hub_open(struct hub *h, struct MHD_Connection *connection, enum channel channel,
                         const struct stream_fault *fault) {
    struct stream *s = stream_new(h, connection, channel, fault);
    if (!join(s)) {
        free_stream(s);
        return reply_reset(connection);
    }
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, s, close_stream);
    if (!r) {
        close_stream(s);
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close"); /* an end can be seen */
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return queued;
}
