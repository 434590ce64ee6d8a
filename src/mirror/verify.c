#include "mirror/verify_int.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TRIES 20
#define RETRY_PAUSE_MS 500
#define MAX_STORY_ROUNDS 200 /* a thread is not that deep within a page */

const char *const finding_names[FIND_N] = {
    [FIND_MISSING] = "missing",
    [FIND_UNCONFIRMED] = "unconfirmed",
    [FIND_CONTENT] = "content_hash",
    [FIND_KIDS] = "kids",
    [FIND_STRAY_KIDS] = "stray_kids",
    [FIND_URL_KEY] = "url_key",
    [FIND_STORY] = "story_id",
    [FIND_EXCEPTION] = "exception",
    [FIND_STRAY_EXCEPTION] = "stray_exception",
    [FIND_DEAD_LETTER] = "dead_letter",
    [FIND_OVERLAP] = "overlap",
    [FIND_CURSOR] = "cursor",
    [FIND_UNRESOLVED_COUNT] = "unresolved_count",
    [FIND_LEASE] = "stale_lease",
    [FIND_STATE] = "state",
    [FIND_ID] = "id",
    [FIND_UPSTREAM] = "upstream",
};

const char *const finding_meanings[FIND_N] = {
    [FIND_MISSING] = "ids that count as settled, with neither an item nor a reason",
    [FIND_UNCONFIRMED] = "items that did not fit their hash, and were not fetched since",
    [FIND_CONTENT] = "items whose row does not give its content_hash",
    [FIND_KIDS] = "items whose kids do not give their kids_hash",
    [FIND_STRAY_KIDS] = "kids of items that are not stored",
    [FIND_URL_KEY] = "items whose url does not give url_key and domain",
    [FIND_STORY] = "items whose story_id is not that of their parent",
    [FIND_EXCEPTION] = "stored items that also count as missing or as dead letters",
    [FIND_STRAY_EXCEPTION] = "exceptions that belong to no segment, or have no state",
    [FIND_DEAD_LETTER] = "ids on which dead letters and exceptions disagree",
    [FIND_OVERLAP] = "mirror segments that share ids",
    [FIND_CURSOR] = "segments at rest before their end",
    [FIND_UNRESOLVED_COUNT] = "segments that count their unresolved ids wrongly",
    [FIND_LEASE] = "segments held by a process that is gone",
    [FIND_STATE] = "what updater_state says is not what the segments give",
    [FIND_ID] = "items with an id that cannot be",
    [FIND_UPSTREAM] = "sampled ids on which the upstream contradicts the archive",
};

int64_t verify_total(const struct verify_report *r) {
    int64_t n = 0;
    for (int k = 0; k < FIND_N; k++)
        n += r->found[k].count;
    return n;
}

bool verify_is_fine(const struct verify_report *r) {
    return verify_total(r) == 0 && sample_is_fine(&r->sample) && !r->stopped;
}

void verify_take(struct verify *v) {
    for (size_t i = 0; i < v->faults.n; i++) {
        const struct fault *f = &v->faults.rows[i];
        struct findings *found = &v->r->found[f->kind];
        found->count++;
        if (found->n == FINDINGS_LISTED)
            continue;
        struct finding *listed = &found->list[found->n++];
        listed->id = f->id;
        listed->end_id = f->end_id;
        snprintf(listed->detail, sizeof listed->detail, "%s", f->detail);
    }
    v->faults.n = 0;
}

bool verify_again(struct verify *v, enum verdict verdict, int *tries, struct err *e) {
    if (verdict != V_RETRY || ++*tries > MAX_TRIES || stop_raised(v->o->stop))
        return false;
    struct err why;
    if (*tries > 1) {
        struct pollfd stop = {.fd = v->o->stop->fd, .events = POLLIN};
        poll(&stop, 1, RETRY_PAUSE_MS);
    }
    enum verdict recovered = store_recover(v->o->store, &why);
    if (recovered != V_OK && recovered != V_RETRY)
        *e = why;
    return recovered == V_OK || recovered == V_RETRY;
}

static void tick(const struct verify *v, int64_t done, bool sampling) {
    if (!v->o->tick)
        return;
    const struct verify_view view = {
        .total = v->last - v->first + 1,
        .done = done,
        .findings = verify_total(v->r),
        .sampling = sampling,
    };
    v->o->tick(v->o->tick_arg, &view);
}

