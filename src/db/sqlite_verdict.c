#include "db/db_int.h"

#include <sqlite3.h>

static const struct {
    int primary;
    enum verdict v;
} table[] = {
    {SQLITE_OK, V_OK},
    {SQLITE_BUSY, V_RETRY},
    {SQLITE_LOCKED, V_RETRY},
    {SQLITE_PROTOCOL, V_RETRY},
    {SQLITE_SCHEMA, V_RETRY},
    {SQLITE_INTERRUPT, V_STOPPED},
    {SQLITE_CONSTRAINT, V_CONFLICT},
    {SQLITE_TOOBIG, V_LIMIT},
    {SQLITE_FULL, V_FATAL}, /* the disk: a person has to make room */
};

enum verdict sqlite_verdict(int code) {
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].primary == (code & 0xff))
            return table[i].v;
    return V_FATAL;
}

bool sqlite_is_read_only(int code) {
    return (code & 0xff) == SQLITE_READONLY && code != SQLITE_READONLY_DBMOVED;
}
