/* The startup replay and the rescans: found by the id clock, planned as segments, watched until
 * they are done. The segments themselves are worked on by the fetch thread like any other. */
#include "base/log.h"
#include "mirror/chores_int.h"
#include "mirror/metrics.h"
#include "mirror/plan.h"
#include "policy/id_clock.h"

#define LOOK_EVERY_MS 1000
#define FAILED_MS 10000
#define WATCH_EVERY_MS 2000
#define AHEAD_MS                                                                     \
    5000 /* a stored stamp further ahead comes from a wrong clock and counts as none \
          */
#define STORED_AHEAD 100000 /* ids stored above the maxitem we know: it may be an old one */
#define DAY_MS 86400000.0

/* What the last updater left ----------------------------------------------------------------- */

bool scan_row_prepare(struct chores *c, int64_t now UNUSED) {
    return !c->scan.row_known;
}

enum verdict scan_row_run(struct store *s, void *arg, struct err *e) {
    struct row_arg *a = arg;
    enum verdict v = store_updater_row(s, &a->row, e);
    return v == V_OK ? store_now(s, &a->now_db, e) : v;
}

static int64_t believable(int64_t stamp, int64_t now_db) {
    return stamp > now_db + AHEAD_MS ? 0 : stamp;
}

void scan_row_done(struct chores *c, bool ok) {
    struct scan *s = &c->scan;
    if (!ok) {
        chores_due(c, ERRAND_ROW, chores_now(c) + FAILED_MS);
        return;
    }
    s->row_known = true;
    s->started_at = c->row.now_db;
    s->anchor = believable(c->row.row.last_sse_event_at, c->row.now_db);
    s->last_rescan_at = believable(c->row.row.last_rescan_at, c->row.now_db);
    chores_due(c, ERRAND_PLAN, chores_now(c));
}

/* Planning ----------------------------------------------------------------------------------- */

/* A rescan that takes longer than the interval is not begun anew over and over: its upper end would
 * never have its turn. What merely waits after a failure does not hold the next one up. */
static bool rescan_is_due(const struct chores *c) {
    const struct scan *s = &c->scan;
    if (s->rescan_owed || atomic_load(&c->o.tidings->outages) > s->outages_seen)
        return true;
    if (c->o.rescan_interval_ms <= 0 || (s->rescan.running && s->rescan.untouched))
        return false;
    int64_t since = s->rescan.running   ? s->rescan.planned_at
                    : s->last_rescan_at ? s->last_rescan_at
                                        : s->started_at; /* the replay has just covered it */
    return chores_now_db(c) - since >= c->o.rescan_interval_ms;
}

bool scan_plan_prepare(struct chores *c, int64_t now) {
    struct scan *s = &c->scan;
    int64_t maxitem = atomic_load(&c->o.tidings->maxitem);
    chores_due(c, ERRAND_PLAN, now + LOOK_EVERY_MS);
    if (!s->row_known || maxitem == 0 || (s->replay_planned && !rescan_is_due(c)))
        return false;
    c->plan = (struct plan_arg){.maxitem = maxitem, .width = c->o.segment_width};
    if (!s->replay_planned) {
        c->plan.purpose = PURPOSE_REPLAY;
        c->plan.anchor = s->anchor;
        c->plan.days = c->o.startup_rescan_days;
    } else {
        c->plan.purpose = PURPOSE_RESCAN;
        c->plan.days = c->o.rescan_window_days;
        s->outages_seen = atomic_load(&c->o.tidings->outages);
    }
    return true;
}

static enum verdict sample(void *ctx, int64_t id, int64_t *ret_times, size_t max, size_t *ret_n,
                           int64_t *ret_last_id, struct err *e) {
    return store_item_times(ctx, id, ret_times, max, ret_n, ret_last_id, e);
}

/* The largest stored id of lo .. hi, lo - 1 when there is none. The stream stores items far above
 * what the mirror has scanned while an archive is still being filled; they grow stale like any
 * other, and the mirror passes over what is stored. */
static enum verdict highest_stored(struct store *s, int64_t lo, int64_t hi, int64_t *ret,
                                   struct err *e) {
    enum verdict v = V_OK;
    int64_t known = lo - 1;
    while (lo <= hi && v == V_OK) {
        int64_t mid = lo + (hi - lo) / 2, time, last;
        size_t n;
        v = store_item_times(s, mid, &time, 1, &n, &last, e);
        if (v == V_OK && n && last <= hi) {
            known = last;
            lo = last + 1;
        } else {
            hi = mid - 1;
        }
    }
    *ret = known;
    return v;
}

/* What is not stored counts as what is stored next above it. Below the newest days of an archive
 * whose history is still missing there is nothing to be looked at again. */
static enum verdict skip_hole(struct store *s, struct plan_arg *a, struct err *e) {
    int64_t time, first;
    size_t n;
    enum verdict v = store_item_times(s, a->lo, &time, 1, &n, &first, e);
    if (v == V_OK && n && first - a->lo > ID_CLOCK_SAMPLE)
        a->lo = first;
    return v;
}

