/* What items said before. */
#include "store/read_int.h"

#include <stdlib.h>

struct history {
    struct arena *a;
    struct revision *out;
    size_t n, max;
};

static enum verdict read_revision(void *ctx, const struct db_row *row) {
    struct history *h = ctx;
    if (h->n == h->max)
        return V_OK;
    struct revision *r = &h->out[h->n++];
    store_item_of_row(h->a, row, &r->item);
    r->fetched_at = db_row_int(row, 14);
    r->replaced_at = db_row_int(row, 15);
    r->item.content_hash = db_row_int(row, 16);
    return V_OK;
}

enum verdict store_read_revisions(struct store *s, struct arena *a, int64_t id, size_t max,
                                  const struct revision **ret, size_t *ret_n, struct err *e) {
    struct history h = {.a = a, .max = max};
    h.out = arena_alloc(a, (max + 1) * sizeof *h.out);
    enum verdict v = db_run(s->db, SQL_READ_REVISIONS, DB_VALS(DBI(id), DBI((int64_t)max)),
                            read_revision, &h, e);
    *ret = h.out;
    *ret_n = h.n;
    return v;
}

struct ids_reading {
    int64_t *ids;
    size_t n, max;
};

static enum verdict read_id(void *ctx, const struct db_row *row) {
    struct ids_reading *r = ctx;
    if (r->n < r->max)
        r->ids[r->n++] = db_row_int(row, 0);
    return V_OK;
}

static int ascending(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static enum verdict ask_each(struct store *s, const int64_t *ids, size_t n, struct ids_reading *r,
                             struct err *e) {
    const struct db_col cols[] = {DB_INTS(ids)};
    if (db_kind(s->db) == DB_POSTGRES || n < 2)
        return db_each(s->db, SQL_HAVE_REVISIONS, cols, 1, n, read_id, r, e);
    enum verdict v = db_begin_read(s->db, e);
    if (v != V_OK)
        return v;
    return store_end(s, db_each(s->db, SQL_HAVE_REVISIONS, cols, 1, n, read_id, r, e), e);
}

enum verdict store_have_revisions(struct store *s, struct arena *a, const int64_t *ids, size_t n,
                                  const int64_t **ret, size_t *ret_n, struct err *e) {
    struct ids_reading r = {.ids = arena_alloc(a, (n + 1) * sizeof(int64_t)), .max = n};
    enum verdict v = ask_each(s, ids, n, &r, e);
    qsort(r.ids, r.n, sizeof *r.ids, ascending);
    size_t kept = 0;
    for (size_t i = 0; i < r.n; i++)
        if (i == 0 || r.ids[i] != r.ids[i - 1])
            r.ids[kept++] = r.ids[i];
    *ret = r.ids;
    *ret_n = kept;
    return v;
}
