#include "demo/server.h"

#include "demo/reply.h"
#include "demo/server_int.h"
#include "demo/services_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_CONNECTIONS 4096
#define TICK_MS 10

static void tick(void *arg) {
    struct demo *d = arg;
    if (d->grow_per_second > 0) {
        pthread_mutex_lock(&d->steer);
        double seconds = (double)(clock_mono(d->clock) - d->grow_since_ms) / 1000;
        double to = (double)d->grow_from + d->grow_per_second * seconds;
        demo_move_maxitem(d, to < (double)CORPUS_MAX_ID ? (int64_t)to : CORPUS_MAX_ID, false);
        pthread_mutex_unlock(&d->steer);
    }
    hub_tick(&d->hub);
    int64_t now = clock_mono(d->clock);
    if (now >= d->next_keep_alive_ms) {
        d->next_keep_alive_ms = now + d->keep_alive_ms;
        hub_keep_alive(&d->hub);
    }
}

static enum MHD_Result answer_other(struct request *r, const char *path) {
    stats_count(&r->demo->stats.requests[EP_OTHER]);
    struct str s = str_of(path);
    if (str_starts(s, "/v0/item/") && !memchr(s.p + 9, '.', s.n - 9)) /* a console, not the item */
        return reply_redirect(r->connection, MHD_HTTP_MOVED_PERMANENTLY, "http://console.example/");
    return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "404 Not Found");
}

static enum MHD_Result answer(struct request *r, const char *path, bool post) {
    if (services_route(r, path))
        return services_answer(r, path);
    if (strncmp(path, "/demo/", 6) == 0) {
        stats_count(&r->demo->stats.requests[EP_CONTROL]);
        return control_answer(r, path + 6, post);
    }
    if (hub_is_down(&r->demo->hub)) {
        stats_count(&r->demo->stats.faults[FAULT_DOWN]);
        return reply_reset(r->connection);
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
    unsigned threads = o->threads > 0 && o->threads <= 64 ? (unsigned)o->threads : 4;
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
    if (o->services)
        corpus_set_sites(d->corpus, d->port);
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

static void stop_waker(struct demo *d) {
    waker_stop(&d->waker);
    waker_release(&d->waker);
}

static enum verdict start_threads(struct demo *d, const struct demo_options *o, struct err *e) {
    enum verdict v = demo_set_faults(d, o->faults, o->n_faults, e);
    if (v != V_OK)
        return v;
    int tick_ms = d->keep_alive_ms < TICK_MS ? d->keep_alive_ms : TICK_MS;
    v = waker_start(&d->waker, tick_ms, tick, d, e);
    if (v != V_OK)
        return v;
    v = burst_start(&d->burst, &d->hub, &d->stats, e);
    if (v != V_OK) {
        stop_waker(d);
        return v;
    }
    v = start_http(d, o, e);
    if (v != V_OK) {
        stop_waker(d);
        burst_stop(&d->burst);
        burst_release(&d->burst);
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
    d->next_keep_alive_ms = clock_mono(d->clock) + d->keep_alive_ms;
    stats_init(&d->stats);
    hub_init(&d->hub, c, d->clock, &d->stats);
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
    burst_stop(&d->burst);
    MHD_stop_daemon(d->mhd);
    waker_release(&d->waker);
    burst_release(&d->burst);
    release(d);
}
