#include "store/status.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

static void copy_text(char *out, size_t size, struct str s) {
    size_t n = s.n < size ? s.n : size - 1;
    if (n)
        memcpy(out, s.p, n);
    out[n] = '\0';
}

static enum verdict count_segments(void *ctx, const struct db_row *row) {
    int64_t *by_status = ctx;
    int status = fsm_state(&segment_fsm, db_row_text(row, 0));
    if (status >= 0)
        by_status[status] = db_row_int(row, 1);
    return V_OK;
}

static enum verdict count_exceptions(void *ctx, const struct db_row *row) {
    struct archive_status *st = ctx;
    int state = fsm_state(&exception_fsm, db_row_text(row, 0));
    if (state >= 0)
        st->exceptions[state] = db_row_int(row, 1);
    return V_OK;
}

static enum verdict read_stalled(void *ctx, const struct db_row *row) {
    struct archive_status *st = ctx;
    if (st->n_stalled == MAX_STALLED)
        return V_OK;
    struct stalled *x = &st->stalled[st->n_stalled++];
    int64_t age = db_row_int(row, 6);
    *x = (struct stalled){
        .start_id = db_row_int(row, 0),
        .end_id = db_row_int(row, 1),
        .cursor = db_row_int(row, 2),
        .unresolved = db_row_int(row, 3),
        .status = (enum segment_status)fsm_state(&segment_fsm, db_row_text(row, 4)),
        .heartbeat_age_ms = age == DB_NULL ? -1 : age,
    };
    copy_text(x->holder, sizeof x->holder, db_row_text(row, 5));
    copy_text(x->last_error, sizeof x->last_error, db_row_text(row, 7));
    copy_text(x->failure_class, sizeof x->failure_class, db_row_text(row, 8));
    return V_OK;
}

enum verdict store_status(struct store *s, struct archive_status *ret, struct err *e) {
    memset(ret, 0, sizeof *ret);
    enum verdict v = db_run_int(s->db, SQL_STATUS_ITEMS, DB_NO_VALS, &ret->items, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_STATUS_SEGMENTS, DB_NO_VALS, count_segments, ret->segments, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_STATUS_EXCEPTIONS, DB_NO_VALS, count_exceptions, ret, e);
    if (v == V_OK)
        v = db_run_int(s->db, SQL_STATUS_DEAD_LETTERS, DB_NO_VALS, &ret->dead_letters, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_STATUS_STALLED, DB_VALS(DBI(s->lease_ms)), read_stalled, ret, e);
    return v;
}

enum verdict store_counts(struct store *s, struct archive_counts *ret, struct err *e) {
    *ret = (struct archive_counts){0};
    enum verdict v =
        db_run(s->db, SQL_STATUS_SEGMENTS, DB_NO_VALS, count_segments, ret->segments, e);
    if (v == V_OK)
        v = db_run_int(s->db, SQL_STATUS_DEAD_LETTERS, DB_NO_VALS, &ret->dead_letters, e);
    return v;
}

static enum verdict read_pair(void *ctx, const struct db_row *row) {
    int64_t *pair = ctx;
    pair[0] = db_row_int(row, 0);
    pair[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_unresolved(struct store *s, int64_t lo, int64_t hi, int64_t *ret_waiting,
                              int64_t *ret_dead, struct err *e) {
    int64_t pair[2] = {0, 0};
    enum verdict v =
        db_run(s->db, SQL_STATUS_UNRESOLVED_IN, DB_VALS(DBI(lo), DBI(hi)), read_pair, pair, e);
    *ret_waiting = pair[0];
    *ret_dead = pair[1];
    return v;
}

struct id_list {
    int64_t *ids;
    size_t n, cap;
};

static enum verdict collect_id(void *ctx, const struct db_row *row) {
    struct id_list *l = ctx;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->ids = xrealloc(l->ids, l->cap * sizeof *l->ids);
    }
    l->ids[l->n++] = db_row_int(row, 0);
    return V_OK;
}

enum verdict store_unresolved_ids(struct store *s, size_t max, int64_t **ret_ids, size_t *ret_n,
                                  struct err *e) {
    struct id_list l = {0};
    enum verdict v =
        db_run(s->db, SQL_STATUS_UNRESOLVED_IDS, DB_VALS(DBI((int64_t)max)), collect_id, &l, e);
    if (v != V_OK) {
        free(l.ids);
        return v;
    }
    *ret_ids = l.ids;
    *ret_n = l.n;
    return V_OK;
}
