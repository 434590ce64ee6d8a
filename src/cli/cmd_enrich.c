#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/enrich_verbs.h"
#include "cli/enriching.h"
#include "cli/linking.h"
#include "cli/monitor.h"
#include "cli/notify.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TURN_MS 250
#define STOP_SECONDS 30

/* Links always, and the tables of a file where one is given. */
struct work {
    struct enriching tables;
    struct linking links;
    bool has_tables;
};

static size_t n_sources(const struct work *w) {
    return w->has_tables ? w->tables.plan.n_sources : 0;
}

static struct enrich_view view_of(const struct work *w) {
    struct enrich_view v = {.db_down_ms = linking_down_ms(&w->links),
                            .silence_ms = linking_silence_ms(&w->links),
                            .refused = linking_refused(&w->links)};
    if (!w->has_tables)
        return v;
    int64_t down = enriching_down_ms(&w->tables), silence = enriching_silence_ms(&w->tables);
    v.db_down_ms = down > v.db_down_ms ? down : v.db_down_ms;
    v.silence_ms = silence > v.silence_ms ? silence : v.silence_ms;
    v.refused = v.refused ? v.refused : engine_refused(w->tables.engine);
    v.reader = w->tables.reader;
    return v;
}

static void say_status(struct notify *n, const struct work *w, const struct enrich_view *v) {
    char text[NOTIFY_STATUS_MAX], tables[40] = "";
    if (n_sources(w))
        snprintf(tables, sizeof tables, " and %zu source%s", n_sources(w),
                 n_sources(w) == 1 ? "" : "s");
    snprintf(text, sizeof text, "enriching links%s%s", tables,
             v->db_down_ms ? "; the database does not answer" : "");
    notify_status(n, text);
}

static enum verdict tend(struct work *w, struct err *e) {
    enum verdict v = linking_tend(&w->links, e);
    return v == V_OK && w->has_tables ? enriching_tend(&w->tables, e) : v;
}

static enum verdict watch(struct work *w, struct stop_token *stop, struct monitor *m,
                          struct notify *n, struct err *e) {
    struct pollfd fd = {stop->fd, POLLIN, 0};
    enum verdict v = V_OK;
    notify_ready(n);
    while (!stop_raised(stop) && (v = tend(w, e)) == V_OK) {
        struct enrich_view view = view_of(w);
        monitor_enrich(m, &view);
        say_status(n, w, &view);
        notify_alive(n, view.silence_ms);
        log_tick();
        (void)poll(&fd, 1, TURN_MS);
    }
    return v;
}

static enum verdict start(struct work *w, const struct settings *s, struct err *e) {
    enum verdict v = V_OK;
    w->has_tables = s->sources != NULL;
    if (w->has_tables)
        v = enriching_plan(&w->tables, s, e);
    if (v == V_OK && w->has_tables)
        v = enriching_start(&w->tables, s, e);
    return v == V_OK ? linking_start(&w->links, s, e) : v;
}

static void stop_work(struct work *w) {
    linking_stop(&w->links);
    if (w->has_tables)
        enriching_stop(&w->tables);
}

static int work(const struct settings *s, struct stop_token *stop, struct monitor *m,
                struct notify *n) {
    struct work w = {0};
    struct err e = {0};
    enum verdict v = start(&w, s, &e);
    if (v == V_OK) {
        log_info("enriching", LI("sources", n_sources(&w)), LS("holder", w.links.holder));
        v = watch(&w, stop, m, n, &e);
        notify_stopping(n, "stopping: giving back what is held");
    }
    stop_work(&w);
    if (v != V_OK) {
        complain(s, e.msg);
        notify_stopping(n, e.msg);
        return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    bool gave_back = w.links.gave_back && (!w.has_tables || w.tables.gave_back);
    log_info(gave_back ? "stopped; nothing is held" : "stopped");
    return EXIT_DONE;
}

static int run(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
    signals_allow(STOP_SECONDS,
                  "tain enrich: the database hangs; stopped without it. What was held is freed by "
                  "the sweep of another.\n",
                  EXIT_FAILED);
    struct store *store = NULL;
    struct monitor monitor = {0};
    struct notify notify;
    notify_init(&notify, &clock_machine);
    notify_status(&notify, "opening the database");
    int code = archive_open(s, s->no_migrate ? SCHEMA_REQUIRE : SCHEMA_MIGRATE, &store);
    store_close(store);
    if (code == 0)
        code = monitor_start(&monitor, s);
    if (code == 0)
        code = work(s, &stop, &monitor, &notify);
    monitor_stop(&monitor);
    stop_release(&stop);
    return code;
}

int cmd_enrich(struct settings *s) {
    if (s->words.n && s->dry_run) {
        complain(s, "--dry-run is of the work itself, not of a verb");
        return EXIT_USAGE;
    }
    if (s->words.n)
        return enrich_verb(s);
    if (s->reason) {
        complain(s, "--reason belongs to 'tain enrich pause'");
        return EXIT_USAGE;
    }
    return s->dry_run ? enrich_dry_run(s) : run(s);
}
