/* The eyes on a long-running command: serves its metrics and its health on --metrics-bind, from the
 * opening of the archive to its end. The main thread posts; see web/metrics_http.h. */
#ifndef TAIN_CLI_MONITOR_H
#define TAIN_CLI_MONITOR_H

#include "cli/settings.h"
#include "feed/reader.h"
#include "mirror/catchup.h"
#include "mirror/updater.h"
#include "web/metrics_http.h"
#include "web/server.h"

struct monitor {
    struct vitals vitals;
    struct metric **families;
    size_t n;
    struct metrics_http *http; /* NULL: nobody can look */
};

/* For CMD_CATCHUP, CMD_UPDATER, CMD_SERVE, CMD_UP and CMD_ENRICH. Answers an exit code, 0 when all
 * is well. A bind that was asked for and cannot be had is an error; the default one, which another
 * process of this host may have, is a warning. */
int monitor_start(struct monitor *m, const struct settings *s);
void monitor_stop(struct monitor *m); /* also after a start that failed */

/* With each turn of the main loop. */
void monitor_catchup(struct monitor *m, const struct catchup_view *v);
void monitor_updater(struct monitor *m, const struct updater_view *v);
/* The same for the change feed of serve and up. */
void monitor_feed(struct monitor *m, const struct web *w);
/* The same for a worker of enrichment, its feed included. */
struct enrich_view {
    int64_t db_down_ms, silence_ms;
    const char *refused;              /* a lane whose provider refuses us; NULL: none */
    const struct feed_reader *reader; /* NULL: it hears no feed */
};
void monitor_enrich(struct monitor *m, const struct enrich_view *v);
/* It waits for the database. */
void monitor_waiting(struct monitor *m, int64_t db_down_ms);

#endif
