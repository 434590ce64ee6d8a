#include "store/segments.h"

#include "base/thread.h"
#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEGMENT_ROWS 1000000
#define BIT(s) (1u << (s))

static const char *const segment_names[] = {"pending", "in_progress", "done", "retry_wait",
                                            "dead_letter"};
static const uint32_t segment_next[] = {
    [SEG_PENDING] =
        BIT(SEG_IN_PROGRESS) | BIT(SEG_DONE) | BIT(SEG_RETRY_WAIT) | BIT(SEG_DEAD_LETTER),
    [SEG_IN_PROGRESS] =
        BIT(SEG_PENDING) | BIT(SEG_DONE) | BIT(SEG_RETRY_WAIT) | BIT(SEG_DEAD_LETTER),
    [SEG_DONE] = BIT(SEG_PENDING),
    [SEG_RETRY_WAIT] = BIT(SEG_PENDING) | BIT(SEG_DONE) | BIT(SEG_DEAD_LETTER),
    [SEG_DEAD_LETTER] = BIT(SEG_PENDING) | BIT(SEG_DONE) | BIT(SEG_RETRY_WAIT),
};
const struct fsm segment_fsm = {"segment", segment_names, segment_next, SEG_N};

static const char *const exception_names[] = {"pending", "retry_wait", "terminal_missing",
                                              "dead_letter"};
static const uint32_t exception_next[] = {
    [EXC_PENDING] =
        BIT(EXC_PENDING) | BIT(EXC_RETRY_WAIT) | BIT(EXC_TERMINAL_MISSING) | BIT(EXC_DEAD_LETTER),
    [EXC_RETRY_WAIT] =
        BIT(EXC_PENDING) | BIT(EXC_RETRY_WAIT) | BIT(EXC_TERMINAL_MISSING) | BIT(EXC_DEAD_LETTER),
    [EXC_TERMINAL_MISSING] = BIT(EXC_PENDING),
    [EXC_DEAD_LETTER] = BIT(EXC_PENDING) | BIT(EXC_TERMINAL_MISSING),
};
const struct fsm exception_fsm = {"exception", exception_names, exception_next, EXC_N};

const char *const purpose_names[PURPOSE_N] = {"mirror", "gap", "replay", "rescan"};

void segment_list_release(struct segment_list *l) {
    free(l->rows);
    *l = (struct segment_list){0};
}

static enum verdict read_segment(void *ctx, const struct db_row *row) {
    struct segment_list *l = ctx;
    if (l->n == l->cap) {
        if (l->cap >= MAX_SEGMENT_ROWS)
            return V_LIMIT;
        l->cap = l->cap ? 2 * l->cap : 64;
        l->rows = xrealloc(l->rows, l->cap * sizeof *l->rows);
    }
    int status = fsm_state(&segment_fsm, db_row_text(row, 3));
    int64_t blocked = db_row_int(row, 6), hard = db_row_int(row, 7);
    l->rows[l->n++] = (struct segment_row){
        .segment_id = db_row_int(row, 0),
        .start_id = db_row_int(row, 1),
        .end_id = db_row_int(row, 2),
        .status = (enum segment_status)status,
        .cursor = db_row_int(row, 4),
        .unresolved = db_row_int(row, 5),
        .blocked_at = blocked == DB_NULL ? 0 : blocked,
        .hard_at = hard == DB_NULL ? 0 : hard,
    };
    return status < 0 ? V_FATAL : V_OK;
}

enum verdict store_segments(struct store *s, enum purpose p, struct segment_list *ret,
                            struct err *e) {
    ret->n = 0;
    return db_run(s->db, SQL_SEGMENTS_LIST, DB_VALS(DBC(purpose_names[p])), read_segment, ret, e);
}

enum verdict store_plan_begin(struct store *s, struct err *e) {
    enum verdict v = db_begin(s->db, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_PLAN_LOCK, DB_NO_VALS, NULL, NULL, e);
    if (v != V_OK)
        db_rollback(s->db);
    return v;
}

enum verdict store_plan_end(struct store *s, enum verdict v, struct err *e) {
    return store_end(s, v, e);
}

enum verdict store_add_segments(struct store *s, enum purpose p, const int64_t *starts,
                                const int64_t *ends, size_t n, int64_t *ret_added, struct err *e) {
    CLEANUP(free_ptr) struct str *purposes = xcalloc(n, sizeof *purposes);
    for (size_t i = 0; i < n; i++)
        purposes[i] = str_of(purpose_names[p]);
    const struct db_col cols[] = {DB_INTS(starts), DB_INTS(ends), DB_TEXTS(purposes)};
    enum verdict v = db_each(s->db, SQL_SEGMENT_ADD, cols, ARRAY_LEN(cols), n, NULL, NULL, e);
    *ret_added = db_changes(s->db);
    return v;
}

