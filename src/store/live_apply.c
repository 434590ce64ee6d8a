/* Items without a segment: what the live stream named, what of it failed, and when it is tried
 * again. The queue of the live stream is ingest_dlq_items with source realtime. */
#include "store/apply_int.h"
#include "store/live.h"

/* Of what is resolved so much stays for a person to look at. */
#define KEEP_RESOLVED_MS ((int64_t)7 * 24 * 3600 * 1000)
#define SWEEP_MAX 500

static enum verdict pass_live_fence(struct apply *a) {
    enum verdict v =
        db_run_int(a->s->db, SQL_LIVE_FENCE, DB_VALS(DBI(a->b->lease_token)), &a->now_ms, a->e);
    if (v == V_NOT_FOUND)
        return err_set(a->e, V_CONFLICT, "updater", 0,
                       "the updater's lease went to another process");
    return v;
}

/* Is there a later word on the same id in this batch? */
static bool is_outdated(const struct apply *a, size_t i) {
    for (size_t k = i + 1; k < a->n_exceptions; k++)
        if (a->exceptions[k].id == a->exceptions[i].id)
            return true;
    return false;
}

static void drop_outdated(struct apply *a) {
    size_t kept = 0;
    for (size_t i = 0; i < a->n_exceptions; i++)
        if (!is_outdated(a, i))
            a->exceptions[kept++] = a->exceptions[i];
    a->n_exceptions = kept;
}

static enum verdict put_waiting_and_dead(struct apply *a) {
    size_t n = 0, max = a->n_exceptions;
    int64_t *ids = apply_ints(a, max), *attempts = apply_ints(a, max);
    int64_t *rungs = apply_ints(a, max), *due = apply_ints(a, max);
    struct str *states = apply_texts(a, max), *classes = apply_texts(a, max),
               *errors = apply_texts(a, max);
    for (size_t i = 0; i < max; i++) {
        const struct batch_exception *x = &a->exceptions[i];
        if (x->state == EXC_TERMINAL_MISSING)
            continue;
        bool dead = x->state == EXC_DEAD_LETTER;
        ids[n] = x->id;
        states[n] = dead ? STR("dead_letter") : STR("retry_wait");
        classes[n] = str_of(x->cls);
        attempts[n] = x->attempts;
        rungs[n] = x->rung;
        due[n] = dead ? DB_NULL : x->next_retry_at == DB_NULL ? a->now_ms : x->next_retry_at;
        errors[n++] = x->error;
        a->stats->dead += dead;
        a->stats->waiting += !dead;
    }
    const struct db_col cols[] = {DB_INTS(ids),      DB_TEXTS(states), DB_TEXTS(classes),
                                  DB_INTS(attempts), DB_INTS(rungs),   DB_INTS(due),
                                  DB_TEXTS(errors)};
    return db_each(a->s->db, SQL_LIVE_PUT, cols, ARRAY_LEN(cols), n, NULL, NULL, a->e);
}

/* Only the row of the live stream: what the mirror makes of its own nulls is its business. */
static enum verdict resolve_missing(struct apply *a) {
    int64_t *ids = apply_ints(a, a->n_exceptions);
    size_t n = 0;
    for (size_t i = 0; i < a->n_exceptions; i++)
        if (a->exceptions[i].state == EXC_TERMINAL_MISSING)
            ids[n++] = a->exceptions[i].id;
    a->stats->missing = (int64_t)n;
    const struct db_col cols[] = {DB_INTS(ids)};
    return db_each(a->s->db, SQL_LIVE_RESOLVE, cols, 1, n, NULL, NULL, a->e);
}

static enum verdict live_exceptions(struct apply *a) {
    enum verdict v = apply_clear_stored(a);
    if (v != V_OK || a->n_exceptions == 0)
        return v;
    drop_outdated(a);
    v = put_waiting_and_dead(a);
    return v == V_OK ? resolve_missing(a) : v;
}

static enum verdict add_ages(struct apply *a) {
    int64_t buckets[BATCH_AGES], counts[BATCH_AGES];
    size_t n = 0;
    for (int i = 0; i < BATCH_AGES; i++) {
        if (a->b->ages[i] == 0)
            continue;
        buckets[n] = i;
        counts[n++] = a->b->ages[i];
    }
    const struct db_col cols[] = {DB_INTS(buckets), DB_INTS(counts)};
    return db_each(a->s->db, SQL_AGES_ADD, cols, 2, n, NULL, NULL, a->e);
}

