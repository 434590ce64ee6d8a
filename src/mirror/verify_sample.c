/* Some ids, drawn from a seed, compared with what the upstream says now. The upstream goes on
 * living: more votes or an edit are no contradiction. */
#include "mirror/verify_int.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define IN_FLIGHT 16
#define MAX_BODY ((size_t)8 << 20)
#define GIVE_UP_AFTER 10 /* answers in a row that were none */

/* What of two items must stay the same for good, whatever happens upstream. */
static const char *contradiction(const struct item *ours, const struct item *theirs) {
    if (ours->type.p && theirs->type.p && !str_eq(ours->type, theirs->type))
        return "another type";
    if (ours->by.p && theirs->by.p && !str_eq(ours->by, theirs->by))
        return "another author";
    return NULL;
}

enum sample_verdict sample_compare(const struct item *ours, const struct item *theirs,
                                   const char **ret_why) {
    *ret_why = contradiction(ours, theirs);
    if (*ret_why)
        return SAMPLE_CONTRADICTS;
    bool same = ours->content_hash == theirs->content_hash &&
                ours->kids_hash == theirs->kids_hash && ours->score == theirs->score &&
                ours->descendants == theirs->descendants;
    return same ? SAMPLE_EQUAL : SAMPLE_NEWER;
}

struct sampling {
    struct verify *v;
    struct http_client *http;
    int64_t *ids;
    size_t n, next;
    int misses; /* in a row */
    enum verdict verdict;
    struct err *e;
};

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
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
            p->ids[p->n++] = id;
    }
    return vd;
}

/* Ascending and without repeats. */
static enum verdict draw_all(struct sampling *p) {
    size_t n = (size_t)p->v->o->sample, extra = n / 10 + 1;
    struct rng rng = {p->v->o->seed};
    p->ids = xcalloc(n + extra, sizeof *p->ids);
    if (p->v->last < p->v->first)
        return V_OK;
    enum verdict vd = draw(p, store_sample_item, &rng, n);
    if (vd == V_OK)
        vd = draw(p, store_sample_missing, &rng, extra);
    qsort(p->ids, p->n, sizeof *p->ids, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++)
        if (kept == 0 || p->ids[kept - 1] != p->ids[i])
            p->ids[kept++] = p->ids[i];
    p->n = kept;
    return vd;
}

/* Stored by us, and what they say. */
static void compare(struct sampling *p, const struct stored_item *ours, enum item_shape shape,
                    const struct item *theirs) {
    struct sample_report *r = &p->v->r->sample;
    const char *why;
    if (shape == ITEM_NULL) {
        r->gone++;
        return;
    }
    enum sample_verdict sv = sample_compare(&ours->item, theirs, &why);
    r->equal += sv == SAMPLE_EQUAL;
    r->newer += sv == SAMPLE_NEWER;
    if (sv != SAMPLE_CONTRADICTS)
        return;
    fault_add(&p->v->faults, FIND_UPSTREAM, ours->item.id, "the upstream has %s", why);
    if (p->v->o->repair)
        spans_add(&p->v->rescans, ours->item.id);
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

static void unanswered(struct sampling *p, const char *why) {
    struct sample_report *r = &p->v->r->sample;
    r->unanswered++;
    p->misses++;
    snprintf(r->trouble, sizeof r->trouble, "%s", why);
}

static void take(void *ctx, const struct http_result *h) {
    struct sampling *p = ctx;
    struct verify *v = p->v;
    int64_t id = *(const int64_t *)h->tag;
    struct item theirs;
    if (h->cls != NET_OK) {
        unanswered(p, h->detail ? h->detail : net_class_name(h->cls));
        return;
    }
    arena_reset(&v->arena);
    enum item_shape shape = item_parse(&v->arena, h->body, id, &theirs);
    if (shape != ITEM_OK && shape != ITEM_NULL) {
        unanswered(p, "an answer that is not the item");
        return;
    }
    p->misses = 0;
    if (shape == ITEM_OK)
        item_derive(&v->arena, &theirs);
    /* read now: it may have been stored anew while the request was under way */
    p->verdict = store_verify_read(v->o->store, id, id, &v->page, p->e);
    if (p->verdict == V_OK && v->page.n_items)
        compare(p, &v->page.items[0], shape, &theirs);
    else if (p->verdict == V_OK)
        p->verdict = compare_missing(p, id, shape);
}

static void submit(struct sampling *p) {
    while (p->next < p->n && http_inflight(p->http) < IN_FLIGHT && p->verdict == V_OK) {
        char url[1024];
        int64_t *id = &p->ids[p->next++];
        snprintf(url, sizeof url, "%s/item/%" PRId64 ".json", p->v->o->upstream, *id);
        p->v->r->sample.asked++;
        p->verdict = http_submit(p->http, url, id, p->e);
    }
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
    enum verdict vd = http_new(&options, &p.http, e);
    if (vd != V_OK)
        return vd;
    vd = draw_all(&p);
    if (vd == V_OK)
        vd = ask_all(&p);
    http_free(p.http);
    free(p.ids);
    verify_take(v);
    return vd;
}
