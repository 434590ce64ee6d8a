/* Exceptions are the truth about ids that are not plain successes: written here for what failed or
 * waits, removed here for what is stored. */
#include "store/apply_int.h"

#include <stdlib.h>
#include <string.h>

struct clearing {
    struct apply *a;
    int64_t *ids;
    size_t n, cap;
};

static bool waits_in_batch(const struct apply *a, int64_t id) {
    for (size_t i = 0; i < a->n_exceptions; i++)
        if (a->exceptions[i].id == id)
            return true;
    return false;
}

/* A line of a dump, or an answer for the live stream, that a later fetch has overtaken settles
 * nothing: what that fetch found may be waiting for a recheck. */
static bool settles(const struct apply *a, int64_t id) {
    const struct work *w = apply_work_of(a, id);
    return w && !(a->loose && w->action == ACT_STALE) && !waits_in_batch(a, id);
}

/* An id of this batch with an old trouble: it is stored now. */
static enum verdict collect_cleared(void *ctx, const struct db_row *row) {
    struct clearing *c = ctx;
    int64_t id = db_row_int(row, 0);
    bool repeated = c->n && c->ids[c->n - 1] == id;
    if (!repeated && c->n < c->cap && settles(c->a, id))
        c->ids[c->n++] = id;
    return V_OK;
}

static enum verdict clear(struct apply *a, const int64_t *ids, size_t n) {
    const struct db_col cols[] = {DB_INTS(ids)};
    enum verdict v = db_each(a->s->db, SQL_EXCEPTIONS_CLEAR, cols, 1, n, NULL, NULL, a->e);
    a->stats->resolved += db_changes(a->s->db);
    if (v == V_OK)
        v = db_each(a->s->db, SQL_DLQ_RESOLVE, cols, 1, n, NULL, NULL, a->e);
    return v;
}

enum verdict apply_clear_stored(struct apply *a) {
    if (a->n == 0)
        return V_OK;
    struct clearing c = {.a = a, .ids = apply_ints(a, 2 * a->n), .cap = 2 * a->n};
    enum verdict v;
    if (apply_is_dense(a)) {
        v = db_run(a->s->db, SQL_TROUBLES_IN_RANGE, DB_VALS(DBI(a->lo), DBI(a->hi)),
                   collect_cleared, &c, a->e);
    } else {
        int64_t *ids = apply_ints(a, a->n);
        for (size_t i = 0; i < a->n; i++)
            ids[i] = a->works[i].item->id;
        const struct db_col cols[] = {DB_INTS(ids)};
        v = db_each(a->s->db, SQL_EXCEPTIONS_EXIST, cols, 1, a->n, collect_cleared, &c, a->e);
    }
    return v == V_OK ? clear(a, c.ids, c.n) : v;
}

struct stored_ids {
    int64_t *ids;
    size_t n;
};

static enum verdict note_stored(void *ctx, const struct db_row *row) {
    struct stored_ids *s = ctx;
    s->ids[s->n++] = db_row_int(row, 0);
    return V_OK;
}

static bool contains(const struct stored_ids *s, int64_t id) {
    for (size_t i = 0; i < s->n; i++)
        if (s->ids[i] == id)
            return true;
    return false;
}

/* A null never erases a stored item, and an id that another path stored is a success, whatever this
 * segment got for it. A `[delayed]` item is stored and waits all the same; a replay that failed
 * wants to be tried again, but nulls are the mirror's business, not a replay's. */
static bool is_settled(const struct batch *b, const struct batch_exception *x, bool stored) {
    bool mirror = b->purpose == PURPOSE_MIRROR || b->purpose == PURPOSE_GAP;
    if (strncmp(x->cls, "null", 4) == 0)
        return stored || !mirror;
    return stored && mirror && strcmp(x->cls, "delayed") != 0;
}

static enum verdict believe(struct apply *a, const int64_t *ids, size_t n) {
    const struct db_col cols[] = {DB_INTS(ids)};
    enum verdict v = db_each(a->s->db, SQL_EXCEPTIONS_BELIEVE_NULL, cols, 1, n, NULL, NULL, a->e);
    if (v == V_OK)
        v = db_each(a->s->db, SQL_DLQ_RESOLVE, cols, 1, n, NULL, NULL, a->e);
    return v;
}

