#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/monitor.h"
#include "cli/notify.h"
#include "mirror/catchup.h"
#include "mirror/metrics.h"

#include <signal.h>
#include <stdio.h>

struct display {
    struct progress *progress;
    struct notify *notify;
    struct monitor *monitor;
    bool replay;
    const char *illness; /* the last one that was logged */
};

static int64_t outcomes_total(void) {
    int64_t n = 0;
    for (int i = 0; i < ITEMS_N_OUTCOMES; i++)
        n += metric_get(&m_items, i);
    return n;
}

static void log_illness(struct display *d, const char *illness) {
    if (illness && !d->illness)
        log_warn("the upstream is ill; pausing, no attempt is charged", LS("class", illness));
    if (!illness && d->illness)
        log_info("the upstream is well again");
    d->illness = illness;
}

static void show(void *arg, const struct catchup_view *v) {
    struct display *d = arg;
    monitor_catchup(d->monitor, v);
    log_illness(d, v->illness);
    const struct progress_view view = {
        .total_ids = v->window.hi - v->window.lo + 1,
        .done_ids = d->replay ? outcomes_total() : v->covered,
        .fetched = count_item_answers(),
        .missing = metric_get(&m_items, ITEMS_MISSING),
        .retries = metric_get(&m_retries, 0),
        .waiting = metric_get(&m_waiting, 0),
        .dead_letters = metric_get(&m_dead_letters, 0),
        .frontier = metric_get(&m_frontier, 0),
        .maxitem = v->maxitem,
        .inflight = (int)metric_get(&m_http_inflight, 0),
        .window = (int)metric_get(&m_http_window, 0),
        .paused = v->illness || v->db_down_ms > 1000,
        .pause_reason = v->illness ? v->illness : "waiting for the database",
        .phase = d->replay ? "replaying" : "catching up",
    };
    progress_update(d->progress, &view);
    const struct progress_view now = progress_last(d->progress);
    if (signal_received())
        notify_stopping(d->notify, "stopping: writing down what is left");
    else
        notify_catchup(d->notify, &now, v->silence_ms);
    if (v->finishing)
        notify_patience(d->notify);
}

static void show_waiting(void *arg, int64_t db_down_ms) {
    struct display *d = arg;
    monitor_waiting(d->monitor, db_down_ms);
}

static struct catchup_options options_of(const struct settings *s, struct store *store,
                                         const struct stop_token *stop, struct display *d) {
    return (struct catchup_options){
        .clock = &clock_machine,
        .store = store,
        .upstream = s->upstream,
        .user_agent = "tain/" TAIN_VERSION,
        .ca_file = s->ca_file,
        .start_id = s->start_id,
        .end_id = s->end_id,
        .limit = s->limit,
        .ignore_highest = s->ignore_highest,
        .replay = s->force_replay_window,
        .segment_width = s->segment_width,
        .batch_size = (int)s->batch_size,
        .concurrency = (int)s->concurrency,
        .rps = s->rps,
        .retry = {.max_attempts = (int)s->retry_attempts,
                  .backoff = {s->retry_initial_ms, s->retry_max_ms, s->retry_jitter_ms}},
        .wait_ms = s->wait_ms,
        .max_outage_ms = s->max_outage_ms,
        .feed_keep_ms = s->feed_keep_ms,
        .feed_keep_rows = s->feed_keep_rows,
        .timeout_ms = s->timeout_ms,
        .lease_ms = s->lease_ms,
        .max_body = (size_t)s->max_body,
        .stop = stop,
        .tick = show,
        .waiting = show_waiting,
        .tick_arg = d,
    };
}

static void summarize(const struct settings *s, const struct catchup_result *r,
                      const struct err *e) {
    CLEANUP(strbuf_release) struct strbuf again;
    strbuf_init(&again, 4096);
    settings_command_line(s, &again);
    bool nothing = r->end == CATCHUP_NOTHING;
    const struct summary summary = {
        .command = "catchup",
        .start_id = r->window.lo,
        .end_id = r->window.hi,
        .total_ids = nothing ? 0 : r->window.hi - r->window.lo + 1,
        .done_ids = outcomes_total(),
        .fetched = count_item_answers(),
        .stored = metric_get(&m_items, ITEMS_INSERTED),
        .changed = metric_get(&m_items, ITEMS_CHANGED),
        .unchanged = metric_get(&m_items, ITEMS_UNCHANGED),
        .stale = metric_get(&m_items, ITEMS_STALE),
        .missing = metric_get(&m_items, ITEMS_MISSING),
        .retries = metric_get(&m_retries, 0),
        .waiting = r->waiting,
        .dead_letters = r->dead,
        .frontier = r->frontier.id,
        .frontier_excluding_waiting = r->frontier.excluding_waiting,
        .maxitem = r->maxitem,
        .duration_ms = r->duration_ms,
        .stopped = r->end == CATCHUP_STOPPED || r->end == CATCHUP_FAILED,
        .stop_reason = r->end == CATCHUP_FAILED ? e->msg : NULL,
        .resume_command = again.p,
    };
    if (s->json)
        progress_summary_json(stdout, &summary);
    else if (s->log_format == LOG_JSON)
        progress_summary_log(&summary);
    else
        progress_summary(stderr, &summary);
}

static int exit_code_of(enum catchup_end end) {
    switch (end) {
    case CATCHUP_COMPLETE:
    case CATCHUP_NOTHING:
        return EXIT_DONE;
    case CATCHUP_UNRESOLVED:
        return EXIT_UNRESOLVED;
    case CATCHUP_STOPPED:
        return signal_received() == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM;
    default:
        return EXIT_FAILED;
    }
}

/* A run with nothing to fetch has been up all the same. */
static void notify_end(struct notify *n, int code) {
    if (code == EXIT_DONE || code == EXIT_UNRESOLVED)
        notify_ready(n);
    notify_stopping(n, code == EXIT_DONE         ? "finished"
                       : code == EXIT_UNRESOLVED ? "finished; unresolved ids or dead letters remain"
                       : signal_received()       ? "stopped; the same command goes on"
                                                 : "failed");
}

static int run(const struct settings *s, struct store *store, struct stop_token *stop,
               struct monitor *monitor, struct notify *notify) {
    const struct progress_options look = progress_options_for(
        stderr, (enum progress_mode)s->progress, s->log_format == LOG_JSON, &clock_machine);
    struct display display = {.progress = progress_new(&look),
                              .notify = notify,
                              .monitor = monitor,
                              .replay = s->force_replay_window};
    const struct catchup_options options = options_of(s, store, stop, &display);
    struct catchup_result result;
    struct err e = {0};
    enum verdict v = catchup_run(&options, &result, &e);
    progress_free(display.progress);
    if (v != V_OK && v != V_STOPPED) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    if (v == V_STOPPED) {
        complain(s, "stopped before it began");
        return exit_code_of(CATCHUP_STOPPED);
    }
    bool talks = !s->json && s->log_format != LOG_JSON;
    if (result.end == CATCHUP_NOTHING && s->start_id > result.maxitem && talks)
        fprintf(stderr, "catchup: nothing to do, --start-id %lld lies above the newest item %lld\n",
                (long long)s->start_id, (long long)result.maxitem);
    else
        summarize(s, &result, &e);
    return exit_code_of(result.end);
}

int cmd_catchup(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
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
    notify_end(&notify, code); /* from here on systemd counts the seconds */
    stop_release(&stop);
    return code;
}
