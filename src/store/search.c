#include "store/search.h"

#include "store/search_doc_int.h"
#include "store/search_int.h"

#include <stdlib.h>

/* Of both kinds together never more than SEARCH_CANDIDATES are ranked. Stories are few, and what is
 * looked for is mostly one of them; comments have no points, so that beyond the page they are only
 * counted. */
#define STORY_CANDIDATES 12000
#define COUNT_TO 1000
#define PHRASE_COMMENTS 500
#define PAGE_COMMENTS 200
#define LIMIT_MAX 1000

void search_query_init(struct search_query *q) {
    *q = (struct search_query){
        .time_lo = I64_NONE,
        .time_hi = I64_NONE,
        .points_lo = I64_NONE,
        .points_hi = I64_NONE,
        .comments_lo = I64_NONE,
        .comments_hi = I64_NONE,
        .limit = 20,
    };
}

static int by_date(const void *x, const void *y) {
    int64_t a = ((const struct candidate *)x)->id, b = ((const struct candidate *)y)->id;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Better titles and phrases first, and among these stories before comments. */
static int by_rank(const void *x, const void *y) {
    const struct candidate *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    if ((a->index == IN_COMMENTS) != (b->index == IN_COMMENTS))
        return a->index == IN_COMMENTS ? 1 : -1;
    return by_date(x, y);
}

static int by_points(const void *x, const void *y) {
    const struct candidate *a = x, *b = y;
    if (a->points != b->points)
        return a->points > b->points ? -1 : 1;
    if (a->comments != b->comments)
        return a->comments > b->comments ? -1 : 1;
    return by_date(x, y);
}

/* The page ------------------------------------------------------------------------------------ */

/* Points decide within a rank only, so they are read as far down as the page reaches. */
static enum verdict rank_candidates(struct search *s, struct candidates *c, size_t reach) {
    if (c->n)
        qsort(c->c, c->n, sizeof *c->c, by_rank);
    for (size_t from = 0; from < c->n && from < reach;) {
        size_t to = from, stories = 0;
        for (; to < c->n && c->c[to].rank == c->c[from].rank; to++)
            stories += c->c[to].index != IN_COMMENTS;
        enum verdict v = search_read_points(s, c->c + from, stories);
        if (v != V_OK)
            return v;
        qsort(c->c + from, to - from, sizeof *c->c, by_points);
        from = to;
    }
    return V_OK;
}

/* The total ------------------------------------------------------------------------------------ */

/* Does the index alone say what is a hit? Then it can also count alone. */
static bool is_countable(const struct search *s) {
    const struct search_query *q = s->q;
    for (size_t i = 0; i < q->n_groups; i++)
        if (!s->group_is_exact[i])
            return false;
    return !s->by_ids && q->time_lo == I64_NONE && q->time_hi == I64_NONE &&
           q->points_lo == I64_NONE && q->points_hi == I64_NONE && q->comments_lo == I64_NONE &&
           q->comments_hi == I64_NONE;
}

static int64_t count_wanted(const struct search_query *q) {
    return q->count_to ? q->count_to : COUNT_TO;
}

static int64_t least_of(int64_t n, int64_t got) {
    return n > got ? n : got;
}

/* What the walk left out is counted as far as that is cheap, or as the query says. */
static enum verdict count_rest(struct walk *w, struct search_answer *ret) {
    int64_t total = 0;
    enum verdict v = search_walk_count(w);
    if (v != V_OK)
        return v;
    ret->exact = true;
    for (int i = 0; i < N_INDEXES; i++) {
        if (!w->s->expr[i].use)
            continue;
        total += least_of(w->at[i].seen, (int64_t)w->at[i].got);
        ret->exact &= w->at[i].seen_lo <= w->s->lo;
    }
    ret->total = least_of(total, ret->total);
    return V_OK;
}

static enum verdict find_total(struct walk *w, struct search_answer *ret) {
    ret->exact = !w->overfull && !search_is_cut(w, IN_STORIES) && !search_is_cut(w, IN_COMMENTS);
    return ret->exact || !is_countable(w->s) ? V_OK : count_rest(w, ret);
}

static enum verdict answer_by_date(struct walk *w, struct search_answer *ret) {
    ret->total = w->counted;
    return search_read_hits(w->s, w->c.c, w->kept, ret);
}

static enum verdict answer_by_rank(struct walk *w, struct search_answer *ret) {
    const struct search_query *q = w->s->q;
    ret->total = (int64_t)w->c.n;
    if (q->offset >= ret->total)
        return V_OK;
    size_t from = (size_t)q->offset, left = w->c.n - from;
    size_t n = left < q->limit ? left : q->limit;
    enum verdict v = rank_candidates(w->s, &w->c, from + n);
    return v == V_OK ? search_read_hits(w->s, w->c.c + from, n, ret) : v;
}

static size_t at_least(int64_t n, size_t least, size_t most) {
    return n <= (int64_t)least ? least : n >= (int64_t)most ? most : (size_t)n;
}

/* Comments have no points: beyond the page they matter only where the words stand in a row. */
static size_t comments_wanted(const struct search *s, int64_t page_end) {
    bool both = s->expr[IN_STORIES].use;
    size_t least = !is_countable(s)                ? COUNT_TO
                   : s->expr[IN_COMMENTS].phrase.p ? PHRASE_COMMENTS
                                                   : PAGE_COMMENTS;
    return at_least(page_end, least, SEARCH_CANDIDATES - (both ? STORY_CANDIDATES : 0));
}

static void plan_needs(struct walk *w) {
    const struct search_query *q = w->s->q;
    int64_t page_end = q->offset + (int64_t)q->limit;
    bool countable = is_countable(w->s);
    if (q->order == SEARCH_BY_DATE) {
        int64_t least = countable ? 0 : count_wanted(q);
        w->count_to = page_end > least ? page_end : least;
        w->at[IN_STORIES].need = w->at[IN_COMMENTS].need = (size_t)w->count_to;
    } else {
        w->at[IN_STORIES].need = w->s->expr[IN_COMMENTS].use ? STORY_CANDIDATES : SEARCH_CANDIDATES;
        w->at[IN_COMMENTS].need = comments_wanted(w->s, page_end);
    }
    for (int i = 0; i < N_INDEXES; i++) {
        w->at[i].count = countable ? (size_t)count_wanted(q) : 0;
        w->at[i].next = w->s->hi;
        w->at[i].seen_lo = w->s->hi + 1;
    }
}

static enum verdict search_everywhere(struct search *s, struct search_answer *ret) {
    struct walk w = {.s = s};
    enum verdict v = search_find_bounds(s);
    if (v != V_OK)
        return v;
    search_make_exprs(s);
    plan_needs(&w);
    v = s->by_ids && s->terms.n == 0 ? search_walk_ids(&w) : search_walk(&w);
    if (v == V_OK)
        v = s->q->order == SEARCH_BY_DATE ? answer_by_date(&w, ret) : answer_by_rank(&w, ret);
    if (v == V_OK)
        v = find_total(&w, ret);
    free(w.c.c);
    return v;
}

static unsigned kinds_of(const struct search_query *q) {
    unsigned kinds = SEARCH_ANY;
    for (size_t i = 0; i < q->n_groups; i++) {
        const struct search_group *g = &q->groups[i];
        unsigned here = 0;
        for (size_t k = 0; k < g->n; k++)
            here |= g->tags[k].kind == TAG_KIND && g->tags[k].kinds ? g->tags[k].kinds : SEARCH_ANY;
        kinds &= here;
    }
    /* only what has points or comments can be asked for them */
    if (q->points_lo != I64_NONE || q->points_hi != I64_NONE || q->comments_lo != I64_NONE ||
        q->comments_hi != I64_NONE)
        kinds &= ~(unsigned)SEARCH_COMMENT;
    return kinds;
}

static enum verdict check_query(const struct search_query *q, struct err *e) {
    if (q->limit > LIMIT_MAX)
        return err_set(e, V_INVALID, "search", 0, "at most %d hits at a time", LIMIT_MAX);
    if (q->offset < 0)
        return err_set(e, V_INVALID, "search", 0, "a page before the first");
    if (q->n_groups > SEARCH_GROUPS)
        return err_set(e, V_INVALID, "search", 0, "more than %d groups of tags", SEARCH_GROUPS);
    for (size_t i = 0; i < q->n_groups; i++)
        if (q->groups[i].n == 0 || q->groups[i].n > SEARCH_CHOICES)
            return err_set(e, V_INVALID, "search", 0, "a group of tags has 1 to %d of them",
                           SEARCH_CHOICES);
    return V_OK;
}

enum verdict store_search(struct store *st, struct arena *a, const struct search_query *q,
                          struct search_answer *ret, struct err *e) {
    struct search s = {.s = st, .a = a, .q = q, .e = e, .kinds = kinds_of(q)};
    *ret = (struct search_answer){.exact = true};
    enum verdict v = check_query(q, e);
    if (v != V_OK)
        return v;
    search_terms_of(a, q->text, &s.terms);
    s.deadline = clock_mono(st->clock) + st->search_ms;
    v = search_find_front(&s);
    /* What is found is looked at once more when it is read: no snapshot is needed, and on
     * PostgreSQL one would cost two round trips. SQLite takes its locks only once in a transaction.
     */
    if (v == V_OK && store_is_shared(st))
        return search_everywhere(&s, ret);
    if (v == V_OK)
        v = db_begin_read(st->db, e);
    return v == V_OK ? store_end(st, search_everywhere(&s, ret), e) : v;
}
