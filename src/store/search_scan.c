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

/* Rows tell their index first. */
static int index_of(const struct db_row *row) {
    return db_row_int(row, 0) == IN_STORIES ? IN_STORIES : IN_COMMENTS;
}

const struct search_window search_nowhere = {.lo = 1, .hi = 0};

bool search_is_asked(const struct search_window *w) {
    return w->hi >= w->lo;
}

enum { N_WINDOW_VALS = 4 * N_INDEXES };

/* The first parameters of every question: for each index its match, and where. */
static void window_vals(const struct str match[N_INDEXES], const struct search_window w[N_INDEXES],
                        struct db_val *vals) {
    for (size_t i = 0; i < N_INDEXES; i++) {
        vals[4 * i] = DBT(search_is_asked(&w[i]) ? match[i] : STR_NONE);
        vals[4 * i + 1] = DBI(w[i].lo);
        vals[4 * i + 2] = DBI(w[i].hi);
        vals[4 * i + 3] = DBI((int64_t)w[i].max);
    }
}

static void match_vals(const struct search *s, const struct search_window w[N_INDEXES],
                       struct db_val *vals) {
    const struct str matches[N_INDEXES] = {s->expr[IN_STORIES].match, s->expr[IN_COMMENTS].match};
    window_vals(matches, w, vals);
}

/* FTS5 ----------------------------------------------------------------------------------------- */

static enum verdict take_candidate(void *ctx, const struct db_row *row) {
    struct search_found *found = ctx;
    int i = index_of(row);
    search_add(&found[i].c, db_row_int(row, 1), i);
    return V_OK;
}

struct marking {
    struct candidates *c;
    size_t at; /* the next candidate that a row can be about */
    unsigned char rank;
};

/* Rows and candidates both come from the newest id on. */
static enum verdict take_mark(void *ctx, const struct db_row *row) {
    struct marking *m = ctx;
    int64_t id = db_row_int(row, 1);
    while (m->at < m->c->n && m->c->c[m->at].id > id)
        m->at++;
    if (m->at < m->c->n && m->c->c[m->at].id == id)
        m->c->c[m->at].rank |= m->rank;
    return V_OK;
}

static enum verdict mark(struct search *s, int index, struct str match, unsigned char rank,
                         struct candidates *c) {
    if (!match.p || c->n == 0)
        return V_OK;
    struct str matches[N_INDEXES] = {STR_NONE, STR_NONE};
    struct search_window w[N_INDEXES] = {search_nowhere, search_nowhere};
    struct marking m = {.c = c, .rank = rank};
    matches[index] = match;
    w[index] = (struct search_window){.lo = c->c[c->n - 1].id, .hi = c->c[0].id, .max = INT64_MAX};
    struct db_val vals[N_WINDOW_VALS];
    window_vals(matches, w, vals);
    return db_run(s->s->db, SQL_SEARCH_MATCHES, vals, N_WINDOW_VALS, take_mark, &m, s->e);
}

static enum verdict scan_fts(struct search *s, const struct search_window w[N_INDEXES],
                             struct search_found ret[N_INDEXES]) {
    struct db_val vals[N_WINDOW_VALS];
    match_vals(s, w, vals);
    enum verdict v =
        db_run(s->s->db, SQL_SEARCH_MATCHES, vals, N_WINDOW_VALS, take_candidate, ret, s->e);
    for (int i = 0; i < N_INDEXES && v == V_OK; i++) {
        ret[i].matches = (int64_t)ret[i].c.n;
        ret[i].more = search_is_asked(&w[i]) && ret[i].c.n == w[i].max;
        v = mark(s, i, s->expr[i].title, RANK_TITLE, &ret[i].c);
        if (v == V_OK)
            v = mark(s, i, s->expr[i].phrase, RANK_PHRASE, &ret[i].c);
    }
    return v;
}

/* GIN ------------------------------------------------------------------------------------------ */

#define RANGES_MAX 100 /* of ids, in one question */

/* The widest range that begins at `id` and ends at `end` or before. */
static int bits_at(int64_t id, int64_t end) {
    static const int widths[] = {RANGE_BITS_WIDE, RANGE_BITS_FINE};
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        int64_t width = INT64_C(1) << widths[i];
        if ((id & (width - 1)) == 0 && id + (width - 1) <= end)
            return widths[i];
    }
    return RANGE_BITS_LEAST;
}

