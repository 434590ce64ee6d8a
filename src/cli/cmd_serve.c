#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/indexing.h"
#include "cli/monitor.h"
#include "cli/notify.h"
#include "web/server.h"
#include "web/web_metrics.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define TURN_MS 250
#define STOP_SECONDS 30
#define FILES_BESIDE 256 /* databases, logs, pipes: what is no connection of a client */

/* A connection is a descriptor: as many as are needed, if the system lets us. */
static void allow_files(int64_t connections) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections + FILES_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted)
        log_warn("fewer files may be open than there may be connections",
                 LI("files", limit.rlim_cur), LI("connections", connections));
}

static struct web_options options_of(const struct settings *s, const struct monitor *m) {
    const char *uri = s->read_db ? s->read_db : s->db;
    return (struct web_options){
        .listen = s->listen,
        .hosts = {(const char *const *)s->public_host.items, s->public_host.n},
        .store = {.uri = uri,
                  .schema = s->schema,
                  .clock = &clock_machine,
                  .schema_rule = SCHEMA_REQUIRE,
                  .must_exist = true},
        .shared = strncmp(uri, "sqlite:", 7) != 0,
        .query_threads = (int)s->query_threads,
        .max_connections = (int)s->max_connections,
        .keep_alive_ms = (int)s->stream_keep_alive_ms,
        .access_log = (enum access_log)s->access_log,
        .clock = &clock_machine,
        .vitals = &m->vitals,
        .families = m->families,
        .n_families = m->n,
    };
}

static void say_status(struct notify *n, const struct web *w, int64_t db_down_ms) {
    char text[NOTIFY_STATUS_MAX];
    snprintf(text, sizeof text, "serving on port %d: %lld connections%s", web_port(w),
             (long long)metric_get(&m_web_connections, 0),
             db_down_ms > 5000 ? "; the database does not answer" : "");
    notify_status(n, text);
}

static void watch(struct web *w, struct stop_token *stop, struct monitor *m, struct notify *n) {
    struct pollfd fd = {stop->fd, POLLIN, 0};
    notify_ready(n);
    while (!stop_raised(stop)) {
        int64_t down = web_db_down_ms(w);
        monitor_waiting(m, down);
        say_status(n, w, down);
        notify_alive(n, web_silence_ms(w));
        log_tick();
        (void)poll(&fd, 1, TURN_MS);
    }
}

static int run(const struct settings *s, struct stop_token *stop, struct monitor *m,
               struct notify *n) {
    const struct web_options options = options_of(s, m);
    struct web *web = NULL;
    struct err e;
    enum verdict v = web_start(&options, &web, &e);
    if (v != V_OK) {
        complain(s, e.msg);
        notify_stopping(n, e.msg);
        return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    log_info("serving", LS("listen", s->listen), LI("port", web_port(web)));
    struct indexing *indexing = NULL;
    if (!s->no_index && !s->read_db)
        v = indexing_start(&options.store, &indexing, &e);
    if (v == V_OK)
        watch(web, stop, m, n);
    else
        complain(s, e.msg);
    notify_stopping(n, "stopping: answering what was asked");
    web_stop(web);
    indexing_stop(indexing);
    log_info("stopped");
    return v == V_OK ? EXIT_DONE : EXIT_FAILED;
}

/* Opens the archive once, to migrate it and to complain in time; each thread opens its own. */
static int prepare(const struct settings *s) {
    struct store *store = NULL;
    struct settings copy = *s;
    if (s->read_db) {
        copy.db = s->read_db;
        copy.no_migrate = false;
    }
    bool exists_only = s->read_db || s->no_migrate;
    int code = archive_must_exist(&copy);
    if (code == 0)
        code = archive_open(&copy, exists_only ? SCHEMA_REQUIRE : SCHEMA_MIGRATE, &store);
    store_close(store);
    return code;
}

int cmd_serve(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
    signals_allow(STOP_SECONDS, "tain serve: the database hangs; stopped without it.\n",
                  EXIT_FAILED);
    struct monitor monitor = {0};
    struct notify notify;
    notify_init(&notify, &clock_machine);
    notify_status(&notify, "opening the database");
    allow_files(s->max_connections);
    int code = prepare(s);
    if (code == 0)
        code = monitor_start(&monitor, s);
    if (code == 0)
        code = run(s, &stop, &monitor, &notify);
    monitor_stop(&monitor);
    stop_release(&stop);
    return code;
}
