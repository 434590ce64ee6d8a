#include "enrich/enrich_metrics.h"

#include <string.h>

#define NAME_MAX_BYTES 64

static char source_texts[PLAN_SOURCES_MAX][NAME_MAX_BYTES];
static char lane_texts[ENRICH_LANES_MAX][NAME_MAX_BYTES];
static const char *source_names[PLAN_SOURCES_MAX], *lane_names[ENRICH_LANES_MAX];
static size_t n_sources, n_lanes;
static const char *const event_results[] = {"won", "lost", "dropped", "ignored", "left"};
static const char *const claim_results[] = {"won", "lost", "raced", "swept"};
static const char *const step_names[] = {"filter", "claim", "result", "release", "sweep"};
static const char *const call_results[] = {"match",     "no_match", "rejected",
                                           "transient", "wait",     "auth"};
static const char *const state_names[] = {"pending", "enriching", "enriched_match",
                                          "enriched_no_match", "failed_no_retry"};
enum { STATE_RUNS, STATE_WAITS, STATE_ILL, STATE_PAUSED, STATE_REFUSED, STATES };
static const char *const lane_states[STATES] = {"runs", "waits", "ill", "paused", "refused"};
static const char *const final_names[] = {"enriched_match", "enriched_no_match", "failed_no_retry"};
static const double call_bounds[] = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

static struct metric m_received = {.name = "tain_enrich_events_received_total",
                                   .help = "Events of the change feed that concern a source.",
                                   .measure = "events",
                                   .type = METRIC_COUNTER,
                                   .label = "source",
                                   .label_values = source_names};
static struct metric m_events = {
    .name = "tain_enrich_events_total",
    .help = "What became of those events: every one ends as won, lost, dropped, ignored or "
            "left to another worker.",
    .measure = "events",
    .type = METRIC_COUNTER,
    .label = "source",
    .label_values = source_names,
    .label2 = "result",
    .label2_values = event_results,
    .n_label2 = EVENT_RESULTS};
static struct metric m_claims = {
    .name = "tain_enrich_claims_total",
    .help = "Claims by what came of them; raced: the row was ours no more when it was to be "
            "written; swept: freed after somebody who did not finish.",
    .measure = "claims",
    .type = METRIC_COUNTER,
    .label = "source",
    .label_values = source_names,
    .label2 = "result",
    .label2_values = claim_results,
    .n_label2 = CLAIMS_RESULTS};
static struct metric m_refused = {
    .name = "tain_enrich_refused_total",
    .help =
        "Rows that were passed over because the filter cannot be evaluated for them, or because "
        "their table refused the claim, the result, the release or the sweep.",
    .measure = "rows",
    .type = METRIC_COUNTER,
    .label = "source",
    .label_values = source_names,
    .label2 = "step",
    .label2_values = step_names,
    .n_label2 = STEPS};
static struct metric m_finals = {.name = "tain_enrich_finished_total",
                                 .help = "Rows that this process brought to a final state.",
                                 .measure = "rows",
                                 .type = METRIC_COUNTER,
                                 .label = "source",
                                 .label_values = source_names,
                                 .label2 = "state",
                                 .label2_values = final_names,
                                 .n_label2 = ARRAY_LEN(final_names)};
static struct metric m_rows = {.name = "tain_enrich_rows",
                               .help = "Rows of a source by state, as counted the last time.",
                               .measure = "rows",
                               .type = METRIC_GAUGE,
                               .label = "source",
                               .label_values = source_names,
                               .label2 = "state",
                               .label2_values = state_names,
                               .n_label2 = ROW_STATES};
static struct metric m_oldest = {
    .name = "tain_enrich_oldest_pending_seconds",
    .help = "How long it has been the turn of the oldest row that was given back.",
    .measure = "seconds",
    .type = METRIC_GAUGE,
    .label = "source",
    .label_values = source_names,
    .unit = 0.001};
static struct metric m_calls = {.name = "tain_enrich_calls_total",
                                .help = "Calls of a lane's provider, by what they meant.",
                                .measure = "calls",
                                .type = METRIC_COUNTER,
                                .label = "lane",
                                .label_values = lane_names,
                                .label2 = "result",
                                .label2_values = call_results,
                                .n_label2 = CALLS_RESULTS};
static struct metric m_call_time = {.name = "tain_enrich_call_seconds",
                                    .help = "How long calls took.",
                                    .measure = "seconds",
                                    .type = METRIC_HISTOGRAM,
                                    .n_series = 1,
                                    .bounds = call_bounds,
                                    .n_bounds = ARRAY_LEN(call_bounds),
                                    .unit = 0.001};
static struct metric m_wait = {
    .name = "tain_enrich_lane_wait_seconds",
    .help = "How long the lane has to wait for its next turn, when it asked the last time.",
    .measure = "seconds",
    .type = METRIC_GAUGE,
    .label = "lane",
    .label_values = lane_names,
    .unit = 0.001};
static struct metric m_blocked = {
    .name = "tain_enrich_lane_blocked",
    .help = "1 while the lane is paused, its breaker is open, or its provider asked for a wait.",
    .measure = "0 or 1",
    .type = METRIC_GAUGE,
    .label = "lane",
    .label_values = lane_names};
static struct metric m_state = {
    .name = "tain_enrich_lane_state",
    .help = "1 for what the lane does, for all workers: it runs, waits because its provider asked "
            "for it, is left alone because its provider is ill, is paused by hand, or paused "
            "because its provider refused our key.",
    .measure = "0 or 1",
    .type = METRIC_GAUGE,
    .label = "lane",
    .label_values = lane_names,
    .label2 = "state",
    .label2_values = lane_states,
    .n_label2 = ARRAY_LEN(lane_states)};
