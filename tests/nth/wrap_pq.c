/* libpq's calls. Nothing is made up: the connection is really cut, before or after the server has
 * done its part, and an SQLSTATE comes from the server. Only a lack of memory is told, not had. */
#include "nth.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

static _Thread_local const PGconn *without_memory; /* until its next call */

PGresult *__real_PQexec(PGconn *c, const char *sql);

static void cut(PGconn *c) {
    shutdown(PQsocket(c), SHUT_RDWR);
}

static PGresult *refuse(PGconn *c) {
    char sql[120];
    snprintf(sql, sizeof sql,
             "DO $x$ BEGIN RAISE EXCEPTION 'made to fail' USING ERRCODE = '%s'; END $x$",
             nth_kind() == PQ_FULL     ? "53100"
             : nth_kind() == PQ_SERIAL ? "40001"
                                       : "57014");
    return __real_PQexec(c, sql);
}

/* Instead of a call that asks the server something. `done`: what it answered; for PQ_LOST only. */
static PGresult *fail(PGconn *c, PGresult *done) {
    PQclear(done);
    switch (nth_kind()) {
    case PQ_NOMEM:
        without_memory = c;
        return NULL;
    case PQ_CUT:
    case PQ_LOST:
        cut(c);
        return __real_PQexec(c, "SELECT 1");
    default:
        return refuse(c);
    }
}

WRAP(PGconn *, PQconnectdbParams, const char *const *keys, const char *const *values, int expand) {
    static const char *const nowhere[] = {"host", NULL};
    static const char *const place[] = {"/nowhere", NULL};
    without_memory = NULL;
    if (!HIT(PQ_NOMEM | PQ_CUT, PQconnectdbParams))
        return __real_PQconnectdbParams(keys, values, expand);
    return nth_kind() == PQ_NOMEM ? NULL : __real_PQconnectdbParams(nowhere, place, 0);
}

WRAP(PGresult *, PQexec, PGconn *c, const char *sql) {
    without_memory = NULL;
    if (!HIT(PQ_ALL, PQexec))
        return __real_PQexec(c, sql);
    return fail(c, nth_kind() == PQ_LOST ? __real_PQexec(c, sql) : NULL);
}

WRAP(PGresult *, PQprepare, PGconn *c, const char *name, const char *sql, int n, const Oid *types) {
    without_memory = NULL;
    if (!HIT(PQ_ALL, PQprepare))
        return __real_PQprepare(c, name, sql, n, types);
    return fail(c, nth_kind() == PQ_LOST ? __real_PQprepare(c, name, sql, n, types) : NULL);
}

WRAP(PGresult *, PQexecPrepared, PGconn *c, const char *name, int n, const char *const *values,
     const int *lengths, const int *formats, int form) {
    without_memory = NULL;
    if (!HIT(PQ_ALL, PQexecPrepared))
        return __real_PQexecPrepared(c, name, n, values, lengths, formats, form);
    return fail(c, nth_kind() == PQ_LOST
                       ? __real_PQexecPrepared(c, name, n, values, lengths, formats, form)
                       : NULL);
}

WRAP(int, PQconsumeInput, PGconn *c) {
    without_memory = NULL;
    if (!HIT(PQ_NOMEM | PQ_CUT, PQconsumeInput))
        return __real_PQconsumeInput(c);
    if (nth_kind() == PQ_NOMEM) {
        without_memory = c;
        return 0;
    }
    cut(c);
    return __real_PQconsumeInput(c);
}

WRAP(char *, PQescapeIdentifier, PGconn *c, const char *text, size_t n) {
    without_memory = NULL;
    if (!HIT(PQ_NOMEM, PQescapeIdentifier))
        return __real_PQescapeIdentifier(c, text, n);
    without_memory = c;
    return NULL;
}

WRAP(PQconninfoOption *, PQconninfo, PGconn *c) {
    return HIT(PQ_NOMEM, PQconninfo) ? NULL : __real_PQconninfo(c);
}

WRAP(char *, PQerrorMessage, const PGconn *c) {
    static char words[] = "out of memory\n";
    return c && without_memory == c ? words : __real_PQerrorMessage(c);
}
