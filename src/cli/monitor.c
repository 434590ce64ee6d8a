#include "cli/monitor.h"

#include "base/log.h"
#include "cli/cli.h"
#include "mirror/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned catchup_vitals = VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_UPSTREAM);
static const unsigned updater_vitals = VITAL_BIT(VITAL_DATABASE) | VITAL_BIT(VITAL_STREAM) |
                                       VITAL_BIT(VITAL_LAG) | VITAL_BIT(VITAL_WORKERS);

static void gather(struct monitor *m, bool updater) {
    m->families = xcalloc(mirror_n_metrics + updater_n_metrics, sizeof(struct metric *));
    for (size_t i = 0; i < mirror_n_metrics; i++)
        m->families[m->n++] = mirror_metrics[i];
    for (size_t i = 0; updater && i < updater_n_metrics; i++)
        m->families[m->n++] = updater_metrics[i];
}

static bool is_off(const char *bind) {
    return !bind || !*bind || strcmp(bind, "none") == 0;
}

static int complain(const struct settings *s, enum verdict v, const struct err *e) {
    if (settings_origin(s, "metrics-bind") == ORIGIN_DEFAULT) {
        log_warn("no metrics and no health checks; give --metrics-bind another address, or none",
                 LE(e));
        return 0;
    }
    char label[200];
    settings_label(s, "metrics-bind", label, sizeof label);
    fprintf(stderr, "tain %s: %s: %s\n", s->command_name, label, e->msg);
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

int monitor_start(struct monitor *m, const struct settings *s) {
    bool updater = s->command == CMD_UPDATER;
    struct err e;
    *m = (struct monitor){0};
    vitals_init(&m->vitals, &clock_machine, updater ? updater_vitals : catchup_vitals);
    if (is_off(s->metrics_bind))
        return 0;
    gather(m, updater);
    enum verdict v = metrics_http_start(
        &(struct metrics_http_options){
            .bind = s->metrics_bind, .families = m->families, .n = m->n, .vitals = &m->vitals},
        &m->http, &e);
    if (v != V_OK)
        return complain(s, v, &e);
    bool asked = settings_origin(s, "metrics-bind") != ORIGIN_DEFAULT;
    LOG_AT(asked || updater ? LOG_INFO : LOG_DEBUG, "metrics", LS("bind", s->metrics_bind),
           LI("port", metrics_http_port(m->http)));
    return 0;
}

void monitor_stop(struct monitor *m) {
    metrics_http_stop(m->http);
    free(m->families);
    *m = (struct monitor){0};
}

void monitor_catchup(struct monitor *m, const struct catchup_view *v) {
    vitals_post(&m->vitals,
                &(struct vitals_report){.db_down_ms = v->db_down_ms, .illness = v->illness});
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

void monitor_waiting(struct monitor *m, int64_t db_down_ms) {
    vitals_post(&m->vitals, &(struct vitals_report){.db_down_ms = db_down_ms});
}
