/* What a client of /events is told: frames out of the feed, byte by byte as its connection takes
 * them. */
#include "web/events_int.h"

#include "base/log.h"
#include "web/feed_frames.h"
#include "web/server.h"

#include <string.h>

#define NAME_MAX_BYTES 512

/* Pages ------------------------------------------------------------------------------------- */

enum verdict listener_read_page(struct errand *errand, struct store *s, struct err *e) {
    return feed_client_page(((struct listener *)errand)->feed, s, e);
}

void listener_page_done(struct errand *errand, enum verdict v, const struct err *e) {
    struct listener *l = (struct listener *)errand;
    struct events *x = l->events;
    if (v != V_OK && v != V_RETRY && v != V_STOPPED)
        log_error("the change feed cannot be read", LE(e));
    pthread_mutex_lock(&x->lock);
    l->paging = false;
    l->broken = v == V_RETRY;
    l->over |= v != V_OK && v != V_RETRY;
    bool closed = l->closed;
    if (!l->broken)
        listener_wake(l);
    pthread_mutex_unlock(&x->lock);
    if (closed)
        listener_free(l);
}

/* Frames ------------------------------------------------------------------------------------ */

static void add_id(struct strbuf *b, struct feed_id id) {
    char text[FEED_ID_MAX];
    if (id.pos < 0)
        return; /* the feed has not said yet where it begins */
    feed_id_format(id, text);
    strbuf_addf(b, "id: %s\n", text);
}

/* The name of a table may hold anything, a line of the stream no line breaks. */
static void add_name(struct strbuf *b, struct str name) {
    strbuf_adds(b, "event: ");
    for (size_t i = 0; i < name.n && i < NAME_MAX_BYTES; i++)
        strbuf_addc(b, name.p[i] == '\n' || name.p[i] == '\r' ? ' ' : name.p[i]);
    strbuf_addc(b, '\n');
}

/* With the place where it begins, so that a client that comes back knows it even if nothing was
 * said since. */
static void greet(struct listener *l, struct feed_id at) {
    struct feed_state st;
    if (l->greeted || !feed_hub_ready(web_feed(l->events->web), &st))
        return;
    if (l->from_now && at.pos >= 0)
        st.head = at.pos; /* what came since it joined is still to be told */
    add_id(&l->head, at);
    strbuf_adds(&l->head, "event: hello\ndata: ");
    feed_add_hello(&l->head, &st);
    strbuf_adds(&l->head, "\n\n");
    l->greeted = true;
}

static void begin_event(struct listener *l, struct feed_event *ev) {
    l->event = ev;
    struct str topic = feed_filter_topic(feed_client_filter(l->feed), ev);
    add_id(&l->head, ev->id);
    add_name(&l->head, topic.p ? topic : ev->name);
    strbuf_adds(&l->head, "data: ");
}

static void add_gap(struct listener *l, const struct feed_taken *t) {
    add_id(&l->head, t->to);
    strbuf_adds(&l->head, "event: gap\ndata: ");
    feed_add_gap(&l->head, t->from, t->to);
    strbuf_adds(&l->head, "\n\n");
}

/* An id without data moves the place of a client without telling it anything. */
static void add_sign_of_life(struct listener *l, bool paging) {
    strbuf_adds(&l->head, ": keep-alive\n");
    if (l->greeted && !paging)
        add_id(&l->head, feed_client_cursor(l->feed));
    strbuf_addc(&l->head, '\n');
}

/* Sending ----------------------------------------------------------------------------------- */

struct turn {
    bool over, paging, beat;
};

/* What others have said to it. A sign of life is due once per beat. */
static struct turn look(struct listener *l) {
    pthread_mutex_lock(&l->events->lock);
    struct turn t = {
        .over = l->over, .paging = l->paging || l->broken, .beat = l->beat != l->events->beat};
    l->beat = l->events->beat;
    pthread_mutex_unlock(&l->events->lock);
    return t;
}

static void set_paging(struct listener *l, bool paging) {
    pthread_mutex_lock(&l->events->lock);
    l->paging = paging;
    pthread_mutex_unlock(&l->events->lock);
}

/* False: the server stops. */
static bool ask_for_page(struct listener *l) {
    set_paging(l, true); /* before: it may be done at once */
    bool taken = web_errand(l->events->web, &l->errand);
    if (!taken)
        set_paging(l, false);
    return taken;
}

/* Makes the next thing to be sent. False: the stream is over. The head stays empty when there is
 * nothing. */
static bool make_next(struct listener *l) {
    struct turn t = look(l);
    struct feed_taken taken;
    if (t.over)
        return false;
    enum feed_next next = FEED_NOTHING;
    if (!t.paging) {
        struct feed_id before = feed_client_cursor(l->feed);
        next = feed_take(l->feed, &taken);
        greet(l, before);
    }
    switch (next) {
    case FEED_EVENT:
        begin_event(l, taken.event);
        break;
    case FEED_GAP:
        add_gap(l, &taken);
        break;
    case FEED_READ:
        if (!ask_for_page(l))
            return false;
        break;
    case FEED_NOTHING:
        if (t.beat)
            add_sign_of_life(l, t.paging);
        break;
    case FEED_OVER:
        return false;
    }
    return true;
}

static size_t copy_part(struct listener *l, struct str part, size_t *at, char *to, size_t max) {
    if (l->sent >= *at + part.n) {
        *at += part.n;
        return 0;
    }
    size_t from = l->sent - *at, left = part.n - from, n = left < max ? left : max;
    memcpy(to, part.p + from, n);
    l->sent += n;
    *at += part.n;
    return n;
}

/* What is left of the thing that is being sent. */
static size_t copy_out(struct listener *l, char *to, size_t max) {
    size_t at = 0, n = copy_part(l, strbuf_str(&l->head), &at, to, max);
    if (l->event) {
        n += copy_part(l, l->event->json, &at, to + n, max - n);
        n += copy_part(l, STR("\n\n"), &at, to + n, max - n);
    }
    if (l->sent == at) {
        feed_event_drop(l->event);
        l->event = NULL;
        strbuf_clear(&l->head);
        l->sent = 0;
    }
    return n;
}

ssize_t listener_read(void *arg, char *buf, size_t max) {
    struct listener *l = arg;
    size_t n = copy_out(l, buf, max);
    while (n < max) {
        if (!make_next(l))
            return n ? (ssize_t)n : -1;
        if (l->head.n == 0)
            break;
        n += copy_out(l, buf + n, max - n);
    }
    return (ssize_t)n;
}
