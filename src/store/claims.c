/* Claims, results and releases of a table source. PostgreSQL does each with one statement for the
 * batch; SQLite with a few per row, in one transaction. */
#include "store/claims.h"

#include "base/fault.h"
#include "hn/json_read.h"
#include "store/claims_int.h"

#include <string.h>

#define ERROR_CHARS_MAX 500

/* Columns of a batch, one statement's worth; in the scratch arena. */
struct columns {
    size_t n;
    struct str *keys, *texts, *values, *classes, *errors;
    int64_t *numbers, *tokens, *spent, *waits;
};

static int64_t *ints_of(struct store *s, size_t n) {
    return arena_zalloc(&s->scratch, (n + 1) * sizeof(int64_t));
}

static struct str *texts_of(struct store *s, size_t n) {
    return arena_zalloc(&s->scratch, (n + 1) * sizeof(struct str));
}

static enum verdict too_many(size_t n, struct err *e) {
    return err_set(e, V_LIMIT, "source", 0, "%zu rows at once, more than %d", n, CLAIM_BATCH_MAX);
}

struct claiming {
    struct arena *a;
    struct row_claim *ret;
    struct store *s;
    const size_t *place; /* of a row of the batch in ret */
};

static struct row_claim *claim_of(const struct claiming *c, const struct db_row *row) {
    return &c->ret[c->place[db_row_int(row, 0)]];
}

static enum verdict take_claim(void *ctx, const struct db_row *row) {
    struct claiming *c = ctx;
    struct row_claim *to = claim_of(c, row);
    struct str key = db_row_text(row, 1);
    if (!key.p) {
        to->result = db_row_int(row, 5) == 1 ? CLAIM_LOST : CLAIM_IGNORED;
        return V_OK;
    }
    to->result = CLAIM_WON;
    to->key = arena_str(c->a, key);
    to->token = db_row_int(row, 2);
    to->attempts = (int)db_row_int(row, 3);
    to->row = arena_str(c->a, db_row_text(row, 4));
    return V_OK;
}

static enum verdict claim_pg(struct store *s, struct source *src, struct claiming *c,
                             const struct str *keys, size_t n, struct str holder, int64_t lease_ms,
                             struct err *e) {
    struct str *holders = texts_of(s, n);
    int64_t *leases = ints_of(s, n);
    holders[0] = holder;
    leases[0] = lease_ms;
    const struct db_col cols[] = {DB_TEXTS(keys), DB_TEXTS(holders), DB_INTS(leases)};
    return db_each(s->db, src->stmts[SRC_CLAIM], cols, ARRAY_LEN(cols), n, take_claim, c, e);
}

static enum verdict take_won(void *ctx, const struct db_row *row) {
    struct claiming *c = ctx;
    struct row_claim *to = claim_of(c, row);
    to->result = CLAIM_WON;
    to->key = arena_str(c->a, db_row_text(row, 1));
    to->row = arena_str(c->a, db_row_text(row, 2));
    return V_OK;
}

static enum verdict take_grant(void *ctx, const struct db_row *row) {
    struct claiming *c = ctx;
    struct row_claim *to = claim_of(c, row);
    to->token = db_row_int(row, 1);
    to->attempts = (int)db_row_int(row, 2);
    return V_OK;
}

static enum verdict take_lost(void *ctx, const struct db_row *row) {
    claim_of(ctx, row)->result = CLAIM_LOST;
    return V_OK;
}

/* The rows of the batch that were won, or that were not. */
static size_t choose(const struct claiming *c, const struct str *keys, size_t n, bool won,
                     struct columns *ret) {
    ret->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct row_claim *r = &c->ret[c->place[i]];
        if ((r->result == CLAIM_WON) != won)
            continue;
        ret->keys[ret->n] = won ? r->key : keys[i];
        ret->numbers[ret->n++] = (int64_t)i;
    }
    return ret->n;
}

static enum verdict claim_steps(struct store *s, struct source *src, struct claiming *c,
                                const struct str *keys, size_t n, struct str holder,
                                int64_t lease_ms, struct err *e) {
    struct columns w = {.keys = texts_of(s, n),
                        .numbers = ints_of(s, n),
                        .texts = texts_of(s, n),
                        .waits = ints_of(s, n)};
    for (size_t i = 0; i < n; i++) {
        w.numbers[i] = (int64_t)i;
        w.texts[i] = holder;
        w.waits[i] = lease_ms;
    }
    const struct db_col cols[] = {DB_TEXTS(keys), DB_INTS(w.numbers)};
    enum verdict v = db_each(s->db, src->stmts[SRC_CLAIM], cols, 2, n, take_won, c, e);
    if (v != V_OK)
        return v;
    const struct db_col grant[] = {DB_TEXTS(w.keys), DB_INTS(w.numbers), DB_TEXTS(w.texts),
                                   DB_INTS(w.waits)};
    choose(c, keys, n, true, &w);
    v = db_each(s->db, src->stmts[SRC_GRANT], grant, 4, w.n, take_grant, c, e);
    if (v != V_OK)
        return v;
    choose(c, keys, n, false, &w);
    return db_each(s->db, src->stmts[SRC_LOST], grant, 2, w.n, take_lost, c, e);
}

