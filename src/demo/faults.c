/* The parts of a spec are a table: a name, whether it wants a value, and what it sets. Chance is
 * a hash of (seed, rule, id, how often the id was asked), so a run can be repeated exactly. */
#include "demo/faults.h"

#include "base/rng.h"
#include "base/str.h"
#include "demo/hits.h"

#include <stdlib.h>
#include <string.h>

#define OTHER_ENDPOINTS 16

struct rule {
    enum { WHOM_NOBODY, WHOM_RANGE, WHOM_ITEMS, WHOM_ALL } whom;
    int64_t lo, hi;
    double share, rate; /* 1: everyone */
    bool narrowed;      /* share or rate was named */
    bool chosen;        /* a kind or a delay was named */
    struct fault_action action;
    uint64_t times, after, for_requests; /* UINT64_MAX: no limit */
    int64_t for_ms;                      /* -1: no limit */
    _Atomic int64_t began_ms;            /* -1: not yet */
};

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
    "none", "status",  "reset", "truncate", "garbage",  "wrong_id",
    "null", "delayed", "drip",  "huge",     "redirect",
};

const char *fault_kind_name(enum fault_kind kind) {
    return KIND_NAMES[kind];
}

static bool number_in(struct str s, int64_t lo, int64_t hi, int64_t *ret) {
    return str_to_i64(s, ret) && *ret >= lo && *ret <= hi;
}

static bool set_id(struct rule *r, struct str v) {
    r->whom = WHOM_RANGE;
    bool ok = number_in(v, 1, INT64_MAX, &r->lo);
    r->hi = r->lo;
    return ok;
}

static bool set_range(struct rule *r, struct str v) {
    const char *dash = memchr(v.p, '-', v.n);
    r->whom = WHOM_RANGE;
    if (!dash)
        return false;
    struct str lo = {v.p, (size_t)(dash - v.p)}, hi = {dash + 1, v.n - lo.n - 1};
    return number_in(lo, 1, INT64_MAX, &r->lo) && number_in(hi, r->lo, INT64_MAX, &r->hi);
}

static bool set_items(struct rule *r, struct str v UNUSED) {
    r->whom = WHOM_ITEMS;
    return true;
}

static bool set_all(struct rule *r, struct str v UNUSED) {
    r->whom = WHOM_ALL;
    return true;
}

static bool probability(struct str v, double *ret) {
    char text[32], *end;
    if (v.n == 0 || v.n >= sizeof text)
        return false;
    memcpy(text, v.p, v.n);
    text[v.n] = '\0';
    *ret = strtod(text, &end);
    return *end == '\0' && *ret >= 0 && *ret <= 1;
}

static bool set_share(struct rule *r, struct str v) {
    r->narrowed = true;
    return probability(v, &r->share);
}

static bool set_rate(struct rule *r, struct str v) {
    r->narrowed = true;
    return probability(v, &r->rate);
}

static bool set_status(struct rule *r, struct str v) {
    int64_t code = 0;
    bool ok = number_in(v, 200, 599, &code);
    r->action.status = (int)code;
    return ok;
}

static bool set_retry_after(struct rule *r, struct str v) {
    int64_t s = 0;
    bool ok = number_in(v, 0, 86400, &s);
    r->action.retry_after = (int)s;
    return ok;
}

static bool set_delay(struct rule *r, struct str v) {
    int64_t ms = 0;
    bool ok = number_in(v, 0, 3600000, &ms);
    r->action.delay_ms = (int)ms;
    r->chosen = true;
    return ok;
}

static bool set_huge(struct rule *r, struct str v) {
    int64_t n = 0;
    bool ok = number_in(v, 1, INT64_C(1) << 40, &n);
    r->action.bytes = (uint64_t)n;
    return ok;
}

static bool set_chunked(struct rule *r, struct str v UNUSED) {
    r->action.chunked = true;
    return true;
}

