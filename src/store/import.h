/* Items of a dump into the archive, many at a time and without segments, and how far the import of
 * a dump is: one row of `imports` per dump, moved in the transaction that stores its lines, so that
 * an import that was cut off goes on where it was. Runs on the thread that owns the store. */
#ifndef TAIN_STORE_IMPORT_H
#define TAIN_STORE_IMPORT_H

#include "store/batch.h"

/* A place in a dump, and what was met up to it. */
struct import_state {
    int64_t bytes; /* of the text, after decompression */
    int64_t mark;  /* of the text just before, to know the dump again */
    int64_t lines, items, missing, skipped, broken;
    bool finished;
};

/* V_NOT_FOUND: no import of such a dump was begun. */
MUST_CHECK enum verdict store_import_find(struct store *s, const char *fingerprint,
                                          struct import_state *ret, struct err *e);
/* Makes `holder` (see process_identity()) the one that imports this dump. CONFLICT: another process
 * does, which lives, or is on another host and was heard of a minute ago. */
MUST_CHECK enum verdict store_import_take(struct store *s, const char *fingerprint,
                                          const char *source, const char *holder, struct err *e);
/* Others may import it from now on. */
MUST_CHECK enum verdict store_import_give_back(struct store *s, const char *fingerprint,
                                               const char *holder, struct err *e);

/* At the beginning of the dump, whatever was there before. */
MUST_CHECK enum verdict store_import_begin(struct store *s, const char *fingerprint,
                                           const char *source, struct err *e);

struct import_step {
    const char *fingerprint;
    int64_t from_bytes;     /* where the batch before this one ended */
    struct import_state to; /* after this one */
};

/* Writes the items of the batch (its segment counts for nothing) and moves the dump's row in one
 * transaction. The same step may be repeated. CONFLICT: the row is elsewhere, another process
 * imports the same dump; nothing was written. */
MUST_CHECK enum verdict store_import_batch(struct store *s, struct batch *b,
                                           const struct import_step *step, struct apply_stats *ret,
                                           struct err *e);

MUST_CHECK enum verdict store_import_finish(struct store *s, const char *fingerprint,
                                            struct err *e);
/* The next import of the dump begins anew. */
MUST_CHECK enum verdict store_import_forget(struct store *s, const char *fingerprint,
                                            struct err *e);

#endif
