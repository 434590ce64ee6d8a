/* A sample of what was imported against the upstream: is the dump what it says it is? */
#include "mirror/import_int.h"
#include "net/http.h"
#include "store/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 16
#define TRIES 4
#define MAX_BODY ((size_t)8 * 1024 * 1024)

static bool same_ids(const int64_t *a, size_t n, const int64_t *b, size_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static void name_field(char out[120], const char *name) {
    size_t n = strlen(out);
    snprintf(out + n, 120 - n, "%s%s", n ? ", " : "", name);
}

void import_compare_items(const struct item *ours, const struct item *theirs,
                          struct import_sample *s) {
    char fields[120] = "";
    const struct {
        const char *name;
        bool same;
    } lasting[] = {
        {"by", str_eq(ours->by, theirs->by)},
        {"dead", ours->dead == theirs->dead},
        {"deleted", ours->deleted == theirs->deleted},
        {"parent", ours->parent == theirs->parent},
        {"parts", same_ids(ours->parts, ours->n_parts, theirs->parts, theirs->n_parts)},
        {"poll", ours->poll == theirs->poll},
        {"text", str_eq(ours->text, theirs->text)},
        {"time", ours->time == theirs->time},
        {"title", str_eq(ours->title, theirs->title)},
        {"type", str_eq(ours->type, theirs->type)},
        {"url", str_eq(ours->url, theirs->url)},
    };
    for (size_t i = 0; i < ARRAY_LEN(lasting); i++)
        if (!lasting[i].same)
            name_field(fields, lasting[i].name);
    bool moved = ours->score != theirs->score || ours->descendants != theirs->descendants ||
                 !same_ids(ours->kids, ours->n_kids, theirs->kids, theirs->n_kids);
    if (!*fields) {
        s->newer += moved;
        s->equal += !moved;
        return;
    }
    s->different++;
    if (s->n_differences == IMPORT_DIFFERENT_KEPT)
        return;
    struct sample_difference *d = &s->differences[s->n_differences++];
    d->id = ours->id;
    memcpy(d->fields, fields, sizeof fields);
}

struct sampling {
    const struct import_options *o;
    struct http_client *http;
    struct item_page page;
    struct arena arena;
    struct import_sample *s;
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
        g->s->missing++;
        return;
    }
    if (shape != ITEM_OK) {
        g->s->failed++;
        snprintf(g->s->trouble, sizeof g->s->trouble, "the answer for %lld is not this item",
                 (long long)p->id);
        return;
    }
    g->v = store_read_page(g->o->store, p->id - 1, p->id, 1, &g->page, g->e);
    if (g->v == V_OK && g->page.n == 1)
        import_compare_items(&g->page.items[0], &theirs, g->s);
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
        g->s->failed++;
        snprintf(g->s->trouble, sizeof g->s->trouble, "%s", r->detail ? r->detail : "no answer");
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
                                   struct import_sample *ret, struct err *e) {
    *ret = (struct import_sample){.asked = (int64_t)ids->n};
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
