/* Every index is walked by itself, from the newest id down. How wide the next window is follows
 * from how many matches there were so far: PostgreSQL looks at all that is in it, so that should
 * not be much more than is wanted, and each window is a round trip. */
#include "store/search_doc_int.h"
#include "store/search_int.h"

#include <stdlib.h>

#define LEAST_WIDTH (INT64_C(1) << RANGE_BITS_LEAST) /* as much as a page needs, without words */
/* A word comes often enough in these to say how wide the next one has to be. */
#define WORD_WIDTH (4 * LEAST_WIDTH)
/* Thousands of stories are wanted, and this many ids have no more than that. */
#define STORY_WIDTH (INT64_C(1) << RANGE_BITS_FINE)
#define SPARE 1.25 /* rather a little too wide than once more */

static bool wants(const struct walk *w, int index) {
    const struct cursor *at = &w->at[index];
    return w->s->expr[index].use && at->got < at->need && at->next >= w->s->lo;
}

bool search_is_cut(const struct walk *w, int index) {
    return w->s->expr[index].use && w->at[index].next >= w->s->lo;
}

static size_t missing_of(const struct walk *w, int index) {
    size_t n = w->at[index].need - w->at[index].got;
    return n < SEARCH_CANDIDATES ? n : SEARCH_CANDIDATES;
}

