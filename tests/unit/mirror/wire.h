/* The live thread's work between an upstream, a fetch service and a writer that the test plays by
 * hand, in one thread and with a manual clock. */
#ifndef TAIN_TESTS_MIRROR_WIRE_H
#define TAIN_TESTS_MIRROR_WIRE_H

#include "../net/peer.h"

#include "mirror/live.h"
#include "mirror/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DB_OFFSET INT64_C(1600000000000) /* database time minus the clock */
#define MONO INT64_C(5000000)            /* of the clock at the start */
#define POLL_MS 5000
#define STREAM_TIMEOUT_MS 60000
#define OUTAGE_MS 300000
#define GAP_QUEUE_MAX 20

#define PUT(list) "event: put\ndata: {\"path\":\"/\",\"data\":{\"items\":[" list "]}}\n\n"
#define KEEP_ALIVE "event: keep-alive\ndata: null\n\n"

struct wire {
    struct clock clock;
    struct peer peer;
    struct keyqueue *ids;
    struct queue names, to_writer;
    struct calls calls;
    struct tidings tidings;
    struct stop_token stop;
    struct live *l;
    struct err e;
    char text[4096];   /* what wire_ids() and wire_names() answer */
    int64_t before[8]; /* counters at the start; see wire_count() */
};

void wire_open(struct wire *w, size_t ids_cap, size_t names_cap);
void wire_close(struct wire *w); /* stops it first, and cancels what is lent */

/* One turn that does not wait; it must be fine. */
void wire_turn(struct wire *w);
void wire_turns(struct wire *w, int n);
void wire_until(struct wire *w, enum live_state wanted);
/* Moves the clock, in steps small enough that nothing is late, with turns in between. */
void wire_pass(struct wire *w, int64_t ms);

/* The fetch service. */
/* The next, after turns if need be. A poll in front of it is failed. */
struct call *wire_call(struct wire *w, const char *path);
void wire_no_call(struct wire *w);
void wire_answer(struct wire *w, struct call *c, const char *fmt, ...) PRINTF_LIKE(3, 4);
void wire_maxitem(struct wire *w, int64_t maxitem); /* asked for and answered */
void wire_fail(struct wire *w, struct call *c, enum net_class cls, int64_t retry_after_ms);
void wire_cancel(struct wire *w, struct call *c);
/* While the stream is down: the two calls of a poll, answered. */
void wire_poll(struct wire *w, const char *updates, int64_t maxitem);

/* The upstream of the stream: maxitem is answered `before`, the stream opened, and maxitem answered
 * `after`. What follows is up to the gap. */
void wire_open_stream(struct wire *w, int64_t before);
void wire_measure(struct wire *w, int64_t before, int64_t after);
void wire_stream(struct wire *w, int64_t maxitem); /* without a gap, and consuming */
void wire_say(struct wire *w, const char *text);   /* and a few turns to hear it */
/* From wherever it is down until it asks again; answers how long that took by the clock. */
int64_t wire_wait(struct wire *w);

/* The ids in the queue, which are taken out: "1 2 7*", with a star for those that were named. */
const char *wire_ids(struct wire *w);
const char *wire_names(struct wire *w);
int64_t wire_now_db(const struct wire *w);

enum wire_counter { FULLS, RECONNECTS, POLLS, BY_QUEUE, BY_SEGMENTS, N_WIRE_COUNTERS };
int64_t wire_count(const struct wire *w, enum wire_counter c); /* since wire_open() */

#endif
