#include "store/search_doc_int.h"
#include "store/search_int.h"

#include <stdlib.h>
#include <string.h>

struct candidate *search_add(struct candidates *c, int64_t id, int index) {
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 1024;
        c->c = xrealloc(c->c, c->cap * sizeof *c->c);
    }
    c->c[c->n] = (struct candidate){.id = id, .index = (unsigned char)index};
    return &c->c[c->n++];
}

struct scan {
    struct candidates *c;
    int index;
    size_t at; /* the next candidate that a row of marks can be about */
    unsigned char rank;
};

static enum verdict take_candidate(void *ctx, const struct db_row *row) {
    struct scan *sc = ctx;
    struct candidate *c = search_add(sc->c, db_row_int(row, 0), sc->index);
    if (sc->rank) {
        c->rank |= db_row_int(row, 1) == 1 ? RANK_TITLE : 0;
        c->rank |= db_row_int(row, 2) == 1 ? RANK_PHRASE : 0;
    }
    return V_OK;
}

/* Rows and candidates both come from the newest id on. */
static enum verdict take_mark(void *ctx, const struct db_row *row) {
    struct scan *sc = ctx;
    int64_t id = db_row_int(row, 0);
    while (sc->at < sc->c->n && sc->c->c[sc->at].id > id)
        sc->at++;
    if (sc->at < sc->c->n && sc->c->c[sc->at].id == id)
        sc->c->c[sc->at].rank |= sc->rank;
    return V_OK;
}

static int statement_of(int index) {
    return index == IN_STORIES ? SQL_SEARCH_STORIES : SQL_SEARCH_COMMENTS;
}

static enum verdict mark(struct search *s, int index, struct str match, unsigned char rank,
                         struct candidates *c, size_t from) {
    if (!match.p || c->n == from)
        return V_OK;
    struct scan sc = {.c = c, .index = index, .at = from, .rank = rank};
    return db_run(s->s->db, statement_of(index),
                  DB_VALS(DBT(match), DBI(c->c[c->n - 1].id), DBI(c->c[from].id), DBI(INT64_MAX)),
                  take_mark, &sc, s->e);
}

static enum verdict scan_fts(struct search *s, int index, int64_t lo, int64_t hi, size_t max,
                             struct candidates *c) {
    const struct search_expr *x = &s->expr[index];
    size_t from = c->n;
    struct scan sc = {.c = c, .index = index};
    enum verdict v = db_run(s->s->db, statement_of(index),
                            DB_VALS(DBT(x->match), DBI(lo), DBI(hi), DBI((int64_t)max)),
                            take_candidate, &sc, s->e);
    if (v == V_OK)
        v = mark(s, index, x->title, RANK_TITLE, c, from);
    return v == V_OK ? mark(s, index, x->phrase, RANK_PHRASE, c, from) : v;
}

static void match_in_range(const struct search_expr *x, int64_t id, int bits, struct strbuf *b) {
    strbuf_init(b, x->match.n + 64);
    strbuf_addf(b, "(%.*s) & '", STR_FMT(x->match));
    search_range_lexeme(id, bits, b);
    strbuf_addc(b, '\'');
}

static enum verdict scan_gin(struct search *s, int index, int64_t lo, int64_t hi, int bits,
                             size_t max, struct candidates *c) {
    const struct search_expr *x = &s->expr[index];
    CLEANUP(strbuf_release) struct strbuf b;
    match_in_range(x, hi, bits, &b);
    struct scan sc = {.c = c, .index = index, .rank = RANK_TITLE | RANK_PHRASE};
    return db_run(s->s->db, statement_of(index),
                  DB_VALS(DBT(strbuf_str(&b)), DBI(lo), DBI(hi), DBI((int64_t)max), DBT(x->title),
                          DBT(x->phrase)),
                  take_candidate, &sc, s->e);
}

enum verdict search_scan(struct search *s, int index, int64_t lo, int64_t hi, int bits, size_t max,
                         struct candidates *c, bool *ret_more) {
    size_t before = c->n;
    enum verdict v = store_is_shared(s->s) ? scan_gin(s, index, lo, hi, bits, max, c)
                                           : scan_fts(s, index, lo, hi, max, c);
    *ret_more = c->n - before == max;
    return v;
}

static int counter_of(int index) {
    return index == IN_STORIES ? SQL_SEARCH_COUNT_STORIES : SQL_SEARCH_COUNT_COMMENTS;
}

static enum verdict count_fts(struct search *s, int index, int64_t enough, int64_t *ret,
                              bool *ret_more) {
    enum verdict v = db_run_int(
        s->s->db, counter_of(index),
        DB_VALS(DBT(s->expr[index].match), DBI(s->lo), DBI(s->hi), DBI(enough)), ret, s->e);
    *ret_more = *ret == enough;
    return v;
}

static enum verdict count_range(struct search *s, int index, int64_t id, int bits, int64_t *ret) {
    CLEANUP(strbuf_release) struct strbuf b;
    match_in_range(&s->expr[index], id, bits, &b);
    return db_run_int(s->s->db, counter_of(index), DB_VALS(DBT(strbuf_str(&b))), ret, s->e);
}

static bool is_aligned(int64_t id, int bits) {
    return id >> bits << bits == id;
}

/* Each that is counted may cost a page of the table: a range should not hold many more than are
 * wanted. */
static int bits_to_count(int64_t n_in_least, int64_t enough) {
    if (n_in_least * 256 <= 2 * enough)
        return RANGE_BITS_WIDE;
    return n_in_least * 16 <= 2 * enough ? RANGE_BITS_FINE : RANGE_BITS_LEAST;
}

/* Range by range; of a wider one, what was counted in narrower ones within it is taken off. */
static enum verdict count_gin(struct search *s, int index, int64_t enough, int64_t *ret,
                              bool *ret_more) {
    int bits = RANGE_BITS_LEAST;
    int64_t in_fine = 0, in_wide = 0, n = 0, hi = s->hi;
    *ret = 0;
    while (hi >= s->lo && *ret < enough && clock_mono(s->s->clock) <= s->deadline) {
        enum verdict v = count_range(s, index, hi, bits, &n);
        if (v != V_OK)
            return v;
        int64_t lo = (int64_t)((uint64_t)hi >> bits << bits);
        int64_t new = n - (bits == RANGE_BITS_WIDE   ? in_wide
                           : bits == RANGE_BITS_FINE ? in_fine
                                                     : 0);
        *ret += new;
        in_fine = is_aligned(lo, RANGE_BITS_FINE) ? 0 : in_fine + new;
        in_wide = is_aligned(lo, RANGE_BITS_WIDE) ? 0 : in_wide + new;
        bits = bits_to_count(n >> (bits - RANGE_BITS_LEAST), enough);
        hi = lo - 1;
    }
    *ret_more = hi >= s->lo;
    return V_OK;
}

enum verdict search_count(struct search *s, int index, int64_t enough, int64_t *ret,
                          bool *ret_more) {
    return store_is_shared(s->s) ? count_gin(s, index, enough, ret, ret_more)
                                 : count_fts(s, index, enough, ret, ret_more);
}
