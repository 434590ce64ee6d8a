/* Working off index_work, the newest ids first. One indexer at a time: the transaction on SQLite, a
 * lock on PostgreSQL. That is what makes it right: whatever is written while an item is being
 * indexed comes with a note of its own, and the note is worked off after this step, never before
 * it, so that a later reading of the item is also the later writing of its words. */
#include "store/search.h"
#include "store/search_doc_int.h"
#include "store/store_int.h"

#include <stdlib.h>

enum { RANGES = 64, STEP_MAX = 20000 };

struct range {
    int64_t work_id, lo, hi;
};

struct step {
    struct store *s;
    struct range ranges[RANGES];
    size_t n_ranges;
    struct item *items; /* descending */
    size_t n, max;
    struct err *e;
};

static enum verdict take_range(void *ctx, const struct db_row *row) {
    struct step *st = ctx;
    st->ranges[st->n_ranges++] =
        (struct range){db_row_int(row, 0), db_row_int(row, 1), db_row_int(row, 2)};
    return V_OK;
}

static enum verdict take_item(void *ctx, const struct db_row *row) {
    struct step *st = ctx;
    store_item_of_row(&st->s->scratch, row, &st->items[st->n++]);
    return V_OK;
}

/* The range is gone when all of it was read, else it keeps what is left. */
static enum verdict read_range(struct step *st, const struct range *r) {
    size_t before = st->n, room = st->max - st->n;
    enum verdict v =
        db_run(st->s->db, SQL_INDEX_ITEMS, DB_VALS(DBI(r->lo), DBI(r->hi), DBI((int64_t)room)),
               take_item, st, st->e);
    if (v != V_OK)
        return v;
    int64_t left = st->n - before == room ? st->items[st->n - 1].id - 1 : r->lo - 1;
    if (left >= r->lo)
        return db_run(st->s->db, SQL_INDEX_SHRINK, DB_VALS(DBI(r->work_id), DBI(left)), NULL, NULL,
                      st->e);
    const struct db_col cols[] = {DB_INTS(&r->work_id)};
    return db_each(st->s->db, SQL_INDEX_DROP, cols, 1, 1, NULL, NULL, st->e);
}

/* The columns of one index, ascending by id: FTS5 begins a new segment whenever ids go back. */
static enum verdict put_docs(struct step *st, const struct search_doc *docs, bool comments) {
    struct arena *a = &st->s->scratch;
    bool pg = db_kind(st->s->db) == DB_POSTGRES;
    int64_t *ids = arena_alloc(a, (st->n + 1) * sizeof *ids);
    struct str *texts[5];
    for (size_t c = 0; c < ARRAY_LEN(texts); c++)
        texts[c] = arena_alloc(a, (st->n + 1) * sizeof(struct str));
    size_t n = 0, n_cols = 1;
    struct db_col cols[6] = {DB_INTS(ids)};
    for (size_t i = st->n; i-- > 0;) {
        const struct search_doc *d = &docs[i];
        if (d->comment != comments || (n && ids[n - 1] == d->id))
            continue;
        size_t c = 0;
        if (pg)
            texts[c++][n] = d->words;
        if (!pg && !comments) {
            texts[c++][n] = d->title;
            texts[c++][n] = d->url;
        }
        if (!pg) {
            texts[c++][n] = d->text;
            texts[c++][n] = d->author;
            texts[c++][n] = d->tags;
        }
        ids[n++] = d->id;
        n_cols = c + 1;
    }
    if (n == 0)
        return V_OK;
    for (size_t c = 1; c < n_cols; c++)
        cols[c] = DB_TEXTS(texts[c - 1]);
    enum verdict v = db_each(st->s->db, comments ? SQL_INDEX_PUT_COMMENT : SQL_INDEX_PUT_STORY,
                             cols, n_cols, n, NULL, NULL, st->e);
    /* it may have been the other kind when it was indexed last */
    if (v == V_OK && pg)
        v = db_each(st->s->db, comments ? SQL_INDEX_LEAVE_STORIES : SQL_INDEX_LEAVE_COMMENTS, cols,
                    1, n, NULL, NULL, st->e);
    if (v == V_OK && pg && st->n < st->max) /* in between it sees to that itself */
        v = db_run(st->s->db, comments ? SQL_INDEX_TIDY_COMMENTS : SQL_INDEX_TIDY_STORIES,
                   DB_NO_VALS, NULL, NULL, st->e);
    return v;
}

