/* What is done to open streams, by rules and controls. All under the hub's lock. */
#include "demo/stream_int.h"

#include "demo/reply.h"

#include <poll.h>

#define LOOK_MS 50

void stream_say(struct stream *s, struct str frame) {
    bool whole = s->stop == s->pending.n;
    if (s->sent == s->pending.n) {
        strbuf_clear(&s->pending);
        s->sent = 0;
    }
    stream_dress(s->fault.forms, s->frames++, frame, &s->pending);
    if (whole)
        s->stop = s->pending.n;
    stats_count(&s->hub->stats->frames_sent);
}

void stream_say_half(struct stream *s, struct str frame) {
    unsigned forms = s->fault.forms;
    s->fault.forms &= ~(unsigned)FORM_GARBAGE; /* the middle is to be that of the frame */
    stream_say(s, frame);
    s->fault.forms = forms;
    s->stop = s->pending.n / 2;
    s->cut = false;
    s->silent = true;
    s->ending = s->cut_closes;
}

void stream_resume(struct stream *s) {
    if (s->suspended)
        MHD_resume_connection(s->connection);
    s->suspended = false;
}

static void say_and_end(struct stream *s, struct str frame) {
    stream_say(s, frame);
    s->ending = true;
}

/* Of a frame that has begun the rest is still sent; one that has not waits as well. */
static void silence(struct stream *s) {
    s->silent = true;
    if (s->sent == 0)
        s->stop = 0;
}

static void wake(struct stream *s) {
    s->silent = s->cut = false;
    s->stop = s->pending.n;
}

static void say_garbage(struct stream *s) {
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, FRAME_MAX);
    stream_garbage(0, s->frames, &text);
    stream_say(s, strbuf_str(&text));
}

static void reset(struct stream *s) {
    s->broken = true;
    (void)reply_reset(s->connection); /* the library learns of it when it reads or writes next */
}

/* What a silent stream keeps to itself. */
static bool speaks(enum stream_deed deed) {
    return deed == DEED_KEEP_ALIVE || deed == DEED_CANCEL || deed == DEED_AUTH_REVOKED ||
           deed == DEED_GARBAGE;
}

void stream_do(struct stream *s, enum stream_deed deed) {
    if (s->broken || s->ending || (s->silent && speaks(deed)))
        return;
    switch (deed) {
    case DEED_DROP:
        s->ending = true;
        break;
    case DEED_RESET:
        reset(s);
        break;
    case DEED_SILENCE:
        silence(s);
        break;
    case DEED_WAKE:
        wake(s);
        break;
    case DEED_KEEP_ALIVE:
        stream_say(s, STR(FRAME_KEEP_ALIVE));
        break;
    case DEED_CANCEL:
        say_and_end(s, STR(FRAME_CANCEL));
        break;
    case DEED_AUTH_REVOKED:
        say_and_end(s, STR(FRAME_AUTH_REVOKED));
        break;
    case DEED_GARBAGE:
        say_garbage(s);
        break;
    case DEED_MIDFRAME_CLOSE:
    case DEED_MIDFRAME:
        s->cut = true;
        s->cut_closes = deed == DEED_MIDFRAME_CLOSE;
        break;
    default:
        break;
    }
    stream_resume(s);
}

void stream_do_due(struct stream *s) {
    if (s->fault.deed == DEED_NONE || s->due_ms < 0 || clock_mono(s->hub->clock) < s->due_ms)
        return;
    s->due_ms = -1;
    stream_do(s, s->fault.deed);
}

bool stream_peer_gone(const struct stream *s) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return false;
    struct pollfd p = {.fd = info->connect_fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void hub_do(struct hub *h, enum stream_deed deed) {
    pthread_mutex_lock(&h->lock);
    for (struct stream *s = h->streams; s; s = s->after) {
        if (s->channel != CHANNEL_UPDATES)
            continue;
        stream_do_due(s); /* what was due before comes before */
        stream_do(s, deed);
    }
    pthread_cond_broadcast(&h->progress);
    pthread_mutex_unlock(&h->lock);
}

void hub_set_down(struct hub *h, bool down) {
    pthread_mutex_lock(&h->lock);
    h->down = down;
    for (struct stream *s = h->streams; down && s; s = s->after) {
        s->ending = false; /* no good order any more */
        stream_do(s, DEED_RESET);
    }
    pthread_cond_broadcast(&h->progress);
    pthread_mutex_unlock(&h->lock);
}

void hub_tick(struct hub *h) {
    int64_t now = clock_mono(&clock_machine);
    pthread_mutex_lock(&h->lock);
    bool look = now >= h->next_look_ms;
    if (look)
        h->next_look_ms = now + LOOK_MS;
    for (struct stream *s = h->streams; s; s = s->after) {
        stream_do_due(s);
        if (look && s->suspended && stream_peer_gone(s)) {
            s->broken = true;
            stream_resume(s);
        }
    }
    pthread_mutex_unlock(&h->lock);
}
