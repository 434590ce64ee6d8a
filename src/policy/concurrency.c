#include "policy/concurrency.h"

#define SMOOTHING (1.0 / 32)   /* the weight of one answer in the smoothed latency */
#define BEST_DECAY_MS 60000.0  /* the floor follows a lasting change within minutes */
#define MAX_DECAY_STEP_MS 1000 /* a pause teaches nothing about latency */
#define DECREASE_FACTOR 0.7
#define DECREASE_EVERY_MS 500
#define SLOW_FACTOR 4.0
#define SLOW_EXTRA_MS 200.0 /* queueing on a fast link is not overload */
#define IN_USE 0.75
#define RAMP_STEPS 64.0 /* round trips from nothing to the ceiling */
#define NEVER (INT64_MIN / 2)

void concurrency_init(struct concurrency *c, int start, int ceiling) {
    if (ceiling < 1)
        ceiling = 1;
    int floor = CONCURRENCY_FLOOR < ceiling ? CONCURRENCY_FLOOR : ceiling;
    int limit = start < ceiling ? start : ceiling;
    *c = (struct concurrency){
        .limit = limit > floor ? limit : floor,
        .floor = floor,
        .ceiling = ceiling,
        .last_decrease_ms = NEVER,
        .last_ok_ms = NEVER,
    };
}

int concurrency_limit(const struct concurrency *c) {
    return (int)c->limit;
}

static void decrease(struct concurrency *c, int64_t now_ms, double hold_ms) {
    if ((double)(now_ms - c->last_decrease_ms) < hold_ms)
        return;
    c->last_decrease_ms = now_ms;
    c->limit *= DECREASE_FACTOR;
    if (c->limit < c->floor)
        c->limit = c->floor;
}

static void learn_latency(struct concurrency *c, int64_t now_ms, double latency_ms) {
    if (c->last_ok_ms == NEVER) {
        c->last_ok_ms = now_ms;
        c->latency_ms = c->best_ms = latency_ms;
        return;
    }
    int64_t since = now_ms - c->last_ok_ms;
    if (since > MAX_DECAY_STEP_MS)
        since = MAX_DECAY_STEP_MS;
    c->latency_ms += (latency_ms - c->latency_ms) * SMOOTHING;
    if (c->latency_ms < c->best_ms)
        c->best_ms = c->latency_ms;
    else if (since > 0)
        c->best_ms += (c->latency_ms - c->best_ms) * ((double)since / BEST_DECAY_MS);
    if (now_ms > c->last_ok_ms)
        c->last_ok_ms = now_ms;
}

void concurrency_ok(struct concurrency *c, int64_t now_ms, double latency_ms, int inflight) {
    learn_latency(c, now_ms, latency_ms);
    if (c->latency_ms > SLOW_FACTOR * c->best_ms && c->latency_ms > c->best_ms + SLOW_EXTRA_MS) {
        /* A smaller window shows in the latency only after a round trip. */
        decrease(c, now_ms, c->latency_ms > DECREASE_EVERY_MS ? c->latency_ms : DECREASE_EVERY_MS);
        return;
    }
    if (inflight < IN_USE * c->limit)
        return;
    double step = c->ceiling / RAMP_STEPS;
    c->limit += (step > 1 ? step : 1) / c->limit;
    if (c->limit > c->ceiling)
        c->limit = c->ceiling;
}

void concurrency_overload(struct concurrency *c, int64_t now_ms) {
    decrease(c, now_ms, DECREASE_EVERY_MS);
}
