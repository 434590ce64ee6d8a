#include "store/verify.h"

#include "base/thread.h"
#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEGMENT_ROWS 1000000

void verify_page_init(struct verify_page *p) {
    *p = (struct verify_page){0};
    arena_init(&p->arena);
}

void verify_page_release(struct verify_page *p) {
    arena_release(&p->arena);
    free(p->items);
    free(p->exceptions);
    free(p->letters);
    free(p->stray_kids);
}

/* Room for one more of `size` bytes at the end of an array. */
static void *grow(void *array, size_t n, size_t *cap, size_t size) {
    if (n < *cap)
        return array;
    *cap = *cap ? 2 * *cap : 256;
    return xrealloc(array, *cap * size);
}

static enum verdict read_item(void *ctx, const struct db_row *row) {
    struct verify_page *p = ctx;
    p->items = grow(p->items, p->n_items, &p->cap_items, sizeof *p->items);
    struct stored_item *it = &p->items[p->n_items++];
    store_item_of_row(&p->arena, row, &it->item);
    it->story_id = db_row_int(row, 14);
    it->item.url_key = arena_str(&p->arena, db_row_text(row, 15));
    it->item.domain = arena_str(&p->arena, db_row_text(row, 16));
    it->item.content_hash = db_row_int(row, 17);
    it->item.kids_hash = db_row_int(row, 18);
    it->last_fetched_at = db_row_int(row, 19);
    it->parent_stored = db_row_int(row, 20) != DB_NULL;
    it->parent_story = db_row_int(row, 21);
    it->parts_unreadable = !store_parts_are_list(db_row_text(row, 12));
    return V_OK;
}

/* Kids come by item and in their order; `at` is the first item that may still get some. */
struct kids_reading {
    struct verify_page *page;
    size_t at;
    int64_t item, *kids;
    size_t n, cap;
};

static void give_kids(struct kids_reading *r) {
    struct verify_page *p = r->page;
    if (r->n == 0)
        return;
    while (r->at < p->n_items && p->items[r->at].item.id < r->item)
        r->at++;
    if (r->at < p->n_items && p->items[r->at].item.id == r->item) {
        int64_t *kids = arena_alloc(&p->arena, r->n * sizeof *kids);
        memcpy(kids, r->kids, r->n * sizeof *kids);
        p->items[r->at].item.kids = kids;
        p->items[r->at].item.n_kids = r->n;
    } else {
        p->stray_kids =
            grow(p->stray_kids, p->n_stray_kids, &p->cap_stray_kids, sizeof *p->stray_kids);
        p->stray_kids[p->n_stray_kids++] = r->item;
    }
    p->n_kids += (int64_t)r->n;
    r->n = 0;
}

static enum verdict read_kid(void *ctx, const struct db_row *row) {
    struct kids_reading *r = ctx;
    if (db_row_int(row, 0) != r->item)
        give_kids(r);
    r->item = db_row_int(row, 0);
    r->kids = grow(r->kids, r->n, &r->cap, sizeof *r->kids);
    r->kids[r->n++] = db_row_int(row, 1);
    return V_OK;
}

static enum verdict read_kids(struct store *s, struct verify_page *p, struct err *e) {
    struct kids_reading r = {.page = p};
    enum verdict v =
        db_run(s->db, SQL_VERIFY_KIDS, DB_VALS(DBI(p->lo), DBI(p->hi)), read_kid, &r, e);
    if (v == V_OK)
        give_kids(&r);
    free(r.kids);
    return v;
}

static int purpose_of(struct str name) {
    for (int p = 0; p < PURPOSE_N; p++)
        if (str_eqc(name, purpose_names[p]))
            return p;
    return -1;
}

static enum verdict read_exception(void *ctx, const struct db_row *row) {
    struct verify_page *p = ctx;
    p->exceptions = grow(p->exceptions, p->n_exceptions, &p->cap_exceptions, sizeof *p->exceptions);
    int64_t id = db_row_int(row, 0);
    int state = fsm_state(&exception_fsm, db_row_text(row, 2));
    p->exceptions[p->n_exceptions++] = (struct stored_exception){
        .id = id,
        .segment_id = db_row_int(row, 1),
        .state = state < 0 ? EXC_N : (enum exception_state)state,
        .purpose = purpose_of(db_row_text(row, 3)),
        .outside = id < db_row_int(row, 4) || id > db_row_int(row, 5),
    };
    return V_OK;
}

static enum verdict read_letter(void *ctx, const struct db_row *row) {
    struct verify_page *p = ctx;
    p->letters = grow(p->letters, p->n_letters, &p->cap_letters, sizeof *p->letters);
    p->letters[p->n_letters++] = db_row_int(row, 0);
    return V_OK;
}

static enum verdict read_page(struct store *s, struct verify_page *p, struct err *e) {
    const struct db_val range[] = {DBI(p->lo), DBI(p->hi)};
    enum verdict v = db_run(s->db, SQL_VERIFY_ITEMS, range, 2, read_item, p, e);
    if (v == V_OK)
        v = read_kids(s, p, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_VERIFY_EXCEPTIONS, range, 2, read_exception, p, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_VERIFY_LETTERS, range, 2, read_letter, p, e);
    return v;
}

