/* What the index cannot say: numbers, and sets of ids. */
#include "store/search_doc_int.h"
#include "store/search_int.h"

#include <stdlib.h>
#include <string.h>

#define THREAD_MAX 100000
#define FRONT_PAGE 30
/* Ids are given out in order of time; a time that is further off than this many ids is wrong. */
#define TIME_SLACK 3000
#define TIME_SAMPLE 15

/* Sets of ids --------------------------------------------------------------------------------- */

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

struct gathering {
    struct arena *a;
    struct ids ids;
    size_t cap;
};

static void gather(struct gathering *g, int64_t id) {
    if (g->ids.n == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 256;
        int64_t *ids = arena_alloc(g->a, cap * sizeof *ids);
        if (g->ids.n)
            memcpy(ids, g->ids.ids, g->ids.n * sizeof *ids);
        g->ids.ids = ids;
        g->cap = cap;
    }
    g->ids.ids[g->ids.n++] = id;
}

static enum verdict take_id(void *ctx, const struct db_row *row) {
    gather(ctx, db_row_int(row, 0));
    return V_OK;
}

static enum verdict gather_tag(struct search *s, const struct search_tag *t, struct gathering *g) {
    if (t->kind == TAG_STORY)
        return db_run(s->s->db, SQL_SEARCH_BELOW, DB_VALS(DBI(t->id), DBI(THREAD_MAX)), take_id, g,
                      s->e);
    for (size_t i = 0; i < s->front.n; i++)
        gather(g, s->front.ids[i]);
    return V_OK;
}

static bool asks_front(const struct search_query *q) {
    for (size_t i = 0; i < q->n_groups; i++)
        for (size_t k = 0; k < q->groups[i].n; k++)
            if (q->groups[i].tags[k].kind == TAG_FRONT_PAGE)
                return true;
    return false;
}

enum verdict search_find_front(struct search *s) {
    const int64_t *ids = NULL;
    size_t n = 0;
    int64_t seen_at;
    if (!asks_front(s->q))
        return V_OK;
    enum verdict v = store_read_list(s->s, s->a, "top", &ids, &n, &seen_at, s->e);
    if (v != V_OK)
        return v;
    s->front.n = n < FRONT_PAGE ? n : FRONT_PAGE;
    s->front.ids = arena_alloc(s->a, (s->front.n + 1) * sizeof *ids);
    for (size_t i = 0; i < s->front.n; i++)
        s->front.ids[i] = ids[i];
    qsort(s->front.ids, s->front.n, sizeof *ids, by_value);
    return V_OK;
}

static bool holds(const struct ids *set, int64_t id) {
    return set->n && bsearch(&id, set->ids, set->n, sizeof id, by_value) != NULL;
}

static void unite(struct gathering *g) {
    struct ids *set = &g->ids;
    if (set->n)
        qsort(set->ids, set->n, sizeof *set->ids, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < set->n; i++)
        if (kept == 0 || set->ids[kept - 1] != set->ids[i])
            set->ids[kept++] = set->ids[i];
    set->n = kept;
}

static void intersect(struct ids *set, const struct ids *with) {
    size_t kept = 0;
    for (size_t i = 0; i < set->n; i++)
        if (holds(with, set->ids[i]))
            set->ids[kept++] = set->ids[i];
    set->n = kept;
}

static bool only_sets(const struct search_group *g) {
    for (size_t i = 0; i < g->n; i++)
        if (g->tags[i].kind != TAG_STORY && g->tags[i].kind != TAG_FRONT_PAGE)
            return false;
    return g->n > 0;
}

static enum verdict find_sets(struct search *s) {
    for (size_t i = 0; i < s->q->n_groups; i++) {
        const struct search_group *g = &s->q->groups[i];
        if (!only_sets(g))
            continue;
        struct gathering all = {.a = s->a};
        for (size_t k = 0; k < g->n; k++) {
            enum verdict v = gather_tag(s, &g->tags[k], &all);
            if (v != V_OK)
                return v;
        }
        unite(&all);
        if (s->by_ids)
            intersect(&s->among, &all.ids);
        else
            s->among = all.ids;
        s->by_ids = s->group_is_exact[i] = true;
    }
    return V_OK;
}

/* Times --------------------------------------------------------------------------------------- */

struct times {
    int64_t t[TIME_SAMPLE];
    size_t n;
};

static enum verdict take_time(void *ctx, const struct db_row *row) {
    struct times *t = ctx;
    if (t->n < TIME_SAMPLE)
        t->t[t->n++] = db_row_int(row, 0);
    return V_OK;
}

