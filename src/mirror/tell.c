#include "mirror/tell.h"

#include "base/log.h"

/* A batch of the live stream has no segment, and its lines do not name one. */
static void tell_dead(const struct batch *b, const struct batch_exception *x) {
    if (b->segment_id)
        log_warn("an id was given up; it is a dead letter now", LI("item", x->id),
                 LI("segment", b->segment_id), LS("class", x->cls), LI("attempts", x->attempts),
                 LS("error", x->error.p ? x->error.p : ""));
    else
        log_warn("an id that the stream named was given up; it is a dead letter now",
                 LI("item", x->id), LS("class", x->cls), LI("rounds", x->attempts),
                 LS("error", x->error.p ? x->error.p : ""));
}

/* Rounds count failures only: what merely climbs the ladder of rechecks has none. */
static void tell_put_aside(const struct batch *b, const struct batch_exception *x) {
    if (!b->segment_id && x->attempts > 0)
        log_warn("an id that the stream named could not be had; it is tried again later",
                 LI("item", x->id), LS("class", x->cls), LI("rounds", x->attempts),
                 LS("error", x->error.p ? x->error.p : ""));
    else
        log_debug("an id waits for another try", LI("item", x->id), LI("segment", b->segment_id),
                  LS("class", x->cls), LI("attempts", x->attempts), LI("rung", x->rung));
}

static void tell_end(const struct batch *b, const struct apply_stats *s) {
    if (s->status == SEG_DEAD_LETTER)
        log_warn("a segment ends with dead letters; 'tain dead-letter list' shows them",
                 LI("segment", b->segment_id), LI("last_id", b->end_id),
                 LS("purpose", purpose_names[b->purpose]));
    else
        log_debug("a segment is given back", LI("segment", b->segment_id), LI("last_id", b->end_id),
                  LS("purpose", purpose_names[b->purpose]),
                  LS("status", segment_fsm.states[s->status]));
}

void tell_written(const struct job *j) {
    const struct batch *b = j->batch;
    if (j->verdict == V_CONFLICT && b->segment_id)
        log_warn("the lease of a segment is lost; what was fetched is left to its new holder",
                 LI("segment", b->segment_id), LI("last_id", b->end_id));
    if (j->verdict != V_OK)
        return;
    for (size_t i = 0; i < b->n_exceptions; i++) {
        const struct batch_exception *x = &b->exceptions[i];
        if (x->state == EXC_DEAD_LETTER)
            tell_dead(b, x);
        else if (x->state == EXC_RETRY_WAIT)
            tell_put_aside(b, x);
    }
    if (b->segment_id && j->stats.released)
        tell_end(b, &j->stats);
}
