/* What enrichment tells Prometheus. Any thread; the names of sources and lanes are given once, by
 * the plan, before anybody looks. */
#ifndef TAIN_ENRICH_ENRICH_METRICS_H
#define TAIN_ENRICH_ENRICH_METRICS_H

#include "base/metrics.h"
#include "enrich/plan.h"
#include "store/lanes.h"

/* What became of an event: in the end each has exactly one of these. */
enum enrich_event_result {
    EVENT_WON,
    EVENT_LOST,
    EVENT_DROPPED,
    EVENT_IGNORED,
    EVENT_LEFT, /* to the worker whose share it is in */
    EVENT_RESULTS
};
enum enrich_claim_result { CLAIMS_WON, CLAIMS_LOST, CLAIMS_RACED, CLAIMS_SWEPT, CLAIMS_RESULTS };
/* What its table, or the filter, did not let us do with a row. */
enum enrich_step { STEP_FILTER, STEP_CLAIM, STEP_RESULT, STEP_RELEASE, STEP_SWEEP, STEPS };
enum enrich_call_result {
    CALLS_MATCH,
    CALLS_NO_MATCH,
    CALLS_REJECTED,
    CALLS_TRANSIENT,
    CALLS_WAIT,
    CALLS_AUTH,
    CALLS_RESULTS
};

void enrich_metrics_name(const struct enrich_plan *p); /* outlives the metrics */
#define ENRICH_LANES_MAX (PLAN_PROVIDERS_MAX + 3)
/* One more lane beside the plan's, or the one of that name: its number. After the plan. */
int enrich_metrics_lane(struct str name);

void enrich_received(size_t source);
void enrich_event(size_t source, enum enrich_event_result r);
void enrich_claim(size_t source, enum enrich_claim_result r);
void enrich_refused(size_t source, enum enrich_step step);
void enrich_final(size_t source, enum source_state state);
void enrich_call(int lane, enum enrich_call_result r, int64_t elapsed_ms);
void enrich_lane_state(int lane, enum lane_why why, int64_t wait_ms);
void enrich_lane_seen(int lane, const struct lane_row *r); /* its shared state, now and then */
const char *enrich_lane_name(int lane);                    /* static: outlives the plan */
void enrich_rows(size_t source, const struct source_counts *counts);

extern struct metric m_enrich_in_flight;
extern struct metric *const enrich_metrics[];
extern const size_t enrich_n_metrics;

#endif
