/* The corpus itself: its options, what was changed, and what an id is before words are put to it.
 * Changes are few beside the ids, so they live in one small hash table behind a lock; while there
 * are none, a reader pays one atomic load. */
#include "demo/corpus_int.h"

#include <stdlib.h>
#include <string.h>

#define CHANGE_SLOTS (CORPUS_MAX_CHANGES * 2) /* a power of two, at most half full */

static const int64_t FIRST_TIME = 1160418111;

struct corpus_rates corpus_rates_default(void) {
    struct corpus_rates r = corpus_rates_tame();
    r.missing = 0.002;
    r.nul = 0.002;
    r.odd_true = 0.02;
    r.odd_array = 0.002;
    r.odd_empty = 0.005;
    r.no_type = r.no_time = r.future_time = 0.0005;
    r.unknown_field = 0.002;
    return r;
}

struct corpus_rates corpus_rates_tame(void) {
    return (struct corpus_rates){
        .story = 0.1,
        .job = 0.005,
        .poll = 0.003,
        .deleted = 0.06,
        .dead = 0.043,
        .unicode = 0.03,
        .delayed = 0.3,
    };
}

static enum verdict check_options(const struct corpus_options *o, const struct corpus_rates *r,
                                  struct err *e) {
    if (o->maxitem < 0 || o->maxitem > CORPUS_MAX_ID)
        return err_set(e, V_INVALID, "demo", 0, "maxitem must be between 0 and %lld",
                       (long long)CORPUS_MAX_ID);
    const double all[] = {
        r->story,       r->job,           r->poll,
        r->missing,     r->deleted,       r->dead,
        r->unicode,     r->nul,           r->no_type,
        r->no_time,     r->odd_true,      r->odd_array,
        r->odd_empty,   r->delayed,       r->deleted + r->dead,
        r->future_time, r->unknown_field, r->story + r->job + r->poll + r->missing};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (!(all[i] >= 0 && all[i] <= 1))
            return err_set(e, V_INVALID, "demo", 0, "a rate of %g is not between 0 and 1", all[i]);
    return V_OK;
}

enum verdict corpus_new(const struct corpus_options *o, struct corpus **ret, struct err *e) {
    static _Atomic uint64_t next_owner = 1;
    struct corpus_rates rates = o->rates ? *o->rates : corpus_rates_default();
    enum verdict v = check_options(o, &rates, e);
    if (v != V_OK)
        return v;
    struct corpus *c = xcalloc(1, sizeof *c);
    c->key = rng_mix(o->seed + 0x9E3779B97F4A7C15ULL);
    c->owner = atomic_fetch_add(&next_owner, 1);
    c->first_time = o->first_time ? o->first_time : FIRST_TIME;
    c->rates = rates;
    c->maxitem = o->maxitem;
    pthread_rwlock_init(&c->lock, NULL);
    *ret = c;
    return V_OK;
}

void corpus_free(struct corpus *c) {
    if (!c)
        return;
    pthread_rwlock_destroy(&c->lock);
    free(c->changes);
    free(c);
}

int64_t corpus_maxitem(const struct corpus *c) {
    return atomic_load_explicit(&c->maxitem, memory_order_relaxed);
}

void corpus_set_maxitem(struct corpus *c, int64_t maxitem) {
    int64_t to = maxitem < 0 ? 0 : maxitem > CORPUS_MAX_ID ? CORPUS_MAX_ID : maxitem;
    atomic_store_explicit(&c->maxitem, to, memory_order_relaxed);
}

void corpus_set_sites(struct corpus *c, int port) {
    atomic_store_explicit(&c->sites, port, memory_order_relaxed);
}

int corpus_sites(const struct corpus *c) {
    return atomic_load_explicit(&c->sites, memory_order_relaxed);
}

/* The entry of the id, or the free one where it belongs. */
static struct change *change_at(const struct corpus *c, int64_t id) {
    size_t at = (size_t)rng_mix((uint64_t)id) % CHANGE_SLOTS;
    while (c->changes[at].id && c->changes[at].id != id)
        at = (at + 1) % CHANGE_SLOTS;
    return &c->changes[at];
}

bool corpus_find_change(const struct corpus *c, int64_t id, struct change *ret) {
    *ret = (struct change){.state = -1};
    if (LIKELY(atomic_load_explicit(&c->n_changes, memory_order_acquire) == 0))
        return false;
    pthread_rwlock_t *lock = (pthread_rwlock_t *)&c->lock; /* the lock is no part of the value */
    pthread_rwlock_rdlock(lock);
    const struct change *ch = change_at(c, id);
    if (ch->id)
        *ret = *ch;
    pthread_rwlock_unlock(lock);
    return ret->id != 0;
}

uint32_t corpus_version(const struct corpus *c, int64_t id) {
    struct change ch;
    return corpus_find_change(c, id, &ch) ? ch.version : 0;
}

