/* Claims, results and releases on SQLite, row by row: see claims_sqlite.c. */
#include "base/fault.h"
#include "store/claims_int.h"

/* Runs one of the statements for a row; *ret_did: it touched the row. */
static enum verdict touch(struct store *s, const struct source *src, enum source_stmt stmt,
                          const struct db_val *vals, size_t n, bool *ret_did, struct err *e) {
    enum verdict v = db_run(s->db, src->stmts[stmt], vals, n, NULL, NULL, e);
    *ret_did = v == V_OK && db_changes(s->db) > 0;
    return v;
}

struct won {
    struct arena *a;
    struct row_claim *ret;
};

static enum verdict take_won(void *ctx, const struct db_row *row) {
    struct won *w = ctx;
    *w->ret = (struct row_claim){
        .result = CLAIM_WON,
        .key = arena_str(w->a, db_row_text(row, 0)),
        .token = db_row_int(row, 1),
        .attempts = (int)db_row_int(row, 2),
        .row = arena_str(w->a, db_row_text(row, 3)),
    };
    return V_OK;
}

static enum verdict take_lost(void *ctx, const struct db_row *row UNUSED) {
    struct row_claim *ret = ctx;
    ret->result = CLAIM_LOST;
    return V_OK;
}

static enum verdict between(struct err *e) {
    return fault_hit("claims_step") ? err_set(e, V_RETRY, "fault", 0, "injected failure") : V_OK;
}

enum verdict source_lite_claim(struct store *s, const struct source *src, struct str key,
                               struct str holder, int64_t lease_ms, struct arena *a,
                               struct row_claim *ret, struct err *e) {
    struct won w = {.a = a, .ret = ret};
    bool did;
    enum verdict v = touch(s, src, SRC_CLAIM, DB_VALS(DBT(key)), &did, e);
    if (v == V_OK && !did)
        return db_run(s->db, src->stmts[SRC_LOST], DB_VALS(DBT(key)), take_lost, ret, e);
    if (v == V_OK)
        v = between(e);
    if (v == V_OK)
        v = touch(s, src, SRC_GRANT, DB_VALS(DBT(key), DBT(holder), DBI(lease_ms)), &did, e);
    if (v == V_OK)
        v = db_run(s->db, src->stmts[SRC_WON], DB_VALS(DBT(key)), take_won, &w, e);
    return v;
}

enum verdict source_lite_finalize(struct store *s, const struct source *src,
                                  const struct verdict_on_row *row, bool *ret_done, struct err *e) {
    struct str outcome = str_of(source_outcomes[row->state]);
    struct str values = row->values.p ? row->values : STR("{}");
    enum verdict v =
        touch(s, src, SRC_FENCE,
              DB_VALS(DBT(row->key), DBI(row->token), DBT(outcome),
                      DBT(source_error(s, row->error_class)), DBT(source_error(s, row->error))),
              ret_done, e);
    if (v == V_OK && *ret_done)
        v = between(e);
    if (v == V_OK && *ret_done)
        v = touch(s, src, SRC_FINALIZE, DB_VALS(DBT(row->key), DBT(outcome), DBT(values)), ret_done,
                  e);
    return v;
}

enum verdict source_lite_release(struct store *s, const struct source *src,
                                 const struct release *row, bool *ret_done, struct err *e) {
    enum verdict v =
        touch(s, src, SRC_FENCE_RELEASE,
              DB_VALS(DBT(row->key), DBI(row->token), DBI(row->spent ? 1 : 0), DBI(row->wait_ms),
                      DBT(source_error(s, row->error_class)), DBT(source_error(s, row->error))),
              ret_done, e);
    if (v == V_OK && *ret_done)
        v = between(e);
    if (v == V_OK && *ret_done)
        v = touch(s, src, SRC_RELEASE, DB_VALS(DBT(row->key)), ret_done, e);
    return v;
}
