/* What the caller should do (enum verdict) and what happened (struct err).
 * A function that can fail answers a verdict and fills its last parameter on anything but V_OK.
 * Library code never logs: worker loops, the supervisor and commands do, once, at the top. */
#ifndef TAIN_BASE_ERR_H
#define TAIN_BASE_ERR_H

#include "base/attr.h"

enum verdict {
    V_OK,        /* done */
    V_RETRY,     /* a passing trouble: the same call may succeed later */
    V_CONFLICT,  /* someone else was first, or holds it now; nothing was written */
    V_NOT_FOUND, /* there is no such thing */
    V_LIMIT,     /* a maximum was reached; the input is too large */
    V_INVALID,   /* the input is wrong and will stay wrong */
    V_FATAL,     /* a broken invariant, schema or configuration: stop the run */
    V_STOPPED,   /* the stop token was raised */
};

struct err {
    const char *domain; /* "sqlite", "postgres", "http", "config", ... ; static storage */
    int code;           /* the foreign code, 0 if there is none */
    char msg[480];
};

/* Fills e (which may be NULL) and answers v, so that `return err_set(...)` reads well. */
enum verdict err_set(struct err *e, enum verdict v, const char *domain, int code, const char *fmt,
                     ...) PRINTF_LIKE(5, 6);

/* Puts "prefix: " in front of the message that is there. Answers v. */
enum verdict err_wrap(struct err *e, enum verdict v, const char *fmt, ...) PRINTF_LIKE(3, 4);

const char *verdict_name(enum verdict v);

#endif