static void count_repairs(struct verify_report *r, const struct segment_facts_list *l) {
    r->open_repairs = r->dead_repairs = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool repair = l->rows[i].purpose == PURPOSE_GAP || l->rows[i].purpose == PURPOSE_RESCAN;
        r->open_repairs += repair;
        r->dead_repairs += repair && l->rows[i].status == SEG_DEAD_LETTER;
    }
}

static int64_t lowest_of(const struct segment_facts_list *l) {
    for (size_t i = 0; i < l->n; i++)
        if (l->rows[i].purpose == PURPOSE_MIRROR)
            return l->rows[i].start_id;
    return 0;
}

/* Did a person set the id that holds the frontier back to pending? */
static enum verdict wanted_again(struct verify *v, int64_t id, bool *ret, struct err *e) {
    enum verdict vd = store_verify_read(v->o->store, id, id, &v->page, e);
    *ret = false;
    for (size_t i = 0; i < v->page.n_exceptions && vd == V_OK; i++)
        *ret = *ret || v->page.exceptions[i].state == EXC_PENDING;
    return vd;
}

static void note_impossible(void *ctx, int64_t id) {
    struct verify *v = ctx;
    fault_add(&v->faults, FIND_ID, id, "there is no such id");
}

/* What belongs to no page. */
static enum verdict judge_whole(struct verify *v, const struct archive_state *state,
                                const struct segment_facts_list *facts, struct err *e) {
    bool excused = false;
    const struct range bounds = {v->first, v->o->end_id > 0 ? v->o->end_id : INT64_MAX};
    enum verdict vd = wanted_again(v, v->r->frontier.id + 1, &excused, e);
    v->faults.n = 0;
    if (vd == V_OK && v->o->start_id <= 1)
        vd = store_impossible_items(v->o->store, note_impossible, v, e);
    if (vd != V_OK)
        return vd;
    judge_state(state, facts, &v->r->frontier, excused, &v->faults);
    judge_segments(facts, bounds, &v->faults);
    verify_take(v);
    return V_OK;
}

/* Where the archive stands, and what its segments claim. The state is read before the segments:
 * who moves the frontier meanwhile moves the segments first. */
static enum verdict begin(struct verify *v, struct err *e) {
    struct store *s = v->o->store;
    CLEANUP(segment_facts_release) struct segment_facts_list facts = {0};
    struct archive_state state;
    int64_t last = 0;
    enum verdict vd = store_state(s, &state, e);
    if (vd == V_OK)
        vd = plan_frontier(s, &v->r->frontier, e);
    if (vd == V_OK)
        vd = store_segment_facts(s, &facts, e);
    if (vd == V_OK)
        vd = store_last_item(s, &last, e);
    if (vd != V_OK)
        return vd;
    v->lowest = lowest_of(&facts);
    v->r->floor = state.floor_id > 0 ? state.floor_id : 1;
    if (v->lowest && v->lowest < v->r->floor)
        v->r->floor = v->lowest;
    v->r->segments = (int64_t)facts.n;
    free(v->claimed.scanned);
    v->claimed = claimed_of(&facts, v->r->frontier.id);
    if (v->claimed.n && v->claimed.scanned[v->claimed.n - 1].hi > last)
        last = v->claimed.scanned[v->claimed.n - 1].hi;
    v->first = v->o->start_id > 0 ? v->o->start_id : 1;
    v->end = last;
    v->last = v->o->end_id > 0 && v->o->end_id < last ? v->o->end_id : last;
    count_repairs(v->r, &facts);
    return judge_whole(v, &state, &facts, e);
}

/* The first id from `at` on that is claimed or known, so that empty stretches cost nothing. */
static enum verdict next_id(struct verify *v, int64_t at, int64_t *ret, struct err *e) {
    enum verdict vd = store_verify_next(v->o->store, at, ret, e);
    for (size_t i = 0; i < v->claimed.n && vd == V_OK; i++) {
        struct range r = v->claimed.scanned[i];
        int64_t id = r.lo > at ? r.lo : at;
        if (id <= r.hi && (*ret == 0 || id < *ret))
            *ret = id;
    }
    return vd;
}

