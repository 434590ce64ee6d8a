#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/updating.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static int run(const struct settings *s, struct store *store, struct stop_token *stop,
               struct monitor *monitor, struct notify *notify) {
    struct updating updating = {.notify = notify, .monitor = monitor};
    const struct updater_options options = updating_options(s, store, stop, &updating);
    struct err e = {0};
    if (updater_run(&options, &e) != V_OK) {
        complain(s, e.msg);
        notify_stopping(notify, e.msg);
        return EXIT_FAILED;
    }
    notify_stopping(notify, "stopped; everything is written");
    log_info("stopped; everything is written");
    return EXIT_DONE;
}

/* What threads free stays with the heap it came from: with one each they would keep more than they
 * need, and what they allocate most is in arenas of our own. */
#define HEAPS 2

int cmd_updater(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    (void)mallopt(M_ARENA_MAX, HEAPS);
    signals_to(&stop);
    signals_allow(
        UPDATING_STOP_SECONDS,
        "tain updater: the database hangs; stopped without it. What was stored is safe, but "
        "ids that were named and not fetched yet could not be written down.\n",
        EXIT_FAILED);
    struct store *store = NULL;
    struct monitor monitor = {0};
    struct notify notify;
    notify_init(&notify, &clock_machine);
    notify_status(&notify, "opening the database");
    int code = archive_open(s, s->no_migrate ? SCHEMA_REQUIRE : SCHEMA_MIGRATE, &store);
    if (code == 0)
        code = monitor_start(&monitor, s);
    if (code == 0)
        code = run(s, store, &stop, &monitor, &notify);
    monitor_stop(&monitor);
    store_close(store);
    stop_release(&stop);
    return code;
}
