/* What the files of the server share. A struct request lives from the request line to the last
 * byte of its answer and belongs to one loop thread; a query thread borrows it in between
 * (`borrowed`), and gives it back by request_wake(). Only the loop thread talks to the HTTP library
 * about a connection: it alone suspends and resumes. Private to this room. */
#ifndef TAIN_WEB_SERVER_INT_H
#define TAIN_WEB_SERVER_INT_H

#include "web/call.h"
#include "web/gzip.h"
#include "web/pipe.h"
#include "web/server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#define URI_MAX (CALL_PATH_MAX + CALL_QUERY_MAX)
#define BODY_KEPT ((size_t)64 * 1024) /* a larger buffer is not kept for the next answer */
#define GZIP_FROM 1024
#define RETRY_AFTER_S 1 /* of a 503 */

/* What a thread has to answer with. */
struct desk {
    struct web *web;
    struct arena arena;
    struct store *store; /* NULL: none yet; desk_store() opens it */
    int64_t next_try;    /* to open it; clock_mono() */
    struct gzip *gzip;   /* NULL: not needed yet */
    bool may_wait;       /* a query thread */
    bool writes;         /* its store is the one for writing */
    bool holds;          /* a read of the store is open until the end of the turn */
    int reads;           /* in this turn */
};

enum request_state {
    REQUEST_LINE,  /* its first line is here */
    REQUEST_SEEN,  /* all headers are here */
    REQUEST_WAITS, /* for a query thread */
    REQUEST_READY, /* there is a response to be queued */
    REQUEST_SENT,  /* it is queued; its body may still be in the making */
};

struct loop;

struct request {
    struct call call;
    struct loop *loop;
    struct MHD_Connection *connection;
    int fd;
    const struct route *route; /* NULL: none fits */
    int area;                  /* AREA_N: none */
    enum request_state state;
    int64_t began_us;

    char line[256]; /* the URI as it came, or in `uri` when it is longer */
    char *uri;
    size_t uri_n;
    bool too_long, head, accepts_gzip, streaming;
    bool api_line;        /* the URI as it came is one of an API: how an early refusal looks */
    bool streams;         /* it is answered by its route's `stream` */
    bool checking;        /* its query thread answers nothing but what is wrong */
    bool preflight;       /* a browser asks whether a page of elsewhere may ask */
    struct str path_raw;  /* in uri; for the log */
    struct strbuf upload; /* the body of a POST; at most CALL_UPLOAD_MAX are kept */
    size_t uploaded;      /* bytes that came */

    struct socket_place *socket; /* reserved for its WebSocket until the upgrade is done */
    bool http_1_0;
    bool unclear; /* where it ends: nothing that follows on its connection is read */

    struct MHD_Response *response;
    int64_t body_bytes;
    struct strbuf packed; /* the body, compressed */
    struct desk *desk;    /* who is at it */
    struct pipe *pipe;    /* NULL: nothing was flushed */
    size_t fed;           /* of the body of a stream */

    bool borrowed, asleep, gone; /* of the loop thread */
    bool in_wake, done;          /* under the loop's lock */
    struct request *wake_next, *job_next;
    struct request *prev, *next; /* among the active ones of the loop */
};

struct loop {
    struct web *web;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool running;
    int wake_fd, epoll_fd;
    struct desk desk;
    pthread_mutex_t lock;
    struct request *woken; /* under the lock */
    struct request *active, *spare;
    int n_spare;
    struct visitor *visitors; /* connections that are open */
    int64_t next_tick;
    _Atomic int64_t beat; /* clock_mono() of the last turn */
    atomic_int n_active;
    bool quiet; /* no longer accepts */
};

struct pool;

