/* Segments of ids and who holds them. States and their steps are in segment_fsm; leases are
 * fenced: a claim bumps the token, and every later write of the holder demands it. */
#ifndef TAIN_STORE_SEGMENTS_H
#define TAIN_STORE_SEGMENTS_H

#include "base/arena.h"
#include "base/fsm.h"
#include "store/store.h"

enum segment_status {
    SEG_PENDING,
    SEG_IN_PROGRESS,
    SEG_DONE,
    SEG_RETRY_WAIT,
    SEG_DEAD_LETTER,
    SEG_N
};
enum purpose { PURPOSE_MIRROR, PURPOSE_GAP, PURPOSE_REPLAY, PURPOSE_RESCAN, PURPOSE_N };
enum exception_state { EXC_PENDING, EXC_RETRY_WAIT, EXC_TERMINAL_MISSING, EXC_DEAD_LETTER, EXC_N };

extern const struct fsm segment_fsm, exception_fsm;
extern const char *const purpose_names[PURPOSE_N];

/* A segment as planners and the frontier see it. */
struct segment_row {
    int64_t segment_id, start_id, end_id, cursor, unresolved;
    enum segment_status status;
    int64_t blocked_at; /* lowest id without its final outcome, 0 = none */
    int64_t hard_at;    /* the same, stepping over what only waits on its ladder */
};

struct segment_list {
    struct segment_row *rows;
    size_t n, cap;
};
void segment_list_release(struct segment_list *l);

/* All segments of a purpose, by start id. */
MUST_CHECK enum verdict store_segments(struct store *s, enum purpose p, struct segment_list *ret,
                                       struct err *e);

/* Planning: begin takes the planners' lock until store_plan_end(). The caller reads, adds, merges
 * and sets the frontier in between. */
MUST_CHECK enum verdict store_plan_begin(struct store *s, struct err *e);
MUST_CHECK enum verdict store_plan_end(struct store *s, enum verdict v, struct err *e);
/* Inserts segments; those that would overlap another mirror segment are left out, and counted out.
 */
MUST_CHECK enum verdict store_add_segments(struct store *s, enum purpose p, const int64_t *starts,
                                           const int64_t *ends, size_t n, int64_t *ret_added,
                                           struct err *e);
/* Makes `keep` reach to new_end and removes the done mirror segments it swallows. */
MUST_CHECK enum verdict store_merge(struct store *s, const struct segment_row *keep,
                                    int64_t new_end, struct err *e);

/* Cuts a pending mirror segment in two: `at` becomes the first id of the second. */
MUST_CHECK enum verdict store_split(struct store *s, const struct segment_row *row, int64_t at,
                                    struct err *e);
/* Forgets the replay segments of a window that ended in trouble. */
MUST_CHECK enum verdict store_forget_replays(struct store *s, int64_t lo, int64_t hi,
                                             struct err *e);

/* Frees expired leases and those of dead processes of this host, wakes what is due, and settles
 * what others resolved. */
MUST_CHECK enum verdict store_reclaim(struct store *s, struct err *e);

/* A claimed segment and what its holder has to know. Lives in the arena it was made in. */
struct claim_exception {
    int64_t id, next_retry_at;
    enum exception_state state;
    int attempts, rung;
};
struct claim {
    int64_t segment_id, start_id, end_id, cursor, lease_token;
    enum purpose purpose;
    uint8_t *stored; /* bit i: id cursor+1+i is an item already. NULL unless mirror or gap */
    struct claim_exception *exceptions;
    size_t n_exceptions;
};
struct claim_ask {
    int64_t lo, hi;
    enum purpose last; /* in the order gap, mirror, then replay and rescan: none behind this one */
    bool newest_first; /* the highest ids of its purpose, not the lowest */
};
/* Takes a pending segment of the window, or a repair (gap, rescan) wherever it lies: a proof has a
 * hole there, and no window may pass it by. Gaps come first, then the mirror, then the rest.
 * V_NOT_FOUND: nothing is pending. */
MUST_CHECK enum verdict store_claim(struct store *s, const char *holder,
                                    const struct claim_ask *ask, struct arena *a, struct claim *ret,
                                    struct err *e);

/* From where to where repairs stand open; 0 and 0 when none does. */
MUST_CHECK enum verdict store_repairs(struct store *s, int64_t *ret_lo, int64_t *ret_hi,
                                      struct err *e);

/* Counts of a window and of the repairs: what is claimable, what is not finished, and in how many
 * milliseconds the next wait ends: after a failure, and on a ladder of rechecks (-1 = nothing waits
 * there). */
struct window_work {
    int64_t pending, unfinished;
    int64_t failure_due_ms, ladder_due_ms;
};
MUST_CHECK enum verdict store_window_work(struct store *s, int64_t lo, int64_t hi,
                                          struct window_work *ret, struct err *e);

#endif
