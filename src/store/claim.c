#include "store/segments.h"

#include "base/fault.h"
#include "store/store_int.h"

struct claiming {
    struct arena *a;
    struct claim *claim;
    bool found;
    size_t cap;
};

static enum verdict read_claim(void *ctx, const struct db_row *row) {
    struct claiming *c = ctx;
    *c->claim = (struct claim){
        .segment_id = db_row_int(row, 0),
        .start_id = db_row_int(row, 1),
        .end_id = db_row_int(row, 2),
        .cursor = db_row_int(row, 3),
        .lease_token = db_row_int(row, 4),
    };
    for (int p = 0; p < PURPOSE_N; p++)
        if (str_eqc(db_row_text(row, 5), purpose_names[p]))
            c->claim->purpose = (enum purpose)p;
    c->found = true;
    return V_OK;
}

static enum verdict mark_stored(void *ctx, const struct db_row *row) {
    struct claim *claim = ctx;
    size_t bit = (size_t)(db_row_int(row, 0) - claim->cursor - 1);
    claim->stored[bit / 8] |= (uint8_t)(1u << (bit % 8));
    return V_OK;
}

static enum verdict read_exception(void *ctx, const struct db_row *row) {
    struct claiming *c = ctx;
    struct claim *claim = c->claim;
    if (claim->n_exceptions == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 16;
        struct claim_exception *grown = arena_alloc(c->a, cap * sizeof *grown);
        for (size_t i = 0; i < claim->n_exceptions; i++)
            grown[i] = claim->exceptions[i];
        claim->exceptions = grown;
        c->cap = cap;
    }
    int64_t next = db_row_int(row, 4);
    int state = fsm_state(&exception_fsm, db_row_text(row, 1));
    claim->exceptions[claim->n_exceptions++] = (struct claim_exception){
        .id = db_row_int(row, 0),
        .state = (enum exception_state)state,
        .attempts = (int)db_row_int(row, 2),
        .rung = (int)db_row_int(row, 3),
        .next_retry_at = next == DB_NULL ? 0 : next,
    };
    return state < 0 ? V_FATAL : V_OK;
}

/* Ids that an import or the live stream stored already need no fetch; a replay wants them all. */
static enum verdict load_stored(struct store *s, struct claiming *c, struct err *e) {
    struct claim *claim = c->claim;
    bool skips = claim->purpose == PURPOSE_MIRROR || claim->purpose == PURPOSE_GAP;
    if (!skips || claim->cursor >= claim->end_id)
        return V_OK;
    claim->stored = arena_zalloc(c->a, (size_t)(claim->end_id - claim->cursor) / 8 + 1);
    return db_run(s->db, SQL_CLAIM_STORED_IDS, DB_VALS(DBI(claim->cursor + 1), DBI(claim->end_id)),
                  mark_stored, claim, e);
}

static int rank(enum purpose p) {
    return p == PURPOSE_GAP ? 1 : p == PURPOSE_MIRROR ? 2 : 3;
}

enum verdict store_claim(struct store *s, const char *holder, const struct claim_ask *ask,
                         struct arena *a, struct claim *ret, struct err *e) {
    struct claiming c = {.a = a, .claim = ret};
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_run(s->db, SQL_SEGMENT_CLAIM,
               DB_VALS(DBC(holder), DBI(s->lease_ms), DBI(ask->lo), DBI(ask->hi),
                       DBI(rank(ask->last)), DBI(ask->newest_first ? -1 : 1)),
               read_claim, &c, e);
    if (v == V_OK && c.found)
        v = load_stored(s, &c, e);
    if (v == V_OK && c.found)
        v = db_run(s->db, SQL_CLAIM_EXCEPTIONS, DB_VALS(DBI(ret->segment_id), DBI(ret->cursor)),
                   read_exception, &c, e);
    v = store_end(s, v, e);
    if (v == V_OK && !c.found)
        return err_set(e, V_NOT_FOUND, "store", 0, "nothing is pending");
    if (v == V_OK)
        fault_hit("claimed");
    return v;
}
