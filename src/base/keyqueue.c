#include "base/keyqueue.h"

#include "base/rng.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define FIRST_BUCKETS 64
#define COOLING_PER_CAP 4 /* finished keys that are remembered; the oldest are forgotten first */
#define MANUAL_WATCH_MS 10

/* A key is in exactly one place. It is remembered for a rest after it was taken, so that a key that
 * is named right after it was finished still rests: that is what COOLING is for. */
enum place { READY, RESTING, TAKEN, COOLING };

struct entry {
    struct key_ticket t; /* TAKEN: of the next round, if `again` */
    int64_t due;         /* rest_ms after it was last taken */
    uint64_t turn;       /* RESTING: order among those due at once */
    enum place place;
    bool again; /* TAKEN: named meanwhile */
    struct entry *prev, *next;
    struct entry *chain; /* of its bucket */
};

struct list {
    struct entry *first, *last;
};

struct keyqueue {
    struct keyqueue_options o;
    pthread_mutex_t lock;
    pthread_cond_t filled, room;
    struct entry **buckets; /* n_buckets is a power of two */
    size_t n_buckets, n_entries;
    struct list ready, taken, cooling;
    struct entry **resting; /* a heap: keys begin to rest in any order of their due times */
    size_t n_resting, cap_resting;
    uint64_t turns;
    size_t waiting, n_taken, n_cooling;
    int64_t added, joined, refused;
    bool closed;
    /* Takers asleep. One of them at most is on its way (`called`), and calls the next if it leaves
     * something: a burst of offers costs one wake-up. One at most wakes by itself when the first
     * resting key is due (`watcher`, 0: nobody). */
    size_t sleepers;
    bool called;
    uint64_t watcher, watches;
    size_t room_sleepers;
};

/* Lists -----------------------------------------------------------------------------------------
 */

static void list_append(struct list *l, struct entry *e) {
    e->prev = l->last;
    e->next = NULL;
    if (l->last)
        l->last->next = e;
    else
        l->first = e;
    l->last = e;
}

static void list_remove(struct list *l, struct entry *e) {
    if (e->prev)
        e->prev->next = e->next;
    else
        l->first = e->next;
    if (e->next)
        e->next->prev = e->prev;
    else
        l->last = e->prev;
}

static struct entry *list_pop(struct list *l) {
    struct entry *e = l->first;
    l->first = e->next;
    if (e->next)
        e->next->prev = NULL;
    else
        l->last = NULL;
    return e;
}

/* The table -------------------------------------------------------------------------------------
 */

static struct entry **bucket_of(const struct keyqueue *q, int64_t key) {
    return &q->buckets[rng_mix((uint64_t)key) & (q->n_buckets - 1)];
}

static struct entry *find(const struct keyqueue *q, int64_t key) {
    struct entry *e = *bucket_of(q, key);
    while (e && e->t.key != key)
        e = e->chain;
    return e;
}

static void grow(struct keyqueue *q) {
    struct entry **old = q->buckets;
    size_t n_old = q->n_buckets;
    q->n_buckets *= 2;
    q->buckets = xcalloc(q->n_buckets, sizeof(struct entry *));
    for (size_t i = 0; i < n_old; i++)
        for (struct entry *e = old[i], *next; e; e = next) {
            next = e->chain;
            struct entry **b = bucket_of(q, e->t.key);
            e->chain = *b;
            *b = e;
        }
    free(old);
}

static struct entry *insert(struct keyqueue *q, int64_t key) {
    if (q->n_entries == q->n_buckets)
        grow(q);
    struct entry *e = xcalloc(1, sizeof *e);
    e->t.key = key;
    struct entry **b = bucket_of(q, key);
    e->chain = *b;
    *b = e;
    q->n_entries++;
    return e;
}

/* It must have left its list. */
static void forget(struct keyqueue *q, struct entry *e) {
    struct entry **at = bucket_of(q, e->t.key);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    q->n_entries--;
    free(e);
}

/* The heap of those that rest -------------------------------------------------------------------
 */

static bool sooner(const struct entry *a, const struct entry *b) {
    return a->due != b->due ? a->due < b->due : a->turn < b->turn;
}

