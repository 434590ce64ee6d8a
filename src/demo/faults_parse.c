/* The parts of a spec are a table: a name, what kind of rule it belongs to, whether it wants a
 * value, and what it sets. */
#include "demo/faults_int.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

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
        if (!number_in(digits, 1, 1000000, &n))
            return false;
        r->for_ms = n * UNITS[i].ms;
        return true;
    }
    bool ok = number_in(v, 1, INT64_MAX, &n);
    r->for_requests = (uint64_t)n;
    return ok;
}

static bool set_stream(struct rule *r, struct str v UNUSED) {
    r->whom = WHOM_STREAM;
    return true;
}

static bool set_close(struct rule *r, struct str v UNUSED) {
    r->closes = true;
    return true;
}

enum scope { PLAIN = 1, STREAM = 2, BOTH = 3 };

struct part {
    const char *name;
    bool (*set)(struct rule *r, struct str v); /* NULL: the kind is all there is to say */
    bool wants_value, selects;                 /* selects: id, range, items, all, stream */
    enum scope scope;
    enum fault_kind kind;
    enum stream_deed deed; /* its value is the time */
    unsigned form;
};

#define CHOICE(name, set, value, scope) \
    { name, set, value, true, scope, FAULT_NONE, DEED_NONE, 0 }
#define DETAIL(name, set, value, scope) \
    { name, set, value, false, scope, FAULT_NONE, DEED_NONE, 0 }
#define KIND(name, set, scope, kind) \
    { name, set, (set) != NULL, false, scope, kind, DEED_NONE, 0 }
#define DEED(name, deed) \
    { name, NULL, true, false, STREAM, FAULT_STREAM, deed, 0 }
#define FORM(name, form) \
    { name, NULL, false, false, STREAM, FAULT_NONE, DEED_NONE, form }

static const struct part PARTS[] = {
    CHOICE("id", set_id, true, PLAIN),
    CHOICE("range", set_range, true, PLAIN),
    CHOICE("items", set_items, false, PLAIN),
    CHOICE("all", set_all, false, PLAIN),
    CHOICE("stream", set_stream, false, STREAM),
    DETAIL("share", set_share, true, PLAIN),
    DETAIL("rate", set_rate, true, BOTH),
    KIND("status", set_status, BOTH, FAULT_STATUS),
    DETAIL("retry_after", set_retry_after, true, BOTH),
    KIND("reset", NULL, BOTH, FAULT_RESET),
    KIND("truncate", NULL, PLAIN, FAULT_TRUNCATE),
    KIND("garbage", NULL, PLAIN, FAULT_GARBAGE),
    KIND("wrong_id", NULL, PLAIN, FAULT_WRONG_ID),
    KIND("null", NULL, PLAIN, FAULT_NULL),
    KIND("delayed", NULL, PLAIN, FAULT_DELAYED),
    KIND("drip", NULL, PLAIN, FAULT_DRIP),
    KIND("huge", set_huge, PLAIN, FAULT_HUGE),
    DETAIL("chunked", set_chunked, false, PLAIN),
    KIND("redirect", set_redirect, BOTH, FAULT_REDIRECT),
    KIND("wrongtype", NULL, STREAM, FAULT_WRONGTYPE),
    DEED("drop", DEED_DROP),
    DEED("reset", DEED_RESET),
    DEED("silent", DEED_SILENCE),
    DEED("cancel", DEED_CANCEL),
    DEED("auth_revoked", DEED_AUTH_REVOKED),
    DEED("midframe", DEED_MIDFRAME),
    DETAIL("close", set_close, false, STREAM),
    FORM("redirect", FORM_REDIRECT),
    FORM("garbage", FORM_GARBAGE),
    FORM("crlf", FORM_CRLF),
    FORM("bom", FORM_BOM),
    FORM("comments", FORM_COMMENTS),
    FORM("split", FORM_SPLIT),
    DETAIL("delay", set_delay, true, BOTH),
    DETAIL("times", set_times, true, BOTH),
    DETAIL("after", set_after, true, BOTH),
    DETAIL("for", set_for, true, BOTH),
};

