/* Scripted trouble. A spec is a list of parts joined by ':' - whom it strikes, what happens, and
 * when - such as "id=123:status=500:times=3" or "all:status=503:after=1000:for=60s".
 *
 * whom  id=N  range=A-B  items (every item)  all (every request below /v0/)
 *       share=P (that share of the ids, always the same ones)  rate=P (that share of requests)
 *       stream (the event streams of updates)
 * what  status=CODE[:retry_after=S]  reset  truncate  garbage  wrong_id  null  delayed  drip
 *       huge=BYTES[:chunked]  redirect=endless|other|same  delay=MS (alone, or before another)
 *       of a stream: status, delay, redirect=..., reset, wrongtype when it is opened; redirect
 *       (first, to another host name and path); drop=MS  reset=MS  silent=MS  cancel=MS
 *       auth_revoked=MS  midframe=MS[:close] that long after; garbage  crlf  bom  comments  split
 *       throughout, all of which go together
 * when  times=N (the first N requests of each id)  after=N (only after N requests)
 *       for=60s|500ms|2m (that long from when it began)  for=N (for N requests)
 *
 * share and rate narrow down id, range, items or all; alone they mean items. For a stream the
 * counts of `when` are those of requests for such streams. The first rule that strikes decides.
 * Counts begin when the rules are made. Any thread. */
#ifndef TAIN_DEMO_FAULTS_H
#define TAIN_DEMO_FAULTS_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "demo/stream_faults.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_STATUS,
    FAULT_RESET,    /* RST instead of an answer */
    FAULT_TRUNCATE, /* Content-Length says more than is sent before the connection closes */
    FAULT_GARBAGE,  /* 200, but not JSON */
    FAULT_WRONG_ID, /* the item of another id */
    FAULT_NULL,
    FAULT_DELAYED, /* text "[delayed]" */
    FAULT_DRIP,    /* the right answer, one byte every 100 ms */
    FAULT_HUGE,
    FAULT_REDIRECT,
    FAULT_WRONGTYPE, /* a stream was asked for, and plain JSON comes */
    FAULT_STREAM,    /* the stream is opened, and then: see .stream */
    FAULT_DOWN,      /* by no rule: while the server plays dead (see demo_set_down()) */
    FAULT_N_KINDS
};

enum fault_redirect { REDIRECT_ENDLESS, REDIRECT_OTHER, REDIRECT_SAME };

struct fault_action {
    enum fault_kind kind;
    int delay_ms;            /* before anything else; may come with FAULT_NONE */
    int status, retry_after; /* retry_after -1: no such header */
    uint64_t bytes;          /* huge */
    bool chunked;            /* huge: without a Content-Length */
    enum fault_redirect redirect;
    struct stream_fault stream; /* FORM_REDIRECT may stand there beside any kind */
};

#define FAULTS_MAX_RULES 64
#define FAULTS_STREAM (-15) /* the id of a stream of updates */

struct faults;

/* V_INVALID names the spec and its bad part. `seed` drives share and rate; the clock must live as
 * long as the result. */
MUST_CHECK enum verdict faults_new(const char *const *specs, size_t n, uint64_t seed,
                                   const struct clock *clock, struct faults **ret, struct err *e);
void faults_free(struct faults *f);

/* Counts a request and says what shall befall it. `id` is an item's, or -1, -2, ... for another
 * endpoint, of which there may be 15. */
struct fault_action faults_take(struct faults *f, int64_t id);

const char *fault_kind_name(enum fault_kind kind);

#endif
