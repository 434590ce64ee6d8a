/* Many HTTP requests at once over one CURLM: send(request), step(deadline) -> completions.
 * Belongs to one thread; only http_wakeup() may be called from others. HTTP/2 with multiplexing
 * over https, keep-alive over http. Redirects are followed within the request's own scheme, host
 * and port only. Uses epoll and curl_multi_socket_action: with hundreds in flight curl_multi_poll
 * asks the kernel about every one of them each time round. */
#ifndef TAIN_NET_HTTP_H
#define TAIN_NET_HTTP_H

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "net/classify.h"
#include "net/guard.h"

struct http_client;

#define HTTP_MAX_INFLIGHT 4096

struct http_options {
    /* Measures elapsed_ms and deadlines. Sockets and time-outs live in real time whatever it says:
     * with a manual clock a step waits for them at most 50 real milliseconds and returns. */
    const struct clock *clock;
    int max_connections; /* over HTTP/1.1; HTTP/2 needs few and takes few */
    const char *user_agent;
    const char *ca_file; /* NULL: the system's */
    long connect_timeout_ms;
    long timeout_ms; /* the whole answer, redirects and slow drips included */
    size_t max_body; /* decoded bytes; more is NET_TOO_LARGE */
    int max_redirects;
};

#define HTTP_HEADERS_MAX 32
#define HTTP_HEADER_MAX ((size_t)8 * 1024)
#define HTTP_ANSWER_HEADERS_MAX ((size_t)16 * 1024)

struct http_request {
    const char *method; /* "GET" or "POST"; NULL: GET */
    const char *url;
    const struct str *headers; /* "Name: value". They may be secret: no message repeats a value,
                                  and they are forgotten with the answer */
    size_t n_headers;
    struct str body;   /* of a POST; copied */
    long timeout_ms;   /* the whole answer; 0: the client's */
    bool want_headers; /* those of the answer are wanted; they cost time */
    /* NULL: none. A visit to a stranger's URL: a plain GET with nothing of the above but the URL
     * and the time-out (0: the guard's). Redirects lead anywhere the guard lets them. */
    const struct guard *guard;
};

struct http_result {
    void *tag;
    enum net_class cls;
    long status;            /* 0 when there was none */
    struct str body;        /* valid during the callback only; NUL-terminated */
    int64_t retry_after_ms; /* -1 when not said */
    int64_t elapsed_ms;     /* since it was sent: waiting for a free connection is not in it */
    struct str headers; /* of the last answer, "Name: value" and a line break each; absent unless
                           they were wanted and there are any. At most HTTP_ANSWER_HEADERS_MAX
                           bytes: a line that does not fit is left out. Valid during the
                           callback only */
    const char *detail; /* a sentence for logs and last_error; valid during the callback */
    const struct visit *visit; /* of a request with a guard, valid during the callback; or NULL. The
                                  body is empty unless it is VISIT_OK */
};

struct http_counters {
    int64_t connections; /* opened for the requests that ended */
    int64_t requests;    /* that ended, redirects counted each */
    int64_t http2;       /* of the requests */
};

typedef void http_done_fn(void *ctx, const struct http_result *r);

MUST_CHECK enum verdict http_new(const struct http_options *o, struct http_client **ret,
                                 struct err *e);
/* Ends what is in flight without calling back. */
void http_free(struct http_client *c);
/* Starts a request; over http it first waits for one of max_connections. The tag comes back with
 * the result. Everything is copied. A redirect of a POST is followed when it says that the request
 * is to be repeated (307, 308); as any, within the origin only. It is sent a second time where a
 * kept connection turned out to be dead. V_INVALID: not a URL we can fetch, not a header, a body
 * without a POST; or the guard refuses it (domain "guard", the code is the enum guard_rule).
 * V_LIMIT: HTTP_MAX_INFLIGHT are under way. */
MUST_CHECK enum verdict http_send(struct http_client *c, const struct http_request *r, void *tag,
                                  struct err *e);
/* A plain GET. */
MUST_CHECK enum verdict http_submit(struct http_client *c, const char *url, void *tag,
                                    struct err *e);
/* Drives transfers until something completed, the deadline (clock_mono) passed, or a wake-up;
 * calls done() for each completion, which may send and cancel but not step or free. Answers how
 * many there were. */
int http_step(struct http_client *c, int64_t deadline_mono, http_done_fn *done, void *ctx);
/* Ends the current step, or the next one. From any thread. */
void http_wakeup(struct http_client *c);
struct http_counters http_counters(const struct http_client *c);
int http_inflight(const struct http_client *c);
/* Forgets every transfer in flight; their tags never come back. */
void http_cancel_all(struct http_client *c);
/* Forgets the transfers for which pick(ctx, tag) says so; answers how many. */
int http_cancel_if(struct http_client *c, bool (*pick)(void *ctx, void *tag), void *ctx);

#endif