static enum verdict find_range(struct store *s, struct plan_arg *a, struct err *e) {
    struct archive_state state;
    struct frontier f;
    enum verdict v = store_now(s, &a->at, e);
    if (v == V_OK)
        v = store_state(s, &state, e);
    if (v == V_OK)
        v = plan_frontier(s, &f, e);
    if (v == V_OK)
        v = highest_stored(s, (f.scanned < a->maxitem ? f.scanned : a->maxitem) + 1,
                           a->maxitem + STORED_AHEAD, &a->hi, e);
    if (v != V_OK)
        return v;
    int64_t floor = state.floor_id > 0 ? state.floor_id : 1;
    a->lo = a->hi + 1;
    if (a->hi < floor)
        return V_OK; /* the archive is empty */
    int64_t from = (a->anchor ? a->anchor : a->at) - (int64_t)(a->days * DAY_MS);
    v = id_clock_find(from / 1000, floor, a->hi, sample, s, &a->lo, e);
    return v == V_OK ? skip_hole(s, a, e) : v;
}

enum verdict scan_plan_run(struct store *s, void *arg, struct err *e) {
    struct plan_arg *a = arg;
    a->segments = 0;
    enum verdict v = find_range(s, a, e);
    if (v != V_OK || a->lo > a->hi)
        return v;
    return store_plan_range(s, a->purpose, a->lo, a->hi, a->width, &a->segments, e);
}

static const char *name_of(enum purpose p) {
    return p == PURPOSE_REPLAY ? "startup replay" : "rescan";
}

static void begin(struct chores *c, struct scan_run *r) {
    const struct plan_arg *a = &c->plan;
    *r = (struct scan_run){
        .running = true,
        .began = chores_now(c),
        .planned_at = a->at,
        .segments = a->segments,
        .untouched = a->segments,
        .processed_0 = metric_get(&m_rescan_processed, 0),
        .changed_0 = metric_get(&m_rescan_changed, 0),
    };
    if (a->segments == 0)
        log_info("there is nothing to be fetched again", LS("for", name_of(a->purpose)));
    else
        log_info("items will be fetched again", LS("for", name_of(a->purpose)),
                 LI("from_id", a->lo), LI("to_id", a->hi), LI("segments", a->segments));
}

static void finish(struct chores *c, struct scan_run *r, enum purpose p) {
    int64_t took = chores_now(c) - r->began;
    r->running = false;
    if (p == PURPOSE_REPLAY) {
        metric_set(&m_replay_duration, 0, took);
    } else {
        c->scan.last_rescan_at = r->planned_at;
        chores_due(c, ERRAND_PERSIST, chores_now(c));
    }
    if (r->segments)
        log_info("items were fetched again", LS("for", name_of(p)), LI("segments", r->segments),
                 LI("took_ms", took),
                 LI("items", metric_get(&m_rescan_processed, 0) - r->processed_0),
                 LI("changed", metric_get(&m_rescan_changed, 0) - r->changed_0));
}

void scan_plan_done(struct chores *c, bool ok) {
    struct scan *s = &c->scan;
    s->rescan_owed = !ok && c->plan.purpose == PURPOSE_RESCAN;
    if (!ok) {
        chores_due(c, ERRAND_PLAN, chores_now(c) + FAILED_MS);
        return;
    }
    struct scan_run *r = c->plan.purpose == PURPOSE_REPLAY ? &s->replay : &s->rescan;
    s->replay_planned = true;
    begin(c, r);
    if (c->plan.segments == 0)
        finish(c, r, c->plan.purpose);
    else if (!c->errands[ERRAND_WATCH].out)
        chores_due(c, ERRAND_WATCH, chores_now(c) + WATCH_EVERY_MS);
}

/* Watching ----------------------------------------------------------------------------------- */

bool scan_watch_prepare(struct chores *c, int64_t now) {
    if (!c->scan.replay.running && !c->scan.rescan.running)
        return false;
    chores_due(c, ERRAND_WATCH, now + WATCH_EVERY_MS);
    return true;
}

/* A segment whose ids have all been looked at counts as finished when nothing in it waits but
 * rechecks of young nulls and the like, which take a day, or when only dead letters are left. */
static enum verdict count(struct store *s, enum purpose p, struct scan_count *ret, struct err *e) {
    CLEANUP(segment_list_release) struct segment_list list = {0};
    enum verdict v = store_segments(s, p, &list, e);
    *ret = (struct scan_count){0};
    for (size_t i = 0; v == V_OK && i < list.n; i++) {
        const struct segment_row *row = &list.rows[i];
        if (row->status == SEG_DONE || row->status == SEG_DEAD_LETTER)
            continue;
        bool untouched = row->cursor < row->end_id || row->status == SEG_IN_PROGRESS;
        ret->untouched += untouched;
        ret->open += untouched || row->hard_at;
    }
    return v;
}

enum verdict scan_watch_run(struct store *s, void *arg, struct err *e) {
    struct watch_arg *a = arg;
    enum verdict v = count(s, PURPOSE_REPLAY, &a->replay, e);
    return v == V_OK ? count(s, PURPOSE_RESCAN, &a->rescan, e) : v;
}

void scan_watch_done(struct chores *c, bool ok) {
    struct scan *s = &c->scan;
    if (!ok)
        return;
    s->replay.untouched = c->watch.replay.untouched;
    s->rescan.untouched = c->watch.rescan.untouched;
    if (s->replay.running && c->watch.replay.open == 0)
        finish(c, &s->replay, PURPOSE_REPLAY);
    if (s->rescan.running && c->watch.rescan.open == 0)
        finish(c, &s->rescan, PURPOSE_RESCAN);
}

void scan_measure(struct chores *c) {
    int64_t last = c->scan.last_rescan_at;
    metric_set(&m_rescan_age, 0, last ? chores_now_db(c) - last : METRIC_NONE);
}
