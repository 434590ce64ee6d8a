/* An item with everything below it in the nested shape of the HN Search API. The tree is written in
 * one pass over the nodes, without recursion: threads can be thousands of levels deep. Pure. */
#ifndef TAIN_WEB_SEARCH_API_ITEMS_H
#define TAIN_WEB_SEARCH_API_ITEMS_H

#include "store/read.h"

struct search_api_tree {
    struct read_item root;
    struct thread below;
    struct read_items options; /* of a poll */
};

/* Dead and deleted comments stand in the tree only where something living is below them; kids that
 * are not stored do not. The arena holds a count per node. */
void search_api_tree(struct strbuf *out, struct arena *a, const struct search_api_tree *t);

#endif
