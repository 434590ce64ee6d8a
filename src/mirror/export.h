/* Writes the items of an archive as a dump: one item in Firebase form a line, by id. A reading
 * thread fetches pages in short reads, a writing thread renders, compresses and writes; the
 * caller's thread looks on. Writers of the archive are not held up. */
#ifndef TAIN_MIRROR_EXPORT_H
#define TAIN_MIRROR_EXPORT_H

#include "base/thread.h"
#include "mirror/digest.h"
#include "store/store.h"

struct export_view {
    int64_t first, last, at; /* ids: of the range, and how far it is */
    int64_t items, bytes;
    int64_t db_down_ms;
};

struct export_options {
    const struct clock *clock;
    struct store *store;      /* the reading thread's while the run lasts */
    const char *path;         /* NULL or "-": standard output */
    int64_t start_id, end_id; /* 0: not given */
    bool compress;
    int level;
    bool resume;
    size_t page_items; /* 0: the default */
    int64_t max_outage_ms;
    const struct stop_token *stop;
    /* About ten times a second, from the caller's thread. */
    void (*tick)(void *arg, const struct export_view *view);
    void *tick_arg;
};

enum export_end {
    EXPORT_COMPLETE,
    EXPORT_STOPPED,
    EXPORT_FAILED, /* see err */
};

struct export_result {
    enum export_end end;
    int64_t first_id, last_id; /* written by this run; 0: none */
    int64_t resumed_after;     /* the id that was there already; 0: a new dump */
    int64_t items, bytes;      /* of this run; of the file */
    char sha256[SHA256_HEX];   /* "" unless complete */
    int64_t duration_ms;
};

/* V_OK: the run took place and ret says how it ended (for EXPORT_FAILED the reason is in e).
 * Anything else: it could not begin; V_INVALID when that is the caller's fault. */
MUST_CHECK enum verdict export_run(const struct export_options *o, struct export_result *ret,
                                   struct err *e);

#endif
