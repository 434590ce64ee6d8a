#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/indexing.h"
#include "cli/serving.h"
#include "web/web_metrics.h"

#include <poll.h>
#include <stdio.h>

#define DB_SLOW_MS 5000
#define TURN_MS 250
#define STOP_SECONDS 30

static void say_status(struct notify *n, const struct web *w, int64_t db_down_ms) {
    char text[NOTIFY_STATUS_MAX], stuck[80] = "", duration[FORMAT_MAX];
    int64_t silence = web_silence_ms(w);
    if (n->watchdog_ms && silence > n->watchdog_ms / 2)
        snprintf(stuck, sizeof stuck, "; a thread has not moved for %s",
                 format_duration(duration, silence));
    snprintf(text, sizeof text, "serving on port %d: %lld connections%s%s", web_port(w),
             (long long)metric_get(&m_web_connections, 0),
             db_down_ms > DB_SLOW_MS                ? "; the database does not answer"
             : web_feed_down_ms(w) > VITALS_FEED_MS ? "; the change feed gets no answer"
                                                    : "",
             stuck);
    notify_status(n, text);
}

static void watch(struct web *w, struct stop_token *stop, struct monitor *m, struct notify *n) {
    struct pollfd fd = {stop->fd, POLLIN, 0};
    notify_ready(n);
    while (!stop_raised(stop)) {
        int64_t down = web_db_down_ms(w);
        monitor_feed(m, w);
        monitor_waiting(m, down);
        say_status(n, w, down);
        notify_alive(n, web_silence_ms(w));
        log_tick();
        (void)poll(&fd, 1, TURN_MS);
    }
}

static int run(const struct settings *s, struct stop_token *stop, struct monitor *m,
               struct notify *n) {
    struct serving serving;
    int code = serving_start(&serving, s, m, n);
    if (code)
        return code;
    struct indexing *indexing = NULL;
    struct err e;
    enum verdict v = V_OK;
    if (!s->no_index && !s->read_db)
        v = indexing_start(&serving.options.store, &indexing, &e);
    if (v == V_OK)
        watch(serving.web, stop, m, n);
    else
        complain(s, e.msg);
    notify_stopping(n, "stopping: answering what was asked");
    web_stop(serving.web);
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
    int code = prepare(s);
    if (code == 0)
        code = monitor_start(&monitor, s);
    if (code == 0)
        code = run(s, &stop, &monitor, &notify);
    monitor_stop(&monitor);
    stop_release(&stop);
    return code;
}
