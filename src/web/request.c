/* A request on its loop thread: from the first line to the last byte. */
#include "web/server_int.h"

#include "web/access.h"
#include "web/visitors.h"
#include "web/web_metrics.h"
#include "web/ws_door.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SPARE_MAX 256

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct request *take_spare(struct loop *l) {
    struct request *r = l->spare;
    if (!r) {
        r = xcalloc(1, sizeof *r);
        strbuf_init(&r->call.body, CALL_ANSWER_MAX);
        strbuf_init(&r->packed, CALL_ANSWER_MAX);
        return r;
    }
    l->spare = r->next;
    l->n_spare--;
    return r;
}

static void forget_large(struct strbuf *b) {
    if (b->cap > BODY_KEPT)
        strbuf_release(b);
    b->max = CALL_ANSWER_MAX;
    strbuf_clear(b);
}

static void reset(struct request *r) {
    struct strbuf body = r->call.body, packed = r->packed;
    if (r->response)
        MHD_destroy_response(r->response);
    pipe_free(r->pipe);
    free(r->uri);
    forget_large(&body);
    forget_large(&packed);
    strbuf_release(&r->upload);
    memset(&r->call.path, 0, offsetof(struct call, params) - offsetof(struct call, path));
    r->call.n_params = 0;
    r->call.location = r->call.set_cookie = STR_NONE;
    r->call.retry_after = 0;
    r->call.stream = (struct call_stream){0};
    memset((char *)r + sizeof r->call, 0, sizeof *r - sizeof r->call);
    r->call.body = body;
    r->packed = packed;
}

static void put_back(struct loop *l, struct request *r) {
    reset(r);
    if (l->n_spare >= SPARE_MAX || atomic_load(&l->web->ended)) {
        strbuf_release(&r->call.body);
        strbuf_release(&r->packed);
        free(r);
        return;
    }
    r->next = l->spare;
    l->spare = r;
    l->n_spare++;
}

void requests_free_spare(struct loop *l) {
    while (l->spare) {
        struct request *r = l->spare;
        l->spare = r->next;
        strbuf_release(&r->call.body);
        strbuf_release(&r->packed);
        free(r);
    }
    l->n_spare = 0;
}

static void link_active(struct loop *l, struct request *r) {
    r->prev = NULL;
    r->next = l->active;
    if (l->active)
        l->active->prev = r;
    l->active = r;
    atomic_fetch_add(&l->n_active, 1);
}

static void unlink_active(struct loop *l, struct request *r) {
    if (r->prev)
        r->prev->next = r->next;
    else
        l->active = r->next;
    if (r->next)
        r->next->prev = r->prev;
    atomic_fetch_sub(&l->n_active, 1);
}

void *request_open(void *arg, const char *uri, struct MHD_Connection *connection) {
    struct loop *l = arg;
    struct request *r = take_spare(l);
    size_t n = strlen(uri);
    r->loop = l;
    r->connection = connection;
    r->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    r->area = AREA_N;
    r->began_us = now_us();
    r->too_long = n > URI_MAX;
    r->api_line = path_is_api((struct str){uri, n});
    r->uri_n = r->too_long ? 0 : n;
    if (r->uri_n >= sizeof r->line)
        r->uri = xmalloc(n + 1);
    memcpy(r->uri ? r->uri : r->line, uri, r->uri_n);
    (r->uri ? r->uri : r->line)[r->uri_n] = '\0';
    r->call.web = l->web;
    r->call.status = MHD_HTTP_OK;
    r->call.type = "text/html; charset=utf-8";
    r->call.cache = NULL;
    r->call.unknown = false;
    link_active(l, r);
    return r;
}

static enum MHD_Result queue_response(struct request *r) {
    struct MHD_Response *m = r->response;
    r->response = NULL;
    r->state = REQUEST_SENT;
    r->streaming = r->call.stream.read != NULL;
    metric_add(&m_web_streams, 0, r->streaming);
    enum MHD_Result sent = MHD_queue_response(r->connection, (unsigned)r->call.status, m);
    MHD_destroy_response(m);
    return sent;
}

static enum MHD_Result refuse(struct request *r, int status, const char *text) {
    answer_error(r, status, text);
    return queue_response(r);
}

