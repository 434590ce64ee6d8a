#include "web/server_int.h"

#define TRY_EVERY_MS 1000

void desk_init(struct desk *d, struct web *w, bool may_wait) {
    *d = (struct desk){.web = w, .may_wait = may_wait};
    arena_init(&d->arena);
}

void desk_release(struct desk *d) {
    store_close(d->store);
    arena_release(&d->arena);
    gzip_free(d->gzip);
    d->store = NULL;
    d->gzip = NULL;
}

/* Whether others can read is not for the one that writes to say. */
static void note(struct desk *d, bool well) {
    struct web *w = d->web;
    int64_t none = 0;
    if (d->writes)
        return;
    if (well)
        atomic_store(&w->db_failed_since, 0);
    else
        atomic_compare_exchange_strong(&w->db_failed_since, &none, clock_mono(w->o.clock));
}

enum verdict desk_store(struct desk *d, struct err *e) {
    if (d->store)
        return V_OK;
    int64_t now = clock_mono(d->web->o.clock);
    if (now < d->next_try)
        return err_set(e, V_RETRY, "http", 0, "the archive cannot be reached");
    const struct web_options *o = &d->web->o;
    enum verdict v = store_open(d->writes ? &o->write_store : &o->store, &d->store, e);
    d->next_try = v == V_OK ? 0 : now + TRY_EVERY_MS;
    note(d, v == V_OK);
    return v == V_OK ? V_OK : V_RETRY;
}

void desk_hold(struct desk *d) {
    struct err e;
    if (!d->may_wait && d->store && !d->holds && ++d->reads > 1)
        d->holds = store_read_begin(d->store, &e) == V_OK; /* else each read for itself */
}

void desk_let_go(struct desk *d) {
    if (d->holds)
        store_read_end(d->store);
    d->holds = false;
    d->reads = 0;
}

bool desk_recover(struct desk *d) {
    d->holds = false; /* it rolls back */
    int64_t now = clock_mono(d->web->o.clock);
    if (!d->store || now < d->next_try)
        return false;
    struct err e;
    enum verdict v = store_recover(d->store, &e);
    note(d, v == V_OK);
    d->next_try = v == V_OK ? 0 : now + TRY_EVERY_MS;
    return v == V_OK;
}
