/* Chance is a hash of (seed, rule, id, how often the id was asked), so a run can be repeated
 * exactly. */
#include "demo/faults_int.h"

#include "base/rng.h"
#include "demo/hits.h"

#include <stdlib.h>

#define OTHER_ENDPOINTS 16

struct faults {
    const struct clock *clock;
    uint64_t seed;
    size_t n;
    _Atomic uint64_t requests;
    _Atomic unsigned others[OTHER_ENDPOINTS];
    struct hits *hits;
    struct rule rules[FAULTS_MAX_RULES];
};

static const char *const KIND_NAMES[FAULT_N_KINDS] = {
    "none",    "status", "reset", "truncate", "garbage",   "wrong_id", "null",
    "delayed", "drip",   "huge",  "redirect", "wrongtype", "stream",   "down",
};

const char *fault_kind_name(enum fault_kind kind) {
    return KIND_NAMES[kind];
}

enum verdict faults_new(const char *const *specs, size_t n, uint64_t seed,
                        const struct clock *clock, struct faults **ret, struct err *e) {
    if (n > FAULTS_MAX_RULES)
        return err_set(e, V_INVALID, "demo", 0, "more than %d faults", FAULTS_MAX_RULES);
    struct faults *f = xcalloc(1, sizeof *f);
    f->clock = clock;
    f->seed = seed;
    f->n = n;
    for (size_t i = 0; i < n; i++) {
        enum verdict v = rule_parse(&f->rules[i], specs[i], e);
        if (v != V_OK) {
            free(f);
            return v;
        }
        if (f->rules[i].after == 0)
            f->rules[i].began_ms = clock_mono(clock);
    }
    f->hits = n ? hits_new() : NULL;
    *ret = f;
    return V_OK;
}

void faults_free(struct faults *f) {
    if (!f)
        return;
    hits_free(f->hits);
    free(f);
}

static bool lucky(const struct faults *f, size_t rule, int64_t id, unsigned nth, double p) {
    if (p >= 1)
        return true;
    uint64_t h = rng_mix(f->seed ^ rng_mix((uint64_t)id * 977 + rule) ^ ((uint64_t)nth << 48));
    return (double)(rng_mix(h) >> 11) * 0x1p-53 < p;
}

static bool chooses(const struct faults *f, size_t i, int64_t id, unsigned nth) {
    const struct rule *r = &f->rules[i];
    bool named = r->whom == WHOM_ALL || (r->whom == WHOM_ITEMS && id >= 0) ||
                 (r->whom == WHOM_RANGE && id >= r->lo && id <= r->hi) ||
                 (r->whom == WHOM_STREAM && id == FAULTS_STREAM);
    return named && nth <= r->times && lucky(f, i, id, 0, r->share) &&
           lucky(f, i, id, nth, r->rate);
}

/* after and for: whether the rule's time has come and not yet gone. */
static bool active(struct faults *f, struct rule *r, uint64_t request) {
    if (request <= r->after || request - r->after > r->for_requests)
        return false;
    if (r->for_ms < 0)
        return true;
    int64_t now = clock_mono(f->clock), began = -1;
    if (atomic_compare_exchange_strong(&r->began_ms, &began, now))
        began = now;
    return now - began < r->for_ms;
}

static bool makes_sense(const struct rule *r, int64_t id) {
    return id >= 0 || (r->action.kind != FAULT_WRONG_ID && r->action.kind != FAULT_DELAYED);
}

struct fault_action faults_take(struct faults *f, int64_t id) {
    struct fault_action none = {.retry_after = -1};
    if (!f || f->n == 0)
        return none;
    uint64_t request = atomic_fetch_add_explicit(&f->requests, 1, memory_order_relaxed) + 1;
    unsigned nth = id >= 0 ? hits_add(f->hits, id)
                           : atomic_fetch_add(&f->others[-id % OTHER_ENDPOINTS], 1U) + 1;
    for (size_t i = 0; i < f->n; i++) {
        struct rule *r = &f->rules[i];
        uint64_t counted = r->whom == WHOM_STREAM ? nth : request;
        if (chooses(f, i, id, nth) && makes_sense(r, id) && active(f, r, counted))
            return r->action;
    }
    return none;
}
