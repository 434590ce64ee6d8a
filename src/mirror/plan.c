#include "mirror/plan.h"

#include "store/status.h"

#include <stdlib.h>

#define PLAN_AHEAD 64 /* segments made at once: rows grow with trouble, not with the corpus */

static struct segment_view view_of(const struct segment_row *row, int64_t blocked_at) {
    return (struct segment_view){
        .ids = {row->start_id, row->end_id},
        .done = row->status == SEG_DONE && blocked_at == 0,
        .cursor = row->cursor,
        .blocked_at = blocked_at,
    };
}

static struct frontier compute(int64_t floor, const struct segment_list *l) {
    CLEANUP(free_ptr) struct segment_view *views = xcalloc(l->n, sizeof *views);
    struct frontier f;
    for (size_t i = 0; i < l->n; i++)
        views[i] = view_of(&l->rows[i], l->rows[i].blocked_at);
    f.id = frontier_of(floor, views, l->n);
    for (size_t i = 0; i < l->n; i++) {
        views[i] = view_of(&l->rows[i], l->rows[i].hard_at);
        /* a segment that has only ladders left counts as done for this figure */
        if (l->rows[i].cursor == l->rows[i].end_id && l->rows[i].hard_at == 0)
            views[i].done = true;
    }
    f.excluding_waiting = frontier_of(floor, views, l->n);
    for (size_t i = 0; i < l->n; i++) {
        views[i] = view_of(&l->rows[i], 0);
        views[i].done = l->rows[i].cursor == l->rows[i].end_id;
    }
    f.scanned = frontier_of(floor, views, l->n);
    return f;
}

/* A segment below the floor is a floor that somebody moved: the archive begins with the segment. */
static int64_t floor_of(const struct archive_state *st, const struct segment_list *l) {
    int64_t floor = st->floor_id > 0 ? st->floor_id : 1;
    return l->n && l->rows[0].start_id < floor ? l->rows[0].start_id : floor;
}

enum verdict plan_frontier(struct store *s, struct frontier *ret, struct err *e) {
    CLEANUP(segment_list_release) struct segment_list list = {0};
    struct archive_state state;
    enum verdict v = store_state(s, &state, e);
    if (v == V_OK)
        v = store_segments(s, PURPOSE_MIRROR, &list, e);
    if (v == V_OK)
        *ret = compute(floor_of(&state, &list), &list);
    return v;
}

static bool mergeable(const struct segment_row *row) {
    return row->status == SEG_DONE && row->unresolved == 0 && row->blocked_at == 0;
}

/* Runs of done neighbours become one row each; `list` is brought up to date. */
static enum verdict merge(struct store *s, struct segment_list *list, int64_t *ret_merged,
                          struct err *e) {
    size_t kept = 0;
    enum verdict v = V_OK;
    for (size_t i = 0; i < list->n && v == V_OK;) {
        struct segment_row row = list->rows[i];
        size_t j = i + 1;
        int64_t end = row.end_id;
        while (mergeable(&row) && j < list->n && mergeable(&list->rows[j]) &&
               list->rows[j].start_id == end + 1)
            end = list->rows[j++].end_id;
        if (j > i + 1) {
            v = store_merge(s, &row, end, e);
            *ret_merged += (int64_t)(j - i - 1);
            row.end_id = row.cursor = end;
        }
        list->rows[kept++] = row;
        i = j;
    }
    list->n = kept;
    return v;
}

/* With the planners' lock held nobody else can cover them meanwhile; should one conflict all the
 * same, the next step sees the gap again. */
static enum verdict add_segments(struct store *s, enum purpose purpose, const struct range *cuts,
                                 size_t n, struct plan_report *ret, struct err *e) {
    CLEANUP(free_ptr) int64_t *starts = xcalloc(n, sizeof *starts);
    CLEANUP(free_ptr) int64_t *ends = xcalloc(n, sizeof *ends);
    for (size_t i = 0; i < n; i++) {
        starts[i] = cuts[i].lo;
        ends[i] = cuts[i].hi;
    }
    int64_t added;
    enum verdict v = store_add_segments(s, purpose, starts, ends, n, &added, e);
    ret->planned_new += added;
    return v;
}

