#include "web/server_int.h"

#include "base/log.h"
#include "base/thread.h"
#include "feed/reader.h"
#include "web/events.h"
#include "web/herald.h"
#include "web/link_gate.h"
#include "web/stream.h"
#include "web/topics.h"
#include "web/turnstile.h"
#include "web/visitors.h"
#include "web/ws.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BACKLOG 1024
#define TURN_MS 250
#define TICK_MS 1000
#define CONNECTION_MEMORY (16 * 1024) /* headers and buffers; one request line fits in */
#define ANSWER_DEADLINE_MS 10000
#define MINUTE_MS 60000

int web_port(const struct web *w) {
    return w->port;
}

const struct web_options *web_options(const struct web *w) {
    return &w->o;
}

const struct clock *web_clock(const struct web *w) {
    return w->o.clock;
}

struct stream_hub *web_streams(const struct web *w) {
    return w->streams;
}

struct feed_hub *web_feed(const struct web *w) {
    return w->feed;
}

struct events *web_events(const struct web *w) {
    return w->events;
}

struct topics *web_topics(const struct web *w) {
    return w->topics;
}

struct turnstile *web_turns(const struct web *w) {
    return w->turns;
}

void web_wrote(struct web *w) {
    herald_ring(w->herald);
    if (w->reader)
        feed_ring(w->reader);
}

int64_t web_silence_ms(const struct web *w) {
    int64_t now = clock_mono(w->o.clock), worst = 0;
    for (int i = 0; i < w->n_loops; i++) {
        int64_t since = atomic_load_explicit(&w->loops[i].beat, memory_order_relaxed);
        if (since && now - since > worst)
            worst = now - since;
    }
    if (w->hall && now - ws_hall_beat(w->hall) > worst)
        worst = now - ws_hall_beat(w->hall);
    int64_t feed = web_feed_silence_ms(w);
    return feed > worst ? feed : worst;
}

int64_t web_feed_down_ms(const struct web *w) {
    return w->reader ? feed_down_ms(w->reader) : 0;
}

int64_t web_feed_silence_ms(const struct web *w) {
    return w->reader ? feed_silence_ms(w->reader) : 0;
}

int64_t web_db_down_ms(const struct web *w) {
    int64_t since = atomic_load(&w->db_failed_since);
    return since ? clock_mono(w->o.clock) - since : 0;
}

/* Nobody is accepted any more, and streams come to their end. */
static void go_quiet(struct loop *l) {
    l->quiet = true;
    int fd = MHD_quiesce_daemon(l->daemon);
    if (fd >= 0)
        close(fd);
    for (struct request *r = l->active; r; r = r->next)
        if (r->asleep && !r->borrowed && r->call.stream.read)
            request_wake(r, false);
}

static void turn(struct loop *l) {
    struct pollfd fds[] = {{l->epoll_fd, POLLIN, 0}, {l->wake_fd, POLLIN, 0}};
    MHD_UNSIGNED_LONG_LONG due = TURN_MS;
    if (MHD_get_timeout(l->daemon, &due) != MHD_YES || due > TURN_MS)
        due = TURN_MS;
    if (due)
        (void)poll(fds, 2, (int)due);
    requests_drain(l);
    /* Never with a wait of its own: after exactly 128 events at once the library would wait for
     * more before it looks at those it has. */
    (void)MHD_run_wait(l->daemon, 0);
    desk_let_go(&l->desk);
    int64_t now = clock_mono(l->web->o.clock);
    atomic_store_explicit(&l->beat, now, memory_order_relaxed);
    if (now >= l->next_tick) {
        l->next_tick = now + TICK_MS;
        visitors_tick(l);
    }
}

static void *run_loop(void *arg) {
    struct loop *l = arg;
    while (!atomic_load(&l->web->ended)) {
        turn(l);
        if (atomic_load(&l->web->stopping) && !l->quiet)
            go_quiet(l);
    }
    requests_drain(l);
    desk_release(&l->desk);
    return NULL;
}