/* The lowest id, more or less, from which on things are as young as `instant`. */
static enum verdict id_at(struct search *s, int64_t instant, int64_t lo, int64_t hi, int64_t *ret) {
    while (lo <= hi) {
        int64_t mid = lo + (hi - lo) / 2;
        struct times t = {.n = 0};
        enum verdict v = db_run(s->s->db, SQL_SEARCH_TIMES, DB_VALS(DBI(mid)), take_time, &t, s->e);
        if (v != V_OK)
            return v;
        if (t.n)
            qsort(t.t, t.n, sizeof t.t[0], by_value);
        if (t.n && t.t[t.n / 2] < instant)
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    *ret = lo;
    return V_OK;
}

static enum verdict find_times(struct search *s) {
    const struct search_query *q = s->q;
    int64_t lo = s->lo, hi = s->hi, at = 0;
    s->sure_lo = s->lo;
    s->sure_hi = s->hi;
    if (q->time_lo != I64_NONE) {
        enum verdict v = id_at(s, q->time_lo, lo, hi, &at);
        if (v != V_OK)
            return v;
        s->lo = at - TIME_SLACK > lo ? at - TIME_SLACK : lo;
        s->sure_lo = at + TIME_SLACK;
    }
    if (q->time_hi != I64_NONE && q->time_hi < INT64_MAX) {
        enum verdict v = id_at(s, q->time_hi + 1, lo, hi, &at);
        if (v != V_OK)
            return v;
        s->hi = at + TIME_SLACK < hi ? at + TIME_SLACK : hi;
        s->sure_hi = at - TIME_SLACK;
    }
    return V_OK;
}

static enum verdict take_bounds(void *ctx, const struct db_row *row) {
    struct search *s = ctx;
    s->first = db_row_int(row, 0);
    s->last = db_row_int(row, 1);
    return V_OK;
}

enum verdict search_find_bounds(struct search *s) {
    s->first = DB_NULL;
    enum verdict v = db_run(s->s->db, SQL_SEARCH_BOUNDS, DB_NO_VALS, take_bounds, s, s->e);
    if (v == V_OK && s->first == DB_NULL) {
        s->first = 1;
        s->last = 0;
    }
    s->lo = s->first;
    s->hi = s->last;
    if (v == V_OK)
        v = find_sets(s);
    if (v == V_OK && s->by_ids) {
        s->lo = s->among.n ? s->among.ids[0] : 1;
        s->hi = s->among.n ? s->among.ids[s->among.n - 1] : 0;
    }
    return v == V_OK ? find_times(s) : v;
}

/* One by one ---------------------------------------------------------------------------------- */

static bool within(int64_t value, int64_t lo, int64_t hi) {
    if (lo == I64_NONE && hi == I64_NONE)
        return true;
    return value != I64_NONE && (lo == I64_NONE || value >= lo) && (hi == I64_NONE || value <= hi);
}

static bool tag_holds(const struct search *s, const struct search_tag *t, const struct item *it,
                      int64_t story_id) {
    unsigned kind = search_kind_of(it->type);
    switch (t->kind) {
    case TAG_KIND:
        return (kind & (t->kinds ? t->kinds : SEARCH_ANY)) != 0;
    case TAG_SHOW_HN:
        return kind == SEARCH_STORY && search_is_show(it->title);
    case TAG_ASK_HN:
        return kind == SEARCH_STORY && search_is_ask(it->title);
    case TAG_AUTHOR:
        return it->by.p && str_eq(it->by, t->name);
    case TAG_STORY:
        return it->id == t->id || story_id == t->id;
    default:
        return holds(&s->front, it->id);
    }
}

static bool groups_hold(const struct search *s, const struct item *it, int64_t story_id) {
    for (size_t i = 0; i < s->q->n_groups; i++) {
        const struct search_group *g = &s->q->groups[i];
        bool any = only_sets(g); /* `among` decided it */
        for (size_t k = 0; k < g->n && !any; k++)
            any = tag_holds(s, &g->tags[k], it, story_id);
        if (!any)
            return false;
    }
    return true;
}

bool search_passes(const struct search *s, const struct item *it, int64_t story_id) {
    const struct search_query *q = s->q;
    if (!q->with_dead && (it->dead || it->deleted))
        return false;
    return within(it->time, q->time_lo, q->time_hi) &&
           within(it->score, q->points_lo, q->points_hi) &&
           within(it->descendants, q->comments_lo, q->comments_hi) && groups_hold(s, it, story_id);
}

static bool asks_numbers(const struct search_query *q) {
    return q->points_lo != I64_NONE || q->points_hi != I64_NONE || q->comments_lo != I64_NONE ||
           q->comments_hi != I64_NONE;
}

static bool groups_are_exact(const struct search *s) {
    for (size_t i = 0; i < s->q->n_groups; i++)
        if (!s->group_is_exact[i])
            return false;
    return true;
}

struct looking {
    struct search *s;
    struct candidate *c; /* descending */
    size_t n;
};

static int by_id_down(const void *x, const void *y) {
    int64_t a = ((const struct candidate *)x)->id, b = ((const struct candidate *)y)->id;
    return a < b ? 1 : a > b ? -1 : 0;
}

static struct candidate *candidate_of(const struct looking *l, const struct db_row *row) {
    struct candidate key = {.id = db_row_int(row, 0)};
    return bsearch(&key, l->c, l->n, sizeof key, by_id_down);
}

static enum verdict take_points(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    struct candidate *c = candidate_of(l, row);
    const struct search_query *q = l->s->q;
    int64_t points = db_row_int(row, 1), comments = db_row_int(row, 2);
    if (!c)
        return V_OK;
    c->points = points == DB_NULL ? 0 : points;
    c->comments = comments == DB_NULL ? 0 : comments;
    c->passes = within(points, q->points_lo, q->points_hi) &&
                within(comments, q->comments_lo, q->comments_hi);
    return V_OK;
}

static enum verdict take_facts(void *ctx, const struct db_row *row) {
    struct looking *l = ctx;
    struct candidate *c = candidate_of(l, row);
    if (!c)
        return V_OK;
    const struct item it = {.id = c->id,
                            .type = db_row_text(row, 1),
                            .by = db_row_text(row, 2),
                            .time = db_row_int(row, 3),
                            .score = db_row_int(row, 4),
                            .descendants = db_row_int(row, 5),
                            .dead = db_row_int(row, 6) == 1,
                            .title = db_row_text(row, 7)};
    c->passes = search_passes(l->s, &it, db_row_int(row, 8));
    return V_OK;
}

/* Asks for those that do not pass yet; the rows decide about them. */
static enum verdict look(struct looking *l, int stmt, db_row_fn *fn) {
    int64_t *ids = xmalloc((l->n + 1) * sizeof *ids);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (!l->c[i].passes)
            ids[n++] = l->c[i].id;
    const struct db_col cols[] = {DB_INTS(ids)};
    enum verdict v = n ? db_each(l->s->s->db, stmt, cols, 1, n, fn, l, l->s->e) : V_OK;
    free(ids);
    return v;
}

static void keep_passing(struct candidates *c, size_t from) {
    size_t n = from;
    for (size_t i = from; i < c->n; i++)
        if (c->c[i].passes)
            c->c[n++] = c->c[i];
    c->n = n;
}

static enum verdict filter_by(struct search *s, struct candidates *c, size_t from, int stmt,
                              db_row_fn *fn) {
    if (from == c->n)
        return V_OK;
    struct looking l = {.s = s, .c = c->c + from, .n = c->n - from};
    enum verdict v = look(&l, stmt, fn);
    keep_passing(c, from);
    return v;
}

/* Points first: they have an index of their own, and leave little over. */
enum verdict search_filter(struct search *s, struct candidates *c, size_t from) {
    for (size_t i = from; i < c->n; i++)
        c->c[i].passes = !s->by_ids || holds(&s->among, c->c[i].id);
    keep_passing(c, from);
    if (asks_numbers(s->q)) {
        for (size_t i = from; i < c->n; i++)
            c->c[i].passes = false;
        enum verdict v = filter_by(s, c, from, SQL_SEARCH_POINTS, take_points);
        if (v != V_OK)
            return v;
    }
    bool exact = groups_are_exact(s);
    for (size_t i = from; i < c->n; i++) /* without an index nothing is known of it */
        c->c[i].passes = exact && c->c[i].index != N_INDEXES && c->c[i].id >= s->sure_lo &&
                         c->c[i].id <= s->sure_hi;
    return filter_by(s, c, from, SQL_SEARCH_FACTS, take_facts);
}

enum verdict search_read_points(struct search *s, struct candidate *c, size_t n) {
    qsort(c, n, sizeof *c, by_id_down);
    for (size_t i = 0; i < n; i++)
        c[i].passes = false;
    struct looking l = {.s = s, .c = c, .n = n};
    return look(&l, SQL_SEARCH_POINTS, take_points);
}
