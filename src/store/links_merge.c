/* Two links that turn out to be one, and keys of older rules. */
#include "store/links_int.h"

#include "hn/url_key.h"

static enum verdict run_pair(struct store *s, int stmt, int64_t kept, int64_t gone, struct err *e) {
    return db_run(s->db, stmt, DB_VALS(DBI(kept), DBI(gone)), NULL, NULL, e);
}

static enum verdict lock(struct store *s, int64_t one, int64_t other, struct link *ret_kept,
                         struct link *ret_gone, struct err *e) {
    enum verdict v = run_pair(s, SQL_LINK_LOCK, one, other, e);
    if (v == V_OK)
        v = store_link_get(s, &s->scratch, one, ret_kept, e);
    if (v == V_OK)
        v = store_link_get(s, &s->scratch, other, ret_gone, e);
    if (v == V_OK && ret_kept->id == ret_gone->id)
        return err_set(e, V_CONFLICT, "links", 0, "they are one already");
    return v;
}

/* The better of both for each task; a row of tasks that only the other has moves over. */
static enum verdict merge_tasks(struct store *s, int64_t kept, int64_t gone, struct err *e) {
    enum verdict v = run_pair(s, SQL_LINK_MERGE_TASKS, kept, gone, e);
    if (v == V_OK)
        v = run_pair(s, SQL_LINK_MERGE_REST, kept, gone, e);
    for (size_t t = 0; v == V_OK && t < LINK_TASKS; t++)
        v = run_pair(s, link_stmt(s, (enum link_task)t, LINK_MERGE), kept, gone, e);
    return v;
}

/* When one of them was found to be a discussion both are: nothing else is looked for. */
static enum verdict merge_ref(struct store *s, const struct link *k, const struct link *g,
                              struct err *e) {
    if (!str_eqc(k->source, "discussion-ref") && !str_eqc(g->source, "discussion-ref"))
        return V_OK;
    enum verdict v = db_run(s->db, SQL_LINK_MERGE_REF, DB_VALS(DBI(k->id)), NULL, NULL, e);
    return v == V_OK ? links_skip_rest(s, k->id, e) : v;
}

enum verdict links_merge(struct store *s, int64_t kept, int64_t gone, struct err *e) {
    static const int moves[] = {SQL_LINK_MERGE_DISCUSSIONS, SQL_LINK_MERGE_PARENTS,
                                SQL_LINK_MERGE_TARGETS, SQL_LINK_MERGE_ALIASES,
                                SQL_LINK_MERGE_ALIAS};
    struct link k, g;
    enum verdict v = links_bump(s, kept, true, e);
    if (v == V_OK)
        v = links_bump(s, gone, true, e);
    if (v == V_OK)
        v = lock(s, kept, gone, &k, &g, e);
    if (v != V_OK)
        return v;
    bool asked = link_is_asked_for(g.source, g.submitted_by) &&
                 !link_is_asked_for(k.source, k.submitted_by) &&
                 !str_eqc(k.source, "discussion-ref");
    v = db_run(s->db, link_all(s, LINK_MERGE_ROW),
               DB_VALS(DBI(kept), DBI(gone), DBI(asked ? 1 : 0)), NULL, NULL, e);
    if (v == V_OK)
        v = merge_tasks(s, kept, gone, e);
    if (v == V_OK)
        v = merge_ref(s, &k, &g, e);
    for (size_t i = 0; v == V_OK && i < ARRAY_LEN(moves); i++)
        v = run_pair(s, moves[i], kept, gone, e);
    return v == V_OK ? db_run(s->db, SQL_LINK_DELETE, DB_VALS(DBI(gone)), NULL, NULL, e) : v;
}

static enum verdict merge(struct store *s, int64_t one, int64_t other, int64_t *ret_kept,
                          struct err *e) {
    struct link a, b;
    enum verdict v = store_link_get(s, &s->scratch, one, &a, e);
    if (v == V_OK)
        v = store_link_get(s, &s->scratch, other, &b, e);
    if (v != V_OK)
        return v;
    *ret_kept = a.id < b.id ? a.id : b.id;
    if (a.id == b.id)
        return err_set(e, V_INVALID, "links", 0, "%lld and %lld are one link", (long long)one,
                       (long long)other);
    return links_merge(s, *ret_kept, a.id < b.id ? b.id : a.id, e);
}

enum verdict store_link_merge(struct store *s, int64_t one, int64_t other, int64_t *ret_kept,
                              struct err *e) {
    *ret_kept = 0;
    arena_reset(&s->scratch);
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, merge(s, one, other, ret_kept, e), e) : v;
}

/* --- keys of older rules --- */

struct old_key {
    int64_t id;
    struct str url, key;
};

struct old_keys {
    struct arena *a;
    struct old_key *rows;
    size_t n;
};

static enum verdict read_old(void *ctx, const struct db_row *row) {
    struct old_keys *o = ctx;
    o->rows[o->n++] = (struct old_key){db_row_int(row, 0), arena_str(o->a, db_row_text(row, 1)),
                                       arena_str(o->a, db_row_text(row, 2))};
    return V_OK;
}

static enum verdict set_key(struct store *s, int64_t id, struct str key, struct err *e) {
    return db_run(s->db, SQL_LINK_SET_KEY, DB_VALS(DBI(id), DBT(key), DBI(URL_KEY_VERSION)), NULL,
                  NULL, e);
}

/* The lower id stays; when that is the one whose key is old, the other must be gone before it gets
 * the key. */
static enum verdict rekey_one(struct store *s, const struct old_key *o, struct link_rekeyed *ret,
                              struct err *e) {
    struct str key, domain;
    struct link other = {0};
    if (!url_key(&s->scratch, o->url, &key, &domain) || str_eq(key, o->key))
        return set_key(s, o->id, o->key, e);
    enum verdict v = store_link_find(s, &s->scratch, key, &other, e);
    ret->changed++;
    if (v == V_NOT_FOUND)
        return set_key(s, o->id, key, e);
    if (v != V_OK)
        return v;
    ret->merged++;
    bool stays = o->id < other.id;
    v = links_merge(s, stays ? o->id : other.id, stays ? other.id : o->id, e);
    return v == V_OK && stays ? set_key(s, o->id, key, e) : v;
}

enum verdict store_link_rekey(struct store *s, size_t max, struct link_rekeyed *ret,
                              struct err *e) {
    struct old_keys old = {.a = &s->scratch};
    *ret = (struct link_rekeyed){0};
    arena_reset(&s->scratch);
    old.rows = arena_alloc(&s->scratch, (max + 1) * sizeof *old.rows);
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LINK_OLD_KEYS, DB_VALS(DBI(URL_KEY_VERSION), DBI((int64_t)max)),
                   read_old, &old, e);
    for (size_t i = 0; v == V_OK && i < old.n; i++) {
        struct link_rekeyed was = *ret;
        v = db_begin(s->db, e);
        if (v == V_OK)
            v = store_end(s, rekey_one(s, &old.rows[i], ret, e), e);
        if (v == V_CONFLICT || v == V_NOT_FOUND) { /* somebody else was at it: another time */
            *ret = was;
            v = V_OK;
        }
        ret->looked_at += v == V_OK;
    }
    return v;
}