/* Cuts ranges into at most `max` segments and adds them. */
static enum verdict add_cuts(struct store *s, enum purpose purpose, int64_t width,
                             const struct range *ranges, size_t n_ranges, size_t max,
                             struct plan_report *ret, struct err *e) {
    CLEANUP(free_ptr) struct range *cuts = xcalloc(max, sizeof *cuts);
    size_t n = ranges_cut(ranges, n_ranges, width, cuts, max);
    ret->all_planned = ranges_count(cuts, n) == ranges_count(ranges, n_ranges);
    return add_segments(s, purpose, cuts, n, ret, e);
}

/* What of `window` the listed segments leave uncovered. The caller frees. */
static struct range *gaps_of(struct range window, const struct segment_list *list, size_t *ret_n) {
    CLEANUP(free_ptr) struct range *covered = xcalloc(list->n, sizeof *covered);
    for (size_t i = 0; i < list->n; i++)
        covered[i] = (struct range){list->rows[i].start_id, list->rows[i].end_id};
    struct range *gaps = xcalloc(list->n + 1, sizeof *gaps);
    *ret_n = ranges_gaps(window, covered, list->n, gaps, list->n + 1);
    return gaps;
}

static int64_t covered_ids(const struct plan *p, const struct segment_list *list) {
    int64_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        int64_t lo = list->rows[i].start_id, hi = list->rows[i].cursor;
        lo = lo < p->window.lo ? p->window.lo : lo;
        hi = hi > p->window.hi ? p->window.hi : hi;
        n += hi >= lo ? hi - lo + 1 : 0;
    }
    return n;
}

static enum verdict plan_mirror(struct store *s, const struct plan *p,
                                const struct segment_list *list, struct plan_report *ret,
                                struct err *e) {
    size_t n_gaps;
    CLEANUP(free_ptr) struct range *gaps = gaps_of(p->window, list, &n_gaps);
    ret->all_planned = n_gaps == 0;
    if (n_gaps == 0)
        return V_OK;
    return add_cuts(s, PURPOSE_MIRROR, p->width, gaps, n_gaps, PLAN_AHEAD, ret, e);
}

static int64_t pending_above(const struct segment_list *list, int64_t id) {
    int64_t n = 0;
    for (size_t i = list->n; i-- > 0 && list->rows[i].start_id > id;)
        n += list->rows[i].status == SEG_PENDING;
    return n;
}

/* From the newest gap down, until enough is pending above. */
static enum verdict plan_down(struct store *s, const struct plan *p,
                              const struct segment_list *list, int64_t others, int low_water,
                              struct plan_report *ret, struct err *e) {
    size_t n_gaps, n = 0;
    struct range cuts[PLAN_AHEAD];
    CLEANUP(free_ptr) struct range *gaps = gaps_of(p->window, list, &n_gaps);
    for (size_t i = n_gaps; i-- > 0;) {
        int64_t ahead = pending_above(list, gaps[i].hi) + (int64_t)n;
        bool history = gaps[i].hi < p->window.hi;
        if (ahead >= low_water || ahead >= PLAN_AHEAD || (history && others > 0))
            break;
        n += ranges_cut_down(&gaps[i], 1, p->width, cuts + n, (size_t)(PLAN_AHEAD - ahead));
    }
    ret->all_planned = ranges_count(cuts, n) == ranges_count(gaps, n_gaps);
    return n ? add_segments(s, PURPOSE_MIRROR, cuts, n, ret, e) : V_OK;
}

