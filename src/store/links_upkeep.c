/* What some process does now and then: rows that are missing, lookups that are due again. */
#include "store/links_int.h"

#include "hn/url_key.h"
#include "store/links_follow.h"

struct bare_link {
    int64_t id;
    struct str url, source, submitted_by;
};

struct bare_links {
    struct arena *a;
    struct bare_link *rows;
    size_t n;
};

static enum verdict read_bare(void *ctx, const struct db_row *row) {
    struct bare_links *b = ctx;
    b->rows[b->n++] = (struct bare_link){db_row_int(row, 0), arena_str(b->a, db_row_text(row, 1)),
                                         arena_str(b->a, db_row_text(row, 2)),
                                         arena_str(b->a, db_row_text(row, 3))};
    return V_OK;
}

static enum verdict backfill_one(struct store *s, const struct bare_link *b, size_t *ret_n,
                                 struct err *e) {
    struct str key = STR_NONE, domain, submitter = STR_NONE;
    bool asked = link_is_asked_for(b->source, b->submitted_by);
    if (asked)
        submitter = b->submitted_by.n ? b->submitted_by : b->source;
    if (!url_key(&s->scratch, b->url, &key, &domain))
        key = STR_NONE;
    enum verdict v =
        db_run(s->db, link_all(s, LINK_BACKFILL),
               DB_VALS(DBI(b->id), DBC(link_site_name(link_site_of_key(key))), DBT(submitter)),
               NULL, NULL, e);
    if (v == V_OK)
        *ret_n += (size_t)db_changes(s->db);
    return v;
}

