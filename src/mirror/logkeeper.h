/* The change log, as the write thread tends it: gives positions to what was committed (PostgreSQL;
 * on SQLite they have some), soon after a batch that may be news, and drops what is too old about
 * once a minute. A step that fails is told and tried again later; it never stops the mirror.
 * Belongs to the write thread. */
#ifndef TAIN_MIRROR_LOGKEEPER_H
#define TAIN_MIRROR_LOGKEEPER_H

#include "base/clock.h"
#include "store/store.h"

struct logkeeper {
    const struct clock *clock;
    struct store *store;
    int64_t keep_ms, keep_rows;   /* keep_rows 0: nothing is dropped */
    int64_t publish_at, prune_at; /* clock_mono() */
    int64_t published_at;
    int failures; /* in a row */
};

void logkeeper_init(struct logkeeper *k, const struct clock *clock, struct store *store,
                    int64_t keep_ms, int64_t keep_rows);
/* Something was committed. `news`: readers wait for it; else it has time. */
void logkeeper_wrote(struct logkeeper *k, bool news);
/* Does what is due. */
void logkeeper_turn(struct logkeeper *k);
/* How long the next turn has time, at most wait_ms. */
int logkeeper_wait_ms(const struct logkeeper *k, int wait_ms);
/* The last turn: what was committed gets its positions now, if the database is there. */
void logkeeper_finish(struct logkeeper *k);

#endif
