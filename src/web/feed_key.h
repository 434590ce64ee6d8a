/* The key of the feed: whoever has it hears every table, whoever has none the public ones. It comes
 * with a request as "Authorization: Bearer KEY", or as the parameter `key` where a client cannot
 * set headers. Compared in a time that depends on the length of what was given only; never logged.
 */
#ifndef TAIN_WEB_FEED_KEY_H
#define TAIN_WEB_FEED_KEY_H

#include "web/call.h"

enum feed_key {
    FEED_KEY_NONE,  /* none was given */
    FEED_KEY_RIGHT, /* it is the server's */
    FEED_KEY_WRONG, /* it is another, or the server has none */
};

/* A header is looked at before the parameter. */
enum feed_key feed_key_of(const struct call *c);

/* Are they the same? `key` may be absent: nothing is the same then. */
bool feed_key_equals(struct str key, struct str given);

/* Of the header Authorization: what stands behind "Bearer"; absent when there is no such word. */
struct str bearer_of(struct str header);

#endif
