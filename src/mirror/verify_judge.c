/* What is wrong with a page. Pure: everything comes from the page and from what the segments claim.
 */
#include "mirror/verify_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct fault *fault_add(struct fault_list *l, enum finding_kind kind, int64_t id, const char *fmt,
                        ...) {
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->rows = xrealloc(l->rows, l->cap * sizeof *l->rows);
    }
    struct fault *f = &l->rows[l->n++];
    *f = (struct fault){.kind = kind, .id = id, .end_id = id};
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->detail, sizeof f->detail, fmt, args);
    va_end(args);
    return f;
}

struct judging {
    const struct verify_page *p;
    const struct claimed *c;
    struct arena *a;
    struct page_counts *counts;
    struct fault_list *out;
};

/* What an id without an item says for itself. */
static void judge_absent(struct judging *j, int64_t id, const struct stored_exception *x,
                         size_t n) {
    bool missing = false, unresolved = false;
    for (size_t i = 0; i < n; i++) {
        missing = missing || x[i].state == EXC_TERMINAL_MISSING;
        unresolved = unresolved || x[i].purpose == PURPOSE_MIRROR;
    }
    if (missing)
        j->counts->missing++;
    else if (n > 0 && (unresolved || id > j->c->frontier))
        j->counts->unresolved++;
    else if (n > 0 && x[0].purpose >= 0)
        fault_add(j->out, FIND_MISSING, id, "no item; a %s segment has not settled it yet",
                  purpose_names[x[0].purpose]);
    else
        fault_add(j->out, FIND_MISSING, id, "no item, and no exception that says why");
}

static void judge_ids_in(struct judging *j, struct range r) {
    const struct verify_page *p = j->p;
    size_t item = 0, x = 0;
    for (int64_t id = r.lo; id <= r.hi; id++) {
        while (item < p->n_items && p->items[item].item.id < id)
            item++;
        while (x < p->n_exceptions && p->exceptions[x].id < id)
            x++;
        size_t n = 0;
        while (x + n < p->n_exceptions && p->exceptions[x + n].id == id)
            n++;
        j->counts->ids++;
        if (item == p->n_items || p->items[item].item.id != id)
            judge_absent(j, id, n ? &p->exceptions[x] : NULL, n);
    }
}

static void judge_ids(struct judging *j) {
    for (size_t i = 0; i < j->c->n; i++) {
        struct range r = j->c->scanned[i];
        r.lo = r.lo > j->p->lo ? r.lo : j->p->lo;
        r.hi = r.hi < j->p->hi ? r.hi : j->p->hi;
        if (r.lo <= r.hi)
            judge_ids_in(j, r);
    }
}

/* Does the row give its hashes? One that a repair took the hash from is not asked: nothing but a
 * fetch can say. */
static void judge_content(struct judging *j, const struct stored_item *s, const struct item *now) {
    int64_t id = now->id;
    if (s->item.content_hash == ITEM_UNCONFIRMED) {
        fault_add(j->out, FIND_UNCONFIRMED, id, "not believed until it has been fetched again")
            ->item = s;
        return;
    }
    if (s->parts_unreadable)
        fault_add(j->out, FIND_CONTENT, id, "its parts cannot be read")->item = s;
    else if (now->content_hash != s->item.content_hash)
        fault_add(j->out, FIND_CONTENT, id, "stored %" PRId64 ", the row gives %" PRId64,
                  s->item.content_hash, now->content_hash)
            ->item = s;
    if (now->kids_hash != s->item.kids_hash)
        fault_add(j->out, FIND_KIDS, id, "stored %" PRId64 ", its %zu kids give %" PRId64,
                  s->item.kids_hash, now->n_kids, now->kids_hash)
            ->item = s;
}