static const char *header(struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* A page of another origin may ask without one, unless it sets headers of its own. */
static bool is_preflight(struct request *r, const char *method) {
    return strcmp(method, "OPTIONS") == 0 &&
           header(r, MHD_HTTP_HEADER_ACCESS_CONTROL_REQUEST_METHOD) &&
           !header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
}

static enum MHD_Result refuse_method(struct request *r) {
    char text[80];
    if (!r->route || !r->route->post)
        return refuse(r, MHD_HTTP_METHOD_NOT_ALLOWED, "Nothing can be written here.");
    snprintf(text, sizeof text, "The methods that work here: %s.", route_methods(r->route));
    return refuse(r, MHD_HTTP_METHOD_NOT_ALLOWED, text);
}

static enum MHD_Result answer_preflight(struct request *r) {
    if (r->route->dialect != DIALECT_API)
        return refuse_method(r);
    r->call.status = MHD_HTTP_NO_CONTENT;
    r->call.type = NULL;
    reply_whole(r);
    return queue_response(r);
}

/* Who looks whether a process lives asks by its address, and learns nothing else. */
static bool addressed_to_us(struct request *r) {
    if (str_eqc(r->call.path, "/healthz") || str_eqc(r->call.path, "/readyz"))
        return true;
    const struct host_rule *rule = &r->loop->web->o.hosts;
    struct str named = uri_authority(r);
    return host_allowed(rule, str_of(header(r, MHD_HTTP_HEADER_HOST))) &&
           (!named.p || host_allowed(rule, named));
}

/* Finds the route. 0, or the status of the refusal. */
static int resolve(struct request *r, struct err *e) {
    struct loop *l = r->loop;
    e->msg[0] = '\0';
    if (r->too_long)
        return MHD_HTTP_URI_TOO_LONG;
    r->accepts_gzip = gzip_accepted(header(r, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    if (parse_uri(r, e) != V_OK)
        return MHD_HTTP_BAD_REQUEST;
    r->route = route_find(l->web, r->call.path, &r->call.rest, &r->area);
    if (!addressed_to_us(r)) {
        err_set(e, V_INVALID, "http", 0,
                "This server answers to localhost and to the names it was given with "
                "--public-host.");
        return MHD_HTTP_MISDIRECTED_REQUEST;
    }
    if (!r->route || (r->route->kind == ROUTE_SOCKET && !ws_door_exists(l->web)))
        return MHD_HTTP_NOT_FOUND;
    return 0;
}

struct framing {
    int hosts, origins, sites, lengths, encodings;
    bool odd;
};

/* "Content-Length : 4" is one to some servers and none to others. The HTTP library takes any name,
 * also none at all, and what stands behind a bare CR for the rest of a value. */
static bool is_header(const char *name, const char *value) {
    if (!*name)
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
            return false;
    for (const char *p = value; p && *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
            return false;
    return true;
}

/* A line that begins with a blank goes on with the header before it. Until its version 1 the HTTP
 * library puts what stands there behind the header's name, which hides a header or makes one that
 * nobody else sees. A name that was left alone ends where its value begins, but for ':' and blanks.
 */
static bool is_folded(const char *name, const char *value) {
    if (!value || strncmp(MHD_get_version(), "0.", 2) != 0)
        return false;
    const char *p = name + strlen(name) + 1;
    while (p != value && (*p == ' ' || *p == '\t'))
        p++;
    return p != value;
}

static enum MHD_Result count_framing(void *arg, enum MHD_ValueKind kind UNUSED, const char *name,
                                     const char *value) {
    struct framing *f = arg;
    f->odd |= !is_header(name, value) || is_folded(name, value);
    f->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    f->origins += strcasecmp(name, MHD_HTTP_HEADER_ORIGIN) == 0;
    f->sites += strcasecmp(name, "Sec-Fetch-Site") == 0;
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        f->lengths++;
        f->odd |= !value || !*value || value[strspn(value, "0123456789")];
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        f->encodings++;
        f->odd |= !value || strcasecmp(value, "chunked") != 0;
    }
    return MHD_YES;
}

/* A proxy in front might see another end of this request than we do, and take what a client put
 * behind it for the request of somebody else. */
static bool is_unclear(struct request *r) {
    struct framing f = {0};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count_framing, &f);
    return f.odd || f.hosts > 1 || f.origins > 1 || f.sites > 1 || f.lengths + f.encodings > 1 ||
           (f.encodings && r->http_1_0);
}

static enum MHD_Result look_at_post(struct request *r) {
    struct err e;
    int status = resolve(r, &e);
    if (status == 0 && !r->route->post)
        return refuse_method(r);
    if (status == 0)
        status = upload_check(r, &e);
    return status ? refuse(r, status, e.msg) : MHD_YES;
}

/* What can be said as soon as the headers are there: an answer now closes the connection, so that
 * nobody has to read what a client would send. */
static enum MHD_Result look_at_headers(struct request *r, const char *method) {
    struct err e;
    r->state = REQUEST_SEEN;
    r->head = strcmp(method, "HEAD") == 0;
    r->call.head = r->head;
    r->call.post = strcmp(method, "POST") == 0;
    r->unclear = is_unclear(r);
    if (r->unclear)
        return refuse(r, MHD_HTTP_BAD_REQUEST,
                      "Host, Content-Length or Transfer-Encoding leave it open where this request "
                      "ends.");
    if (r->call.post)
        return look_at_post(r); /* whose body has to come within the same time as its headers */
    visitor_heard(r->connection);
    r->preflight = is_preflight(r, method);
    if (!r->head && !r->preflight && strcmp(method, "GET") != 0) {
        (void)resolve(r, &e);
        return refuse_method(r);
    }
    const char *length = header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if ((length && strcmp(length, "0") != 0) || header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "A request to read has no body.");
    return MHD_YES;
}

static enum MHD_Result enqueue(struct request *r) {
    struct loop *l = r->loop;
    r->state = REQUEST_WAITS;
    r->borrowed = true;
    if (!pool_push(l->web->pool, r)) {
        r->borrowed = false;
        metric_add(&m_web_refused, 0, 1);
        return refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "Too much is being asked at once.");
    }
    MHD_suspend_connection(r->connection);
    r->asleep = true;
    return MHD_YES;
}

/* Makes a response on the loop thread. */
static void answer_here(struct request *r) {
    if (r->route->kind == ROUTE_SOCKET)
        ws_door_answer(r);
    else
        answer(r, &r->loop->desk);
}

static enum MHD_Result run_post(struct request *r) {
    struct err e;
    visitor_heard(r->connection);
    int status = upload_finish(r, &e);
    return status ? refuse(r, status, e.msg) : enqueue(r);
}

static enum MHD_Result run(struct request *r) {
    struct loop *l = r->loop;
    struct err e;
    int status = resolve(r, &e);
    if (status)
        return refuse(r, status, e.msg);
    if (r->preflight)
        return answer_preflight(r);
    if (!r->route->fn && r->route->post)
        return refuse_method(r);
    r->checking = r->route->must_check && r->route->must_check(&r->call);
    if (r->checking)
        return enqueue(r);
    r->streams = r->route->stream && call_accepts(&r->call, "text/event-stream");
    if (r->streams) {
        answer(r, &l->desk);
        return queue_response(r);
    }
    if (r->route->kind == ROUTE_QUERY || (r->route->kind == ROUTE_QUICK && l->web->o.shared))
        return enqueue(r);
    answer_here(r);
    return queue_response(r);
}

enum MHD_Result request_handle(void *arg UNUSED, struct MHD_Connection *connection UNUSED,
                               const char *url UNUSED, const char *method, const char *version,
                               const char *upload, size_t *n_upload, void **state) {
    struct request *r = *state;
    r->http_1_0 = strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
    if (r->state == REQUEST_LINE)
        return look_at_headers(r, method);
    if (*n_upload) {
        size_t n = *n_upload;
        *n_upload = 0;
        return upload_take(r, upload, n) ? MHD_YES : MHD_NO;
    }
    if (r->state == REQUEST_SEEN)
        return r->call.post ? run_post(r) : run(r);
    return r->state == REQUEST_READY ? queue_response(r) : MHD_YES;
}

static void close_stream(struct request *r) {
    struct call_stream *s = &r->call.stream;
    if (s->read && s->close)
        s->close(s->arg);
    s->read = NULL;
}

static void take_from_woken(struct request *r) {
    struct loop *l = r->loop;
    pthread_mutex_lock(&l->lock);
    for (struct request **p = &l->woken; r->in_wake && *p; p = &(*p)->wake_next)
        if (*p == r) {
            *p = r->wake_next;
            r->in_wake = false;
            break;
        }
    pthread_mutex_unlock(&l->lock);
}

void request_completed(void *arg UNUSED, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode why) {
    struct request *r = *state;
    if (!r)
        return;
    *state = NULL;
    close_stream(r);
    ws_door_forget(r);
    metric_add(&m_web_streams, 0, r->streaming ? -1 : 0);
    access_note(r, connection, (now_us() - r->began_us), why);
    visitor_served(connection);
    unlink_active(r->loop, r);
    if (r->pipe)
        pipe_finish(r->pipe, PIPE_GONE);
    r->gone = true;
    if (r->borrowed)
        return; /* its query thread gives it back, and requests_drain() ends it */
    take_from_woken(r);
    put_back(r->loop, r);
}

void request_wake(struct request *r, bool done) {
    struct loop *l = r->loop;
    pthread_mutex_lock(&l->lock);
    bool first = l->woken == NULL;
    r->done |= done;
    if (!r->in_wake) {
        r->in_wake = true;
        r->wake_next = l->woken;
        l->woken = r;
    }
    pthread_mutex_unlock(&l->lock);
    uint64_t one = 1;
    if (first && write(l->wake_fd, &one, sizeof one) < 0)
        abort(); /* it cannot be full, and it is ours */
}

static void look_at(struct loop *l, struct request *r, bool done) {
    if (done)
        r->borrowed = false;
    if (r->gone) {
        if (!r->borrowed)
            put_back(l, r);
        return;
    }
    if (done && r->checking) {
        r->checking = false;
        if (!r->response)
            answer_here(r);
    }
    if (r->state == REQUEST_WAITS && r->response)
        r->state = REQUEST_READY;
    if (r->asleep) {
        r->asleep = false;
        MHD_resume_connection(r->connection);
    }
}

void requests_drain(struct loop *l) {
    uint64_t count;
    if (read(l->wake_fd, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock(&l->lock);
    struct request *r = l->woken;
    l->woken = NULL;
    struct request *all[256]; /* what is more comes with the next turn */
    bool done[256];
    size_t n = 0;
    for (; r && n < ARRAY_LEN(all); n++) {
        all[n] = r;
        done[n] = r->done;
        r->in_wake = r->done = false;
        r = r->wake_next;
    }
    l->woken = r;
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < n; i++)
        look_at(l, all[i], done[i]);
    uint64_t one = 1;
    if (r && write(l->wake_fd, &one, sizeof one) < 0)
        abort();
}
