#include "store/search.h"

#include "store/search_doc_int.h"
#include "store/search_int.h"

#include <stdlib.h>

#define WORK_MS 1500 /* a search that is not done by then answers what it has */
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

/* The walk ------------------------------------------------------------------------------------ */

struct walk {
    struct search *s;
    struct candidates c;
    size_t need[N_INDEXES], got[N_INDEXES];
    /* by date: what was seen is kept only where it is on the page */
    int64_t counted, count_to;
    size_t kept;
    bool cut[N_INDEXES]; /* there may be more */
};

static bool wants(const struct walk *w, int index) {
    return w->s->expr[index].use && w->got[index] < w->need[index];
}

/* Everything of one index in one window, unless it is more than is needed. */
static enum verdict scan_window(struct walk *w, int index, int64_t lo, int64_t hi, int bits) {
    for (;;) {
        size_t from = w->c.n;
        bool more = false;
        enum verdict v =
            search_scan(w->s, index, lo, hi, bits, w->need[index] - w->got[index], &w->c, &more);
        if (v != V_OK)
            return v;
        hi = w->c.n > from ? w->c.c[w->c.n - 1].id - 1 : lo - 1;
        v = search_filter(w->s, &w->c, from);
        if (v != V_OK)
            return v;
        w->got[index] += w->c.n - from;
        if (!more || hi < lo)
            return V_OK;
        if (!wants(w, index)) {
            w->cut[index] = true;
            return V_OK;
        }
    }
}

/* By date: puts a window in order, counts it, and keeps what is on the page. */
static void count_window(struct walk *w, size_t from) {
    const struct search_query *q = w->s->q;
    size_t n = w->c.n - from;
    if (n)
        qsort(w->c.c + from, n, sizeof *w->c.c, by_date);
    if ((int64_t)n > w->count_to - w->counted) {
        n = (size_t)(w->count_to - w->counted);
        w->cut[IN_STORIES] = w->cut[IN_COMMENTS] = true;
    }
    for (size_t i = 0; i < n; i++, w->counted++)
        if (w->counted >= q->offset && w->kept < q->limit)
            w->c.c[w->kept++] = w->c.c[from + i];
    w->c.n = w->kept;
    for (int i = 0; i < N_INDEXES; i++) {
        w->got[i] = 0;
        w->need[i] = (size_t)(w->count_to - w->counted);
    }
}

/* How wide the next window may be: a database may look at all that matches in it, so that should
 * not be much more than is missing. */
static int next_bits(size_t found, int64_t span, size_t missing) {
    static const int widths[] = {RANGE_BITS_WIDE, RANGE_BITS_FINE};
    for (size_t i = 0; i < ARRAY_LEN(widths); i++)
        if ((double)found * (double)(INT64_C(1) << widths[i]) <=
            4.0 * (double)missing * (double)span)
            return widths[i];
    return RANGE_BITS_LEAST;
}

/* Walks the indexes from..to together, so that what comes is in order of time by windows. */
static enum verdict walk_windows(struct walk *w, int from, int to) {
    struct search *s = w->s;
    int bits = RANGE_BITS_LEAST;
    for (int64_t hi = s->hi; hi >= s->lo;) {
        size_t before = w->c.n, missing = 0;
        int64_t lo = (int64_t)((uint64_t)hi >> bits << bits);
        lo = lo < s->lo ? s->lo : lo;
        bool late = clock_mono(s->s->clock) > s->deadline;
        for (int i = from; i <= to; i++) {
            w->cut[i] |= s->expr[i].use && (late || !wants(w, i));
            missing += wants(w, i) ? w->need[i] - w->got[i] : 0;
        }
        if (late || missing == 0)
            return V_OK;
        for (int i = from; i <= to; i++) {
            enum verdict v = wants(w, i) ? scan_window(w, i, lo, hi, bits) : V_OK;
            if (v != V_OK)
                return v;
        }
        bits = next_bits(w->c.n - before, hi - lo + 1, missing);
        if (s->q->order == SEARCH_BY_DATE)
            count_window(w, before);
        hi = lo - 1;
    }
    return V_OK;
}

/* By relevance each index goes its own way: stories are few, and many of them are wanted. */
static enum verdict walk(struct walk *w) {
    if (w->s->q->order == SEARCH_BY_DATE)
        return walk_windows(w, IN_STORIES, IN_COMMENTS);
    enum verdict v = walk_windows(w, IN_STORIES, IN_STORIES);
    return v == V_OK ? walk_windows(w, IN_COMMENTS, IN_COMMENTS) : v;
}

/* No words, and the tags name ids: there is nothing to ask an index for. */
static enum verdict walk_ids(struct walk *w) {
    for (size_t i = w->s->among.n; i-- > 0;)
        search_add(&w->c, w->s->among.ids[i], N_INDEXES);
    enum verdict v = search_filter(w->s, &w->c, 0);
    if (v == V_OK && w->s->q->order == SEARCH_BY_DATE)
        count_window(w, 0);
    return v;
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

/* What the walk left out is counted as far as that is cheap, or as the query says. */
static enum verdict count_rest(struct walk *w, struct search_answer *ret) {
    int64_t total = 0;
    ret->exact = true;
    for (int i = 0; i < N_INDEXES; i++) {
        if (!w->s->expr[i].use)
            continue;
        bool dated = w->s->q->order == SEARCH_BY_DATE;
        int64_t n = (int64_t)w->got[i];
        bool more = w->cut[i];
        if (more || dated) {
            enum verdict v = search_count(w->s, i, count_wanted(w->s->q), &n, &more);
            if (v != V_OK)
                return v;
        }
        total += n > (int64_t)w->got[i] ? n : (int64_t)w->got[i];
        ret->exact &= !more;
    }
    ret->total = total > ret->total ? total : ret->total;
    return V_OK;
}

static enum verdict find_total(struct walk *w, struct search_answer *ret) {
    ret->exact = !w->cut[IN_STORIES] && !w->cut[IN_COMMENTS];
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
    if (q->order == SEARCH_BY_DATE) {
        int64_t least = is_countable(w->s) ? 0 : count_wanted(q);
        w->count_to = page_end > least ? page_end : least;
        w->need[IN_STORIES] = w->need[IN_COMMENTS] = (size_t)w->count_to;
        return;
    }
    w->need[IN_STORIES] = w->s->expr[IN_COMMENTS].use ? STORY_CANDIDATES : SEARCH_CANDIDATES;
    w->need[IN_COMMENTS] = comments_wanted(w->s, page_end);
}

static enum verdict search_in_transaction(struct search *s, struct search_answer *ret) {
    struct walk w = {.s = s};
    enum verdict v = search_find_bounds(s);
    if (v != V_OK)
        return v;
    search_make_exprs(s);
    plan_needs(&w);
    v = s->by_ids && s->terms.n == 0 ? walk_ids(&w) : walk(&w);
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
    s.deadline = clock_mono(st->clock) + WORK_MS;
    v = search_find_front(&s);
    if (v == V_OK)
        v = db_begin_read(st->db, e);
    if (v != V_OK)
        return v;
    return store_end(st, search_in_transaction(&s, ret), e);
}
