#include "net/visit_int.h"

#include "net/classify_int.h"
#include "net/guard_int.h"
#include "net/must_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD_MAX ((size_t)64 * 1024) /* of one answer, with all that comes before and after it */
#define HARDLY_A_BYTE 50             /* per second */

enum verdict visit_check(const struct http_request *r, struct err *e) {
    if ((r->method && strcmp(r->method, "GET") != 0) || r->n_headers || r->body.p)
        return err_set(e, V_INVALID, "http", 0, "a visit is a GET without headers and body");
    enum guard_rule rule = guard_url(r->guard, r->url);
    if (rule != GUARD_FINE)
        return err_set(e, V_INVALID, "guard", (int)rule, "not fetched: %s", guard_rule_text(rule));
    return V_OK;
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *a) {
    struct visiting *v = arg;
    enum guard_rule rule = purpose == CURLSOCKTYPE_IPCXN
                               ? guard_socket(v->allowed, (const struct sockaddr *)&a->addr)
                               : GUARD_FAMILY;
    if (rule != GUARD_FINE) {
        v->rule = rule;
        return CURL_SOCKET_BAD;
    }
    v->opened++;
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* Once more, on what the kernel says of the connection: also where libcurl should have found a
 * way around on_open(). */
static int on_connected(void *arg, char *peer, char *local, int peer_port, int local_port) {
    struct visiting *v = arg;
    (void)peer_port, (void)local_port;
    enum guard_rule rule = guard_connection(v->allowed, peer, local);
    if (rule == GUARD_FINE)
        return CURL_PREREQFUNC_OK;
    v->rule = rule;
    v->refused = true;
    return CURL_PREREQFUNC_ABORT;
}

static const char *content_type(const struct transfer *t) {
    const char *type = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    return type ? type : "";
}

static bool is_page(const char *type) {
    static const char *const pages[] = {"text/html", "application/xhtml+xml", "text/plain"};
    type += strspn(type, " \t");
    size_t n = strcspn(type, "; \t");
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (n == strlen(pages[i]) && strncasecmp(type, pages[i], n) == 0)
            return true;
    return n == 0; /* the server does not say */
}

/* The end of a head: whether the body is worth having. */
static bool wants_body(struct transfer *t) {
    struct visiting *v = t->visiting;
    long status = 0;
    curl_off_t announced = -1;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (status < 200 || net_status_redirects(status))
        return true; /* a redirect is read and forgotten: only then libcurl says where to */
    v->enough = status != 200;
    v->not_html = !v->enough && !is_page(content_type(t));
    v->too_large = !v->enough && !v->not_html && announced > (curl_off_t)v->guard->max_body;
    return !v->enough && !v->not_html && !v->too_large;
}

static size_t on_head(char *line, size_t one, size_t n, void *arg) {
    struct transfer *t = arg;
    struct visiting *v = t->visiting;
    (void)one;
    v->head += n;
    if (v->head > HEAD_MAX) {
        v->too_large = true;
        return 0;
    }
    bool blank = n > 0 && (line[0] == '\r' || line[0] == '\n');
    return blank && !wants_body(t) ? 0 : n;
}

/* Bytes as they came, which a decoder may swallow without ever writing one. */
static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up) {
    struct visiting *v = arg;
    (void)down_total, (void)up_total, (void)up;
    if (down <= (curl_off_t)v->guard->max_body)
        return 0;
    v->too_large = true;
    return 1;
}

size_t visit_body(struct transfer *t, const char *bytes, size_t n) {
    struct visiting *v = t->visiting;
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return n;
    strbuf_add(&t->body, bytes, n);
    v->too_large |= t->body.overflow;
    return v->too_large ? CURL_WRITEFUNC_ERROR : n;
}

