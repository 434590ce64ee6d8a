/* Some ids, drawn from a seed, compared with what the upstream says now. */
#include "mirror/verify_int.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define IN_FLIGHT 16
#define MAX_BODY ((size_t)8 << 20)
#define TRIES 3
#define GIVE_UP_AFTER 10 /* ids in a row without an answer */

struct sampling {
    struct verify *v;
    struct http_client *http;
    struct probe {
        int64_t id;
        int tries;
    } * probes;
    size_t n, next;
    int misses; /* in a row */
    enum verdict verdict;
    struct err *e;
};

static int by_id(const void *x, const void *y) {
    int64_t a = ((const struct probe *)x)->id, b = ((const struct probe *)y)->id;
    return a < b ? -1 : a > b;
}

typedef enum verdict draw_fn(struct store *s, int64_t at, int64_t *ret, struct err *e);

/* An id that lies behind a long empty stretch is drawn more often than its neighbours; that is fine
 * for a sample of a dense archive. */
static enum verdict draw(struct sampling *p, draw_fn *from, struct rng *rng, size_t n) {
    struct verify *v = p->v;
    enum verdict vd = V_OK;
    for (size_t i = 0; i < n && vd == V_OK; i++) {
        int64_t at = v->first + (int64_t)rng_below(rng, (uint64_t)(v->last - v->first + 1)), id = 0;
        vd = from(v->o->store, at, &id, p->e);
        if (vd == V_OK && (id == 0 || id > v->last))
            vd = from(v->o->store, v->first, &id, p->e);
        if (vd == V_OK && id != 0 && id <= v->last)
            p->probes[p->n++].id = id;
    }
    return vd;
}

/* Ascending and without repeats. */
static enum verdict draw_all(struct sampling *p) {
    size_t n = (size_t)p->v->o->sample, extra = n / 10 + 1;
    struct rng rng = {p->v->o->seed};
    p->probes = xcalloc(n + extra, sizeof *p->probes);
    if (p->v->last < p->v->first)
        return V_OK;
    enum verdict vd = draw(p, store_sample_item, &rng, n);
    if (vd == V_OK)
        vd = draw(p, store_sample_missing, &rng, extra);
    qsort(p->probes, p->n, sizeof *p->probes, by_id);
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++)
        if (kept == 0 || p->probes[kept - 1].id != p->probes[i].id)
            p->probes[kept++] = p->probes[i];
    p->n = kept;
    p->v->r->sample.asked = (int64_t)kept;
    return vd;
}

/* Stored by us, and what they say. What differs may be newer there: a repair fetches it. */
static void compare(struct sampling *p, const struct stored_item *ours, enum item_shape shape,
                    const struct item *theirs) {
    struct sample_report *r = &p->v->r->sample;
    struct sample_difference d;
    int64_t id = ours->item.id;
    if (shape == ITEM_NULL) {
        r->gone++;
        fault_add(&p->v->faults, FIND_UPSTREAM, id, "stored, but the upstream has no such item");
        return;
    }
    enum sample_verdict verdict = sample_take(r, &ours->item, theirs, &d);
    if (verdict == SAMPLE_CONTRADICTS)
        fault_add(&p->v->faults, FIND_UPSTREAM, id, "the upstream has another %s", d.fields);
    if (p->v->o->repair && verdict >= SAMPLE_DIFFERS)
        spans_add(&p->v->rescans, id);
}

/* Believed missing by us. */
static enum verdict compare_missing(struct sampling *p, int64_t id, enum item_shape shape) {
    struct verify *v = p->v;
    if (shape == ITEM_NULL) {
        v->r->sample.equal++;
        return V_OK;
    }
    fault_add(&v->faults, FIND_UPSTREAM, id, "believed missing, but the upstream has it");
    if (!v->o->repair)
        return V_OK;
    enum verdict vd = store_plan_begin(v->o->store, p->e);
    if (vd != V_OK)
        return vd;
    vd = store_plan_end(v->o->store, repair_missing_again(v->o->store, id, p->e), p->e);
    v->r->mended += vd == V_OK;
    return vd;
}

static void ask(struct sampling *p, struct probe *probe) {
    char url[1024];
    snprintf(url, sizeof url, "%s/item/%" PRId64 ".json", p->v->o->upstream, probe->id);
    probe->tries++;
    p->verdict = http_submit(p->http, url, probe, p->e);
}

static void no_answer(struct sampling *p, struct probe *probe, const char *cls,
                      const char *detail) {
    if (probe->tries < TRIES && p->verdict == V_OK) {
        ask(p, probe);
        return;
    }
    p->misses++;
    sample_no_answer(&p->v->r->sample, cls, detail);
}

static void take(void *ctx, const struct http_result *h) {
    struct sampling *p = ctx;
    struct verify *v = p->v;
    struct probe *probe = h->tag;
    struct item theirs;
    if (h->cls != NET_OK) {
        no_answer(p, probe, net_class_name(h->cls), h->detail);
        return;
    }
    arena_reset(&v->arena);
    enum item_shape shape = item_parse(&v->arena, h->body, probe->id, &theirs);
    if (shape != ITEM_OK && shape != ITEM_NULL) {
        no_answer(p, probe, shape == ITEM_WRONG_ID ? "wrong_id" : "garbage",
                  "an answer that is not the item");
        return;
    }
    p->misses = 0;
    /* read now: it may have been stored anew while the request was under way */
    p->verdict = store_verify_read(v->o->store, probe->id, probe->id, &v->page, p->e);
    if (p->verdict == V_OK && v->page.n_items)
        compare(p, &v->page.items[0], shape, &theirs);
    else if (p->verdict == V_OK)
        p->verdict = compare_missing(p, probe->id, shape);
}

static void submit(struct sampling *p) {
    while (p->next < p->n && http_inflight(p->http) < IN_FLIGHT && p->verdict == V_OK)
        ask(p, &p->probes[p->next++]);
}

static enum verdict ask_all(struct sampling *p) {
    struct verify *v = p->v;
    while ((p->next < p->n || http_inflight(p->http) > 0) && p->verdict == V_OK) {
        v->r->stopped = stop_raised(v->o->stop);
        if (v->r->stopped)
            break;
        if (p->misses >= GIVE_UP_AFTER) {
            v->r->sample.unanswered += (int64_t)(p->n - p->next) + http_inflight(p->http);
            break;
        }
        submit(p);
        http_step(p->http, clock_mono(v->o->clock) + 200, take, p);
    }
    return p->verdict;
}

enum verdict verify_sample(struct verify *v, struct err *e) {
    const struct http_options options = {
        .clock = v->o->clock,
        .max_connections = IN_FLIGHT,
        .user_agent = v->o->user_agent,
        .ca_file = v->o->ca_file,
        .connect_timeout_ms = v->o->timeout_ms < 10000 ? v->o->timeout_ms : 10000,
        .timeout_ms = v->o->timeout_ms,
        .max_body = MAX_BODY,
        .max_redirects = 5,
    };
    struct sampling p = {.v = v, .e = e};
    v->rescans.n = 0;
    v->rescans.ids = 0;
    enum verdict vd = http_new(&options, &p.http, e);
    if (vd != V_OK)
        return vd;
    vd = draw_all(&p);
    if (vd == V_OK)
        vd = ask_all(&p);
    http_free(p.http);
    free(p.probes);
    verify_take(v);
    return vd == V_OK && v->o->repair ? verify_mend_sample(v, e) : vd;
}
