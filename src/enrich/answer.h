/* What an answer means for its row: which state, which values for which columns. Paths into the
 * JSON are written results[0].artwork.release_url. Pure. */
#ifndef TAIN_ENRICH_ANSWER_H
#define TAIN_ENRICH_ANSWER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/claims.h"

#define ANSWER_PATH_MAX 16 /* steps */

enum map_type { MAP_TEXT, MAP_URL, MAP_INT, MAP_REAL, MAP_BOOL, MAP_JSON };
enum map_long { LONG_CUT, LONG_DROP, LONG_FAIL }; /* text over its limit: cut it, NULL, or fail */

struct map_rule {
    struct str column, from; /* from: a path */
    enum map_type type;
    int64_t max; /* characters; 0: the column's own */
    enum map_long on_long;
    struct str none; /* a value that means "not known", such as 0; absent: none */
    int line;
};

struct answer_rules {
    struct str match;         /* a path: there, not null, not an empty array or object: a match */
    const struct str *unsure; /* paths: true in an answer without a match means "ask again" */
    size_t n_unsure;
    const struct map_rule *map;
    size_t n_map;
};

enum answer_kind {
    ANSWER_MATCH,
    ANSWER_NO_MATCH,
    ANSWER_UNSURE,  /* degraded or timed out over there: transient, never "no match" */
    ANSWER_GARBAGE, /* no JSON, or not of the shape: transient */
    ANSWER_MISFIT,  /* a value does not fit its column: this row's failure */
};
struct answer {
    enum answer_kind kind;
    struct str values; /* JSON object, column -> value, of a match */
    struct str error;  /* what is wrong, for people */
};
/* V_INVALID: a path that is none. */
MUST_CHECK enum verdict answer_check(const struct answer_rules *r, struct err *e);
void answer_read(const struct answer_rules *r, struct str body,
                 const struct source_column *(*column)(void *ctx, size_t i), void *ctx,
                 struct arena *a, struct answer *ret);

#endif
