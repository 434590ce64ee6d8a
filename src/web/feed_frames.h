/* What /events and /cdc say besides events: JSON objects with a "type", which events do not have.
 */
#ifndef TAIN_WEB_FEED_FRAMES_H
#define TAIN_WEB_FEED_FRAMES_H

#include "store/feed.h"

/* {"type":"hello","head":"E-P","oldest":"E-P","epoch":E}: the last change there is, and the first
 * that can still be read; one behind the head when none can. */
void feed_add_hello(struct strbuf *b, const struct feed_state *st);

/* {"type":"gap","from":"E-P","to":"E-P"}: what lies behind `from`, up to `to`, cannot be had. */
void feed_add_gap(struct strbuf *b, struct feed_id from, struct feed_id to);

#endif
