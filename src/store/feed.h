/* The change log: every change of a row, written by triggers in the transaction that made it, and
 * the positions that put all changes into one order for every reader. A sequence is not the order
 * of commits; so a publisher numbers what is committed, under a lock, and readers only ask for what
 * is behind a position. On SQLite writers take turns, and a change is numbered as it is written.
 * Each verb is short, a transaction of its own, and bears being repeated after V_RETRY. */
#ifndef TAIN_STORE_FEED_H
#define TAIN_STORE_FEED_H

#include "base/arena.h"
#include "store/store.h"

/* Rows whose JSON is longer are logged without it, by key alone. */
#define FEED_DATA_MAX ((size_t)16 * 1024 * 1024)

enum feed_action {
    FEED_INSERT,
    FEED_UPDATE,
    FEED_DELETE,
    FEED_TRUNCATE, /* of a table: neither key nor data */
    FEED_RESYNC,   /* changes of this table could not be logged: read it again */
    FEED_ACTIONS
};
const char *feed_action_name(enum feed_action a); /* "insert" ... */

/* Where a reader stands: behind the change with this id. Positions rise by one within the life of a
 * database. The epoch names that life: it changes when the database may have forgotten positions it
 * gave out (a promoted standby, a restored backup). Written "EPOCH-POS". */
struct feed_id {
    int64_t epoch; /* unix seconds when it began; rises */
    int64_t pos;
};
#define FEED_ID_MAX 48
void feed_id_format(struct feed_id id, char out[FEED_ID_MAX]);
/* False: it is none. */
bool feed_id_parse(struct str text, struct feed_id *ret);

struct feed_change {
    int64_t epoch; /* the one in which its position was given out */
    int64_t pos;
    int64_t at;              /* unix milliseconds, of the database */
    int table;               /* the number of its table, see store/cdc.h; 1: items, 2: users */
    struct str schema, name; /* of the table */
    enum feed_action action;
    struct str key; /* JSON object of the key's columns; absent: the table has no key */
    struct str
        data; /* JSON object, the row as it was then (of a delete: before it); may be absent */
    bool is_public; /* may be told to those without the key */
    int64_t topics; /* the version of the topics when it was read: every topic that stood before the
                       change was made is in it; see store/feed_topics.h */
};

struct feed_state {
    int64_t epoch;
    int64_t head;       /* the last position given out, 0: none yet */
    int64_t oldest;     /* the first one that is still kept; head + 1: none is */
    int64_t history_to; /* ids of items up to here are history: catch-up logs none of them */
    int64_t retired;    /* tables that are logged no more, and whose changes are no longer public */
};
MUST_CHECK enum verdict store_feed_state(struct store *s, struct feed_state *ret, struct err *e);

/* Gives positions to what is committed and has none, those of at most `max` rows of the log, in
 * one transaction; *ret_n of them, and if those are fewer than `max` there are no more. First it
 * looks whether the database began a new life, and if so begins an epoch. Rings when there were
 * some. Nothing is numbered on SQLite, where it was done. V_CONFLICT: this database is a standby.
 */
MUST_CHECK enum verdict store_feed_publish(struct store *s, size_t max, size_t *ret_n,
                                           struct err *e);
/* The oldest change without a position, as its age in milliseconds; -1: there is none. */
MUST_CHECK enum verdict store_feed_waiting(struct store *s, int64_t *ret_age_ms, struct err *e);

/* May a reader go on behind `since`? *ret_pos is where it goes on. When it missed changes *ret_gap
 * is true: they were pruned (*ret_pos is before the oldest that is kept), or they belong to a life
 * of the database that is lost (*ret_pos is the end of what both have). A position beyond the head
 * is a gap too. */
MUST_CHECK enum verdict store_feed_resolve(struct store *s, struct feed_id since, int64_t *ret_pos,
                                           bool *ret_gap, struct err *e);

/* The changes behind `pos`, in order, without a hole in between: at most `max` of them, and no
 * further than some `max_bytes` of data (one at least). What was pruned is simply not there: who
 * reads compares with `pos + 1`, and may find none at all though there are some further on. Texts
 * live in the arena. */
MUST_CHECK enum verdict store_feed_read(struct store *s, struct arena *a, int64_t pos, size_t max,
                                        size_t max_bytes, const struct feed_change **ret,
                                        size_t *ret_n, struct err *e);

/* Drops what is older than max_age_ms, and the oldest of what is more than max_rows; what has no
 * position yet is never dropped. A short step each time: *ret_n rows, 0 when nothing is left to do.
 */
MUST_CHECK enum verdict store_feed_prune(struct store *s, int64_t max_age_ms, int64_t max_rows,
                                         int64_t *ret_n, struct err *e);

/* Changes that a trigger could not log, as it noted by key: reads those rows again and logs them as
 * they are now. A few each time; *ret_n of them. */
MUST_CHECK enum verdict store_feed_heal(struct store *s, int64_t *ret_n, struct err *e);

/* A new life by hand, after a restore. Cursors beyond the present head will get a gap. */
MUST_CHECK enum verdict store_feed_new_epoch(struct store *s, int64_t *ret_epoch, struct err *e);

/* The doorbell, PostgreSQL only; V_INVALID elsewhere, V_CONFLICT on a standby. The store is used
 * for nothing else from here on: store_feed_wait() sleeps on its connection until someone rings
 * (*ret_rung), the descriptor wake_fd (-1: none) is readable (it is not read), or the time is over;
 * now and then for less. After store_recover() it has to listen anew: V_RETRY until then. */
MUST_CHECK enum verdict store_feed_listen(struct store *s, struct err *e);
MUST_CHECK enum verdict store_feed_wait(struct store *s, int wake_fd, int timeout_ms,
                                        bool *ret_rung, struct err *e);
/* Rings at every listener, on any store of the same database. */
MUST_CHECK enum verdict store_feed_ring(struct store *s, struct err *e);

/* The role of the publisher, so that not every process asks every 25 ms: held by this connection
 * until it is closed or gone. *ret: it is ours (or was already). The role is a saving, not a
 * safeguard: who publishes without it does no harm. Always ours on SQLite. */
MUST_CHECK enum verdict store_feed_role(struct store *s, bool *ret, struct err *e);

#endif
