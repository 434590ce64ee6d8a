#include "net/stream.h"

#include "net/classify_int.h"
#include "net/must_int.h"
#include "net/url_int.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MANUAL_WAIT_MS 50
#define LONGEST_WAIT_MS 60000
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_EVERY_S 10

/* What the head of the answer says. */
enum answer { ANSWER_NONE, ANSWER_STREAM, ANSWER_REDIRECT, ANSWER_REFUSED };

struct stream_client {
    struct stream_options o;
    char *user_agent, *ca_file; /* what o points to */
    CURLM *multi;
    CURL *easy;
    CURLU *url; /* what the handle fetches */
    struct curl_slist *headers;
    struct url_cache origin;
    unsigned flags; /* enum url_flags of the URL */
    int wake_fd;
    enum stream_phase phase;
    enum answer answer;
    bool under_way; /* the easy handle is in the multi handle */
    bool paused;    /* libcurl keeps bytes that came while they were not wanted */
    int redirects;
    struct stream_end end;
    char error[CURL_ERROR_SIZE];
    /* of the step that is running */
    bool hold, handed;
    stream_bytes_fn *on_bytes;
    void *ctx;
};

static bool is_event_stream(const char *type) {
    static const char wanted[] = "text/event-stream";
    size_t n = sizeof wanted - 1;
    return type && strncasecmp(type, wanted, n) == 0 && strchr("; \t", type[n]);
}

