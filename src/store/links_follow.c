/* Stories become links. Where the feed was read to is one row, which whoever takes a step moves
 * from where it found it: so a change is looked at once, and by whom does not matter. */
#include "store/links_follow.h"

#include "store/feed.h"
#include "store/links_int.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 200 /* changes of one step */
#define PAGE_BYTES ((size_t)1024 * 1024)
#define PUBLISH 2000
#define SCAN_IDS 2000
#define LATE_MS (10 * 60000) /* a change may be logged so long before it is told of */
#define IDLE_MS 60000        /* so often it is noted that there was nothing new */
#define ANY_SCORE INT64_C(-1000000000)

static const struct {
    const char *name;
    int64_t score;
} kinds[] = {
    [LINK_FOLLOW_ALL] = {"all", ANY_SCORE},
    [LINK_FOLLOW_FRONT] = {"front", LINK_FRONT_SCORE},
};

/* The row of this follower. */
struct place {
    bool there;
    struct feed_id id;
    int64_t at;                     /* what was changed before that has been looked at */
    int64_t list_at;                /* as which the list was looked at */
    int64_t scan_below, scan_since; /* DB_NULL: nothing was missed */
    int64_t now;
};

static enum verdict read_place(void *ctx, const struct db_row *row) {
    *(struct place *)ctx = (struct place){.there = true,
                                          .id = {db_row_int(row, 0), db_row_int(row, 1)},
                                          .at = db_row_int(row, 2),
                                          .list_at = db_row_int(row, 3),
                                          .scan_below = db_row_int(row, 4),
                                          .scan_since = db_row_int(row, 5),
                                          .now = db_row_int(row, 6)};
    return V_OK;
}

/* The first one of all begins with now. */
static enum verdict find_place(struct store *s, const char *name, struct place *ret,
                               struct err *e) {
    struct feed_state st;
    enum verdict v = V_OK;
    *ret = (struct place){0};
    for (int i = 0; v == V_OK && i < 2 && !ret->there; i++) {
        if (i)
            v = store_feed_state(s, &st, e);
        if (i && v == V_OK)
            v = db_run(s->db, SQL_LINK_FEED_BEGIN, DB_VALS(DBC(name), DBI(st.epoch), DBI(st.head)),
                       NULL, NULL, e);
        if (v == V_OK)
            v = db_run(s->db, SQL_LINK_FEED_GET, DB_VALS(DBC(name)), read_place, ret, e);
    }
    return v == V_OK && !ret->there
               ? err_set(e, V_RETRY, "links", 0, "the place in the feed came and went")
               : v;
}

/* --- which items --- */

struct ids {
    struct arena *a;
    int64_t *at;
    size_t n;
};

