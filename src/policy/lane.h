/* When a provider may be called: pace, a wait it asked for, a breaker, a pause. Pure functions of
 * (state, now); the state of a lane is shared by all processes in the table `providers`, and
 * whoever holds its row's lock runs these. Times are of the database, `_us` in microseconds.
 *
 * In any window at most `per_window` calls start: turns are paced at 0.98 of the limit, a turn is
 * good from its time on until the end of its lease, and no lease is longer than the 2 % leave room
 * for (lane_lease_most). A turn that nobody used in time is lost, never saved up. */
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
    int64_t
        breaker_until_ms; /* open: when a probe may go; half open: when the probe counts as lost */
    int failures;         /* in a row */
    int trips;            /* openings in a row, for the growing wait */
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

struct lane_grant {
    enum lane_why why; /* LANE_GO, or why there is nothing now */
    int n;             /* turns; with LANE_GO 1 at least */
    int64_t start_us;  /* the first one's time, at or after now */
    int64_t interval_us;
    int64_t until_us; /* good until then */
    bool probe;       /* the one call that decides whether the breaker closes */
    int64_t wait_ms;  /* without LANE_GO: ask again after this at the earliest; -1: nobody knows */
};

/* The most turns of one lease: 1 where the limit is low, up to 1,000 and a second's worth. */
int lane_lease_most(const struct lane_limits *l);
/* Takes up to `want` turns, no more than free_slots. A state more than a minute (and its leases)
 * ahead of now is a wrong clock and counts as now. With turns still to come (tat ahead of now by
 * more than one interval) it is LANE_PACED with the wait: nobody reserves far ahead. */
void lane_take(struct lane_state *st, const struct lane_limits *l, int64_t now_us, int want,
               int free_slots, struct lane_grant *ret);

enum lane_result {
    LANE_OK,        /* it answered, whatever it said of the row */
    LANE_TRANSIENT, /* 5xx, time-out, no connection: LANE_TRIP_AFTER in a row open the breaker */
    LANE_WAIT,      /* 429 or 503 with Retry-After: not before then; no failure */
    LANE_AUTH,      /* 401 or 403: paused until somebody resumes it */
};
#define LANE_TRIP_AFTER 5
#define LANE_OPEN_MS 5000 /* then doubled with each probe that failed */
#define LANE_OPEN_MAX_MS 300000
#define LANE_PROBE_MS 60000 /* a probe of which nothing is heard */
#define LANE_WAIT_MAX_MS 3600000
/* True: the state changed in a way worth a log line (opened, closed, paused). */
bool lane_report(struct lane_state *st, enum lane_result r, int64_t retry_after_ms, int64_t now_ms);

#endif
