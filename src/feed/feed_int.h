/* What the files of this room share. Private to it. */
#ifndef TAIN_FEED_FEED_INT_H
#define TAIN_FEED_FEED_INT_H

#include "feed/event.h"

/* The same as feed_filter_takes() for a change that has not been encoded. */
bool feed_filter_wants(const struct feed_filter *f, struct str schema, struct str name,
                       enum feed_action action, bool is_public, const struct str *topics,
                       size_t n_topics);

/* Is it among these names of topics? */
bool feed_marks_have(const struct str *names, size_t n, struct str name);

/* Does "table" or "schema.table" mean this one? */
bool feed_table_is(struct str asked, struct str schema, struct str name);

#endif
