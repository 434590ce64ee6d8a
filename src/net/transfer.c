#include "net/classify_int.h"
#include "net/must_int.h"
#include "net/transfer_int.h"
#include "net/visit_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t on_body(char *bytes, size_t one, size_t n, void *arg) {
    struct transfer *t = arg;
    (void)one;
    if (UNLIKELY(t->visiting))
        return visit_body(t, bytes, n);
    strbuf_add(&t->body, bytes, n);
    return t->body.overflow ? CURL_WRITEFUNC_ERROR : n;
}

static int on_close(void *arg, curl_socket_t fd) {
    poller_forget(arg, fd);
    return close(fd);
}

static void set_limits(CURL *h, const struct http_options *o) {
    must_set(h, CURLOPT_NOSIGNAL, 1L);
    must_set(h, CURLOPT_CONNECTTIMEOUT_MS, o->connect_timeout_ms);
    must_set(h, CURLOPT_TIMEOUT_MS, o->timeout_ms);
    must_set(h, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)o->max_body);
    must_set(h, CURLOPT_PROTOCOLS_STR, "http,https");
    must_set(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    must_set(h, CURLOPT_SSL_VERIFYPEER, 1L);
    must_set(h, CURLOPT_SSL_VERIFYHOST, 2L);
    if (o->ca_file)
        must_set(h, CURLOPT_CAINFO, o->ca_file);
    must_set(h, CURLOPT_TCP_KEEPALIVE, 1L);
    if (o->user_agent)
        must_set(h, CURLOPT_USERAGENT, o->user_agent);
}

/* Over http nothing is gained by waiting for a connection that might turn out to multiplex, nor by
 * packing half a kilobyte; over https both are. */
static void set_kind(struct transfer *t, unsigned flags) {
    bool https = flags & URL_HTTPS;
    long version = https ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
    must_set(t->easy, CURLOPT_HTTP_VERSION, version);
    must_set(t->easy, CURLOPT_PIPEWAIT, https ? 1L : 0L);
    must_set(t->easy, CURLOPT_ACCEPT_ENCODING, https ? "gzip" : NULL);
    /* NULL lets libcurl read the environment, for each request. */
    must_set(t->easy, CURLOPT_NOPROXY, flags & URL_LOOPBACK ? "*" : NULL);
    t->flags = flags;
}

