#include "store/export.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(I64_NONE == DB_NULL, "an absent number is NULL as it stands");

void item_page_init(struct item_page *p) {
    *p = (struct item_page){0};
    arena_init(&p->arena);
}

void item_page_release(struct item_page *p) {
    arena_release(&p->arena);
    free(p->items);
    *p = (struct item_page){0};
}

static enum verdict read_bounds(void *ctx, const struct db_row *row) {
    int64_t *bounds = ctx;
    bounds[0] = db_row_int(row, 0);
    bounds[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_item_bounds(struct store *s, int64_t lo, int64_t hi, int64_t *ret_lo,
                               int64_t *ret_hi, struct err *e) {
    int64_t bounds[2] = {DB_NULL, DB_NULL};
    enum verdict v =
        db_run(s->db, SQL_EXPORT_BOUNDS, DB_VALS(DBI(lo), DBI(hi)), read_bounds, bounds, e);
    if (v != V_OK)
        return v;
    if (bounds[0] == DB_NULL || bounds[1] == DB_NULL || bounds[0] > bounds[1])
        return err_set(e, V_NOT_FOUND, "store", 0, "there are no items in this range");
    *ret_lo = bounds[0];
    *ret_hi = bounds[1];
    return V_OK;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool store_parts_are_list(struct str text) {
    if (!text.p)
        return true;
    bool list = text.n >= 2 && (str_starts(text, "[") || str_starts(text, "{")) &&
                text.p[text.n - 1] == (text.p[0] == '[' ? ']' : '}');
    for (size_t i = 1; list && i + 1 < text.n; i++)
        list = is_digit(text.p[i]) || text.p[i] == ' ' ||
               (text.p[i] == ',' && is_digit(text.p[i - 1]));
    return list;
}

/* A number that is too long wraps, and the hash will tell. */
const int64_t *store_ids_of_text(struct arena *a, struct str text, size_t *ret_n) {
    *ret_n = 0;
    if (!text.p)
        return NULL;
    int64_t *ids = arena_alloc(a, (text.n / 2 + 1) * sizeof *ids);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!is_digit(text.p[i]))
            continue;
        uint64_t id = 0;
        for (; i < text.n && is_digit(text.p[i]); i++)
            id = id * 10 + (uint64_t)(text.p[i] - '0');
        ids[n++] = (int64_t)id;
    }
    arena_trim(a, ids, n * sizeof *ids);
    *ret_n = n;
    return n ? ids : NULL;
}

static struct item *next_item(struct item_page *p) {
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 1024;
        p->items = xrealloc(p->items, p->cap * sizeof *p->items);
    }
    return &p->items[p->n++];
}

void store_item_of_row(struct arena *a, const struct db_row *row, struct item *it) {
    *it = (struct item){
        .id = db_row_int(row, 0),
        .deleted = db_row_int(row, 1) == 1,
        .type = arena_str(a, db_row_text(row, 2)),
        .by = arena_str(a, db_row_text(row, 3)),
        .time = db_row_int(row, 4),
        .text = arena_str(a, db_row_text(row, 5)),
        .dead = db_row_int(row, 6) == 1,
        .parent = db_row_int(row, 7),
        .poll = db_row_int(row, 8),
        .url = arena_str(a, db_row_text(row, 9)),
        .score = db_row_int(row, 10),
        .title = arena_str(a, db_row_text(row, 11)),
        .descendants = db_row_int(row, 13),
    };
    it->parts = store_ids_of_text(a, db_row_text(row, 12), &it->n_parts);
}

static enum verdict read_item(void *ctx, const struct db_row *row) {
    struct item_page *p = ctx;
    store_item_of_row(&p->arena, row, next_item(p));
    return V_OK;
}

/* Kids come by their parent, but in no order below it: that is quicker to put right here than to
 * ask for. */
struct kid {
    int64_t order, id;
};

struct kids_reading {
    struct item_page *page;
    size_t at; /* the item that the kids in hand belong to */
    struct kid *kids;
    size_t n, cap;
};

static int by_order(const void *x, const void *y) {
    int64_t a = ((const struct kid *)x)->order, b = ((const struct kid *)y)->order;
    return a < b ? -1 : a > b;
}

static void give_kids(struct kids_reading *r) {
    if (r->n == 0)
        return;
    struct item *it = &r->page->items[r->at];
    bool sorted = true;
    for (size_t i = 1; i < r->n && sorted; i++)
        sorted = r->kids[i - 1].order <= r->kids[i].order;
    if (!sorted)
        qsort(r->kids, r->n, sizeof *r->kids, by_order);
    int64_t *ids = arena_alloc(&r->page->arena, r->n * sizeof *ids);
    for (size_t i = 0; i < r->n; i++)
        ids[i] = r->kids[i].id;
    it->kids = ids;
    it->n_kids = r->n;
    r->n = 0;
}

static enum verdict read_kid(void *ctx, const struct db_row *row) {
    struct kids_reading *r = ctx;
    int64_t item = db_row_int(row, 0);
    if (r->page->items[r->at].id != item) {
        give_kids(r);
        while (r->at < r->page->n - 1 && r->page->items[r->at].id < item)
            r->at++;
        if (r->page->items[r->at].id != item)
            return V_OK; /* kids of an item that is not there */
    }
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 256;
        r->kids = xrealloc(r->kids, r->cap * sizeof *r->kids);
    }
    r->kids[r->n++] = (struct kid){.order = db_row_int(row, 2), .id = db_row_int(row, 1)};
    return V_OK;
}

static enum verdict read_kids(struct store *s, struct item_page *p, struct err *e) {
    struct kids_reading r = {.page = p};
    enum verdict v =
        db_run(s->db, SQL_EXPORT_KIDS, DB_VALS(DBI(p->items[0].id), DBI(p->items[p->n - 1].id)),
               read_kid, &r, e);
    give_kids(&r);
    free(r.kids);
    return v;
}

enum verdict store_read_page(struct store *s, int64_t after, int64_t last, size_t max,
                             struct item_page *p, struct err *e) {
    arena_reset(&p->arena);
    p->n = 0;
    enum verdict v = db_begin_read(s->db, e);
    if (v != V_OK)
        return v;
    v = db_run(s->db, SQL_EXPORT_ITEMS, DB_VALS(DBI(after), DBI(last), DBI((int64_t)max)),
               read_item, p, e);
    if (v == V_OK && p->n)
        v = read_kids(s, p, e);
    return store_end(s, v, e);
}
