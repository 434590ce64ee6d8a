/* One long-lived GET whose body is handed over as it comes: an event stream. On a CURLM of its own;
 * belongs to one thread, only stream_wakeup() may be called from others. Redirects are followed to
 * other hosts too, as event streams are served from wherever the balancer says, but never from
 * https to http. */
#ifndef TAIN_NET_STREAM_H
#define TAIN_NET_STREAM_H

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "net/classify.h"

struct stream_client;

struct stream_options {
    const struct clock *clock; /* as in net/http.h: sockets live in real time */
    const char *user_agent;
    const char *ca_file; /* NULL: the system's */
    long connect_timeout_ms;
    int max_redirects;
};

enum stream_phase {
    STREAM_CLOSED,  /* nothing under way */
    STREAM_OPENING, /* no answer yet */
    STREAM_OPEN,    /* 200 with Content-Type text/event-stream */
    STREAM_ENDED,   /* see stream_end(); stays so until the next open or close */
};

struct stream_end {
    enum net_class cls;     /* NET_OK: the server closed in good order */
    long status;            /* 0 when there was none */
    int64_t retry_after_ms; /* -1 when not said */
    char detail[200];       /* also when the content type was another */
};

MUST_CHECK enum verdict stream_new(const struct stream_options *o, struct stream_client **ret,
                                   struct err *e);
void stream_free(struct stream_client *c); /* NULL is fine */
/* Sends the GET with Accept: text/event-stream; what was under way is dropped. There is a time-out
 * for connecting and none for what follows: the caller has a watchdog. V_INVALID: not a URL. */
MUST_CHECK enum verdict stream_open(struct stream_client *c, const char *url, struct err *e);
void stream_close(struct stream_client *c);

/* Drives the transfer until bytes came, its phase changed, the deadline (clock_mono) passed or a
 * wake-up; with nothing under way it waits for the last two. Calls on_bytes for each piece, which
 * must not call back. While `hold` is set no byte of the body is handed over, and once the stream
 * is open none is read from the network (they pile up in the kernel, and the sender feels it); the
 * step then only waits, and an end is seen when reading goes on. */
typedef void stream_bytes_fn(void *ctx, struct str bytes);
enum stream_phase stream_step(struct stream_client *c, int64_t deadline_mono, bool hold,
                              stream_bytes_fn *on_bytes, void *ctx);
/* How it ended, when the phase says so. */
const struct stream_end *stream_end(const struct stream_client *c);
/* Ends the current step, or the next one. From any thread. */
void stream_wakeup(struct stream_client *c);

#endif
