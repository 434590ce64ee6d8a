/* Tells an ill upstream from bad ids: when more than half of the last 200 results share a failure
 * class, it is the upstream. Pure; the caller pauses the lane, refunds the attempts of the ids in
 * the window, and probes. Failure classes are small integers, 0 = success. */
#ifndef TAIN_POLICY_HEALTH_H
#define TAIN_POLICY_HEALTH_H

#include "base/attr.h"

#define HEALTH_WINDOW 200
#define HEALTH_MIN_RESULTS 50 /* fewer say nothing; up to the window, half of what is there */
#define HEALTH_MAX_CLASSES 32

struct health {
    struct {
        int64_t id;
        uint8_t cls;
    } ring[HEALTH_WINDOW];
    int n, next;
    int by_class[HEALTH_MAX_CLASSES];
    bool ill;
    uint8_t ill_class;
    int64_t ill_since_ms;
    int64_t next_probe_ms; /* while ill */
    int probes;            /* failed ones since it fell ill */
};

void health_init(struct health *h);
/* Notes a result. True exactly when this one makes the upstream ill. While ill, results are
 * ignored, and the ring keeps what made it ill (ring[0 .. n-1], in no order) for the refunds. A
 * class outside 0 .. HEALTH_MAX_CLASSES-1 counts as the last one. */
bool health_note(struct health *h, int64_t id, int cls, int64_t now_ms);
/* Something else makes it look ill (nothing has been answered well for long): the next probe, due
 * at once, will tell. */
void health_suspect(struct health *h, int cls, int64_t now_ms);
/* While ill: is it time for a probe? The first is due 500 ms after it fell ill; with each failed
 * one the wait doubles, up to 15 s. */
bool health_probe_due(const struct health *h, int64_t now_ms);
void health_probe_failed(struct health *h, int64_t now_ms);
/* A probe succeeded: well again, with an empty window. */
void health_recovered(struct health *h);
int64_t health_ill_for_ms(const struct health *h, int64_t now_ms); /* 0 when well */

#endif
