/* A table of tracks to be enriched, engines as if they were processes, and a provider that answers
 * by a script, all in the time of the fixture's clock. One engine is one process: its own
 * connection, its own holder. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_ENRICH_H
#define TAIN_TESTS_CONTRACT_FIXTURE_ENRICH_H

#include "fixture.h"

#include "enrich/engine_int.h"

#define WORLD_ENGINES 8
#define WORLD_CALLS 20000

/* What the provider says to a call: filled by the script. */
struct script_answer {
    long status; /* 0: no connection; less: no request can be made of it */
    const char *body;
    int64_t takes_ms;
    int64_t retry_after_ms; /* -1: not said */
};
typedef void script_fn(void *ctx, struct str path, struct script_answer *ret);

struct script_call {
    int64_t started, ends; /* clock_mono() */
    bool over;
};

struct world;
struct script_caller {
    struct caller head;
    struct world *world;
    struct {
        void *tag;
        size_t call;
        struct script_answer answer;
    } flying[ENGINE_BUSY_MAX];
    size_t n_flying;
};

struct world {
    struct fix *f;
    struct enrich_plan plan;
    struct store_options store;
    script_fn *script;
    void *script_ctx;
    struct script_call calls[WORLD_CALLS]; /* of all engines, in the order of their start */
    size_t n_calls;
    size_t at_once, most_at_once;
    size_t ring; /* of the engines that are started; 0: as usual */
    struct engine *engines[WORLD_ENGINES];
    struct script_caller callers[WORLD_ENGINES];
    char holders[WORLD_ENGINES][32];
    size_t n_engines;
};

/* The table, and a plan of one source ("tracks") and one provider ("lookup") without limits. */
struct world *world_new(struct fix *f, script_fn *script, void *ctx);
void world_free(struct world *w);
/* A table of the fixture, as a source names it. */
struct str world_table(struct world *w, const char *name);
void world_rows(struct world *w, int first, int last); /* pending tracks with these ids */
size_t world_engine(struct world *w);                  /* starts one; its number */
/* As if it were killed: nothing is given back. */
void world_kill(struct world *w, size_t i);
/* One step of each engine that lives, at this instant. */
void world_step(struct world *w);
/* Steps, with `tick` milliseconds between them. */
void world_run(struct world *w, int64_t ms, int64_t tick);
/* Runs until no row is pending or busy; fails after `most` milliseconds of the fixture's time. */
void world_drain(struct world *w, int64_t most, int64_t tick);
int64_t world_count(struct world *w, const char *status);
/* The most calls that began within any window of so many milliseconds. */
size_t world_most_in(const struct world *w, int64_t window_ms);

/* A script for most tests: /t/N with an even N is a match. */
void script_parity(void *ctx, struct str path, struct script_answer *ret);
#define MATCH "{\"results\":[{\"url\":\"https://example.org/a\",\"year\":1999}],\"degraded\":false}"
#define NO_MATCH "{\"results\":[],\"degraded\":false}"
#define DEGRADED "{\"results\":[],\"degraded\":true}"

#endif