static struct MHD_Daemon *start_daemon(struct loop *l, int fd) {
    const struct web_options *o = &l->web->o;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | MHD_USE_TURBO;
    unsigned share = (unsigned)((o->max_connections + o->loops - 1) / o->loops);
    return MHD_start_daemon(
        flags, 0, visitor_admit, l, request_handle, l, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, share, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)((o->idle_ms + 999) / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)2048,
        MHD_OPTION_URI_LOG_CALLBACK, request_open, l, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, l, MHD_OPTION_NOTIFY_CONNECTION, visitor_notify, l, MHD_OPTION_END);
}

static enum verdict start_loop(struct web *w, int i, struct err *e) {
    struct loop *l = &w->loops[i];
    char name[16];
    l->web = w;
    desk_init(&l->desk, w, false);
    pthread_mutex_init(&l->lock, NULL);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->n_loops = i + 1;
    int fd = fcntl(w->listen_fd, F_DUPFD_CLOEXEC, 0);
    l->daemon = l->wake_fd < 0 || fd < 0 ? NULL : start_daemon(l, fd);
    if (!l->daemon) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_set(e, V_FATAL, "http", code, "cannot start the HTTP server: %s",
                       strerror(code));
    }
    l->epoll_fd = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    snprintf(name, sizeof name, "web-%d", i);
    /* From here on it is expected to move: one that hangs in its first turn is silent too. */
    atomic_store(&l->beat, clock_mono(w->o.clock));
    enum verdict v = thread_start(&l->thread, name, run_loop, l, e);
    l->running = v == V_OK;
    return v;
}

static void fill_in(struct web_options *o) {
    o->loops = o->loops ? o->loops : 2;
    o->query_threads = o->query_threads ? o->query_threads : 4;
    o->queue = o->queue ? o->queue : 256;
    o->max_connections = o->max_connections ? o->max_connections : 1024;
    o->feed_clients = o->feed_clients ? o->feed_clients : 2000;
    o->max_per_address = o->max_per_address ? o->max_per_address : 256;
    o->idle_ms = o->idle_ms ? o->idle_ms : 30000;
    o->stop_ms = o->stop_ms ? o->stop_ms : ANSWER_DEADLINE_MS;
    o->clock = o->clock ? o->clock : &clock_machine;
}

static void wake_call(void *call) {
    call_wake(call);
}

static bool call_gone(void *call) {
    return call_hung_up(call);
}

static const struct stream_door stream_door = {wake_call, call_gone};

/* Others than streams find room too. */
static size_t most_streams(int max_connections) {
    return (size_t)(max_connections - max_connections / 64 - 8 > 1
                        ? max_connections - max_connections / 64 - 8
                        : 1);
}

bool web_has_room(const struct web *w) {
    struct stream_counts counts;
    stream_count(w->streams, &counts);
    size_t n = w->events ? events_count(w->events) : 0;
    for (int i = 0; i < TOPIC_N; i++)
        n += counts.clients[i];
    return n < most_streams(w->o.max_connections);
}

static enum verdict start_herald(struct web *w, struct err *e) {
    const struct herald_options o = {.store = &w->o.store,
                                     .hub = w->streams,
                                     .events = w->events,
                                     .clock = w->o.clock,
                                     .keep_alive_ms = w->o.keep_alive_ms};
    return herald_start(&o, &w->herald, e);
}

static enum verdict start_feed(struct web *w, struct err *e) {
    const struct feed_options o = {.store = &w->o.store,
                                   .hub = w->feed,
                                   .clock = w->o.clock,
                                   .keep_ms = w->o.feed_keep_ms,
                                   .keep_rows = w->o.read_only ? 0 : w->o.feed_keep_rows,
                                   .read_only = w->o.read_only};
    return feed_start(&o, &w->reader, e);
}

/* What watches the archive for those who wait for news. */
static enum verdict start_watchers(struct web *w, struct err *e) {
    if (!w->o.store.uri)
        return V_OK;
    enum verdict v = V_OK;
    if (!w->feed) {
        w->feed = feed_hub_new((size_t)w->o.feed_clients);
        v = start_feed(w, e);
    }
    w->events = events_new(w);
    return v == V_OK ? start_herald(w, e) : v;
}

