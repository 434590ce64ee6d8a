/* Engines of links as if they were processes, and a world of providers and pages that answers by a
 * script, all in the time of the fixture's clock. One engine is one process: its own connection,
 * its own holder. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_LINK_ENGINE_H
#define TAIN_TESTS_CONTRACT_FIXTURE_LINK_ENGINE_H

#include "fixture_links.h"

#include "enrich/link_int.h"

#define WEB_ENGINES 4
#define WEB_CALLS 12000

enum web_who { WEB_REDDIT, WEB_HN, WEB_ANTHROPIC, WEB_PAGE, WEB_WHOS };

/* What is asked for, and what the script says to it. */
struct web_call {
    enum web_who who;
    struct str path; /* of a page: its URL */
    struct str auth; /* the Authorization header; absent: none */
    struct str body;
};
struct web_answer {
    long status; /* 0: no connection */
    const char *body, *headers;
    int64_t takes_ms;
    int64_t retry_after_ms; /* -1: not said */
    enum visit_class visit; /* of a page */
};
typedef void web_fn(void *ctx, const struct web_call *c, struct web_answer *ret);

struct web;
struct web_caller {
    struct caller head;
    struct web *web;
    struct {
        void *tag;
        enum web_who who;
        int64_t started, ends;
        struct web_answer answer;
    } flying[LINK_LANES * LINK_LANE_JOBS];
    size_t n_flying;
    int64_t next; /* when its engine has something to do */
};

struct web {
    struct fix *f;
    struct store_options store;
    web_fn *script;
    void *ctx;
    struct {
        enum web_who who;
        int64_t started;
    } calls[WEB_CALLS]; /* of all engines, in the order of their start */
    size_t n_calls;
    size_t n[WEB_WHOS];
    char last[WEB_WHOS][400]; /* the path of the last call */
    /* Of the engines that are started. */
    bool oauth, no_key;
    enum link_follow stories;
    struct link_budget budget;
    struct link_engine *engines[WEB_ENGINES];
    struct web_caller callers[WEB_ENGINES];
    char holders[WEB_ENGINES][32];
    size_t n_engines;
    size_t first; /* to step: they take turns */
};

struct web *web_new(struct fix *f, web_fn *script, void *ctx); /* NULL: web_kind */
void web_free(struct web *w);
size_t web_engine(struct web *w);       /* starts one; its number */
void web_kill(struct web *w, size_t i); /* nothing is given back */
void web_step(struct web *w);           /* each of them once, at this instant */
void web_run(struct web *w, int64_t ms, int64_t tick);
/* Runs until nothing is pending; fails after `most` milliseconds of the fixture's time. */
void web_drain(struct web *w, int64_t most, int64_t tick);
int64_t web_pending(struct web *w);
/* The same from one instant at which something is due to the next: as exact as can be. */
void web_leap(struct web *w, int64_t ms);
/* The most calls of one that began within so many milliseconds, and the least between two. */
size_t web_most_in(const struct web *w, enum web_who who, int64_t window_ms);
int64_t web_least_between(const struct web *w, enum web_who who);

/* A web in which everything is well: Reddit has one submission of every URL of example.com/r...,
 * HN one story of every URL of example.com/h...; each page is an article, and Anthropic says
 * "In short." Reddit's post `abc` is of example.com/r-abc, `self` of nothing, the share link
 * /r/x/s/Go1 leads to `abc`; HN's item 7 is a story of example.com/h7, 8 an Ask HN, 9 a comment
 * on 7. */
void web_kind(void *ctx, const struct web_call *c, struct web_answer *ret);

#endif
