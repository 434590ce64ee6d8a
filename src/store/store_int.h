/* What the files of this room share. Private to it. */
#ifndef TAIN_STORE_STORE_INT_H
#define TAIN_STORE_STORE_INT_H

#include "base/arena.h"
#include "hn/item.h"
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

/* Reads the first 14 columns of a row into *ret, in the order of export_items; no kids, and nothing
 * derived. Texts are copied into the arena. */
void store_item_of_row(struct arena *a, const struct db_row *row, struct item *ret);
/* Is a `parts` column what we write there? NULL is. */
bool store_parts_are_list(struct str text);

#endif
