/* The story lists: as the upstream gave them, or made from what is stored. */
#include "store/read_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list that is made looks at so many of the newest items: about two days. */
#define LOOK_BACK 30000
#define LIST_MAX 500
#define SHORT_LIST_MAX 200

/* Making one reads all of that, and a page asks for it at every call: it is good for so long,
 * unless a newer item was stored. */
#define MADE_FOR_MS 5000

struct made_list {
    int64_t maxitem, made_at; /* 0: not made yet; by the monotonic clock */
    size_t n;
    int64_t ids[LIST_MAX];
};

struct list_reading {
    struct arena *a;
    const int64_t *ids;
    size_t n;
    int64_t seen_at;
    bool there;
};

static enum verdict read_list(void *ctx, const struct db_row *row) {
    struct list_reading *r = ctx;
    r->ids = store_ids_of_text(r->a, db_row_text(row, 0), &r->n);
    r->seen_at = db_row_int(row, 1);
    r->there = true;
    return V_OK;
}

struct candidate {
    int64_t id, time, points;
    double rank;
};

enum ranking { BY_RANK, BY_ID, BY_POINTS };

static const struct recipe {
    const char *name, *type, *title; /* NULL: any */
    enum ranking ranking;
    size_t max;
} recipes[] = {
    {"top", NULL, NULL, BY_RANK, LIST_MAX},
    {"new", NULL, NULL, BY_ID, LIST_MAX},
    {"best", NULL, NULL, BY_POINTS, SHORT_LIST_MAX},
    {"ask", "story", "Ask HN", BY_RANK, SHORT_LIST_MAX},
    {"show", "story", "Show HN", BY_RANK, SHORT_LIST_MAX},
    {"job", "job", NULL, BY_ID, SHORT_LIST_MAX},
};

struct choosing {
    const struct recipe *recipe;
    struct candidate *all;
    size_t n;
};

static enum verdict consider(void *ctx, const struct db_row *row) {
    struct choosing *c = ctx;
    const struct recipe *r = c->recipe;
    if ((r->type && !str_eqc(db_row_text(row, 1), r->type)) ||
        (r->title && !str_starts(db_row_text(row, 4), r->title)) || c->n == LOOK_BACK)
        return V_OK;
    int64_t time = db_row_int(row, 2), points = db_row_int(row, 3);
    c->all[c->n++] = (struct candidate){.id = db_row_int(row, 0),
                                        .time = time == DB_NULL ? 0 : time,
                                        .points = points == DB_NULL ? 0 : points};
    return V_OK;
}

/* Points weighed against age, which counts from the newest of them: the archive may be old. */
static void rank_all(struct choosing *c) {
    int64_t now = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->all[i].time > now)
            now = c->all[i].time;
    for (size_t i = 0; i < c->n; i++) {
        struct candidate *x = &c->all[i];
        double hours = (double)(now - x->time) / 3600.0;
        x->rank = c->recipe->ranking == BY_ID ? (double)x->id
                  : c->recipe->ranking == BY_POINTS
                      ? (double)x->points
                      : (double)(x->points - 1) / pow(hours + 2.0, 1.8);
    }
}

/* The best first; of equals the newest. */
static int by_rank(const void *x, const void *y) {
    const struct candidate *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->id > b->id ? -1 : a->id < b->id;
}

static enum verdict make_list(struct store *s, const struct recipe *recipe, struct made_list *ret,
                              struct err *e) {
    struct choosing c = {.recipe = recipe};
    c.all = xmalloc(LOOK_BACK * sizeof *c.all);
    enum verdict v =
        db_run(s->db, SQL_READ_CANDIDATES, DB_VALS(DBI(LOOK_BACK - 1)), consider, &c, e);
    rank_all(&c);
    qsort(c.all, c.n, sizeof *c.all, by_rank);
    ret->n = c.n < recipe->max ? c.n : recipe->max;
    for (size_t i = 0; i < ret->n; i++)
        ret->ids[i] = c.all[i].id;
    free(c.all);
    return v;
}

static enum verdict made_lately(struct store *s, const struct recipe *recipe,
                                struct list_reading *r, struct err *e) {
    if (!s->made)
        s->made = xcalloc(ARRAY_LEN(recipes), sizeof *s->made);
    struct made_list *made = &s->made[recipe - recipes];
    int64_t maxitem = 0, now = clock_mono(s->clock);
    enum verdict v = store_read_maxitem(s, &maxitem, e);
    if (v != V_OK)
        return v;
    if (made->maxitem != maxitem || now - made->made_at >= MADE_FOR_MS) {
        made->maxitem = 0;
        v = make_list(s, recipe, made, e);
        if (v != V_OK)
            return v;
        made->maxitem = maxitem;
        made->made_at = now;
    }
    int64_t *ids = arena_alloc(r->a, (made->n + 1) * sizeof *ids);
    memcpy(ids, made->ids, made->n * sizeof *ids);
    r->ids = ids;
    r->n = made->n;
    return V_OK;
}

enum verdict store_read_list(struct store *s, struct arena *a, const char *name,
                             const int64_t **ret_ids, size_t *ret_n, int64_t *ret_seen_at,
                             struct err *e) {
    const struct recipe *recipe = NULL;
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++)
        if (strcmp(name, recipes[i].name) == 0)
            recipe = &recipes[i];
    if (!recipe)
        return err_set(e, V_INVALID, "store", 0, "there is no list '%.40s'", name);
    struct list_reading r = {.a = a};
    enum verdict v = db_run(s->db, SQL_READ_LIST, DB_VALS(DBC(name)), read_list, &r, e);
    if (v == V_OK && !r.there)
        v = made_lately(s, recipe, &r, e);
    *ret_ids = r.ids;
    *ret_n = r.n;
    *ret_seen_at = r.seen_at;
    return v;
}
