/* Who is the updater, and what it wants to know after a restart. */
#include "base/thread.h"
#include "store/live.h"
#include "store/store_int.h"

#include <string.h>

static enum verdict lost(struct err *e) {
    return err_set(e, V_CONFLICT, "updater", 0, "the updater's lease went to another process");
}

static enum verdict try_acquire(struct store *s, const char *holder, const char *dead,
                                int64_t lease_ms, int64_t *ret_token, struct err *e) {
    /* An end further ahead than any lease reaches was written by a wrong clock. */
    int64_t far = (lease_ms > LEASE_MS ? lease_ms : LEASE_MS) + CLOCK_SLACK_MS;
    return db_run_int(s->db, SQL_UPDATER_ACQUIRE,
                      DB_VALS(DBC(holder), DBI(lease_ms), DBI(far), DBC(dead)), ret_token, e);
}

enum verdict store_updater_acquire(struct store *s, const char *holder, int64_t lease_ms,
                                   int64_t *ret_token, struct err *e) {
    struct updater_row row;
    enum verdict v = try_acquire(s, holder, NULL, lease_ms, ret_token, e);
    if (v != V_NOT_FOUND)
        return v;
    v = store_updater_row(s, &row, e);
    if (v != V_OK)
        return v;
    if (process_identity_is_dead(row.holder)) {
        v = try_acquire(s, holder, row.holder, lease_ms, ret_token, e);
        if (v != V_NOT_FOUND)
            return v;
    }
    return err_set(e, V_CONFLICT, "updater", 0,
                   "another updater is active (%s); its lease ends in %lld ms", row.holder,
                   (long long)row.lease_left_ms);
}

enum verdict store_updater_renew(struct store *s, int64_t token, int64_t lease_ms, struct err *e) {
    int64_t same;
    enum verdict v =
        db_run_int(s->db, SQL_UPDATER_RENEW, DB_VALS(DBI(token), DBI(lease_ms)), &same, e);
    return v == V_NOT_FOUND ? lost(e) : v;
}

enum verdict store_updater_release(struct store *s, int64_t token, struct err *e) {
    return db_run(s->db, SQL_UPDATER_RELEASE, DB_VALS(DBI(token)), NULL, NULL, e);
}

static int64_t stamp(const struct db_row *row, int col, int64_t now) {
    int64_t at = db_row_int(row, col);
    return at == DB_NULL || at > now + CLOCK_SLACK_MS ? 0 : at;
}

static enum verdict read_row(void *ctx, const struct db_row *row) {
    struct updater_row *u = ctx;
    struct str holder = db_row_text(row, 0);
    int64_t now = db_row_int(row, 4), left = db_row_int(row, 1) - now;
    size_t n = holder.n < sizeof u->holder ? holder.n : sizeof u->holder - 1;
    if (n)
        memcpy(u->holder, holder.p, n);
    u->holder[n] = '\0';
    u->lease_left_ms = n && left > 0 ? left : 0;
    u->last_sse_event_at = stamp(row, 2, now);
    u->last_rescan_at = stamp(row, 3, now);
    return V_OK;
}

enum verdict store_updater_row(struct store *s, struct updater_row *ret, struct err *e) {
    *ret = (struct updater_row){0};
    return db_run(s->db, SQL_UPDATER_ROW, DB_NO_VALS, read_row, ret, e);
}

enum verdict store_updater_persist(struct store *s, int64_t token, int64_t last_sse_event_at,
                                   int64_t last_rescan_at, struct err *e) {
    int64_t same;
    enum verdict v = db_run_int(
        s->db, SQL_UPDATER_PERSIST,
        DB_VALS(DBI(token), DBI(last_sse_event_at), DBI(last_rescan_at), DBI(CLOCK_SLACK_MS)),
        &same, e);
    return v == V_NOT_FOUND ? lost(e) : v;
}
