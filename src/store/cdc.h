/* Which tables are logged: ours, and any table of the user's own. On PostgreSQL statement triggers
 * with transition tables, on SQLite triggers per row. A trigger never fails the statement that
 * fired it: what it cannot log it notes by key, and store_feed_heal() logs it later. */
#ifndef TAIN_STORE_CDC_H
#define TAIN_STORE_CDC_H

#include "base/arena.h"
#include "store/store.h"

#define CDC_COLUMNS_MAX 1600

struct cdc_table {
    int number;
    struct str schema, name; /* "main" on SQLite */
    bool built_in, is_public;
    bool present;       /* its triggers are there and on; false: the table or a trigger is gone */
    struct str key;     /* names of the key's columns, comma-separated; empty: none */
    struct str columns; /* those that are logged, comma-separated; absent: all */
    struct str trouble; /* what is wrong with it, and what to do; absent: nothing */
    struct str mend;    /* the command that does it; absent: none does */
    int64_t failures;   /* changes that wait to be healed */
};

/* A table that is logged, or was: what events may be of. */
struct cdc_known {
    struct str schema, name;
    bool built_in, is_public, removed;
};

struct cdc_install {
    struct str table;          /* SCHEMA.TABLE, or TABLE; quoted parts are taken as they are */
    const struct str *columns; /* n_columns 0: all */
    size_t n_columns;
    bool is_public; /* needs columns */
};

/* Idempotent: again with other columns replaces the triggers. V_INVALID names what cannot be: no
 * such table or column, a view, a public table without columns, one of ours. */
MUST_CHECK enum verdict store_cdc_install(struct store *s, const struct cdc_install *ask,
                                          struct arena *a, struct cdc_table *ret, struct err *e);
/* V_NOT_FOUND: it is not installed. Works when the table itself is gone. What was logged stays. */
MUST_CHECK enum verdict store_cdc_remove(struct store *s, struct str table, struct err *e);
MUST_CHECK enum verdict store_cdc_list(struct store *s, struct arena *a,
                                       const struct cdc_table **ret, size_t *ret_n, struct err *e);
/* Looks for changes that no trigger saw (switched off, gone, partitions that came, went or were
 * truncated), and notes the table: store_feed_heal() tells readers to read it again. PostgreSQL
 * only; nothing elsewhere. Cheap: every few seconds. */
MUST_CHECK enum verdict store_cdc_watch(struct store *s, struct err *e);
/* Names only, whatever their state. */
MUST_CHECK enum verdict store_cdc_known(struct store *s, struct arena *a,
                                        const struct cdc_known **ret, size_t *ret_n, struct err *e);

#endif
