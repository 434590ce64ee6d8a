#include "web/herald.h"

#include "base/log.h"
#include "base/thread.h"
#include "store/read.h"
#include "web/events.h"
#include "web/hn_json.h"

#include <pthread.h>
#include <stdlib.h>

#define PAGE_CHANGES 1000 /* named by one frame */
#define SWEEP_MS 2000
#define TROUBLE_MS 1000 /* until the next try when the store failed */

struct herald {
    struct herald_options o;
    struct store *store;
    struct arena arena;
    struct strbuf whole, change;
    int64_t mark, maxitem; /* as published */
    bool told;             /* there was a first time */
    bool broken;           /* the store has to recover first */
    int64_t look_at, beat_at, sweep_at;
    /* the thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool rung, stopping;
};

struct herald *herald_new(const struct herald_options *o) {
    struct herald *l = xcalloc(1, sizeof *l);
    l->o = *o;
    l->o.poll_ms = o->poll_ms ? o->poll_ms : HERALD_POLL_MS;
    l->o.keep_alive_ms = o->keep_alive_ms ? o->keep_alive_ms : HERALD_KEEP_ALIVE_MS;
    int64_t now = clock_mono(o->clock);
    l->look_at = now;
    l->beat_at = now + l->o.keep_alive_ms;
    l->sweep_at = now + SWEEP_MS;
    arena_init(&l->arena);
    strbuf_init(&l->whole, STREAM_FRAME_MAX);
    strbuf_init(&l->change, STREAM_FRAME_MAX);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* what clock_mono() counts */
    pthread_cond_init(&l->changed, &attr);
    pthread_condattr_destroy(&attr);
    return l;
}

void herald_free(struct herald *l) {
    if (!l)
        return;
    store_close(l->store);
    strbuf_release(&l->whole);
    strbuf_release(&l->change);
    arena_release(&l->arena);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static enum verdict look_at_maxitem(struct herald *l, struct err *e) {
    int64_t maxitem;
    enum verdict v = store_read_maxitem(l->store, &maxitem, e);
    if (v != V_OK || (l->told && maxitem == l->maxitem))
        return v;
    strbuf_clear(&l->whole);
    hn_frame_maxitem(&l->whole, maxitem);
    stream_publish(l->o.hub, TOPIC_MAXITEM, strbuf_str(&l->whole), STR_NONE);
    l->maxitem = maxitem;
    return V_OK;
}

/* The next changes behind the mark, which moves; the whole state goes with them for those who come
 * later. */
static enum verdict publish_changes(struct herald *l, struct err *e) {
    struct recent all, news = {0};
    int64_t newest, mark = l->mark;
    enum verdict v = store_read_recent(l->store, &l->arena, HN_UPDATES_ITEMS, HN_UPDATES_NAMES,
                                       &all, &newest, e);
    if (v == V_OK && l->told)
        v = store_read_recent_since(l->store, &l->arena, l->mark, PAGE_CHANGES, &news, &mark, e);
    if (v != V_OK)
        return v;
    strbuf_clear(&l->whole);
    strbuf_clear(&l->change);
    hn_frame_updates(&l->whole, &all);
    if (news.n_items || news.n_names)
        hn_frame_changes(&l->change, &news);
    stream_publish(l->o.hub, TOPIC_UPDATES, strbuf_str(&l->whole),
                   l->change.n ? strbuf_str(&l->change) : STR_NONE);
    /* where a mark went back, another archive stands there now */
    l->mark = l->told && mark > l->mark ? mark : newest;
    return V_OK;
}

/* A hundred pages at a time and then the rest of the work, so that a flood delays no keep-alive. */
static enum verdict look_at_changes(struct herald *l, struct err *e) {
    int64_t mark;
    for (int page = 0; page < 100; page++) {
        enum verdict v = store_recent_mark(l->store, &mark, e);
        if (v != V_OK || (l->told && mark == l->mark))
            return v;
        v = publish_changes(l, e);
        arena_reset(&l->arena);
        if (v != V_OK || !l->told)
            return v;
    }
    return V_OK;
}

/* The archive may be away just when the server starts. */
static enum verdict have_store(struct herald *l, struct err *e) {
    if (!l->store)
        return store_open(l->o.store, &l->store, e);
    return l->broken ? store_recover(l->store, e) : V_OK;
}

static enum verdict look(struct herald *l, struct err *e) {
    enum verdict v = have_store(l, e);
    if (v == V_OK)
        v = look_at_maxitem(l, e);
    if (v == V_OK)
        v = look_at_changes(l, e);
    l->broken = v != V_OK;
    l->told |= v == V_OK;
    return v;
}

static int64_t soonest(const struct herald *l) {
    int64_t at = l->look_at < l->beat_at ? l->look_at : l->beat_at;
    return at < l->sweep_at ? at : l->sweep_at;
}

enum verdict herald_step(struct herald *l, int *ret_wait_ms, struct err *e) {
    int64_t now = clock_mono(l->o.clock);
    enum verdict v = V_OK;
    if (now >= l->look_at) {
        v = look(l, e);
        l->look_at = now + (v == V_OK ? l->o.poll_ms : TROUBLE_MS);
    }
    if (now >= l->beat_at) {
        stream_beat(l->o.hub);
        if (l->o.events)
            events_beat(l->o.events);
        l->beat_at = now + l->o.keep_alive_ms;
    }
    if (now >= l->sweep_at) {
        stream_sweep(l->o.hub);
        if (l->o.events)
            events_sweep(l->o.events);
        l->sweep_at = now + SWEEP_MS;
    }
    *ret_wait_ms = clock_wait_ms(l->o.clock, soonest(l), TROUBLE_MS);
    return v;
}

static bool wait_for_more(struct herald *l, int wait_ms) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += (long)wait_ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    while (!l->stopping && !l->rung)
        if (pthread_cond_timedwait(&l->changed, &l->lock, &at) != 0)
            break;
    if (l->rung)
        l->look_at = clock_mono(l->o.clock);
    l->rung = false;
    bool go = !l->stopping;
    pthread_mutex_unlock(&l->lock);
    return go;
}

static void *run(void *arg) {
    struct herald *l = arg;
    struct err e;
    int wait_ms;
    do {
        bool was_broken = l->broken;
        if (herald_step(l, &wait_ms, &e) != V_OK && !was_broken)
            log_warn("the archive cannot be read for event streams", LE(&e));
    } while (wait_for_more(l, wait_ms));
    return NULL;
}

enum verdict herald_start(const struct herald_options *o, struct herald **ret, struct err *e) {
    struct herald *l = herald_new(o);
    enum verdict v = thread_start(&l->thread, "web-herald", run, l, e);
    if (v != V_OK) {
        herald_free(l);
        return v;
    }
    *ret = l;
    return V_OK;
}

static void tell(struct herald *l, bool *what) {
    pthread_mutex_lock(&l->lock);
    *what = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void herald_ring(struct herald *l) {
    tell(l, &l->rung);
}

void herald_stop(struct herald *l) {
    if (!l)
        return;
    tell(l, &l->stopping);
    pthread_join(l->thread, NULL);
    herald_free(l);
}