static bool set_redirect(struct rule *r, struct str v) {
    static const char *const NAMES[] = {"endless", "other", "same"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (str_eqc(v, NAMES[i])) {
            r->action.redirect = (enum fault_redirect)i;
            return true;
        }
    return false;
}

static bool set_times(struct rule *r, struct str v) {
    int64_t n = 0;
    bool ok = number_in(v, 1, UINT16_MAX - 1, &n);
    r->times = (uint64_t)n;
    return ok;
}

static bool set_after(struct rule *r, struct str v) {
    int64_t n = 0;
    bool ok = number_in(v, 0, INT64_MAX, &n);
    r->after = (uint64_t)n;
    return ok;
}

static bool set_for(struct rule *r, struct str v) {
    static const struct {
        const char *suffix;
        int64_t ms;
    } UNITS[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    int64_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(UNITS); i++) {
        if (!str_ends(v, UNITS[i].suffix))
            continue;
        struct str digits = {v.p, v.n - strlen(UNITS[i].suffix)};
        bool ok = number_in(digits, 1, 1000000, &n);
        r->for_ms = n * UNITS[i].ms;
        return ok;
    }
    bool ok = number_in(v, 1, INT64_MAX, &n);
    r->for_requests = (uint64_t)n;
    return ok;
}

struct part {
    const char *name;
    bool (*set)(struct rule *r, struct str v); /* NULL: the kind is all there is to say */
    bool wants_value, selects;                 /* selects: id, range, items, all */
    enum fault_kind kind;
};

static const struct part PARTS[] = {
    {"id", set_id, true, true, FAULT_NONE},
    {"range", set_range, true, true, FAULT_NONE},
    {"items", set_items, false, true, FAULT_NONE},
    {"all", set_all, false, true, FAULT_NONE},
    {"share", set_share, true, false, FAULT_NONE},
    {"rate", set_rate, true, false, FAULT_NONE},
    {"status", set_status, true, false, FAULT_STATUS},
    {"retry_after", set_retry_after, true, false, FAULT_NONE},
    {"reset", NULL, false, false, FAULT_RESET},
    {"truncate", NULL, false, false, FAULT_TRUNCATE},
    {"garbage", NULL, false, false, FAULT_GARBAGE},
    {"wrong_id", NULL, false, false, FAULT_WRONG_ID},
    {"null", NULL, false, false, FAULT_NULL},
    {"delayed", NULL, false, false, FAULT_DELAYED},
    {"drip", NULL, false, false, FAULT_DRIP},
    {"huge", set_huge, true, false, FAULT_HUGE},
    {"chunked", set_chunked, false, false, FAULT_NONE},
    {"redirect", set_redirect, true, false, FAULT_REDIRECT},
    {"delay", set_delay, true, false, FAULT_NONE},
    {"times", set_times, true, false, FAULT_NONE},
    {"after", set_after, true, false, FAULT_NONE},
    {"for", set_for, true, false, FAULT_NONE},
};

static enum verdict bad(const char *spec, struct str part, const char *why, struct err *e) {
    return err_set(e, V_INVALID, "demo", 0, "fault \"%.200s\": %s \"%.*s\"", spec, why,
                   (int)(part.n < 100 ? part.n : 100), part.p);
}

static const struct part *find_part(struct str name) {
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
        if (str_eqc(name, PARTS[i].name))
            return &PARTS[i];
    return NULL;
}

static enum verdict parse_part(struct rule *r, const char *spec, struct str text, struct err *e) {
    const char *eq = memchr(text.p, '=', text.n);
    struct str name = {text.p, eq ? (size_t)(eq - text.p) : text.n};
    struct str value = eq ? (struct str){eq + 1, text.n - name.n - 1} : STR("");
    const struct part *p = find_part(name);
    if (!p)
        return bad(spec, text, "unknown part", e);
    if (p->wants_value && !eq)
        return bad(spec, text, "a value is missing after", e);
    if (!p->wants_value && eq)
        return bad(spec, text, "there is no value to", e);
    if (p->kind != FAULT_NONE && r->action.kind != FAULT_NONE)
        return bad(spec, text, "a second thing to happen", e);
    if (p->selects && r->whom != WHOM_NOBODY)
        return bad(spec, text, "a second choice of ids", e);
    if (p->set && !p->set(r, value))
        return bad(spec, text, "a bad value in", e);
    if (p->kind != FAULT_NONE) {
        r->action.kind = p->kind;
        r->chosen = true;
    }
    return V_OK;
}

static enum verdict parse_rule(struct rule *r, const char *spec, struct err *e) {
    *r = (struct rule){.share = 1,
                       .rate = 1,
                       .times = UINT64_MAX,
                       .for_requests = UINT64_MAX,
                       .for_ms = -1,
                       .began_ms = -1,
                       .action = {.retry_after = -1}};
    for (const char *p = spec;; p++) {
        size_t n = strcspn(p, ":");
        enum verdict v = parse_part(r, spec, (struct str){p, n}, e);
        if (v != V_OK)
            return v;
        p += n;
        if (*p == '\0')
            break;
    }
    if (r->whom == WHOM_NOBODY && r->narrowed)
        r->whom = WHOM_ITEMS;
    if (r->whom == WHOM_NOBODY)
        return bad(spec, STR("id, range, items, all, share or rate"), "it names none of", e);
    if (!r->chosen)
        return bad(spec, STR("status, reset, delay, ..."), "nothing happens: it names none of", e);
    if (r->action.retry_after >= 0 && r->action.kind != FAULT_STATUS)
        return bad(spec, STR("retry_after"), "only a status goes with", e);
    if (r->action.chunked && r->action.kind != FAULT_HUGE)
        return bad(spec, STR("chunked"), "only huge goes with", e);
    return V_OK;
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
        enum verdict v = parse_rule(&f->rules[i], specs[i], e);
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
                 (r->whom == WHOM_RANGE && id >= r->lo && id <= r->hi);
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
        if (chooses(f, i, id, nth) && makes_sense(r, id) && active(f, r, request))
            return r->action;
    }
    return none;
}