static void judge_derived(struct judging *j, const struct stored_item *s) {
    struct item now = s->item;
    item_derive(j->a, &now);
    judge_content(j, s, &now);
    if (!str_eq(now.url_key, s->item.url_key) || !str_eq(now.domain, s->item.domain))
        fault_add(j->out, FIND_URL_KEY, now.id, "stored '%.*s', the url gives '%.*s'",
                  STR_FMT(s->item.url_key), STR_FMT(now.url_key))
            ->item = s;
}

/* Roots are themselves, others have their parent's story: none while the parent is not stored. */
static void judge_story(struct judging *j, const struct stored_item *s) {
    int64_t want = DB_NULL;
    if (item_is_root(&s->item))
        want = s->item.id;
    else if (s->parent_stored)
        want = s->parent_story;
    if (want == s->story_id)
        return;
    char have[24] = "none", wanted[24] = "none";
    if (s->story_id != DB_NULL)
        snprintf(have, sizeof have, "%" PRId64, s->story_id);
    if (want != DB_NULL)
        snprintf(wanted, sizeof wanted, "%" PRId64, want);
    fault_add(j->out, FIND_STORY, s->item.id, "stored %s, should be %s", have, wanted)->item = s;
}

static bool is_stored(const struct verify_page *p, int64_t id) {
    size_t lo = 0, hi = p->n_items;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->items[mid].item.id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < p->n_items && p->items[lo].item.id == id;
}

static bool has_letter(const struct verify_page *p, int64_t id) {
    for (size_t i = 0; i < p->n_letters; i++)
        if (p->letters[i] == id)
            return true;
    return false;
}

/* A replay or rescan that failed says nothing against the stored item; the mirror's word would. */
static void judge_exception(struct judging *j, const struct stored_exception *x) {
    bool final = x->state == EXC_TERMINAL_MISSING || x->state == EXC_DEAD_LETTER;
    bool mirror = x->purpose == PURPOSE_MIRROR || x->purpose == PURPOSE_GAP;
    if (x->state == EXC_N)
        fault_add(j->out, FIND_STRAY_EXCEPTION, x->id,
                  "of a state that does not exist, in segment %" PRId64, x->segment_id)
            ->x = x;
    else if (x->purpose < 0 || x->outside)
        fault_add(j->out, FIND_STRAY_EXCEPTION, x->id,
                  x->purpose < 0 ? "%s, of segment %" PRId64 ", which is not there"
                                 : "%s, of segment %" PRId64 ", which ends elsewhere",
                  exception_fsm.states[x->state], x->segment_id)
            ->x = x;
    else if (final && mirror && is_stored(j->p, x->id))
        fault_add(j->out, FIND_EXCEPTION, x->id, "stored, and %s in segment %" PRId64,
                  exception_fsm.states[x->state], x->segment_id)
            ->x = x;
    else if (x->state == EXC_DEAD_LETTER && !has_letter(j->p, x->id))
        fault_add(j->out, FIND_DEAD_LETTER, x->id, "a dead letter without its row in the queue")
            ->x = x;
}

static void judge_letter(struct judging *j, int64_t id) {
    for (size_t i = 0; i < j->p->n_exceptions; i++)
        if (j->p->exceptions[i].id == id && j->p->exceptions[i].state != EXC_TERMINAL_MISSING)
            return;
    fault_add(j->out, FIND_DEAD_LETTER, id, "in the queue of dead letters, but %s",
              is_stored(j->p, id) ? "stored" : "no segment waits for it");
}

void judge_page(const struct verify_page *p, const struct claimed *c, struct arena *a,
                struct page_counts *counts, struct fault_list *out) {
    struct judging j = {p, c, a, counts, out};
    judge_ids(&j);
    for (size_t i = 0; i < p->n_items; i++) {
        judge_derived(&j, &p->items[i]);
        judge_story(&j, &p->items[i]);
    }
    for (size_t i = 0; i < p->n_exceptions; i++)
        judge_exception(&j, &p->exceptions[i]);
    for (size_t i = 0; i < p->n_letters; i++)
        judge_letter(&j, p->letters[i]);
    for (size_t i = 0; i < p->n_stray_kids; i++)
        fault_add(out, FIND_STRAY_KIDS, p->stray_kids[i], "kids of an item that is not stored");
}

