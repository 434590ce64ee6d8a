/* The answer of a search in the shape of the HN Search API. Pure. */
#ifndef TAIN_WEB_SEARCH_API_HITS_H
#define TAIN_WEB_SEARCH_API_HITS_H

#include "web/search_api_params.h"

struct search_api_answer {
    const struct search_api_query *asked;
    const struct search_answer *found;
    const struct search_words *words; /* to be marked */
    const int64_t *front;             /* ids that are on the front page now */
    size_t n_front;
    struct str params; /* as search_api_echo() writes them */
    int64_t took_ms;
};

void search_api_hits(struct strbuf *out, const struct search_api_answer *a);

#endif