/* Most of the archive needs no ranges: the few that are outside of it are soon left out. */
static bool is_most(const struct search *s, const struct search_window *w) {
    return w->hi - w->lo >= (s->last - s->first) / 2;
}

/* '_r12x..' | '_r16x..': the ranges of ids that make up the window. They are a condition of their
 * own beside the match: GIN leaps from one condition to the other, but goes through all that one
 * condition may find. The match itself says nothing more, where no ranges are needed. */
static struct str ranges_of(const struct search *s, int index, const struct search_window *w) {
    const int64_t step = INT64_C(1) << RANGE_BITS_LEAST, end = w->hi | (step - 1);
    if (!search_is_asked(w) || is_most(s, w))
        return s->expr[index].match;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, (size_t)RANGES_MAX * 48);
    int n = 0;
    for (int64_t id = w->lo - (w->lo & (step - 1)); id <= w->hi; n++) {
        int bits = bits_at(id, end);
        if (n == RANGES_MAX)
            return s->expr[index].match;
        strbuf_adds(&b, n ? " | '" : "'");
        search_range_lexeme(id, bits, &b);
        strbuf_addc(&b, '\'');
        id += INT64_C(1) << bits;
    }
    return arena_str(s->a, strbuf_str(&b));
}

static enum verdict take_ranked(void *ctx, const struct db_row *row) {
    struct search_found *found = ctx;
    int i = index_of(row);
    struct candidate *c = search_add(&found[i].c, db_row_int(row, 1), i);
    found[i].matches = db_row_int(row, 2);
    c->rank |= db_row_int(row, 3) == 1 ? RANK_TITLE : 0;
    c->rank |= db_row_int(row, 4) == 1 ? RANK_PHRASE : 0;
    return V_OK;
}

static enum verdict scan_gin(struct search *s, const struct search_window w[N_INDEXES],
                             struct search_found ret[N_INDEXES]) {
    struct db_val vals[N_WINDOW_VALS + 5];
    match_vals(s, w, vals);
    vals[N_WINDOW_VALS] = DBT(ranges_of(s, IN_STORIES, &w[IN_STORIES]));
    vals[N_WINDOW_VALS + 1] = DBT(ranges_of(s, IN_COMMENTS, &w[IN_COMMENTS]));
    vals[N_WINDOW_VALS + 2] = DBT(s->expr[IN_STORIES].title);
    vals[N_WINDOW_VALS + 3] = DBT(s->expr[IN_STORIES].phrase);
    vals[N_WINDOW_VALS + 4] = DBT(s->expr[IN_COMMENTS].phrase);
    enum verdict v =
        db_run(s->s->db, SQL_SEARCH_MATCHES, vals, ARRAY_LEN(vals), take_ranked, ret, s->e);
    for (int i = 0; i < N_INDEXES; i++)
        ret[i].more = ret[i].matches > (int64_t)ret[i].c.n;
    return v;
}

enum verdict search_scan(struct search *s, const struct search_window w[N_INDEXES],
                         struct search_found ret[N_INDEXES]) {
    return store_is_shared(s->s) ? scan_gin(s, w, ret) : scan_fts(s, w, ret);
}

/* Counting ------------------------------------------------------------------------------------- */

static enum verdict take_counts(void *ctx, const struct db_row *row) {
    int64_t *n = ctx;
    n[IN_STORIES] = db_row_int(row, 0);
    n[IN_COMMENTS] = db_row_int(row, 1);
    return V_OK;
}

enum verdict search_count(struct search *s, const struct search_window w[N_INDEXES],
                          int64_t ret[N_INDEXES]) {
    struct db_val vals[N_WINDOW_VALS + N_INDEXES];
    size_t n = N_WINDOW_VALS;
    match_vals(s, w, vals);
    for (int i = 0; i < N_INDEXES && store_is_shared(s->s); i++)
        vals[n++] = DBT(ranges_of(s, i, &w[i]));
    return db_run(s->s->db, SQL_SEARCH_COUNT, vals, n, take_counts, ret, s->e);
}
