/* Mending what a proof found. What is derived is computed anew in its place, so that the archive
 * agrees with itself at once; what may be wrong in its substance is fetched again by segments. */
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
    switch (f->kind) {
    case FIND_CONTENT:
    case FIND_KIDS:
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
    return kind != FIND_MISSING && kind <= FIND_DEAD_LETTER;
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
    vd = store_plan_end(v->o->store, vd, e);
    if (vd == V_OK)
        v->r->mended += mended;
    return vd;
}

static bool is_covered(const struct segment_list *l, struct range r) {
    for (size_t i = 0; i < l->n; i++)
        if (l->rows[i].start_id <= r.lo && l->rows[i].end_id >= r.hi)
            return true;
    return false;
}

/* One segment per span, unless one of an earlier repair stands there still. */
static enum verdict add_segments(struct verify *v, enum purpose purpose, const struct spans *spans,
                                 int64_t *ret_added, struct err *e) {
    CLEANUP(segment_list_release) struct segment_list open = {0};
    CLEANUP(free_ptr) int64_t *starts = xcalloc(spans->n + 1, sizeof *starts);
    CLEANUP(free_ptr) int64_t *ends = xcalloc(spans->n + 1, sizeof *ends);
    size_t n = 0;
    *ret_added = 0;
    enum verdict vd = store_segments(v->o->store, purpose, &open, e);
    if (vd != V_OK)
        return vd;
    for (size_t i = 0; i < spans->n; i++)
        if (!is_covered(&open, spans->rows[i])) {
            starts[n] = spans->rows[i].lo;
            ends[n++] = spans->rows[i].hi;
        }
    return n ? store_add_segments(v->o->store, purpose, starts, ends, n, ret_added, e) : V_OK;
}

static enum verdict flush(struct verify *v, struct err *e) {
    int64_t gaps = 0, rescans = 0;
    enum verdict vd = store_plan_begin(v->o->store, e);
    if (vd != V_OK)
        return vd;
    vd = add_segments(v, PURPOSE_GAP, &v->gaps, &gaps, e);
    if (vd == V_OK)
        vd = add_segments(v, PURPOSE_RESCAN, &v->rescans, &rescans, e);
    vd = store_plan_end(v->o->store, vd, e);
    if (vd != V_OK)
        return vd;
    v->r->gap_ids += v->gaps.ids;
    v->r->rescan_ids += v->rescans.ids;
    v->r->gap_segments += gaps;
    v->r->rescan_segments += rescans;
    v->gaps.n = v->rescans.n = 0;
    v->gaps.ids = v->rescans.ids = 0;
    return V_OK;
}

enum verdict verify_flush_spans(struct verify *v, struct err *e) {
    int tries = 0;
    enum verdict vd = V_OK;
    if (v->gaps.n + v->rescans.n == 0)
        return V_OK;
    do
        vd = flush(v, e);
    while (verify_again(v, vd, &tries, e));
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
                        v->r->found[FIND_LEASE].count;
    return vd;
}
