#include "base/rng.h"
#include "db/db_int.h"
#include "db/secret.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 32
#define MAX_SAID_BYTES ((size_t)64 * 1024) /* of what libpq says of a connection */
#define MAX_SESSION_BYTES ((size_t)4096)   /* of the statements that begin a session */
#define NAME_MAX_BYTES 56                  /* of a prepared statement; PostgreSQL takes 63 */
#define POOLER_WORDS                                                                       \
    "a pooler gave this session to others between two transactions; tain needs pool_mode " \
    "= session, or the server itself in --db"
#define MAX_ARRAY_BYTES ((size_t)256 * 1024 * 1024)

enum { OID_INT8 = 20, OID_TEXT = 25, OID_TEXT_ARRAY = 1009, OID_INT8_ARRAY = 1016 };

struct pg_db {
    struct db head;
    PGconn *conn;
    char *uri, *schema;
    unsigned *prepared, n_prepared; /* the number that each statement's name ends with; 0: none */
    unsigned long long tag;         /* of this connection alone, in the names of statements */
    bool suspect;    /* there is a pooler, and nobody knows whether it shares sessions */
    bool listening;  /* on this connection */
    bool wrong_host; /* it refused a write: another one may be the primary */
    struct strbuf arrays[MAX_PARAMS]; /* reused from call to call */
};

static struct pg_db *self_of(struct db *db) {
    return (struct pg_db *)db;
}

/* Where the server says too little: a file only, or that there was "a deadlock". */
static const char *more_words(const struct pg_db *p, const char *state) {
    if (state && pg_is_other_session(state, p->suspect))
        return POOLER_WORDS ": ";
    if (state && strcmp(state, "53100") == 0)
        return "the disk of the database is full: ";
    if (state && strcmp(state, "40P01") == 0)
        return "two transactions waited for each other, and PostgreSQL ended this one: ";
    return "";
}

/* Clears the result; the verdict comes from its SQLSTATE, or from the broken connection. */
static enum verdict failed(struct pg_db *p, PGresult *r, struct err *e) {
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    enum verdict v = PQstatus(p->conn) == CONNECTION_BAD ? V_RETRY : pg_verdict(state);
    bool there = v == V_RETRY && state && PQstatus(p->conn) != CONNECTION_BAD;
    p->wrong_host |= pg_is_read_only(pg_code(state));
    bool rolled_back = there && strncmp(state, "40", 2) == 0;
    err_set(e, v, "postgres", rolled_back ? DB_ROLLED_BACK : pg_code(state), "%s%s%s%s",
            more_words(p, state), text ? text : PQerrorMessage(p->conn), state ? " SQLSTATE " : "",
            state ? state : "");
    PQclear(r);
    return v;
}

static bool succeeded(const PGresult *r) {
    ExecStatusType s = PQresultStatus(r);
    return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK || s == PGRES_EMPTY_QUERY;
}

static void pg_close(struct db *db) {
    struct pg_db *p = self_of(db);
    PQfinish(p->conn);
    for (size_t i = 0; i < MAX_PARAMS; i++)
        strbuf_release(&p->arrays[i]);
    free(p->prepared);
    free(p->uri);
    free(p->schema);
    free(p);
}

static enum verdict pg_script(struct db *db, const char *sql, struct err *e) {
    struct pg_db *p = self_of(db);
    PGresult *r = PQexec(p->conn, sql);
    if (!succeeded(r))
        return failed(p, r, e);
    PQclear(r);
    return V_OK;
}

static enum verdict pg_ask_int(struct db *db, const char *sql, int64_t *ret, struct err *e) {
    struct pg_db *p = self_of(db);
    PGresult *r = PQexec(p->conn, sql);
    if (!succeeded(r) || PQntuples(r) != 1)
        return failed(p, r, e);
    *ret = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return V_OK;
}

/* Never the same name twice on a connection: one that could not be taken back is in nobody's way.
 * Nor on two: in the session of another, where a pooler may take us, our names mean nothing rather
 * than another statement. */
static const char *name_of(const struct pg_db *p, int stmt, char out[NAME_MAX_BYTES]) {
    snprintf(out, NAME_MAX_BYTES, "s%d_%u_%llx", stmt, p->prepared[stmt], p->tag);
    return out;
}

static enum verdict prepare(struct pg_db *p, int stmt, const Oid *types, size_t n, struct err *e) {
    if (p->prepared[stmt])
        return V_OK;
    char name[NAME_MAX_BYTES];
    p->prepared[stmt] = ++p->n_prepared;
    PGresult *r =
        PQprepare(p->conn, name_of(p, stmt, name), db_text(&p->head, stmt), (int)n, types);
    if (succeeded(r)) {
        PQclear(r);
        return V_OK;
    }
    p->prepared[stmt] = 0;
    return failed(p, r, e);
}