enum verdict store_merge(struct store *s, const struct segment_row *keep, int64_t new_end,
                         struct err *e) {
    enum verdict v =
        db_run(s->db, SQL_MERGE_MOVE_EXCEPTIONS,
               DB_VALS(DBI(keep->segment_id), DBI(keep->start_id), DBI(new_end)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_MERGE_DELETE, DB_VALS(DBI(keep->start_id), DBI(new_end)), NULL, NULL,
                   e);
    if (v == V_OK)
        v = db_run(s->db, SQL_MERGE_EXTEND, DB_VALS(DBI(keep->segment_id), DBI(new_end)), NULL,
                   NULL, e);
    return v;
}

enum verdict store_split(struct store *s, const struct segment_row *row, int64_t at,
                         struct err *e) {
    int64_t same, fresh, cursor = row->cursor >= at ? row->cursor : at - 1;
    enum verdict v =
        db_run_int(s->db, SQL_SPLIT_SHRINK, DB_VALS(DBI(row->segment_id), DBI(at - 1)), &same, e);
    if (v != V_OK)
        return v == V_NOT_FOUND ? V_OK : v; /* someone claimed it meanwhile */
    v = db_run_int(s->db, SQL_SPLIT_ADD, DB_VALS(DBI(at), DBI(row->end_id), DBI(cursor)), &fresh,
                   e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SPLIT_MOVE_EXCEPTIONS,
                   DB_VALS(DBI(row->segment_id), DBI(fresh), DBI(at)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SPLIT_RECOUNT, DB_VALS(DBI(row->segment_id), DBI(fresh)), NULL, NULL,
                   e);
    return v;
}

enum verdict store_forget_replays(struct store *s, int64_t lo, int64_t hi, struct err *e) {
    const struct db_val window[] = {DBI(lo), DBI(hi)};
    enum verdict v = db_run(s->db, SQL_REPLAY_FORGET_EXCEPTIONS, window, 2, NULL, NULL, e);
    return v == V_OK ? db_run(s->db, SQL_REPLAY_FORGET, window, 2, NULL, NULL, e) : v;
}

#define MAX_DEAD_HOLDERS 64

struct dead_holders {
    char names[MAX_DEAD_HOLDERS][200];
    size_t n;
};

static enum verdict collect_dead(void *ctx, const struct db_row *row) {
    struct dead_holders *d = ctx;
    struct str name = db_row_text(row, 0);
    if (d->n == MAX_DEAD_HOLDERS || name.n >= sizeof d->names[0])
        return V_OK;
    memcpy(d->names[d->n], name.p, name.n);
    d->names[d->n][name.n] = '\0';
    if (process_identity_is_dead(d->names[d->n]))
        d->n++;
    return V_OK;
}

static enum verdict free_dead_holders(struct store *s, struct err *e) {
    CLEANUP(free_ptr) struct dead_holders *dead = xcalloc(1, sizeof *dead);
    enum verdict v = db_run(s->db, SQL_SEGMENTS_HOLDERS, DB_NO_VALS, collect_dead, dead, e);
    for (size_t i = 0; i < dead->n && v == V_OK; i++)
        v = db_run(s->db, SQL_SEGMENTS_FREE_HOLDER, DB_VALS(DBC(dead->names[i])), NULL, NULL, e);
    return v;
}

/* Leases that ended; and what a clock that went ahead has put off for hours. */
static enum verdict undo_wrong_clock(struct store *s, struct err *e) {
    static const int steps[] = {SQL_SEGMENTS_FREE_EXPIRED, SQL_EXCEPTIONS_UNFREEZE,
                                SQL_LIVE_UNFREEZE};
    enum verdict v = V_OK;
    for (size_t i = 0; i < ARRAY_LEN(steps) && v == V_OK; i++)
        v = db_run(s->db, steps[i], DB_VALS(DBI(CLOCK_SLACK_MS)), NULL, NULL, e);
    return v;
}

enum verdict store_reclaim(struct store *s, struct err *e) {
    enum verdict v = store_plan_begin(s, e);
    if (v != V_OK)
        return v;
    v = free_dead_holders(s, e);
    if (v == V_OK)
        v = undo_wrong_clock(s, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_SETTLE, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_WAKE_DUE, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENT_KEEP_MISSING, DB_VALS(DBI(0)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_SWEEP_EXCEPTIONS, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_SWEEP, DB_NO_VALS, NULL, NULL, e);
    return store_end(s, v, e);
}

static enum verdict read_due(void *ctx, const struct db_row *row) {
    struct window_work *w = ctx;
    w->failure_due_ms = db_row_int(row, 0);
    w->ladder_due_ms = db_row_int(row, 1);
    return V_OK;
}

static int64_t until(int64_t due_at, int64_t now) {
    return due_at == DB_NULL ? -1 : due_at > now ? due_at - now : 0;
}

enum verdict store_window_work(struct store *s, int64_t lo, int64_t hi, struct window_work *ret,
                               struct err *e) {
    const struct db_val window[] = {DBI(lo), DBI(hi)};
    int64_t now = 0;
    enum verdict v = db_run_int(s->db, SQL_SEGMENTS_PENDING_COUNT, window, 2, &ret->pending, e);
    if (v == V_OK)
        v = db_run_int(s->db, SQL_SEGMENTS_UNFINISHED_COUNT, window, 2, &ret->unfinished, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_NEXT_DUE, window, 2, read_due, ret, e);
    if (v == V_OK)
        v = store_now(s, &now, e);
    ret->failure_due_ms = until(ret->failure_due_ms, now);
    ret->ladder_due_ms = until(ret->ladder_due_ms, now);
    return v;
}

static enum verdict read_extent(void *ctx, const struct db_row *row) {
    int64_t *extent = ctx;
    if (db_row_int(row, 0) == DB_NULL)
        return V_OK;
    extent[0] = db_row_int(row, 0);
    extent[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_repairs(struct store *s, int64_t *ret_lo, int64_t *ret_hi, struct err *e) {
    int64_t extent[2] = {0, 0};
    enum verdict v = db_run(s->db, SQL_SEGMENTS_REPAIRS, DB_NO_VALS, read_extent, extent, e);
    *ret_lo = extent[0];
    *ret_hi = extent[1];
    return v;
}
