#include "base/crew.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define GOOD_LIFE_MS 60000 /* who lived for so long did not die of its start */

enum slot_state {
    SLOT_RUNNING,  /* has a thread, which may have ended unseen */
    SLOT_WAITING,  /* dead, until restart_at */
    SLOT_FINISHED, /* for good, and that is well */
    SLOT_DEAD,     /* for good */
};

/* Its thread writes verdict and err, then `ended`, and nothing after that; the rest is the
 * supervisor's. What others may ask for is atomic. */
struct slot {
    struct crew *crew;
    int index;
    _Atomic int state;
    _Atomic int64_t beat; /* clock_mono() */
    atomic_bool ended;
    enum verdict verdict;
    struct err err;
    pthread_t thread;
    bool has_thread; /* that is not joined yet */
    int64_t born, restart_at;
    int deaths;        /* in a row */
    int64_t *restarts; /* instants of the last `budget` ones, a ring */
    int64_t n_restarts;
};

struct crew {
    struct crew_kind kind;
    struct slot slots[CREW_MAX];
    _Atomic int64_t restarts;
    struct err last_death;
    bool over;   /* joined: nothing is restarted any more */
    bool broken; /* the answer stays CREW_DEAD */
};

static void thread_name(const struct slot *s, char out[static 32]) {
    snprintf(out, 32, "%.20s-%d", s->crew->kind.name, s->index);
}

static void beat(struct slot *s) {
    atomic_store_explicit(&s->beat, clock_mono(s->crew->kind.clock), memory_order_relaxed);
}

/* One life. */
static void *life(void *arg) {
    struct slot *s = arg;
    const struct crew_kind *k = &s->crew->kind;
    void *worker = NULL;
    enum verdict v = k->make(k->arg, s->index, &worker, &s->err);
    bool made = v == V_OK;
    beat(s);
    while (v == V_OK) {
        v = k->step(worker, &s->err);
        beat(s);
    }
    if (made)
        k->unmake(worker, v != V_STOPPED);
    s->verdict = v;
    atomic_store(&s->ended, true);
    return NULL;
}

/* A thread that cannot be started is a life that ended before its first step. */
static void give_life(struct slot *s) {
    char name[32];
    thread_name(s, name);
    s->err = (struct err){0};
    s->ended = false;
    s->born = clock_mono(s->crew->kind.clock);
    s->beat = s->born;
    enum verdict v = thread_start(&s->thread, name, life, s, &s->err);
    s->has_thread = v == V_OK;
    if (v != V_OK) {
        s->verdict = v;
        s->ended = true;
    }
    s->state = SLOT_RUNNING;
}

enum verdict crew_start(const struct crew_kind *k, struct crew **ret, struct err *e) {
    if (k->n < 1 || k->n > CREW_MAX || k->budget < 0)
        return err_set(e, V_INVALID, "crew", 0, "%s: %d workers with a budget of %d restarts",
                       k->name, k->n, k->budget);
    struct crew *c = xcalloc(1, sizeof *c);
    c->kind = *k;
    for (int i = 0; i < k->n; i++) {
        c->slots[i].crew = c;
        c->slots[i].index = i;
        c->slots[i].restarts = xcalloc((size_t)k->budget + 1, sizeof(int64_t));
        give_life(&c->slots[i]);
    }
    *ret = c;
    return V_OK;
}

/* Doubles with each death in a row. */
static int64_t delay_of(const struct crew_kind *k, int deaths) {
    int64_t delay = k->delay_ms;
    for (int i = 1; i < deaths && delay < k->max_delay_ms; i++)
        delay = delay > k->max_delay_ms / 2 ? k->max_delay_ms : delay * 2;
    return delay;
}

/* Whether a restart at `at` is within the worker's budget. */
static bool affordable(const struct slot *s, int64_t at) {
    const struct crew_kind *k = &s->crew->kind;
    if (s->n_restarts < k->budget)
        return true;
    return k->budget > 0 && s->restarts[s->n_restarts % k->budget] <= at - k->budget_ms;
}

static void bury(struct slot *s, int64_t now) {
    struct crew *c = s->crew;
    if (!s->err.msg[0]) {
        char name[32];
        thread_name(s, name);
        err_set(&s->err, s->verdict, "crew", 0, "%s ended with verdict %s", name,
                verdict_name(s->verdict));
    }
    c->last_death = s->err;
    s->deaths = s->beat - s->born >= GOOD_LIFE_MS ? 1 : s->deaths + 1;
    s->restart_at = now + delay_of(&c->kind, s->deaths);
    if (!c->kind.restart)
        c->broken = true;
    s->state = c->kind.restart && affordable(s, s->restart_at) ? SLOT_WAITING : SLOT_DEAD;
}

static void restart(struct slot *s, int64_t now) {
    const struct crew_kind *k = &s->crew->kind;
    s->restarts[s->n_restarts++ % k->budget] = now;
    s->crew->restarts++;
    give_life(s);
}

static void join(struct slot *s) {
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
}

/* What became of a life that ended. */
static void settle(struct slot *s, int64_t now,
                   void (*on_death)(void *arg, int index, const struct err *e), void *arg) {
    join(s);
    if (s->verdict == V_STOPPED) {
        s->state = SLOT_FINISHED;
        return;
    }
    bury(s, now);
    if (on_death)
        on_death(arg, s->index, &s->err);
}

enum crew_state crew_tend(struct crew *c,
                          void (*on_death)(void *arg, int index, const struct err *e), void *arg) {
    int64_t now = clock_mono(c->kind.clock);
    int running = 0, finished = 0;
    for (int i = 0; i < c->kind.n; i++) {
        struct slot *s = &c->slots[i];
        if (s->state == SLOT_RUNNING && s->ended)
            settle(s, now, on_death, arg);
        if (s->state == SLOT_WAITING && s->restart_at <= now && !c->over && !c->broken)
            restart(s, now);
        /* One that ends from here on is judged next time, when it is known how it ended. */
        running += s->state == SLOT_RUNNING;
        finished += s->state == SLOT_FINISHED;
    }
    if (finished == c->kind.n)
        return CREW_FINISHED;
    if (running == 0)
        c->broken = true;
    return c->broken ? CREW_DEAD : CREW_WORKING;
}

static bool alive(const struct slot *s) {
    return s->state == SLOT_RUNNING && !s->ended;
}

int crew_alive(const struct crew *c) {
    int n = 0;
    for (int i = 0; i < c->kind.n; i++)
        n += alive(&c->slots[i]);
    return n;
}

int64_t crew_restarts(const struct crew *c) {
    return c->restarts;
}

int64_t crew_silence_ms(const struct crew *c) {
    int64_t now = clock_mono(c->kind.clock), longest = 0;
    for (int i = 0; i < c->kind.n; i++) {
        int64_t silence = now - c->slots[i].beat;
        if (alive(&c->slots[i]) && silence > longest)
            longest = silence;
    }
    return longest;
}

const struct err *crew_error(const struct crew *c) {
    return &c->last_death;
}

void crew_join(struct crew *c) {
    c->over = true;
    for (int i = 0; i < c->kind.n; i++)
        join(&c->slots[i]);
}

void crew_free(struct crew *c) {
    if (!c)
        return;
    for (int i = 0; i < c->kind.n; i++) {
        assert(!c->slots[i].has_thread);
        free(c->slots[i].restarts);
    }
    free(c);
}
