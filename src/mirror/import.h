/* Fills an archive from a dump: one item in Firebase form a line. A reading thread decodes, a
 * writing thread stores batches of thousands, the caller's thread looks on. A broken line is
 * counted and stops nothing. What was stored stays, and the same import goes on behind it. */
#ifndef TAIN_MIRROR_IMPORT_H
#define TAIN_MIRROR_IMPORT_H

#include "base/thread.h"
#include "mirror/digest.h"
#include "mirror/sample_compare.h"
#include "store/import.h"

/* The stamp of items whose age is not known: any fetch is newer. */
#define IMPORT_NO_DATE 1

/* How a run stands; of the whole dump, earlier runs included. */
struct import_view {
    const char *phase;
    int64_t bytes, total_bytes; /* of the file; total -1: a pipe */
    struct import_state state;  /* as far as it is stored */
    int64_t db_down_ms;
};

struct import_options {
    const struct clock *clock;
    struct store *store;      /* the writing thread's while the run lasts */
    const char *path;         /* NULL or "-": standard input */
    int64_t as_of_ms;         /* the stamp of the items */
    int64_t start_id, end_id; /* 0: not given */
    bool restart;             /* from the first line, whatever was done before */
    bool check_sum;           /* against FILE.sha256, if that is there */
    size_t batch_items;       /* 0: the default */
    int64_t max_outage_ms;
    int64_t feed_keep_ms, feed_keep_rows; /* of the change log; rows 0: nothing is dropped */
    int64_t sample;                       /* ids to compare with the upstream afterwards */
    const char *upstream, *user_agent, *ca_file;
    int64_t timeout_ms;
    const struct stop_token *stop;
    /* About ten times a second, from the caller's thread. */
    void (*tick)(void *arg, const struct import_view *view);
    void *tick_arg;
};

enum import_end {
    IMPORT_COMPLETE,
    IMPORT_BROKEN_LINES, /* complete, but for lines that could not be read */
    IMPORT_STOPPED,
    IMPORT_FAILED, /* see err; what was stored stays */
};

#define IMPORT_BROKEN_KEPT 20
struct broken_line {
    int64_t number; /* from 1 */
    const char *cls;
    char text[80]; /* its beginning */
};

enum import_checksum { CHECKSUM_NONE, CHECKSUM_GOOD, CHECKSUM_BAD };

struct import_result {
    enum import_end end;
    struct import_state from, state; /* where this run began, and what the dump has come to */
    struct apply_stats stats;        /* of this run */
    struct broken_line broken[IMPORT_BROKEN_KEPT];
    size_t n_broken; /* kept, of this run */
    int64_t adopted; /* found the story of their thread at the end */
    enum import_checksum checksum;
    char sha256[SHA256_HEX]; /* "" when it was not computed */
    struct sample_report sample;
    int64_t duration_ms;
};

/* V_OK: the run took place and ret says how it ended (for IMPORT_FAILED the reason is in e).
 * Anything else: it could not begin; V_INVALID when that is the caller's fault. */
MUST_CHECK enum verdict import_run(const struct import_options *o, struct import_result *ret,
                                   struct err *e);

#endif
