/* A thin layer over SQLite and PostgreSQL: numbered statements from a catalogue, run with scalar
 * parameters (db_run) or once per row of columns (db_each: one set-wise statement with arrays on
 * PostgreSQL, a tight loop on SQLite). A `struct db` is one connection and belongs to one thread.
 * Statements that depend on tables of the user's are made at run time, beside the catalogue.
 *
 * In parameters and columns INT64_MIN is NULL for integers and p == NULL is NULL for texts.
 * Verdicts: V_RETRY passing trouble (call db_recover, then repeat the transaction), V_CONFLICT a
 * constraint said no, V_FATAL anything that will not pass by itself. */
#ifndef TAIN_DB_DB_H
#define TAIN_DB_DB_H

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

enum db_kind { DB_SQLITE, DB_POSTGRES };

/* Made from the .sql files: statement i for each database. */
struct db_catalog {
    int n;
    const char *const *names;
    const char *const *sql[2]; /* by enum db_kind */
};

struct db_options {
    const char *uri;    /* sqlite:PATH, postgres://..., postgresql://... */
    const char *schema; /* PostgreSQL: where everything of ours lives */
    const struct db_catalog *catalog;
    const struct clock *clock; /* SQLite: what tain_now_ms() reads */
    bool must_exist;           /* SQLite: do not create the file */
};

struct db;
struct db_row;

#define DB_NULL INT64_MIN

/* err.code with V_RETRY: the database answers, and has ended this transaction in favour of another
 * one (a deadlock, a serialization failure). It may be repeated at once. */
#define DB_ROLLED_BACK 40

enum db_type { DB_INT, DB_TEXT };

struct db_val {
    enum db_type type;
    int64_t i;
    struct str s;
};
#define DBI(value) ((struct db_val){.type = DB_INT, .i = (value)})
#define DBT(value) ((struct db_val){.type = DB_TEXT, .s = (value)})
#define DBC(cstring) DBT(str_of(cstring))
#define DB_VALS(...) \
    (const struct db_val[]){__VA_ARGS__}, ARRAY_LEN(((struct db_val[]){__VA_ARGS__}))
#define DB_NO_VALS NULL, 0

struct db_col {
    enum db_type type;
    const int64_t *ints;
    const struct str *texts;
};
#define DB_INTS(array) ((struct db_col){.type = DB_INT, .ints = (array)})
#define DB_TEXTS(array) ((struct db_col){.type = DB_TEXT, .texts = (array)})

/* Called for each row of an answer; values are valid during the call. Anything but V_OK ends the
 * statement with that verdict. */
typedef enum verdict db_row_fn(void *ctx, const struct db_row *row);

MUST_CHECK enum verdict db_open(const struct db_options *o, struct db **ret, struct err *e);
void db_close(struct db *db); /* NULL is fine */
enum db_kind db_kind(const struct db *db);

MUST_CHECK enum verdict db_begin(struct db *db, struct err *e); /* SQLite: IMMEDIATE */
/* For reading only: every statement up to the commit sees the same instant, no writer waits. */
MUST_CHECK enum verdict db_begin_read(struct db *db, struct err *e);
MUST_CHECK enum verdict db_commit(struct db *db, struct err *e);
void db_rollback(struct db *db); /* harmless outside a transaction */

MUST_CHECK enum verdict db_run(struct db *db, int stmt, const struct db_val *vals, size_t n,
                               db_row_fn *fn, void *ctx, struct err *e);
/* The first column of the first row. V_NOT_FOUND without a row; NULL reads as DB_NULL. */
MUST_CHECK enum verdict db_run_int(struct db *db, int stmt, const struct db_val *vals, size_t n,
                                   int64_t *ret, struct err *e);
MUST_CHECK enum verdict db_each(struct db *db, int stmt, const struct db_col *cols, size_t n_cols,
                                size_t n_rows, db_row_fn *fn, void *ctx, struct err *e);
/* Whether the database understands the statement: its tables and columns are there. Nothing is run.
 */
MUST_CHECK enum verdict db_check(struct db *db, int stmt, struct err *e);
#define DB_MADE_MAX 1024 /* statements made at run time, at once */
/* A statement of this connection, beside those of the catalogue and used like them; both texts are
 * copied. Nothing is asked of the database yet: db_check() does. V_LIMIT: there are DB_MADE_MAX. */
MUST_CHECK enum verdict db_add(struct db *db, const char *name, const char *sql, int *ret_stmt,
                               struct err *e);
void db_drop(struct db *db, int stmt); /* one that db_add() made; its number may be given again */

/* Rows touched by the last db_run or db_each. */
int64_t db_changes(const struct db *db);
/* Did it fail because this database can only be read: a standby, or a file that is protected? */
bool db_is_read_only(const struct err *e);
/* PostgreSQL: did it fail because another transaction has stored that primary key of the table, or
 * of a partition of it, meanwhile? Unique indexes of others are another matter. */
bool db_is_duplicate(const struct err *e, const char *table);
/* PostgreSQL: did it fail because a CHECK of that name does not want a row? */
bool db_is_refused(const struct err *e, const char *check);

/* Several statements as text, without parameters: migrations and settings. */
MUST_CHECK enum verdict db_script(struct db *db, const char *sql, struct err *e);

/* The doorbell of PostgreSQL; V_INVALID elsewhere. A new connection (db_recover) has to listen
 * anew: until then to wait is V_RETRY. */
MUST_CHECK enum verdict db_listen(struct db *db, const char *channel, struct err *e);
/* Sleeps until someone rang (*ret_rung; also while another statement ran), until wake_fd can be
 * read (-1: there is none; it is not read), or the time is over; now and then for less. */
MUST_CHECK enum verdict db_wait_notice(struct db *db, int wake_fd, int timeout_ms, bool *ret_rung,
                                       struct err *e);

/* After V_RETRY: rolls back what is open and, when the connection is gone, makes a new one.
 * V_RETRY: still no connection. */
MUST_CHECK enum verdict db_recover(struct db *db, struct err *e);

int64_t db_row_int(const struct db_row *row, int col); /* DB_NULL when NULL */
struct str db_row_text(const struct db_row *row, int col);

#endif
