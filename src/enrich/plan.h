/* What an enrichment is, as its configuration file says: providers and sources. Read once at start;
 * immutable then, and shared. Errors name file and line. */
#ifndef TAIN_ENRICH_PLAN_H
#define TAIN_ENRICH_PLAN_H

#include "base/arena.h"
#include "enrich/answer.h"
#include "enrich/request.h"
#include "policy/lane.h"
#include "store/claims.h"

#define PLAN_PROVIDERS_MAX 16
#define PLAN_SOURCES_MAX 16

struct provider {
    struct str name;
    struct str url; /* base, without a slash at the end */
    struct lane_limits limits;
    int64_t timeout_ms;     /* of a call */
    struct str headers[16]; /* "Name: value", the token's among them; never logged */
    size_t n_headers;
    int line;
};

struct plan_source {
    struct source_spec spec;
    const struct provider *provider;
    struct request_template request; /* enrich/request.h: method, path, body */
    struct answer_rules
        answer;         /* enrich/answer.h: match rule, mapping, what is not to be believed */
    int max_attempts;   /* then ROW_FAILED */
    int64_t recheck_ms; /* rows without a match are looked up again after this; 0: never */
    struct str topic;   /* for clients of /events; absent: none */
    int line;           /* of the file */
    int spec_lines[16]; /* by enum plan_field: where each was said; 0: nowhere */
};

struct enrich_plan {
    struct str path;
    struct provider providers[PLAN_PROVIDERS_MAX];
    size_t n_providers;
    struct plan_source sources[PLAN_SOURCES_MAX];
    size_t n_sources;
};

/* Reads and checks all that can be checked without a database or a network. env(name) looks up
 * ${NAME}; NULL: the process's environment. V_INVALID: "FILE:LINE: what, and what to do". */
MUST_CHECK enum verdict plan_read(const char *path, const char *(*env)(const char *name),
                                  struct arena *a, struct enrich_plan *ret, struct err *e);
/* Checks the sources against the tables that the database has: mapping types against columns.
 * Opens each source; sources[] has room for n_sources. */
MUST_CHECK enum verdict plan_open_sources(const struct enrich_plan *p, struct store *s,
                                          struct source **ret_sources, struct err *e);

#endif
