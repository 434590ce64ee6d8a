#include "demo/server.h"

#include "demo/reply.h"
#include "demo/server_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_CONNECTIONS 4096
#define TICK_MS 50
#define ANNOUNCED_MAX 100 /* new ids named in one event */

/* Adds an id unless it is there or there is none. */
static void add_id(int64_t *ids, size_t *n, int64_t id) {
    for (size_t i = 0; i < *n; i++)
        if (ids[i] == id)
            return;
    if (id)
        ids[(*n)++] = id;
}

/* New ids, and the parents and stories that gained a comment by them. */
static void announce(struct demo *d, int64_t from, int64_t to) {
    int64_t ids[3 * ANNOUNCED_MAX];
    size_t n = 0;
    int64_t low = to - from > ANNOUNCED_MAX ? to - ANNOUNCED_MAX + 1 : from + 1;
    for (int64_t id = low; id <= to; id++)
        add_id(ids, &n, id);
    for (int64_t id = low; id <= to; id++) {
        add_id(ids, &n, corpus_parent(d->corpus, id));
        add_id(ids, &n, corpus_root(d->corpus, id));
    }
    hub_updates(&d->hub, ids, n);
}

/* Under the steering lock. */
static void move_maxitem(struct demo *d, int64_t to) {
    int64_t from = corpus_maxitem(d->corpus);
    if (to == from)
        return;
    corpus_set_maxitem(d->corpus, to);
    if (to > from)
        announce(d, from, to);
    hub_maxitem(&d->hub, to);
}

void demo_set_maxitem(struct demo *d, int64_t maxitem) {
    pthread_mutex_lock(&d->steer);
    move_maxitem(d, maxitem);
    d->grow_from = maxitem;
    d->grow_since_ms = clock_mono(d->clock);
    pthread_mutex_unlock(&d->steer);
}

static void tick(void *arg) {
    struct demo *d = arg;
    if (d->grow_per_second > 0) {
        pthread_mutex_lock(&d->steer);
        double seconds = (double)(clock_mono(d->clock) - d->grow_since_ms) / 1000;
        double to = (double)d->grow_from + d->grow_per_second * seconds;
        move_maxitem(d, to < (double)CORPUS_MAX_ID ? (int64_t)to : CORPUS_MAX_ID);
        pthread_mutex_unlock(&d->steer);
    }
    int64_t now = clock_mono(&clock_machine);
    if (now >= d->next_keep_alive_ms) {
        d->next_keep_alive_ms = now + d->keep_alive_ms;
        hub_keep_alive(&d->hub);
    }
}

enum verdict demo_set_faults(struct demo *d, const char *const *specs, size_t n, struct err *e) {
    struct faults *fresh = NULL;
    enum verdict v = faults_new(specs, n, d->seed, d->clock, &fresh, e);
    if (v != V_OK)
        return v;
    pthread_rwlock_wrlock(&d->faults_lock);
    struct faults *old = d->faults;
    d->faults = fresh;
    pthread_rwlock_unlock(&d->faults_lock);
    faults_free(old);
    return V_OK;
}

static enum MHD_Result answer_other(struct request *r, const char *path) {
    stats_count(&r->demo->stats.requests[EP_OTHER]);
    struct str s = str_of(path);
    if (str_starts(s, "/v0/item/") && !memchr(s.p + 9, '.', s.n - 9)) /* a console, not the item */
        return reply_redirect(r->connection, MHD_HTTP_MOVED_PERMANENTLY, "http://console.example/");
    return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "404 Not Found");
}

static enum MHD_Result answer(struct request *r, const char *path, bool post) {
    if (strncmp(path, "/demo/", 6) == 0) {
        stats_count(&r->demo->stats.requests[EP_CONTROL]);
        return control_answer(r, path + 6, post);
    }
    if (post) {
        stats_count(&r->demo->stats.requests[EP_OTHER]);
        return reply_error(r->connection, MHD_HTTP_UNAUTHORIZED, "Permission denied");
    }
    return r->begun || api_route(r, path) ? api_answer(r) : answer_other(r, path);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version UNUSED,
                                  const char *upload, size_t *upload_size, void **state) {
    struct request *r = *state;
    bool post = strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
    if (!r) {
        r = xcalloc(1, sizeof *r);
        r->demo = cls;
        r->connection = connection;
        strbuf_init(&r->body, CONTROL_BODY_MAX);
        *state = r;
        return MHD_YES; /* an answer at the first call would close the connection after it */
    }
    if (*upload_size) {
        strbuf_add(&r->body, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (r->body.overflow)
        return reply_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
    return answer(r, url, post);
}

static void on_completed(void *cls UNUSED, struct MHD_Connection *connection UNUSED, void **state,
                         enum MHD_RequestTerminationCode why UNUSED) {
    struct request *r = *state;
    if (!r)
        return;
    if (r->begun && r->endpoint == EP_ITEM)
        stats_item_end(&r->demo->stats);
    strbuf_release(&r->body);
    free(r);
    *state = NULL;
}

static enum verdict parse_address(const struct demo_options *o, struct sockaddr_storage *ret,
                                  struct err *e) {
    const char *host = o->bind_host ? o->bind_host : "127.0.0.1";
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
    memset(ret, 0, sizeof *ret);
    if (o->port < 0 || o->port > 65535)
        return err_set(e, V_INVALID, "demo", 0, "port %d is not one", o->port);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)o->port);
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)o->port);
    } else {
        return err_set(e, V_INVALID, "demo", 0, "\"%.100s\" is not a numeric address", host);
    }
    return V_OK;
}

