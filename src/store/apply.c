#include "base/fault.h"
#include "store/apply_int.h"

#include <stdlib.h>

int64_t *apply_ints(struct apply *a, size_t n) {
    return arena_alloc(&a->s->scratch, n * sizeof(int64_t));
}

struct str *apply_texts(struct apply *a, size_t n) {
    return arena_alloc(&a->s->scratch, n * sizeof(struct str));
}

/* Of one id the later fetch comes last, of the same fetch the later place in the batch. */
static int by_id(const void *x, const void *y) {
    const struct work *a = x, *b = y;
    if (a->item->id != b->item->id)
        return a->item->id < b->item->id ? -1 : 1;
    if (a->fetched_at != b->fetched_at)
        return a->fetched_at < b->fetched_at ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

struct work *apply_work_of(const struct apply *a, int64_t id) {
    if (id < a->lo || id > a->hi)
        return NULL;
    size_t lo = 0, hi = a->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (a->works[mid].item->id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < a->n && a->works[lo].item->id == id ? &a->works[lo] : NULL;
}

bool apply_is_dense(const struct apply *a) {
    return a->hi - a->lo < 8 * (int64_t)a->n + 64;
}

/* By id; without a segment an id may come twice, and then the last one counts. */
static void sort_works(struct apply *a) {
    bool sorted = true;
    for (size_t i = 1; i < a->n && sorted; i++)
        sorted = a->works[i - 1].item->id < a->works[i].item->id;
    if (sorted)
        return;
    qsort(a->works, a->n, sizeof *a->works, by_id);
    if (!a->loose)
        return; /* no segment asks for an id twice: if it did, a constraint will say so */
    size_t kept = 0;
    for (size_t i = 0; i < a->n; i++)
        if (i + 1 == a->n || a->works[i].item->id != a->works[i + 1].item->id)
            a->works[kept++] = a->works[i];
    a->stats->repeated = (int64_t)(a->n - kept);
    a->n = kept;
}

static void make_works(struct apply *a) {
    struct batch *b = a->b;
    a->n = b->n_items;
    a->works = arena_zalloc(&a->s->scratch, a->n * sizeof *a->works);
    for (size_t i = 0; i < a->n; i++)
        a->works[i] = (struct work){.item = &b->items[i].item,
                                    .fetched_at = b->items[i].fetched_at,
                                    .story_id = DB_NULL,
                                    .old_story = DB_NULL};
    sort_works(a);
    a->n_exceptions = b->n_exceptions;
    a->exceptions = arena_alloc(&a->s->scratch, (a->n_exceptions + 1) * sizeof *a->exceptions);
    for (size_t i = 0; i < a->n_exceptions; i++) {
        a->exceptions[i] = b->exceptions[i];
        a->exceptions[i].error = store_clean_text(a->s, b->exceptions[i].error);
    }
    if (a->n) {
        a->lo = a->works[0].item->id;
        a->hi = a->works[a->n - 1].item->id;
    }
}

static enum verdict pass_fence(struct apply *a) {
    enum verdict v = db_run_int(a->s->db, SQL_SEGMENT_RENEW,
                                DB_VALS(DBI(a->b->segment_id), DBI(a->b->lease_token),
                                        DBI(a->s->lease_ms), DBI(a->b->cursor)),
                                &a->now_ms, a->e);
    if (v == V_NOT_FOUND)
        return err_set(a->e, V_CONFLICT, "lease", 0, "the lease of segment %lld went to another",
                       (long long)a->b->segment_id);
    return v;
}

static enum verdict read_counts(void *ctx, const struct db_row *row) {
    int64_t *waiting_and_dead = ctx;
    waiting_and_dead[0] = db_row_int(row, 0);
    waiting_and_dead[1] = db_row_int(row, 1);
    return V_OK;
}

static enum segment_status settled_status(const struct batch *b, const int64_t counts[2]) {
    if (b->cursor < b->end_id)
        return SEG_PENDING;
    return counts[0] ? SEG_RETRY_WAIT : counts[1] ? SEG_DEAD_LETTER : SEG_DONE;
}

static enum verdict release_segment(struct apply *a, const int64_t counts[2]) {
    struct batch *b = a->b;
    enum segment_status status = settled_status(b, counts);
    enum verdict v = fsm_check(&segment_fsm, SEG_IN_PROGRESS, (int)status, a->e);
    if (v != V_OK)
        return v;
    a->stats->released = true;
    a->stats->status = status;
    const struct batch_exception *last =
        a->n_exceptions ? &a->exceptions[a->n_exceptions - 1] : NULL;
    v = db_run(a->s->db, SQL_SEGMENT_RELEASE,
               DB_VALS(DBI(b->segment_id), DBI(b->lease_token), DBC(segment_fsm.states[status]),
                       DBI(counts[0] + counts[1]), DBT(last ? last->error : STR_NONE),
                       DBC(last ? last->cls : NULL)),
               NULL, NULL, a->e);
    if (v != V_OK || status != SEG_DONE || b->purpose == PURPOSE_MIRROR)
        return v;
    /* what is not the mirror itself leaves no trace when it is done */
    v = db_run(a->s->db, SQL_SEGMENT_KEEP_MISSING, DB_VALS(DBI(b->segment_id)), NULL, NULL, a->e);
    if (v == V_OK)
        v = db_run(a->s->db, SQL_SEGMENT_DELETE_EXCEPTIONS, DB_VALS(DBI(b->segment_id)), NULL, NULL,
                   a->e);
    if (v == V_OK)
        v = db_run(a->s->db, SQL_SEGMENT_DELETE, DB_VALS(DBI(b->segment_id)), NULL, NULL, a->e);
    return v;
}

static enum verdict settle_segment(struct apply *a) {
    struct batch *b = a->b;
    if (!b->release && a->n_exceptions == 0 && a->stats->resolved == 0)
        return V_OK;
    int64_t counts[2] = {0, 0};
    enum verdict v = db_run(a->s->db, SQL_SEGMENT_COUNT_STATES, DB_VALS(DBI(b->segment_id)),
                            read_counts, counts, a->e);
    if (v != V_OK)
        return v;
    if (b->release)
        return release_segment(a, counts);
    return db_run(a->s->db, SQL_SEGMENT_COUNT_UNRESOLVED,
                  DB_VALS(DBI(b->segment_id), DBI(counts[0] + counts[1])), NULL, NULL, a->e);
}

/* The mirror's own segments may bring history; what else fetches looks for news. */
static bool may_be_history(const struct apply *a) {
    return a->n > 0 && !a->s->log_history && (a->import || a->b->purpose == PURPOSE_MIRROR);
}

enum verdict apply_hush(struct apply *a) {
    if (!may_be_history(a))
        return V_OK;
    return db_run(a->s->db, SQL_FEED_BULK_ON, DB_VALS(DBI(a->hi)), NULL, NULL, a->e);
}

enum verdict apply_speak(struct apply *a) {
    if (!may_be_history(a))
        return V_OK;
    return db_run(a->s->db, SQL_FEED_BULK_OFF, DB_NO_VALS, NULL, NULL, a->e);
}

static enum verdict run_steps(struct apply *a, apply_step *const *steps, size_t n) {
    enum verdict v = V_OK;
    for (size_t i = 0; i < n && v == V_OK; i++) {
        v = store_not_at_edge(a->s, steps[i](a), a->e);
        if (v == V_CONFLICT && i > 0) /* a constraint: what we know of the database is wrong */
            v = err_wrap(a->e, V_FATAL, "the archive contradicts itself");
        if (v == V_OK && fault_hit("apply_step"))
            v = err_set(a->e, V_RETRY, "fault", 0, "injected failure after step %zu", i);
    }
    return v;
}

static enum verdict cover_works(struct apply *a) {
    int64_t *ids = apply_ints(a, a->n);
    for (size_t i = 0; i < a->n; i++)
        ids[i] = a->works[i].item->id;
    return store_cover_items(a->s, ids, a->n, a->e);
}

enum verdict apply_in_transaction(struct apply *a, apply_step *const *steps, size_t n) {
    struct batch *b = a->b;
    *a->stats = (struct apply_stats){0};
    for (size_t i = 0; i < b->n_items; i++)
        if (b->items[i].item.content_hash == 0)
            item_derive(&b->arena, &b->items[i].item);
    arena_reset(&a->s->scratch);
    make_works(a);
    enum verdict v = cover_works(a);
    if (v == V_OK)
        v = db_begin(a->s->db, a->e);
    if (v != V_OK)
        return v;
    return store_end(a->s, run_steps(a, steps, n), a->e);
}

_Static_assert(offsetof(struct batch_item, item) == 0, "a work's item leads to its batch_item");

void apply_tell_items(struct apply *a) {
    for (size_t i = 0; i < a->b->n_items; i++) {
        a->b->items[i].ret_inserted = false;
        a->b->items[i].ret_story = DB_NULL;
    }
    for (size_t i = 0; i < a->n; i++) {
        struct batch_item *bi = (struct batch_item *)(uintptr_t)a->works[i].item;
        bi->ret_inserted = a->works[i].action == ACT_INSERT;
        bi->ret_story = a->works[i].story_id;
    }
}

enum verdict store_apply(struct store *s, struct batch *b, struct apply_stats *ret, struct err *e) {
    static apply_step *const steps[] = {
        pass_fence,  apply_compare,    apply_find_stories, apply_hush,       apply_write_items,
        apply_speak, apply_note_index, apply_adopt,        apply_exceptions, settle_segment,
    };
    struct apply a = {.s = s, .b = b, .stats = ret, .e = e};
    enum verdict v = apply_in_transaction(&a, steps, ARRAY_LEN(steps));
    if (v == V_OK && (b->purpose == PURPOSE_GAP || b->purpose == PURPOSE_MIRROR))
        apply_tell_items(&a);
    return v;
}

void store_note_failure(struct store *s, const struct batch *b, const struct err *why) {
    struct err ignored;
    if (db_recover(s->db, &ignored) == V_OK &&
        db_run(s->db, SQL_SEGMENT_NOTE_FAILURE,
               DB_VALS(DBI(b->segment_id), DBI(b->lease_token), DBC(why->msg)), NULL, NULL,
               &ignored) != V_OK) {
        /* the run ends with the message anyway */
    }
}
