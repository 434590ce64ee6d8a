/* The root of each item's thread: its own id for stories, jobs and polls, the poll of an option,
 * the parent's story for the rest. Unknown when the parent is not there yet; apply_adopt() hands
 * it down when the parent arrives. */
#include "store/apply_int.h"

#include <stdlib.h>

struct parents {
    int64_t *ids, *stories;
    size_t n;
};

static bool writes(const struct work *w) {
    return w->action == ACT_INSERT || w->action == ACT_UPDATE;
}

static int64_t thread_parent(const struct item *it) {
    if (item_is_root(it))
        return DB_NULL;
    return it->poll != I64_NONE ? it->poll : it->parent;
}

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* Parents outside the batch, sorted and without repeats. */
static void collect_parents(struct apply *a, struct parents *p) {
    p->ids = apply_ints(a, a->n + 1);
    for (size_t i = 0; i < a->n; i++) {
        int64_t parent = thread_parent(a->works[i].item);
        if (writes(&a->works[i]) && parent != DB_NULL && !apply_work_of(a, parent))
            p->ids[p->n++] = parent;
    }
    qsort(p->ids, p->n, sizeof *p->ids, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++)
        if (kept == 0 || p->ids[kept - 1] != p->ids[i])
            p->ids[kept++] = p->ids[i];
    p->n = kept;
    p->stories = apply_ints(a, kept + 1);
    for (size_t i = 0; i < kept; i++)
        p->stories[i] = DB_NULL;
}

static enum verdict take_story(void *ctx, const struct db_row *row) {
    struct parents *p = ctx;
    int64_t id = db_row_int(row, 0);
    int64_t *hit = bsearch(&id, p->ids, p->n, sizeof *p->ids, by_value);
    if (hit)
        p->stories[hit - p->ids] = db_row_int(row, 1);
    return V_OK;
}

static int64_t story_of_parent(const struct apply *a, const struct parents *p, int64_t parent) {
    const struct work *w = apply_work_of(a, parent);
    if (w)
        return w->story_id;
    const int64_t *hit = bsearch(&parent, p->ids, p->n, sizeof *p->ids, by_value);
    return hit ? p->stories[hit - p->ids] : DB_NULL;
}

static void resolve(struct apply *a, const struct parents *p, struct work *w) {
    if (!writes(w))
        return;
    int64_t parent = thread_parent(w->item);
    if (item_is_root(w->item))
        w->story_id = w->item->id;
    else
        w->story_id = parent == DB_NULL ? DB_NULL : story_of_parent(a, p, parent);
}

enum verdict apply_find_stories(struct apply *a) {
    struct parents p = {0};
    collect_parents(a, &p);
    const struct db_col cols[] = {DB_INTS(p.ids)};
    enum verdict v = db_each(a->s->db, SQL_ITEMS_STORY_OF, cols, 1, p.n, take_story, &p, a->e);
    /* parents have lower ids than their children, so one pass in order of id suffices */
    for (size_t i = 0; i < a->n && v == V_OK; i++)
        resolve(a, &p, &a->works[i]);
    return v;
}

static enum verdict follow_moved(struct apply *a) {
    enum verdict v = V_OK;
    for (size_t i = 0; i < a->n && v == V_OK; i++) {
        const struct work *w = &a->works[i];
        if (w->action == ACT_UPDATE && w->old_story != DB_NULL && w->old_story != w->story_id)
            v = db_run(a->s->db, SQL_STORY_MOVE, DB_VALS(DBI(w->item->id), DBI(w->story_id)), NULL,
                       NULL, a->e);
    }
    return v;
}

struct orphans {
    struct arena *arena;
    int64_t *ids, *stories;
    size_t n, cap;
};

static enum verdict take_orphan(void *ctx, const struct db_row *row) {
    struct orphans *o = ctx;
    if (o->n == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 64;
        int64_t *ids = arena_alloc(o->arena, cap * sizeof *ids);
        int64_t *stories = arena_alloc(o->arena, cap * sizeof *stories);
        for (size_t i = 0; i < o->n; i++) {
            ids[i] = o->ids[i];
            stories[i] = o->stories[i];
        }
        o->ids = ids;
        o->stories = stories;
        o->cap = cap;
    }
    o->ids[o->n] = db_row_int(row, 0);
    o->stories[o->n++] = db_row_int(row, 1);
    return V_OK;
}

/* For ids that lie far apart. Almost always there are none, and then this is one question. */
static enum verdict adopt_below(struct apply *a) {
    struct orphans o = {.arena = &a->s->scratch};
    int64_t *ids = apply_ints(a, a->n), *stories = apply_ints(a, a->n);
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (!writes(&a->works[i]) || a->works[i].story_id == DB_NULL)
            continue;
        ids[n] = a->works[i].item->id;
        stories[n++] = a->works[i].story_id;
    }
    const struct db_col cols[] = {DB_INTS(ids), DB_INTS(stories)};
    enum verdict v = db_each(a->s->db, SQL_STORY_ORPHANS, cols, 2, n, take_orphan, &o, a->e);
    const struct db_col found[] = {DB_INTS(o.ids), DB_INTS(o.stories)};
    return v == V_OK ? db_each(a->s->db, SQL_STORY_SET, found, 2, o.n, NULL, NULL, a->e) : v;
}

/* Children that arrived before their parents, and the subtrees of what was moved. */
enum verdict apply_adopt(struct apply *a) {
    if (a->n == 0)
        return V_OK;
    bool live = a->loose && !a->import;
    enum verdict v = follow_moved(a);
    if (v == V_OK && !live && apply_is_dense(a))
        return db_run(a->s->db, SQL_STORY_ADOPT, DB_VALS(DBI(a->lo), DBI(a->hi)), NULL, NULL, a->e);
    return v == V_OK && !a->import ? adopt_below(a) : v;
}