static enum verdict claim_sqlite(struct store *s, struct source *src, struct claiming *c,
                                 const struct str *keys, size_t n, struct str holder,
                                 int64_t lease_ms, struct err *e) {
    enum verdict v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, claim_steps(s, src, c, keys, n, holder, lease_ms, e), e) : v;
}

enum verdict store_claim_rows(struct store *s, struct source *src, const struct str *keys, size_t n,
                              struct str holder, int64_t lease_ms, struct arena *a,
                              struct row_claim *ret, struct err *e) {
    if (n > CLAIM_BATCH_MAX)
        return too_many(n, e);
    arena_reset(&s->scratch);
    struct str *fitting = texts_of(s, n);
    size_t *place = arena_zalloc(&s->scratch, (n + 1) * sizeof *place), n_fitting = 0;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct row_claim){.key = keys[i], .result = CLAIM_IGNORED};
        if (!source_key_fits(src, keys[i]))
            continue;
        fitting[n_fitting] = keys[i];
        place[n_fitting++] = i;
    }
    struct claiming c = {.a = a, .ret = ret, .s = s, .place = place};
    if (!n_fitting)
        return V_OK;
    return store_is_shared(s) ? claim_pg(s, src, &c, fitting, n_fitting, holder, lease_ms, e)
                              : claim_sqlite(s, src, &c, fitting, n_fitting, holder, lease_ms, e);
}

/* At most so many characters of it, as text. */
static struct str shortened(struct store *s, struct str text) {
    if (!text.p)
        return text;
    struct str t = store_clean_text(s, text);
    size_t at = 0;
    for (int chars = 0; at < t.n && chars < ERROR_CHARS_MAX; chars++) {
        size_t len = utf8_len((const unsigned char *)t.p + at, t.n - at);
        at += len ? len : 1;
    }
    return (struct str){t.p, at};
}

static enum verdict take_done(void *ctx, const struct db_row *row) {
    bool *done = ctx;
    done[db_row_int(row, 0)] = true;
    return V_OK;
}

/* A value that a type cannot hold is the table's refusal, like a constraint. */
static enum verdict judged(const struct source *src, enum verdict v, struct str key, size_t n,
                           struct err *e) {
    if (v != V_CONFLICT && v != V_INVALID && v != V_LIMIT)
        return v;
    return n == 1 ? err_wrap(e, V_CONFLICT, "row %.*s of %.*s", (int)(key.n < 80 ? key.n : 80),
                             key.p, STR_FMT(src->shape.name))
                  : err_wrap(e, V_CONFLICT, "one of %zu rows of %.*s", n, STR_FMT(src->shape.name));
}

/* Both steps of a batch on SQLite: the token's row first, then the table for whoever passed. `row`
 * has the key first and the number last; of all columns only what passed is kept. */
static enum verdict pass_fence(struct store *s, int fence, const struct db_col *fence_cols,
                               size_t n_fence_cols, struct columns *b, bool *passed,
                               struct err *e) {
    enum verdict v = db_each(s->db, fence, fence_cols, n_fence_cols, b->n, take_done, passed, e);
    if (v == V_OK && fault_hit("claims_step"))
        v = err_set(e, V_RETRY, "fault", 0, "injected failure");
    if (v != V_OK)
        return v;
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!passed[i])
            continue;
        b->keys[kept] = b->keys[i];
        b->numbers[kept] = b->numbers[i];
        if (b->texts)
            b->texts[kept] = b->texts[i];
        if (b->values)
            b->values[kept] = b->values[i];
        kept++;
    }
    b->n = kept;
    return V_OK;
}

static enum verdict finalize_sqlite(struct store *s, struct source *src, struct columns *b,
                                    bool *ret_done, struct err *e) {
    const struct db_col fence[] = {DB_TEXTS(b->keys),    DB_INTS(b->tokens),  DB_TEXTS(b->texts),
                                   DB_TEXTS(b->classes), DB_TEXTS(b->errors), DB_INTS(b->numbers)};
    const struct db_col row[] = {DB_TEXTS(b->keys), DB_TEXTS(b->texts), DB_TEXTS(b->values),
                                 DB_INTS(b->numbers)};
    bool *passed = arena_zalloc(&s->scratch, b->n + 1);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = pass_fence(s, src->stmts[SRC_FENCE], fence, ARRAY_LEN(fence), b, passed, e);
    if (v == V_OK)
        v = db_each(s->db, src->stmts[SRC_FINALIZE], row, ARRAY_LEN(row), b->n, take_done, ret_done,
                    e);
    return store_end(s, v, e);
}

static bool is_object(struct store *s, struct str json) {
    struct json_read r;
    json_read_init(&r, &s->scratch, json);
    if (json_peek(&r) != JSON_OBJECT)
        return false;
    json_skip(&r);
    return json_at_end(&r);
}