/* Without the types that a call would name: the text says enough, and has no name to collide. */
static enum verdict pg_check(struct db *db, int stmt, struct err *e) {
    struct pg_db *p = self_of(db);
    PGresult *r = PQprepare(p->conn, "", db_text(db, stmt), 0, NULL);
    if (!succeeded(r))
        return failed(p, r, e);
    PQclear(r);
    return V_OK;
}

static void pg_forget(struct db *db, int stmt) {
    struct pg_db *p = self_of(db);
    char name[NAME_MAX_BYTES], sql[NAME_MAX_BYTES + 16];
    snprintf(sql, sizeof sql, "DEALLOCATE %s", name_of(p, stmt, name));
    if (p->prepared[stmt] && pg_script(db, sql, NULL) != V_OK) {
        /* a failed transaction takes no command; it goes with the connection */
    }
    p->prepared[stmt] = 0;
}

static enum verdict take_rows(struct pg_db *p, PGresult *r, db_row_fn *fn, void *ctx,
                              struct err *e) {
    if (!succeeded(r))
        return failed(p, r, e);
    const char *touched = PQcmdTuples(r);
    p->head.changes = *touched ? atoll(touched) : 0;
    struct db_row row = {.driver = p->head.driver, .answer = r};
    enum verdict v = V_OK;
    int n = fn ? PQntuples(r) : 0;
    for (row.index = 0; row.index < n && v == V_OK; row.index++)
        v = fn(ctx, &row);
    if (v != V_OK)
        err_set(e, v, "postgres", 0, "the answer has a row that makes no sense");
    PQclear(r);
    return v;
}

static enum verdict pg_run(struct db *db, int stmt, const struct db_val *vals, size_t n,
                           db_row_fn *fn, void *ctx, struct err *e) {
    struct pg_db *p = self_of(db);
    Oid types[MAX_PARAMS];
    const char *values[MAX_PARAMS];
    int lengths[MAX_PARAMS] = {0}, formats[MAX_PARAMS];
    char ints[MAX_PARAMS][24];
    for (size_t i = 0; i < n; i++) {
        bool is_int = vals[i].type == DB_INT;
        types[i] = is_int ? OID_INT8 : OID_TEXT;
        formats[i] = is_int ? 0 : 1; /* a text in binary form needs no terminator */
        if (is_int)
            snprintf(ints[i], sizeof ints[i], "%lld", (long long)vals[i].i);
        else
            lengths[i] = (int)vals[i].s.n;
        values[i] = is_int ? (vals[i].i == DB_NULL ? NULL : ints[i]) : vals[i].s.p;
    }
    enum verdict v = prepare(p, stmt, types, n, e);
    if (v != V_OK)
        return v;
    char name[NAME_MAX_BYTES];
    return take_rows(
        p, PQexecPrepared(p->conn, name_of(p, stmt, name), (int)n, values, lengths, formats, 0), fn,
        ctx, e);
}

static enum verdict encode_columns(struct pg_db *p, const struct db_col *cols, size_t n_cols,
                                   size_t n_rows, const char **values, int *lengths,
                                   struct err *e) {
    for (size_t c = 0; c < n_cols; c++) {
        struct strbuf *b = &p->arrays[c];
        strbuf_clear(b);
        pg_encode_array(&cols[c], n_rows, b);
        if (b->overflow)
            return err_set(e, V_LIMIT, "postgres", 0, "a batch over %zu bytes", MAX_ARRAY_BYTES);
        values[c] = b->p;
        lengths[c] = (int)b->n;
    }
    return V_OK;
}

static enum verdict pg_each(struct db *db, int stmt, const struct db_col *cols, size_t n_cols,
                            size_t n_rows, db_row_fn *fn, void *ctx, struct err *e) {
    struct pg_db *p = self_of(db);
    Oid types[MAX_PARAMS];
    const char *values[MAX_PARAMS];
    int lengths[MAX_PARAMS], formats[MAX_PARAMS];
    for (size_t c = 0; c < n_cols; c++) {
        types[c] = cols[c].type == DB_INT ? OID_INT8_ARRAY : OID_TEXT_ARRAY;
        formats[c] = 1;
    }
    enum verdict v = encode_columns(p, cols, n_cols, n_rows, values, lengths, e);
    if (v == V_OK)
        v = prepare(p, stmt, types, n_cols, e);
    if (v != V_OK)
        return v;
    char name[NAME_MAX_BYTES];
    return take_rows(
        p,
        PQexecPrepared(p->conn, name_of(p, stmt, name), (int)n_cols, values, lengths, formats, 0),
        fn, ctx, e);
}