/* Ids that hold `missing` more, when `ids` of them held `found`. */
static double ids_for(double missing, double ids, int64_t found) {
    return missing * ids / (double)(found + 1);
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static double uncounted_of(const struct cursor *at) {
    return (double)at->count - (double)at->seen;
}

static int64_t first_width(const struct walk *w, int index) {
    bool many = index == IN_STORIES && w->s->q->order == SEARCH_BY_RELEVANCE;
    return many ? STORY_WIDTH : w->s->terms.n_wanted ? WORD_WIDTH : LEAST_WIDTH;
}

/* What is found is counted by the way, where the index can do that. */
static int64_t width_of(const struct walk *w, int index) {
    const struct cursor *at = &w->at[index];
    double walked = (double)(w->s->hi - at->next), seen = (double)(w->s->hi + 1 - at->seen_lo);
    if (at->next == w->s->hi)
        return first_width(w, index);
    double width = ids_for((double)missing_of(w, index), walked, at->passed);
    if (store_is_shared(w->s->s))
        width = larger(width, ids_for(uncounted_of(at), seen, at->seen));
    width = smaller(SPARE * width, ids_for(SEARCH_CANDIDATES, walked, at->taken));
    return (int64_t)smaller(larger(width, LEAST_WIDTH), (double)(INT64_C(1) << 62));
}

/* The window that ends at hi; it begins where a range of PostgreSQL does. */
static struct search_window window_of(const struct search *s, int64_t hi, int64_t width,
                                      size_t max) {
    int64_t lo = hi - s->lo < width ? s->lo : hi - width + 1;
    lo -= lo & (LEAST_WIDTH - 1);
    return (struct search_window){.lo = lo < s->lo ? s->lo : lo, .hi = hi, .max = max};
}

/* What came of one window: moves the cursor, filters, and adds what is left. */
static enum verdict take(struct walk *w, int index, const struct search_window *win,
                         struct search_found *f) {
    struct cursor *at = &w->at[index];
    int64_t lowest = f->more && f->c.n ? f->c.c[f->c.n - 1].id : win->lo;
    bool counted = !f->more || f->matches > (int64_t)f->c.n;
    at->seen = at->taken + f->matches;
    at->seen_lo = counted ? win->lo : lowest;
    at->taken += (int64_t)f->c.n;
    at->next = lowest - 1;
    enum verdict v = search_filter(w->s, &f->c, 0);
    if (v != V_OK)
        return v;
    size_t n = missing_of(w, index);
    if (f->c.n > n)
        at->next = f->c.c[n - 1].id - 1;
    else
        n = f->c.n;
    for (size_t i = 0; i < n; i++)
        *search_add(&w->c, f->c.c[i].id, index) = f->c.c[i];
    at->got += n;
    at->passed += (int64_t)n;
    return V_OK;
}

/* By date ------------------------------------------------------------------------------------- */

static int by_date(const void *x, const void *y) {
    int64_t a = ((const struct candidate *)x)->id, b = ((const struct candidate *)y)->id;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* From here on up every index was walked. */
static int64_t frontier_of(const struct walk *w) {
    int64_t frontier = w->s->lo;
    for (int i = 0; i < N_INDEXES; i++)
        if (search_is_cut(w, i) && w->at[i].next >= frontier)
            frontier = w->at[i].next + 1;
    return frontier;
}

/* Counts what is in order, keeps of it what is on the page, and leaves the rest for later. */
static void settle(struct walk *w) {
    const struct search_query *q = w->s->q;
    int64_t frontier = frontier_of(w);
    size_t at = w->kept, n = w->c.n;
    if (n > at)
        qsort(w->c.c + at, n - at, sizeof *w->c.c, by_date);
    for (; at < n && w->c.c[at].id >= frontier && w->counted < w->count_to; at++, w->counted++)
        if (w->counted >= q->offset && w->kept < q->limit)
            w->c.c[w->kept++] = w->c.c[at];
    w->overfull = at < n && w->counted == w->count_to;
    for (int i = 0; i < N_INDEXES; i++) {
        w->at[i].got = 0;
        w->at[i].need = (size_t)(w->count_to - w->counted);
    }
    w->c.n = w->kept;
    for (; at < n; at++) {
        if (w->c.c[at].index < N_INDEXES)
            w->at[w->c.c[at].index].got++;
        w->c.c[w->c.n++] = w->c.c[at];
    }
}

/* The walk ------------------------------------------------------------------------------------ */

static bool is_late(const struct search *s) {
    return clock_mono(s->s->clock) > s->deadline;
}

/* Without a filter of ours every match is a candidate. */
static size_t max_of(const struct walk *w, int index) {
    return w->at[index].count ? missing_of(w, index) : SEARCH_CANDIDATES;
}

static bool plan_step(const struct walk *w, struct search_window win[N_INDEXES]) {
    bool any = false;
    for (int i = 0; i < N_INDEXES; i++) {
        win[i] = search_nowhere;
        if (!wants(w, i))
            continue;
        win[i] = window_of(w->s, w->at[i].next, width_of(w, i), max_of(w, i));
        any = true;
    }
    return any;
}

enum verdict search_walk(struct walk *w) {
    struct search_window win[N_INDEXES];
    enum verdict v = V_OK;
    while (v == V_OK && !is_late(w->s) && plan_step(w, win)) {
        struct search_found found[N_INDEXES] = {0};
        v = search_scan(w->s, win, found);
        for (int i = 0; i < N_INDEXES; i++) {
            if (v == V_OK && search_is_asked(&win[i]))
                v = take(w, i, &win[i], &found[i]);
            free(found[i].c.c);
        }
        if (v == V_OK && w->s->q->order == SEARCH_BY_DATE)
            settle(w);
    }
    return v;
}

enum verdict search_walk_ids(struct walk *w) {
    for (size_t i = w->s->among.n; i-- > 0;)
        search_add(&w->c, w->s->among.ids[i], N_INDEXES);
    for (int i = 0; i < N_INDEXES; i++)
        w->at[i].next = w->s->lo - 1;
    enum verdict v = search_filter(w->s, &w->c, 0);
    if (v == V_OK && w->s->q->order == SEARCH_BY_DATE)
        settle(w);
    return v;
}

/* Counting ------------------------------------------------------------------------------------- */

/* FTS5 counts from the newest on and stops by itself. */
static struct search_window window_to_count(const struct walk *w, int index) {
    const struct search *s = w->s;
    const struct cursor *at = &w->at[index];
    double walked = (double)(s->hi + 1 - at->seen_lo);
    if (!s->expr[index].use || at->seen >= (int64_t)at->count || at->seen_lo <= s->lo)
        return search_nowhere;
    double width = walked > 0 ? SPARE * ids_for(uncounted_of(at), walked, at->seen) : LEAST_WIDTH;
    width = store_is_shared(s->s) ? larger(width, LEAST_WIDTH) : (double)(INT64_C(1) << 62);
    return window_of(s, at->seen_lo - 1, (int64_t)smaller(width, (double)(INT64_C(1) << 62)),
                     (size_t)uncounted_of(at));
}

enum verdict search_walk_count(struct walk *w) {
    enum verdict v = V_OK;
    for (bool any = true; any && v == V_OK && !is_late(w->s);) {
        struct search_window win[N_INDEXES];
        int64_t n[N_INDEXES] = {0};
        any = false;
        for (int i = 0; i < N_INDEXES; i++) {
            win[i] = window_to_count(w, i);
            any |= search_is_asked(&win[i]);
        }
        v = any ? search_count(w->s, win, n) : V_OK;
        for (int i = 0; i < N_INDEXES; i++) {
            struct cursor *at = &w->at[i];
            if (!search_is_asked(&win[i]))
                continue;
            at->seen += n[i];
            at->seen_lo = n[i] < (int64_t)win[i].max ? win[i].lo : at->seen_lo;
        }
    }
    return v;
}
