/* Query threads, each with a store of its own, and the calls that wait for one. Point reads have a
 * queue of their own: one thread takes nothing else, and what waits there is read many at once.
 * Errands take turns with the other calls. What is posted waits in a third queue for the one thread
 * that writes, so that no reader waits for a lock of the database. */
#include "web/server_int.h"

#include "base/log.h"
#include "base/thread.h"
#include "web/errand.h"
#include "web/web_metrics.h"

#include <stdio.h>
#include <stdlib.h>

struct line {
    struct request *first, *last;
    size_t n;
};

struct clerk {
    struct pool *pool;
    struct desk desk;
    pthread_t thread;
    bool running, quick_only, writes;
};

struct pool {
    struct web *web;
    pthread_mutex_t lock;
    pthread_cond_t quick_came, query_came, post_came;
    struct line quick, query, posts;
    struct errand *errands, *last_errand;
    size_t cap;
    bool closed, errand_last; /* the last that was taken is no call but an errand */
    struct clerk clerks[WEB_QUERY_THREADS_MAX + 1]; /* the last one writes */
    int n;
};

static void line_add(struct line *l, struct request *r) {
    r->job_next = NULL;
    if (l->last)
        l->last->job_next = r;
    else
        l->first = r;
    l->last = r;
    l->n++;
}

static struct request *line_take(struct line *l) {
    struct request *r = l->first;
    l->first = r->job_next;
    if (!l->first)
        l->last = NULL;
    l->n--;
    return r;
}

/* The first, and with it those behind it that its route reads in the same statement. */
static size_t take_quick(struct line *l, struct request **out) {
    size_t n = 0;
    out[n++] = line_take(l);
    while (out[0]->route->batch && n < CALL_BATCH_MAX && l->first &&
           l->first->route->batch == out[0]->route->batch)
        out[n++] = line_take(l);
    return n;
}

static struct errand *take_errand(struct pool *p) {
    struct errand *x = p->errands;
    if (!x || (p->query.n && p->errand_last))
        return NULL;
    p->errands = x->next;
    p->errand_last = true;
    return x;
}

static int64_t waiting(const struct pool *p) {
    return (int64_t)(p->quick.n + p->query.n + p->posts.n);
}

/* What there is to do now: so many calls, or an errand; neither: nothing. */
static size_t take_now(struct clerk *c, struct request **out, struct errand **ret_errand) {
    struct pool *p = c->pool;
    if (c->writes) {
        if (p->posts.n == 0)
            return 0;
        out[0] = line_take(&p->posts);
        return 1;
    }
    if (p->quick.n)
        return take_quick(&p->quick, out);
    if (c->quick_only || (*ret_errand = take_errand(p)) || p->query.n == 0)
        return 0;
    out[0] = line_take(&p->query);
    p->errand_last = false;
    return 1;
}

static pthread_cond_t *work_came(struct clerk *c) {
    struct pool *p = c->pool;
    return c->writes ? &p->post_came : c->quick_only ? &p->quick_came : &p->query_came;
}

/* Waits for work: calls, or an errand. False: there will be none. */
static bool take(struct clerk *c, struct request **out, size_t *ret_n, struct errand **ret_errand) {
    struct pool *p = c->pool;
    struct errand *x = NULL;
    size_t n;
    pthread_mutex_lock(&p->lock);
    while ((n = take_now(c, out, &x)) == 0 && !x && !p->closed)
        pthread_cond_wait(work_came(c), &p->lock);
    metric_set(&m_web_waiting, 0, waiting(p));
    pthread_mutex_unlock(&p->lock);
    *ret_n = n;
    *ret_errand = x;
    return n || x;
}

static bool is_closed(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    bool closed = p->closed;
    pthread_mutex_unlock(&p->lock);
    return closed;
}

static void serve(struct clerk *c, struct request **all, size_t n) {
    if (is_closed(c->pool)) {
        for (size_t i = 0; i < n; i++)
            answer_conclude(all[i], V_STOPPED, NULL);
    } else if (n > 1 ||
               (!c->writes && all[0]->route->batch && all[0]->route->kind == ROUTE_QUICK)) {
        answer_batch(all, n, &c->desk);
    } else {
        answer(all[0], &c->desk);
    }
    for (size_t i = 0; i < n; i++)
        request_wake(all[i], true);
}

