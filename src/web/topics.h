/* Which tables and topics there are to listen to, so that a name that is none is told and not
 * listened to for ever. What the database said last is believed for a while as far as names were
 * found in it; what was not found is asked for anew, on a query thread. One lock; any thread. */
#ifndef TAIN_WEB_TOPICS_H
#define TAIN_WEB_TOPICS_H

#include "base/clock.h"
#include "feed/event.h"

#define TOPICS_MS 10000 /* how long an answer is believed */

struct topics;

struct topics *topics_new(const struct clock *clock);
void topics_free(struct topics *t); /* NULL is fine */

/* Are all names of the filter among what was found a moment ago? */
bool topics_are_known(struct topics *t, const struct feed_filter *f);
/* Asks the database. V_INVALID names what there is not, and what there is; `param` is what the list
 * is called. */
MUST_CHECK enum verdict topics_check(struct topics *t, struct store *s, const struct feed_filter *f,
                                     const char *param, struct err *e);

#endif
