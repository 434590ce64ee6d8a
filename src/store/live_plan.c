/* Ranges that the updater wants fetched through segments, and the clock that finds them. */
#include "store/live.h"
#include "store/store_int.h"

#include <stdlib.h>

#define MAX_RANGE_SEGMENTS 1000000

struct times_reading {
    int64_t *times, last_id;
    size_t n, max;
};

static enum verdict read_time(void *ctx, const struct db_row *row) {
    struct times_reading *r = ctx;
    if (r->n == r->max)
        return V_OK;
    r->last_id = db_row_int(row, 0);
    r->times[r->n++] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_item_times(struct store *s, int64_t id, int64_t *ret_times, size_t max,
                              size_t *ret_n, int64_t *ret_last_id, struct err *e) {
    struct times_reading r = {.times = ret_times, .last_id = id, .max = max};
    enum verdict v =
        db_run(s->db, SQL_ITEM_TIMES, DB_VALS(DBI(id), DBI((int64_t)max)), read_time, &r, e);
    *ret_n = v == V_OK ? r.n : 0;
    *ret_last_id = r.last_id;
    return v;
}

/* A gap is a promise about ids that were never seen, so nobody takes it back. The others are done
 * again from the start, and once is enough. */
static enum verdict make_room(struct store *s, enum purpose purpose, int64_t lo, int64_t hi,
                              struct err *e) {
    static const int statements[] = {SQL_RANGE_FORGET_EXCEPTIONS, SQL_RANGE_FORGET,
                                     SQL_RANGE_CUT_BELOW, SQL_RANGE_CUT_ABOVE};
    if (purpose == PURPOSE_GAP)
        return V_OK;
    enum verdict v = V_OK;
    for (size_t i = 0; i < ARRAY_LEN(statements) && v == V_OK; i++)
        v = db_run(s->db, statements[i], DB_VALS(DBC(purpose_names[purpose]), DBI(lo), DBI(hi)),
                   NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_RANGE_LETTERS, DB_VALS(DBI(lo), DBI(hi)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_SETTLE, DB_NO_VALS, NULL, NULL, e);
    return v;
}

static enum verdict plan_range(struct store *s, enum purpose purpose, int64_t lo, int64_t hi,
                               int64_t width, int64_t *ret_n, struct err *e) {
    size_t n = (size_t)((hi - lo) / width + 1);
    CLEANUP(free_ptr) int64_t *starts = xcalloc(n, sizeof *starts);
    CLEANUP(free_ptr) int64_t *ends = xcalloc(n, sizeof *ends);
    for (size_t i = 0; i < n; i++) {
        starts[i] = lo + (int64_t)i * width;
        ends[i] = hi - starts[i] < width ? hi : starts[i] + width - 1;
    }
    enum verdict v = make_room(s, purpose, lo, hi, e);
    return v == V_OK ? store_add_segments(s, purpose, starts, ends, n, ret_n, e) : v;
}

enum verdict store_plan_range(struct store *s, enum purpose purpose, int64_t lo, int64_t hi,
                              int64_t width, int64_t *ret_n, struct err *e) {
    *ret_n = 0;
    if (lo < 1)
        lo = 1;
    if (purpose == PURPOSE_MIRROR || width < 1)
        return err_set(e, V_INVALID, "store", 0, "a range of purpose %s and width %lld",
                       purpose_names[purpose], (long long)width);
    if (lo > hi)
        return V_OK;
    if ((hi - lo) / width >= MAX_RANGE_SEGMENTS)
        return err_set(e, V_LIMIT, "store", 0, "a range of more than %d segments",
                       MAX_RANGE_SEGMENTS);
    int64_t made = 0;
    enum verdict v = store_plan_begin(s, e);
    if (v != V_OK)
        return v;
    v = store_plan_end(s, plan_range(s, purpose, lo, hi, width, &made, e), e);
    if (v == V_OK)
        *ret_n = made;
    return v;
}

enum verdict store_open_segments(struct store *s, enum purpose purpose, int64_t *ret,
                                 struct err *e) {
    return db_run_int(s->db, SQL_SEGMENTS_OPEN_COUNT, DB_VALS(DBC(purpose_names[purpose])), ret, e);
}

struct presence {
    int64_t *sorted;
    bool *here;
    size_t n;
};

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static enum verdict note_present(void *ctx, const struct db_row *row) {
    const struct presence *p = ctx;
    int64_t id = db_row_int(row, 0);
    const int64_t *hit = bsearch(&id, p->sorted, p->n, sizeof id, by_value);
    if (hit)
        p->here[hit - p->sorted] = true;
    return V_OK;
}

enum verdict store_absent_ids(struct store *s, const int64_t *ids, size_t n, int64_t *ret_ids,
                              size_t *ret_n, struct err *e) {
    CLEANUP(free_ptr) int64_t *sorted = xcalloc(n, sizeof *sorted);
    CLEANUP(free_ptr) bool *here = xcalloc(n, sizeof *here);
    struct presence p = {.sorted = sorted, .here = here};
    for (size_t i = 0; i < n; i++)
        sorted[i] = ids[i];
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++)
        if (p.n == 0 || sorted[p.n - 1] != sorted[i])
            sorted[p.n++] = sorted[i];
    const struct db_col cols[] = {DB_INTS(sorted)};
    *ret_n = 0;
    enum verdict v = db_each(s->db, SQL_ITEMS_STORY_OF, cols, 1, p.n, note_present, &p, e);
    for (size_t i = 0; i < n && v == V_OK; i++) {
        const int64_t *at = bsearch(&ids[i], sorted, p.n, sizeof *sorted, by_value);
        if (!here[at - sorted])
            ret_ids[(*ret_n)++] = ids[i];
    }
    return v;
}