static void run_errand(struct clerk *c, struct errand *x) {
    struct err e = {0};
    enum verdict v = is_closed(c->pool) ? V_STOPPED : desk_store(&c->desk, &e);
    if (v == V_OK)
        v = x->run(x, c->desk.store, &e);
    if (v == V_RETRY && desk_recover(&c->desk))
        v = x->run(x, c->desk.store, &e);
    x->done(x, v, &e);
}

static void *run(void *arg) {
    struct clerk *c = arg;
    struct request *all[CALL_BATCH_MAX];
    struct errand *errand;
    size_t n;
    struct err e;
    if (!c->writes && desk_store(&c->desk, &e) != V_OK)
        log_warn("a query thread cannot reach the archive yet", LE(&e));
    while (take(c, all, &n, &errand)) {
        if (errand)
            run_errand(c, errand);
        else
            serve(c, all, n);
    }
    desk_release(&c->desk);
    return NULL;
}

static enum verdict start_clerk(struct pool *p, int i, struct err *e) {
    struct clerk *c = &p->clerks[i];
    char name[16];
    c->pool = p;
    c->writes = i == p->n - 1;
    c->quick_only = p->web->o.shared && i == 0 && p->n > 2;
    desk_init(&c->desk, p->web, true);
    c->desk.writes = c->writes;
    snprintf(name, sizeof name, c->writes ? "web-write" : "web-query-%d", i % 100);
    enum verdict v = thread_start(&c->thread, name, run, c, e);
    c->running = v == V_OK;
    return v;
}

enum verdict pool_start(struct web *w, struct pool **ret, struct err *e) {
    struct pool *p = xcalloc(1, sizeof *p);
    p->web = w;
    p->n = w->o.query_threads + 1;
    p->cap = (size_t)w->o.queue;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->quick_came, NULL);
    pthread_cond_init(&p->query_came, NULL);
    pthread_cond_init(&p->post_came, NULL);
    enum verdict v = V_OK;
    for (int i = 0; i < p->n && v == V_OK; i++)
        v = start_clerk(p, i, e);
    *ret = p;
    return v;
}

bool pool_push(struct pool *p, struct request *r) {
    bool post = r->call.post;
    bool quick = !post && r->route->kind == ROUTE_QUICK && p->clerks[0].quick_only;
    struct line *l = post ? &p->posts : quick ? &p->quick : &p->query;
    pthread_mutex_lock(&p->lock);
    /* as many point reads as there are connections may wait: they are read together */
    bool taken = !p->closed && (l->n < p->cap || quick);
    if (taken) {
        line_add(l, r);
        metric_set(&m_web_waiting, 0, waiting(p));
        if (l->n == 1 || !quick)
            pthread_cond_signal(post ? &p->post_came : quick ? &p->quick_came : &p->query_came);
    }
    pthread_mutex_unlock(&p->lock);
    return taken;
}

bool web_errand(struct web *w, struct errand *x) {
    struct pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    bool taken = !p->closed;
    if (taken) {
        x->next = NULL;
        if (p->errands)
            p->last_errand->next = x;
        else
            p->errands = x;
        p->last_errand = x;
        pthread_cond_signal(&p->query_came);
    }
    pthread_mutex_unlock(&p->lock);
    return taken;
}

void pool_stop(struct pool *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    pthread_cond_broadcast(&p->quick_came);
    pthread_cond_broadcast(&p->query_came);
    pthread_cond_broadcast(&p->post_came);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n; i++) {
        if (p->clerks[i].running)
            pthread_join(p->clerks[i].thread, NULL);
        p->clerks[i].running = false;
    }
}

void pool_free(struct pool *p) {
    if (!p)
        return;
    pthread_cond_destroy(&p->quick_came);
    pthread_cond_destroy(&p->query_came);
    pthread_cond_destroy(&p->post_came);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