/* Without a key nobody may listen. */
static enum verdict start_hall(struct web *w, struct err *e) {
    const struct ws_hall_options o = {.web = w,
                                      .hub = w->feed,
                                      .clock = w->o.clock,
                                      .max_clients = w->o.feed_clients,
                                      .ping_ms = w->o.ws_ping_ms,
                                      .slow_ms = w->o.ws_slow_ms};
    return w->feed && w->o.feed_key ? ws_hall_start(&o, &w->hall, e) : V_OK;
}

enum verdict web_start(const struct web_options *o, struct web **ret, struct err *e) {
    struct web *w = xcalloc(1, sizeof *w);
    w->o = *o;
    fill_in(&w->o);
    w->listen_fd = -1;
    w->feed = w->o.feed_hub;
    w->topics = topics_new(w->o.clock);
    w->turns = turnstile_new(LINK_TURNS, MINUTE_MS);
    w->crowd = crowd_new(w->o.max_per_address);
    w->streams = stream_hub_new(&stream_door, most_streams(w->o.max_connections));
    enum verdict v = address_listen(w->o.listen, BACKLOG, &w->listen_fd, &w->port, e);
    if (v == V_OK)
        v = pool_start(w, &w->pool, e);
    if (v == V_OK)
        v = start_watchers(w, e);
    if (v == V_OK)
        v = start_hall(w, e);
    for (int i = 0; i < w->o.loops && v == V_OK; i++)
        v = start_loop(w, i, e);
    if (v != V_OK) {
        web_stop(w);
        return v;
    }
    *ret = w;
    return V_OK;
}

static bool any_active(struct web *w) {
    if (w->hall && ws_hall_count(w->hall))
        return true;
    for (int i = 0; i < w->n_loops; i++)
        if (atomic_load(&w->loops[i].n_active))
            return true;
    return false;
}

/* The library aborts when it is stopped over a suspended connection. */
static void resume_all(struct loop *l) {
    for (struct request *r = l->active; r; r = r->next)
        if (r->asleep) {
            r->asleep = false;
            MHD_resume_connection(r->connection);
        }
}

static void end_loop(struct loop *l) {
    if (l->running)
        pthread_join(l->thread, NULL);
    if (l->daemon) {
        resume_all(l);
        MHD_stop_daemon(l->daemon);
    }
    requests_free_spare(l);
    desk_release(&l->desk);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    pthread_mutex_destroy(&l->lock);
}

/* They look at the flags with each turn, and turn when they are woken. */
static void raise_flag(struct web *w, atomic_bool *flag) {
    uint64_t one = 1;
    atomic_store(flag, true);
    for (int i = 0; i < w->n_loops; i++)
        if (w->loops[i].wake_fd >= 0 && write(w->loops[i].wake_fd, &one, sizeof one) < 0)
            abort(); /* it cannot be full, and it is ours */
}

void web_stop(struct web *w) {
    if (!w)
        return;
    raise_flag(w, &w->stopping);
    if (w->listen_fd >= 0)
        close(w->listen_fd);
    stream_hub_stop(w->streams);
    if (w->hall)
        ws_hall_quiet(w->hall);
    if (w->feed)
        feed_hub_stop(w->feed);
    int64_t until = clock_mono(&clock_machine) + w->o.stop_ms;
    while (any_active(w) && clock_mono(&clock_machine) < until)
        (void)poll(NULL, 0, 10);
    pool_stop(w->pool); /* waits for what runs; the loops still send it */
    until = clock_mono(&clock_machine) + TURN_MS;
    while (any_active(w) && clock_mono(&clock_machine) < until)
        (void)poll(NULL, 0, 10);
    raise_flag(w, &w->ended);
    for (int i = 0; i < w->n_loops; i++)
        end_loop(&w->loops[i]);
    ws_hall_stop(w->hall);
    pool_free(w->pool);
    herald_stop(w->herald);
    feed_stop(w->reader);
    events_free(w->events);
    topics_free(w->topics);
    turnstile_free(w->turns);
    if (!w->o.feed_hub)
        feed_hub_free(w->feed);
    stream_hub_free(w->streams);
    crowd_free(w->crowd);
    free(w);
}
