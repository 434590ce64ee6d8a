/* A pooler that gives the session of the server to others between two transactions takes from us
 * what we set, prepared and locked, and gives it to them. That is seen here before anything is
 * done: whose session it is does not change from one transaction to the next where it is ours, and
 * no other connection is ever given it. */
#include "db/db_int.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 4
#define PATIENCE_MS 2000 /* a pooler that is full lets the second connection wait */
#define WHO_MAX 80

/* A process of the server, and when it began: numbers come again, and on other hosts. */
static const char who_sql[] = "SELECT pg_backend_pid() || ' ' || extract(epoch FROM backend_start)"
                              " FROM pg_stat_get_activity(pg_backend_pid())";

/* Clears the result. */
static bool take_who(PGresult *r, char out[WHO_MAX]) {
    bool known = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;
    if (known)
        snprintf(out, WHO_MAX, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    return known;
}

/* Of a connection that need not answer. */
static bool ask_patiently(PGconn *c, char out[WHO_MAX]) {
    if (PQstatus(c) != CONNECTION_OK || PQsendQuery(c, who_sql) == 0)
        return false;
    struct pollfd fd = {.fd = PQsocket(c), .events = POLLIN};
    while (PQisBusy(c) != 0)
        if (poll(&fd, 1, PATIENCE_MS) != 1 || PQconsumeInput(c) == 0)
            return false;
    bool known = take_who(PQgetResult(c), out);
    PGresult *more = PQgetResult(c);
    PQclear(more);
    return known && !more;
}

enum pooler pg_pooler_kind(PGconn *c, PGconn *other) {
    char mine[WHO_MAX], now[WHO_MAX];
    if (!take_who(PQexec(c, who_sql), mine))
        return POOLER_UNKNOWN;
    for (int i = 0; i < ROUNDS; i++) {
        if (!take_who(PQexec(c, who_sql), now))
            return POOLER_UNKNOWN;
        if (strcmp(mine, now) != 0)
            return POOLER_SHARES;
        if (!ask_patiently(other, now))
            return POOLER_UNKNOWN;
        if (strcmp(mine, now) == 0)
            return POOLER_SHARES;
    }
    return POOLER_KEEPS;
}
