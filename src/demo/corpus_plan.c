/* Who answers whom. A block is drawn from its own seed in one pass, which leaves the comments that
 * answer an earlier block with a mere pick; linking resolves the pick against that block's first
 * pass. Only natives (whose root stands in their own block) can be picked, so a chain never spans
 * more than BLOCK_REACH blocks and nothing recurses. */
#include "demo/corpus_int.h"

#include <string.h>

#define CACHE_PLANS 64

static const double FOREIGN_SHARE = 0.22; /* comments that answer an earlier block */
static const double HOT_SHARE = 0.01;     /* blocks in which one story draws most comments */

static _Thread_local struct plan cache[CACHE_PLANS];

static bool answerable(const struct slot *s) {
    return !s->missing &&
           (s->kind == KIND_STORY || s->kind == KIND_POLL || s->kind == KIND_COMMENT);
}

struct drawing {
    const struct corpus *c;
    struct rng rng;
    struct plan *plan;
    uint8_t candidates[BLOCK_IDS], roots[BLOCK_IDS];
    int n_candidates, n_roots;
    int poll_slot, options_left;
    bool hot;
};

static void draw_root(struct slot *s, enum kind kind, int at) {
    s->kind = (uint8_t)kind;
    s->native = true;
    s->root_slot = (uint8_t)at;
}

static void draw_comment(struct drawing *d, struct slot *s) {
    struct rng *r = &d->rng;
    s->kind = KIND_COMMENT;
    int back = 1 + (int)rng_below(r, BLOCK_REACH);
    if (chance(rng_next(r), FOREIGN_SHARE) && d->plan->block >= back) {
        s->parent_back = (uint8_t)back;
        s->pick = (uint8_t)rng_below(r, 256);
        return;
    }
    if (d->hot && rng_below(r, 10) < 8)
        s->parent_slot = 0;
    else if (rng_below(r, 10) < 4)
        s->parent_slot = d->roots[rng_below(r, (uint64_t)d->n_roots)];
    else
        s->parent_slot = d->candidates[rng_below(r, (uint64_t)d->n_candidates)];
    const struct slot *parent = &d->plan->slots[s->parent_slot];
    s->native = parent->native;
    s->root_slot = parent->root_slot; /* of a native; linking sets the others */
}

static void draw_slot(struct drawing *d, int at) {
    struct slot *s = &d->plan->slots[at];
    const struct corpus_rates *rates = &d->c->rates;
    if (d->options_left > 0) {
        d->options_left--;
        s->kind = KIND_POLLOPT;
        s->parent_slot = (uint8_t)d->poll_slot;
        return;
    }
    double u = (double)(rng_next(&d->rng) >> 11) * 0x1p-53;
    if (at == 0 || u < rates->story) { /* slot 0: so that a block can always be answered */
        draw_root(s, KIND_STORY, at);
    } else if ((u -= rates->story) < rates->job) {
        s->kind = KIND_JOB;
    } else if ((u -= rates->job) < rates->poll && at + 7 < BLOCK_IDS) {
        draw_root(s, KIND_POLL, at);
        d->poll_slot = at;
        d->options_left = 2 + (int)rng_below(&d->rng, 5);
    } else {
        draw_comment(d, s);
        s->missing = u >= rates->poll && u - rates->poll < rates->missing;
    }
}

static void draw(const struct corpus *c, struct plan *p) {
    struct drawing d = {.c = c, .plan = p, .rng = {corpus_hash(c, SALT_PLAN, p->block)}};
    memset(p->slots, 0, sizeof p->slots);
    d.hot = chance(rng_next(&d.rng), HOT_SHARE);
    for (int i = 0; i < BLOCK_IDS; i++) {
        draw_slot(&d, i);
        const struct slot *s = &p->slots[i];
        if (!answerable(s))
            continue;
        d.candidates[d.n_candidates++] = (uint8_t)i;
        if (s->kind != KIND_COMMENT)
            d.roots[d.n_roots++] = (uint8_t)i;
    }
}

static struct plan *drawn(const struct corpus *c, int64_t block) {
    struct plan *p = &cache[block % CACHE_PLANS];
    if (p->owner == c->owner && p->block == block)
        return p;
    p->owner = c->owner;
    p->block = block;
    p->linked = false;
    draw(c, p);
    return p;
}

