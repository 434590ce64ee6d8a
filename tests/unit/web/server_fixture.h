/* A server of the test's own: routes whose handlers wait for a gate that the test opens, gather,
 * stream or fail, and a place to start it in. One test program includes it. */
#ifndef TAIN_TESTS_SERVER_FIXTURE_H
#define TAIN_TESTS_SERVER_FIXTURE_H

#include "http_client.h"

#include "base/thread.h"
#include "web/call.h"
#include "web/server.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define WAIT_MS 120000 /* for what never comes */

/* Routes ------------------------------------------------------------------------------------- */

static sem_t gate;        /* what slow handlers wait for */
static atomic_int inside; /* handlers that wait there */
static atomic_int n_batches, largest_batch, closed_streams, tries;

static enum verdict echo(struct call *c, struct err *e UNUSED) {
    c->type = "text/plain; charset=utf-8";
    strbuf_addf(&c->body, "path=%.*s rest=%.*s", STR_FMT(c->path), STR_FMT(c->rest));
    for (size_t i = 0; i < c->n_params; i++)
        strbuf_addf(&c->body, " %.*s=[%.*s]", STR_FMT(c->params[i].name),
                    STR_FMT(c->params[i].value));
    return V_OK;
}

static atomic_int posted;

/* What came, and how. */
static enum verdict take_post(struct call *c, struct err *e) {
    atomic_fetch_add(&posted, 1);
    strbuf_addf(&c->body, "json=%d upload=[%zu]", c->json, c->upload.n);
    if (c->json)
        strbuf_add_str(&c->body, c->upload);
    if (call_param(c, "away").p && atomic_fetch_add(&tries, 1) == 0)
        return err_set(e, V_RETRY, "test", 0, "away");
    return echo(c, e);
}

static enum verdict number(struct call *c, struct err *e) {
    int64_t n;
    enum verdict v = call_param_int(c, "n", 1, 10, 7, &n, e);
    if (v == V_OK)
        strbuf_addf(&c->body, "%d", (int)n);
    return v;
}

static enum verdict trouble(struct call *c, struct err *e) {
    int64_t n;
    enum verdict v = call_param_int(c, "v", 0, V_STOPPED, 0, &n, e);
    strbuf_adds(&c->body, "half of an answer");
    return v == V_OK ? err_set(e, (enum verdict)n, "test", 0, "the reason") : v;
}

static enum verdict once_away(struct call *c, struct err *e) {
    strbuf_adds(&c->body, "told once");
    return atomic_fetch_add(&tries, 1) == 0 ? err_set(e, V_RETRY, "test", 0, "away") : V_OK;
}

static enum verdict big(struct call *c, struct err *e UNUSED) {
    c->type = "text/plain; charset=utf-8";
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&c->body, "all work and no play ");
    return V_OK;
}

static enum verdict huge(struct call *c, struct err *e UNUSED) {
    while (!c->body.overflow)
        strbuf_adds(&c->body, "more and more and more and more and more and more and more ");
    return V_OK;
}

static enum verdict slow(struct call *c, struct err *e UNUSED) {
    atomic_fetch_add(&inside, 1);
    sem_wait(&gate);
    atomic_fetch_sub(&inside, 1);
    strbuf_adds(&c->body, "at last");
    return V_OK;
}

static enum verdict long_page(struct call *c, struct err *e) {
    int64_t bad;
    enum verdict v = call_param_int(c, "bad", 0, 1, 0, &bad, e);
    strbuf_adds(&c->body, "the first part, ");
    (void)call_flush(c);
    atomic_fetch_add(&inside, 1);
    sem_wait(&gate);
    atomic_fetch_sub(&inside, 1);
    for (int i = 0; i < 2000; i++) {
        strbuf_addf(&c->body, "line %d of many more; ", i);
        if (i % 100 == 0 && !call_flush(c))
            break;
    }
    strbuf_adds(&c->body, "the end");
    return bad ? err_set(e, V_FATAL, "test", 0, "something broke") : v;
}

static enum verdict one(struct call *c, struct err *e UNUSED) {
    strbuf_addf(&c->body, "one %.*s", STR_FMT(c->rest));
    return V_OK;
}

static void many(struct call *const *calls, size_t n, struct call_result *results) {
    atomic_fetch_add(&n_batches, 1);
    if ((int)n > atomic_load(&largest_batch))
        atomic_store(&largest_batch, (int)n);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&calls[i]->body, "many %.*s", STR_FMT(calls[i]->rest));
        if (str_eqc(calls[i]->rest, "none"))
            results[i].v = err_set(&results[i].e, V_NOT_FOUND, "test", 0, "no such thing");
    }
}

/* A stream of ticks: one for each that was asked for with tick(). */
static struct {
    pthread_mutex_t lock;
    struct call *call;
    int ticks, told;
    bool end;
} stream = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ssize_t stream_read(void *arg UNUSED, char *out, size_t max) {
    pthread_mutex_lock(&stream.lock);
    ssize_t n = stream.told < stream.ticks ? snprintf(out, max, "tick %d\n", ++stream.told)
                : stream.end               ? -1
                                           : 0;
    pthread_mutex_unlock(&stream.lock);
    return n;
}

