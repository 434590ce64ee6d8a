/* Lock order: the hub's lock, the list's, a loop's. */
#include "web/events_int.h"

#include "web/feed_key.h"
#include "web/origin.h"
#include "web/server.h"
#include "web/topics.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_MAX 4096 /* what stands in front of the JSON of an event, and whole control frames */

struct events *events_new(struct web *w) {
    struct events *x = xcalloc(1, sizeof *x);
    x->web = w;
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

void events_free(struct events *x) {
    if (!x)
        return;
    pthread_mutex_destroy(&x->lock);
    free(x);
}

size_t events_count(struct events *x) {
    pthread_mutex_lock(&x->lock);
    size_t n = x->n;
    pthread_mutex_unlock(&x->lock);
    return n;
}

void events_beat(struct events *x) {
    pthread_mutex_lock(&x->lock);
    x->beat++;
    for (struct listener *l = x->first; l; l = l->after)
        listener_wake(l);
    pthread_mutex_unlock(&x->lock);
}

void events_sweep(struct events *x) {
    pthread_mutex_lock(&x->lock);
    for (struct listener *l = x->first; l; l = l->after) {
        l->over |= call_hung_up(l->call);
        if (l->over || l->broken)
            listener_wake(l);
        l->broken = false;
    }
    pthread_mutex_unlock(&x->lock);
}

static void link_in(struct listener *l) {
    struct events *x = l->events;
    pthread_mutex_lock(&x->lock);
    l->beat = x->beat;
    l->after = x->first;
    if (l->after)
        l->after->before = l;
    x->first = l;
    x->n++;
    pthread_mutex_unlock(&x->lock);
}

static void unlink_from(struct listener *l) {
    if (l->before)
        l->before->after = l->after;
    else
        l->events->first = l->after;
    if (l->after)
        l->after->before = l->before;
    l->events->n--;
}

void listener_free(struct listener *l) {
    if (l->feed)
        feed_leave(l->feed);
    feed_event_drop(l->event);
    strbuf_release(&l->head);
    free(l->topics);
    free(l->actions);
    free(l);
}

static void close_listener(void *arg) {
    struct listener *l = arg;
    struct events *x = l->events;
    pthread_mutex_lock(&x->lock);
    unlink_from(l);
    l->closed = true;
    bool paging = l->paging;
    pthread_mutex_unlock(&x->lock);
    if (!paging)
        listener_free(l);
}

/* There is something for it; called by the feed. */
static void on_news(void *arg) {
    struct listener *l = arg;
    pthread_mutex_lock(&l->events->lock);
    listener_wake(l);
    pthread_mutex_unlock(&l->events->lock);
}

static char *copy_text(struct str s) {
    char *p = s.p ? xmalloc(s.n + 1) : NULL;
    if (p) {
        memcpy(p, s.p, s.n);
        p[s.n] = '\0';
    }
    return p;
}

/* A client that comes back says in a header where it was; the address it was first given stays. */
static enum verdict read_since(const struct call *c, struct feed_id *ret, struct err *e) {
    struct str header = call_header(c, "Last-Event-ID"), text = call_param(c, "since");
    const char *name = "since";
    if (header.n) {
        name = "Last-Event-ID";
        text = header;
    }
    *ret = (struct feed_id){0, -1};
    if (!text.p || feed_id_parse(text, ret))
        return V_OK;
    if (text.n > 40)
        text.n = 40;
    return err_set(e, V_INVALID, "feed", 0,
                   "%s is '%.*s'; give the id of an event, such as 1700000000-42", name,
                   STR_FMT(text));
}

/* API answers are for pages of any site, but what is in the reading list of whoever looks at such a
 * page is not. With the key it is a program of his own. */
static bool is_foreign(const struct call *c) {
    return !origin_is_ours(call_header(c, "Sec-Fetch-Site"), call_header(c, "Origin"),
                           call_header(c, "Host"));
}

static enum verdict read_filter(const struct call *c, struct str topics, struct str actions,
                                bool all, struct feed_filter *ret, struct err *e) {
    struct err why;
    enum verdict v = feed_filter_read(topics, actions, ret, &why);
    ret->public_only = !all;
    ret->no_links = !all && is_foreign(c);
    if (v == V_OK)
        return V_OK;
    bool of_tables = str_starts(str_of(why.msg), "tables:"); /* they are topics here */
    return err_set(e, v, "feed", 0, "%s%s", of_tables ? "topics" : "",
                   why.msg + (of_tables ? strlen("tables") : 0));
}

static enum verdict filter_of(const struct call *c, struct feed_filter *ret, struct err *e) {
    if (call_param(c, "tables").p)
        return err_set(e, V_INVALID, "feed", 0, "tables: they are called topics here");
    return read_filter(c, call_param(c, "topics"), call_param(c, "actions"),
                       feed_key_of(c) == FEED_KEY_RIGHT, ret, e);
}

/* Only what would be listened to otherwise. */
static bool must_check(const struct call *c) {
    struct feed_filter f;
    struct err e;
    return web_feed(c->web) && feed_key_of(c) != FEED_KEY_WRONG && filter_of(c, &f, &e) == V_OK &&
           !topics_are_known(web_topics(c->web), &f);
}

static enum verdict check(struct call *c, struct err *e) {
    struct feed_filter f;
    enum verdict v = filter_of(c, &f, e);
    return v == V_OK ? topics_check(web_topics(c->web), c->store, &f, "topics", e) : v;
}

static struct listener *listener_new(struct call *c) {
    struct listener *l = xcalloc(1, sizeof *l);
    l->errand = (struct errand){.run = listener_read_page, .done = listener_page_done};
    l->events = web_events(c->web);
    l->call = c;
    l->topics = copy_text(call_param(c, "topics"));
    l->actions = copy_text(call_param(c, "actions"));
    strbuf_init(&l->head, HEAD_MAX);
    return l;
}

static enum verdict join(struct listener *l, struct call *c, bool all, struct err *e) {
    struct feed_join j = {.wake = on_news, .connection = l};
    enum verdict v = read_since(c, &j.since, e);
    if (v == V_OK)
        v = read_filter(c, str_of(l->topics), str_of(l->actions), all, &j.filter, e);
    if (v != V_OK)
        return v;
    l->from_now = j.since.pos < 0;
    l->feed = feed_join(web_feed(c->web), &j);
    return V_OK;
}

static enum verdict refuse(struct call *c, int status, const char *message) {
    c->status = status;
    c->cache = "no-store";
    c->type = "application/json; charset=utf-8";
    strbuf_adds(&c->body, "{\"message\":");
    strbuf_add_json(&c->body, str_of(message));
    strbuf_addc(&c->body, '}');
    return V_OK;
}

static enum verdict get_events(struct call *c, struct err *e) {
    enum feed_key key = feed_key_of(c);
    if (!web_feed(c->web))
        return err_set(e, V_NOT_FOUND, "feed", 0, "there is no change feed here");
    if (!web_has_room(c->web))
        return refuse(c, 503, "too many event streams are open");
    if (key == FEED_KEY_WRONG)
        return refuse(c, 403, "that is not the key; without one there are the public topics");
    struct feed_filter asked;
    enum verdict v = filter_of(c, &asked, e);
    if (v != V_OK)
        return v;
    struct listener *l = listener_new(c);
    v = join(l, c, key == FEED_KEY_RIGHT, e);
    if (v != V_OK || !l->feed) {
        listener_free(l);
        return v == V_OK ? refuse(c, 503, "too many clients of the change feed") : v;
    }
    link_in(l);
    c->type = "text/event-stream; charset=utf-8";
    c->cache = "no-store";
    c->stream = (struct call_stream){listener_read, close_listener, l};
    strbuf_addf(&c->body, "retry: %d\n\n", EVENTS_RETRY_MS);
    return V_OK;
}

static const struct route routes[] = {
    {.pattern = "/events",
     .fn = get_events,
     .kind = ROUTE_STATIC,
     .dialect = DIALECT_API,
     .must_check = must_check,
     .check = check},
};

const struct route_table events_routes = {routes, ARRAY_LEN(routes), AREA_FEED};
