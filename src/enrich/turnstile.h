/* One process at the lane of a provider (store/lanes.h): the turns and slots it has in hand, and
 * what it gives back. A turn is used for one call, in its time, or lost; a probe that was not used
 * goes back so that somebody else may. Part of a worker and of its thread; times are clock_mono().
 */
#ifndef TAIN_ENRICH_TURNSTILE_H
#define TAIN_ENRICH_TURNSTILE_H

#include "base/clock.h"
#include "store/lanes.h"

struct turnstile {
    struct str name;         /* of the lane */
    struct str holder;       /* this process */
    int64_t call_ms;         /* the longest call */
    int index;               /* of its metrics */
    struct lane_grant turns; /* in hand, in microseconds of clock_mono() */
    int used;                /* of them, or lost */
    bool probe, troubled, open;
    bool cautious;   /* the last answer was trouble: one call at a time until one is not */
    int failures;    /* in a row, of all processes, as far as is known here */
    int64_t open_ms; /* how long the breaker was to stay open, as of the last trouble */
    int slots[LANE_SLOTS_MAX], give_back[LANE_SLOTS_MAX];
    size_t n_slots, n_give_back;
    bool probe_back; /* the probe was lost unused */
    int64_t ask_at;  /* not before then for more turns */
    int64_t give_by; /* slots go back by then, if no turn is asked for before */
    enum lane_why why;
    int in_flight;
};

/* How many turns to ask for when there is work for n calls: a provider in trouble is not run over.
 */
size_t turnstile_wants(const struct turnstile *t, size_t n);
/* Asks the lane for turns, with what is to go back; 0: only how things stand. Then there are turns
 * in hand, or `why` and `ask_at` say when to ask again. */
MUST_CHECK enum verdict turnstile_ask(struct turnstile *t, struct store *s, size_t want,
                                      int64_t now, struct err *e);
/* Turns whose time is over are lost here. Are there any left? */
bool turnstile_has(struct turnstile *t, int64_t now);
/* How many of those in hand have come. */
int turnstile_due(const struct turnstile *t, int64_t now);
/* A call begins: it takes a turn, and the answer is its slot; -1: the lane has none. */
int turnstile_use(struct turnstile *t);
/* That call is over. */
void turnstile_ended(struct turnstile *t, int slot, int64_t now);
/* That call was called off, and its probe with it. */
void turnstile_undo(struct turnstile *t, int slot, bool probe);
/* No turn in hand is to be used any more. */
void turnstile_drop(struct turnstile *t);

/* What the lane has to hear of a call, for the log as well. */
struct turn_report {
    enum lane_result result;
    int64_t retry_after_ms; /* -1: not said */
    bool probe;             /* it was one */
    const char *err_class;  /* NULL: all is well */
    struct str error;
};
/* Trouble is told, and a success where one is waited for. */
MUST_CHECK enum verdict turnstile_tell(struct turnstile *t, struct store *s,
                                       const struct turn_report *r, struct err *e);

/* Gives back what is due to go back; `now` as NO_DEADLINE: all of it. */
MUST_CHECK enum verdict turnstile_tidy(struct turnstile *t, struct store *s, int64_t now,
                                       struct err *e);
/* When something is due: a turn in hand or a question where there is work, else what goes back. */
int64_t turnstile_next(const struct turnstile *t, bool work);

#endif
