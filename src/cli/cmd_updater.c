#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/monitor.h"
#include "cli/notify.h"
#include "mirror/updater.h"

#include <stdio.h>
#include <stdlib.h>

#define DB_SLOW_MS 5000
#define STOP_SECONDS 45 /* a busy database is waited for: named ids are to be written down */

/* What was logged last, so that only changes are. */
struct display {
    const char *illness;
    bool db_down, connected;
    struct notify *notify;
    struct monitor *monitor;
};

static void log_illness(struct display *d, const char *illness) {
    if (illness && !d->illness)
        log_warn("the upstream is ill; pausing, no attempt is charged", LS("class", illness));
    if (!illness && d->illness)
        log_info("the upstream is well again");
    d->illness = illness;
}

static void log_changes(void *arg, const struct updater_view *v) {
    struct display *d = arg;
    log_tick();
    log_illness(d, v->illness);
    bool down = v->db_down_ms > DB_SLOW_MS;
    if (down && !d->db_down)
        log_warn("the database does not answer; waiting for it", LI("for_ms", v->db_down_ms));
    if (!down && d->db_down)
        log_info("the database answers again");
    d->db_down = down;
    if (v->connected && !d->connected)
        log_info("following the event stream");
    if (!v->connected && d->connected)
        log_warn("the event stream is down; polling until it is back");
    d->connected = v->connected;
    monitor_updater(d->monitor, v);
    notify_updater(d->notify, v);
}

static struct updater_options options_of(const struct settings *s, struct store *store,
                                         struct stop_token *stop, struct display *d) {
    return (struct updater_options){
        .clock = &clock_machine,
        .store = store,
        .upstream = s->upstream,
        .user_agent = "tain/" TAIN_VERSION,
        .ca_file = s->ca_file,
        .start_id = s->start_id,
        .segment_width = s->segment_width,
        .batch_size = (int)s->batch_size,
        .concurrency = (int)s->concurrency,
        .rps = s->rps,
        .retry = {.max_attempts = (int)s->retry_attempts,
                  .backoff = {s->retry_initial_ms, s->retry_max_ms, s->retry_jitter_ms}},
        .timeout_ms = s->timeout_ms,
        .lease_ms = s->lease_ms,
        .updater_lease_ms = s->updater_lease_ms,
        .max_body = (size_t)s->max_body,
        .realtime_workers = (int)s->realtime_workers,
        .realtime_attempts = (int)s->realtime_attempts,
        .channel_capacity = (size_t)s->channel_capacity,
        .gap_queue_max = s->gap_queue_max,
        .startup_rescan_days = s->startup_rescan_days,
        .rescan_window_days = s->rescan_window_days,
        .rescan_interval_ms = s->rescan_interval_ms,
        .persist_interval_ms = s->persist_interval_ms,
        .stream_timeout_ms = s->stream_timeout_ms,
        .catchup_interval_ms = s->catchup_interval_ms,
        .outage_rescan_after_ms = s->outage_rescan_after_ms,
        .lists_interval_ms = s->lists_interval_ms,
        .stop = stop,
        .tick = log_changes,
        .tick_arg = d,
    };
}

static int run(const struct settings *s, struct store *store, struct stop_token *stop,
               struct monitor *monitor, struct notify *notify) {
    struct display display = {.notify = notify, .monitor = monitor};
    const struct updater_options options = options_of(s, store, stop, &display);
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

int cmd_updater(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
    signals_allow(
        STOP_SECONDS,
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