struct web {
    struct web_options o;
    int port, listen_fd;
    struct loop loops[WEB_LOOPS_MAX];
    int n_loops;
    struct pool *pool;
    struct crowd *crowd; /* connections by address */
    struct stream_hub *streams;
    struct herald *herald;
    struct ws_hall *hall;  /* WebSocket clients; NULL: there is no feed, or no key */
    struct feed_hub *feed; /* NULL: no archive, no feed */
    struct feed_reader *reader;
    struct events *events;
    struct topics *topics;
    struct turnstile *turns;
    atomic_bool stopping, ended;
    _Atomic int64_t db_failed_since, db_ok_at; /* clock_mono(); 0: not failing */
};

/* request.c: the HTTP library's callbacks */
void *request_open(void *loop, const char *uri, struct MHD_Connection *connection);
enum MHD_Result request_handle(void *loop, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *n_upload, void **state);
void request_completed(void *loop, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode why);
/* Any thread: the loop thread is to look at it. With done set, who borrowed it gives it back. */
void request_wake(struct request *r, bool done);
/* The loop thread looks at what was woken. */
void requests_drain(struct loop *l);
void requests_free_spare(struct loop *l);

/* answer.c: runs the handler of a request on the thread of this desk, and makes the response. */
void answer(struct request *r, struct desk *d);
void answer_batch(struct request **all, size_t n, struct desk *d);
/* Makes a response of what is wrong, with this status; e is told. */
void answer_error(struct request *r, int status, const char *text);
/* The end of a handler: its verdict becomes a response, or ends the one that has begun. */
void answer_conclude(struct request *r, enum verdict v, const struct err *e);

/* reply.c: makes r->response of the call's status, headers and body. */
void reply_whole(struct request *r);
void reply_flowing(struct request *r, bool gzip);

/* parse.c: decodes the URI into path and parameters. V_INVALID says what is wrong with it. */
MUST_CHECK enum verdict parse_uri(struct request *r, struct err *e);
/* The host of a request line that names one, which goes before the Host header. */
struct str uri_authority(const struct request *r);

/* The parameters of a form; the text is decoded in place. */
MUST_CHECK enum verdict parse_form(struct call *c, char *text, size_t n, struct err *e);

/* upload.c: the body of a POST. */
/* As soon as the headers are there: 0 when it may come, else the status of the refusal. */
int upload_check(struct request *r, struct err *e);
/* False: it is so large that nobody reads on. */
bool upload_take(struct request *r, const char *bytes, size_t n);
/* It is complete: makes parameters of a form. 0, or the status of the refusal. */
int upload_finish(struct request *r, struct err *e);

/* call.c: the end of an answer that was flushed. */
void call_finish_flow(struct call *c, bool well);

/* desk.c */
void desk_init(struct desk *d, struct web *w, bool may_wait);
void desk_release(struct desk *d);
/* Opens the store where there is none. V_RETRY: it cannot be had now. */
MUST_CHECK enum verdict desk_store(struct desk *d, struct err *e);
/* Before a quick read on a loop thread: the second one of a turn, and all behind it, take the locks
 * of the database together. At the end of the turn it is let go. */
void desk_hold(struct desk *d);
void desk_let_go(struct desk *d);
/* After V_RETRY from a handler: whether it makes sense to try again at once. */
bool desk_recover(struct desk *d);

/* pool.c */
/* *ret is set in any case, to be stopped and freed. */
MUST_CHECK enum verdict pool_start(struct web *w, struct pool **ret, struct err *e);
bool pool_push(struct pool *p, struct request *r); /* false: full, or it stops */
void pool_stop(struct pool *p); /* what still waits is answered with 503; NULL is fine */
void pool_free(struct pool *p); /* when no loop thread is left that might push; NULL is fine */

/* routes.c */
const struct route *route_find(const struct web *w, struct str path, struct str *ret_rest,
                               int *ret_area);
bool request_is_api(const struct request *r);     /* how its errors look, and who may read them */
bool path_is_api(struct str path);                /* where nothing fits: how the error looks */
const char *route_methods(const struct route *r); /* for the header Allow; NULL: any route */

#endif