/* Pending segments that are not the mirror's. */
static int64_t others_of(const struct plan *p, const struct segment_list *list, int64_t pending) {
    for (size_t i = 0; i < list->n; i++) {
        const struct segment_row *row = &list->rows[i];
        pending -= row->status == SEG_PENDING && row->start_id >= p->window.lo &&
                   row->end_id <= p->window.hi;
    }
    return pending;
}

static int64_t recent_from(int64_t anchor, const struct segment_list *list) {
    int64_t from = anchor + 1;
    for (size_t i = list->n; i-- > 0 && anchor;) {
        if (list->rows[i].start_id > anchor)
            continue;
        if (list->rows[i].cursor < from - 1)
            break;
        from = list->rows[i].start_id;
    }
    return anchor ? from : 0;
}

static bool clip(struct range window, const struct segment_row *row, struct range *ret) {
    ret->lo = row->start_id > window.lo ? row->start_id : window.lo;
    ret->hi = row->cursor < window.hi ? row->cursor : window.hi;
    return ret->lo <= ret->hi;
}

/* What the mirror has of the window becomes replay segments, a few at a time, except where an
 * unfinished one of another run stands. What it does not have yet is fetched for the first time
 * anyway. */
static enum verdict plan_replay(struct store *s, const struct plan *p,
                                const struct segment_list *mirror, struct plan_report *ret,
                                struct err *e) {
    CLEANUP(segment_list_release) struct segment_list replays = {0};
    enum verdict v = V_OK;
    if (p->replay_next == 0)
        v = store_forget_replays(s, p->window.lo, p->window.hi, e);
    if (v == V_OK)
        v = store_segments(s, PURPOSE_REPLAY, &replays, e);
    const struct range rest = {p->replay_next ? p->replay_next : p->window.lo, p->window.hi};
    int64_t left = PLAN_AHEAD;
    for (size_t i = 0; i < mirror->n && v == V_OK && left > 0; i++) {
        struct range part;
        if (!clip(rest, &mirror->rows[i], &part))
            continue;
        if (part.hi - part.lo >= left * p->width)
            part.hi = part.lo + left * p->width - 1;
        left -= (part.hi - part.lo) / p->width + 1;
        size_t n_gaps;
        CLEANUP(free_ptr) struct range *gaps = gaps_of(part, &replays, &n_gaps);
        if (n_gaps)
            v = add_cuts(s, PURPOSE_REPLAY, p->width, gaps, n_gaps, PLAN_AHEAD + n_gaps, ret, e);
        ret->replay_next = part.hi + 1;
    }
    if (left > 0)
        ret->replay_next = p->window.hi + 1;
    return v;
}

/* A pending segment that only partly lies in the window is cut at the window's edges. */
static enum verdict cut_to_window(struct store *s, const struct plan *p,
                                  const struct segment_list *mirror, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; i < mirror->n && v == V_OK; i++) {
        struct segment_row row = mirror->rows[i];
        if (row.status != SEG_PENDING || row.start_id > p->window.hi || row.end_id < p->window.lo)
            continue;
        if (row.end_id > p->window.hi) {
            v = store_split(s, &row, p->window.hi + 1, e);
            row.end_id = p->window.hi;
            row.cursor = row.cursor < row.end_id ? row.cursor : row.end_id;
        }
        if (v == V_OK && row.start_id < p->window.lo)
            v = store_split(s, &row, p->window.lo, e);
    }
    return v;
}

