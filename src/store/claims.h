/* Claims on rows of a table source: whose turn it is to enrich a row, and the proof of it. The
 * row's own status decides who wins; the token in `claims` rides on the same statement, and every
 * later write of the holder updates the token's row first, so that a zombie changes nothing.
 * Statements are made once per source and connection from its description, prepared, and work on
 * many rows at a time. The schema of the table is not changed. A `struct source` belongs to its
 * store and its thread. */
#ifndef TAIN_STORE_CLAIMS_H
#define TAIN_STORE_CLAIMS_H

#include "base/arena.h"
#include "policy/share.h"
#include "store/store.h"

#define SOURCE_COLUMNS_MAX 60 /* SQLite makes no larger object */
#define CLAIM_BATCH_MAX 512
#define SWEEP_GRACE_MS 60000 /* beyond the end of a lease; a lease is longer than any call */
#define SWEEP_REFUSED_MS 3600000

enum source_state { ROW_PENDING, ROW_BUSY, ROW_MATCH, ROW_NO_MATCH, ROW_FAILED, ROW_STATES };

struct source_spec {
    struct str name;  /* of the source: the first half of a claim's key */
    struct str table; /* SCHEMA.TABLE or TABLE, quoted parts as they are */
    struct str key;   /* one column, unique */
    struct str status;
    struct str since;              /* a timestamp or BIGINT milliseconds; absent: none */
    struct str filter;             /* SQL over the row; absent: all rows */
    struct str states[ROW_STATES]; /* as they are written in the status column */
    const struct str *inputs;      /* columns that requests need */
    size_t n_inputs;
    const struct str *outputs; /* columns that a finalize may set */
    size_t n_outputs;
};

struct source;
/* Looks the table up and makes the statements. V_INVALID names what does not fit: no such table or
 * column, a key that is not unique, a filter or a state that the database does not take; *ret_field
 * is then the member of the spec that is at fault ("table", "key", "filter", "inputs", ...) and
 * *ret_index which one of it. */
MUST_CHECK enum verdict store_source_open(struct store *s, const struct source_spec *spec,
                                          struct source **ret, const char **ret_field,
                                          size_t *ret_index, struct err *e);
void store_source_close(struct source *src); /* before its store; NULL is fine */

/* Says, for as long as the connection lasts, that the source is worked on. V_CONFLICT: somebody
 * works on another table under its name, and the two would take each other's claims; the message
 * names both. PostgreSQL only: on SQLite nobody can see it. */
MUST_CHECK enum verdict store_source_take_name(struct store *s, struct source *src, struct err *e);

/* How many workers have taken the source's name, with its table, and which of them this one is;
 * where nobody can see it (SQLite), or none is there, one. What share of the backlog is
 * whose moves on each minute. A hint: it may be out of date when it arrives. */
MUST_CHECK enum verdict store_source_share(struct store *s, struct source *src, struct share *ret,
                                           struct err *e);

/* The type of an output column as the database names it, and its limit in characters (0: none). */
struct source_column {
    enum { COLUMN_TEXT, COLUMN_INT, COLUMN_REAL, COLUMN_BOOL, COLUMN_JSON, COLUMN_OTHER } type;
    int64_t max_chars, min, max; /* of texts; of integers */
    struct str type_name;
};
const struct source_column *source_output(const struct source *src, size_t i);

/* Its table as the database names it: what events of the change feed say. */
struct str source_schema(const struct source *src);
struct str source_table(const struct source *src);
struct str source_status(const struct source *src); /* its columns, as the table calls them */
struct str source_key(const struct source *src);

enum claim_result {
    CLAIM_WON,
    CLAIM_LOST,    /* a sibling has it, or was quicker; also when this batch names it twice */
    CLAIM_IGNORED, /* final, not in the filter, gone, or its time has not come */
};
struct row_claim {
    struct str key; /* won: as the database writes it, which later verbs want */
    enum claim_result result;
    int64_t token;  /* won: its proof */
    int attempts;   /* won: with this one; from 1 again when the row had been final */
    struct str row; /* won: JSON object of the inputs */
};
/* Claims of n keys what can be claimed, for lease_ms. ret[n] in the order of the keys; texts in the
 * arena. A key that the column's type cannot hold is ignored. V_CONFLICT: the table itself refuses
 * that a row be claimed. */
MUST_CHECK enum verdict store_claim_rows(struct store *s, struct source *src,
                                         const struct str *keys, size_t n, struct str holder,
                                         int64_t lease_ms, struct arena *a, struct row_claim *ret,
                                         struct err *e);

