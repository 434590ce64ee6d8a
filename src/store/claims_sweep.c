/* What waits: pages of rows that nobody was told of, a look at the first, rows to be asked for
 * again, and how many there are of each. */
#include "store/claims_int.h"

#include <stdio.h>
#include <string.h>

struct source_key_list source_key_list(struct arena *a, size_t max) {
    return (struct source_key_list){
        .a = a, .keys = arena_zalloc(a, (max + 1) * sizeof(struct str)), .max = max};
}

enum verdict source_take_key(void *list, const struct db_row *row) {
    struct source_key_list *k = list;
    if (k->n < k->max)
        k->keys[k->n++] = arena_str(k->a, db_row_text(row, 0));
    return V_OK;
}

struct peeking {
    struct arena *a;
    struct row_peek *rows;
    size_t n, max;
};

static enum verdict take_peek(void *ctx, const struct db_row *row) {
    struct peeking *p = ctx;
    if (p->n < p->max)
        p->rows[p->n++] = (struct row_peek){.key = arena_str(p->a, db_row_text(row, 0)),
                                            .row = arena_str(p->a, db_row_text(row, 1))};
    return V_OK;
}

enum verdict store_peek_rows(struct store *s, struct source *src, size_t max, struct arena *a,
                             struct row_peek *ret, size_t *ret_n, struct err *e) {
    struct peeking p = {.a = a, .rows = ret, .max = max};
    *ret_n = 0;
    enum verdict v =
        db_run(s->db, src->stmts[SRC_PEEK], DB_VALS(DBI((int64_t)max)), take_peek, &p, e);
    if (v == V_OK)
        *ret_n = p.n;
    return v;
}

/* Of one row (its key is given), or of all whose time has come. */
static enum verdict run_recheck(struct store *s, struct source *src, int64_t age_ms, size_t max,
                                struct str key, db_row_fn *fn, void *ctx, struct err *e) {
    const struct db_val vals[] = {DBI(age_ms), DBI((int64_t)max), DBT(key)};
    return db_run(s->db, src->stmts[key.p ? SRC_RECHECK_ONE : SRC_RECHECK], vals, key.p ? 3 : 2, fn,
                  ctx, e);
}

static enum verdict recheck_sqlite(struct store *s, struct source *src, int64_t age_ms, size_t max,
                                   struct str key, int64_t *ret_n, struct err *e) {
    struct source_key_list old = source_key_list(&s->scratch, max);
    int64_t n = 0;
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = run_recheck(s, src, age_ms, max, key, source_take_key, &old, e);
    for (size_t i = 0; v == V_OK && i < old.n; i++) {
        if (!source_key_fits(src, old.keys[i])) /* of a time when the source was another table */
            continue;
        v = db_run(s->db, src->stmts[SRC_RECHECK_ROW], DB_VALS(DBT(old.keys[i])), NULL, NULL, e);
        n += v == V_OK && db_changes(s->db) > 0;
    }
    v = store_end(s, v, e);
    if (v == V_OK)
        *ret_n += n;
    return v;
}

static enum verdict recheck(struct store *s, struct source *src, int64_t age_ms, size_t max,
                            struct str key, int64_t *ret_n, struct err *e) {
    if (!store_is_shared(s))
        return recheck_sqlite(s, src, age_ms, max, key, ret_n, e);
    enum verdict v = run_recheck(s, src, age_ms, max, key, NULL, NULL, e);
    if (v == V_OK)
        *ret_n += db_changes(s->db);
    return v;
}

static enum verdict recheck_each(struct store *s, struct source *src, int64_t age_ms, size_t max,
                                 struct arena *a, struct rechecked *ret, struct err *e) {
    struct source_key_list old = source_key_list(a, max);
    enum verdict v = db_run(s->db, src->stmts[SRC_OLD], DB_VALS(DBI(age_ms), DBI((int64_t)max)),
                            source_take_key, &old, e);
    ret->refused = arena_alloc(a, (old.n + 1) * sizeof *ret->refused);
    for (size_t i = 0; v == V_OK && i < old.n; i++) {
        v = recheck(s, src, age_ms, 1, old.keys[i], &ret->n, e);
        if (!source_refused(v))
            continue;
        struct str why = arena_str(a, source_error(s, str_of(e->msg)));
        ret->refused[ret->n_refused++] = (struct row_refusal){old.keys[i], why};
        v = db_run(s->db, src->stmts[SRC_RECHECK_REFUSED], DB_VALS(DBT(old.keys[i]), DBT(why)),
                   NULL, NULL, e);
    }
    return v;
}

enum verdict store_recheck(struct store *s, struct source *src, int64_t age_ms, size_t max,
                           struct arena *a, struct rechecked *ret, struct err *e) {
    struct err own = {0};
    e = e ? e : &own;
    *ret = (struct rechecked){0};
    arena_reset(&s->scratch);
    enum verdict v = recheck(s, src, age_ms, max, STR_NONE, &ret->n, e);
    return source_refused(v) ? recheck_each(s, src, age_ms, max, a, ret, e) : v;
}

struct counting {
    const struct source *src;
    struct source_counts *ret;
};

static enum verdict take_count(void *ctx, const struct db_row *row) {
    struct counting *c = ctx;
    for (int i = 0; i < ROW_STATES; i++)
        if (str_eq(c->src->spec.states[i], db_row_text(row, 0)))
            c->ret->rows[i] += db_row_int(row, 1);
    return V_OK;
}

static enum verdict take_waiting(void *ctx, const struct db_row *row) {
    struct counting *c = ctx;
    int64_t oldest = db_row_int(row, 1);
    c->ret->waiting = db_row_int(row, 0);
    c->ret->oldest_pending_ms = oldest == DB_NULL ? 0 : oldest;
    return V_OK;
}

enum verdict store_source_count(struct store *s, struct source *src, struct source_counts *ret,
                                struct err *e) {
    struct counting c = {.src = src, .ret = ret};
    *ret = (struct source_counts){0};
    enum verdict v = db_run(s->db, src->stmts[SRC_COUNT], DB_NO_VALS, take_count, &c, e);
    if (v == V_OK)
        v = db_run(s->db, src->stmts[SRC_WAITING], DB_NO_VALS, take_waiting, &c, e);
    return v;
}

/* "statement time-out": of all that a database can say this is said only because we asked for it.
 */
static bool took_too_long(enum verdict v, const struct err *e) {
    return v == V_RETRY && strstr(e->msg, "SQLSTATE 57014");
}

enum verdict store_source_count_within(struct store *s, struct source *src, int64_t max_ms,
                                       struct source_counts *ret, struct err *e) {
    char limit[80];
    struct err own = {0};
    if (!store_is_shared(s))
        return store_source_count(s, src, ret, e);
    snprintf(limit, sizeof limit, "SET LOCAL statement_timeout TO %lld", (long long)max_ms);
    e = e ? e : &own;
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_script(s->db, limit, e);
    if (v == V_OK)
        v = store_source_count(s, src, ret, e);
    v = store_end(s, v, e);
    return took_too_long(v, e) ? V_LIMIT : v;
}