static void rest_push(struct keyqueue *q, struct entry *e) {
    if (q->n_resting == q->cap_resting) {
        q->cap_resting = q->cap_resting ? q->cap_resting * 2 : FIRST_BUCKETS;
        q->resting = xrealloc(q->resting, q->cap_resting * sizeof(struct entry *));
    }
    e->turn = q->turns++;
    size_t i = q->n_resting++;
    while (i > 0 && sooner(e, q->resting[(i - 1) / 2])) {
        q->resting[i] = q->resting[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    q->resting[i] = e;
    if (i == 0)
        q->watcher = 0; /* whoever watches does so for a later key */
}

static struct entry *rest_pop(struct keyqueue *q) {
    struct entry *top = q->resting[0], *moved = q->resting[--q->n_resting];
    size_t i = 0;
    for (size_t kid; (kid = 2 * i + 1) < q->n_resting; i = kid) {
        if (kid + 1 < q->n_resting && sooner(q->resting[kid + 1], q->resting[kid]))
            kid++;
        if (!sooner(q->resting[kid], moved))
            break;
        q->resting[i] = q->resting[kid];
    }
    if (q->n_resting)
        q->resting[i] = moved;
    return top;
}

/* From place to place ---------------------------------------------------------------------------
 */

static void make_ready(struct keyqueue *q, struct entry *e) {
    e->place = READY;
    list_append(&q->ready, e);
}

/* Into the waiting, from outside of it. */
static void make_wait(struct keyqueue *q, struct entry *e, int64_t now) {
    q->waiting++;
    if (e->due <= now) {
        make_ready(q, e);
    } else {
        e->place = RESTING;
        rest_push(q, e);
    }
}

/* What the passing of time does. */
static void keep_time(struct keyqueue *q, int64_t now) {
    while (q->n_resting && q->resting[0]->due <= now)
        make_ready(q, rest_pop(q));
    while (q->cooling.first &&
           (q->cooling.first->due <= now || q->n_cooling > COOLING_PER_CAP * q->o.cap)) {
        q->n_cooling--;
        forget(q, list_pop(&q->cooling));
    }
}

static void merge(struct key_ticket *into, const struct key_ticket *t) {
    if (t->level < into->level)
        into->level = t->level;
    if (t->since < into->since)
        into->since = t->since;
    into->flags |= t->flags;
}

static void call_taker(struct keyqueue *q) {
    bool something = q->ready.first || (q->n_resting && !q->watcher);
    if (something && q->sleepers && !q->called) {
        q->called = true;
        pthread_cond_signal(&q->filled);
    }
}

/* Making and freeing ----------------------------------------------------------------------------
 */

struct keyqueue *keyqueue_new(const struct keyqueue_options *o) {
    struct keyqueue *q = xcalloc(1, sizeof *q);
    q->o = *o;
    q->n_buckets = FIRST_BUCKETS;
    q->buckets = xcalloc(q->n_buckets, sizeof(struct entry *));
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, &attr);
    pthread_cond_init(&q->room, &attr);
    pthread_condattr_destroy(&attr);
    return q;
}

void keyqueue_free(struct keyqueue *q) {
    if (!q)
        return;
    for (size_t i = 0; i < q->n_buckets; i++)
        for (struct entry *e = q->buckets[i], *next; e; e = next) {
            next = e->chain;
            free(e);
        }
    free(q->buckets);
    free(q->resting);
    pthread_cond_destroy(&q->room);
    pthread_cond_destroy(&q->filled);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* Offering --------------------------------------------------------------------------------------
 */

/* With the lock held; t.since is now. */
static enum key_offer offer(struct keyqueue *q, const struct key_ticket *t, size_t limit) {
    struct entry *e = find(q, t->key);
    if (e && e->place != COOLING) {
        if (e->place == TAKEN && !e->again) {
            e->again = true;
            e->t = *t;
        } else {
            merge(&e->t, t);
        }
        return KEY_JOINED;
    }
    if (q->waiting >= limit)
        return KEY_FULL;
    if (e) {
        list_remove(&q->cooling, e);
        q->n_cooling--;
    } else {
        e = insert(q, t->key);
        e->due = t->since;
    }
    e->t = *t;
    make_wait(q, e, t->since);
    return KEY_ADDED;
}

enum key_offer keyqueue_offer(struct keyqueue *q, struct key_ticket t, bool extra) {
    enum key_offer result = KEY_CLOSED;
    t.since = clock_mono(q->o.clock);
    pthread_mutex_lock(&q->lock);
    if (!q->closed) {
        keep_time(q, t.since);
        result = offer(q, &t, extra ? 2 * q->o.cap : q->o.cap);
        q->added += result == KEY_ADDED;
        q->joined += result == KEY_JOINED;
        q->refused += result == KEY_FULL;
        call_taker(q);
    }
    pthread_mutex_unlock(&q->lock);
    return result;
}

static struct timespec timespec_of(int64_t ms) {
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

bool keyqueue_wait_room(struct keyqueue *q, int wait_ms) {
    struct timespec until = timespec_of(clock_mono(&clock_machine) + (wait_ms > 0 ? wait_ms : 0));
    bool in_time = wait_ms > 0;
    pthread_mutex_lock(&q->lock);
    while (in_time && q->waiting >= q->o.cap && !q->closed) {
        q->room_sleepers++;
        in_time = pthread_cond_timedwait(&q->room, &q->lock, &until) == 0;
        q->room_sleepers--;
    }
    bool room = q->waiting < q->o.cap && !q->closed;
    pthread_mutex_unlock(&q->lock);
    return room;
}

/* Taking ----------------------------------------------------------------------------------------
 */

static size_t take_ready(struct keyqueue *q, struct key_ticket *out, size_t max, int64_t now) {
    size_t n = 0;
    for (; n < max && q->ready.first; n++) {
        struct entry *e = list_pop(&q->ready);
        list_append(&q->taken, e);
        e->place = TAKEN;
        e->due = now + q->o.rest_ms;
        out[n] = e->t;
    }
    q->waiting -= n;
    q->n_taken += n;
    if (n && q->room_sleepers && q->waiting < q->o.cap)
        pthread_cond_broadcast(&q->room);
    return n;
}

/* Until called, or `until` (of the machine's clock), or as the one who watches until the first of
 * those that rest is due. A manual clock cannot be waited for: it is looked at often. False: the
 * time is up. */
static bool sleep_taker(struct keyqueue *q, int64_t until) {
    int64_t wake = until;
    uint64_t watch = 0;
    if (q->n_resting && !q->watcher) {
        watch = q->watcher = ++q->watches;
        int64_t due =
            q->o.clock->manual ? clock_mono(&clock_machine) + MANUAL_WATCH_MS : q->resting[0]->due;
        wake = due < until ? due : until;
    }
    struct timespec ts = timespec_of(wake);
    q->sleepers++;
    pthread_cond_timedwait(&q->filled, &q->lock, &ts);
    q->sleepers--;
    q->called = false;
    if (watch && q->watcher == watch)
        q->watcher = 0;
    return clock_mono(&clock_machine) < until;
}

size_t keyqueue_take(struct keyqueue *q, struct key_ticket *out, size_t max, int wait_ms) {
    bool in_time = wait_ms > 0 && max > 0;
    int64_t until = in_time ? clock_mono(&clock_machine) + wait_ms : 0;
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    while (!q->closed) {
        int64_t now = clock_mono(q->o.clock);
        keep_time(q, now);
        n = take_ready(q, out, max, now);
        if (n || !in_time)
            break;
        in_time = sleep_taker(q, until);
    }
    call_taker(q);
    pthread_mutex_unlock(&q->lock);
    return n;
}

/* With the lock held. */
static struct entry *untake(struct keyqueue *q, int64_t key) {
    struct entry *e = find(q, key);
    assert(e && e->place == TAKEN);
    list_remove(&q->taken, e);
    q->n_taken--;
    return e;
}

void keyqueue_done(struct keyqueue *q, int64_t key) {
    int64_t now = clock_mono(q->o.clock);
    pthread_mutex_lock(&q->lock);
    struct entry *e = untake(q, key);
    keep_time(q, now);
    if (e->again) {
        e->again = false;
        make_wait(q, e, now);
        call_taker(q);
    } else if (e->due <= now) {
        forget(q, e);
    } else {
        e->place = COOLING;
        list_append(&q->cooling, e);
        q->n_cooling++;
    }
    pthread_mutex_unlock(&q->lock);
}

void keyqueue_return(struct keyqueue *q, const struct key_ticket *t) {
    pthread_mutex_lock(&q->lock);
    struct entry *e = untake(q, t->key);
    if (e->again)
        merge(&e->t, t);
    else
        e->t = *t;
    e->again = false;
    q->waiting++;
    make_ready(q, e);
    call_taker(q);
    pthread_mutex_unlock(&q->lock);
}

/* The end ---------------------------------------------------------------------------------------
 */

void keyqueue_close(struct keyqueue *q) {
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->filled);
    pthread_cond_broadcast(&q->room);
    pthread_mutex_unlock(&q->lock);
}

size_t keyqueue_drain(struct keyqueue *q, struct key_ticket *out, size_t max) {
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    if (!q->closed)
        max = 0;
    while (n < max && q->n_resting)
        make_ready(q, rest_pop(q)); /* all of them: there is no time to rest */
    for (; n < max && q->ready.first; n++) {
        struct entry *e = list_pop(&q->ready);
        q->waiting--;
        out[n] = e->t;
        forget(q, e);
    }
    for (struct entry *e = q->taken.first; n < max && e; e = e->next)
        if (e->again) {
            e->again = false;
            out[n++] = e->t;
        }
    pthread_mutex_unlock(&q->lock);
    return n;
}

/* Keys come back with the `since` of their naming, so no list has them in that order: the few
 * thousand are looked through, which is cheap for what asks ten times a second. */
static int64_t oldest(const struct keyqueue *q) {
    int64_t least = INT64_MAX;
    for (const struct entry *e = q->ready.first; e; e = e->next)
        if (e->t.since < least)
            least = e->t.since;
    for (size_t i = 0; i < q->n_resting; i++)
        if (q->resting[i]->t.since < least)
            least = q->resting[i]->t.since;
    return q->waiting ? least : -1;
}

struct keyqueue_stats keyqueue_stats(struct keyqueue *q) {
    pthread_mutex_lock(&q->lock);
    struct keyqueue_stats s = {
        .waiting = q->waiting,
        .taken = q->n_taken,
        .added = q->added,
        .joined = q->joined,
        .refused = q->refused,
        .oldest = oldest(q),
    };
    pthread_mutex_unlock(&q->lock);
    return s;
}