enum verdict store_verify_read(struct store *s, int64_t lo, int64_t hi, struct verify_page *ret,
                               struct err *e) {
    arena_reset(&ret->arena);
    ret->lo = lo;
    ret->hi = hi;
    ret->n_items = ret->n_exceptions = ret->n_letters = ret->n_stray_kids = 0;
    ret->n_kids = 0;
    enum verdict v = db_begin_read(s->db, e);
    if (v != V_OK)
        return v;
    v = read_page(s, ret, e);
    db_rollback(s->db);
    return v;
}

/* A number that may be absent: no row and NULL both read as 0. */
static enum verdict ask_id(struct store *s, int stmt, const struct db_val *vals, size_t n,
                           int64_t *ret, struct err *e) {
    enum verdict v = db_run_int(s->db, stmt, vals, n, ret, e);
    if (v == V_NOT_FOUND || (v == V_OK && *ret == DB_NULL)) {
        *ret = 0;
        return V_OK;
    }
    return v;
}

enum verdict store_verify_next(struct store *s, int64_t at, int64_t *ret, struct err *e) {
    return ask_id(s, SQL_VERIFY_NEXT, DB_VALS(DBI(at)), ret, e);
}

enum verdict store_last_item(struct store *s, int64_t *ret, struct err *e) {
    return ask_id(s, SQL_VERIFY_LAST, DB_NO_VALS, ret, e);
}

enum verdict store_sample_item(struct store *s, int64_t at, int64_t *ret, struct err *e) {
    return ask_id(s, SQL_SAMPLE_ITEM, DB_VALS(DBI(at)), ret, e);
}

enum verdict store_sample_missing(struct store *s, int64_t at, int64_t *ret, struct err *e) {
    return ask_id(s, SQL_SAMPLE_MISSING, DB_VALS(DBI(at)), ret, e);
}

void segment_facts_release(struct segment_facts_list *l) {
    free(l->rows);
    *l = (struct segment_facts_list){0};
}

static bool is_dead(struct str holder) {
    char name[200];
    if (!holder.p || holder.n >= sizeof name)
        return false;
    memcpy(name, holder.p, holder.n);
    name[holder.n] = '\0';
    return process_identity_is_dead(name);
}

static enum verdict read_facts(void *ctx, const struct db_row *row) {
    struct segment_facts_list *l = ctx;
    if (l->n == MAX_SEGMENT_ROWS)
        return V_LIMIT;
    l->rows = grow(l->rows, l->n, &l->cap, sizeof *l->rows);
    int purpose = purpose_of(db_row_text(row, 3));
    int status = fsm_state(&segment_fsm, db_row_text(row, 4));
    l->strange_id = db_row_int(row, 0);
    if (purpose < 0 || status < 0)
        return V_FATAL;
    l->strange_id = 0;
    bool held = status == SEG_IN_PROGRESS;
    l->rows[l->n++] = (struct segment_facts){
        .segment_id = db_row_int(row, 0),
        .start_id = db_row_int(row, 1),
        .end_id = db_row_int(row, 2),
        .purpose = (enum purpose)purpose,
        .status = (enum segment_status)status,
        .cursor = db_row_int(row, 5),
        .unresolved = db_row_int(row, 6),
        .counted = db_row_int(row, 7),
        .pending = db_row_int(row, 8),
        .stale_lease = held && (is_dead(db_row_text(row, 9)) || db_row_int(row, 10) > 0),
    };
    return V_OK;
}

static enum verdict facts_of(struct store *s, int stmt, const struct db_val *vals, size_t n,
                             struct segment_facts_list *ret, struct err *e) {
    ret->n = 0;
    ret->strange_id = 0;
    enum verdict v = db_run(s->db, stmt, vals, n, read_facts, ret, e);
    if (v != V_OK && ret->strange_id)
        return err_set(e, V_FATAL, "store", 0,
                       "segment %lld has a purpose or a status that does not exist",
                       (long long)ret->strange_id);
    return v;
}

enum verdict store_segment_facts(struct store *s, struct segment_facts_list *ret, struct err *e) {
    return facts_of(s, SQL_VERIFY_SEGMENTS, DB_NO_VALS, ret, e);
}

enum verdict store_repairs_in(struct store *s, int64_t lo, int64_t hi,
                              struct segment_facts_list *ret, struct err *e) {
    return facts_of(s, SQL_VERIFY_REPAIRS, DB_VALS(DBI(lo), DBI(hi)), ret, e);
}

struct id_listing {
    void (*fn)(void *ctx, int64_t id);
    void *ctx;
};

static enum verdict give_id(void *ctx, const struct db_row *row) {
    const struct id_listing *l = ctx;
    l->fn(l->ctx, db_row_int(row, 0));
    return V_OK;
}

enum verdict store_impossible_items(struct store *s, void (*fn)(void *ctx, int64_t id), void *ctx,
                                    struct err *e) {
    struct id_listing l = {fn, ctx};
    return db_run(s->db, SQL_VERIFY_IMPOSSIBLE, DB_NO_VALS, give_id, &l, e);
}
