#include "base/keyring.h"

#include "base/attr.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    char *key;
    int n, mark;
};

struct keyring {
    pthread_mutex_t lock;
    size_t max, first, n;
    struct slot *slots;
};

struct keyring *keyring_new(size_t max) {
    struct keyring *r = xcalloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->max = max ? max : 1;
    r->slots = xcalloc(r->max, sizeof *r->slots);
    return r;
}

static void drop_first(struct keyring *r) {
    free(r->slots[r->first].key);
    r->slots[r->first].key = NULL;
    r->first = (r->first + 1) % r->max;
    r->n--;
}

void keyring_free(struct keyring *r) {
    if (!r)
        return;
    while (r->n)
        drop_first(r);
    pthread_mutex_destroy(&r->lock);
    free(r->slots);
    free(r);
}

static void add_last(struct keyring *r, struct str key, int mark) {
    struct slot *s = &r->slots[(r->first + r->n++) % r->max];
    *s = (struct slot){.key = xmalloc(key.n + 1), .n = (int)key.n, .mark = mark};
    memcpy(s->key, key.p, key.n);
    s->key[key.n] = 0;
}

enum keyring_pushed keyring_push(struct keyring *r, struct str key, int mark, int *ret_dropped) {
    enum keyring_pushed how = KEYRING_TAKEN;
    if (key.n > KEYRING_KEY_MAX)
        return KEYRING_TOO_LONG;
    pthread_mutex_lock(&r->lock);
    if (r->n == r->max) {
        how = KEYRING_DROPPED_OLDEST;
        *ret_dropped = r->slots[r->first].mark;
        drop_first(r);
    }
    add_last(r, key, mark);
    pthread_mutex_unlock(&r->lock);
    return how;
}

bool keyring_push_if_room(struct keyring *r, struct str key, int mark) {
    pthread_mutex_lock(&r->lock);
    bool room = r->n < r->max && key.n <= KEYRING_KEY_MAX;
    if (room)
        add_last(r, key, mark);
    pthread_mutex_unlock(&r->lock);
    return room;
}

int keyring_pop(struct keyring *r, char out[KEYRING_KEY_MAX + 1], int *ret_mark) {
    int n = -1;
    pthread_mutex_lock(&r->lock);
    if (r->n) {
        const struct slot *s = &r->slots[r->first];
        n = s->n;
        memcpy(out, s->key, (size_t)n + 1);
        *ret_mark = s->mark;
        drop_first(r);
    }
    pthread_mutex_unlock(&r->lock);
    return n;
}

size_t keyring_count(struct keyring *r) {
    pthread_mutex_lock(&r->lock);
    size_t n = r->n;
    pthread_mutex_unlock(&r->lock);
    return n;
}

size_t keyring_room(struct keyring *r) {
    return r->max - keyring_count(r);
}
