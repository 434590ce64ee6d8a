#include "policy/ranges.h"

/* Ends are compared before anything is added to them, so that no id is too large to be one. */

size_t ranges_gaps(struct range window, const struct range *covered, size_t n, struct range *out,
                   size_t max) {
    size_t found = 0;
    int64_t lo = window.lo; /* the lowest id not yet known to be covered or not */
    for (size_t i = 0; i < n && lo <= window.hi && found < max; i++) {
        if (covered[i].hi < lo)
            continue;
        if (covered[i].lo > window.hi)
            break;
        if (covered[i].lo > lo)
            out[found++] = (struct range){lo, covered[i].lo - 1};
        if (covered[i].hi >= window.hi)
            return found;
        lo = covered[i].hi + 1;
    }
    if (lo <= window.hi && found < max)
        out[found++] = (struct range){lo, window.hi};
    return found;
}

size_t ranges_cut(const struct range *gaps, size_t n, int64_t width, struct range *out,
                  size_t max) {
    size_t made = 0;
    if (width < 1)
        width = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t lo = gaps[i].lo;
        while (made < max && lo <= gaps[i].hi) {
            int64_t hi = gaps[i].hi - lo < width ? gaps[i].hi : lo + width - 1;
            out[made++] = (struct range){lo, hi};
            if (hi == gaps[i].hi)
                break;
            lo = hi + 1;
        }
    }
    return made;
}

size_t ranges_cut_down(const struct range *gaps, size_t n, int64_t width, struct range *out,
                       size_t max) {
    size_t made = 0;
    if (width < 1)
        width = 1;
    for (size_t i = n; i-- > 0;) {
        int64_t hi = gaps[i].hi;
        while (made < max && hi >= gaps[i].lo) {
            int64_t lo = hi - gaps[i].lo < width ? gaps[i].lo : hi - width + 1;
            out[made++] = (struct range){lo, hi};
            if (lo == gaps[i].lo)
                break;
            hi = lo - 1;
        }
    }
    return made;
}

int64_t ranges_count(const struct range *r, size_t n) {
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += r[i].hi - r[i].lo + 1;
    return count;
}

bool window_resolve(const struct window_ask *ask, struct range *ret) {
    int64_t lo = ask->start_id ? ask->start_id : ask->frontier + 1;
    if (lo < 1)
        lo = 1;
    int64_t hi = INT64_MAX;
    bool bounded = false;
    if (ask->end_id) {
        hi = ask->end_id;
        bounded = true;
    }
    if (ask->limit > 0 && (!bounded || hi - lo >= ask->limit)) {
        hi = lo > INT64_MAX - ask->limit ? INT64_MAX : lo + ask->limit - 1;
        bounded = true;
    }
    /* Without a bound of its own the run goes to maxitem, whatever ignore_highest says. */
    if (ask->maxitem && (!ask->ignore_highest || !bounded)) {
        hi = hi < ask->maxitem ? hi : ask->maxitem;
        bounded = true;
    }
    if (!bounded || lo > hi)
        return false;
    *ret = (struct range){lo, hi};
    return true;
}

/* The last id of the segment up to which all have their final outcome; below its lo when none. */
static int64_t proved_in(const struct segment_view *s) {
    int64_t last = s->done || s->cursor > s->ids.hi ? s->ids.hi : s->cursor;
    return s->blocked_at > 0 && s->blocked_at <= last ? s->blocked_at - 1 : last;
}

int64_t frontier_of(int64_t floor, const struct segment_view *segments, size_t n) {
    int64_t frontier = floor - 1;
    for (size_t i = 0; i < n; i++) {
        if (segments[i].ids.lo - 1 > frontier)
            break; /* a hole, or a segment before this one that is not proved to its end */
        int64_t last = proved_in(&segments[i]);
        if (last > frontier)
            frontier = last;
    }
    return frontier;
}
