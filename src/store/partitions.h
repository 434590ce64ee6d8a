/* Partitions of items and of the change log, on PostgreSQL, for archives whose owner asked for them
 * (`tain migrate --partitioned`). The work is done by functions of the database
 * (migrations/0012_partitions.pg.sql, what is in the way: 0015_partition_care.pg.sql); who writes
 * asks for the next partition in time. */
#ifndef TAIN_STORE_PARTITIONS_H
#define TAIN_STORE_PARTITIONS_H

#include "store/store.h"

#define PARTITION_WIDTH 1000000 /* ids of a partition of items */
#define PARTITION_LOG_SHARE 10  /* one of the log has so many times fewer positions */

enum partition_table { PARTITION_ITEMS, PARTITION_LOG, PARTITION_TABLES };

struct partition_state {
    struct {
        int64_t width; /* 0: not partitioned */
        int64_t n;     /* partitions, without the one for what no other takes */
        bool stray;    /* that one has rows which belong elsewhere */
    } of[PARTITION_TABLES];
    bool unfinished; /* a conversion is under way, or was cut off */
};
MUST_CHECK enum verdict store_partition_state(struct store *s, struct partition_state *ret,
                                              struct err *e);

/* Makes partitioned tables of both, where they are not yet: ids by `width`, positions by a part of
 * it. What there is becomes the first partition of each, as it stands. May be repeated after
 * whatever ended it. V_RETRY: the tables were in use for too long, or ids came faster than
 * expected; V_CONFLICT: something would not follow (nothing was done), or another one is at it;
 * V_INVALID: SQLite. */
MUST_CHECK enum verdict store_partition(struct store *s, int64_t width, struct err *e);

#endif
