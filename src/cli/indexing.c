#include "cli/indexing.h"

#include "base/log.h"
#include "store/search.h"

#include <poll.h>
#include <stdlib.h>

#define STEP_ITEMS 500
#define IDLE_MS 1000 /* nothing waits, or another process is at it */
#define TROUBLE_MS 5000
#define REST 4 /* times as long as the step */

struct indexing {
    const struct store_options *o;
    struct store *store;
    struct stop_token stop;
    pthread_t thread;
    bool troubled; /* so that a trouble is logged once */
};

static void rest(struct indexing *x, int64_t ms) {
    struct pollfd fd = {x->stop.fd, POLLIN, 0};
    (void)poll(&fd, 1, (int)(ms < 0 ? 0 : ms > 60000 ? 60000 : ms));
}

static enum verdict step(struct indexing *x, int64_t *ret_done, struct err *e) {
    if (!x->store) {
        enum verdict v = store_open(x->o, &x->store, e);
        if (v != V_OK)
            return v;
    }
    return store_index_step(x->store, STEP_ITEMS, ret_done, e);
}

static void note(struct indexing *x, enum verdict v, const struct err *e) {
    if (v != V_OK && !x->troubled)
        log_warn("the search index is not being filled", LE(e));
    if (v == V_OK && x->troubled)
        log_info("the search index is being filled again");
    x->troubled = v != V_OK;
}

static void *run(void *arg) {
    struct indexing *x = arg;
    while (!stop_raised(&x->stop)) {
        struct err e = {0};
        int64_t done = 0, began = clock_mono(x->o->clock);
        enum verdict v = step(x, &done, &e);
        int64_t took = clock_mono(x->o->clock) - began;
        note(x, v, &e);
        if (v == V_OK) {
            rest(x, done ? took * REST : IDLE_MS);
            continue;
        }
        rest(x, TROUBLE_MS);
        if (x->store && store_recover(x->store, &e) != V_OK) {
            store_close(x->store);
            x->store = NULL;
        }
    }
    store_close(x->store);
    return NULL;
}

enum verdict indexing_start(const struct store_options *o, struct indexing **ret, struct err *e) {
    struct indexing *x = xcalloc(1, sizeof *x);
    x->o = o;
    enum verdict v = stop_init(&x->stop, e);
    if (v == V_OK)
        v = thread_start(&x->thread, "index", run, x, e);
    if (v != V_OK) {
        stop_release(&x->stop);
        free(x);
        return v;
    }
    *ret = x;
    return V_OK;
}

void indexing_stop(struct indexing *x) {
    if (!x)
        return;
    stop_raise(&x->stop);
    pthread_join(x->thread, NULL);
    stop_release(&x->stop);
    free(x);
}
