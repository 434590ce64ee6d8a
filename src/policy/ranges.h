/* Arithmetic on ranges of ids, both ends included: which ids of a window no segment covers, how
 * they are cut into segments, and how far the frontier reaches. Pure functions. */
#ifndef TAIN_POLICY_RANGES_H
#define TAIN_POLICY_RANGES_H

#include "base/attr.h"

struct range {
    int64_t lo, hi; /* lo <= hi */
};

/* What of [window] lies in none of the n covered ranges (sorted by lo, not overlapping; they may
 * reach beyond the window). Writes at most `max`, from the low end; answers how many. */
size_t ranges_gaps(struct range window, const struct range *covered, size_t n, struct range *out,
                   size_t max);

/* Cuts the gaps into segments of at most `width` (>= 1) ids, from the low end; a cut never spans
 * two gaps. Every segment but the last of a gap has exactly `width` ids.
 * Writes at most `max`; answers how many. */
size_t ranges_cut(const struct range *gaps, size_t n, int64_t width, struct range *out, size_t max);

/* The same from the high end: the highest gap first, and of each its highest ids. Every segment but
 * the last of a gap, its lowest, has exactly `width` ids. */
size_t ranges_cut_down(const struct range *gaps, size_t n, int64_t width, struct range *out,
                       size_t max);

/* Number of ids in n ranges. */
int64_t ranges_count(const struct range *r, size_t n);

/* The window of a catch-up run from its options. 0 = not given for start, end, limit and maxitem.
 * `frontier` is the last proved id (floor - 1 when nothing is). The window starts at start_id or
 * behind the frontier, and ends at the smallest of end_id, limit ids and maxitem. ignore_highest
 * takes maxitem out of that choice unless it is the only one. False: empty, nothing to do. */
struct window_ask {
    int64_t start_id, end_id, limit;
    bool ignore_highest; /* do not clamp the end to maxitem */
    int64_t frontier, maxitem;
};
bool window_resolve(const struct window_ask *ask, struct range *ret);

/* A mirror segment as the frontier sees it. `blocked_at` is the lowest id in it whose outcome is
 * not final (waiting or dead letter), 0 when there is none; everything up to `cursor` has an
 * outcome (any value below ids.lo: nothing has). `done` stands for a cursor at the end. */
struct segment_view {
    struct range ids;
    bool done;
    int64_t cursor, blocked_at;
};

/* The largest id such that every id from `floor` to it has its final outcome; floor - 1 when not
 * even the first. Segments sorted by lo. */
int64_t frontier_of(int64_t floor, const struct segment_view *segments, size_t n);

#endif
