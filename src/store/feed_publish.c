/* Numbers are given out under the lock of a row that is held until they are committed, in a
 * statement that begins behind it: so the next publisher sees them, and no reader ever sees a
 * number before a smaller one. What is old is dropped from the low end, and leaves no holes. */
#include "store/feed_int.h"

#define PRUNE_STEP 2000

struct look {
    bool standby, waiting;
};

static enum verdict take_look(void *ctx, const struct db_row *row) {
    *(struct look *)ctx = (struct look){db_row_int(row, 0) == 1, db_row_int(row, 1) == 1};
    return V_OK;
}

enum verdict feed_look(struct store *s, bool *ret_waiting, struct err *e) {
    struct look l = {false, false};
    enum verdict v = db_run(s->db, SQL_FEED_LOOK, DB_NO_VALS, take_look, &l, e);
    *ret_waiting = l.waiting;
    if (v == V_OK && l.standby)
        return err_set(e, V_CONFLICT, "feed", 0, "this database is a standby");
    return v;
}

static enum verdict lock_state(struct store *s, struct err *e) {
    int64_t head;
    enum verdict v = db_run_int(s->db, SQL_FEED_LOCK, DB_NO_VALS, &head, e);
    return v == V_NOT_FOUND ? err_wrap(e, V_FATAL, "the state of the change feed is gone") : v;
}

static enum verdict number(struct store *s, size_t max, int64_t *ret_n, struct err *e) {
    char channel[FEED_CHANNEL_MAX];
    feed_channel(s, channel);
    enum verdict v = lock_state(s, e);
    if (v == V_OK)
        v = db_run_int(s->db, SQL_FEED_NUMBER, DB_VALS(DBI((int64_t)max), DBC(channel)), ret_n, e);
    if (v == V_OK && *ret_n < 0)
        return err_set(e, V_RETRY, "feed", 0, "somebody has changed rows of the change log");
    return v;
}

enum verdict store_feed_publish(struct store *s, size_t max, size_t *ret_n, struct err *e) {
    bool waiting;
    int64_t n = 0;
    *ret_n = 0;
    if (!store_is_shared(s))
        return V_OK;
    enum verdict v = feed_look(s, &waiting, e);
    if (v != V_OK || !waiting)
        return v;
    v = store_cover_log(s, max, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, number(s, max, &n, e), e);
    if (v == V_OK)
        *ret_n = (size_t)n;
    return v;
}

enum verdict store_feed_waiting(struct store *s, int64_t *ret_age_ms, struct err *e) {
    enum verdict v = db_run_int(s->db, SQL_FEED_WAITING, DB_NO_VALS, ret_age_ms, e);
    if (v != V_NOT_FOUND)
        return v;
    *ret_age_ms = -1;
    return V_OK;
}

static enum verdict take_dropped(void *ctx, const struct db_row *row) {
    *(int64_t *)ctx += db_row_int(row, 0);
    return V_OK;
}

enum verdict store_feed_prune(struct store *s, int64_t max_age_ms, int64_t max_rows, int64_t *ret_n,
                              struct err *e) {
    int64_t below = DB_NULL;
    *ret_n = 0;
    enum verdict v =
        db_run_int(s->db, SQL_PARTITION_PRUNE, DB_VALS(DBI(max_age_ms), DBI(max_rows)), ret_n, e);
    if (v != V_OK || *ret_n != DB_NULL)
        return v;
    *ret_n = 0;
    /* mostly there is nothing to drop: no write lock for that */
    v = db_run_int(s->db, SQL_FEED_PRUNE_TO,
                   DB_VALS(DBI(max_age_ms), DBI(max_rows), DBI(PRUNE_STEP)), &below, e);
    if (v != V_OK || below == DB_NULL)
        return v;
    return db_run(s->db, SQL_FEED_PRUNE, DB_VALS(DBI(below)), take_dropped, ret_n, e);
}

static enum verdict begin_epoch(struct store *s, int64_t *ret, struct err *e) {
    enum verdict v = lock_state(s, e);
    return v == V_OK ? db_run_int(s->db, SQL_FEED_NEW_EPOCH, DB_NO_VALS, ret, e) : v;
}

enum verdict store_feed_new_epoch(struct store *s, int64_t *ret_epoch, struct err *e) {
    enum verdict v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, begin_epoch(s, ret_epoch, e), e) : v;
}

enum verdict store_feed_role(struct store *s, bool *ret, struct err *e) {
    int64_t ours;
    enum verdict v = db_run_int(s->db, SQL_FEED_ROLE, DB_NO_VALS, &ours, e);
    if (v == V_OK)
        *ret = ours == 1;
    return v;
}
