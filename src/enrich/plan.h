/* What an enrichment is, as its configuration file says: providers and sources (docs/enrich.md has
 * the format). Read once at start, by one thread; immutable then, and shared. Errors name file and
 * line. What ${NAME} stands for is never part of a message. */
#ifndef TAIN_ENRICH_PLAN_H
#define TAIN_ENRICH_PLAN_H

#include "base/arena.h"
#include "enrich/answer.h"
#include "enrich/request.h"
#include "policy/lane.h"
#include "store/claims.h"

#define PLAN_PROVIDERS_MAX 16
#define PLAN_SOURCES_MAX 16
#define PLAN_HEADERS_MAX 16

struct provider {
    struct str name;
    struct str url; /* base, without a slash at the end */
    struct lane_limits limits;
    int64_t timeout_ms;                   /* of a call */
    struct str headers[PLAN_HEADERS_MAX]; /* "Name: value", the token's among them; never logged */
    size_t n_headers;
    int line, url_line; /* of the file */
};

/* Where in the file each part of a source stands; what was not said has the source's own line. */
struct plan_lines {
    int source, table, key, status, since, filter, request;
    int states[ROW_STATES];
    const int *inputs; /* by spec.inputs */
};

struct plan_source {
    struct source_spec spec; /* outputs[i] is the column of answer.map[i] */
    const struct provider *provider;
    struct request_template request; /* enrich/request.h: method, path, body */
    struct answer_rules answer;      /* match rule, mapping, what is not to be believed */
    int max_attempts;                /* then ROW_FAILED */
    int64_t recheck_ms; /* rows without a match are looked up again after this; 0: never */
    struct str topic;   /* for clients of /events; absent: none */
    struct plan_lines lines;
};

struct plan_variable {
    struct str name, value;
};

/* Points into itself: not to be copied or moved. */
struct enrich_plan {
    struct str path;
    struct provider providers[PLAN_PROVIDERS_MAX];
    size_t n_providers;
    struct plan_source sources[PLAN_SOURCES_MAX];
    size_t n_sources;
    const struct plan_variable *variables; /* of the environment, that the file named */
    size_t n_variables;
};

/* Reads and checks all that can be checked without a database or a network. env(name) looks up
 * ${NAME}; NULL: the process's environment. V_INVALID: "FILE:LINE: what, and what to do". */
MUST_CHECK enum verdict plan_read(const char *path, const char *(*env)(const char *name),
                                  struct arena *a, struct enrich_plan *ret, struct err *e);
/* Opens each source and checks the mapping's types against its columns. sources[] has room for
 * n_sources, each to be closed by store_source_close(). V_INVALID: "FILE:LINE: ..."; then, as with
 * any other failure, all of them are closed and NULL. */
MUST_CHECK enum verdict plan_open_sources(const struct enrich_plan *p, struct store *s,
                                          struct source **ret_sources, struct err *e);
/* Whether a provider can be connected to now; nothing is asked of it. V_RETRY: "FILE:LINE: provider
 * NAME cannot be reached: why". Blocks for at most PLAN_REACH_MS. */
#define PLAN_REACH_MS 5000
MUST_CHECK enum verdict plan_reach(const struct enrich_plan *p, const struct provider *provider,
                                   struct err *e);
/* Puts ${NAME} for what the file took from the environment (values of four bytes and more) in a
 * message that came from elsewhere. */
void plan_redact(const struct enrich_plan *p, struct err *e);
/* The same for a text of any length, also for tokens and headers that stand in the file itself, and
 * for the beginning of a secret at the end of a text. The copy is in the arena. */
struct str plan_redacted(const struct enrich_plan *p, struct str text, struct arena *a);

#endif
