/* Numbered migrations, applied under a lock, each exactly once. All of them in one transaction:
 * a failing one leaves the database as it was. */
#ifndef TAIN_DB_MIGRATE_H
#define TAIN_DB_MIGRATE_H

#include "db/db.h"

struct migration {
    int version; /* 1, 2, 3 ... without holes */
    const char *name;
    const char *sql[2]; /* by enum db_kind */
};

struct migrate_report {
    int before, after; /* schema versions */
};

/* V_FATAL when the database is newer than this program. */
MUST_CHECK enum verdict db_migrate(struct db *db, const char *schema, const struct migration *all,
                                   size_t n, struct migrate_report *ret, struct err *e);

/* The version the database has, 0 when it has nothing of ours. */
MUST_CHECK enum verdict db_schema_version(struct db *db, int *ret, struct err *e);

#endif
