/* What the files of this room share. Private to it. */
#ifndef TAIN_STORE_STORE_INT_H
#define TAIN_STORE_STORE_INT_H

#include "base/arena.h"
#include "store/statements.h"
#include "store/store.h"

struct store {
    struct db *db;
    char *schema;
    enum revisions revisions;
    int64_t lease_ms;
    struct arena scratch; /* emptied by each store_apply */
};

/* Ends the caller's transaction: commits when v is V_OK, rolls back otherwise. Answers what became
 * of it. */
MUST_CHECK enum verdict store_end(struct store *s, enum verdict v, struct err *e);

#endif
