/* A plan of enrichment beside its database, as it is now: tables, rows, lanes. Looks only; nothing
 * is claimed, declared or called. Main thread; everything lives in the arena that was given. */
#ifndef TAIN_CLI_ENRICH_LOOK_H
#define TAIN_CLI_ENRICH_LOOK_H

#include "enrich/plan.h"
#include "store/lanes.h"

#define LOOK_ROWS 3 /* requests that are shown, of each source */

struct source_look {
    struct source_counts counts;
    struct str indexes[2]; /* CREATE INDEX, of those that are missing */
    size_t n_indexes;
    bool logged;        /* the change feed tells of its rows */
    struct str install; /* the command that has them told; absent: they are */
    struct row_peek rows[LOOK_ROWS];
    size_t n_rows;
};

struct plan_look {
    struct enrich_plan plan;
    struct source_look sources[PLAN_SOURCES_MAX];     /* as plan.sources */
    const struct lane_row *lanes[PLAN_PROVIDERS_MAX]; /* as plan.providers; NULL: never asked */
};

/* V_INVALID: the file, or what it says of a table, with its line. *ret is large: not for a stack.
 */
MUST_CHECK enum verdict plan_look(const char *path, struct store *store, struct arena *a,
                                  struct plan_look *ret, struct err *e);

/* Scheme, host and port of a provider: nothing of it is a secret. */
struct str provider_origin(const struct provider *p, struct arena *a);

/* The request for a row as text, without what came from the environment. *ret_why, absent when all
 * is well: why there can be none. */
struct look_request {
    struct str url, body, why;
};
void look_request(const struct enrich_plan *p, const struct plan_source *src, struct str row,
                  struct arena *a, struct look_request *ret);

#endif
