/* What changed lately, out of the change log. The mark is the last position that was given out: it
 * rises with every change that becomes visible. Readers take no lock. */
#include "store/read_int.h"

/* So many changes are ever looked at. */
#define RECENT_MAX 20000

/* An item that is talked about changes many times: so many changes are looked at for each one that
 * is asked for. */
#define CHANGES_EACH 8

enum verdict store_recent_mark(struct store *s, int64_t *ret, struct err *e) {
    return db_run_int(s->db, SQL_RECENT_MARK, DB_NO_VALS, ret, e);
}

struct recent_reading {
    struct arena *a;
    int64_t *ids;
    struct str *names;
    size_t n_ids, n_names;
};

static enum verdict read_id(void *ctx, const struct db_row *row) {
    struct recent_reading *r = ctx;
    r->ids[r->n_ids++] = db_row_int(row, 0);
    return V_OK;
}

static enum verdict read_name(void *ctx, const struct db_row *row) {
    struct recent_reading *r = ctx;
    r->names[r->n_names++] = arena_str(r->a, db_row_text(row, 0));
    return V_OK;
}

static enum verdict read_all(struct store *s, size_t max_items, size_t max_names,
                             struct recent_reading *r, int64_t *ret_mark, struct err *e) {
    int64_t items = (int64_t)max_items, names = (int64_t)max_names;
    enum verdict v = store_recent_mark(s, ret_mark, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_RECENT_ITEMS, DB_VALS(DBI(items), DBI(items * CHANGES_EACH)), read_id,
                   r, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_RECENT_NAMES, DB_VALS(DBI(names), DBI(names * CHANGES_EACH)),
                   read_name, r, e);
    return v;
}

static size_t at_most(size_t n) {
    return n < RECENT_MAX ? n : RECENT_MAX;
}

enum verdict store_read_recent(struct store *s, struct arena *a, size_t max_items, size_t max_names,
                               struct recent *ret, int64_t *ret_mark, struct err *e) {
    max_items = at_most(max_items);
    max_names = at_most(max_names);
    struct recent_reading r = {.a = a};
    r.ids = arena_alloc(a, (max_items + 1) * sizeof *r.ids);
    r.names = arena_alloc(a, (max_names + 1) * sizeof *r.names);
    enum verdict v = db_begin_read(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, read_all(s, max_items, max_names, &r, ret_mark, e), e);
    if (v == V_OK)
        *ret = (struct recent){r.ids, r.n_ids, r.names, r.n_names};
    return v;
}

struct since_reading {
    struct recent_reading r;
    int64_t mark, n;
};

static enum verdict read_change(void *ctx, const struct db_row *row) {
    struct since_reading *since = ctx;
    struct recent_reading *r = &since->r;
    int64_t id = db_row_int(row, 0);
    if (id != DB_NULL)
        r->ids[r->n_ids++] = id;
    else
        r->names[r->n_names++] = arena_str(r->a, db_row_text(row, 1));
    since->mark = db_row_int(row, 2);
    since->n += db_row_int(row, 3);
    return V_OK;
}

/* Behind the last of all that is ours there may be changes of other tables, which count too. */
static enum verdict read_since(struct store *s, size_t max, struct since_reading *since,
                               struct err *e) {
    int64_t head;
    enum verdict v = store_recent_mark(s, &head, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_RECENT_SINCE, DB_VALS(DBI(since->mark), DBI((int64_t)max)),
                   read_change, since, e);
    if (v == V_OK && since->n < (int64_t)max && head > since->mark)
        since->mark = head;
    return v;
}

enum verdict store_read_recent_since(struct store *s, struct arena *a, int64_t mark, size_t max,
                                     struct recent *ret, int64_t *ret_mark, struct err *e) {
    max = at_most(max);
    struct since_reading since = {.r = {.a = a}, .mark = mark};
    since.r.ids = arena_alloc(a, (max + 1) * sizeof *since.r.ids);
    since.r.names = arena_alloc(a, (max + 1) * sizeof *since.r.names);
    enum verdict v = db_begin_read(s->db, e);
    if (v == V_OK)
        v = store_end(s, read_since(s, max, &since, e), e);
    if (v != V_OK)
        return v;
    *ret = (struct recent){since.r.ids, since.r.n_ids, since.r.names, since.r.n_names};
    *ret_mark = since.mark;
    return V_OK;
}

struct rate_reading {
    int64_t *out;
    size_t n;
};

static enum verdict read_minute(void *ctx, const struct db_row *row) {
    struct rate_reading *r = ctx;
    int64_t ago = db_row_int(row, 0);
    if (ago >= 0 && (uint64_t)ago < r->n)
        r->out[r->n - 1 - (size_t)ago] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_recent_rate(struct store *s, int64_t *ret, size_t n, struct err *e) {
    struct rate_reading r = {ret, n};
    for (size_t i = 0; i < n; i++)
        ret[i] = 0;
    return db_run(s->db, SQL_RECENT_RATE, DB_VALS(DBI((int64_t)n), DBI(RECENT_MAX)), read_minute,
                  &r, e);
}