enum verdict store_link_backfill(struct store *s, int64_t *after, size_t max, size_t *ret_n,
                                 struct err *e) {
    struct bare_links bare = {.a = &s->scratch};
    int64_t to = DB_NULL;
    *ret_n = 0;
    arena_reset(&s->scratch);
    bare.rows = arena_alloc(&s->scratch, (max + 1) * sizeof *bare.rows);
    enum verdict v =
        db_run_int(s->db, SQL_LINK_BACKFILL_TO, DB_VALS(DBI(*after), DBI((int64_t)max)), &to, e);
    if (v == V_OK && to == DB_NULL)
        return err_set(e, V_NOT_FOUND, "links", 0, "there are no links above %lld",
                       (long long)*after);
    if (v == V_OK)
        v = links_prepare(s, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = db_run(s->db, SQL_LINK_BACKFILL_THESE, DB_VALS(DBI(*after), DBI(to)), read_bare, &bare, e);
    for (size_t i = 0; v == V_OK && i < bare.n; i++)
        v = backfill_one(s, &bare.rows[i], ret_n, e);
    v = store_end(s, v, e);
    if (v == V_OK)
        *after = to;
    return v;
}

/* --- repair --- */

struct siteless {
    struct arena *a;
    struct {
        int64_t id;
        struct str key;
    } * rows;
    size_t n;
};

static enum verdict read_siteless(void *ctx, const struct db_row *row) {
    struct siteless *l = ctx;
    l->rows[l->n].id = db_row_int(row, 0);
    l->rows[l->n++].key = arena_str(l->a, db_row_text(row, 1));
    return V_OK;
}

/* Whoever asked for a reverse lookup by hand did not say where; or it is no discussion at all. */
static enum verdict repair_sites(struct store *s, size_t max, size_t *ret_n, struct err *e) {
    struct siteless l = {.a = &s->scratch};
    l.rows = arena_alloc(&s->scratch, (max + 1) * sizeof *l.rows);
    enum verdict v =
        db_run(s->db, SQL_LINK_REPAIR_SITELESS, DB_VALS(DBI((int64_t)max)), read_siteless, &l, e);
    for (size_t i = 0; v == V_OK && i < l.n; i++)
        v = db_run(s->db, SQL_LINK_REPAIR_SITE,
                   DB_VALS(DBI(l.rows[i].id), DBC(link_site_name(link_site_of_key(l.rows[i].key)))),
                   NULL, NULL, e);
    *ret_n += l.n;
    return v;
}

enum verdict store_link_repair(struct store *s, size_t max, size_t *ret_n, struct err *e) {
    *ret_n = 0;
    arena_reset(&s->scratch);
    enum verdict v = db_run(s->db, SQL_LINK_REPAIR_LOST, DB_VALS(DBI((int64_t)max)), NULL, NULL, e);
    if (v == V_OK)
        *ret_n += (size_t)db_changes(s->db);
    if (v == V_OK)
        v = repair_sites(s, max, ret_n, e);
    for (size_t t = 0; v == V_OK && t < LINK_TASKS; t++) {
        v = db_run(s->db, SQL_LINK_REPAIR_CLAIMS,
                   DB_VALS(DBC(link_tasks[t].source), DBI((int64_t)max)), NULL, NULL, e);
        if (v == V_OK)
            *ret_n += (size_t)db_changes(s->db);
    }
    return v;
}

enum verdict store_link_rescan(struct store *s, size_t max, size_t *ret_n, struct err *e) {
    *ret_n = 0;
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = db_run(s->db, link_all(s, LINK_RESCAN), DB_VALS(DBI((int64_t)max)), NULL, NULL, e);
    if (v == V_OK)
        *ret_n = (size_t)db_changes(s->db);
    return v;
}

/* --- counts --- */

static enum verdict read_counts(void *ctx, const struct db_row *row) {
    struct link_counts *c = ctx;
    int64_t n = db_row_int(row, LINK_TASKS);
    int64_t oldest = db_row_int(row, LINK_TASKS + 1);
    int64_t age = oldest == DB_NULL ? 0 : db_row_int(row, LINK_TASKS + 2) - oldest;
    for (int t = 0; t < LINK_TASKS; t++) {
        enum link_status st = link_status_of(db_row_text(row, t));
        c->tasks[t][st] += n;
        if (st == LINK_PENDING && age > c->oldest_pending_ms[t])
            c->oldest_pending_ms[t] = age;
    }
    c->waiting += db_row_int(row, LINK_TASKS + 3);
    return V_OK;
}

enum verdict store_link_count(struct store *s, struct link_counts *ret, struct err *e) {
    *ret = (struct link_counts){0};
    enum verdict v = links_prepare(s, e);
    return v == V_OK ? db_run(s->db, link_all(s, LINK_COUNT), DB_NO_VALS, read_counts, ret, e) : v;
}

/* --- the archive's own stories --- */

#define NEAR_MAXITEM 1000 /* what is being fetched just now */

struct stories {
    struct arena *a;
    struct link_discussion *rows;
    size_t n;
};

static enum verdict read_story(void *ctx, const struct db_row *row) {
    struct stories *st = ctx;
    int64_t id = db_row_int(row, 0), time = db_row_int(row, 4);
    struct link_discussion *d = &st->rows[st->n++];
    *d = (struct link_discussion){.site = LINK_SITE_HN,
                                  .title = arena_str(st->a, db_row_text(row, 1)),
                                  .score = db_row_int(row, 2),
                                  .num_comments = db_row_int(row, 3),
                                  .external_created_at = time == DB_NULL ? 0 : time * 1000};
    link_hn_thread(st->a, id, d);
    return V_OK;
}

/* Keys of older rules are not found: then there may be others. */
enum verdict store_link_hn_local(struct store *s, struct arena *a, struct str url_key,
                                 const struct link_discussion **ret, size_t *ret_n,
                                 bool *ret_complete, struct err *e) {
    struct stories st = {.a = a};
    struct archive_state state = {0};
    struct item_keys keys = {0};
    st.rows = arena_alloc(a, LINK_DISCUSSIONS_MAX * sizeof *st.rows);
    enum verdict v = db_run(s->db, SQL_LINK_HN_LOCAL,
                            DB_VALS(DBT(url_key), DBI(LINK_DISCUSSIONS_MAX)), read_story, &st, e);
    if (v == V_OK)
        v = store_state(s, &state, e);
    if (v == V_OK)
        v = store_items_keys(s, &keys, e);
    *ret = st.rows;
    *ret_n = st.n;
    *ret_complete = v == V_OK && keys.done && state.maxitem > 0 && state.floor_id <= 1 &&
                    state.frontier_excluding_waiting + NEAR_MAXITEM >= state.maxitem;
    return v;
}