static struct metric m_budget = {
    .name = "tain_enrich_budget_left",
    .help = "Calls of all workers that may start within one window of the limit from now on; -1: "
            "there is no limit.",
    .measure = "calls",
    .type = METRIC_GAUGE,
    .label = "lane",
    .label_values = lane_names};
static struct metric m_due = {
    .name = "tain_enrich_due",
    .help = "Pending rows that do not wait for another attempt, as counted the last time.",
    .measure = "rows",
    .type = METRIC_GAUGE,
    .label = "source",
    .label_values = source_names};
struct metric m_enrich_in_flight = {.name = "tain_enrich_in_flight",
                                    .help = "Calls of this process under way.",
                                    .measure = "calls",
                                    .type = METRIC_GAUGE,
                                    .label = "lane",
                                    .label_values = lane_names};

struct metric *const enrich_metrics[] = {&m_received,  &m_events, &m_claims,  &m_refused,
                                         &m_finals,    &m_rows,   &m_oldest,  &m_calls,
                                         &m_call_time, &m_wait,   &m_blocked, &m_enrich_in_flight,
                                         &m_state,     &m_budget, &m_due};
const size_t enrich_n_metrics = ARRAY_LEN(enrich_metrics);

static void copy_name(char out[NAME_MAX_BYTES], struct str name) {
    size_t n = name.n < NAME_MAX_BYTES - 1 ? name.n : NAME_MAX_BYTES - 1;
    memcpy(out, name.p, n);
    out[n] = 0;
}

static void count_series(void) {
    for (size_t i = 0; i < enrich_n_metrics; i++) {
        struct metric *m = enrich_metrics[i];
        if (!m->label)
            continue;
        int n = (int)(m->label_values == lane_names ? n_lanes : n_sources);
        atomic_store_explicit(&m->n_series, n * (m->label2 ? m->n_label2 : 1),
                              memory_order_release);
    }
}

static void name_lane(size_t i, struct str name) {
    copy_name(lane_texts[i], name);
    lane_names[i] = lane_texts[i];
}

void enrich_metrics_name(const struct enrich_plan *p) {
    n_sources = p->n_sources;
    n_lanes = p->n_providers;
    for (size_t i = 0; i < p->n_sources; i++) {
        copy_name(source_texts[i], p->sources[i].spec.name);
        source_names[i] = source_texts[i];
    }
    for (size_t i = 0; i < p->n_providers; i++)
        name_lane(i, p->providers[i].name);
    count_series();
}

int enrich_metrics_lane(struct str name) {
    for (size_t i = 0; i < n_lanes; i++)
        if (str_eqc(name, lane_texts[i]))
            return (int)i;
    if (n_lanes == ENRICH_LANES_MAX)
        return ENRICH_LANES_MAX - 1;
    name_lane(n_lanes++, name);
    count_series();
    return (int)n_lanes - 1;
}

void enrich_received(size_t source) {
    metric_add(&m_received, (int)source, 1);
}

void enrich_event(size_t source, enum enrich_event_result r) {
    metric_add(&m_events, metric_series(&m_events, (int)source, (int)r), 1);
}

void enrich_claim(size_t source, enum enrich_claim_result r) {
    metric_add(&m_claims, metric_series(&m_claims, (int)source, (int)r), 1);
}

void enrich_refused(size_t source, enum enrich_step step) {
    metric_add(&m_refused, metric_series(&m_refused, (int)source, (int)step), 1);
}

void enrich_final(size_t source, enum source_state state) {
    metric_add(&m_finals, metric_series(&m_finals, (int)source, (int)state - ROW_MATCH), 1);
}

void enrich_call(int lane, enum enrich_call_result r, int64_t elapsed_ms) {
    metric_add(&m_calls, metric_series(&m_calls, lane, (int)r), 1);
    metric_observe(&m_call_time, elapsed_ms);
}

void enrich_lane_state(int lane, enum lane_why why, int64_t wait_ms) {
    metric_set(&m_wait, lane, wait_ms);
    metric_set(&m_blocked, lane,
               why == LANE_NOT_BEFORE || why == LANE_BREAKER || why == LANE_PAUSED);
}

void enrich_rows(size_t source, const struct source_counts *counts) {
    for (int i = 0; i < ROW_STATES; i++)
        metric_set(&m_rows, metric_series(&m_rows, (int)source, i), counts->rows[i]);
    metric_set(&m_due, (int)source, counts->rows[ROW_PENDING] - counts->waiting);
    metric_set(&m_oldest, (int)source, counts->oldest_pending_ms);
}

static int state_of(const struct lane_row *r) {
    if (r->state.pause != LANE_RUNS)
        return r->state.pause == LANE_PAUSED_AUTH ? STATE_REFUSED : STATE_PAUSED;
    if (r->state.breaker != BREAKER_CLOSED)
        return STATE_ILL;
    return r->why == LANE_NOT_BEFORE ? STATE_WAITS : STATE_RUNS;
}

void enrich_lane_seen(int lane, const struct lane_row *r) {
    metric_set(&m_budget, lane, r->budget_left);
    for (int i = 0; i < STATES; i++)
        metric_set(&m_state, metric_series(&m_state, lane, i), i == state_of(r));
}

const char *enrich_lane_name(int lane) {
    return lane_texts[lane];
}
