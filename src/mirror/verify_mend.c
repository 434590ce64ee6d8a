/* Mending what a proof found. What is merely derived is computed anew in its place. What may be
 * wrong in its substance is never made to look right: the row loses its hash, which only a fetch
 * gives back, and a segment asks for that fetch. Both are written in the transaction of their page,
 * and wherever a segment got lost since, the row still says what it needs. */
#include "mirror/verify_int.h"

void spans_add(struct spans *s, int64_t id) {
    struct range *last = s->n ? &s->rows[s->n - 1] : NULL;
    if (last && id >= last->lo && id <= last->hi)
        return;
    s->ids++;
    if (last && id > last->hi && id < last->lo + VERIFY_SPAN_IDS && id - last->hi <= s->reach) {
        last->hi = id;
        return;
    }
    if (!s->rows || s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->rows = xrealloc(s->rows, s->cap * sizeof *s->rows);
    }
    s->rows[s->n++] = (struct range){id, id};
}

static enum verdict mend_derived(struct verify *v, const struct stored_item *was, struct err *e) {
    struct item now = was->item;
    item_derive(&v->arena, &now);
    return repair_derived(v->o->store, was, &now, e);
}

static enum verdict mend(struct verify *v, const struct fault *f, struct err *e) {
    struct store *s = v->o->store;
    switch ((int)f->kind) {
    case FIND_CONTENT:
    case FIND_KIDS:
        return repair_unconfirmed(s, f->item, e);
    case FIND_URL_KEY:
        return mend_derived(v, f->item, e);
    case FIND_STORY:
        return repair_story(s, f->id, e);
    case FIND_STRAY_KIDS:
        return repair_stray_kids(s, f->id, e);
    case FIND_EXCEPTION: {
        enum verdict vd = repair_exception(s, f->x, e);
        return vd == V_OK ? repair_letter(s, f->id, NULL, e) : vd;
    }
    case FIND_STRAY_EXCEPTION:
        return repair_exception(s, f->x, e);
    case FIND_DEAD_LETTER:
        return repair_letter(s, f->id, f->x, e);
    default:
        return V_OK;
    }
}

static bool is_mended_in_place(enum finding_kind kind) {
    switch ((int)kind) {
    case FIND_STRAY_KIDS:
    case FIND_URL_KEY:
    case FIND_STORY:
    case FIND_EXCEPTION:
    case FIND_STRAY_EXCEPTION:
    case FIND_DEAD_LETTER:
        return true;
    default:
        return false;
    }
}

/* Has the segment the id before it, or as something that waits, or among its dead letters? Those
 * are for a person to replay. */
static bool holds(const struct segment_facts *s, const struct verify_page *p, int64_t id) {
    if (id < s->start_id || id > s->end_id)
        return false;
    if (s->cursor < id)
        return true;
    for (size_t i = 0; i < p->n_exceptions; i++)
        if (p->exceptions[i].id == id && p->exceptions[i].segment_id == s->segment_id &&
            p->exceptions[i].state != EXC_TERMINAL_MISSING)
            return true;
    return false;
}

static void want(struct verify *v, const struct segment_facts_list *open, enum purpose purpose,
                 int64_t id) {
    for (size_t i = 0; i < open->n; i++)
        if (open->rows[i].purpose == purpose && holds(&open->rows[i], &v->page, id))
            return;
    spans_add(purpose == PURPOSE_GAP ? &v->gaps : &v->rescans, id);
}

/* Ids of the page that have to be fetched and that no open repair is going to fetch. */
static enum verdict collect_spans(struct verify *v, struct err *e) {
    CLEANUP(segment_facts_release) struct segment_facts_list open = {0};
    enum verdict vd = store_repairs_in(v->o->store, v->page.lo, v->page.hi, &open, e);
    v->gaps.n = v->rescans.n = 0;
    v->gaps.ids = v->rescans.ids = 0;
    for (size_t i = 0; i < v->faults.n && vd == V_OK; i++) {
        const struct fault *f = &v->faults.rows[i];
        if (f->kind == FIND_MISSING)
            want(v, &open, PURPOSE_GAP, f->id);
        if (f->kind == FIND_CONTENT || f->kind == FIND_KIDS || f->kind == FIND_UNCONFIRMED)
            want(v, &open, PURPOSE_RESCAN, f->id);
    }
    return vd;
}

static enum verdict add_segments(struct verify *v, enum purpose purpose, const struct spans *spans,
                                 struct err *e) {
    if (spans->n == 0)
        return V_OK;
    CLEANUP(free_ptr) int64_t *starts = xcalloc(spans->n, sizeof *starts);
    CLEANUP(free_ptr) int64_t *ends = xcalloc(spans->n, sizeof *ends);
    for (size_t i = 0; i < spans->n; i++) {
        starts[i] = spans->rows[i].lo;
        ends[i] = spans->rows[i].hi;
    }
    int64_t added;
    return store_add_segments(v->o->store, purpose, starts, ends, spans->n, &added, e);
}