/* A done segment claims all of its ids, wherever its cursor stands. */
struct claimed claimed_of(const struct segment_facts_list *l, int64_t frontier) {
    struct claimed c = {.scanned = xcalloc(l->n + 1, sizeof *c.scanned), .frontier = frontier};
    for (size_t i = 0; i < l->n; i++) {
        const struct segment_facts *s = &l->rows[i];
        struct range r = {s->start_id, s->status == SEG_DONE ? s->end_id : s->cursor};
        if (s->purpose != PURPOSE_MIRROR || r.lo > r.hi)
            continue;
        struct range *last = c.n ? &c.scanned[c.n - 1] : NULL;
        if (last && r.lo <= last->hi + 1)
            last->hi = r.hi > last->hi ? r.hi : last->hi;
        else
            c.scanned[c.n++] = r;
    }
    return c;
}

void judge_state(const struct archive_state *st, const struct segment_facts_list *l,
                 const struct frontier *now, bool excused, struct fault_list *out) {
    int64_t lowest = 0;
    for (size_t i = 0; i < l->n && lowest == 0; i++)
        if (l->rows[i].purpose == PURPOSE_MIRROR)
            lowest = l->rows[i].start_id;
    if (!st->present)
        fault_add(out, FIND_STATE, lowest, "its row is gone");
    else if (lowest && st->floor_id > lowest)
        fault_add(out, FIND_STATE, st->floor_id,
                  "floor %" PRId64 ", the segments begin at %" PRId64, st->floor_id, lowest);
    if (st->frontier_id > now->id && !excused)
        fault_add(out, FIND_STATE, st->frontier_id,
                  "frontier %" PRId64 ", the segments prove %" PRId64, st->frontier_id, now->id);
}

static void judge_segment(const struct segment_facts *s, struct fault_list *out) {
    size_t before = out->n;
    bool rests =
        s->status == SEG_DONE || s->status == SEG_RETRY_WAIT || s->status == SEG_DEAD_LETTER;
    const char *status = segment_fsm.states[s->status], *purpose = purpose_names[s->purpose];
    if (rests && s->cursor < s->end_id)
        fault_add(out, FIND_CURSOR, s->start_id, "%s segment %" PRId64 " is %s at %" PRId64,
                  purpose, s->segment_id, status, s->cursor);
    /* one that was set to pending by hand is counted by the next plan step */
    bool counts = s->unresolved == s->counted || s->unresolved == s->counted - s->pending;
    if (rests && !counts)
        fault_add(out, FIND_UNRESOLVED_COUNT, s->start_id,
                  "%s segment %" PRId64 " says %" PRId64 ", has %" PRId64, purpose, s->segment_id,
                  s->unresolved, s->counted);
    if (s->stale_lease)
        fault_add(out, FIND_LEASE, s->start_id, "%s segment %" PRId64 " is held by nobody alive",
                  purpose, s->segment_id);
    for (size_t i = before; i < out->n; i++)
        out->rows[i].end_id = s->end_id;
}

void judge_segments(const struct segment_facts_list *l, struct range bounds,
                    struct fault_list *out) {
    const struct segment_facts *widest = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct segment_facts *s = &l->rows[i];
        bool within = s->start_id <= bounds.hi && s->end_id >= bounds.lo;
        if (within)
            judge_segment(s, out);
        if (s->purpose != PURPOSE_MIRROR)
            continue;
        if (within && widest && s->start_id <= widest->end_id)
            fault_add(out, FIND_OVERLAP, s->start_id,
                      "segments %" PRId64 " and %" PRId64 " share ids", widest->segment_id,
                      s->segment_id)
                ->end_id = s->end_id < widest->end_id ? s->end_id : widest->end_id;
        if (!widest || s->end_id > widest->end_id)
            widest = s;
    }
}