static enum verdict plan_locked(struct store *s, const struct plan *p, int low_water,
                                struct plan_report *ret, struct err *e) {
    CLEANUP(segment_list_release) struct segment_list list = {0};
    struct archive_state state;
    enum verdict v = store_state(s, &state, e);
    if (v == V_OK)
        v = store_segments(s, PURPOSE_MIRROR, &list, e);
    if (v == V_OK)
        v = merge(s, &list, &ret->merged, e);
    if (v == V_OK)
        v = cut_to_window(s, p, &list, e);
    ret->replay_next = p->replay_next;
    struct window_work work = {0};
    if (v == V_OK)
        v = store_window_work(s, p->window.lo, p->window.hi, &work, e);
    if (v == V_OK && p->replay && p->replay_next <= p->window.hi && work.pending < low_water)
        v = plan_replay(s, p, &list, ret, e);
    if (v == V_OK && p->newest_first)
        v = plan_down(s, p, &list, others_of(p, &list, work.pending), low_water, ret, e);
    else if (v == V_OK && work.pending < low_water)
        v = plan_mirror(s, p, &list, ret, e);
    if (v != V_OK)
        return v;
    ret->covered = covered_ids(p, &list);
    ret->recent_from = recent_from(p->anchor, &list);
    ret->frontier = compute(floor_of(&state, &list), &list);
    return store_set_frontier(s, ret->frontier.id, ret->frontier.excluding_waiting, e);
}

/* More new ids than a segment holds are not what a second brings: someone was blind, and what is
 * said of the newest stretch has to begin above that. */
static void set_anchor(struct plan *p) {
    bool known = p->window.hi >= p->window.lo;
    if (known && (!p->anchor || p->window.hi - p->last_hi > p->width))
        p->anchor = p->window.hi;
    p->last_hi = p->window.hi;
}

enum verdict plan_step(struct store *s, struct plan *p, int low_water, struct plan_report *ret,
                       struct err *e) {
    *ret = (struct plan_report){0};
    set_anchor(p);
    enum verdict v = store_plan_begin(s, e);
    if (v != V_OK)
        return v;
    v = store_plan_end(s, plan_locked(s, p, low_water, ret, e), e);
    if (v == V_OK)
        p->replay_next = ret->replay_next;
    return v;
}

static void join(struct range *out, size_t *n, struct range r) {
    if (*n && out[*n - 1].hi + 1 == r.lo)
        out[*n - 1].hi = r.hi;
    else
        out[(*n)++] = r;
}

/* The scanned part of each segment without its holes. */
static size_t cover(const struct segment_list *list, const struct range *holes, size_t n_holes,
                    struct range *out) {
    size_t n = 0, first = 0;
    CLEANUP(free_ptr) struct range *parts = xcalloc(n_holes + 1, sizeof *parts);
    for (size_t i = 0; i < list->n; i++) {
        const struct range scanned = {list->rows[i].start_id, list->rows[i].cursor};
        size_t last = first;
        while (last < n_holes && holes[last].lo <= list->rows[i].end_id)
            last++;
        if (n_holes == PLAN_MAX_HOLES && last == n_holes && list->rows[i].blocked_at)
            break;
        size_t n_parts = scanned.lo > scanned.hi ? 0
                                                 : ranges_gaps(scanned, holes + first, last - first,
                                                               parts, last - first + 1);
        for (size_t k = 0; k < n_parts; k++)
            join(out, &n, parts[k]);
        first = last;
    }
    return n;
}

enum verdict plan_coverage(struct store *s, struct range **ret, size_t *ret_n, struct err *e) {
    CLEANUP(segment_list_release) struct segment_list list = {0};
    CLEANUP(free_ptr) int64_t *ids = NULL;
    size_t n_ids = 0;
    enum verdict v = store_segments(s, PURPOSE_MIRROR, &list, e);
    if (v == V_OK)
        v = store_unresolved_ids(s, PLAN_MAX_HOLES, &ids, &n_ids, e);
    if (v != V_OK)
        return v;
    CLEANUP(free_ptr) struct range *holes = xcalloc(n_ids, sizeof *holes);
    for (size_t i = 0; i < n_ids; i++)
        holes[i] = (struct range){ids[i], ids[i]};
    *ret = xcalloc(list.n + n_ids + 1, sizeof **ret);
    *ret_n = cover(&list, holes, n_ids, *ret);
    return V_OK;
}