static int64_t base_score(const struct corpus *c, int64_t id) {
    uint64_t h = corpus_hash(c, SALT_SCORE, id);
    int64_t u = (int64_t)(h & 1023);
    return 1 + (int64_t)((h >> 10) & 3) + u * u * u / 2600000 * (1 + (int64_t)((h >> 12) & 3));
}

static enum state base_state(const struct corpus *c, const struct item *it) {
    if (it->kind != KIND_STORY && it->kind != KIND_COMMENT)
        return STATE_ALIVE;
    double u = (double)(corpus_hash(c, SALT_STATE, it->id) >> 11) * 0x1p-53;
    return u < c->rates.deleted                   ? STATE_DELETED
           : u < c->rates.deleted + c->rates.dead ? STATE_DEAD
                                                  : STATE_ALIVE;
}

/* A few write most of it: the square of a uniform draw leans towards the low numbers. */
int corpus_author_of(const struct corpus *c, int64_t id) {
    uint64_t u = corpus_hash(c, SALT_AUTHOR, id) >> 32;
    return (int)(((u * u) >> 32) * CORPUS_USERS >> 32);
}

void corpus_look(const struct corpus *c, int64_t id, struct item *ret) {
    *ret = (struct item){.id = id, .change = {.state = -1}};
    if (id < 1 || id > corpus_maxitem(c))
        return;
    const struct plan *p = corpus_plan(c, block_of(id));
    const struct slot *s = &p->slots[slot_of(id)];
    corpus_find_change(c, id, &ret->change);
    ret->exists = !s->missing || ret->change.restored;
    ret->kind = s->kind;
    ret->root = id;
    if (s->kind == KIND_COMMENT) {
        ret->parent = id_at(p->block - s->parent_back, s->parent_slot);
        ret->root = id_at(p->block - s->root_back, s->root_slot);
    } else if (s->kind == KIND_POLLOPT) {
        ret->poll = ret->root = id_at(p->block, s->parent_slot);
    }
    ret->author = corpus_author_of(c, ret->poll ? ret->poll : id);
    ret->score = base_score(c, id) + 7 * (int64_t)ret->change.bumps;
    ret->state = ret->change.state >= 0 ? (enum state)ret->change.state : base_state(c, ret);
}

int64_t corpus_parent(const struct corpus *c, int64_t id) {
    struct item it;
    corpus_look(c, id, &it);
    return it.exists ? it.parent : 0;
}

int64_t corpus_root(const struct corpus *c, int64_t id) {
    struct item it;
    corpus_look(c, id, &it);
    return it.exists ? it.root : 0;
}

static enum corpus_change choose_change(const struct corpus *c, const struct item *it) {
    uint64_t h = corpus_hash(c, SALT_CHANGE, it->id + ((int64_t)it->change.version << 32)) % 10;
    if (it->state != STATE_ALIVE)
        return CORPUS_RESTORE;
    return h == 0 ? CORPUS_DELETE : h == 1 ? CORPUS_DEAD : h < 6 ? CORPUS_SCORE : CORPUS_EDIT;
}

static void apply_change(struct change *ch, const struct item *it, enum corpus_change how) {
    bool may_go = it->kind == KIND_STORY || it->kind == KIND_COMMENT;
    ch->id = it->id;
    ch->version++;
    if (how == CORPUS_RESTORE) {
        ch->restored = true;
        ch->state = STATE_ALIVE;
    } else if (may_go && (how == CORPUS_DEAD || how == CORPUS_DELETE)) {
        ch->state = how == CORPUS_DEAD ? STATE_DEAD : STATE_DELETED;
    } else if (how == CORPUS_SCORE && it->kind != KIND_COMMENT) {
        ch->bumps++;
    } else {
        ch->edits++;
    }
}

enum verdict corpus_mutate(struct corpus *c, int64_t id, enum corpus_change how, struct err *e) {
    struct item it;
    corpus_look(c, id, &it);
    if (id < 1 || id > corpus_maxitem(c) || (!it.exists && how != CORPUS_RESTORE))
        return err_set(e, V_NOT_FOUND, "demo", 0, "there is no item %lld", (long long)id);
    if (how == CORPUS_ANY)
        how = choose_change(c, &it);
    enum verdict v = V_OK;
    pthread_rwlock_wrlock(&c->lock);
    if (!c->changes)
        c->changes = xcalloc(CHANGE_SLOTS, sizeof *c->changes);
    struct change *ch = change_at(c, id);
    if (ch->id == 0 && c->n_changes >= CORPUS_MAX_CHANGES) {
        v = err_set(e, V_LIMIT, "demo", 0, "%d ids were changed already", CORPUS_MAX_CHANGES);
    } else {
        if (ch->id == 0) {
            ch->state = -1;
            atomic_fetch_add_explicit(&c->n_changes, 1, memory_order_release);
        }
        apply_change(ch, &it, how);
    }
    pthread_rwlock_unlock(&c->lock);
    return v;
}