static void ignore_notice(void *arg UNUSED, const PGresult *r UNUSED) {
}

/* The server notices a host that vanished as soon as we do: else its sessions, and the locks that
 * are theirs, would outlive it by hours. It takes the figures that hold for our end. */
static enum verdict add_server_timeouts(struct pg_db *p, struct strbuf *sql, struct err *e) {
    static const struct {
        const char *ours, *theirs;
    } names[] = {{"keepalives_idle", "tcp_keepalives_idle"},
                 {"keepalives_interval", "tcp_keepalives_interval"},
                 {"keepalives_count", "tcp_keepalives_count"},
                 {"tcp_user_timeout", "tcp_user_timeout"}};
    PQconninfoOption *all = PQconninfo(p->conn);
    if (!all) /* it says so nowhere else */
        return err_set(e, V_RETRY, "postgres", 0, "out of memory");
    for (const PQconninfoOption *o = all; o->keyword; o++)
        for (size_t i = 0; o->val && i < ARRAY_LEN(names); i++)
            if (strcmp(o->keyword, names[i].ours) == 0 && atoi(o->val) > 0)
                strbuf_addf(sql, "SET %s TO %d;", names[i].theirs, atoi(o->val));
    PQconninfoFree(all);
    return V_OK;
}

static enum verdict set_up_session(struct pg_db *p, struct err *e) {
    memset(p->prepared, 0, db_numbers(p->head.catalog) * sizeof *p->prepared);
    CLEANUP(strbuf_release) struct strbuf sql;
    strbuf_init(&sql, MAX_SESSION_BYTES);
    enum verdict v = add_server_timeouts(p, &sql, e);
    if (v != V_OK)
        return v;
    char *quoted = PQescapeIdentifier(p->conn, p->schema, strlen(p->schema));
    if (!quoted)
        return failed(p, NULL, e);
    /* A process that sleeps within a transaction must not keep its locks from its peers. Plans are
     * kept from when a table was small, and scanning it then was right: never do. */
    strbuf_addf(&sql,
                "SET search_path TO %s, pg_catalog; SET jit TO off; SET enable_seqscan TO off;"
                "SET idle_in_transaction_session_timeout TO '10s';"
                "SET lock_timeout TO '10s'; SET statement_timeout TO '120s';"
                /* what is acknowledged must be stored, whatever the server's default */
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'",
                quoted);
    PQfreemem(quoted);
    return pg_script(&p->head, sql.p, e);
}

/* libpq has no SQLSTATE for a refused login; what will not heal by itself it says in words. */
static enum verdict unconnected(const struct pg_db *p, struct err *e) {
    const char *text = PQerrorMessage(p->conn);
    bool hopeless = pg_is_hopeless(text);
    if (secret_is_careless(p->uri)) /* pieces of it may be anywhere in that text */
        return err_set(e, V_INVALID, "config", 0,
                       "the address cannot be used: write @ / ? and %% in a password as %%40 %%2F "
                       "%%3F and %%25");
    CLEANUP(strbuf_release) struct strbuf said;
    strbuf_init(&said, MAX_SAID_BYTES);
    strbuf_adds(&said, text);
    secret_hide_all(p->uri, &said);
    if (pg_is_misspelt(text))
        return err_set(e, V_INVALID, "config", 0, "%s", said.p);
    return err_set(e, hopeless ? V_FATAL : V_RETRY, "postgres", 0, "%s", said.p);
}

/* A pooler that shares out our session is refused before anything is set in it: whoever had it next
 * would find our settings. */
static enum verdict check_pooler(struct pg_db *p, const char *const *keys,
                                 const char *const *values, struct err *e) {
    int64_t pid = 0;
    p->suspect = false;
    enum verdict v = pg_ask_int(&p->head, "SELECT pg_backend_pid()", &pid, e);
    /* A pooler has numbers of its own to be cancelled by. */
    if (v != V_OK || pid == PQbackendPID(p->conn))
        return v;
    PGconn *other = PQconnectdbParams(keys, values, 1);
    enum pooler kind = pg_pooler_kind(p->conn, other);
    PQfinish(other);
    p->suspect = kind == POOLER_UNKNOWN;
    return kind == POOLER_SHARES ? err_set(e, V_INVALID, "config", 0, "%s", POOLER_WORDS) : V_OK;
}

static void hang_up(struct pg_db *p) {
    PQfinish(p->conn);
    p->conn = NULL;
}