static int by_id_down(const void *x, const void *y) {
    int64_t a = ((const struct item *)x)->id, b = ((const struct item *)y)->id;
    return a < b ? 1 : a > b ? -1 : 0;
}

static enum verdict index_items(struct step *st) {
    if (st->n == 0)
        return V_OK;
    struct arena *a = &st->s->scratch;
    struct search_doc *docs = arena_alloc(a, st->n * sizeof *docs);
    qsort(st->items, st->n, sizeof *st->items, by_id_down); /* ranges may overlap */
    for (size_t i = 0; i < st->n; i++)
        search_doc_of(a, &st->items[i], db_kind(st->s->db), &docs[i]);
    enum verdict v = put_docs(st, docs, false);
    return v == V_OK ? put_docs(st, docs, true) : v;
}

static enum verdict step_locked(struct step *st) {
    int64_t mine = 0;
    enum verdict v = db_run_int(st->s->db, SQL_INDEX_LOCK, DB_NO_VALS, &mine, st->e);
    if (v != V_OK || !mine)
        return v;
    v = db_run(st->s->db, SQL_INDEX_NEXT, DB_VALS(DBI(RANGES)), take_range, st, st->e);
    for (size_t i = 0; i < st->n_ranges && v == V_OK && st->n < st->max; i++)
        v = read_range(st, &st->ranges[i]);
    return v == V_OK ? index_items(st) : v;
}

enum verdict store_index_step(struct store *s, size_t max_items, int64_t *ret_done, struct err *e) {
    struct step st = {.s = s, .max = max_items < STEP_MAX ? max_items : STEP_MAX, .e = e};
    *ret_done = 0;
    /* an idle process asks all the time: it should not take the write lock to hear of nothing */
    enum verdict v = db_run(s->db, SQL_INDEX_NEXT, DB_VALS(DBI(1)), take_range, &st, e);
    if (v != V_OK || st.n_ranges == 0)
        return v;
    st.n_ranges = 0;
    arena_reset(&s->scratch);
    st.items = arena_alloc(&s->scratch, (st.max + 1) * sizeof *st.items);
    v = db_begin(s->db, e);
    if (v == V_OK)
        v = store_end(s, step_locked(&st), e);
    if (v == V_OK)
        *ret_done = (int64_t)(st.n ? st.n : st.n_ranges); /* a range may have been empty */
    return v;
}

static enum verdict read_lag(void *ctx, const struct db_row *row) {
    int64_t *lag = ctx;
    lag[0] = db_row_int(row, 0);
    lag[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_index_lag(struct store *s, int64_t *ret_ids, int64_t *ret_since, struct err *e) {
    int64_t lag[2] = {0, 0};
    enum verdict v = db_run(s->db, SQL_INDEX_LAG, DB_NO_VALS, read_lag, lag, e);
    *ret_ids = lag[0];
    *ret_since = lag[1];
    return v;
}

struct waiting {
    unsigned kinds;
    int64_t *ids;
    size_t n, max;
};

static enum verdict take_waiting(void *ctx, const struct db_row *row) {
    struct waiting *w = ctx;
    if (w->n < w->max && search_kind_of(db_row_text(row, 1)) & w->kinds)
        w->ids[w->n++] = db_row_int(row, 0);
    return V_OK;
}

enum verdict store_index_waits_by(struct store *s, struct str name, unsigned kinds,
                                  int64_t *ret_ids, size_t max, size_t *ret_n, struct err *e) {
    struct waiting w = {.kinds = kinds, .ids = ret_ids, .max = max};
    enum verdict v =
        db_run(s->db, SQL_INDEX_WAITS_BY,
               DB_VALS(DBT(name), DBI(SEARCH_WAITING), DBI(SEARCH_WAITING)), take_waiting, &w, e);
    *ret_n = w.n;
    return v;
}

enum verdict store_index_all(struct store *s, struct err *e) {
    static const int steps[] = {SQL_INDEX_FORGET_WORK, SQL_INDEX_EMPTY_STORIES,
                                SQL_INDEX_EMPTY_COMMENTS, SQL_INDEX_NOTE_ALL};
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < ARRAY_LEN(steps) && v == V_OK; i++)
        v = db_run(s->db, steps[i], DB_NO_VALS, NULL, NULL, e);
    return store_end(s, v, e);
}
