/* What a call of the HN Search API asks for: its parameters, read and checked. Repeated tags and
 * numericFilters must all hold. A parameter that nobody knows is left alone, as clients send a lot
 * of them; one that would narrow the answer and is not understood is refused. Pure. */
#ifndef TAIN_WEB_SEARCH_API_PARAMS_H
#define TAIN_WEB_SEARCH_API_PARAMS_H

#include "store/search.h"
#include "web/search_api_shape.h"

#define SEARCH_API_HITS 20
#define SEARCH_API_HITS_MAX 1000
#define SEARCH_API_COUNT 1000000 /* where a count is asked for, it is exact up to here */

/* Attributes of an answer that a search can be restricted to. */
enum search_api_field {
    API_TITLE = 1,
    API_URL = 2,
    API_AUTHOR = 4,
    API_STORY_TEXT = 8,
    API_COMMENT_TEXT = 16,
    API_STORY_TITLE = 32, /* of a comment: only marked, never searched */
    API_STORY_URL = 64,
    API_FIELDS = 127
};

struct search_api_query {
    struct search_query q;  /* ready to be asked */
    struct str typed;       /* the query as it came */
    int64_t page, per_page; /* per_page 0: only the count is wanted; q asks for one hit */
    unsigned fields;        /* API_ bits where words are looked for */
    struct search_api_shape shape;
};

/* V_INVALID names the parameter, what it was and what it may be. Texts are those of the call. */
MUST_CHECK enum verdict search_api_params(const struct call *c, enum search_order order,
                                          struct search_api_query *ret, struct err *e);
/* The parameters as an answer repeats them: known ones by name, encoded, "advancedSyntax=true" and
 * "analytics=false" in front. */
void search_api_echo(const struct call *c, struct strbuf *out);
/* The value of this parameter that comes after *at (0: the first). False: there is none. */
bool search_api_value(const struct call *c, const char *name, size_t *at, struct str *ret);

#endif
