/* A realtime worker between a fetch service and a writer that the test plays by hand, in one thread
 * and with a manual clock. */
#ifndef TAIN_TESTS_MIRROR_WORKER_H
#define TAIN_TESTS_MIRROR_WORKER_H

#include "mirror/live.h"
#include "mirror/metrics.h"
#include "mirror/realtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DB_OFFSET INT64_C(1600000000000) /* database time minus the clock */
#define MONO INT64_C(50000)              /* of the clock at the start */
#define MAXITEM INT64_C(1000000)
#define TOKEN 77
#define REST_MS 500

struct bench {
    struct clock clock;
    struct keyqueue *ids;
    struct calls calls;
    struct queue to_writer;
    struct tidings tidings;
    _Atomic int64_t token;
    struct stop_token stop;
    struct realtime *w;
    struct err err;
    int64_t before[8]; /* live outcomes at the start */
};

/* What is 0 gets a default: window 8, batch_size 100, attempts 3, dlq_rounds 8, cap 1000. */
struct bench_options {
    int window, batch_size, attempts, dlq_rounds;
    size_t cap;
};
void bench_open(struct bench *b, const struct bench_options *o);
void bench_close(struct bench *b); /* nothing may be lent */
void bench_drop(struct bench *b);  /* frees the worker only */

enum verdict bench_step(struct bench *b);
void bench_offer(struct bench *b, int64_t id, uint32_t level, uint32_t flags);
void bench_name(struct bench *b, int64_t first, int64_t last); /* as the stream does */

/* The fetch service. */
struct call *bench_call(struct bench *b, int64_t id); /* the next; for this id, or 0: any */
void bench_no_call(struct bench *b);
void bench_answer(struct bench *b, struct call *c, enum net_class cls, const char *body);
void bench_item(struct bench *b, struct call *c); /* a comment with the id it was asked for */
void bench_cancel(struct bench *b, struct call *c);

/* The writer. */
struct job *bench_job(struct bench *b, size_t items, size_t exceptions); /* must be there */
void bench_no_job(struct bench *b);
void bench_written(struct bench *b, struct job *j, enum verdict v);

int64_t bench_now_db(const struct bench *b);
size_t bench_waiting(struct bench *b); /* ids in the queue */
size_t bench_taken(struct bench *b);
int64_t bench_count(const struct bench *b, enum live_outcome o); /* since the start */

#endif
