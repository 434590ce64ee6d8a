/* What moves the made-up site while it is served. The corpus changes first, then the streams tell,
 * so that whoever asks because of them sees the change. */
#include "demo/server_int.h"

#include <string.h>

#define ANNOUNCED_MAX 100 /* new ids named in one event */

/* Adds an id unless it is there or there is none. */
static void add_id(int64_t *ids, size_t *n, int64_t id) {
    for (size_t i = 0; i < *n; i++)
        if (ids[i] == id)
            return;
    if (id)
        ids[(*n)++] = id;
}

/* New ids, and the parents and stories that gained a comment by them. */
static void announce(struct demo *d, int64_t from, int64_t to) {
    int64_t ids[3 * ANNOUNCED_MAX];
    size_t n = 0;
    int64_t low = to - from > ANNOUNCED_MAX ? to - ANNOUNCED_MAX + 1 : from + 1;
    for (int64_t id = low; id <= to; id++)
        add_id(ids, &n, id);
    for (int64_t id = low; id <= to; id++) {
        add_id(ids, &n, corpus_parent(d->corpus, id));
        add_id(ids, &n, corpus_root(d->corpus, id));
    }
    hub_updates(&d->hub, ids, n);
}

void demo_move_maxitem(struct demo *d, int64_t to, bool quiet) {
    int64_t from = corpus_maxitem(d->corpus);
    if (to == from)
        return;
    corpus_set_maxitem(d->corpus, to);
    if (quiet)
        return;
    if (to > from)
        announce(d, from, to);
    hub_maxitem(&d->hub, to);
}

void demo_set_maxitem(struct demo *d, int64_t maxitem, bool quiet) {
    pthread_mutex_lock(&d->steer);
    demo_move_maxitem(d, maxitem, quiet);
    d->grow_from = maxitem;
    d->grow_since_ms = clock_mono(d->clock);
    pthread_mutex_unlock(&d->steer);
}

/* Changes one item. What gained a kid because the item was null before is named with it; the item
 * alone only if `name_it`. */
static enum verdict change_one(struct demo *d, int64_t id, enum corpus_change how, bool quiet,
                               bool name_it, struct err *e) {
    struct corpus *c = d->corpus;
    bool was_missing = corpus_root(c, id) == 0;
    enum verdict v = corpus_mutate(c, id, how, e);
    if (v != V_OK || quiet || (!was_missing && !name_it))
        return v;
    int64_t ids[3] = {id};
    size_t n = 1;
    if (was_missing) {
        add_id(ids, &n, corpus_parent(c, id));
        add_id(ids, &n, corpus_root(c, id));
    }
    hub_updates(&d->hub, ids, n);
    return V_OK;
}

static enum verdict change_range(struct demo *d, int64_t lo, int64_t hi, enum corpus_change how,
                                 bool quiet, int64_t *changed, struct err *e) {
    for (int64_t id = lo; id <= hi; id++) {
        enum verdict v = change_one(d, id, how, quiet, false, e);
        if (v != V_OK && v != V_NOT_FOUND)
            return v;
        *changed += v == V_OK;
    }
    return quiet ? V_OK : burst_add(&d->burst, &(struct mentions){lo, hi - lo + 1, 1, 0, 0}, e);
}

enum verdict demo_mutate(struct demo *d, int64_t lo, int64_t hi, enum corpus_change how, bool quiet,
                         int64_t *ret_changed, struct err *e) {
    *ret_changed = 0;
    if (lo < 1 || hi < lo || hi > corpus_maxitem(d->corpus))
        return err_set(e, V_NOT_FOUND, "demo", 0, "there are no items %lld to %lld", (long long)lo,
                       (long long)hi);
    if (lo < hi)
        return change_range(d, lo, hi, how, quiet, ret_changed, e);
    enum verdict v = change_one(d, lo, how, quiet, true, e);
    *ret_changed = v == V_OK;
    return v;
}

enum verdict demo_mutate_user(struct demo *d, const char *name, bool quiet, struct err *e) {
    enum verdict v = corpus_mutate_user(d->corpus, str_of(name), e);
    if (v == V_OK && !quiet)
        hub_profile(&d->hub, name);
    return v;
}

enum verdict demo_mention(struct demo *d, const struct mentions *m, struct err *e) {
    return burst_add(&d->burst, m, e);
}

void demo_stream_do(struct demo *d, enum stream_deed deed) {
    hub_do(&d->hub, deed);
}

void demo_set_down(struct demo *d, bool down) {
    hub_set_down(&d->hub, down);
}

enum verdict demo_set_faults(struct demo *d, const char *const *specs, size_t n, struct err *e) {
    struct faults *fresh = NULL;
    enum verdict v = faults_new(specs, n, d->seed, d->clock, &fresh, e);
    if (v != V_OK)
        return v;
    pthread_rwlock_wrlock(&d->faults_lock);
    struct faults *old = d->faults;
    d->faults = fresh;
    pthread_rwlock_unlock(&d->faults_lock);
    faults_free(old);
    return V_OK;
}
