/* Where a task stands in its lane. */
#include "store/links_int.h"

struct standing {
    bool pending[LINK_TASKS];
    int64_t created_at, waiting_since, now;
    bool found, asked;
    enum link_site site;
};

static enum verdict read_standing(void *ctx, const struct db_row *row) {
    struct standing *st = ctx;
    int col = 3 * LINK_TASKS;
    for (int t = 0; t < LINK_TASKS; t++)
        st->pending[t] = link_status_of(db_row_text(row, 3 * t)) == LINK_PENDING;
    st->created_at = db_row_int(row, col + 1);
    st->asked = db_row_text(row, col + 3).p && db_row_int(row, col + 5) == 0;
    st->waiting_since = link_or_zero(db_row_int(row, col + 4));
    st->site = link_site_of(db_row_text(row, col + 6));
    st->now = db_row_int(row, col + 7);
    st->found = true;
    return V_OK;
}

static enum verdict read_claim_state(void *ctx, const struct db_row *row) {
    struct link_place *p = ctx;
    p->held = str_eqc(db_row_text(row, 0), "held");
    p->not_before = link_or_zero(db_row_int(row, 1));
    return V_OK;
}

static enum verdict count(struct store *s, const struct link_lane_row *lane, enum link_stmt stmt,
                          int64_t from, int64_t to, int64_t *total, struct err *e) {
    const char *site = link_site_name(lane->site);
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < lane->n_tasks; i++) {
        const struct db_val vals[] = {DBC(site ? site : ""), DBI(from), DBI(to)};
        int64_t n = 0;
        v = db_run_int(s->db, link_stmt(s, lane->tasks[i], stmt), vals,
                       stmt == LINK_AHEAD_OTHERS ? 3 : 2, &n, e);
        *total += n;
    }
    return v;
}

static enum verdict count_ahead(struct store *s, const struct link_lane_row *lane,
                                const struct standing *st, int64_t *total, struct err *e) {
    if (st->waiting_since)
        return count(s, lane, LINK_AHEAD_WAITING, st->waiting_since, 0, total, e);
    int64_t recent = st->now - LINK_RECENT_MS;
    bool is_recent = st->created_at >= recent;
    enum verdict v = count(s, lane, LINK_AHEAD_WAITING, INT64_MAX, 0, total, e);
    if (v == V_OK)
        v = count(s, lane, LINK_AHEAD_ASKED, st->asked ? st->created_at : INT64_MAX, 0, total, e);
    if (v != V_OK || st->asked)
        return v;
    v = count(s, lane, LINK_AHEAD_OTHERS, recent, is_recent ? st->created_at : INT64_MAX, total, e);
    if (v == V_OK && !is_recent)
        v = count(s, lane, LINK_AHEAD_OTHERS, 0, st->created_at, total, e);
    return v;
}

static enum link_lane lane_of_task(enum link_task t, enum link_site site) {
    for (int i = 0; t == LINK_REVERSE && i < LINK_LANES; i++)
        if (link_tasks[link_lane_task((enum link_lane)i)].site == site)
            return (enum link_lane)i;
    return t == LINK_REVERSE ? 0 : (enum link_lane)((int)t - 1);
}

enum verdict store_link_place(struct store *s, int64_t id, enum link_task t, struct link_place *ret,
                              struct err *e) {
    struct standing st = {0};
    *ret = (struct link_place){0};
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = db_run(s->db, link_all(s, LINK_PROCESSING), DB_VALS(DBI(id)), read_standing, &st, e);
    if (v == V_OK && (!st.found || !st.pending[t]))
        return err_set(e, V_NOT_FOUND, "links", 0, "this task is not pending");
    if (v == V_OK)
        v = db_run(s->db, SQL_LINK_CLAIM_OF, DB_VALS(DBC(link_tasks[t].source), DBI(id)),
                   read_claim_state, ret, e);
    if (v != V_OK || ret->held)
        return v;
    const struct link_lane_row lane = link_lane_of(lane_of_task(t, st.site));
    v = count_ahead(s, &lane, &st, &ret->ahead, e);
    if (ret->ahead > LINK_AHEAD_MAX)
        ret->ahead = LINK_AHEAD_MAX;
    return v;
}
