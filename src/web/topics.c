#include "web/topics.h"

#include <pthread.h>
#include <stdlib.h>

struct topics {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct arena arena; /* of what follows */
    struct feed_names names;
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
    bool known = clock_mono(t->clock) < t->until && feed_filter_is_known(f, &t->names);
    pthread_mutex_unlock(&t->lock);
    return known;
}

/* Takes the arena over. */
static void keep(struct topics *t, struct arena *a, const struct feed_names *names) {
    pthread_mutex_lock(&t->lock);
    struct arena old = t->arena;
    t->arena = *a;
    t->names = *names;
    t->until = clock_mono(t->clock) + TOPICS_MS;
    pthread_mutex_unlock(&t->lock);
    arena_release(&old);
}

enum verdict topics_check(struct topics *t, struct store *s, const struct feed_filter *f,
                          const char *param, struct err *e) {
    struct arena a;
    struct feed_names names;
    arena_init(&a);
    enum verdict v = feed_names_read(s, &a, &names, e);
    if (v != V_OK) {
        arena_release(&a);
        return v;
    }
    v = feed_filter_check(f, &names, param, e);
    keep(t, &a, &names);
    return v;
}
