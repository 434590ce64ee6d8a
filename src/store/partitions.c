#include "store/partitions.h"

#include "base/fault.h"
#include "store/store_int.h"

#include <stdio.h>

#define LOOK_MS 60000
#define HOLD_MS 10000
#define EDGE "items_before_edge" /* a constraint, as long as a conversion needs its proof */
#define LAST_ID ((int64_t)1 << 53)

static const char *const names[PARTITION_TABLES] = {"items", "change_log"};

static int64_t or_none(int64_t width) {
    return width == DB_NULL ? 0 : width;
}

static enum verdict take_widths(void *ctx, const struct db_row *row) {
    struct coverage *c = ctx;
    c->items_width = or_none(db_row_int(row, 0));
    c->log_width = or_none(db_row_int(row, 1));
    return V_OK;
}

/* What goes wrong with partitions is nobody's failure, unless the connection is gone. */
static enum verdict only_retry(enum verdict v) {
    return v == V_RETRY ? V_RETRY : V_OK;
}

/* Someone may have made partitions since, and what was written elsewhere meanwhile wants one. */
static enum verdict look(struct store *s, struct err *e) {
    struct coverage *c = &s->cover;
    int64_t now = clock_mono(s->clock);
    if (c->look_at && now < c->look_at)
        return V_OK;
    c->look_at = now + LOOK_MS;
    return only_retry(db_run(s->db, SQL_PARTITION_TEND, DB_NO_VALS, take_widths, c, e));
}

static enum verdict cover(struct store *s, enum partition_table table, int64_t place, bool *ret,
                          struct err *e) {
    int64_t made = 0;
    enum verdict v = only_retry(
        db_run_int(s->db, SQL_PARTITION_COVER, DB_VALS(DBC(names[table]), DBI(place)), &made, e));
    *ret = v == V_OK && made == 1;
    if (!*ret)
        s->cover.hold_until = clock_mono(s->clock) + HOLD_MS;
    return v;
}

static bool is_covered(const struct coverage *c, int64_t place) {
    for (size_t i = c->n; i-- > 0;)
        if (c->places[i] == place)
            return true;
    return false;
}

static void note_place(struct coverage *c, int64_t place) {
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 16;
        c->places = xrealloc(c->places, c->cap * sizeof *c->places);
    }
    c->places[c->n++] = place;
}

enum verdict store_cover_items(struct store *s, const int64_t *ids, size_t n, struct err *e) {
    struct coverage *c = &s->cover;
    enum verdict v = store_is_shared(s) && n ? look(s, e) : V_OK;
    if (v != V_OK || !c->items_width || clock_mono(s->clock) < c->hold_until)
        return v;
    int64_t last = -1;
    for (size_t i = 0; i < n && v == V_OK; i++) {
        int64_t place = ids[i] / c->items_width;
        bool made;
        if (ids[i] < 1 || ids[i] > LAST_ID || place == last || is_covered(c, place))
            continue;
        v = cover(s, PARTITION_ITEMS, place, &made, e);
        if (!made)
            return v;
        note_place(c, place);
        last = place;
    }
    return v;
}

enum verdict store_not_at_edge(struct store *s, enum verdict v, struct err *e) {
    if (v != V_CONFLICT || !db_is_refused(e, EDGE))
        return v;
    s->cover.look_at = 0;
    return err_wrap(e, V_RETRY, "items is being partitioned, or was when somebody ended it");
}