static void stream_close(void *arg UNUSED) {
    pthread_mutex_lock(&stream.lock);
    stream.call = NULL;
    pthread_mutex_unlock(&stream.lock);
    atomic_fetch_add(&closed_streams, 1);
}

static UNUSED void tick(bool end) {
    pthread_mutex_lock(&stream.lock);
    stream.ticks += !end;
    stream.end = end;
    if (stream.call)
        call_wake(stream.call);
    pthread_mutex_unlock(&stream.lock);
}

static enum verdict events(struct call *c, struct err *e UNUSED) {
    c->type = "text/event-stream";
    strbuf_addf(&c->body, "hello %d\n", call_accepts(c, "text/event-stream"));
    pthread_mutex_lock(&stream.lock);
    stream.call = c;
    stream.ticks = stream.told = 0;
    stream.end = false;
    pthread_mutex_unlock(&stream.lock);
    c->stream = (struct call_stream){stream_read, stream_close, &stream};
    return V_OK;
}

static const struct route routes[] = {
    {"/echo", echo, ROUTE_STATIC, DIALECT_PAGE, NULL},
    {"/echo/*.txt", echo, ROUTE_QUERY, DIALECT_PAGE, NULL},
    {"/number", number, ROUTE_QUICK, DIALECT_PAGE, NULL},
    {"/api/number", number, ROUTE_QUERY, DIALECT_API, NULL},
    {"/api/fail", trouble, ROUTE_QUERY, DIALECT_API, NULL},
    {"/fail", trouble, ROUTE_QUICK, DIALECT_PAGE, NULL},
    {"/away", once_away, ROUTE_QUERY, DIALECT_PAGE, NULL},
    {"/big", big, ROUTE_QUICK, DIALECT_PAGE, NULL},
    {"/huge", huge, ROUTE_QUERY, DIALECT_PAGE, NULL},
    {"/slow", slow, ROUTE_QUERY, DIALECT_PAGE, NULL},
    {"/long", long_page, ROUTE_QUERY, DIALECT_PAGE, NULL},
    {"/batch/*", one, ROUTE_QUICK, DIALECT_API, many},
    {"/ticks", events, ROUTE_QUERY, DIALECT_API, NULL},
    {"/form", echo, ROUTE_QUICK, DIALECT_PAGE, .post = take_post},
    {"/api/form", NULL, ROUTE_QUERY, DIALECT_API, .post = take_post},
    {"/free", NULL, ROUTE_STATIC, DIALECT_API, .post = take_post},
    {"/slow/form", NULL, ROUTE_QUERY, DIALECT_PAGE, .post = slow},
};
static const struct route_table table = {routes, ARRAY_LEN(routes), AREA_PAGES};
static const struct route_table *const tables[] = {&table};

/* The server --------------------------------------------------------------------------------- */

struct place {
    char folder[64], uri[128];
    struct web *web;
    int port;
};

static void start(struct place *p, struct web_options o) {
    static const char *const names[] = {"archive.example"};
    struct err e = {0};
    o.listen = "127.0.0.1:0";
    o.hosts = (struct host_rule){names, 1};
    o.store = (struct store_options){
        .uri = p->uri, .clock = &clock_machine, .schema_rule = SCHEMA_REQUIRE, .must_exist = true};
    if (!o.read_only)
        o.write_store = o.store;
    o.tables = tables;
    o.n_tables = 1;
    if (web_start(&o, &p->web, &e) != V_OK)
        fail_msg("%s", e.msg);
    p->port = web_port(p->web);
}

static void stop(struct place *p) {
    web_stop(p->web);
    p->web = NULL;
}

static int open_place(void **state) {
    struct place *p = xcalloc(1, sizeof *p);
    struct store *s;
    struct err e;
    strcpy(p->folder, "/tmp/test-server-XXXXXX");
    if (!mkdtemp(p->folder))
        return -1;
    snprintf(p->uri, sizeof p->uri, "sqlite:%s/t.db", p->folder);
    const struct store_options o = {.uri = p->uri, .clock = &clock_machine};
    if (store_open(&o, &s, &e) != V_OK)
        return -1;
    store_close(s);
    sem_init(&gate, 0, 0);
    *state = p;
    return 0;
}

static int close_place(void **state) {
    struct place *p = *state;
    static const char *const files[] = {"t.db", "t.db-wal", "t.db-shm"};
    char path[128];
    web_stop(p->web);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", p->folder, files[i]);
        unlink(path);
    }
    rmdir(p->folder);
    free(p);
    return 0;
}

static UNUSED void wait_for(atomic_int *n, int wanted) {
    for (int i = 0; i < WAIT_MS && atomic_load(n) != wanted; i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(atomic_load(n), wanted);
}

static void expect(struct place *p, const char *uri, int status, const char *body) {
    struct answer_text a = client_get(p->port, uri);
    if (a.status != status || !strstr(a.body, body))
        fail_msg("%s: %d %s", uri, a.status, a.body);
    free(a.head);
}

#endif