/* Takes out the exceptions that need no row. */
static enum verdict drop_settled(struct apply *a) {
    struct batch *b = a->b;
    int64_t *ids = apply_ints(a, a->n_exceptions);
    for (size_t i = 0; i < a->n_exceptions; i++)
        ids[i] = a->exceptions[i].id;
    struct stored_ids stored = {.ids = apply_ints(a, a->n_exceptions)};
    const struct db_col cols[] = {DB_INTS(ids)};
    enum verdict v =
        db_each(a->s->db, SQL_ITEMS_STORY_OF, cols, 1, a->n_exceptions, note_stored, &stored, a->e);
    if (v != V_OK)
        return v;
    int64_t *believed = apply_ints(a, a->n_exceptions);
    size_t kept = 0, cleared = 0, n_believed = 0;
    for (size_t i = 0; i < a->n_exceptions; i++) {
        const struct batch_exception *x = &a->exceptions[i];
        bool is_stored = contains(&stored, x->id);
        if (!is_settled(b, x, is_stored))
            a->exceptions[kept++] = *x;
        else if (is_stored)
            ids[cleared++] = x->id;
        else if (x->state == EXC_TERMINAL_MISSING)
            believed[n_believed++] = x->id;
    }
    a->n_exceptions = kept;
    v = believe(a, believed, n_believed);
    return v == V_OK ? clear(a, ids, cleared) : v;
}

static enum verdict put_exceptions(struct apply *a) {
    struct batch *b = a->b;
    size_t n = a->n_exceptions;
    int64_t *ids = apply_ints(a, n), *segments = apply_ints(a, n), *attempts = apply_ints(a, n);
    int64_t *rungs = apply_ints(a, n), *due = apply_ints(a, n);
    struct str *states = apply_texts(a, n), *errors = apply_texts(a, n),
               *classes = apply_texts(a, n);
    for (size_t i = 0; i < n; i++) {
        const struct batch_exception *x = &a->exceptions[i];
        ids[i] = x->id;
        segments[i] = b->segment_id;
        states[i] = str_of(exception_fsm.states[x->state]);
        attempts[i] = x->attempts;
        rungs[i] = x->rung;
        due[i] = x->next_retry_at;
        errors[i] = x->error;
        classes[i] = str_of(x->cls);
        a->stats->missing += x->state == EXC_TERMINAL_MISSING;
        a->stats->waiting += x->state == EXC_PENDING || x->state == EXC_RETRY_WAIT;
        a->stats->dead += x->state == EXC_DEAD_LETTER;
    }
    const struct db_col cols[] = {DB_INTS(ids),      DB_INTS(segments), DB_TEXTS(states),
                                  DB_INTS(attempts), DB_INTS(rungs),    DB_INTS(due),
                                  DB_TEXTS(errors),  DB_TEXTS(classes)};
    return db_each(a->s->db, SQL_EXCEPTIONS_PUT, cols, ARRAY_LEN(cols), n, NULL, NULL, a->e);
}

/* A dead letter is written to the queue of dead letters in the transaction that decides it. */
static enum verdict put_dead_letters(struct apply *a) {
    struct batch *b = a->b;
    size_t n = 0;
    int64_t *ids = apply_ints(a, a->n_exceptions), *attempts = apply_ints(a, a->n_exceptions);
    struct str *sources = apply_texts(a, a->n_exceptions),
               *errors = apply_texts(a, a->n_exceptions);
    struct str *classes = apply_texts(a, a->n_exceptions);
    for (size_t i = 0; i < a->n_exceptions; i++) {
        const struct batch_exception *x = &a->exceptions[i];
        if (x->state != EXC_DEAD_LETTER)
            continue;
        ids[n] = x->id;
        attempts[n] = x->attempts;
        sources[n] = b->purpose == PURPOSE_RESCAN ? STR("rescan") : STR("catchup");
        errors[n] = x->error;
        classes[n++] = str_of(x->cls);
    }
    const struct db_col cols[] = {DB_TEXTS(sources), DB_INTS(ids), DB_TEXTS(classes),
                                  DB_INTS(attempts), DB_TEXTS(errors)};
    return db_each(a->s->db, SQL_DLQ_PUT, cols, ARRAY_LEN(cols), n, NULL, NULL, a->e);
}

/* An id that is believed missing is no dead letter any more. */
static enum verdict resolve_missing(struct apply *a) {
    int64_t *ids = apply_ints(a, a->n_exceptions);
    size_t n = 0;
    for (size_t i = 0; i < a->n_exceptions; i++)
        if (a->exceptions[i].state == EXC_TERMINAL_MISSING)
            ids[n++] = a->exceptions[i].id;
    const struct db_col cols[] = {DB_INTS(ids)};
    return db_each(a->s->db, SQL_DLQ_RESOLVE, cols, 1, n, NULL, NULL, a->e);
}

enum verdict apply_exceptions(struct apply *a) {
    enum verdict v = apply_clear_stored(a);
    if (v == V_OK && a->n_exceptions)
        v = drop_settled(a);
    if (v == V_OK && a->n_exceptions)
        v = put_exceptions(a);
    if (v == V_OK && a->stats->missing)
        v = resolve_missing(a);
    if (v == V_OK && a->stats->dead)
        v = put_dead_letters(a);
    return v;
}
