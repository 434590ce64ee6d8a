/* What nobody works on any more: claims of the dead, and rows that are busy for nobody. All at
 * once, in one transaction; or, where the table or the filter refuses one of them, each by itself.
 */
#include "base/fault.h"
#include "base/thread.h"
#include "store/claims_int.h"

#include <limits.h>

#define HOLDERS_MAX 256
#define NEVER (INT64_MAX / 2)

struct sweeping {
    struct store *s;
    struct source *src;
    const struct sweep_ask *ask;
    struct arena *a;
    struct swept_row *rows; /* room for ask->max */
    size_t n;
};

static size_t room(const struct sweeping *w) {
    return w->ask->max - w->n;
}

static void add(struct sweeping *w, struct swept_row row) {
    if (room(w) == 0)
        return;
    row.key = arena_str(w->a, row.key);
    w->rows[w->n++] = row;
}

static struct swept_row swept_of(const struct db_row *row) {
    return (struct swept_row){.key = db_row_text(row, 0),
                              .how = db_row_int(row, 1) == 1 ? SWEPT_FAILED : SWEPT_PENDING,
                              .wait_ms = db_row_int(row, 2)};
}

static enum verdict take_swept(void *ctx, const struct db_row *row) {
    add(ctx, swept_of(row));
    return V_OK;
}

static enum verdict take_pending(void *ctx, const struct db_row *row) {
    add(ctx, (struct swept_row){.key = db_row_text(row, 0)});
    return V_OK;
}

/* Of one claim, or of all that are stale. */
static enum verdict run_stale(struct sweeping *w, struct str key, db_row_fn *fn, void *ctx,
                              struct err *e) {
    const struct sweep_ask *ask = w->ask;
    const struct db_val vals[] = {DBI((int64_t)room(w)),
                                  DBI(ask->max_attempts > 0 ? ask->max_attempts : INT_MAX),
                                  DBI(ask->spare_ago >= 0 ? ask->spare_ago : NEVER), DBT(key)};
    return db_run(w->s->db, w->src->stmts[key.p ? SRC_SWEEP_ONE : SRC_SWEEP], vals, key.p ? 4 : 3,
                  fn, ctx, e);
}

static enum verdict run_orphans(struct sweeping *w, struct str key, db_row_fn *fn, void *ctx,
                                struct err *e) {
    const struct db_val vals[] = {DBI((int64_t)room(w)), DBT(key)};
    return db_run(w->s->db, w->src->stmts[key.p ? SRC_ORPHANS_ONE : SRC_ORPHANS], vals,
                  key.p ? 2 : 1, fn, ctx, e);
}

/* SQLite: the row of a claim. The claim may be from a time when the source was another table. */
static enum verdict settle(struct sweeping *w, const struct swept_row *r, struct err *e) {
    const int *stmts = w->src->stmts;
    if (!source_key_fits(w->src, r->key))
        return V_OK;
    enum verdict v =
        r->how == SWEPT_FAILED
            ? db_run(w->s->db, stmts[SRC_FINALIZE], DB_VALS(DBT(r->key), DBC("failed"), DBC("{}")),
                     NULL, NULL, e)
            : db_run(w->s->db, stmts[SRC_RELEASE], DB_VALS(DBT(r->key)), NULL, NULL, e);
    if (v == V_OK && db_changes(w->s->db) > 0)
        add(w, *r);
    return v;
}

static enum verdict settle_all(struct sweeping *w, const struct sweeping *found, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < found->n; i++)
        v = settle(w, &found->rows[i], e);
    return v;
}

static struct sweeping found_by(const struct sweeping *w) {
    struct sweeping found = *w;
    found.a = &w->s->scratch;
    found.rows = arena_alloc(found.a, w->ask->max * sizeof *found.rows);
    found.n = 0;
    return found;
}

static enum verdict stale(struct sweeping *w, struct str key, struct err *e) {
    if (store_is_shared(w->s))
        return run_stale(w, key, take_swept, w, e);
    struct sweeping found = found_by(w);
    enum verdict v = run_stale(w, key, take_swept, &found, e);
    return v == V_OK ? settle_all(w, &found, e) : v;
}

static enum verdict orphans(struct sweeping *w, struct str key, struct err *e) {
    if (store_is_shared(w->s))
        return run_orphans(w, key, take_pending, w, e);
    struct sweeping found = found_by(w);
    enum verdict v = run_orphans(w, key, take_pending, &found, e);
    for (size_t i = 0; v == V_OK && i < found.n; i++)
        v = db_run(w->s->db, w->src->stmts[SRC_ORPHAN_FREE], DB_VALS(DBT(found.rows[i].key)), NULL,
                   NULL, e);
    return v == V_OK ? settle_all(w, &found, e) : v;
}

