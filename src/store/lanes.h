/* Lanes: the shared state of each provider (policy/lane.h) in the table `providers`, its slots in
 * `provider_slots`. Every verb is one short transaction under the lock of the lane's row, in the
 * database's time, and bears being repeated after V_RETRY. A process that dies gives its slots back
 * by their end of lease. */
#ifndef TAIN_STORE_LANES_H
#define TAIN_STORE_LANES_H

#include "base/arena.h"
#include "policy/lane.h"
#include "store/store.h"

#define LANE_SLOTS_MAX 1024
#define LANE_HOLD_MAX_MS 3600000
#define LANE_NAME_MAX 64

/* What a configuration says of a provider; again with other limits replaces them, for all. Who
 * holds more slots than there are now keeps them. V_INVALID: a limit out of range, or a name that
 * cannot be. */
MUST_CHECK enum verdict store_lane_declare(struct store *s, struct str name,
                                           const struct lane_limits *l, struct err *e);

struct lane_ask {
    struct str name, holder; /* a holder is one process */
    int want;                /* turns (and slots); 0: give back only */
    int64_t hold_ms;         /* longer than any call lasts: a slot is held for so long beyond the
                                last moment at which its turn is good */
    const int *give_back;    /* slots of this holder that are free again */
    size_t n_give_back;
    bool probe_back; /* the probe that was granted was not used: somebody else may */
};
struct lane_turns {
    struct lane_grant grant; /* start_us and until_us count from the moment of the call: a turn is
                                never early nor late, however long the database took */
    bool troubled;           /* there were failures: the lane wants to hear of a success too */
    size_t n_slots;          /* grant.n where the lane has slots now, whoever declared it so */
    int slots[LANE_SLOTS_MAX];
};
/* V_NOT_FOUND: no such lane. Whatever the grant says, the slots are given back. */
MUST_CHECK enum verdict store_lane_take(struct store *s, const struct lane_ask *ask,
                                        struct lane_turns *ret, struct err *e);
/* Slots back without asking for more. What is not this holder's any more is left alone. */
MUST_CHECK enum verdict store_lane_give_back(struct store *s, struct str name, struct str holder,
                                             const int *slots, size_t n, struct err *e);
struct lane_told {
    bool changed;    /* the lane opened, closed or was paused by it */
    bool open;       /* its breaker is not closed now, whoever opened it */
    int64_t open_ms; /* for so long still */
    int failures;    /* in a row, with this one */
};
/* A result. LANE_OK of a lane that is well writes nothing. */
MUST_CHECK enum verdict store_lane_report(struct store *s, struct str name, enum lane_result r,
                                          int64_t retry_after_ms, struct lane_told *ret,
                                          struct err *e);
/* By hand. V_NOT_FOUND: no such lane. Resuming also closes the breaker and forgets not_before; it
 * does not bring back time. why: shown to people; NULL: none is said. */
MUST_CHECK enum verdict store_lane_pause(struct store *s, struct str name, const char *why,
                                         struct err *e);
MUST_CHECK enum verdict store_lane_resume(struct store *s, struct str name, struct err *e);

struct lane_row {
    struct str name;
    struct lane_limits limits;
    struct lane_state state;
    int slots_taken;
    enum lane_why why;     /* LANE_GO, or what keeps it now */
    int64_t wait_ms;       /* until the next call may start; 0: now; -1: paused */
    int64_t budget_left;   /* lane_budget_left() */
    struct str paused_why; /* absent: it runs, or nobody said */
    int64_t paused_at;     /* unix milliseconds; 0: it runs */
};
/* All of them by name; texts in the arena. */
MUST_CHECK enum verdict store_lane_list(struct store *s, struct arena *a,
                                        const struct lane_row **ret, size_t *ret_n, struct err *e);

#endif