static enum verdict take_two(void *ctx, const struct db_row *row) {
    int64_t *two = ctx;
    two[0] = db_row_int(row, 0);
    two[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_cover_log(struct store *s, size_t max, struct err *e) {
    struct coverage *c = &s->cover;
    int64_t from_to[2] = {0, 0};
    enum verdict v = look(s, e);
    if (v != V_OK || !c->log_width || clock_mono(s->clock) < c->hold_until)
        return v;
    v = db_run(s->db, SQL_PARTITION_POSITIONS, DB_VALS(DBI((int64_t)max)), take_two, from_to, e);
    int64_t place = from_to[0] / c->log_width, last = from_to[1] / c->log_width;
    bool made = true;
    if (place <= c->log_place)
        place = c->log_place + 1;
    for (; place <= last && v == V_OK && made; place++) {
        v = cover(s, PARTITION_LOG, place, &made, e);
        if (made)
            c->log_place = place;
    }
    return v;
}

static enum verdict take_state(void *ctx, const struct db_row *row) {
    struct partition_state *st = ctx;
    for (int i = 0; i < PARTITION_TABLES; i++) {
        if (!str_eqc(db_row_text(row, 0), names[i]))
            continue;
        st->of[i].width = or_none(db_row_int(row, 1));
        st->of[i].n = db_row_int(row, 2);
        st->of[i].stray = db_row_int(row, 3) == 1;
        st->unfinished |= db_row_int(row, 4) == 1;
    }
    return V_OK;
}

enum verdict store_partition_state(struct store *s, struct partition_state *ret, struct err *e) {
    *ret = (struct partition_state){0};
    return db_run(s->db, SQL_PARTITION_STATE, DB_NO_VALS, take_state, ret, e);
}

struct words {
    char text[400];
};

static enum verdict take_words(void *ctx, const struct db_row *row) {
    struct words *w = ctx;
    struct str said = db_row_text(row, 0);
    snprintf(w->text, sizeof w->text, "%.*s", (int)said.n, said.p);
    return V_OK;
}

/* What a statement has to say against one of the tables that are still to be converted, and of
 * which; "": nothing. */
static enum verdict find_words(struct store *s, const struct partition_state *st, int stmt,
                               struct words *ret, const char **ret_name, struct err *e) {
    enum verdict v = V_OK;
    *ret = (struct words){""};
    for (int i = 0; i < PARTITION_TABLES && v == V_OK && !*ret->text; i++) {
        *ret_name = names[i];
        if (!st->of[i].width)
            v = db_run(s->db, stmt, DB_VALS(DBC(names[i])), take_words, ret, e);
    }
    return v;
}

/* Before the first step. */
static enum verdict check_first(struct store *s, const struct partition_state *st, struct err *e) {
    struct words w;
    const char *name;
    enum verdict v = find_words(s, st, SQL_PARTITION_OWNER, &w, &name, e);
    if (v == V_OK && *w.text)
        return err_set(e, V_CONFLICT, "partitions", 0,
                       "the table %s belongs to %s: only that role, or a member of it, can "
                       "partition it",
                       name, w.text);
    if (v == V_OK)
        v = find_words(s, st, SQL_PARTITION_OBSTACLE, &w, &name, e);
    if (v == V_OK && *w.text)
        return err_set(e, V_CONFLICT, "partitions", 0,
                       "these would not follow the table %s: %s. Drop them, and make them again "
                       "afterwards",
                       name, w.text);
    return v;
}

/* A step is through. */
static enum verdict step(struct err *e) {
    return fault_hit("partition_step") ? err_set(e, V_FATAL, "fault", 0, "injected failure") : V_OK;
}

/* That all ids are below the edge is proved beside readers and writers, by a constraint, so that
 * the first partition need not be read under the lock of the swap. */
static enum verdict prove_edge(struct store *s, int64_t edge, struct err *e) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "SET lock_timeout TO '2s'; ALTER TABLE items DROP CONSTRAINT IF EXISTS " EDGE
             ", ADD CONSTRAINT " EDGE " CHECK (id < %lld) NOT VALID",
             (long long)edge);
    enum verdict v = db_script(s->db, sql, e);
    if (v == V_OK)
        v = step(e);
    if (v == V_OK)
        v = db_script(s->db, "SET statement_timeout TO 0", e);
    if (v == V_OK)
        v = db_script(s->db, "ALTER TABLE items VALIDATE CONSTRAINT " EDGE, e);
    v = store_not_at_edge(s, v, e); /* a row came before the constraint: the edge is to be moved */
    return v == V_OK ? step(e) : v;
}

static enum verdict convert(struct store *s, enum partition_table table, int64_t width,
                            struct err *e) {
    int64_t edge = 0, done;
    enum verdict v = V_OK;
    if (table == PARTITION_ITEMS)
        v = db_run_int(s->db, SQL_PARTITION_EDGE, DB_VALS(DBI(width)), &edge, e);
    if (v == V_OK && table == PARTITION_ITEMS)
        v = prove_edge(s, edge, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_run_int(s->db, SQL_PARTITION_MAKE, DB_VALS(DBC(names[table]), DBI(width), DBI(edge)),
                   &done, e);
    if (v == V_OK)
        v = step(e);
    v = store_end(s, v, e);
    return v == V_OK ? step(e) : v;
}

enum verdict store_partition(struct store *s, int64_t width, struct err *e) {
    struct partition_state st;
    int64_t ours;
    if (!store_is_shared(s))
        return err_set(e, V_INVALID, "partitions", 0,
                       "only an archive on PostgreSQL can be partitioned");
    enum verdict v = db_run_int(s->db, SQL_PARTITION_HOLD, DB_NO_VALS, &ours, e);
    if (v == V_OK && ours != 1)
        v = err_set(e, V_RETRY, "partitions", 0,
                    "another process is making partitions, or the server has not noticed its end");
    if (v == V_OK)
        v = store_partition_state(s, &st, e);
    if (v == V_OK)
        v = check_first(s, &st, e);
    for (int i = 0; i < PARTITION_TABLES && v == V_OK; i++)
        if (!st.of[i].width) {
            int64_t share = i == PARTITION_LOG ? PARTITION_LOG_SHARE : 1;
            v = convert(s, (enum partition_table)i, width / share > 0 ? width / share : 1, e);
        }
    s->cover.look_at = 0;
    return v;
}
