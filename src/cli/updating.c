#include "cli/updating.h"

#include "base/log.h"

#define DB_SLOW_MS 5000

static void log_illness(struct updating *d, const char *illness) {
    if (illness && !d->illness)
        log_warn("the upstream is ill; pausing, no attempt is charged", LS("class", illness));
    if (!illness && d->illness)
        log_info("the upstream is well again");
    d->illness = illness;
}

void updating_tick(void *arg, const struct updater_view *v) {
    struct updating *d = arg;
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

static double recent_days(const struct settings *s) {
    bool asked = s->command == CMD_UP || settings_origin(s, "recent-days") != ORIGIN_DEFAULT;
    return asked ? s->recent_days : 0;
}

struct updater_options updating_options(const struct settings *s, struct store *store,
                                        struct stop_token *stop, struct updating *u) {
    return (struct updater_options){
        .clock = &clock_machine,
        .store = store,
        .upstream = s->upstream,
        .user_agent = "tain/" TAIN_VERSION,
        .ca_file = s->ca_file,
        .start_id = s->start_id,
        .recent_days = recent_days(s),
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
        .feed_keep_ms = s->feed_keep_ms,
        .feed_keep_rows = s->feed_keep_rows,
        .stop = stop,
        .tick = updating_tick,
        .tick_arg = u,
    };
}
