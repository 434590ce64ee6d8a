/* A sample of what was imported against the upstream: is the dump what it says it is? */
#include "mirror/import_int.h"
#include "net/http.h"
#include "store/export.h"

#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 16
#define TRIES 4
#define MAX_BODY ((size_t)8 * 1024 * 1024)

struct sampling {
    const struct import_options *o;
    struct http_client *http;
    struct item_page page;
    struct arena arena;
    struct sample_report *s;
    struct probe {
        int64_t id;
        int tries;
    } * probes;
    size_t n, next; /* those behind next have not been asked */
    struct err *e;
    enum verdict v;
};

static void compare_answer(struct sampling *g, const struct probe *p, struct str body) {
    struct item theirs;
    arena_reset(&g->arena);
    enum item_shape shape = item_parse(&g->arena, body, p->id, &theirs);
    if (shape == ITEM_NULL) {
        g->s->gone++;
        return;
    }
    if (shape != ITEM_OK) {
        char words[80];
        snprintf(words, sizeof words, "the answer for %lld is not this item", (long long)p->id);
        sample_no_answer(g->s, shape == ITEM_WRONG_ID ? "wrong_id" : "garbage", words);
        return;
    }
    struct sample_difference d;
    g->v = store_read_page(g->o->store, p->id - 1, p->id, 1, &g->page, g->e);
    if (g->v == V_OK && g->page.n == 1)
        sample_take(g->s, &g->page.items[0], &theirs, &d);
}

static void ask(struct sampling *g, struct probe *p) {
    char url[1100];
    snprintf(url, sizeof url, "%.1000s/item/%lld.json", g->o->upstream, (long long)p->id);
    p->tries++;
    g->v = http_submit(g->http, url, p, g->e);
}

static void take_answer(void *ctx, const struct http_result *r) {
    struct sampling *g = ctx;
    struct probe *p = r->tag;
    if (r->cls == NET_OK) {
        compare_answer(g, p, r->body);
    } else if (p->tries < TRIES && g->v == V_OK) {
        ask(g, p);
    } else {
        sample_no_answer(g->s, net_class_name(r->cls), r->detail);
    }
}

static enum verdict ask_all(struct sampling *g) {
    const struct clock *clock = g->o->clock;
    while (g->v == V_OK && (g->next < g->n || http_inflight(g->http) > 0)) {
        while (g->v == V_OK && g->next < g->n && http_inflight(g->http) < AT_ONCE)
            ask(g, &g->probes[g->next++]);
        if (stop_raised(g->o->stop))
            return err_set(g->e, V_STOPPED, "import", 0, "stopped while comparing");
        if (g->v == V_OK)
            http_step(g->http, clock_mono(clock) + 100, take_answer, g);
    }
    return g->v;
}

enum verdict import_compare_sample(const struct import_options *o, const struct reservoir *ids,
                                   struct sample_report *ret, struct err *e) {
    *ret = (struct sample_report){.asked = (int64_t)ids->n};
    struct sampling g = {.o = o, .s = ret, .n = ids->n, .e = e};
    const struct http_options options = {
        .clock = o->clock,
        .max_connections = AT_ONCE,
        .user_agent = o->user_agent,
        .ca_file = o->ca_file,
        .connect_timeout_ms = o->timeout_ms < 10000 ? o->timeout_ms : 10000,
        .timeout_ms = o->timeout_ms,
        .max_body = MAX_BODY,
        .max_redirects = 5,
    };
    enum verdict v = http_new(&options, &g.http, e);
    if (v != V_OK)
        return v;
    arena_init(&g.arena);
    item_page_init(&g.page);
    g.probes = xcalloc(ids->n + 1, sizeof *g.probes);
    for (size_t i = 0; i < ids->n; i++)
        g.probes[i].id = ids->ids[i];
    v = ask_all(&g);
    http_free(g.http);
    free(g.probes);
    item_page_release(&g.page);
    arena_release(&g.arena);
    return v;
}