enum verdict store_apply_live(struct store *s, struct batch *b, struct apply_stats *ret,
                              struct err *e) {
    static apply_step *const steps[] = {
        pass_live_fence,  apply_compare, apply_find_stories, apply_write_items,
        apply_note_index, apply_adopt,   live_exceptions,    add_ages,
    };
    struct apply a = {.s = s, .b = b, .stats = ret, .loose = true, .e = e};
    enum verdict v = apply_in_transaction(&a, steps, ARRAY_LEN(steps));
    if (v == V_OK)
        apply_tell_items(&a);
    return v;
}

struct due_reading {
    struct due_item *out;
    size_t n, max;
};

static enum verdict read_due(void *ctx, const struct db_row *row) {
    struct due_reading *d = ctx;
    if (d->n < d->max)
        d->out[d->n++] = (struct due_item){
            .id = db_row_int(row, 0),
            .attempts = (int)db_row_int(row, 1),
            .rung = (int)db_row_int(row, 2),
        };
    return V_OK;
}

static enum verdict find_due(struct store *s, struct due_reading *d, struct err *e) {
    d->n = 0;
    return db_run(s->db, SQL_LIVE_DUE, DB_VALS(DBI((int64_t)d->max)), read_due, d, e);
}

static enum verdict hand_out(struct store *s, int64_t hold_ms, struct due_reading *d,
                             struct err *e) {
    enum verdict v = find_due(s, d, e);
    if (v != V_OK)
        return v;
    arena_reset(&s->scratch);
    int64_t *ids = arena_alloc(&s->scratch, (d->n + 1) * sizeof *ids);
    int64_t *holds = arena_alloc(&s->scratch, (d->n + 1) * sizeof *holds);
    for (size_t i = 0; i < d->n; i++) {
        ids[i] = d->out[i].id;
        holds[i] = hold_ms;
    }
    const struct db_col cols[] = {DB_INTS(ids), DB_INTS(holds)};
    v = db_each(s->db, SQL_LIVE_HOLD, cols, 2, d->n, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LIVE_SWEEP, DB_VALS(DBI(KEEP_RESOLVED_MS), DBI(SWEEP_MAX)), NULL,
                   NULL, e);
    return v;
}

enum verdict store_live_due(struct store *s, int64_t hold_ms, struct due_item *out, size_t max,
                            size_t *ret_n, struct err *e) {
    struct due_reading d = {.out = out, .max = max};
    *ret_n = 0;
    /* An idle updater asks all the time: it should not take the write lock to hear of nothing. */
    enum verdict v = find_due(s, &d, e);
    if (v != V_OK || d.n == 0)
        return v;
    v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, hand_out(s, hold_ms, &d, e), e);
    if (v == V_OK)
        *ret_n = d.n;
    return v;
}

enum verdict store_live_spill(struct store *s, const int64_t *ids, size_t n, struct err *e) {
    if (n == 0)
        return V_OK;
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    const struct db_col cols[] = {DB_INTS(ids)};
    return store_end(s, db_each(s->db, SQL_LIVE_SPILL, cols, 1, n, NULL, NULL, e), e);
}

static enum verdict read_two(void *ctx, const struct db_row *row) {
    int64_t *two = ctx;
    two[0] = db_row_int(row, 0);
    two[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_live_backlog(struct store *s, int64_t *ret_failed, int64_t *ret_rechecks,
                                struct err *e) {
    int64_t counts[2] = {0, 0};
    enum verdict v = db_run(s->db, SQL_LIVE_BACKLOG, DB_NO_VALS, read_two, counts, e);
    *ret_failed = counts[0];
    *ret_rechecks = counts[1];
    return v;
}

struct ages_reading {
    int64_t *out;
    size_t n;
};

static enum verdict read_bucket(void *ctx, const struct db_row *row) {
    struct ages_reading *r = ctx;
    int64_t bucket = db_row_int(row, 0);
    if (bucket >= 0 && (uint64_t)bucket < r->n)
        r->out[bucket] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_ages(struct store *s, int64_t *ret, size_t n, struct err *e) {
    struct ages_reading r = {ret, n};
    for (size_t i = 0; i < n; i++)
        ret[i] = 0;
    return db_run(s->db, SQL_AGES_LIST, DB_NO_VALS, read_bucket, &r, e);
}