static enum verdict sweep_all(struct sweeping *w, struct err *e) {
    enum verdict v = db_begin(w->s->db, e);
    if (v != V_OK)
        return v;
    v = stale(w, STR_NONE, e);
    if (v == V_OK && fault_hit("claims_step"))
        v = err_set(e, V_RETRY, "fault", 0, "injected failure");
    if (v == V_OK && room(w) > 0)
        v = orphans(w, STR_NONE, e);
    return store_end(w->s, v, e);
}

typedef enum verdict step_fn(struct sweeping *w, struct str key, struct err *e);

/* What is refused is left alone for a while: it is its owner's turn. Nor has it a holder any more,
 * so a worker that wakes up writes nothing. */
static enum verdict sweep_one(struct sweeping *w, step_fn *step, struct str key, struct err *e) {
    struct store *s = w->s;
    struct err own = {0};
    size_t had = w->n;
    e = e ? e : &own;
    enum verdict v = db_begin(s->db, e);
    if (v == V_OK)
        v = store_end(s, step(w, key, e), e);
    if (!source_refused(v))
        return v;
    struct str why = arena_str(w->a, source_error(s, str_of(e->msg)));
    w->n = had;
    add(w, (struct swept_row){.key = key, .how = SWEPT_REFUSED, .why = why});
    return db_run(s->db, w->src->stmts[SRC_SWEEP_REFUSED], DB_VALS(DBT(key), DBT(why)), NULL, NULL,
                  e);
}

static enum verdict sweep_list(struct sweeping *w, step_fn *step,
                               const struct source_key_list *list, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < list->n && room(w) > 0; i++)
        v = sweep_one(w, step, list->keys[i], e);
    return v;
}

/* The filter is not looked at before, so what belongs to others is among them: page by page. */
static enum verdict sweep_busy(struct sweeping *w, struct err *e) {
    size_t page = w->ask->max;
    struct source_key_list list = {0};
    struct str after = STR_NONE;
    enum verdict v = V_OK;
    do {
        list = source_key_list(&w->s->scratch, page);
        v = db_run(w->s->db, w->src->stmts[SRC_BUSY], DB_VALS(DBI((int64_t)page), DBT(after)),
                   source_take_key, &list, e);
        if (v == V_OK)
            v = sweep_list(w, orphans, &list, e);
        after = list.n ? list.keys[list.n - 1] : STR_NONE;
    } while (v == V_OK && list.n == page && room(w) > 0);
    return v;
}

static enum verdict sweep_each(struct sweeping *w, struct err *e) {
    struct source_key_list list = source_key_list(&w->s->scratch, w->ask->max);
    enum verdict v = db_run(w->s->db, w->src->stmts[SRC_STALE], DB_VALS(DBI((int64_t)list.max)),
                            source_take_key, &list, e);
    if (v == V_OK)
        v = sweep_list(w, stale, &list, e);
    return v == V_OK && room(w) > 0 ? sweep_busy(w, e) : v;
}

/* Holders that were processes of this host and are no more need not be waited for. */
static enum verdict end_dead_leases(struct store *s, const struct source *src, struct err *e) {
    struct source_key_list holders = source_key_list(&s->scratch, HOLDERS_MAX);
    struct str name = src->spec.name;
    enum verdict v =
        db_run(s->db, SQL_CLAIMS_HOLDERS, DB_VALS(DBT(name)), source_take_key, &holders, e);
    for (size_t i = 0; v == V_OK && i < holders.n; i++)
        if (process_identity_is_dead(holders.keys[i].p))
            v = db_run(s->db, SQL_CLAIMS_END_LEASES, DB_VALS(DBT(name), DBT(holders.keys[i])), NULL,
                       NULL, e);
    return v;
}

enum verdict store_sweep(struct store *s, struct source *src, const struct sweep_ask *ask,
                         struct arena *a, struct swept_row *ret, size_t *ret_n, struct err *e) {
    struct sweeping w = {.s = s, .src = src, .ask = ask, .a = a, .rows = ret};
    *ret_n = 0;
    arena_reset(&s->scratch);
    enum verdict v = end_dead_leases(s, src, e);
    if (v == V_OK)
        v = sweep_all(&w, e);
    if (source_refused(v)) {
        w.n = 0;
        v = sweep_each(&w, e);
    }
    if (v == V_OK)
        *ret_n = w.n;
    return v;
}
