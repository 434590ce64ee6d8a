/* What a driver provides to db.c. Private to the room. */
#ifndef TAIN_DB_DB_INT_H
#define TAIN_DB_DB_INT_H

#include "db/db.h"

#include <libpq-fe.h>

struct db_driver {
    void (*close)(struct db *db);
    enum verdict (*script)(struct db *db, const char *sql, struct err *e);
    /* One number by a statement given as text. */
    enum verdict (*ask_int)(struct db *db, const char *sql, int64_t *ret, struct err *e);
    enum verdict (*run)(struct db *db, int stmt, const struct db_val *vals, size_t n, db_row_fn *fn,
                        void *ctx, struct err *e);
    enum verdict (*each)(struct db *db, int stmt, const struct db_col *cols, size_t n_cols,
                         size_t n_rows, db_row_fn *fn, void *ctx, struct err *e);
    enum verdict (*check)(struct db *db, int stmt, struct err *e);
    void (*forget)(struct db *db, int stmt); /* what was prepared of it; harmless if nothing was */
    enum verdict (*recover)(struct db *db, struct err *e);
    /* NULL: there is no doorbell */
    enum verdict (*listen)(struct db *db, const char *channel, struct err *e);
    enum verdict (*wait_notice)(struct db *db, int wake_fd, int timeout_ms, bool *ret_rung,
                                struct err *e);
    int64_t (*row_int)(const struct db_row *row, int col);
    struct str (*row_text)(const struct db_row *row, int col);
    const char *begin, *begin_read;
};

struct db_made {
    char *name, *sql; /* NULL: this number is free */
};

/* The head of both drivers' connections. */
struct db {
    const struct db_driver *driver;
    enum db_kind kind;
    const struct db_catalog *catalog;
    struct db_made *made; /* DB_MADE_MAX of them, numbered behind the catalogue; NULL: none yet */
    int64_t changes;
    bool in_transaction;
};

struct db_row {
    const struct db_driver *driver;
    void *answer; /* sqlite3_stmt or PGresult */
    int index;
    bool *torn; /* SQLite: set when a value could not be had */
};

/* Of the catalogue or made at run time. */
const char *db_text(const struct db *db, int stmt);
/* How many numbers a statement may have: what a driver keeps for each has so many places. */
static inline size_t db_numbers(const struct db_catalog *c) {
    return (size_t)c->n + DB_MADE_MAX;
}

enum verdict sqlite_open(const struct db_options *o, const char *path, struct db **ret,
                         struct err *e);
enum verdict pg_open(const struct db_options *o, struct db **ret, struct err *e);

/* The two tables that turn foreign codes into verdicts. */
enum verdict sqlite_verdict(int code);
bool sqlite_is_read_only(int code);
/* The code of an err: the SQLSTATE where it is a number, else 0. */
int pg_code(const char *sqlstate);
bool pg_is_read_only(int code);
/* `said`: what the server did, which names the index: TABLE_pkey, or TABLE_..._pkey. */
bool pg_is_duplicate(int code, const char *said, const char *table);
/* Likewise, by a CHECK of that name. */
bool pg_is_refused(int code, const char *said, const char *check);
/* What libpq says when it could not connect: will none of the hosts ever take us? */
bool pg_is_hopeless(const char *text);
bool pg_is_misspelt(const char *text);
enum verdict pg_verdict(const char *sqlstate); /* NULL or "": no answer from the server */

/* What stands between us and the server: `other` is a second connection by the same address, which
 * is asked a few times and need not answer in time (then: unknown). Outside of transactions. */
enum pooler {
    POOLER_KEEPS,  /* a session is one client's until it leaves */
    POOLER_SHARES, /* proved: it is another's between two transactions */
    POOLER_UNKNOWN
};
enum pooler pg_pooler_kind(PGconn *c, PGconn *other);
/* With this SQLSTATE a session says that it is not the one which we set up; `suspect`: there is a
 * pooler of an unknown kind, so that what is not there may only be out of sight. */
bool pg_is_other_session(const char *sqlstate, bool suspect);

/* PostgreSQL's binary form of a one-dimensional array of the column's values. */
void pg_encode_array(const struct db_col *col, size_t n, struct strbuf *out);

#endif
