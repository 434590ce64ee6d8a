/* Which parts of a hit a client of the HN Search API wants: attributesToRetrieve and
 * attributesToHighlight. Names are separated by commas, or stand in a JSON list; "*" is all of
 * them, and those that nobody knows are passed over. Pure. */
#ifndef TAIN_WEB_SEARCH_API_SHAPE_H
#define TAIN_WEB_SEARCH_API_SHAPE_H

#include "web/call.h"

enum hit_field {
    HIT_CREATED_AT,
    HIT_TITLE,
    HIT_URL,
    HIT_AUTHOR,
    HIT_POINTS,
    HIT_STORY_TEXT,
    HIT_COMMENT_TEXT,
    HIT_NUM_COMMENTS,
    HIT_STORY_ID,
    HIT_STORY_TITLE,
    HIT_STORY_URL,
    HIT_PARENT_ID,
    HIT_CREATED_AT_I,
    HIT_FETCHED_AT,
    HIT_FETCHED_AT_I,
    HIT_TAGS,
    HIT_N
};
#define HIT_ALL ((1U << HIT_N) - 1)

/* Bits of 1 << hit_field. Nothing is left out unless the call says so. */
struct search_api_shape {
    unsigned left_out;
    unsigned unmarked; /* of what _highlightResult has; all of it: there is none */
};

void search_api_shape(const struct call *c, struct search_api_shape *ret);

#endif