static void set_visit(CURL *h, struct transfer *t) {
    struct visiting *v = t->visiting;
    must_set(h, CURLOPT_OPENSOCKETFUNCTION, on_open);
    must_set(h, CURLOPT_OPENSOCKETDATA, v);
    must_set(h, CURLOPT_PREREQFUNCTION, on_connected);
    must_set(h, CURLOPT_PREREQDATA, v);
    must_set(h, CURLOPT_HEADERFUNCTION, on_head);
    must_set(h, CURLOPT_HEADERDATA, t);
    must_set(h, CURLOPT_XFERINFOFUNCTION, on_progress);
    must_set(h, CURLOPT_XFERINFODATA, v);
    must_set(h, CURLOPT_NOPROGRESS, 0L);
    must_set(h, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)0); /* wants_body() knows more */
    must_set(h, CURLOPT_HTTPHEADER, v->guard->headers);
    must_set(h, CURLOPT_PROXY, ""); /* whatever the environment says */
    must_set(h, CURLOPT_NOPROXY, "*");
    /* A kept connection was opened for another, perhaps without a guard. */
    must_set(h, CURLOPT_FRESH_CONNECT, 1L);
    must_set(h, CURLOPT_FORBID_REUSE, 1L);
    must_set(h, CURLOPT_PIPEWAIT, 0L);
    must_set(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    must_set(h, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    must_set(h, CURLOPT_LOW_SPEED_LIMIT, (long)HARDLY_A_BYTE);
    must_set(h, CURLOPT_LOW_SPEED_TIME, v->guard->idle_seconds);
}

void visit_begin(struct transfer *t, const struct http_request *r) {
    struct visiting *v = t->visiting = xcalloc(1, sizeof *v);
    v->guard = r->guard;
    (void)guard_parts(v->guard, t->url, &v->allowed); /* visit_check() has seen that it is fine */
    t->timeout_ms = r->timeout_ms > 0 ? r->timeout_ms : v->guard->timeout_ms;
    must_set(t->easy, CURLOPT_TIMEOUT_MS, t->timeout_ms);
    t->body.max = v->guard->max_body;
    set_visit(t->easy, t);
}

void visit_end(struct transfer *t) {
    if (!t->visiting)
        return;
    curl_free(t->visiting->url);
    free(t->visiting);
    t->visiting = NULL;
}

static enum redirect refuse(struct transfer *t, enum guard_rule rule, const char *to, char *why) {
    char shown[250];
    url_show(to, shown, sizeof shown);
    t->visiting->rule = rule;
    t->visiting->refused = true;
    snprintf(why, TRANSFER_DETAIL, "refused a redirect to %s: %s", shown, guard_rule_text(rule));
    return REDIRECT_REFUSED;
}

enum redirect visit_redirect(struct transfer *t, char why[TRANSFER_DETAIL]) {
    struct visiting *v = t->visiting;
    char *to = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
    if (!to)
        return REDIRECT_NONE;
    if (t->redirects >= v->guard->max_redirects)
        return refuse(t, GUARD_REDIRECTS, to, why);
    enum guard_rule rule = guard_url(v->guard, to);
    if (rule == GUARD_FINE && (must_url_set(t->url, CURLUPART_URL, NULL, 0) != CURLUE_OK ||
                               must_url_set(t->url, CURLUPART_URL, to, 0) != CURLUE_OK))
        rule = GUARD_URL;
    if (rule == GUARD_FINE) /* of what will be fetched, and not of what we read */
        rule = guard_parts(v->guard, t->url, &v->allowed);
    if (rule != GUARD_FINE)
        return refuse(t, rule, to, why);
    t->flags = strncasecmp(to, "https:", 6) == 0 ? URL_HTTPS : 0;
    t->redirects++;
    v->head = 0;
    v->opened = 0;
    v->rule = GUARD_FINE;
    return REDIRECT_FOLLOW;
}

static enum visit_class of_status(long status) {
    if (status == 200)
        return VISIT_OK;
    if (status == 404 || status == 410)
        return VISIT_GONE;
    return status == 408 || status == 425 || status == 429 || status >= 500 ? VISIT_LATER
                                                                            : VISIT_DENIED;
}

static enum visit_class judge(const struct visiting *v, CURLcode code, long status) {
    /* Of several addresses some may be refused; those that were not then decide. */
    if (v->refused || (v->rule != GUARD_FINE && v->opened == 0))
        return VISIT_REFUSED;
    if (v->too_large)
        return VISIT_TOO_LARGE;
    if (v->not_html)
        return VISIT_NOT_HTML;
    return code == CURLE_OK || v->enough ? of_status(status) : VISIT_LATER;
}

/* The class that those see who know nothing of visits. */
static enum net_class net_class_of(enum visit_class cls, CURLcode code, long status, bool enough) {
    switch (cls) {
    case VISIT_OK:
        return NET_OK;
    case VISIT_TOO_LARGE:
        return NET_TOO_LARGE;
    case VISIT_REFUSED:
    case VISIT_NOT_HTML:
        return NET_OTHER;
    default:
        return net_classify(enough ? CURLE_OK : (int)code, status);
    }
}

static void describe(const struct transfer *t, CURLcode code, long status, char *out) {
    const struct visiting *v = t->visiting;
    switch (v->result.cls) {
    case VISIT_REFUSED:
        snprintf(out, TRANSFER_DETAIL, "refused: %s", guard_rule_text(v->rule));
        return;
    case VISIT_TOO_LARGE:
        snprintf(out, TRANSFER_DETAIL, "too_large: the page has more than %zu bytes",
                 v->guard->max_body);
        return;
    case VISIT_NOT_HTML:
        snprintf(out, TRANSFER_DETAIL, "not a page but %.100s", v->result.content_type);
        return;
    default:
        if (code == CURLE_OK || v->enough)
            snprintf(out, TRANSFER_DETAIL, "HTTP %ld %s", status, net_status_reason(status));
        else
            snprintf(out, TRANSFER_DETAIL, "%s: %s", net_class_name(net_classify((int)code, 0)),
                     t->error[0] ? t->error : curl_easy_strerror(code));
    }
}

void visit_result(struct transfer *t, CURLcode code, const char *refused,
                  char detail[TRANSFER_DETAIL], struct http_result *ret) {
    struct visiting *v = t->visiting;
    must_url_get(t->url, CURLUPART_URL, &v->url, 0);
    v->result = (struct visit){
        .cls = judge(v, code, ret->status),
        .url = v->url ? v->url : "",
        .content_type = content_type(t),
        .redirects = t->redirects,
    };
    if (v->result.cls == VISIT_REFUSED)
        v->result.rule = v->rule;
    ret->visit = &v->result;
    ret->cls = net_class_of(v->result.cls, code, ret->status, v->enough);
    if (v->result.cls == VISIT_OK)
        return;
    strbuf_clear(&t->body);
    ret->body = strbuf_str(&t->body);
    if (refused)
        snprintf(detail, TRANSFER_DETAIL, "%s", refused);
    else
        describe(t, code, ret->status, detail);
}

const char *visit_class_name(enum visit_class c) {
    static const char *const names[VISIT_N_CLASSES] = {
        [VISIT_OK] = "ok",           [VISIT_NOT_HTML] = "not_html", [VISIT_TOO_LARGE] = "too_large",
        [VISIT_REFUSED] = "refused", [VISIT_GONE] = "gone",         [VISIT_DENIED] = "denied",
        [VISIT_LATER] = "later",
    };
    return (size_t)c < ARRAY_LEN(names) ? names[c] : "?";
}
