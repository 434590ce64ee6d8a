#include "base/err.h"

#include "base/shown.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum verdict err_set(struct err *e, enum verdict v, const char *domain, int code, const char *fmt,
                     ...) {
    if (!e)
        return v;
    e->domain = domain;
    e->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    size_t n = strlen(e->msg); /* libpq ends its messages with a newline */
    while (n && (e->msg[n - 1] == '\n' || e->msg[n - 1] == ' '))
        e->msg[--n] = '\0';
    shown_in_place(e->msg); /* what an upstream or a file said may be in it */
    return v;
}

static void append(char *to, size_t size, const char *text) {
    size_t at = strlen(to), n = strlen(text);
    size_t room = size - 1 - at;
    n = n < room ? n : room;
    memcpy(to + at, text, n);
    to[at + n] = '\0';
}

enum verdict err_wrap(struct err *e, enum verdict v, const char *fmt, ...) {
    if (!e)
        return v;
    char inner[sizeof e->msg];
    memcpy(inner, e->msg, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    append(e->msg, sizeof e->msg, ": ");
    append(e->msg, sizeof e->msg, inner);
    shown_in_place(e->msg);
    return v;
}

const char *verdict_name(enum verdict v) {
    static const char *const names[] = {
        [V_OK] = "ok",
        [V_RETRY] = "retry",
        [V_CONFLICT] = "conflict",
        [V_NOT_FOUND] = "not found",
        [V_LIMIT] = "limit",
        [V_INVALID] = "invalid",
        [V_FATAL] = "fatal",
        [V_STOPPED] = "stopped",
    };
    return (size_t)v < ARRAY_LEN(names) ? names[v] : "?";
}
