/* Readers of the change log and its state; feed_publish.c numbers what they read. */
#include "store/feed.h"

#include "store/feed_int.h"

/* Of one reading, whatever is asked for: its table of rows has room for so many. */
#define READ_MAX 10000

static enum verdict take_state(void *ctx, const struct db_row *row) {
    *(struct feed_state *)ctx = (struct feed_state){
        .epoch = db_row_int(row, 0),
        .head = db_row_int(row, 1),
        .oldest = db_row_int(row, 2),
        .history_to = db_row_int(row, 3),
        .retired = db_row_int(row, 4),
    };
    return V_OK;
}

enum verdict store_feed_state(struct store *s, struct feed_state *ret, struct err *e) {
    struct feed_state st = {.epoch = DB_NULL};
    enum verdict v = db_run(s->db, SQL_FEED_STATE_GET, DB_NO_VALS, take_state, &st, e);
    if (v != V_OK)
        return v;
    if (st.epoch == DB_NULL)
        return err_set(e, V_FATAL, "feed", 0, "the state of the change feed is gone");
    *ret = st;
    return V_OK;
}

struct epoch_reading {
    bool known;
    int64_t next_from; /* DB_NULL: it is the last one */
};

static enum verdict take_epoch(void *ctx, const struct db_row *row) {
    struct epoch_reading *r = ctx;
    r->known = db_row_int(row, 0) > 0;
    r->next_from = db_row_int(row, 1);
    return V_OK;
}

static enum verdict resolve(struct store *s, struct feed_id since, int64_t *ret_pos, bool *ret_gap,
                            struct err *e) {
    struct epoch_reading epoch = {.next_from = DB_NULL};
    struct feed_state st = {0};
    enum verdict v =
        db_run(s->db, SQL_FEED_EPOCH_AFTER, DB_VALS(DBI(since.epoch)), take_epoch, &epoch, e);
    if (v == V_OK)
        v = store_feed_state(s, &st, e);
    if (v != V_OK)
        return v;
    /* what this life has in common with the one that is meant; nothing is known of a stranger's */
    int64_t common = !epoch.known ? 0 : epoch.next_from == DB_NULL ? st.head : epoch.next_from;
    int64_t pos = since.pos < common ? since.pos : common;
    if (pos < st.oldest - 1)
        pos = st.oldest - 1;
    *ret_pos = pos;
    *ret_gap = !epoch.known || pos != since.pos;
    return V_OK;
}

enum verdict store_feed_resolve(struct store *s, struct feed_id since, int64_t *ret_pos,
                                bool *ret_gap, struct err *e) {
    enum verdict v = db_begin_read(s->db, e);
    return v == V_OK ? store_end(s, resolve(s, since, ret_pos, ret_gap, e), e) : v;
}

struct log_reading {
    struct arena *a;
    struct feed_change *out;
    size_t n, bytes, max_bytes;
};

/* Neighbours are mostly of the same table. */
static void take_names(struct log_reading *r, const struct db_row *row, struct feed_change *c) {
    const struct feed_change *last = r->n ? c - 1 : NULL;
    if (last && last->table == c->table) {
        c->schema = last->schema;
        c->name = last->name;
        return;
    }
    c->schema = arena_str(r->a, db_row_text(row, 3));
    c->name = arena_str(r->a, db_row_text(row, 4));
}

static bool action_of(struct str name, enum feed_action *ret) {
    for (enum feed_action a = 0; a < FEED_ACTIONS; a++) {
        if (!str_eqc(name, feed_action_name(a)))
            continue;
        *ret = a;
        return true;
    }
    return false;
}

static enum verdict take_change(void *ctx, const struct db_row *row) {
    struct log_reading *r = ctx;
    struct feed_change *c = &r->out[r->n];
    if (r->n && (r->bytes >= r->max_bytes || db_row_int(row, 0) != c[-1].pos + 1))
        return V_STOPPED;
    *c = (struct feed_change){
        .epoch = db_row_int(row, 9),
        .pos = db_row_int(row, 0),
        .at = db_row_int(row, 1),
        .table = (int)db_row_int(row, 2),
        .is_public = db_row_int(row, 5) == 1,
        .key = arena_str(r->a, db_row_text(row, 7)),
        .data = arena_str(r->a, db_row_text(row, 8)),
        .topics = db_row_int(row, 10),
    };
    if (!action_of(db_row_text(row, 6), &c->action))
        return V_FATAL;
    take_names(r, row, c);
    r->bytes += c->key.n + c->data.n;
    r->n++;
    return V_OK;
}

enum verdict store_feed_read(struct store *s, struct arena *a, int64_t pos, size_t max,
                             size_t max_bytes, const struct feed_change **ret, size_t *ret_n,
                             struct err *e) {
    if (max > READ_MAX)
        max = READ_MAX;
    if (max_bytes < 1)
        max_bytes = 1;
    struct log_reading r = {.a = a, .max_bytes = max_bytes};
    r.out = arena_alloc(a, (max + 1) * sizeof *r.out);
    enum verdict v = db_run(
        s->db, SQL_FEED_READ,
        DB_VALS(DBI(pos), DBI((int64_t)max), DBI((int64_t)max_bytes), DBI((int64_t)FEED_DATA_MAX)),
        take_change, &r, e);
    if (v != V_OK && v != V_STOPPED)
        return v;
    *ret = r.out;
    *ret_n = r.n;
    return V_OK;
}
