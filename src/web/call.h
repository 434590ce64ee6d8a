/* One HTTP request on its way through: what was asked, checked and decoded, and the answer as it is
 * being written. A handler sees nothing of the HTTP library. It runs either on a loop thread (quick
 * routes: a point read) or on a query thread (everything else) while its connection is suspended;
 * the arena and the store are that thread's, the call is its own until the handler returns. */
#ifndef TAIN_WEB_CALL_H
#define TAIN_WEB_CALL_H

#include "base/arena.h"
#include "base/err.h"
#include "store/store.h"

#include <sys/types.h>

#define CALL_PARAMS_MAX 32
#define CALL_PATH_MAX 1024
#define CALL_QUERY_MAX 8192
#define CALL_UPLOAD_MAX ((size_t)64 * 1024) /* the body of a POST */
#define CALL_ANSWER_MAX ((size_t)64 * 1024 * 1024)

struct web; /* what all calls share, see web/server.h */

struct call_param {
    struct str name, value; /* decoded; valid UTF-8 without control characters */
};

/* An answer that goes on as long as the client listens: an event stream. A handler on a query
 * thread fills it in; from then on it belongs to the connection. read and close run on the loop
 * thread of that connection and must not block. Whoever has news calls call_wake(), on any thread,
 * which makes the server ask again; not after close(), so it takes a lock that close() takes too.
 */
struct call_stream {
    /* Writes up to max bytes. 0: nothing now, sleep until call_wake(). Below 0: the end. */
    ssize_t (*read)(void *arg, char *buf, size_t max);
    void (*close)(void *arg); /* once, when the client or the server has gone; may be NULL */
    void *arg;
};

struct call {
    struct web *web;
    struct arena *arena; /* emptied when the answer is complete */
    struct store *store; /* for reading; of a POST for writing too */
    struct str path;     /* decoded, begins with a slash */
    struct str rest;     /* what the star of the route's pattern stands for */
    bool post;           /* its parameters are those of the form that was sent, if it was one */
    bool json;           /* `upload` is JSON, as it came */
    struct str upload;
    struct call_param params[CALL_PARAMS_MAX];
    size_t n_params;
    bool head; /* HEAD: write the answer all the same */

    /* The answer. Status 200, type text/html, and no-cache unless the handler says otherwise. */
    int status;
    const char *type;    /* static storage, with its charset */
    const char *cache;   /* Cache-Control, static storage; NULL: "no-cache" (revalidate by ETag) */
    struct str location; /* of a redirect; in the arena */
    struct str set_cookie;     /* in the arena; absent: none */
    int retry_after;           /* seconds, of 429 and 503; 0: one */
    struct strbuf body;        /* at most CALL_ANSWER_MAX */
    bool unknown;              /* a null that the archive cannot vouch for: a header says so */
    struct call_stream stream; /* with a `read`: the answer goes on behind the body, see below */
};

/* The first parameter of this name; STR_NONE when it was not given. */
struct str call_param(const struct call *c, const char *name);
/* As a number within min .. max; `otherwise` when it was not given. V_INVALID names the parameter,
 * what it was, and what it may be. */
MUST_CHECK enum verdict call_param_int(const struct call *c, const char *name, int64_t min,
                                       int64_t max, int64_t otherwise, int64_t *ret, struct err *e);

/* A header of the request; STR_NONE when it was not sent. Lives as long as the request. */
struct str call_header(const struct call *c, const char *name);

/* A cookie of the request; STR_NONE when it was not sent. */
struct str call_cookie(const struct call *c, const char *name);
/* Whom the call is from, as far as a limit is concerned: an address, of IPv6 the network of a
 * house, and behind a proxy on this machine what it forwards for. False: this machine itself. */
bool call_client(const struct call *c, unsigned char ret[16]);

/* Does the client say that it takes this type? What it takes anyway does not count. */
bool call_accepts(const struct call *c, const char *type);

/* Hands out what stands in the body now, and goes on with an empty one: the first byte goes early
 * and a long page needs little memory. Status, type and headers are settled with the first call.
 * On a query thread only; elsewhere, and where the client cannot take it, it does nothing. False:
 * the client is gone, whatever else is written goes nowhere. */
bool call_flush(struct call *c);

/* The stream of this call has something to say, or has ended. Any thread. */
void call_wake(struct call *c);
/* Has its client hung up while it slept? Any thread, as call_wake(). */
bool call_hung_up(const struct call *c);

/* Answers the request. V_OK: as written. Otherwise what was written is dropped (unless it was
 * flushed: then the connection is cut) and e becomes an error page, or {"message": ...} on API
 * routes: V_INVALID 400, V_NOT_FOUND 404, V_LIMIT 413, V_RETRY and V_STOPPED 503, else 500, whose
 * cause is logged and not told. What a POST did must bear being done again: after V_RETRY it is. */
typedef enum verdict call_fn(struct call *c, struct err *e);

/* Answers many calls of one route that wait at the same time, with one read. They share arena and
 * store. results[i].v is V_OK before, and afterwards what a call_fn would have answered. */
struct call_result {
    enum verdict v;
    struct err e;
};
#define CALL_BATCH_MAX 128
typedef void call_batch_fn(struct call *const *calls, size_t n, struct call_result *results);

enum route_kind {
    /* A point read, of single statements; on SQLite on the loop thread, on PostgreSQL on a query
     * thread. */
    ROUTE_QUICK,
    ROUTE_QUERY,  /* on a query thread */
    ROUTE_STATIC, /* needs no store; on the loop thread, at once */
    ROUTE_SOCKET, /* becomes a WebSocket of the change feed, see web/ws_door.h */
};
enum route_dialect { DIALECT_PAGE, DIALECT_API }; /* how errors look; APIs allow every origin */

/* `pattern` is a path, or one with a single star for one or more characters without a
 * slash: "/v0/item/star.json". */
struct route {
    const char *pattern;
    call_fn *fn; /* GET and HEAD; NULL: a socket, or only `post` */
    enum route_kind kind;
    enum route_dialect dialect;
    call_batch_fn *batch; /* may be NULL; used for quick routes on PostgreSQL */
    /* May be NULL. Answers in place of fn when the client takes an event stream; on the loop
     * thread, at once and without a store. */
    call_fn *stream;
    /* May be NULL. Of a static route or a socket: whether a call has to be looked at by `check`
     * first, on a query thread with a store; what that answers is an error, or V_OK: then the call
     * goes on as usual. */
    bool (*must_check)(const struct call *c);
    call_fn *check;
    /* May be NULL: nothing can be posted here. Runs on the thread that writes, one at a time, once
     * the whole body is there; of a static route without a store. Whoever posts from a page of
     * another site was turned away before. */
    call_fn *post;
};

/* What a route belongs to, for metrics. */
enum route_area {
    AREA_PAGES,
    AREA_HN_API,
    AREA_SEARCH_API,
    AREA_ASSETS,
    AREA_HEALTH,
    AREA_FEED,
    AREA_LINKS,
    AREA_N
};

/* Tables of routes, each in the file of its subject; routes.c joins them. */
struct route_table {
    const struct route *routes;
    size_t n;
    enum route_area area;
};

/* Appends the text so that it may stand in HTML, in an attribute in double quotes too. Control
 * characters and broken UTF-8 become U+FFFD. */
void strbuf_add_html(struct strbuf *b, struct str s);
/* Appends the text so that it may stand in a query string. */
void strbuf_add_urlencoded(struct strbuf *b, struct str s);

#endif
