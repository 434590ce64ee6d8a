/* The archive: domain verbs over one database connection, written once for SQLite and PostgreSQL.
 * A `struct store` belongs to one thread. Verbs that write do so in one transaction of their own,
 * unless their comment says that the caller holds it. */
#ifndef TAIN_STORE_STORE_H
#define TAIN_STORE_STORE_H

#include "base/clock.h"
#include "base/err.h"
#include "db/migrate.h"

struct store;

#define LEASE_MS 30000
#define SEARCH_MS 1500

enum revisions { REVISIONS_ALL, REVISIONS_CONTENT, REVISIONS_NONE };

enum schema_rule {
    SCHEMA_MIGRATE, /* bring it up to date */
    SCHEMA_REQUIRE, /* V_FATAL when it is old, V_NOT_FOUND when there is none */
    SCHEMA_IGNORE,  /* the caller will migrate */
};

struct store_options {
    const char *uri, *schema;
    const struct clock *clock;
    enum revisions revisions;
    int64_t lease_ms;  /* how long a claim holds without a heartbeat; 0: LEASE_MS */
    int64_t search_ms; /* a search that is not done by then answers what it has; 0: SEARCH_MS */
    enum schema_rule schema_rule;
    bool log_history; /* history goes into the change log too, see store/feed.h */
    bool must_exist;  /* V_NOT_FOUND when there is no archive yet */
};

MUST_CHECK enum verdict store_open(const struct store_options *o, struct store **ret,
                                   struct err *e);
void store_close(struct store *s); /* NULL is fine */
MUST_CHECK enum verdict store_migrate(struct store *s, struct migrate_report *ret, struct err *e);
/* After V_RETRY from any verb: rolls back, reconnects. */
MUST_CHECK enum verdict store_recover(struct store *s, struct err *e);
/* Did a verb fail because this archive can only be read: a standby, or a protected file? */
bool store_is_read_only(const struct err *e);
/* With V_RETRY: the database is there, and has only ended a transaction in favour of another one (a
 * deadlock): the verb may be repeated at once. */
bool store_rolled_back(const struct err *e);
bool store_is_shared(const struct store *s); /* PostgreSQL: other hosts may write too */

/* Several reads in a row at the price of one's locks, on SQLite: between the two all see one
 * instant, and only verbs of a single statement may be called. Nothing happens on PostgreSQL. */
MUST_CHECK enum verdict store_read_begin(struct store *s, struct err *e);
void store_read_end(struct store *s); /* harmless without a beginning */

/* The database's time in unix milliseconds. */
MUST_CHECK enum verdict store_now(struct store *s, int64_t *ret, struct err *e);

/* What the archive says of itself. 0 where it says nothing yet. */
struct archive_state {
    int64_t floor_id;
    int64_t frontier_id, frontier_excluding_waiting;
    int64_t maxitem, maxitem_at;
    bool present; /* false: its row is gone, and with it all that it said */
};
MUST_CHECK enum verdict store_state(struct store *s, struct archive_state *ret, struct err *e);
MUST_CHECK enum verdict store_note_maxitem(struct store *s, int64_t maxitem, struct err *e);
/* Sets the floor, or lowers it; never raises it. */
MUST_CHECK enum verdict store_lower_floor(struct store *s, int64_t floor_id, struct err *e);
MUST_CHECK enum verdict store_set_frontier(struct store *s, int64_t frontier,
                                           int64_t excluding_waiting, struct err *e);

/* Reserves n turns of a rate that every process on this database shares. Answers when the first is
 * due, in milliseconds from the database's now (0 or negative: at once). */
MUST_CHECK enum verdict store_reserve_turns(struct store *s, const char *provider,
                                            double per_second, int n, int64_t *ret_wait_us,
                                            struct err *e);

/* The id of some stored item, 0 when there is none. */
MUST_CHECK enum verdict store_any_item(struct store *s, int64_t *ret, struct err *e);

/* Gives a story to every orphan whose parent has one by now. Answers how many found theirs. */
MUST_CHECK enum verdict store_adopt_orphans(struct store *s, int64_t *ret, struct err *e);
/* The same for parents with ids from lo to hi, so that a long work can be done in short steps. */
MUST_CHECK enum verdict store_adopt_range(struct store *s, int64_t lo, int64_t hi, int64_t *ret,
                                          struct err *e);

#endif
