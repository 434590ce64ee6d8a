#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/enrich_verbs.h"
#include "cli/enriching.h"
#include "cli/monitor.h"
#include "cli/notify.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TURN_MS 250
#define STOP_SECONDS 30

static void say_status(struct notify *n, const struct enriching *w) {
    char text[NOTIFY_STATUS_MAX];
    snprintf(text, sizeof text, "enriching %zu source%s%s", w->plan.n_sources,
             w->plan.n_sources == 1 ? "" : "s",
             enriching_down_ms(w) ? "; the database does not answer" : "");
    notify_status(n, text);
}

static enum verdict watch(struct enriching *w, struct stop_token *stop, struct monitor *m,
                          struct notify *n, struct err *e) {
    struct pollfd fd = {stop->fd, POLLIN, 0};
    enum verdict v = V_OK;
    notify_ready(n);
    while (!stop_raised(stop) && (v = enriching_tend(w, e)) == V_OK) {
        monitor_enrich(m, w);
        say_status(n, w);
        notify_alive(n, enriching_silence_ms(w));
        log_tick();
        (void)poll(&fd, 1, TURN_MS);
    }
    return v;
}

static int work(const struct settings *s, struct stop_token *stop, struct monitor *m,
                struct notify *n) {
    struct enriching w;
    struct err e = {0};
    enum verdict v = enriching_plan(&w, s, &e);
    if (v == V_OK)
        v = enriching_start(&w, s, &e);
    if (v == V_OK) {
        log_info("enriching", LI("sources", w.plan.n_sources), LS("holder", w.holder));
        v = watch(&w, stop, m, n, &e);
        notify_stopping(n, "stopping: giving back what is held");
    }
    enriching_stop(&w);
    if (v != V_OK) {
        complain(s, e.msg);
        notify_stopping(n, e.msg);
        return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    log_info(w.gave_back ? "stopped; nothing is held" : "stopped");
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