static int ascending(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* In one order, so that nobody waits in a circle; each once. */
static void put_in_order(struct ids *ids) {
    size_t n = 0;
    if (ids->n)
        qsort(ids->at, ids->n, sizeof ids->at[0], ascending);
    for (size_t i = 0; i < ids->n; i++)
        if (n == 0 || ids->at[n - 1] != ids->at[i])
            ids->at[n++] = ids->at[i];
    ids->n = n;
}

/* Of {"id":123}. */
static bool id_of_key(struct str key, int64_t *ret) {
    size_t from = 0, n = 0;
    while (from < key.n && (key.p[from] < '0' || key.p[from] > '9'))
        from++;
    while (from + n < key.n && key.p[from + n] >= '0' && key.p[from + n] <= '9')
        n++;
    return n > 0 && str_to_i64((struct str){key.p + from, n}, ret);
}

#define ITEMS_TABLE 1

/* *ret_lost: the feed says that it could not log everything. */
static void ids_of_changes(const struct feed_change *c, size_t n, struct ids *ret, bool *ret_lost) {
    for (size_t i = 0; i < n; i++) {
        if (c[i].table != ITEMS_TABLE)
            continue;
        if (c[i].action == FEED_RESYNC)
            *ret_lost = true;
        else if ((c[i].action == FEED_INSERT || c[i].action == FEED_UPDATE) && c[i].key.p &&
                 id_of_key(c[i].key, &ret->at[ret->n]))
            ret->n++;
    }
    put_in_order(ret);
}

static enum verdict read_id(void *ctx, const struct db_row *row) {
    struct ids *ids = ctx;
    ids->at[ids->n++] = db_row_int(row, 0);
    return V_OK;
}

/* --- the steps --- */

/* What moves the place comes first: a sibling that was quicker leaves nothing to do. */
static enum verdict make_links(struct store *s, enum verdict moved, const struct ids *ids,
                               int64_t score, size_t *ret_made, struct err *e) {
    enum verdict v = moved;
    bool ours = v == V_OK && db_changes(s->db) > 0;
    size_t made = 0;
    for (size_t i = 0; v == V_OK && ours && i < ids->n; i++)
        v = links_add_story(s, ids->at[i], score, &made, e);
    v = store_end(s, v, e);
    *ret_made += v == V_OK ? made : 0;
    return v;
}

static int64_t scan_from(const struct place *p) {
    int64_t since = p->at - LATE_MS, most = p->now - LINK_MISSED_MS;
    return since > most ? since : most;
}

/* Goes on at `to`; what was missed before is for the scan, from the newest item down. */
static enum verdict miss(struct store *s, enum link_follow which, const struct place *p,
                         struct feed_id to, struct err *e) {
    return db_run(s->db, SQL_LINK_FEED_MISSED,
                  DB_VALS(DBC(kinds[which].name), DBI(p->id.epoch), DBI(p->id.pos), DBI(to.epoch),
                          DBI(to.pos), DBI(scan_from(p))),
                  NULL, NULL, e);
}

static enum verdict move(struct store *s, enum link_follow which, const struct place *p,
                         struct feed_id to, int64_t at, struct err *e) {
    return db_run(s->db, SQL_LINK_FEED_MOVE,
                  DB_VALS(DBC(kinds[which].name), DBI(p->id.epoch), DBI(p->id.pos), DBI(to.epoch),
                          DBI(to.pos), DBI(at)),
                  NULL, NULL, e);
}

static enum verdict take_page(struct store *s, enum link_follow which, const struct place *p,
                              const struct feed_change *changes, size_t n,
                              struct link_followed *ret, struct err *e) {
    struct ids ids = {.at = arena_alloc(&s->scratch, (n + 1) * sizeof(int64_t))};
    const struct feed_change *last = &changes[n - 1];
    struct feed_id to = {last->epoch, last->pos};
    bool lost = false;
    ids_of_changes(changes, n, &ids, &lost);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    int64_t at = last->at < p->now ? last->at : p->now;
    v = lost ? miss(s, which, p, to, e) : move(s, which, p, to, at > p->at ? at : p->at, e);
    ret->gap = ret->gap || lost;
    return make_links(s, v, &ids, kinds[which].score, &ret->made, e);
}

/* Changes behind the place, a page of them. */
static enum verdict follow(struct store *s, enum link_follow which, const struct place *p,
                           struct link_followed *ret, struct err *e) {
    const struct feed_change *changes;
    struct feed_state st;
    int64_t pos;
    size_t n;
    enum verdict v = store_feed_resolve(s, p->id, &pos, &ret->gap, e);
    if (v == V_OK && ret->gap) {
        v = store_feed_state(s, &st, e);
        ret->more = true;
        return v == V_OK ? miss(s, which, p, (struct feed_id){st.epoch, pos}, e) : v;
    }
    if (v == V_OK)
        v = store_feed_read(s, &s->scratch, pos, PAGE, PAGE_BYTES, &changes, &n, e);
    if (v != V_OK)
        return v;
    ret->changes = n;
    ret->more = n > 0;
    /* what was pruned just now is a gap the next time; nothing is passed over */
    if (n && changes[0].pos == pos + 1)
        return take_page(s, which, p, changes, n, ret, e);
    return n == 0 && p->now - p->at > IDLE_MS ? move(s, which, p, p->id, p->now, e) : V_OK;
}

/* The archive in place of the feed. */
static enum verdict scan(struct store *s, enum link_follow which, const struct place *p,
                         struct link_followed *ret, struct err *e) {
    struct ids ids = {.at = arena_alloc(&s->scratch, SCAN_IDS * sizeof(int64_t))};
    int64_t lowest = DB_NULL, latest = DB_NULL;
    if (p->scan_below == DB_NULL)
        return V_OK;
    int64_t oldest = p->scan_since - LINK_MISSED_AGE_MS;
    enum verdict v = db_run_int(s->db, SQL_LINK_MISSED_TO,
                                DB_VALS(DBI(p->scan_below), DBI(SCAN_IDS)), &lowest, e);
    if (v == V_OK && lowest != DB_NULL)
        v = db_run_int(s->db, SQL_LINK_MISSED_LATEST, DB_VALS(DBI(lowest), DBI(p->scan_below)),
                       &latest, e);
    if (v == V_OK && lowest != DB_NULL)
        v = db_run(s->db, SQL_LINK_MISSED_THESE,
                   DB_VALS(DBI(lowest), DBI(p->scan_below), DBI(p->scan_since), DBI(oldest / 1000)),
                   read_id, &ids, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    bool over = lowest == DB_NULL || (latest != DB_NULL && latest * 1000 < oldest);
    v = db_run(s->db, SQL_LINK_MISSED_MOVE,
               DB_VALS(DBC(kinds[which].name), DBI(p->scan_below), DBI(over ? DB_NULL : lowest)),
               NULL, NULL, e);
    ret->more = ret->more || !over;
    return make_links(s, v, &ids, kinds[which].score, &ret->made, e);
}

struct list {
    struct arena *a;
    const int64_t *ids;
    size_t n;
    int64_t changed_at;
};

static enum verdict read_list(void *ctx, const struct db_row *row) {
    struct list *l = ctx;
    l->ids = store_ids_of_text(l->a, db_row_text(row, 0), &l->n);
    l->changed_at = db_row_int(row, 1);
    return V_OK;
}

/* A list is not in the feed; it is looked at whenever it has changed. */
static enum verdict look_at_list(struct store *s, enum link_follow which, const struct place *p,
                                 struct link_followed *ret, struct err *e) {
    struct list l = {.a = &s->scratch};
    struct ids ids = {.at = arena_alloc(&s->scratch, LINK_FRONT_PAGE * sizeof(int64_t))};
    if (which != LINK_FOLLOW_FRONT)
        return V_OK;
    enum verdict v = db_run(s->db, SQL_LINK_FRONT_LIST, DB_VALS(DBI(p->list_at)), read_list, &l, e);
    if (v != V_OK || !l.ids)
        return v;
    for (size_t i = 0; i < l.n && i < LINK_FRONT_PAGE; i++)
        ids.at[ids.n++] = l.ids[i];
    put_in_order(&ids);
    v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_run(s->db, SQL_LINK_FRONT_SEEN,
               DB_VALS(DBC(kinds[which].name), DBI(p->list_at), DBI(l.changed_at)), NULL, NULL, e);
    return make_links(s, v, &ids, ANY_SCORE, &ret->made, e);
}

enum verdict store_link_follow(struct store *s, enum link_follow which, struct link_followed *ret,
                               struct err *e) {
    struct place p;
    size_t numbered;
    *ret = (struct link_followed){0};
    if (which == LINK_FOLLOW_NONE)
        return V_OK;
    arena_reset(&s->scratch);
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = store_feed_publish(s, PUBLISH, &numbered, e); /* there may be nobody else to do it */
    if (v == V_OK)
        v = find_place(s, kinds[which].name, &p, e);
    if (v == V_OK)
        v = follow(s, which, &p, ret, e);
    if (v == V_OK)
        v = look_at_list(s, which, &p, ret, e);
    return v == V_OK ? scan(s, which, &p, ret, e) : v;
}
