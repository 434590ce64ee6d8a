#include "web/topics.h"

#include <pthread.h>
#include <stdlib.h>

struct topics {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct arena arena; /* of what follows */
    const struct cdc_known *all;
    size_t n;
    int64_t until; /* clock_mono() */
};

struct topics *topics_new(const struct clock *clock) {
    struct topics *t = xcalloc(1, sizeof *t);
    t->clock = clock;
    t->until = -1;
    arena_init(&t->arena);
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void topics_free(struct topics *t) {
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    arena_release(&t->arena);
    free(t);
}

bool topics_are_known(struct topics *t, const struct feed_filter *f) {
    if (f->n_tables == 0)
        return true;
    pthread_mutex_lock(&t->lock);
    bool known = clock_mono(t->clock) < t->until && feed_filter_is_known(f, t->all, t->n);
    pthread_mutex_unlock(&t->lock);
    return known;
}

/* Takes the arena over. */
static void keep(struct topics *t, struct arena *a, const struct cdc_known *all, size_t n) {
    pthread_mutex_lock(&t->lock);
    struct arena old = t->arena;
    t->arena = *a;
    t->all = all;
    t->n = n;
    t->until = clock_mono(t->clock) + TOPICS_MS;
    pthread_mutex_unlock(&t->lock);
    arena_release(&old);
}

enum verdict topics_check(struct topics *t, struct store *s, const struct feed_filter *f,
                          const char *param, struct err *e) {
    struct arena a;
    const struct cdc_known *all;
    size_t n;
    arena_init(&a);
    enum verdict v = store_cdc_known(s, &a, &all, &n, e);
    if (v != V_OK) {
        arena_release(&a);
        return v;
    }
    v = feed_filter_check(f, all, n, param, e);
    keep(t, &a, all, n);
    return v;
}