static int nth_native(const struct plan *p, int pick) {
    uint8_t natives[BLOCK_IDS];
    int n = 0;
    for (int i = 0; i < BLOCK_IDS; i++)
        if (p->slots[i].native && answerable(&p->slots[i]))
            natives[n++] = (uint8_t)i;
    return natives[pick % n]; /* slot 0 is always among them */
}

const struct plan *corpus_plan(const struct corpus *c, int64_t block) {
    struct plan *p = drawn(c, block);
    if (p->linked)
        return p;
    for (int i = 0; i < BLOCK_IDS; i++) {
        struct slot *s = &p->slots[i];
        if (s->kind != KIND_COMMENT || s->native)
            continue;
        if (s->parent_back) {
            const struct plan *far = drawn(c, block - s->parent_back);
            s->parent_slot = (uint8_t)nth_native(far, s->pick);
            s->root_back = s->parent_back;
            s->root_slot = far->slots[s->parent_slot].root_slot;
        } else {
            s->root_back = p->slots[s->parent_slot].root_back;
            s->root_slot = p->slots[s->parent_slot].root_slot;
        }
    }
    p->linked = true;
    return p;
}

static bool shown(const struct corpus *c, const struct slot *s, int64_t id) {
    if (!s->missing)
        return true;
    struct change ch;
    return corpus_find_change(c, id, &ch) && ch.restored;
}

/* Blocks that can hold children of `block`, bounded by maxitem. */
static int64_t last_block(const struct corpus *c, int64_t block) {
    int64_t newest = block_of(corpus_maxitem(c));
    return newest < block + BLOCK_REACH ? newest : block + BLOCK_REACH;
}

static void sort_by_rank(uint64_t *rank, int64_t *ids, int n) {
    for (int i = 1; i < n; i++) {
        uint64_t r = rank[i];
        int64_t id = ids[i];
        int at = i;
        for (; at > 0 && rank[at - 1] > r; at--) {
            rank[at] = rank[at - 1];
            ids[at] = ids[at - 1];
        }
        rank[at] = r;
        ids[at] = id;
    }
}

int corpus_kids(const struct corpus *c, const struct item *it, int64_t *ret) {
    if (it->kind == KIND_JOB || it->kind == KIND_POLLOPT)
        return 0;
    uint64_t rank[ITEM_MAX_KIDS];
    int n = 0;
    int64_t home = block_of(it->id), max = corpus_maxitem(c);
    for (int64_t b = home; b <= last_block(c, home); b++) {
        const struct plan *p = corpus_plan(c, b);
        for (int i = 0; i < BLOCK_IDS; i++) {
            const struct slot *s = &p->slots[i];
            int64_t id = id_at(b, i);
            if (s->kind != KIND_COMMENT || s->parent_slot != slot_of(it->id) ||
                s->parent_back != b - home || id > max || !shown(c, s, id))
                continue;
            rank[n] = corpus_hash(c, SALT_RANK, id + ((int64_t)it->change.bumps << 32));
            ret[n++] = id;
        }
    }
    sort_by_rank(rank, ret, n);
    return n;
}

int corpus_descendants(const struct corpus *c, const struct item *it) {
    int n = 0;
    int64_t home = block_of(it->id), max = corpus_maxitem(c);
    for (int64_t b = home; b <= last_block(c, home); b++) {
        const struct plan *p = corpus_plan(c, b);
        for (int i = 0; i < BLOCK_IDS && id_at(b, i) <= max; i++) {
            const struct slot *s = &p->slots[i];
            n += s->kind == KIND_COMMENT && s->root_slot == slot_of(it->id) &&
                 s->root_back == b - home && shown(c, s, id_at(b, i));
        }
    }
    return n;
}

int corpus_parts(const struct corpus *c, const struct item *it, int64_t *ret) {
    int n = 0;
    const struct plan *p = corpus_plan(c, block_of(it->id));
    for (int i = slot_of(it->id) + 1; i < BLOCK_IDS && p->slots[i].kind == KIND_POLLOPT; i++) {
        int64_t id = id_at(p->block, i);
        if (p->slots[i].parent_slot == slot_of(it->id) && id <= corpus_maxitem(c))
            ret[n++] = id;
    }
    return n;
}
