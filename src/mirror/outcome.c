#include "mirror/outcome.h"

const char *fail_class_name(enum fail_class c) {
    static const char *const names[] = {
        [FAIL_NULL_OLD - NET_N_CLASSES] = "null_old",
        [FAIL_NULL_YOUNG - NET_N_CLASSES] = "null_young",
        [FAIL_DELAYED - NET_N_CLASSES] = "delayed",
        [FAIL_GARBAGE - NET_N_CLASSES] = "garbage",
        [FAIL_WRONG_ID - NET_N_CLASSES] = "wrong_id",
        [FAIL_STRAGGLER - NET_N_CLASSES] = "straggler",
        [FAIL_UNSTORABLE - NET_N_CLASSES] = "unstorable",
    };
    return c < (int)NET_N_CLASSES ? net_class_name((enum net_class)c) : names[c - NET_N_CLASSES];
}

static struct judgement judge_body(enum item_shape shape, bool delayed, bool young) {
    switch (shape) {
    case ITEM_OK:
        if (delayed)
            return (struct judgement){TRACK_LADDER, FAIL_DELAYED, .has_item = true};
        return (struct judgement){TRACK_STORED, FAIL_NONE, .has_item = true};
    case ITEM_NULL:
        if (young)
            return (struct judgement){TRACK_LADDER, FAIL_NULL_YOUNG, false, false, false};
        return (struct judgement){TRACK_MISSING, FAIL_NULL_OLD, false, false, false};
    case ITEM_WRONG_ID:
        return (struct judgement){TRACK_BACKOFF, FAIL_WRONG_ID, .ill = true};
    case ITEM_GARBAGE:
        break;
    }
    return (struct judgement){TRACK_BACKOFF, FAIL_GARBAGE, .ill = true};
}

struct judgement judge_answer(enum net_class net, enum item_shape shape, bool delayed, bool young) {
    enum fail_class cls = (enum fail_class)net;
    switch (net) {
    case NET_OK:
        return judge_body(shape, delayed, young);
    case NET_HTTP_401:
    case NET_HTTP_403:
    case NET_HTTP_404:
        return (struct judgement){TRACK_LADDER, cls, .ill = true};
    case NET_UNKNOWN: /* nobody is ill: the upstream is a mirror and has not come so far */
        return (struct judgement){TRACK_LADDER, cls, .ill = false};
    case NET_HTTP_429:
    case NET_HTTP_5XX:
    case NET_TIMEOUT:
    case NET_RESET:
        return (struct judgement){TRACK_BACKOFF, cls, .overload = true, .ill = true};
    default:
        return (struct judgement){TRACK_BACKOFF, cls, .ill = true};
    }
}

/* The top of the ladder: what was said all along is believed. */
static enum outcome believe(enum fail_class cls) {
    if (cls == FAIL_DELAYED)
        return OUT_STORED;
    if (cls == FAIL_NULL_YOUNG || cls == (int)NET_HTTP_404)
        return OUT_MISSING;
    return OUT_DEAD; /* 401 and 403: it exists, we may not see it; unknown: nobody has said */
}

struct decision decide(const struct judgement *j, int attempts, int rung,
                       const struct retry_policy *p, struct rng *rng) {
    struct decision d = {.attempts = attempts, .rung = rung};
    switch (j->track) {
    case TRACK_STORED:
        d.outcome = OUT_STORED;
        break;
    case TRACK_MISSING:
        d.outcome = OUT_MISSING;
        break;
    case TRACK_LADDER:
        d.rung++;
        d.wait_ms = ladder_wait_ms(d.rung);
        d.outcome = d.wait_ms < 0 ? believe(j->cls) : OUT_WAIT;
        break;
    case TRACK_BACKOFF:
        d.attempts++;
        d.outcome = d.attempts >= p->max_attempts ? OUT_DEAD : OUT_WAIT;
        d.wait_ms = backoff_wait_ms(&p->backoff, d.attempts, rng);
        break;
    }
    return d;
}
