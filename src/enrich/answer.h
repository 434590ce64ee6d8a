/* What an answer means for its row: which state, which values for which columns. Paths into the
 * JSON are written results[0].artwork.release_url; a name with other characters than letters,
 * digits, _ and - as ["odd name"]. Pure.
 *
 * Something is "there" unless it is absent, null, false, 0 or empty (text, array, object). Of
 * members with the same name the last counts. */
#ifndef TAIN_ENRICH_ANSWER_H
#define TAIN_ENRICH_ANSWER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/claims.h"

#define ANSWER_PATH_MAX 16                   /* steps */
#define ANSWER_MAX ((size_t)4 * 1024 * 1024) /* bytes of a body; beyond, it is garbage */
#define ANSWER_UNSURE_MAX 16

/* URL: text that begins with http:// or https:// and has neither blanks nor control characters. */
enum map_type { MAP_TEXT, MAP_URL, MAP_INT, MAP_REAL, MAP_BOOL, MAP_JSON };
/* A value that does not fit: the row fails, NULL is stored, or (text that is too long) it is cut.
 */
enum map_misfit { MISFIT_FAIL, MISFIT_NULL, MISFIT_CUT };

struct map_rule {
    struct str column, from; /* from: a path */
    enum map_type type;
    int64_t max; /* characters; 0: the column's own */
    enum map_misfit misfit;
    struct str none; /* a value that means "not known", such as 0; absent: none */
    int line;        /* of the file */
};

struct answer_rules {
    struct str match;         /* a path: what is there is a match */
    const struct str *unsure; /* paths: there in an answer without a match means "ask again" */
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
    struct str values; /* JSON object, column -> value, of a match: every column of the map, with
                          null for what the answer does not have */
    struct str error;  /* what is wrong, for people; unsure, garbage and misfit have it */
};

/* V_INVALID: not a path; the message says so of `path` alone. */
MUST_CHECK enum verdict answer_check_path(struct str path, struct err *e);

/* Reads a body by rules whose paths were checked. column(ctx, i) is the column that map[i] goes to
 * (source_output()), or NULL when nothing is known of it. An answer that has not the first step of
 * the match rule (with more steps behind it), or has a number or a text where the rule goes on, is
 * garbage: an error page in JSON is not a "no match". Texts live in the arena. */
void answer_read(const struct answer_rules *r, struct str body,
                 const struct source_column *(*column)(void *ctx, size_t i), void *ctx,
                 struct arena *a, struct answer *ret);

#endif