static const char *header(const struct stream_client *c, const char *name) {
    struct curl_header *h = NULL;
    return must_find_header(c->easy, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? h->value : NULL;
}

/* The head is complete. The connection is given up outside of libcurl's callbacks. */
static void judge_head(struct stream_client *c) {
    long status = 0;
    const char *type = NULL;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(c->easy, CURLINFO_CONTENT_TYPE, &type);
    if (status < 200)
        return; /* 100 Continue and the like: the answer is still to come */
    if (net_status_redirects(status) && header(c, "Location"))
        c->answer = ANSWER_REDIRECT;
    else
        c->answer = status == 200 && is_event_stream(type) ? ANSWER_STREAM : ANSWER_REFUSED;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg) {
    struct stream_client *c = arg;
    (void)one;
    bool blank = (n == 2 && line[0] == '\r') || (n == 1 && line[0] == '\n');
    if (blank && c->answer == ANSWER_NONE)
        judge_head(c);
    return n;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg) {
    struct stream_client *c = arg;
    (void)one;
    if (c->answer != ANSWER_STREAM)
        return n; /* of an answer that is about to be dropped */
    if (c->hold) {
        c->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    c->handed = true;
    c->on_bytes(c->ctx, (struct str){bytes, n});
    return n;
}

/* HTTP/1.1 always: there is nothing to multiplex with, and a connection that is not read holds its
 * sender back, which a window of HTTP/2 would do only after megabytes. Compression would keep a
 * frame back until there are enough of them. */
static void set_up_easy(struct stream_client *c) {
    CURL *h = c->easy;
    must_set(h, CURLOPT_CURLU, c->url);
    must_set(h, CURLOPT_HTTPHEADER, c->headers);
    must_set(h, CURLOPT_HEADERFUNCTION, on_header);
    must_set(h, CURLOPT_HEADERDATA, c);
    must_set(h, CURLOPT_WRITEFUNCTION, on_body);
    must_set(h, CURLOPT_WRITEDATA, c);
    must_set(h, CURLOPT_ERRORBUFFER, c->error);
    must_set(h, CURLOPT_NOSIGNAL, 1L);
    must_set(h, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's are not the answer */
    must_set(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    must_set(h, CURLOPT_PROTOCOLS_STR, "http,https");
    must_set(h, CURLOPT_CONNECTTIMEOUT_MS, c->o.connect_timeout_ms);
    must_set(h, CURLOPT_FRESH_CONNECT, 1L);
    must_set(h, CURLOPT_FORBID_REUSE, 1L);
    must_set(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    must_set(h, CURLOPT_SSL_VERIFYPEER, 1L);
    must_set(h, CURLOPT_SSL_VERIFYHOST, 2L);
    if (c->o.ca_file)
        must_set(h, CURLOPT_CAINFO, c->o.ca_file);
    must_set(h, CURLOPT_TCP_KEEPALIVE, 1L);
    must_set(h, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    must_set(h, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_EVERY_S);
    if (c->o.user_agent)
        must_set(h, CURLOPT_USERAGENT, c->o.user_agent);
}

static enum verdict check_options(const struct stream_options *o, struct err *e) {
    if (!o->clock || o->connect_timeout_ms < 1 || o->max_redirects < 0)
        return err_set(e, V_INVALID, "http", 0, "an option of the event stream is missing");
    if (o->ca_file && access(o->ca_file, R_OK) != 0)
        return err_set(e, V_INVALID, "http", 0, "cannot read the CA file %s", o->ca_file);
    return V_OK;
}

enum verdict stream_new(const struct stream_options *o, struct stream_client **ret, struct err *e) {
    enum verdict v = check_options(o, e);
    if (v != V_OK)
        return v;
    int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd < 0)
        return err_set(e, V_FATAL, "http", errno, "eventfd: %s", strerror(errno));
    must_init_library();
    struct stream_client *c = xcalloc(1, sizeof *c);
    c->o = *o;
    c->o.user_agent = c->user_agent = o->user_agent ? xstrdup(o->user_agent) : NULL;
    c->o.ca_file = c->ca_file = o->ca_file ? xstrdup(o->ca_file) : NULL;
    c->wake_fd = wake_fd;
    c->end.retry_after_ms = -1;
    c->multi = must_have(curl_multi_init());
    c->easy = must_have(curl_easy_init());
    c->url = must_have(curl_url());
    c->headers = must_have(curl_slist_append(NULL, "Accept: text/event-stream"));
    must_have(curl_slist_append(c->headers, "Cache-Control: no-cache"));
    set_up_easy(c);
    *ret = c;
    return V_OK;
}

static void drop(struct stream_client *c) {
    if (c->under_way)
        must_multi(curl_multi_remove_handle(c->multi, c->easy));
    c->under_way = c->paused = false;
}

void stream_close(struct stream_client *c) {
    drop(c);
    c->phase = STREAM_CLOSED;
}

void stream_free(struct stream_client *c) {
    if (!c)
        return;
    stream_close(c);
    curl_easy_cleanup(c->easy);
    curl_multi_cleanup(c->multi);
    curl_url_cleanup(c->url);
    curl_slist_free_all(c->headers);
    close(c->wake_fd);
    free(c->user_agent);
    free(c->ca_file);
    free(c);
}

/* Sends the request for what stands in c->url. */
static void start(struct stream_client *c, unsigned flags) {
    c->flags = flags;
    /* NULL lets libcurl read the environment */
    must_set(c->easy, CURLOPT_NOPROXY, flags & URL_LOOPBACK ? "*" : NULL);
    c->error[0] = '\0';
    c->answer = ANSWER_NONE;
    c->phase = STREAM_OPENING;
    must_multi(curl_multi_add_handle(c->multi, c->easy));
    c->under_way = true;
}

enum verdict stream_open(struct stream_client *c, const char *url, struct err *e) {
    struct url_view view;
    stream_close(c);
    enum verdict v = url_check(&c->origin, url, &view, e);
    if (v != V_OK)
        return v;
    must_url_set(c->url, CURLUPART_URL, NULL, 0); /* or it would be relative */
    CURLUcode code = must_url_set(c->url, CURLUPART_URL, url, 0);
    if (code)
        return err_set(e, V_INVALID, "http", (int)code, "not a URL: %s", curl_url_strerror(code));
    c->redirects = 0;
    c->end = (struct stream_end){.retry_after_ms = -1};
    start(c, view.flags);
    return V_OK;
}

static void end_with(struct stream_client *c, enum net_class cls, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void end_with(struct stream_client *c, enum net_class cls, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->end.detail, sizeof c->end.detail, fmt, args);
    va_end(args);
    net_make_printable(c->end.detail);
    c->end.cls = cls;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &c->end.status);
    c->end.retry_after_ms = net_retry_after_ms(header(c, "Retry-After"), clock_real(c->o.clock));
    drop(c);
    c->phase = STREAM_ENDED;
}

static void refuse(struct stream_client *c) {
    long status = 0;
    const char *type = NULL;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(c->easy, CURLINFO_CONTENT_TYPE, &type);
    if (status == 200)
        end_with(c, NET_HTTP_OTHER, "HTTP 200 with %s, not text/event-stream",
                 type ? type : "no content type");
    else
        end_with(c, net_classify(CURLE_OK, status), "HTTP %ld %s", status,
                 net_status_reason(status));
}

static void follow(struct stream_client *c) {
    struct url_view view;
    struct err e;
    char shown[120], *target = NULL;
    CURLUcode code = must_url_set(c->url, CURLUPART_URL, header(c, "Location"), CURLU_URLENCODE);
    if (code || must_url_get(c->url, CURLUPART_URL, &target, 0) != CURLUE_OK) {
        end_with(c, NET_REDIRECT, "redirect to something that is not a URL");
        return;
    }
    url_show(target, shown, sizeof shown);
    if (c->redirects >= c->o.max_redirects) {
        end_with(c, NET_REDIRECT, "more than %d redirects, the last to %s", c->o.max_redirects,
                 shown);
    } else if (url_check(&c->origin, target, &view, &e) != V_OK) {
        end_with(c, NET_REDIRECT, "redirect to %s: %.100s", shown, e.msg);
    } else if ((c->flags & URL_HTTPS) && !(view.flags & URL_HTTPS)) {
        end_with(c, NET_REDIRECT, "redirect from https to %s", shown);
    } else {
        c->redirects++;
        drop(c);
        start(c, view.flags);
    }
    curl_free(target);
}

static void finish(struct stream_client *c, CURLcode code) {
    enum net_class cls = net_classify((int)code, c->answer == ANSWER_STREAM ? 200 : 0);
    if (cls == NET_OK)
        end_with(c, cls, "the server closed the stream");
    else
        end_with(c, cls, "%s: %s", net_class_name(cls),
                 c->error[0] ? c->error : curl_easy_strerror(code));
}

/* Does what can be done without waiting. True: something came of it that the caller should see. */
static bool drive(struct stream_client *c) {
    int running, left;
    enum stream_phase before = c->phase;
    if (c->paused) {
        c->paused = false;
        /* Hands over what was kept. Bytes that it loses are lost without another word. */
        CURLcode code = curl_easy_pause(c->easy, CURLPAUSE_CONT);
        if (code != CURLE_OK) {
            finish(c, code);
            return true;
        }
    }
    must_multi(curl_multi_perform(c->multi, &running));
    CURLMsg *msg = curl_multi_info_read(c->multi, &left);
    if (c->answer == ANSWER_REDIRECT)
        follow(c);
    else if (c->answer == ANSWER_REFUSED)
        refuse(c);
    else if (msg)
        finish(c, msg->data.result);
    else if (c->answer == ANSWER_STREAM)
        c->phase = STREAM_OPEN;
    return c->handed || c->phase != before;
}

static void sleep_on(struct stream_client *c, bool driven, int wait_ms) {
    if (driven) {
        struct curl_waitfd wake = {.fd = c->wake_fd, .events = CURL_WAIT_POLLIN};
        must_multi(curl_multi_poll(c->multi, &wake, 1, wait_ms, NULL));
    } else {
        struct pollfd wake = {.fd = c->wake_fd, .events = POLLIN};
        poll(&wake, 1, wait_ms);
    }
}

static bool was_woken(struct stream_client *c) {
    uint64_t count;
    return read(c->wake_fd, &count, sizeof count) == (ssize_t)sizeof count;
}

/* How long to wait for sockets, in real milliseconds. */
static int wait_left(const struct stream_client *c, int64_t deadline_mono, int64_t manual_end) {
    int left = clock_wait_ms(c->o.clock, deadline_mono, LONGEST_WAIT_MS);
    return c->o.clock->manual ? clock_wait_ms(&clock_machine, manual_end, left) : left;
}

/* A held stream is not driven at all, so that nothing is read; only its opening goes on. */
enum stream_phase stream_step(struct stream_client *c, int64_t deadline_mono, bool hold,
                              stream_bytes_fn *on_bytes, void *ctx) {
    int64_t manual_end = clock_mono(&clock_machine) + MANUAL_WAIT_MS;
    c->hold = hold;
    c->handed = false;
    c->on_bytes = on_bytes;
    c->ctx = ctx;
    for (;;) {
        bool driven = c->phase == STREAM_OPENING || (c->phase == STREAM_OPEN && !hold);
        if (driven && drive(c))
            break;
        int wait_ms = wait_left(c, deadline_mono, manual_end);
        sleep_on(c, driven, wait_ms);
        if (was_woken(c) || wait_ms == 0)
            break;
    }
    return c->phase;
}

const struct stream_end *stream_end(const struct stream_client *c) {
    return &c->end;
}

void stream_wakeup(struct stream_client *c) {
    uint64_t one = 1;
    ssize_t n = write(c->wake_fd, &one, sizeof one);
    (void)n; /* fails only when the count is full, and then it is awake */
}
