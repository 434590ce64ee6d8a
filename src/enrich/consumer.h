/* From the change feed to the rings of the engine. See consumer.c for the path of an event. Belongs
 * to the `enrich` thread; the feed's thread wakes it. */
#ifndef TAIN_ENRICH_CONSUMER_H
#define TAIN_ENRICH_CONSUMER_H

#include "base/err.h"
#include "feed/hub.h"

struct consumer;
struct engine;
MUST_CHECK enum verdict consumer_new(struct feed_hub *hub, struct engine *g, struct consumer **ret,
                                     struct err *e);
void consumer_free(struct consumer *c); /* before the hub; NULL is fine */
/* Takes what there is, some at a time; the store reads what is older than the ring of the hub. */
MUST_CHECK enum verdict consumer_drain(struct consumer *c, struct store *s, struct err *e);
bool consumer_has_more(const struct consumer *c); /* the last drain left some */

#endif
