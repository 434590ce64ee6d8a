/* The topics of the database as one process knows them, and which of them a change is of. Judged
 * once per change, when it is encoded; only changes of tables that have a topic are looked into. A
 * set is immutable and counted: the hub has the latest one, and who encodes holds on to what it
 * began with. Private to the room. */
#ifndef TAIN_FEED_TOPIC_SET_H
#define TAIN_FEED_TOPIC_SET_H

#include "feed/feed_int.h"

#include <stdatomic.h>

struct topic_set {
    atomic_int refs;
    int64_t version;
    struct arena arena;
    const struct feed_topic *all;
    size_t n;
};

/* One reference, the caller's. */
MUST_CHECK enum verdict topic_set_read(struct store *s, struct topic_set **ret, struct err *e);
struct topic_set *topic_set_keep(struct topic_set *t); /* NULL is fine */
void topic_set_drop(struct topic_set *t);              /* NULL is fine */

/* The topic of the link that it is of, if it is of one. Of an insert or update: the topics whose
 * states the new row is in, and those of a row that came without its data, which may be. Of a
 * resync: all of its table. t NULL: none. The names are the set's. */
void topic_set_mark(const struct topic_set *t, const struct feed_change *c, struct feed_marks *ret);

#endif
