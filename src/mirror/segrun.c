#include "mirror/segrun.h"

#include <stdlib.h>
#include <string.h>

static bool get_bit(const uint8_t *bits, int64_t i) {
    return bits[i / 8] & (1u << (i % 8));
}

static void set_bit(uint8_t *bits, int64_t i) {
    bits[i / 8] |= (uint8_t)(1u << (i % 8));
}

static void advance_cursor(struct segrun *r) {
    while (r->cursor < r->end_id && get_bit(r->settled, r->cursor + 1 - r->base))
        r->cursor++;
}

static bool is_due(const struct claim_exception *x, int64_t now_db) {
    return x->state == EXC_PENDING || (x->state == EXC_RETRY_WAIT && x->next_retry_at <= now_db);
}

static void take_exceptions(struct segrun *r, const struct claim *c, int64_t now_db) {
    r->due = xcalloc(c->n_exceptions, sizeof *r->due);
    for (size_t i = 0; i < c->n_exceptions; i++) {
        const struct claim_exception *x = &c->exceptions[i];
        if (x->id >= r->base && x->id <= r->end_id)
            set_bit(r->settled, x->id - r->base); /* its row lets the cursor pass */
        if (is_due(x, now_db))
            r->due[r->n_due++] = *x;
    }
}

struct segrun *segrun_new(const struct claim *c, int64_t now_db, int64_t now_mono) {
    struct segrun *r = xcalloc(1, sizeof *r);
    *r = (struct segrun){
        .segment_id = c->segment_id,
        .lease_token = c->lease_token,
        .start_id = c->start_id,
        .end_id = c->end_id,
        .purpose = c->purpose,
        .cursor = c->cursor,
        .base = c->cursor + 1,
        .next_id = c->cursor + 1,
        .last_sent = now_mono,
    };
    size_t bytes = (size_t)(c->end_id - c->cursor) / 8 + 1;
    r->settled = xcalloc(bytes, 1);
    if (c->stored)
        memcpy(r->settled, c->stored, bytes);
    take_exceptions(r, c, now_db);
    for (int64_t id = r->base; id <= r->end_id; id++)
        r->unstarted += !get_bit(r->settled, id - r->base);
    advance_cursor(r);
    return r;
}

void segrun_free(struct segrun *r) {
    batch_free(r->batch);
    free(r->settled);
    free(r->due);
    free(r);
}

static void skip_settled(struct segrun *r) {
    while (r->next_id <= r->end_id && get_bit(r->settled, r->next_id - r->base))
        r->next_id++;
}

bool segrun_has_next(const struct segrun *r) {
    return segrun_left(r) > 0;
}

bool segrun_next(struct segrun *r, struct next_fetch *ret) {
    if (r->next_due < r->n_due) {
        const struct claim_exception *x = &r->due[r->next_due++];
        *ret = (struct next_fetch){x->id, x->state, x->attempts, x->rung};
        return true;
    }
    if (r->unstarted == 0)
        return false;
    skip_settled(r);
    r->unstarted--;
    *ret = (struct next_fetch){.id = r->next_id++};
    return true;
}

int64_t segrun_left(const struct segrun *r) {
    return (int64_t)(r->n_due - r->next_due) + r->unstarted;
}

void segrun_settle(struct segrun *r, int64_t id) {
    if (id < r->base)
        return;
    set_bit(r->settled, id - r->base);
    advance_cursor(r);
}

bool segrun_is_settled(const struct segrun *r, int64_t id) {
    return id < r->base || get_bit(r->settled, id - r->base);
}

bool segrun_only_waits(const struct segrun *r) {
    return r->in_flight == 0 && r->cursor == r->end_id && segrun_left(r) == 0;
}

bool segrun_is_complete(const struct segrun *r) {
    return segrun_only_waits(r) && r->waiting == 0;
}
