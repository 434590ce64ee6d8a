/* What the enrichment of links tells Prometheus beside its lanes (enrich_metrics.h). Any thread. */
#ifndef TAIN_ENRICH_LINK_METRICS_H
#define TAIN_ENRICH_LINK_METRICS_H

#include "base/metrics.h"
#include "store/links_follow.h"

void enrich_link_done(enum link_task t, enum link_status s);
void enrich_link_raced(void);
void enrich_link_hindered(void); /* the upkeep, by some row */
/* The money for summaries, in millionths: of this month, and in all; budget 0: no limit. */
void enrich_link_purse(int64_t spent, int64_t budget, bool closed);
void enrich_link_followed(const struct link_followed *f);
void enrich_link_keys(const struct item_keys *k);
void enrich_link_counts(const struct link_counts *c);

extern struct metric *const link_metrics[];
extern const size_t link_n_metrics;

#endif
