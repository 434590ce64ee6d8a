/* When a provider may be called: pace, a wait it asked for, a breaker, a pause. Pure functions of
 * (state, now); the state of a lane is shared by all processes in the table `providers`, and
 * whoever holds its row's lock runs these. Times are of the database, `_us` in microseconds.
 *
 * In any window at most `per_window` calls start: turns are paced at 0.98 of the limit, and each is
 * good from its own time on for no longer than the 2 % leave room for, less a quarter of that for
 * clocks and the way to the provider. A turn that nobody used in time is lost, never saved up. */
#ifndef TAIN_POLICY_LANE_H
#define TAIN_POLICY_LANE_H

#include "base/attr.h"

struct lane_limits {
    int per_window;    /* calls; 0: no limit */
    int64_t window_ms; /* 60000 for "per minute" */
    int slots;         /* at once, in all processes together; 0: no limit */
};

enum lane_pause { LANE_RUNS, LANE_PAUSED_BY_HAND, LANE_PAUSED_AUTH };
enum lane_breaker { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct lane_state {
    int64_t tat_us;        /* when the next turn is due if all keep the pace */
    int64_t not_before_ms; /* the provider asked for it; 0: it did not */
    enum lane_breaker breaker;
    /* open: when a probe may go; half open: when the probe counts as lost */
    int64_t breaker_until_ms;
    int failures; /* in a row */
    int trips;    /* openings in a row, for the growing wait */
    enum lane_pause pause;
};

enum lane_why {
    LANE_GO,
    LANE_PACED,
    LANE_FULL,
    LANE_NOT_BEFORE,
    LANE_BREAKER,
    LANE_PAUSED,
    LANE_WHYS
};
const char *lane_why_name(enum lane_why w); /* "go", "paced", "full", "not_before", ... */

/* Turn i of n may be used from start_us + i * interval_us on, until until_us + i * interval_us. */
struct lane_grant {
    enum lane_why why; /* LANE_GO, or why there is nothing now */
    int n;             /* turns; with LANE_GO 1 at least */
    int64_t start_us;  /* the first one's time, at or after now */
    int64_t interval_us;
    int64_t until_us; /* the first one's end */
    bool probe;       /* the one call that decides whether the breaker closes */
    int64_t wait_ms;  /* without LANE_GO: ask again after this at the earliest; -1: nobody knows */
};

#define LANE_LEASE_MAX 1000 /* turns */
#define LANE_WINDOW_MIN_MS 1000
#define LANE_WINDOW_MAX_MS INT64_C(31622400000) /* a year */

/* The most turns of one lease: a fifth of a second's worth, 1 .. LANE_LEASE_MAX. */
int lane_lease_most(const struct lane_limits *l);
/* Takes up to `want` turns, no more than free_slots where the lane has slots; with a want of 0 it
 * only says how things stand. A time further ahead of now than any that is ever set is of a wrong
 * clock and counts as now. Turns are given out half a second (or half a lease) ahead at most;
 * until then it is LANE_PACED with the wait. */
void lane_take(struct lane_state *st, const struct lane_limits *l, int64_t now_us, int want,
               int free_slots, struct lane_grant *ret);

/* How many calls may start within one window from now on, if nothing changes; -1: no limit. */
int64_t lane_budget_left(const struct lane_state *st, const struct lane_limits *l, int64_t now_us);

/* The probe that was given out was not used: the next one to ask gets one at once, and not after
 * LANE_PROBE_MS. */
void lane_return_probe(struct lane_state *st, int64_t now_ms);

/* The first turn from `used` on that is not lost by now; n: none. */
int lane_next_turn(const struct lane_grant *g, int used, int64_t now_us);
/* How many turns from `used` on have come by now; those that are lost are not to be counted again:
 * used is what lane_next_turn() said. */
int lane_turns_due(const struct lane_grant *g, int used, int64_t now_us);

enum lane_result {
    LANE_OK,        /* it answered, whatever it said of the row */
    LANE_TRANSIENT, /* 5xx, time-out, no connection: LANE_TRIP_AFTER in a row open the breaker */
    LANE_WAIT,      /* 429, or 503 with Retry-After: not before then; no failure */
    LANE_AUTH,      /* 401 or 403: paused until somebody resumes it */
};
#define LANE_TRIP_AFTER 5
#define LANE_OPEN_MS 5000 /* then doubled with each probe that failed */
#define LANE_OPEN_MAX_MS 300000
#define LANE_PROBE_MS 60000 /* a probe of which nothing is heard */
#define LANE_WAIT_MAX_MS 3600000
#define LANE_WAIT_UNSAID_MS 5000 /* when it did not say for how long */
/* An answer closes the breaker, whichever call it belongs to; failures of calls that were under way
 * when it opened do not count. True: the state changed in a way worth a log line (opened, closed,
 * paused). retry_after_ms: -1 when not said. */
bool lane_report(struct lane_state *st, enum lane_result r, int64_t retry_after_ms, int64_t now_ms);

#endif
