#include "cli/monitor.h"

#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "enrich/enrich_metrics.h"
#include "enrich/link_metrics.h"
#include "feed/feed_metrics.h"
#include "mirror/metrics.h"
#include "web/web_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned catchup_vitals = VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_UPSTREAM);
static const unsigned updater_vitals = VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_STREAM) |
                                       VITAL_BIT(VITAL_LAG) | VITAL_BIT(VITAL_WORKERS);

static const unsigned serve_vitals = VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_FEED);

static void gather(struct monitor *m, enum command_id command) {
    m->families = xcalloc(mirror_n_metrics + updater_n_metrics + web_n_metrics + feed_n_metrics +
                              enrich_n_metrics + link_n_metrics,
                          sizeof(struct metric *));
    for (size_t i = 0; !(command & (CMD_SERVE | CMD_ENRICH)) && i < mirror_n_metrics; i++)
        m->families[m->n++] = mirror_metrics[i];
    for (size_t i = 0; command & (CMD_UPDATER | CMD_UP) && i < updater_n_metrics; i++)
        m->families[m->n++] = updater_metrics[i];
    for (size_t i = 0; command & (CMD_SERVE | CMD_UP) && i < web_n_metrics; i++)
        m->families[m->n++] = web_metrics[i];
    for (size_t i = 0; command & (CMD_SERVE | CMD_UP | CMD_ENRICH) && i < feed_n_metrics; i++)
        m->families[m->n++] = feed_metrics[i];
    for (size_t i = 0; command & (CMD_UP | CMD_ENRICH) && i < enrich_n_metrics; i++)
        m->families[m->n++] = enrich_metrics[i];
    for (size_t i = 0; command & (CMD_UP | CMD_ENRICH) && i < link_n_metrics; i++)
        m->families[m->n++] = link_metrics[i];
}

static unsigned watched_by(enum command_id command) {
    if (command == CMD_UPDATER)
        return updater_vitals;
    if (command == CMD_UP) /* history may take days, and what is there can be read meanwhile */
        return (updater_vitals | serve_vitals) & ~VITAL_BIT(VITAL_LAG);
    if (command == CMD_ENRICH)
        return serve_vitals | VITAL_BIT(VITAL_ENRICH);
    return command == CMD_SERVE ? serve_vitals : catchup_vitals;
}

static bool is_off(const char *bind) {
    return !bind || !*bind || strcmp(bind, "none") == 0;
}

static int do_without(const struct settings *s, enum verdict v, const struct err *e) {
    if (settings_origin(s, "metrics-bind") == ORIGIN_DEFAULT) {
        log_warn("no metrics and no health checks; give --metrics-bind another address, or none",
                 LE(e));
        return 0;
    }
    char label[200], text[sizeof label + sizeof e->msg + 2];
    settings_label(s, "metrics-bind", label, sizeof label);
    snprintf(text, sizeof text, "%s: %s", label, e->msg);
    complain(s, text);
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

int monitor_start(struct monitor *m, const struct settings *s) {
    bool daemon = s->command & (CMD_UPDATER | CMD_SERVE | CMD_UP | CMD_ENRICH);
    struct err e;
    *m = (struct monitor){0};
    vitals_init(&m->vitals, &clock_machine, watched_by(s->command));
    gather(m, s->command);
    if (!s->read_db && s->feed_keep_rows > 0)
        metric_set(&m_feed_keep_rows, 0, s->feed_keep_rows);
    /* serve has them on its own port, and leaves the default address to an updater */
    bool by_default = settings_origin(s, "metrics-bind") == ORIGIN_DEFAULT;
    if (is_off(s->metrics_bind) || (by_default && s->command == CMD_SERVE))
        return 0;
    enum verdict v = metrics_http_start(
        &(struct metrics_http_options){
            .bind = s->metrics_bind, .families = m->families, .n = m->n, .vitals = &m->vitals},
        &m->http, &e);
    if (v != V_OK)
        return do_without(s, v, &e);
    bool asked = settings_origin(s, "metrics-bind") != ORIGIN_DEFAULT;
    LOG_AT(asked || daemon ? LOG_INFO : LOG_DEBUG, "metrics", LS("bind", s->metrics_bind),
           LI("port", metrics_http_port(m->http)));
    return 0;
}

void monitor_stop(struct monitor *m) {
    metrics_http_stop(m->http);
    free(m->families);
    *m = (struct monitor){0};
}

void monitor_catchup(struct monitor *m, const struct catchup_view *v) {
    vitals_post(&m->vitals, &(struct vitals_report){.db_down_ms = v->db_down_ms,
                                                    .illness = v->illness,
                                                    .leave_ms = v->finishing ? 3600000 : 0});
}

void monitor_updater(struct monitor *m, const struct updater_view *v) {
    vitals_post(&m->vitals,
                &(struct vitals_report){.standby = v->role == UPDATER_STANDBY,
                                        .db_down_ms = v->db_down_ms,
                                        .stream_age_ms = metric_get(&m_last_event_age, 0),
                                        .lag = metric_get(&m_frontier_lag, 0),
                                        .workers_alive = v->workers_alive,
                                        .illness = v->illness});
}

static void post_feed(struct monitor *m, int64_t down, int64_t silence) {
    metric_set(&m_feed_down_for, 0, down);
    metric_set(&m_feed_silence, 0, silence);
    vitals_post_feed(&m->vitals, down, silence);
}

void monitor_feed(struct monitor *m, const struct web *w) {
    post_feed(m, web_feed_down_ms(w), web_feed_silence_ms(w));
}

void monitor_enrich(struct monitor *m, const struct enrich_view *v) {
    vitals_post(&m->vitals, &(struct vitals_report){.db_down_ms = v->db_down_ms,
                                                    .enrich_silence_ms = v->silence_ms,
                                                    .refused = v->refused});
    post_feed(m, v->reader ? feed_down_ms(v->reader) : 0,
              v->reader ? feed_silence_ms(v->reader) : 0);
}

void monitor_waiting(struct monitor *m, int64_t db_down_ms) {
    vitals_post(&m->vitals, &(struct vitals_report){.db_down_ms = db_down_ms});
}
