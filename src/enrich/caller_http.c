#include "base/clock.h"
#include "enrich/caller.h"
#include "net/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECTIONS 1024 /* more than rows are held at once: no lane waits for another's calls */
#define CONNECT_MS 10000
#define TIMEOUT_MS 30000 /* of a provider that says nothing of it */
#define ANSWER_MAX ((size_t)4 * 1024 * 1024)
#define URL_MAX 4096

struct caller_http {
    struct caller base; /* first: a caller is one of these */
    struct http_client *http;
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

static enum verdict start(struct caller *c, const struct provider *p, struct str method,
                          struct str path, struct str body, void *tag, struct err *e) {
    struct str headers[ARRAY_LEN(p->headers) + 2];
    char url[URL_MAX], word[16];
    if (p->url.n + path.n >= sizeof url)
        return err_set(e, V_INVALID, "http", 0, "a URL of %zu bytes; at most %d", p->url.n + path.n,
                       URL_MAX - 1);
    if (method.n >= sizeof word)
        return err_set(e, V_INVALID, "http", 0, "no such method");
    memcpy(url, p->url.p, p->url.n);
    if (path.n)
        memcpy(url + p->url.n, path.p, path.n);
    url[p->url.n + path.n] = '\0';
    memcpy(word, method.p, method.n);
    word[method.n] = '\0';
    const struct http_request r = {
        .method = word,
        .url = url,
        .headers = headers,
        .n_headers = headers_of(p, body.p != NULL, headers),
        .body = body,
        .timeout_ms = (long)p->timeout_ms,
        .want_headers = true,
    };
    return http_send(of(c)->http, &r, tag, e);
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

enum verdict caller_http_new(const struct clock *clock, const char *user_agent, struct caller **ret,
                             struct err *e) {
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
    c->base = (struct caller){start, step, wake, cancel_all};
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
