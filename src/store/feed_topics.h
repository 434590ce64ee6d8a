/* Topics: names under which clients of the change feed hear of some of a table's changes, those
 * that leave a row in one of certain states. Written by whoever brings rows into those states, at
 * its start; read by every process that has clients. Several may be of one table, and one name of
 * several tables. */
#ifndef TAIN_STORE_FEED_TOPICS_H
#define TAIN_STORE_FEED_TOPICS_H

#include "base/arena.h"
#include "store/store.h"

#define FEED_TOPICS_MAX 256 /* in one database */

struct feed_topic {
    struct str source;        /* whose it is: a source has one at most */
    struct str topic;         /* absent, where they are declared: it has none */
    struct str schema, table; /* as an event has them */
    struct str column;        /* with the state */
    const struct str *states;
    size_t n_states;
};

/* All of them, by source. The version is another one whenever any has changed; 0: there never was
 * one. */
MUST_CHECK enum verdict store_feed_topics(struct store *s, struct arena *a,
                                          const struct feed_topic **ret, size_t *ret_n,
                                          int64_t *ret_version, struct err *e);
/* What a file says of its sources, all of them. A source that it said something of before and does
 * not have any more loses its topic; those of other files are left alone. One transaction. */
MUST_CHECK enum verdict store_feed_topics_declare(struct store *s, struct str file,
                                                  const struct feed_topic *sources, size_t n,
                                                  struct err *e);

#endif
