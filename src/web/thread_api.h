/* Our own small APIs beside the two that clients know: a thread as a flat tree, and where an
 * article was discussed. Pure; the routes are in thread_routes.c. */
#ifndef TAIN_WEB_THREAD_API_H
#define TAIN_WEB_THREAD_API_H

#include "store/read.h"

/* The item, and under "comments" everything below it in display order: each with its depth (0:
 * directly below), its rank among those beside it (from 1), the id above it and how many of the
 * following are below it. What is dead, deleted or not stored says so. */
void thread_api_tree(struct strbuf *out, struct arena *a, const struct read_item *root,
                     const struct thread *t);

/* The key of the address and the stories that have it. */
void thread_api_discussions(struct strbuf *out, struct str url, struct str key,
                            const struct read_items *found);

#endif
