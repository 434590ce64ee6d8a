/* The hub between threads: one adds, several listen, some come and go, and no wake-up is lost. */
#include "fake_log.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LISTENERS = 4, OLD = 3000, NEW = 20000, LONG_S = 120 };

struct listener {
    struct feed_hub *hub;
    int64_t since;
    bool items_only, comes_and_goes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
    int64_t taken, wrong, late; /* late: woke up by the deadline */
};

static void wake(void *connection) {
    struct listener *l = connection;
    pthread_mutex_lock(&l->lock);
    l->woken = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void rest(struct listener *l) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG_S;
    pthread_mutex_lock(&l->lock);
    while (!l->woken)
        if (pthread_cond_timedwait(&l->changed, &l->lock, &until) == ETIMEDOUT) {
            l->late++;
            break;
        }
    l->woken = false;
    pthread_mutex_unlock(&l->lock);
}

static struct feed_client *join(struct listener *l, int64_t pos) {
    struct feed_join j = {.since = {1, pos}, .wake = wake, .connection = l};
    if (l->items_only)
        j.filter.tables[j.filter.n_tables++] = STR("items");
    return feed_join(l->hub, &j);
}

static void note(struct listener *l, struct feed_event *ev, int64_t *last) {
    int64_t expected = *last + 1;
    if (l->items_only)
        expected += expected % 2;
    l->wrong += ev->id.pos != expected;
    *last = ev->id.pos;
    l->taken++;
    feed_event_drop(ev);
}

static void *listen_to_all(void *arg) {
    struct listener *l = arg;
    int64_t last = l->since;
    struct feed_client *c = join(l, last);
    for (;;) {
        struct feed_taken t;
        struct err e;
        enum feed_next next = feed_take(c, &t);
        if (next == FEED_EVENT)
            note(l, t.event, &last);
        else if (next == FEED_READ)
            l->wrong += feed_client_page(c, NULL, &e) != V_OK;
        else if (next == FEED_NOTHING && last < OLD + NEW && !l->late)
            rest(l);
        else
            break;
        if (l->comes_and_goes && next == FEED_EVENT && last % 100 == 0) {
            feed_leave(c);
            c = join(l, last);
        }
    }
    feed_leave(c);
    return NULL;
}

static void *add_all(void *arg) {
    struct feed_hub *h = arg;
    for (int64_t pos = OLD + 1; pos <= OLD + NEW; pos++) {
        struct feed_change c = fake_change(pos);
        struct feed_event *ev = feed_event_new(c.epoch, &c);
        feed_hub_add(h, ev);
        feed_event_drop(ev);
        if (pos % 7 == 0) {
            feed_hub_flush(h);
            sched_yield();
        }
    }
    feed_hub_flush(h);
    return NULL;
}

static void everyone_gets_everything(void **state UNUSED) {
    struct feed_hub *h = feed_hub_new(LISTENERS);
    struct listener listeners[LISTENERS];
    pthread_t threads[LISTENERS], writer;
    fake_log_begin(1, OLD);
    feed_hub_state(h, &fake_log.state, 0);
    fake_log.state.head = OLD + NEW; /* whoever falls out of the ring finds it in the log */
    for (int i = 0; i < LISTENERS; i++) {
        listeners[i] = (struct listener){.hub = h, .since = i % 2 ? 0 : OLD};
        listeners[i].items_only = i == 2;
        listeners[i].comes_and_goes = i == 3;
        pthread_mutex_init(&listeners[i].lock, NULL);
        pthread_cond_init(&listeners[i].changed, NULL);
        assert_int_equal(pthread_create(&threads[i], NULL, listen_to_all, &listeners[i]), 0);
    }
    assert_int_equal(pthread_create(&writer, NULL, add_all, h), 0);
    pthread_join(writer, NULL);
    for (int i = 0; i < LISTENERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(listeners[i].wrong, 0);
        assert_int_equal(listeners[i].late, 0);
        int64_t wanted = OLD + NEW - listeners[i].since;
        assert_int_equal(listeners[i].taken, i == 2 ? wanted / 2 : wanted);
        pthread_cond_destroy(&listeners[i].changed);
        pthread_mutex_destroy(&listeners[i].lock);
    }
    feed_hub_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_gets_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
