/* What nobody works on any more, what nobody was told of, and how many there are of each. */
#include "base/fault.h"
#include "base/thread.h"
#include "store/claims_int.h"

#include <stdio.h>
#include <string.h>

#define HOLDERS_MAX 256

struct keys {
    struct arena *a;
    struct str *keys;
    size_t n, max;
};

static enum verdict take_key(void *ctx, const struct db_row *row) {
    struct keys *k = ctx;
    if (k->n == k->max)
        return V_OK;
    k->keys[k->n++] = arena_str(k->a, db_row_text(row, 0));
    return V_OK;
}

static enum verdict collect(struct store *s, int stmt, size_t max, struct keys *k, struct err *e) {
    return db_run(s->db, stmt, DB_VALS(DBI((int64_t)max)), take_key, k, e);
}

/* SQLite: the rows of these claims, one by one; keys of those that changed are added to `to`. A
 * claim may be from a time when the source was another table. */
static enum verdict change_rows(struct store *s, const struct source *src, enum source_stmt stmt,
                                const struct keys *of, struct keys *to, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; i < of->n && v == V_OK; i++) {
        if (!source_key_fits(src, of->keys[i]))
            continue;
        v = db_run(s->db, src->stmts[stmt], DB_VALS(DBT(of->keys[i])), NULL, NULL, e);
        if (v == V_OK && db_changes(s->db) > 0 && to->n < to->max)
            to->keys[to->n++] = arena_str(to->a, of->keys[i]);
    }
    return v;
}

static struct keys scratch_keys(struct store *s, size_t max) {
    return (struct keys){.a = &s->scratch,
                         .keys = arena_zalloc(&s->scratch, (max + 1) * sizeof(struct str)),
                         .max = max};
}

static enum verdict sweep_sqlite(struct store *s, struct source *src, struct keys *k,
                                 struct err *e) {
    struct keys stale = scratch_keys(s, k->max), orphans;
    enum verdict v = collect(s, src->stmts[SRC_SWEEP], k->max, &stale, e);
    if (v == V_OK && fault_hit("claims_step"))
        v = err_set(e, V_RETRY, "fault", 0, "injected failure");
    if (v == V_OK)
        v = change_rows(s, src, SRC_RELEASE, &stale, k, e);
    if (v != V_OK || k->n == k->max)
        return v;
    orphans = scratch_keys(s, k->max - k->n);
    v = collect(s, src->stmts[SRC_ORPHANS], orphans.max, &orphans, e);
    const struct db_col cols[] = {DB_TEXTS(orphans.keys)};
    if (v == V_OK)
        v = db_each(s->db, src->stmts[SRC_ORPHAN_FREE], cols, 1, orphans.n, NULL, NULL, e);
    if (v == V_OK)
        v = change_rows(s, src, SRC_RELEASE, &orphans, k, e);
    return v;
}

static enum verdict sweep_pg(struct store *s, struct source *src, struct keys *k, struct err *e) {
    enum verdict v = collect(s, src->stmts[SRC_SWEEP], k->max, k, e);
    if (v == V_OK && fault_hit("claims_step"))
        v = err_set(e, V_RETRY, "fault", 0, "injected failure");
    if (v == V_OK && k->n < k->max)
        v = collect(s, src->stmts[SRC_ORPHANS], k->max - k->n, k, e);
    return v;
}

/* Holders that were processes of this host and are no more need not be waited for. */
static enum verdict end_dead_leases(struct store *s, const struct source *src, struct err *e) {
    struct keys holders = scratch_keys(s, HOLDERS_MAX);
    struct str name = src->spec.name;
    enum verdict v = db_run(s->db, SQL_CLAIMS_HOLDERS, DB_VALS(DBT(name)), take_key, &holders, e);
    for (size_t i = 0; v == V_OK && i < holders.n; i++)
        if (process_identity_is_dead(holders.keys[i].p))
            v = db_run(s->db, SQL_CLAIMS_END_LEASES, DB_VALS(DBT(name), DBT(holders.keys[i])), NULL,
                       NULL, e);
    return v;
}

enum verdict store_sweep(struct store *s, struct source *src, size_t max, struct arena *a,
                         struct str *ret_keys, size_t *ret_n, struct err *e) {
    struct keys k = {.a = a, .keys = ret_keys, .max = max};
    *ret_n = 0;
    arena_reset(&s->scratch);
    enum verdict v = end_dead_leases(s, src, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, store_is_shared(s) ? sweep_pg(s, src, &k, e) : sweep_sqlite(s, src, &k, e), e);
    if (v == V_OK)
        *ret_n = k.n;
    return v;
}

enum verdict store_pending(struct store *s, struct source *src, struct str after, size_t max,
                           struct arena *a, struct str *ret_keys, size_t *ret_n, struct err *e) {
    struct keys k = {.a = a, .keys = ret_keys, .max = max};
    *ret_n = 0;
    enum verdict v = after.p ? db_run(s->db, src->stmts[SRC_PENDING_AFTER],
                                      DB_VALS(DBI((int64_t)max), DBT(after)), take_key, &k, e)
                             : collect(s, src->stmts[SRC_PENDING], max, &k, e);
    if (v == V_OK)
        *ret_n = k.n;
    return v;
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

static enum verdict recheck_sqlite(struct store *s, struct source *src, int64_t age_ms, size_t max,
                                   int64_t *ret_n, struct err *e) {
    struct keys old = scratch_keys(s, max), again = scratch_keys(s, max);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_run(s->db, src->stmts[SRC_RECHECK], DB_VALS(DBI(age_ms), DBI((int64_t)max)), take_key,
               &old, e);
    if (v == V_OK)
        v = change_rows(s, src, SRC_RECHECK_ROW, &old, &again, e);
    v = store_end(s, v, e);
    if (v == V_OK)
        *ret_n = (int64_t)again.n;
    return v;
}

enum verdict store_recheck(struct store *s, struct source *src, int64_t age_ms, size_t max,
                           int64_t *ret_n, struct err *e) {
    *ret_n = 0;
    arena_reset(&s->scratch);
    if (!store_is_shared(s))
        return recheck_sqlite(s, src, age_ms, max, ret_n, e);
    enum verdict v = db_run(s->db, src->stmts[SRC_RECHECK], DB_VALS(DBI(age_ms), DBI((int64_t)max)),
                            NULL, NULL, e);
    if (v == V_OK)
        *ret_n = db_changes(s->db);
    return v;
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
