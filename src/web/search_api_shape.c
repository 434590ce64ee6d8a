#include "web/search_api_shape.h"

#include <string.h>

static const char *const names[HIT_N] = {
    [HIT_CREATED_AT] = "created_at",
    [HIT_TITLE] = "title",
    [HIT_URL] = "url",
    [HIT_AUTHOR] = "author",
    [HIT_POINTS] = "points",
    [HIT_STORY_TEXT] = "story_text",
    [HIT_COMMENT_TEXT] = "comment_text",
    [HIT_NUM_COMMENTS] = "num_comments",
    [HIT_STORY_ID] = "story_id",
    [HIT_STORY_TITLE] = "story_title",
    [HIT_STORY_URL] = "story_url",
    [HIT_PARENT_ID] = "parent_id",
    [HIT_CREATED_AT_I] = "created_at_i",
    [HIT_FETCHED_AT] = "fetched_at",
    [HIT_FETCHED_AT_I] = "fetched_at_i",
    [HIT_TAGS] = "_tags",
};

static unsigned bits_of(struct str name) {
    if (str_eqc(name, "*"))
        return HIT_ALL;
    for (unsigned i = 0; i < HIT_N; i++)
        if (str_eqc(name, names[i]))
            return 1U << i;
    return 0;
}

/* Whatever could stand between two names does, in a list of either kind. */
static unsigned left_out(const struct call *c, const char *param) {
    struct str list = call_param(c, param);
    unsigned wanted = 0;
    if (!list.n)
        return 0;
    for (size_t at = 0, n; at < list.n; at += n + 1) {
        for (n = 0; at + n < list.n && !strchr("[\", ]", list.p[at + n]);)
            n++;
        wanted |= bits_of((struct str){list.p + at, n});
    }
    return HIT_ALL & ~wanted;
}

void search_api_shape(const struct call *c, struct search_api_shape *ret) {
    ret->left_out = left_out(c, "attributesToRetrieve");
    ret->unmarked = left_out(c, "attributesToHighlight");
}
