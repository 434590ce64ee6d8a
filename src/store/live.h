/* What the live stream brings: items without a segment, profiles, story lists, and the state of the
 * updater. Every write that belongs to the active updater alone demands its token. Each verb is one
 * transaction and bears being repeated after V_RETRY; how much goes into one is the caller's to
 * bound. Runs on the thread that owns the store. */
#ifndef TAIN_STORE_LIVE_H
#define TAIN_STORE_LIVE_H

#include "hn/user.h"
#include "store/batch.h"
#include "store/segments.h"

/* Who may be the updater ------------------------------------------------------------------- */

/* Takes the updater's lease if it is free, has run out, is held under the same name already, or its
 * holder is a dead process of this host; one whose end no lease could reach was stamped by a wrong
 * clock and counts as run out. V_CONFLICT: another is active; e names it. The token fences what
 * follows. */
MUST_CHECK enum verdict store_updater_acquire(struct store *s, const char *holder, int64_t lease_ms,
                                              int64_t *ret_token, struct err *e);
/* V_CONFLICT: it went to another. */
MUST_CHECK enum verdict store_updater_renew(struct store *s, int64_t token, int64_t lease_ms,
                                            struct err *e);
/* Free for the next one at once. Harmless when it went to another already. */
MUST_CHECK enum verdict store_updater_release(struct store *s, int64_t token, struct err *e);

struct updater_row {
    char holder[200]; /* "" when none */
    int64_t lease_left_ms;
    int64_t last_sse_event_at, last_rescan_at; /* 0: never, or stamped by a wrong clock */
};
MUST_CHECK enum verdict store_updater_row(struct store *s, struct updater_row *ret, struct err *e);
/* Stamps only rise; 0 leaves one as it is. V_CONFLICT: the token is another's. */
MUST_CHECK enum verdict store_updater_persist(struct store *s, int64_t token,
                                              int64_t last_sse_event_at, int64_t last_rescan_at,
                                              struct err *e);

/* Items ------------------------------------------------------------------------------------ */

/* Writes a batch without a segment (segment_id 0) in one transaction: items as store_apply does,
 * with each batch_item's ret_inserted and ret_story filled, `ages` added to the stored histogram,
 * and its exceptions put into ingest_dlq_items with source realtime: EXC_RETRY_WAIT becomes
 * retry_wait (next_retry_at, attempts and rung as given), EXC_DEAD_LETTER becomes dead_letter,
 * EXC_TERMINAL_MISSING resolves what is there. An item that is stored resolves every trouble of its
 * id, unless an exception of the same batch says that it goes on waiting ([delayed]), or a later
 * fetch was stored already. Should an id come twice, the last one counts, and nothing is told of
 * the other. lease_token is the updater's. V_CONFLICT: it went to another; nothing was written. */
MUST_CHECK enum verdict store_apply_live(struct store *s, struct batch *b, struct apply_stats *ret,
                                         struct err *e);

/* Ids in ingest_dlq_items (any source realtime row in retry_wait) whose time has come, the longest
 * waiting first; at most max. Each is pushed hold_ms into the future in the same transaction, so
 * that it is not handed out again while it is being worked on. Now and then forgets rows that were
 * resolved a week ago. */
struct due_item {
    int64_t id;
    int attempts, rung;
};
MUST_CHECK enum verdict store_live_due(struct store *s, int64_t hold_ms, struct due_item *out,
                                       size_t max, size_t *ret_n, struct err *e);
/* Writes down ids that the updater was told of and has no time left for: retry_wait, due at once.
 * A row that is there already keeps its attempts and becomes due. */
MUST_CHECK enum verdict store_live_spill(struct store *s, const int64_t *ids, size_t n,
                                         struct err *e);
/* What waits: realtime rows after a failure, and everything on a ladder of rechecks (null_young,
 * delayed), of the live stream and of segments. Dead letters are not among them. */
MUST_CHECK enum verdict store_live_backlog(struct store *s, int64_t *ret_failed,
                                           int64_t *ret_rechecks, struct err *e);

/* The histogram of update ages, AGES_N buckets of policy/ages.h by number. */
MUST_CHECK enum verdict store_ages(struct store *s, int64_t *ret, size_t n, struct err *e);

/* Times of stored items with ids >= id, for policy/id_clock.h; items without a time are passed
 * over. *ret_last_id: of the last time, or `id` when there is none. */
MUST_CHECK enum verdict store_item_times(struct store *s, int64_t id, int64_t *ret_times,
                                         size_t max, size_t *ret_n, int64_t *ret_last_id,
                                         struct err *e);

/* Segments of `purpose` (gap, replay, rescan) over lo .. hi, cut into `width`, in one transaction.
 * Of a replay or a rescan, what lies within and is not held by anyone is removed first, its
 * exceptions too, so that a range is not done twice; a segment that reaches beyond keeps what is
 * outside. Gaps are promises and stay. Answers how many were made. */
MUST_CHECK enum verdict store_plan_range(struct store *s, enum purpose purpose, int64_t lo,
                                         int64_t hi, int64_t width, int64_t *ret_n, struct err *e);
/* Open (not done) segments of a purpose. */
MUST_CHECK enum verdict store_open_segments(struct store *s, enum purpose purpose, int64_t *ret,
                                            struct err *e);

/* Profiles and lists ------------------------------------------------------------------------- */

struct user_answer {
    struct str name;    /* as asked for */
    bool exists;        /* false: the upstream said null; a stored profile stays, marked gone */
    struct user user;   /* when it exists */
    int64_t fetched_at; /* database milliseconds at which its fetch started */
};
/* One transaction; old never overwrites new; also forgets their user_work rows. Counts those whose
 * content changed or is new. */
MUST_CHECK enum verdict store_put_users(struct store *s, const struct user_answer *users, size_t n,
                                        int64_t *ret_changed, struct err *e);
/* Names to be asked for (again): after a failure or at a stop. */
struct user_todo {
    struct str name;
    int attempts;
    int64_t wait_ms;  /* from the database's now */
    struct str error; /* may be empty */
};
MUST_CHECK enum verdict store_users_later(struct store *s, const struct user_todo *todo, size_t n,
                                          struct err *e);
/* Names whose time has come, pushed hold_ms ahead as with items. Texts live in the arena. */
MUST_CHECK enum verdict store_users_due(struct store *s, int64_t hold_ms, struct arena *a,
                                        struct user_todo *out, size_t max, size_t *ret_n,
                                        struct err *e);

/* The story lists by name: "top", "new", "best", "ask", "show", "job". seen_at is set in any case,
 * changed_at when the ids differ. A list that was seen later stays. */
MUST_CHECK enum verdict store_put_list(struct store *s, const char *name, const int64_t *ids,
                                       size_t n, int64_t seen_at, bool *ret_changed, struct err *e);

/* Those of the ids that are not stored, in their order, into ret_ids (room for n). */
MUST_CHECK enum verdict store_absent_ids(struct store *s, const int64_t *ids, size_t n,
                                         int64_t *ret_ids, size_t *ret_n, struct err *e);

#endif
