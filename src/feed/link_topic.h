/* The topic of one link: "link:42" are the changes of that link, of its tasks and its discussions.
 * It is there for every id without being declared, so that a page can listen to what it shows.
 * Private to the room. */
#ifndef TAIN_FEED_LINK_TOPIC_H
#define TAIN_FEED_LINK_TOPIC_H

#include "store/feed.h"

#define LINK_TOPIC_MAX 32

/* The topic of a change, written into `out`; "link:" for one that says nothing of the row (a
 * resync), which may be of any. Absent: it is of no link. */
struct str link_topic_of(const struct feed_change *c, char out[LINK_TOPIC_MAX]);
/* Is this name one: "link:" and an id? */
bool link_topic_is(struct str name);
/* Is a change with this topic for who asked for that name? */
bool link_topic_fits(struct str asked, struct str topic);

#endif
