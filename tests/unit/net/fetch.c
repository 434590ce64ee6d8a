#include "fetch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct http_options fetch_options(const struct clock *clock) {
    return (struct http_options){.clock = clock,
                                 .max_connections = 32,
                                 .user_agent = "tain-test",
                                 .connect_timeout_ms = 120000,
                                 .timeout_ms = 120000,
                                 .max_body = 1000,
                                 .max_redirects = 3};
}

struct http_client *fetch_client(const struct http_options *o) {
    struct http_client *c = NULL;
    struct err e;
    enum verdict v = http_new(o, &c, &e);
    if (v != V_OK)
        fprintf(stderr, "%s\n", e.msg);
    assert(v == V_OK);
    return c;
}

static void on_done(void *ctx, const struct http_result *r) {
    struct got *g = ctx;
    assert(r->tag == ctx);
    assert(r->body.p && r->body.p[r->body.n] == '\0');
    g->n++;
    g->cls = r->cls;
    g->status = r->status;
    g->body_n = r->body.n;
    g->retry_after_ms = r->retry_after_ms;
    g->elapsed_ms = r->elapsed_ms;
    snprintf(g->body, sizeof g->body, "%s", r->body.p);
    snprintf(g->detail, sizeof g->detail, "%s", r->detail);
}

struct got fetch(struct http_client *c, const char *root, const char *path) {
    struct got g = {0};
    struct err e;
    char url[600];
    snprintf(url, sizeof url, "%s%s", root, path);
    enum verdict v = http_submit(c, url, &g, &e);
    assert(v == V_OK && http_inflight(c) == 1);
    for (int i = 0; g.n == 0 && i < 1000; i++) /* a step with a manual clock is 50 ms or less */
        http_step(c, NO_DEADLINE, on_done, &g);
    assert(g.n == 1 && http_inflight(c) == 0);
    return g;
}
