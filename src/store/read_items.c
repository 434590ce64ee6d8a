#include "store/read_int.h"

enum { URL_KEY = 14, DOMAIN, STORY_ID, FIRST_SEEN_AT, LAST_FETCHED_AT, LAST_CHANGED_AT };

void read_item_of_row(struct arena *a, const struct db_row *row, struct read_item *ret) {
    store_item_of_row(a, row, &ret->item);
    ret->item.url_key = arena_str(a, db_row_text(row, URL_KEY));
    ret->item.domain = arena_str(a, db_row_text(row, DOMAIN));
    ret->story_id = db_row_int(row, STORY_ID);
    ret->first_seen_at = db_row_int(row, FIRST_SEEN_AT);
    ret->last_fetched_at = db_row_int(row, LAST_FETCHED_AT);
    ret->last_changed_at = db_row_int(row, LAST_CHANGED_AT);
    ret->stored = true;
}

struct reading {
    struct arena *a;
    struct read_item *items;
    size_t n, max;
    bool kids;
};

static enum verdict read_row(void *ctx, const struct db_row *row) {
    struct reading *r = ctx;
    if (r->n == r->max)
        return V_OK;
    struct read_item *it = &r->items[r->n++];
    read_item_of_row(r->a, row, it);
    if (r->kids)
        it->item.kids = store_ids_of_text(r->a, db_row_text(row, READ_COLUMNS), &it->item.n_kids);
    return V_OK;
}

enum verdict store_read_item(struct store *s, struct arena *a, int64_t id, struct read_item *ret,
                             struct err *e) {
    struct reading r = {.a = a, .items = ret, .max = 1, .kids = true};
    enum verdict v = db_run(s->db, SQL_READ_ITEM, DB_VALS(DBI(id)), read_row, &r, e);
    return v == V_OK && r.n == 0 ? V_NOT_FOUND : v;
}

static struct reading room_for(struct arena *a, size_t max) {
    return (struct reading){
        .a = a, .items = arena_alloc(a, (max + 1) * sizeof(struct read_item)), .max = max};
}

static enum verdict give(enum verdict v, const struct reading *r, struct read_items *ret) {
    if (v == V_OK)
        *ret = (struct read_items){r->items, r->n};
    return v;
}

static enum verdict read_these(struct store *s, const int64_t *ids, size_t n, struct reading *r,
                               struct err *e) {
    const struct db_col cols[] = {DB_INTS(ids)};
    /* one statement there, one for each id here */
    if (db_kind(s->db) == DB_POSTGRES || n < 2)
        return db_each(s->db, SQL_READ_ITEMS, cols, 1, n, read_row, r, e);
    enum verdict v = db_begin_read(s->db, e);
    if (v != V_OK)
        return v;
    return store_end(s, db_each(s->db, SQL_READ_ITEMS, cols, 1, n, read_row, r, e), e);
}

enum verdict store_read_items(struct store *s, struct arena *a, const int64_t *ids, size_t n,
                              struct read_items *ret, struct err *e) {
    if (n > READ_IDS_MAX)
        return err_set(e, V_LIMIT, "store", 0, "%zu ids at once, at most %d", n, READ_IDS_MAX);
    struct reading r = room_for(a, n);
    r.kids = true;
    return give(read_these(s, ids, n, &r, e), &r, ret);
}

static enum verdict run_into(struct store *s, int stmt, struct db_val what, size_t max,
                             struct reading *r, struct err *e) {
    const struct db_val vals[] = {what, DBI((int64_t)max)};
    return db_run(s->db, stmt, vals, 2, read_row, r, e);
}

enum verdict store_read_newest(struct store *s, struct arena *a, int64_t before, size_t max,
                               struct read_items *ret, struct err *e) {
    struct reading r = room_for(a, max);
    int64_t below = before > 0 ? before : INT64_MAX;
    return give(run_into(s, SQL_READ_NEWEST, DBI(below), max, &r, e), &r, ret);
}

enum verdict store_read_discussions(struct store *s, struct arena *a, struct str url_key,
                                    size_t max, struct read_items *ret, struct err *e) {
    struct reading r = room_for(a, max);
    return give(run_into(s, SQL_READ_DISCUSSIONS, DBT(url_key), max, &r, e), &r, ret);
}

enum verdict store_read_missing(struct store *s, int64_t id, bool *ret, struct err *e) {
    int64_t n;
    enum verdict v = db_run_int(s->db, SQL_READ_MISSING, DB_VALS(DBI(id)), &n, e);
    if (v == V_OK)
        *ret = n > 0;
    return v;
}

enum verdict store_read_maxitem(struct store *s, int64_t *ret, struct err *e) {
    return db_run_int(s->db, SQL_READ_MAXITEM, DB_NO_VALS, ret, e);
}
