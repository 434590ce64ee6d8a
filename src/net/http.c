#include "net/http.h"
#include "net/classify_int.h"
#include "net/dress_int.h"
#include "net/must_int.h"
#include "net/transfer_int.h"
#include "net/visit_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MANUAL_WAIT_MS 50
#define LONGEST_WAIT_MS 60000
#define MULTIPLEXED_CONNECTIONS 8 /* to one host, of a hundred streams each */

struct http_client {
    struct http_options o;
    char *user_agent, *ca_file; /* what o points to */
    CURLM *multi;
    struct poller poller;
    struct url_cache origin;
    struct transfer_list idle, waiting, running;
    int n_inflight, n_plain; /* plain: running over http, each on a connection */
    int host_connections;    /* what libcurl was told it may open to one host */
    int64_t timer_due;       /* libcurl's, by the machine's clock whatever the client's */
    struct http_counters counters;
    bool delivering;
    char detail[TRANSFER_DETAIL];
};

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused) {
    static const uint32_t events[] = {
        [CURL_POLL_IN] = EPOLLIN,
        [CURL_POLL_OUT] = EPOLLOUT,
        [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT,
        [CURL_POLL_REMOVE] = 0,
    };
    struct http_client *c = arg;
    (void)easy, (void)unused;
    poller_want(&c->poller, fd, events[what]);
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *arg) {
    struct http_client *c = arg;
    (void)multi;
    c->timer_due = ms < 0 ? NO_DEADLINE : ms == 0 ? 0 : clock_mono(&clock_machine) + ms;
    return 0;
}

static enum verdict check_options(const struct http_options *o, struct err *e) {
    if (!o->clock || o->max_connections < 1 || o->connect_timeout_ms < 1 || o->timeout_ms < 1 ||
        o->max_body < 1 || o->max_redirects < 0)
        return err_set(e, V_INVALID, "http", 0, "an option of the HTTP client is missing");
    if (o->ca_file && access(o->ca_file, R_OK) != 0)
        return err_set(e, V_INVALID, "http", 0, "cannot read the CA file %s", o->ca_file);
    return V_OK;
}

/* libcurl opens a connection for every request beyond the streams of those it has, even while new
 * ones are still being made. So it may open few until the server turns out to speak HTTP/1.1. */
static void allow_connections(struct http_client *c, int n) {
    if (LIKELY(n <= c->host_connections))
        return;
    c->host_connections = n;
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)n));
}

static void setup_multi(struct http_client *c) {
    int connections = c->o.max_connections;
    long all = connections + MULTIPLEXED_CONNECTIONS;
    c->multi = must_have(curl_multi_init());
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket));
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c));
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer));
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c));
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX));
    /* The default cache shrinks with the number of running transfers and would drop connections
     * between two requests. */
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, all));
    must_multi(curl_multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, all));
    allow_connections(c, connections < MULTIPLEXED_CONNECTIONS ? connections
                                                               : MULTIPLEXED_CONNECTIONS);
}

enum verdict http_new(const struct http_options *o, struct http_client **ret, struct err *e) {
    enum verdict v = check_options(o, e);
    if (v != V_OK)
        return v;
    must_init_library();
    struct http_client *c = xcalloc(1, sizeof *c);
    v = poller_init(&c->poller, e);
    if (v != V_OK) {
        free(c);
        return v;
    }
    c->o = *o;
    c->o.user_agent = c->user_agent = o->user_agent ? xstrdup(o->user_agent) : NULL;
    c->o.ca_file = c->ca_file = o->ca_file ? xstrdup(o->ca_file) : NULL;
    c->timer_due = NO_DEADLINE;
    TAILQ_INIT(&c->idle);
    TAILQ_INIT(&c->waiting);
    TAILQ_INIT(&c->running);
    setup_multi(c);
    *ret = c;
    return V_OK;
}

void http_free(struct http_client *c) {
    if (!c)
        return;
    assert(!c->delivering);
    http_cancel_all(c);
    struct transfer *t;
    while ((t = TAILQ_FIRST(&c->idle))) {
        TAILQ_REMOVE(&c->idle, t, link);
        transfer_free(t);
    }
    curl_multi_cleanup(c->multi);
    poller_release(&c->poller); /* after the connections, which leave it as they close */
    free(c->user_agent);
    free(c->ca_file);
    free(c);
}

