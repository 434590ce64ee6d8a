#include "mirror/ingest_int.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PORTION 64 /* calls that change hands at once */

static void append(struct ingest *g, struct call *c) {
    c->next = NULL;
    if (g->last_call)
        g->last_call->next = c;
    else
        g->first_call = c;
    g->last_call = c;
}

/* Behind those of its kind: maxitem and the lists are few, and must not wait for a burst of items.
 */
static void put_in_front(struct ingest *g, struct call *c) {
    struct call **at = &g->first_call;
    while (*at && (*at)->id == 0)
        at = &(*at)->next;
    c->next = *at;
    *at = c;
    if (!c->next)
        g->last_call = c;
}

static void take_in(struct ingest *g, struct call *c) {
    if (c->id)
        append(g, c);
    else
        put_in_front(g, c);
}

void ingest_take_calls(struct ingest *g) {
    void *some[PORTION];
    size_t n = PORTION;
    while (g->o.calls && n == PORTION) {
        n = queue_pop_many(&g->o.calls->queue, some, PORTION, 0);
        for (size_t i = 0; i < n; i++)
            take_in(g, some[i]);
    }
}

/* The askers of what is not an item have a pace of their own, and nothing to lose. */
static bool may_start(const struct ingest *g, const struct call *c) {
    return c->id == 0 || (!g->health.ill && !idset_has(&g->flying_ids, c->id));
}

struct call *ingest_next_call(struct ingest *g) {
    struct call *before = NULL, *c = g->first_call;
    while (c && !may_start(g, c)) {
        before = c;
        c = c->next;
    }
    if (!c)
        return NULL;
    if (before)
        before->next = c->next;
    else
        g->first_call = c->next;
    if (g->last_call == c)
        g->last_call = before;
    return c;
}

bool ingest_has_calls(const struct ingest *g) {
    for (const struct call *c = g->first_call; c; c = c->next)
        if (may_start(g, c))
            return true;
    return false;
}

/* Whether it is an item the asker finds out; here only whether the upstream talks sense. */
static enum item_shape shape_at_a_glance(struct str body) {
    size_t i = 0;
    while (i < body.n && isspace((unsigned char)body.p[i]))
        i++;
    if (i < body.n && body.p[i] == '{')
        return ITEM_OK;
    return body.n - i >= 4 && memcmp(body.p + i, "null", 4) == 0 ? ITEM_NULL : ITEM_GARBAGE;
}

static void fill(struct call *c, const struct http_result *r, int64_t started_db) {
    c->cls = r->cls;
    c->status = r->status;
    c->retry_after_ms = r->retry_after_ms;
    c->started_db = started_db;
    strbuf_clear(&c->body);
    if (r->cls == NET_OK)
        strbuf_add_str(&c->body, r->body);
    if (c->body.overflow)
        c->cls = NET_TOO_LARGE;
    snprintf(c->detail, sizeof c->detail, "%s", r->detail ? r->detail : "");
}

/* The last one first, until they are delivered. */
static void hand_back(struct ingest *g, struct call *c) {
    c->next = g->answered;
    g->answered = c;
}

static void put_in_order(struct ingest *g) {
    struct call *c = g->answered, *next;
    for (g->answered = NULL; c; c = next) {
        next = c->next;
        hand_back(g, c);
    }
}

/* Takes the answers for one mailbox out of the list. */
static size_t pick_for(struct ingest *g, const struct mailbox *to, void **out, size_t max) {
    size_t n = 0;
    for (struct call **at = &g->answered, *c; n < max && (c = *at);) {
        if (c->reply == to) {
            *at = c->next;
            out[n++] = c;
        } else {
            at = &c->next;
        }
    }
    return n;
}

void ingest_deliver_answers(struct ingest *g) {
    void *some[PORTION];
    put_in_order(g);
    while (g->answered) {
        struct mailbox *to = g->answered->reply;
        mailbox_put_many(to, some, pick_for(g, to, some, PORTION));
    }
}

void ingest_answer_call(struct ingest *g, struct fetch *f, const struct http_result *r) {
    struct call *c = f->call;
    enum item_shape shape = ITEM_OK;
    if (r->cls == NET_OK && c->id)
        shape = shape_at_a_glance(r->body);
    struct judgement j = judge_answer(r->cls, shape, false, true);
    ingest_note_load(g, f, r, &j);
    if (c->id)
        ingest_note_health(g, f, &j);
    else if (!j.ill && g->health.ill)
        g->health.next_probe_ms =
            ingest_now(g); /* it answers something: perhaps it is well again */
    if (!j.ill && c->id) {
        g->last_ok_id = c->id;
        g->last_ok_mono = ingest_now(g);
    }
    if (c->id && j.ill && g->health.ill) {
        append(g, c); /* the upstream's fault: the asker shall not hear of it */
    } else {
        fill(c, r, f->started_db);
        hand_back(g, c);
    }
    ingest_drop_fetch(g, f);
}

static void give_back(struct ingest *g, struct call *c) {
    c->cancelled = true;
    hand_back(g, c);
}

static bool is_call(void *unused UNUSED, void *tag) {
    return ((struct fetch *)tag)->call != NULL;
}

static void cancel_flying(struct ingest *g) {
    http_cancel_if(g->o.http, is_call, NULL);
    for (struct fetch *f = g->oldest, *next; f; f = next) {
        next = f->next;
        if (!f->call)
            continue;
        ingest_land(g, f);
        give_back(g, f->call);
        ingest_drop_fetch(g, f);
    }
}

void ingest_cancel_calls(struct ingest *g, bool flying) {
    ingest_take_calls(g);
    for (struct call *c = g->first_call, *next; c; c = next) {
        next = c->next;
        give_back(g, c);
    }
    g->first_call = g->last_call = NULL;
    if (flying)
        cancel_flying(g);
    ingest_deliver_answers(g);
}

void ingest_close_calls(struct ingest *g) {
    if (!g->o.calls)
        return;
    queue_close(&g->o.calls->queue);
    ingest_cancel_calls(g, true);
}
