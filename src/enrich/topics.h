/* What the plan says of topics, told to the change feed: a row of a source that is final is heard
 * of under the source's topic (store/feed_topics.h). Once at start, by one thread. */
#ifndef TAIN_ENRICH_TOPICS_H
#define TAIN_ENRICH_TOPICS_H

#include "enrich/plan.h"

/* sources[] are the opened ones of the plan. */
MUST_CHECK enum verdict enrich_declare_topics(const struct enrich_plan *p,
                                              struct source *const *sources, struct store *s,
                                              struct err *e);

#endif