static bool is_plain(const struct transfer *t) {
    return !(t->flags & URL_HTTPS);
}

static void start(struct http_client *c, struct transfer *t) {
    TAILQ_INSERT_TAIL(&c->running, t, link);
    if (is_plain(t))
        allow_connections(c, c->o.max_connections);
    c->n_plain += is_plain(t);
    if (t->started_ms < 0) /* not when it goes on after a redirect */
        t->started_ms = clock_mono(c->o.clock);
    must_multi(curl_multi_add_handle(c->multi, t->easy));
}

/* Takes it off libcurl and off its list; the result, if there is one, can still be read. */
static void stop(struct http_client *c, struct transfer *t) {
    TAILQ_REMOVE(&c->running, t, link);
    c->n_plain -= is_plain(t);
    must_multi(curl_multi_remove_handle(c->multi, t->easy));
}

static void retire(struct http_client *c, struct transfer *t) {
    if (UNLIKELY(t->visiting)) {
        transfer_free(t);
        return;
    }
    transfer_rest(t);
    TAILQ_INSERT_HEAD(&c->idle, t, link); /* the newest first: it is still in the cache */
}

/* Plain http beyond the connections we may have waits here and not in libcurl, which would look at
 * every one of them whenever a connection comes free. */
static bool must_wait(const struct http_client *c, const struct transfer *t) {
    return is_plain(t) && c->n_plain >= c->o.max_connections;
}

static void start_waiting(struct http_client *c) {
    struct transfer *t;
    while ((t = TAILQ_FIRST(&c->waiting)) && !must_wait(c, t)) {
        TAILQ_REMOVE(&c->waiting, t, link);
        start(c, t);
    }
}

static enum verdict check_request(struct http_client *c, const struct http_request *r,
                                  struct url_view *ret_view, struct err *e) {
    struct url_cache unused = {0}; /* a visit must not push the provider's origin out */
    enum verdict v = r->guard ? visit_check(r, e) : V_OK;
    if (v == V_OK)
        v = url_check(r->guard ? &unused : &c->origin, r->url, ret_view, e);
    return v == V_OK ? dress_check(r, e) : v;
}

/* A visit has a handle to itself. */
static struct transfer *take_transfer(struct http_client *c, bool visit) {
    struct transfer *t = visit ? NULL : TAILQ_FIRST(&c->idle);
    if (t)
        TAILQ_REMOVE(&c->idle, t, link);
    return t ? t : transfer_new(&c->o, &c->poller);
}

enum verdict http_send(struct http_client *c, const struct http_request *r, void *tag,
                       struct err *e) {
    struct url_view view;
    enum verdict v = check_request(c, r, &view, e);
    if (v != V_OK)
        return v;
    if (c->n_inflight >= HTTP_MAX_INFLIGHT)
        return err_set(e, V_LIMIT, "http", 0, "%d requests are under way", c->n_inflight);
    struct transfer *t = take_transfer(c, r->guard);
    v = transfer_prepare(t, &c->o, r, &view, tag, e);
    if (v != V_OK) {
        retire(c, t);
        return v;
    }
    c->n_inflight++;
    if (!TAILQ_EMPTY(&c->waiting) || must_wait(c, t))
        TAILQ_INSERT_TAIL(&c->waiting, t, link);
    else
        start(c, t);
    return V_OK;
}

enum verdict http_submit(struct http_client *c, const char *url, void *tag, struct err *e) {
    return http_send(c, &(struct http_request){.url = url}, tag, e);
}

static void count(struct http_client *c, const struct transfer *t) {
    long connects = 0, version = 0;
    curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
    c->counters.connections += connects;
    c->counters.requests++;
    c->counters.http2 += version == CURL_HTTP_VERSION_2_0;
    if (version && version != CURL_HTTP_VERSION_2_0)
        allow_connections(c, c->o.max_connections);
}

/* Whether there is more to do for the same result: a redirect to follow, a dead connection to
 * replace. ret_refused is filled for a redirect that is not followed. */