/* As many connections as there can be descriptors for, some left over for everything else. */
static unsigned connection_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > MAX_CONNECTIONS + 64)
        return MAX_CONNECTIONS;
    return files.rlim_cur > 128 ? (unsigned)files.rlim_cur - 64 : 64;
}

static enum verdict start_http(struct demo *d, const struct demo_options *o, struct err *e) {
    struct sockaddr_storage address;
    enum verdict v = parse_address(o, &address, e);
    if (v != V_OK)
        return v;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    unsigned threads = o->threads > 0 && o->threads <= 64 ? (unsigned)o->threads : 2;
    sigset_t all, old; /* signals are main's business, so the library's threads block them */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    errno = 0;
    d->mhd = MHD_start_daemon(flags, (uint16_t)o->port, NULL, NULL, on_request, d,
                              MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_THREAD_POOL_SIZE,
                              threads > 1 ? threads : 0U, MHD_OPTION_CONNECTION_LIMIT,
                              connection_limit(), MHD_OPTION_NOTIFY_COMPLETED, on_completed, d,
                              MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024U, MHD_OPTION_END);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!d->mhd)
        return err_set(e, V_FATAL, "demo", error, "cannot listen on %s port %d: %s",
                       o->bind_host ? o->bind_host : "127.0.0.1", o->port, strerror(error));
    d->port = MHD_get_daemon_info(d->mhd, MHD_DAEMON_INFO_BIND_PORT)->port;
    return V_OK;
}

static void release(struct demo *d) {
    hub_release(&d->hub);
    faults_free(d->faults);
    corpus_free(d->corpus);
    stats_release(&d->stats);
    pthread_rwlock_destroy(&d->faults_lock);
    pthread_mutex_destroy(&d->steer);
    free(d);
}

static enum verdict start_threads(struct demo *d, const struct demo_options *o, struct err *e) {
    enum verdict v = demo_set_faults(d, o->faults, o->n_faults, e);
    if (v != V_OK)
        return v;
    int tick_ms = d->keep_alive_ms < TICK_MS ? d->keep_alive_ms : TICK_MS;
    v = waker_start(&d->waker, tick_ms, tick, d, e);
    if (v != V_OK)
        return v;
    v = start_http(d, o, e);
    if (v != V_OK) {
        waker_stop(&d->waker);
        waker_release(&d->waker);
    }
    return v;
}

enum verdict demo_start(const struct demo_options *o, struct demo **ret, struct err *e) {
    const struct corpus_options corpus = {o->seed, o->maxitem, o->first_time, o->rates};
    struct corpus *c;
    enum verdict v = corpus_new(&corpus, &c, e);
    if (v != V_OK)
        return v;
    struct demo *d = xcalloc(1, sizeof *d);
    d->corpus = c;
    d->clock = o->clock ? o->clock : &clock_machine;
    d->seed = o->seed;
    d->grow_per_second = o->grow_per_second;
    d->grow_from = o->maxitem;
    d->grow_since_ms = clock_mono(d->clock);
    d->keep_alive_ms = o->keep_alive_ms > 0 ? o->keep_alive_ms : 30000;
    d->next_keep_alive_ms = clock_mono(&clock_machine) + d->keep_alive_ms;
    stats_init(&d->stats);
    hub_init(&d->hub, c);
    pthread_rwlock_init(&d->faults_lock, NULL);
    pthread_mutex_init(&d->steer, NULL);
    v = start_threads(d, o, e);
    if (v != V_OK) {
        release(d);
        return v;
    }
    *ret = d;
    return V_OK;
}

int demo_port(const struct demo *d) {
    return d->port;
}

struct corpus *demo_corpus(struct demo *d) {
    return d->corpus;
}

/* The library aborts when it is stopped over suspended connections: everyone is woken first, and
 * nobody falls asleep again. */
void demo_stop(struct demo *d) {
    if (!d)
        return;
    waker_stop(&d->waker);
    hub_stop(&d->hub);
    MHD_stop_daemon(d->mhd);
    waker_release(&d->waker);
    release(d);
}
