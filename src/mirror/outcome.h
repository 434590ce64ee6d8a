/* Judges one answer for one id: what it was, and what follows from it. Pure; the only place that
 * knows which trouble is whose (the id's, the upstream's, or just too early to tell). */
#ifndef TAIN_MIRROR_OUTCOME_H
#define TAIN_MIRROR_OUTCOME_H

#include "hn/item.h"
#include "net/classify.h"
#include "policy/backoff.h"

/* Classes of what is not a plain success; the first ones are net classes under their own numbers.
 */
enum fail_class {
    FAIL_NONE = 0, /* NET_OK */
    FAIL_NULL_OLD = NET_N_CLASSES,
    FAIL_NULL_YOUNG,
    FAIL_DELAYED,
    FAIL_GARBAGE,
    FAIL_WRONG_ID,
    FAIL_STRAGGLER,  /* no answer yet, but the cursor has to move on */
    FAIL_UNSTORABLE, /* the database refuses one of its values */
    FAIL_N
};
const char *fail_class_name(enum fail_class c);

/* The track an answer puts its id on. */
enum track {
    TRACK_STORED,  /* an item, and final */
    TRACK_MISSING, /* a null that is believed */
    TRACK_LADDER,  /* look again later, up the ladder of rechecks */
    TRACK_BACKOFF, /* a failure: try again soon, a limited number of times */
};

struct judgement {
    enum track track;
    enum fail_class cls;
    bool has_item; /* store what came, even if the id goes on waiting */
    bool overload; /* a sign that the upstream has too much to do */
    bool ill;      /* counts against the health of the upstream */
};

struct judgement judge_answer(enum net_class net, enum item_shape shape, bool delayed, bool young);

/* What becomes of an id after that answer. `attempts` and `rung` are those before it. */
enum outcome { OUT_STORED, OUT_MISSING, OUT_WAIT, OUT_DEAD };
struct decision {
    enum outcome outcome;
    int attempts, rung;
    int64_t wait_ms; /* OUT_WAIT: from now */
};
struct retry_policy {
    int max_attempts;
    struct backoff backoff;
};
struct decision decide(const struct judgement *j, int attempts, int rung,
                       const struct retry_policy *p, struct rng *rng);

#endif