static bool goes_on(struct http_client *c, struct transfer *t, CURLcode code, char *ret_refused) {
    if (UNLIKELY(code != CURLE_OK))
        return transfer_restart(t, code);
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return UNLIKELY(net_status_redirects(status)) &&
           transfer_redirect(t, &c->o, ret_refused) == REDIRECT_FOLLOW;
}

static bool finish(struct http_client *c, struct transfer *t, CURLcode code, http_done_fn *done,
                   void *ctx) {
    char refused[TRANSFER_DETAIL];
    refused[0] = '\0'; /* and not 400 bytes for every request */
    stop(c, t);
    count(c, t);
    if (goes_on(c, t, code, refused)) {
        start(c, t);
        return false;
    }
    start_waiting(c);
    struct http_result r;
    transfer_result(t, &c->o, code, refused[0] ? refused : NULL, c->detail, &r);
    c->n_inflight--;
    c->delivering = true;
    done(ctx, &r);
    c->delivering = false;
    retire(c, t); /* only now: done() reads the body, and may submit */
    return true;
}

static int deliver(struct http_client *c, http_done_fn *done, void *ctx) {
    int n = 0, left;
    CURLMsg *msg;
    while ((msg = curl_multi_info_read(c->multi, &left))) {
        struct transfer *t = NULL;
        CURLcode code = msg->data.result; /* the message dies with the removal of its handle */
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
        n += finish(c, t, code, done, ctx);
    }
    return n;
}

static int timer_wait_ms(const struct http_client *c, int cap) {
    return c->timer_due == 0 ? 0 : clock_wait_ms(&clock_machine, c->timer_due, cap);
}

static void run_timer(struct http_client *c) {
    int running;
    if (timer_wait_ms(c, 1) > 0)
        return;
    c->timer_due = NO_DEADLINE; /* libcurl sets the next one in this call */
    must_multi(curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running));
}

static void run_sockets(struct http_client *c, int wait_ms, bool *ret_woken) {
    struct ready ready[POLLER_BATCH];
    int running, n = poller_wait(&c->poller, wait_ms, ready, ret_woken);
    for (int i = 0; i < n; i++) {
        int what = (ready[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (ready[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
        must_multi(curl_multi_socket_action(c->multi, ready[i].fd, what, &running));
    }
}

int http_step(struct http_client *c, int64_t deadline_mono, http_done_fn *done, void *ctx) {
    assert(!c->delivering);
    bool manual = c->o.clock->manual, woken = false;
    run_timer(c);
    int n = deliver(c, done, ctx);
    do {
        int wait_ms = clock_wait_ms(c->o.clock, deadline_mono, LONGEST_WAIT_MS);
        if (manual && wait_ms > MANUAL_WAIT_MS)
            wait_ms = MANUAL_WAIT_MS;
        run_sockets(c, n ? 0 : timer_wait_ms(c, wait_ms), &woken);
        run_timer(c);
        n += deliver(c, done, ctx);
    } while (!n && !woken && !manual && clock_wait_ms(c->o.clock, deadline_mono, 1) > 0);
    run_timer(c); /* sends what done() submitted, before the caller turns to other things */
    return n;
}

void http_wakeup(struct http_client *c) {
    poller_wake(&c->poller);
}

int http_inflight(const struct http_client *c) {
    return c->n_inflight;
}

struct http_counters http_counters(const struct http_client *c) {
    return c->counters;
}

static bool pick_any(void *ctx, void *tag) {
    (void)ctx, (void)tag;
    return true;
}

void http_cancel_all(struct http_client *c) {
    http_cancel_if(c, pick_any, NULL);
}

int http_cancel_if(struct http_client *c, bool (*pick)(void *ctx, void *tag), void *ctx) {
    int n = 0;
    struct transfer *next;
    for (struct transfer *t = TAILQ_FIRST(&c->waiting); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (!pick(ctx, t->tag))
            continue;
        TAILQ_REMOVE(&c->waiting, t, link);
        retire(c, t);
        n++;
    }
    for (struct transfer *t = TAILQ_FIRST(&c->running); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (!pick(ctx, t->tag))
            continue;
        stop(c, t);
        retire(c, t);
        n++;
    }
    c->n_inflight -= n;
    start_waiting(c);
    return n;
}