static enum verdict connect_now(struct pg_db *p, struct err *e) {
    /* What stands in the address wins over these. A host that vanished is noticed in half a minute.
     */
    static const char *const keys[] = {
        "connect_timeout", "fallback_application_name", "tcp_user_timeout",
        "keepalives_idle", "keepalives_interval",       "keepalives_count",
        "dbname",          "client_encoding",           NULL};
    /* Behind the address, and so above it: all our texts are UTF-8, whatever the database's are. */
    const char *const values[] = {"10", "tain", "30000", "10", "5", "3", p->uri, "UTF8", NULL};
    hang_up(p);
    p->listening = p->wrong_host = false;
    p->conn = PQconnectdbParams(keys, values, 1);
    if (PQstatus(p->conn) != CONNECTION_OK)
        return unconnected(p, e);
    struct rng r = rng_fresh();
    p->tag = rng_next(&r);
    PQsetNoticeReceiver(p->conn, ignore_notice, NULL);
    enum verdict v = check_pooler(p, keys, values, e);
    if (v == V_OK)
        v = set_up_session(p, e);
    if (v != V_OK)
        hang_up(p); /* nobody is to take it for one that is set up */
    return v;
}

static enum verdict pg_recover(struct db *db, struct err *e) {
    struct pg_db *p = self_of(db);
    if (PQstatus(p->conn) == CONNECTION_OK && PQtransactionStatus(p->conn) == PQTRANS_IDLE &&
        !p->wrong_host)
        return V_OK;
    return connect_now(p, e);
}

static enum verdict pg_listen(struct db *db, const char *channel, struct err *e) {
    struct pg_db *p = self_of(db);
    char *quoted = PQescapeIdentifier(p->conn, channel, strlen(channel));
    if (!quoted)
        return failed(p, NULL, e);
    char sql[256];
    snprintf(sql, sizeof sql, "LISTEN %s", quoted);
    PQfreemem(quoted);
    enum verdict v = pg_script(db, sql, e);
    p->listening = v == V_OK;
    return v;
}

/* However often it rang, it is one message. */
static bool take_notices(struct pg_db *p) {
    bool any = false;
    for (PGnotify *n; (n = PQnotifies(p->conn)); any = true)
        PQfreemem(n);
    return any;
}

static enum verdict pg_wait_notice(struct db *db, int wake_fd, int timeout_ms, bool *ret_rung,
                                   struct err *e) {
    struct pg_db *p = self_of(db);
    if (!p->listening)
        return err_set(e, V_RETRY, "postgres", 0, "this connection does not listen");
    *ret_rung = take_notices(p); /* some come along with the answer to a statement */
    if (*ret_rung)
        return V_OK;
    struct pollfd fds[] = {{.fd = PQsocket(p->conn), .events = POLLIN},
                           {.fd = wake_fd, .events = POLLIN}};
    (void)poll(fds, 2, timeout_ms); /* a signal ends the sleep, and that is all it does */
    if (PQconsumeInput(p->conn) == 0)
        return failed(p, NULL, e);
    *ret_rung = take_notices(p);
    return V_OK;
}

static int64_t pg_row_int(const struct db_row *row, int col) {
    if (PQgetisnull(row->answer, row->index, col))
        return DB_NULL;
    const char *s = PQgetvalue(row->answer, row->index, col);
    return *s == 't' ? 1 : *s == 'f' ? 0 : strtoll(s, NULL, 10);
}

static struct str pg_row_text(const struct db_row *row, int col) {
    if (PQgetisnull(row->answer, row->index, col))
        return STR_NONE;
    return (struct str){PQgetvalue(row->answer, row->index, col),
                        (size_t)PQgetlength(row->answer, row->index, col)};
}

static const struct db_driver driver = {
    .close = pg_close,
    .script = pg_script,
    .ask_int = pg_ask_int,
    .run = pg_run,
    .each = pg_each,
    .check = pg_check,
    .forget = pg_forget,
    .recover = pg_recover,
    .listen = pg_listen,
    .wait_notice = pg_wait_notice,
    .row_int = pg_row_int,
    .row_text = pg_row_text,
    .begin = "BEGIN",
    .begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
};

enum verdict pg_open(const struct db_options *o, struct db **ret, struct err *e) {
    struct pg_db *p = xcalloc(1, sizeof *p);
    p->head = (struct db){.driver = &driver, .kind = DB_POSTGRES, .catalog = o->catalog};
    p->prepared = xcalloc(db_numbers(o->catalog), sizeof *p->prepared);
    p->uri = xstrdup(o->uri);
    p->schema = xstrdup(o->schema && *o->schema ? o->schema : "tain");
    for (size_t i = 0; i < MAX_PARAMS; i++)
        strbuf_init(&p->arrays[i], MAX_ARRAY_BYTES);
    enum verdict v = connect_now(p, e);
    if (v != V_OK) {
        pg_close(&p->head);
        return err_wrap(e, v, "cannot connect to PostgreSQL");
    }
    *ret = &p->head;
    return V_OK;
}