struct transfer *transfer_new(const struct http_options *o, struct poller *poller) {
    struct transfer *t = xcalloc(1, sizeof *t);
    t->easy = must_have(curl_easy_init());
    t->url = must_have(curl_url());
    strbuf_init(&t->body, o->max_body);
    must_set(t->easy, CURLOPT_PRIVATE, t);
    must_set(t->easy, CURLOPT_CURLU, t->url);
    must_set(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    must_set(t->easy, CURLOPT_WRITEDATA, t);
    must_set(t->easy, CURLOPT_ERRORBUFFER, t->error);
    must_set(t->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    must_set(t->easy, CURLOPT_CLOSESOCKETDATA, poller);
    set_limits(t->easy, o);
    set_kind(t, 0);
    return t;
}

void transfer_free(struct transfer *t) {
    dress_off(&t->dress, t->easy);
    curl_easy_cleanup(t->easy);
    visit_end(t);
    curl_url_cleanup(t->url);
    strbuf_release(&t->body);
    strbuf_release(&t->head);
    free(t);
}

static CURLUcode set_url(struct transfer *t, const char *url, const struct url_view *view) {
    if (view->path && view->origin_id && view->origin_id == t->origin_id)
        return must_url_set(t->url, CURLUPART_PATH, view->path, 0);
    t->origin_id = view->path ? view->origin_id : 0;
    CURLUcode code = must_url_set(t->url, CURLUPART_URL, NULL, 0); /* or it would be relative */
    return code ? code : must_url_set(t->url, CURLUPART_URL, url, 0);
}

enum verdict transfer_prepare(struct transfer *t, const struct http_options *o,
                              const struct http_request *r, const struct url_view *view, void *tag,
                              struct err *e) {
    CURLUcode code = set_url(t, r->url, view);
    if (code) {
        t->origin_id = 0;
        return err_set(e, V_INVALID, "http", (int)code, "not a URL: %s", curl_url_strerror(code));
    }
    if (view->flags != t->flags)
        set_kind(t, view->flags);
    t->timeout_ms = r->timeout_ms > 0 ? r->timeout_ms : o->timeout_ms;
    if (t->cut_timeout || t->timeout_ms != o->timeout_ms)
        must_set(t->easy, CURLOPT_TIMEOUT_MS, t->timeout_ms);
    dress_on(&t->dress, t->easy, r);
    strbuf_clear(&t->body);
    t->tag = tag;
    t->started_ms = -1;
    t->spent_us = 0;
    t->redirects = 0;
    t->cut_timeout = t->timeout_ms != o->timeout_ms;
    t->restarted = false;
    t->want_headers = r->want_headers;
    t->error[0] = '\0';
    if (UNLIKELY(r->guard))
        visit_begin(t, r);
    return V_OK;
}

void transfer_rest(struct transfer *t) {
    dress_off(&t->dress, t->easy);
    if (t->body.cap > TRANSFER_KEEP_BODY)
        strbuf_release(&t->body);
    strbuf_release(&t->head);
}

static void set_time_left(struct transfer *t) {
    curl_off_t took_us = 0;
    curl_easy_getinfo(t->easy, CURLINFO_TOTAL_TIME_T, &took_us);
    t->spent_us += took_us;
    long left_ms = t->timeout_ms - (long)(t->spent_us / 1000);
    must_set(t->easy, CURLOPT_TIMEOUT_MS, left_ms > 1 ? left_ms : 1L);
    t->cut_timeout = true;
}

static enum redirect redirect_within(struct transfer *t, const struct http_options *o,
                                     char why[TRANSFER_DETAIL]) {
    char *to = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
    if (!to)
        return REDIRECT_NONE;
    char shown[300];
    url_show(to, shown, sizeof shown);
    if (!url_same_origin(t->url, to)) {
        snprintf(why, TRANSFER_DETAIL, "redirect to another host: %s", shown);
        return REDIRECT_REFUSED;
    }
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (t->dress.post && status != 307 && status != 308) {
        snprintf(why, TRANSFER_DETAIL, "redirect of a POST (%ld): %s", status, shown);
        return REDIRECT_REFUSED;
    }
    if (t->redirects >= o->max_redirects) {
        snprintf(why, TRANSFER_DETAIL, "more than %d redirects, the last to %s", o->max_redirects,
                 shown);
        return REDIRECT_REFUSED;
    }
    if (must_url_set(t->url, CURLUPART_URL, to, 0) != CURLUE_OK)
        return REDIRECT_NONE;
    t->origin_id = 0;
    t->redirects++;
    return REDIRECT_FOLLOW;
}

enum redirect transfer_redirect(struct transfer *t, const struct http_options *o,
                                char why[TRANSFER_DETAIL]) {
    enum redirect r = t->visiting ? visit_redirect(t, why) : redirect_within(t, o, why);
    if (r == REDIRECT_FOLLOW) {
        set_time_left(t);
        strbuf_clear(&t->body);
    }
    return r;
}

/* libcurl itself repeats a request whose kept connection turns out to be closed, but counts to five
 * over the whole life of a handle, then fails once and counts anew. */
bool transfer_restart(struct transfer *t, CURLcode code) {
    long connects = 0, status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (t->visiting || t->restarted || connects > 0 || status != 0 ||
        net_classify((int)code, 0) != NET_RESET)
        return false;
    t->restarted = true;
    set_time_left(t);
    strbuf_clear(&t->body);
    return true;
}

static void describe_failure(struct transfer *t, enum net_class cls, CURLcode code, char *out,
                             size_t max_body) {
    const char *what = net_class_name(cls);
    long os_errno = 0;
    if (cls == NET_CONNECT)
        curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
    if (os_errno && strerrordesc_np((int)os_errno))
        what = strerrordesc_np((int)os_errno);
    if (cls == NET_TOO_LARGE)
        snprintf(out, TRANSFER_DETAIL, "%s: the answer has more than %zu bytes", what, max_body);
    else
        snprintf(out, TRANSFER_DETAIL, "%s: %s", what,
                 t->error[0] ? t->error : curl_easy_strerror(code));
    if (*out >= 'A' && *out <= 'Z')
        *out = (char)(*out - 'A' + 'a');
}

static int64_t retry_after(struct transfer *t, const struct clock *clock) {
    struct curl_header *h = NULL;
    if (must_find_header(t->easy, "Retry-After", 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
        return -1;
    return net_retry_after_ms(h->value, clock_real(clock));
}

/* A tain whose archive is still being filled says so with each null it is not sure of. */
static bool is_unknown(struct transfer *t) {
    struct curl_header *h = NULL;
    return t->body.n == 4 && memcmp(t->body.p, "null", 4) == 0 &&
           must_find_header(t->easy, "X-Tain-Known", 0, CURLH_HEADER, -1, &h) == CURLHE_OK &&
           strcmp(h->value, "no") == 0;
}

static void collect_headers(struct transfer *t) {
    strbuf_release(&t->head);
    strbuf_init(&t->head, HTTP_ANSWER_HEADERS_MAX);
    for (struct curl_header *h = NULL;
         (h = curl_easy_nextheader(t->easy, CURLH_HEADER, -1, h)) != NULL;) {
        strbuf_addf(&t->head, "%s: %s\n", h->name, h->value);
        t->head.overflow = false;
    }
}

static void describe(struct transfer *t, const struct http_options *o, CURLcode code,
                     const char *refused, char *out, const struct http_result *r) {
    if (refused)
        snprintf(out, TRANSFER_DETAIL, "%s", refused);
    else if (r->cls == NET_UNKNOWN)
        snprintf(out, TRANSFER_DETAIL, "the upstream has not come to it yet");
    else if (code != CURLE_OK)
        describe_failure(t, r->cls, code, out, o->max_body);
    else
        snprintf(out, TRANSFER_DETAIL, "HTTP %ld %s", r->status, net_status_reason(r->status));
}

void transfer_result(struct transfer *t, const struct http_options *o, CURLcode code,
                     const char *refused, char detail[TRANSFER_DETAIL], struct http_result *ret) {
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    *ret = (struct http_result){.tag = t->tag,
                                .cls = refused ? NET_REDIRECT : net_classify((int)code, status),
                                .status = status,
                                .body = strbuf_str(&t->body),
                                .retry_after_ms = -1,
                                .elapsed_ms = clock_mono(o->clock) - t->started_ms,
                                .detail = "ok"};
    if (UNLIKELY(t->want_headers)) {
        collect_headers(t);
        ret->headers = t->head.n ? strbuf_str(&t->head) : STR_NONE;
    }
    if (UNLIKELY(t->visiting))
        visit_result(t, code, refused, detail, ret);
    else if (ret->cls == NET_OK && is_unknown(t))
        ret->cls = NET_UNKNOWN;
    if (ret->cls == NET_OK)
        return;
    if (LIKELY(!t->visiting))
        describe(t, o, code, refused, detail, ret);
    net_make_printable(detail);
    ret->detail = detail;
    if (status)
        ret->retry_after_ms = retry_after(t, o->clock);
}
