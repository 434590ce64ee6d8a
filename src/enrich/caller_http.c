#include "base/clock.h"
#include "enrich/ask.h"
#include "enrich/caller.h"
#include "net/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECTIONS 1024 /* more than rows are held at once: no lane waits for another's calls */
#define CONNECT_MS 10000
#define TIMEOUT_MS 30000 /* of a provider that says nothing of it */
#define ANSWER_MAX ((size_t)4 * 1024 * 1024)
#define URL_MAX 16384 /* longer than the path of any ask */

struct caller_http {
    struct caller base; /* first: a caller is one of these */
    struct http_client *http;
    const struct guard *guard;
};

static struct caller_http *of(struct caller *c) {
    return (struct caller_http *)c;
}

static bool has_header(const struct provider *p, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i < p->n_headers; i++) {
        struct str h = p->headers[i];
        if (h.n > n && h.p[n] == ':' && strncasecmp(h.p, name, n) == 0)
            return true;
    }
    return false;
}

/* The provider's headers, and what goes without saying where they do not say it. */
static size_t headers_of(const struct provider *p, bool has_body, struct str *ret) {
    size_t n = p->n_headers;
    memcpy(ret, p->headers, n * sizeof ret[0]);
    if (!has_header(p, "Accept"))
        ret[n++] = STR("Accept: application/json");
    if (has_body && !has_header(p, "Content-Type"))
        ret[n++] = STR("Content-Type: application/json");
    return n;
}

/* Where to send it, as http_request wants it. */
struct target {
    char url[URL_MAX], method[16];
};

static enum verdict aim(struct target *ret, struct str method, struct str base, struct str path,
                        struct err *e) {
    if (base.n + path.n >= sizeof ret->url)
        return err_set(e, V_INVALID, "http", 0, "a URL of %zu bytes; at most %d", base.n + path.n,
                       URL_MAX - 1);
    if (method.n >= sizeof ret->method)
        return err_set(e, V_INVALID, "http", 0, "no such method");
    snprintf(ret->url, sizeof ret->url, "%.*s%.*s", STR_FMT(base), STR_FMT(path));
    snprintf(ret->method, sizeof ret->method, "%.*s", STR_FMT(method));
    return V_OK;
}

static enum verdict start(struct caller *c, const struct provider *p, struct str method,
                          struct str path, struct str body, void *tag, struct err *e) {
    struct str headers[ARRAY_LEN(p->headers) + 2];
    struct target to;
    enum verdict v = aim(&to, method, p->url, path, e);
    if (v != V_OK)
        return v;
    const struct http_request r = {
        .method = to.method,
        .url = to.url,
        .headers = headers,
        .n_headers = headers_of(p, body.p != NULL, headers),
        .body = body,
        .timeout_ms = (long)p->timeout_ms,
        .want_headers = true,
    };
    return http_send(of(c)->http, &r, tag, e);
}

static enum verdict ask(struct caller *c, const struct ask *q, int64_t timeout_ms, void *tag,
                        struct err *e) {
    struct target to;
    enum verdict v = aim(&to, q->method, q->base, q->path, e);
    if (v != V_OK)
        return v;
    const struct http_request r = {
        .method = to.method,
        .url = to.url,
        .headers = q->headers,
        .n_headers = q->n_headers,
        .body = q->body,
        .timeout_ms = (long)timeout_ms,
        .want_headers = true,
    };
    return http_send(of(c)->http, &r, tag, e);
}

static enum verdict visit(struct caller *c, struct str url, void *tag, struct err *e) {
    struct target to;
    if (!of(c)->guard)
        return err_set(e, V_INVALID, "guard", 0, "no page is visited without a guard");
    enum verdict v = aim(&to, STR("GET"), url, STR(""), e);
    if (v != V_OK)
        return v;
    return http_send(of(c)->http, &(struct http_request){.url = to.url, .guard = of(c)->guard}, tag,
                     e);
}

struct listener {
    call_done_fn *done;
    void *ctx;
};

static void on_done(void *ctx, const struct http_result *r) {
    const struct listener *l = ctx;
    const struct call_result result = {
        .tag = r->tag,
        .cls = r->cls,
        .status = r->status,
        .body = r->body,
        .headers = r->headers,
        .visit = r->visit,
        .retry_after_ms = r->retry_after_ms,
        .elapsed_ms = r->elapsed_ms,
        .detail = r->detail,
    };
    l->done(l->ctx, &result);
}

static int step(struct caller *c, int64_t deadline_mono, call_done_fn *done, void *ctx) {
    struct listener l = {done, ctx};
    return http_step(of(c)->http, deadline_mono, on_done, &l);
}

static void wake(struct caller *c) {
    http_wakeup(of(c)->http);
}

static void cancel_all(struct caller *c) {
    http_cancel_all(of(c)->http);
}

enum verdict caller_http_new(const struct clock *clock, const char *user_agent,
                             const struct guard *guard, struct caller **ret, struct err *e) {
    const struct http_options o = {
        .clock = clock,
        .max_connections = CONNECTIONS,
        .user_agent = user_agent,
        .connect_timeout_ms = CONNECT_MS,
        .timeout_ms = TIMEOUT_MS,
        .max_body = ANSWER_MAX,
        .max_redirects = 0, /* each would be a call without a turn */
    };
    struct caller_http *c = xcalloc(1, sizeof *c);
    c->guard = guard;
    c->base = (struct caller){.start = start,
                              .ask = ask,
                              .visit = visit,
                              .step = step,
                              .wake = wake,
                              .cancel_all = cancel_all};
    enum verdict v = http_new(&o, &c->http, e);
    if (v != V_OK) {
        free(c);
        return v;
    }
    *ret = &c->base;
    return V_OK;
}

void caller_http_free(struct caller *c) {
    if (!c)
        return;
    http_free(of(c)->http);
    free(c);
}