static enum verdict fill_results(struct store *s, const struct verdict_on_row *rows, size_t n,
                                 struct columns *b, struct err *e) {
    static const char *const outcomes[ROW_STATES] = {
        [ROW_MATCH] = "match", [ROW_NO_MATCH] = "no_match", [ROW_FAILED] = "failed"};
    for (size_t i = 0; i < n; i++) {
        const struct verdict_on_row *r = &rows[i];
        if (r->values.p && !is_object(s, r->values))
            return err_set(e, V_CONFLICT, "source", 0, "row %.*s: its values are no JSON object",
                           STR_FMT(r->key));
        if (r->state >= ROW_STATES || !outcomes[r->state])
            return err_set(e, V_INVALID, "source", 0, "row %.*s: %d is no final state",
                           STR_FMT(r->key), (int)r->state);
        b->keys[i] = r->key;
        b->tokens[i] = r->token;
        b->texts[i] = str_of(outcomes[r->state]);
        b->values[i] = r->values.p ? r->values : STR("{}");
        b->classes[i] = shortened(s, r->error_class);
        b->errors[i] = shortened(s, r->error);
        b->numbers[i] = (int64_t)i;
    }
    return V_OK;
}

enum verdict store_finalize(struct store *s, struct source *src, const struct verdict_on_row *rows,
                            size_t n, bool *ret_done, struct err *e) {
    if (n > CLAIM_BATCH_MAX)
        return too_many(n, e);
    arena_reset(&s->scratch);
    memset(ret_done, 0, n * sizeof *ret_done);
    struct columns b = {.n = n,
                        .keys = texts_of(s, n),
                        .tokens = ints_of(s, n),
                        .texts = texts_of(s, n),
                        .values = texts_of(s, n),
                        .classes = texts_of(s, n),
                        .errors = texts_of(s, n),
                        .numbers = ints_of(s, n)};
    enum verdict v = fill_results(s, rows, n, &b, e);
    if (v != V_OK || !n)
        return v;
    const struct db_col cols[] = {DB_TEXTS(b.keys),   DB_INTS(b.tokens),   DB_TEXTS(b.texts),
                                  DB_TEXTS(b.values), DB_TEXTS(b.classes), DB_TEXTS(b.errors)};
    v = store_is_shared(s) ? db_each(s->db, src->stmts[SRC_FINALIZE], cols, ARRAY_LEN(cols), n,
                                     take_done, ret_done, e)
                           : finalize_sqlite(s, src, &b, ret_done, e);
    if (v != V_OK)
        memset(ret_done, 0, n * sizeof *ret_done);
    return judged(src, v, rows[0].key, n, e);
}

static enum verdict release_sqlite(struct store *s, struct source *src, struct columns *b,
                                   bool *ret_done, struct err *e) {
    const struct db_col fence[] = {DB_TEXTS(b->keys),  DB_INTS(b->tokens),   DB_INTS(b->spent),
                                   DB_INTS(b->waits),  DB_TEXTS(b->classes), DB_TEXTS(b->errors),
                                   DB_INTS(b->numbers)};
    const struct db_col row[] = {DB_TEXTS(b->keys), DB_INTS(b->numbers)};
    bool *passed = arena_zalloc(&s->scratch, b->n + 1);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = pass_fence(s, src->stmts[SRC_FENCE_RELEASE], fence, ARRAY_LEN(fence), b, passed, e);
    if (v == V_OK)
        v = db_each(s->db, src->stmts[SRC_RELEASE], row, ARRAY_LEN(row), b->n, take_done, ret_done,
                    e);
    return store_end(s, v, e);
}

enum verdict store_release(struct store *s, struct source *src, const struct release *rows,
                           size_t n, bool *ret_done, struct err *e) {
    if (n > CLAIM_BATCH_MAX)
        return too_many(n, e);
    arena_reset(&s->scratch);
    memset(ret_done, 0, n * sizeof *ret_done);
    struct columns b = {.n = n,
                        .keys = texts_of(s, n),
                        .tokens = ints_of(s, n),
                        .spent = ints_of(s, n),
                        .waits = ints_of(s, n),
                        .classes = texts_of(s, n),
                        .errors = texts_of(s, n),
                        .numbers = ints_of(s, n)};
    for (size_t i = 0; i < n; i++) {
        b.keys[i] = rows[i].key;
        b.tokens[i] = rows[i].token;
        b.spent[i] = rows[i].spent ? 1 : 0;
        b.waits[i] = rows[i].wait_ms;
        b.classes[i] = shortened(s, rows[i].error_class);
        b.errors[i] = shortened(s, rows[i].error);
        b.numbers[i] = (int64_t)i;
    }
    if (!n)
        return V_OK;
    const struct db_col cols[] = {DB_TEXTS(b.keys), DB_INTS(b.tokens),   DB_INTS(b.spent),
                                  DB_INTS(b.waits), DB_TEXTS(b.classes), DB_TEXTS(b.errors)};
    enum verdict v = store_is_shared(s) ? db_each(s->db, src->stmts[SRC_RELEASE], cols,
                                                  ARRAY_LEN(cols), n, take_done, ret_done, e)
                                        : release_sqlite(s, src, &b, ret_done, e);
    if (v != V_OK)
        memset(ret_done, 0, n * sizeof *ret_done);
    return judged(src, v, rows[0].key, n, e);
}