static enum verdict do_page(struct verify *v, int64_t lo, int64_t hi, bool *ret_stories,
                            struct err *e) {
    struct page_counts counts = {0};
    enum verdict vd = store_verify_read(v->o->store, lo, hi, &v->page, e);
    if (vd != V_OK)
        return vd;
    v->faults.n = 0;
    judge_page(&v->page, &v->claimed, &v->arena, &counts, &v->faults);
    if (v->o->repair && v->faults.n)
        vd = verify_mend_page(v, ret_stories, e);
    arena_reset(&v->arena);
    if (vd != V_OK)
        return vd;
    v->r->ids += counts.ids;
    v->r->missing += counts.missing;
    v->r->unresolved += counts.unresolved;
    v->r->items += (int64_t)v->page.n_items;
    v->r->kids += v->page.n_kids;
    v->r->pages++;
    verify_take(v);
    return V_OK;
}

/* Children follow their parents: what was right by a wrong parent is wrong by the right one. */
static enum verdict mend_stories(struct verify *v, bool *ret_more, struct err *e) {
    struct page_counts ignored = {0};
    enum verdict vd = store_verify_read(v->o->store, v->page.lo, v->page.hi, &v->page, e);
    if (vd != V_OK)
        return vd;
    v->faults.n = 0;
    judge_page(&v->page, &v->claimed, &v->arena, &ignored, &v->faults);
    vd = verify_mend_page(v, ret_more, e);
    arena_reset(&v->arena);
    v->faults.n = 0;
    return vd;
}

static enum verdict do_page_again(struct verify *v, int64_t lo, int64_t hi, struct err *e) {
    int tries = 0;
    bool stories = false;
    enum verdict vd;
    do
        vd = do_page(v, lo, hi, &stories, e);
    while (verify_again(v, vd, &tries, e));
    for (int round = 0; round < MAX_STORY_ROUNDS && stories && vd == V_OK; round++)
        do
            vd = mend_stories(v, &stories, e);
        while (verify_again(v, vd, &tries, e));
    return vd;
}

static enum verdict do_pages(struct verify *v, struct err *e) {
    enum verdict vd = V_OK;
    for (int64_t at = v->first; at <= v->last && vd == V_OK;) {
        if (stop_raised(v->o->stop)) {
            v->r->stopped = true;
            return V_OK;
        }
        bool empty = v->r->pages == 0 || (v->page.n_items == 0 && v->page.n_exceptions == 0);
        if (empty) {
            int64_t next = 0;
            vd = next_id(v, at, &next, e);
            if (vd != V_OK || next == 0 || next > v->last)
                break;
            at = next;
        }
        int64_t hi = at + VERIFY_PAGE_IDS - 1 < v->last ? at + VERIFY_PAGE_IDS - 1 : v->last;
        vd = do_page_again(v, at, hi, e);
        if (v->r->range.lo == 0)
            v->r->range.lo = at;
        v->r->range.hi = hi;
        at = hi + 1;
        tick(v, at - v->first, false);
    }
    return vd;
}

static enum verdict run(struct verify *v, struct err *e) {
    int tries = 0;
    enum verdict vd;
    do
        vd = begin(v, e);
    while (verify_again(v, vd, &tries, e));
    if (vd == V_OK)
        vd = do_pages(v, e);
    bool bounded = v->o->start_id > 0 || v->o->end_id > 0;
    if (vd == V_OK && bounded && v->r->pages == 0 && !v->r->stopped && verify_total(v->r) == 0)
        return err_set(e, V_INVALID, "verify", 0,
                       "no id within these bounds is stored or was looked for; the archive ends "
                       "at %" PRId64,
                       v->end);
    if (vd == V_OK && v->o->sample > 0 && !v->r->stopped) {
        tick(v, v->last - v->first + 1, true);
        vd = verify_sample(v, e);
    }
    if (vd == V_OK && v->o->repair)
        vd = verify_mend_segments(v, e);
    return vd;
}

enum verdict verify_run(const struct verify_options *o, struct verify_report *ret, struct err *e) {
    *ret = (struct verify_report){.sample.seed = o->seed};
    int64_t began = clock_mono(o->clock);
    struct verify v = {.o = o, .r = ret, .gaps.reach = VERIFY_SPAN_IDS, .rescans.reach = 8};
    verify_page_init(&v.page);
    arena_init(&v.arena);
    enum verdict vd = run(&v, e);
    verify_page_release(&v.page);
    arena_release(&v.arena);
    free(v.faults.rows);
    free(v.claimed.scanned);
    free(v.gaps.rows);
    free(v.rescans.rows);
    ret->duration_ms = clock_mono(o->clock) - began;
    return vd;
}
