/* Private to the rules: one of them, as it was read from its spec. */
#ifndef TAIN_DEMO_FAULTS_INT_H
#define TAIN_DEMO_FAULTS_INT_H

#include "demo/faults.h"

#include <stdatomic.h>

struct rule {
    enum { WHOM_NOBODY, WHOM_RANGE, WHOM_ITEMS, WHOM_ALL, WHOM_STREAM } whom;
    int64_t lo, hi;
    double share, rate; /* 1: everyone */
    bool narrowed;      /* share or rate was named */
    bool chosen;        /* a kind, a delay or a form was named */
    bool closes;        /* midframe: the connection too */
    struct fault_action action;
    uint64_t times, after, for_requests; /* UINT64_MAX: no limit */
    int64_t for_ms;                      /* -1: no limit */
    _Atomic int64_t began_ms;            /* -1: not yet */
};

/* V_INVALID names the spec and its bad part. */
MUST_CHECK enum verdict rule_parse(struct rule *r, const char *spec, struct err *e);

#endif