static enum verdict bad(const char *spec, struct str part, const char *why, struct err *e) {
    return err_set(e, V_INVALID, "demo", 0, "fault \"%.200s\": %s \"%.*s\"", spec, why,
                   (int)(part.n < 100 ? part.n : 100), part.p);
}

/* The part of that name, if it can be the one with (or without) a value, as some go both ways. */
static const struct part *find_part(struct str name, bool has_value, enum scope scope) {
    const struct part *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
        if (str_eqc(name, PARTS[i].name) && (PARTS[i].scope & scope) &&
            (!found || PARTS[i].wants_value == has_value))
            found = &PARTS[i];
    return found;
}

static bool apply_part(struct rule *r, const struct part *p, struct str value) {
    r->chosen |= p->kind != FAULT_NONE || p->form;
    r->action.stream.forms |= p->form;
    if (p->kind != FAULT_NONE)
        r->action.kind = p->kind;
    if (p->deed != DEED_NONE) {
        r->action.stream.deed = p->deed;
        return number_in(value, 0, 86400000, &r->action.stream.after_ms);
    }
    return !p->set || p->set(r, value);
}

static enum verdict parse_part(struct rule *r, const char *spec, struct str text, enum scope scope,
                               struct err *e) {
    const char *eq = memchr(text.p, '=', text.n);
    struct str name = {text.p, eq ? (size_t)(eq - text.p) : text.n};
    struct str value = eq ? (struct str){eq + 1, text.n - name.n - 1} : STR("");
    const struct part *p = find_part(name, eq != NULL, scope);
    if (!p && find_part(name, eq != NULL, BOTH))
        return bad(spec, text, scope == STREAM ? "not for streams:" : "for streams only:", e);
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
    return apply_part(r, p, value) ? V_OK : bad(spec, text, "a bad value in", e);
}

/* What only makes sense together. */
static enum verdict check_rule(struct rule *r, const char *spec, struct err *e) {
    struct fault_action *a = &r->action;
    if (r->whom == WHOM_NOBODY && r->narrowed)
        r->whom = WHOM_ITEMS;
    if (r->whom == WHOM_NOBODY)
        return bad(spec, STR("id, range, items, all, stream, share or rate"), "it names none of",
                   e);
    if (!r->chosen)
        return bad(spec, STR("status, reset, delay, ..."), "nothing happens: it names none of", e);
    if (a->retry_after >= 0 && a->kind != FAULT_STATUS)
        return bad(spec, STR("retry_after"), "only a status goes with", e);
    if (a->chunked && a->kind != FAULT_HUGE)
        return bad(spec, STR("chunked"), "only huge goes with", e);
    if (r->closes && a->stream.deed != DEED_MIDFRAME)
        return bad(spec, STR("close"), "only midframe goes with", e);
    if (r->closes)
        a->stream.deed = DEED_MIDFRAME_CLOSE;
    if (!(a->stream.forms & ~(unsigned)FORM_REDIRECT))
        return V_OK;
    if (a->kind != FAULT_NONE && a->kind != FAULT_STREAM)
        return bad(spec, STR("garbage, crlf, bom, comments, split"),
                   "only a stream that is opened goes with", e);
    a->kind = FAULT_STREAM;
    return V_OK;
}

/* Whether the rule is about streams decides what its other parts mean. */
static enum scope scope_of(const char *spec) {
    for (const char *p = spec;; p++) {
        size_t n = strcspn(p, ":");
        if (str_eqc((struct str){p, n}, "stream"))
            return STREAM;
        p += n;
        if (*p == '\0')
            return PLAIN;
    }
}

enum verdict rule_parse(struct rule *r, const char *spec, struct err *e) {
    enum scope scope = scope_of(spec);
    *r = (struct rule){.share = 1,
                       .rate = 1,
                       .times = UINT64_MAX,
                       .for_requests = UINT64_MAX,
                       .for_ms = -1,
                       .began_ms = -1,
                       .action = {.retry_after = -1}};
    for (const char *p = spec;; p++) {
        size_t n = strcspn(p, ":");
        enum verdict v = parse_part(r, spec, (struct str){p, n}, scope, e);
        if (v != V_OK)
            return v;
        p += n;
        if (*p == '\0')
            break;
    }
    return check_rule(r, spec, e);
}
