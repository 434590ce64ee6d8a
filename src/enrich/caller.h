/* How a lane calls its provider: over HTTP in the product, by a script in tests with a manual
 * clock. One thread. */
#ifndef TAIN_ENRICH_CALLER_H
#define TAIN_ENRICH_CALLER_H

#include "base/err.h"
#include "enrich/plan.h"
#include "net/classify.h"

struct ask;   /* enrich/ask.h */
struct guard; /* net/guard.h */
struct visit;

struct call_result {
    void *tag;
    enum net_class cls;
    long status;
    struct str body;           /* these are valid during the callback */
    struct str headers;        /* of an ask's answer; absent otherwise */
    const struct visit *visit; /* of a visit; NULL otherwise */
    int64_t retry_after_ms;    /* -1: not said */
    int64_t elapsed_ms;
    const char *detail;
};
typedef void call_done_fn(void *ctx, const struct call_result *r);

struct caller {
    enum verdict (*start)(struct caller *c, const struct provider *p, struct str method,
                          struct str path, struct str body, void *tag, struct err *e);
    /* The same for what a module of a provider asks for. */
    enum verdict (*ask)(struct caller *c, const struct ask *q, int64_t timeout_ms, void *tag,
                        struct err *e);
    /* A stranger's page, under the guard. V_INVALID: it refuses the URL (net/http.h). */
    enum verdict (*visit)(struct caller *c, struct str url, void *tag, struct err *e);
    /* Until something ended, somebody woke it, or the deadline. */
    int (*step)(struct caller *c, int64_t deadline_mono, call_done_fn *done, void *ctx);
    void (*wake)(struct caller *c); /* any thread */
    void (*cancel_all)(struct caller *c);
};

struct clock;
/* Over net/http.h. Freed by caller_http_free(). The guard outlives it; NULL: nothing is visited. */
MUST_CHECK enum verdict caller_http_new(const struct clock *clock, const char *user_agent,
                                        const struct guard *guard, struct caller **ret,
                                        struct err *e);
void caller_http_free(struct caller *c); /* NULL is fine */

#endif