static enum verdict add_spans(struct verify *v, struct err *e) {
    enum verdict vd = add_segments(v, PURPOSE_GAP, &v->gaps, e);
    return vd == V_OK ? add_segments(v, PURPOSE_RESCAN, &v->rescans, e) : vd;
}

static void count_spans(struct verify *v) {
    v->r->gap_ids += v->gaps.ids;
    v->r->rescan_ids += v->rescans.ids;
    v->r->gap_segments += (int64_t)v->gaps.n;
    v->r->rescan_segments += (int64_t)v->rescans.n;
}

enum verdict verify_mend_page(struct verify *v, bool *ret_stories, struct err *e) {
    int64_t mended = 0;
    *ret_stories = false;
    enum verdict vd = store_plan_begin(v->o->store, e);
    if (vd != V_OK)
        return vd;
    for (size_t i = 0; i < v->faults.n && vd == V_OK; i++) {
        const struct fault *f = &v->faults.rows[i];
        vd = mend(v, f, e);
        mended += is_mended_in_place(f->kind);
        *ret_stories = *ret_stories || f->kind == FIND_STORY;
    }
    if (vd == V_OK)
        vd = collect_spans(v, e);
    if (vd == V_OK)
        vd = add_spans(v, e);
    vd = store_plan_end(v->o->store, vd, e);
    if (vd != V_OK)
        return vd;
    v->r->mended += mended;
    count_spans(v);
    return V_OK;
}

enum verdict verify_mend_sample(struct verify *v, struct err *e) {
    int tries = 0;
    enum verdict vd;
    if (v->rescans.n == 0)
        return V_OK;
    v->gaps.n = 0;
    v->gaps.ids = 0;
    do {
        vd = store_plan_begin(v->o->store, e);
        if (vd == V_OK)
            vd = store_plan_end(v->o->store, add_spans(v, e), e);
    } while (verify_again(v, vd, &tries, e));
    if (vd == V_OK)
        count_spans(v);
    return vd;
}

/* Overlaps from left to right; a trimmed segment may still reach into the next one. */
static enum verdict mend_overlaps(struct verify *v, struct segment_facts_list *l, struct err *e) {
    const struct segment_facts *widest = NULL;
    enum verdict vd = V_OK;
    for (size_t i = 0; i < l->n && vd == V_OK; i++) {
        struct segment_facts *s = &l->rows[i];
        if (s->purpose != PURPOSE_MIRROR)
            continue;
        if (widest && s->start_id <= widest->end_id) {
            vd = repair_overlap(v->o->store, widest, s, e);
            v->r->mended++;
        }
        if (!widest || s->end_id > widest->end_id)
            widest = s;
    }
    return vd;
}

/* A repair may put ids before the frontier again: it is written as it is now. */
static enum verdict mend_state(struct verify *v, struct err *e) {
    struct frontier now;
    enum verdict vd = repair_state(v->o->store, v->lowest, e);
    if (vd == V_OK)
        vd = plan_frontier(v->o->store, &now, e);
    if (vd == V_OK)
        vd = store_set_frontier(v->o->store, now.id, now.excluding_waiting, e);
    return vd;
}

static enum verdict mend_segments(struct verify *v, struct err *e) {
    CLEANUP(segment_facts_release) struct segment_facts_list facts = {0};
    enum verdict vd = store_plan_begin(v->o->store, e);
    if (vd != V_OK)
        return vd;
    vd = store_segment_facts(v->o->store, &facts, e);
    if (vd == V_OK)
        vd = mend_overlaps(v, &facts, e);
    if (vd == V_OK)
        vd = repair_segments(v->o->store, e);
    if (vd == V_OK && v->r->found[FIND_ID].count)
        vd = repair_impossible(v->o->store, e);
    if (vd == V_OK)
        vd = mend_state(v, e);
    return store_plan_end(v->o->store, vd, e);
}

enum verdict verify_mend_segments(struct verify *v, struct err *e) {
    int tries = 0;
    enum verdict vd;
    do {
        vd = store_reclaim(v->o->store, e); /* leases of the dead */
        if (vd == V_OK)
            vd = mend_segments(v, e);
    } while (verify_again(v, vd, &tries, e));
    if (vd == V_OK)
        v->r->mended += v->r->found[FIND_CURSOR].count + v->r->found[FIND_UNRESOLVED_COUNT].count +
                        v->r->found[FIND_LEASE].count + v->r->found[FIND_STATE].count +
                        v->r->found[FIND_ID].count;
    return vd;
}