struct verdict_on_row {
    struct str key;
    int64_t token;
    enum source_state state;       /* ROW_MATCH, ROW_NO_MATCH or ROW_FAILED */
    struct str values;             /* JSON object: output column -> value; what is not in it stays
                                      as it is; absent: all stays */
    struct str error_class, error; /* absent: none. At most 500 characters are kept */
};
/* Writes results; one statement for all of them. ret_done[i]: it was still ours. V_CONFLICT: the
 * table refused a row (a constraint of its own, a value that does not fit): nothing was written;
 * repeat one by one to find it. The message names the row when it is the only one. */
MUST_CHECK enum verdict store_finalize(struct store *s, struct source *src,
                                       const struct verdict_on_row *rows, size_t n, bool *ret_done,
                                       struct err *e);

struct release {
    struct str key;
    int64_t token;
    bool spent;      /* false: this attempt does not count */
    int64_t wait_ms; /* not before then */
    struct str error_class, error;
};
/* Back to pending, to be claimed again when the wait is over. */
MUST_CHECK enum verdict store_release(struct store *s, struct source *src,
                                      const struct release *rows, size_t n, bool *ret_done,
                                      struct err *e);

struct sweep_ask {
    size_t max;        /* rows at most; at least 1 */
    int max_attempts;  /* a worker's death at this attempt is the last; 0: none is */
    int64_t spare_ago; /* a claim made so many milliseconds ago, or before, costs no attempt: the
                          database itself was away; negative: each costs one */
};
enum swept {
    SWEPT_PENDING, /* pending again; from the second death on not before wait_ms */
    SWEPT_FAILED,  /* final: class "worker_died" */
    SWEPT_REFUSED, /* the table, or the filter, did not let it; it is left alone for
                      SWEEP_REFUSED_MS */
};
struct swept_row {
    struct str key;
    enum swept how;
    int64_t wait_ms;
    struct str why; /* refused: what the database said */
};
/* Frees claims whose lease ended SWEEP_GRACE_MS ago or whose holder is a process of this host that
 * is gone, and rows within the filter that are busy without a claim for as long (without `since`,
 * or where it is NULL: at once). ret has room for ask->max. Rows beyond the filter may be another
 * source's. A row that cannot be freed hinders no other. */
MUST_CHECK enum verdict store_sweep(struct store *s, struct source *src,
                                    const struct sweep_ask *ask, struct arena *a,
                                    struct swept_row *ret, size_t *ret_n, struct err *e);

struct row_page {
    struct str *keys;
    size_t n;
    struct row_refusal {
        struct str key, why;
    } * refused; /* for which the filter cannot be evaluated */
    size_t n_refused;
    struct str last; /* go on behind it; absent: this was the last page */
};
/* Rows that are pending and due, in the order of the key, behind `after` (absent: from the first):
 * what nobody may have been told of. At most max are looked at; all of it is in the arena. */
MUST_CHECK enum verdict store_pending(struct store *s, struct source *src, struct str after,
                                      size_t max, struct arena *a, struct row_page *ret,
                                      struct err *e);
struct row_peek {
    struct str key, row; /* a JSON object of the inputs, as a claim has it */
};
/* The first of those rows with their inputs, which a claim would give; nothing is claimed. */
MUST_CHECK enum verdict store_peek_rows(struct store *s, struct source *src, size_t max,
                                        struct arena *a, struct row_peek *ret, size_t *ret_n,
                                        struct err *e);
struct rechecked {
    int64_t n; /* rows that are pending now */
    struct row_refusal *refused;
    size_t n_refused;
};
/* Rows without a match whose check is older than age_ms become pending: at most max. One that may
 * not, or for which the filter cannot be evaluated, hinders no other, and has to wait until it is
 * as old again. What is said of it is in the arena. */
MUST_CHECK enum verdict store_recheck(struct store *s, struct source *src, int64_t age_ms,
                                      size_t max, struct arena *a, struct rechecked *ret,
                                      struct err *e);

struct source_counts {
    int64_t rows[ROW_STATES];  /* within the filter */
    int64_t waiting;           /* of the pending: those whose time has not come */
    int64_t oldest_pending_ms; /* how long it has been the turn of a row that was given back */
};
MUST_CHECK enum verdict store_source_count(struct store *s, struct source *src,
                                           struct source_counts *ret, struct err *e);
/* The same, for whoever has other things to do: V_LIMIT where each of its two questions would take
 * PostgreSQL longer than max_ms. SQLite takes its time. */
MUST_CHECK enum verdict store_source_count_within(struct store *s, struct source *src,
                                                  int64_t max_ms, struct source_counts *ret,
                                                  struct err *e);
/* CREATE INDEX statements for the indexes that the sweep relies on and the table lacks; none: n is
 * 0. Nothing is created. */
MUST_CHECK enum verdict store_source_missing_indexes(struct store *s, struct source *src,
                                                     struct arena *a, struct str ret[2],
                                                     size_t *ret_n, struct err *e);

#endif
