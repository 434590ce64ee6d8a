/* A thread is read as pairs of who names whom, level by level, and put into display order here: the
 * database would have to carry and compare a path for each row. */
#include "store/read_int.h"

#include <stdlib.h>
#include <string.h>

enum { PAIR_ITEM = READ_COLUMNS, PAIR_KID, PAIR_PLACE };

#define NOWHERE SIZE_MAX

/* A node as it was found; `up` is the one that names it, NOWHERE for the root. */
struct found {
    struct read_item *it;
    int64_t place;
    size_t up, first, next; /* kids are a list while they are put in order */
    size_t n_below;
    int depth;
};

struct gathering {
    struct arena *a;
    int64_t root;
    struct found *nodes;
    size_t n, cap, max, rows;
    size_t *slots; /* by id: the number of the node plus 1, 0 for a free one */
    size_t mask;
};

static size_t slot_of(const struct gathering *g, int64_t id) {
    size_t at = (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & g->mask;
    while (g->slots[at] && g->nodes[g->slots[at] - 1].it->item.id != id)
        at = (at + 1) & g->mask;
    return at;
}

static void grow(struct gathering *g) {
    g->cap = g->cap ? 2 * g->cap : 512;
    g->nodes = xrealloc(g->nodes, g->cap * sizeof *g->nodes);
    free(g->slots);
    g->mask = 4 * g->cap - 1;
    g->slots = xcalloc(g->mask + 1, sizeof *g->slots);
    for (size_t i = 0; i < g->n; i++)
        g->slots[slot_of(g, g->nodes[i].it->item.id)] = i + 1;
}

static struct read_item *unstored(struct arena *a, int64_t id) {
    struct read_item *it = arena_zalloc(a, sizeof *it);
    it->item.id = id;
    it->item.time = it->item.parent = it->item.poll = I64_NONE;
    it->item.score = it->item.descendants = it->story_id = I64_NONE;
    return it;
}

static struct read_item *item_of_pair(struct arena *a, const struct db_row *row) {
    if (db_row_int(row, 0) == DB_NULL)
        return unstored(a, db_row_int(row, PAIR_KID));
    struct read_item *it = arena_alloc(a, sizeof *it);
    read_item_of_row(a, row, it);
    return it;
}

/* Levels come from the top down, so whoever names a kid is known before it. Of an id that is named
 * twice the place nearest to the root counts. */
static enum verdict take_pair(void *ctx, const struct db_row *row) {
    struct gathering *g = ctx;
    if (++g->rows > g->max)
        return V_OK;
    int64_t item = db_row_int(row, PAIR_ITEM), kid = db_row_int(row, PAIR_KID);
    if (g->n == g->cap)
        grow(g);
    size_t up = item == g->root ? 0 : g->slots[slot_of(g, item)];
    size_t slot = slot_of(g, kid);
    if (kid == g->root || g->slots[slot] || (up == 0 && item != g->root))
        return V_OK;
    g->nodes[g->n] = (struct found){
        .it = item_of_pair(g->a, row),
        .place = db_row_int(row, PAIR_PLACE),
        .up = up ? up - 1 : NOWHERE,
        .first = NOWHERE,
        .next = NOWHERE,
        .depth = up ? g->nodes[up - 1].depth + 1 : 0,
    };
    g->slots[slot] = ++g->n;
    return V_OK;
}

struct ranked {
    size_t at;
    int64_t place;
};

static int by_place(const void *x, const void *y) {
    const struct ranked *a = x, *b = y;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Links every node to its next sibling; answers the first one below the root. */
static size_t link_kids(struct gathering *g) {
    struct ranked *all = xmalloc((g->n + 1) * sizeof *all);
    for (size_t i = 0; i < g->n; i++)
        all[i] = (struct ranked){.at = i, .place = g->nodes[i].place};
    qsort(all, g->n, sizeof *all, by_place);
    size_t top = NOWHERE;
    for (size_t i = g->n; i-- > 0;) { /* from the last: each one goes in front of its siblings */
        struct found *f = &g->nodes[all[i].at];
        size_t *first = f->up == NOWHERE ? &top : &g->nodes[f->up].first;
        f->next = *first;
        *first = all[i].at;
    }
    free(all);
    return top;
}

static size_t after(const struct gathering *g, size_t at) {
    if (g->nodes[at].first != NOWHERE)
        return g->nodes[at].first;
    while (at != NOWHERE && g->nodes[at].next == NOWHERE)
        at = g->nodes[at].up;
    return at == NOWHERE ? NOWHERE : g->nodes[at].next;
}

static void lay_out(struct gathering *g, struct thread *ret) {
    for (size_t i = g->n; i-- > 0;) /* whoever names a node stands before it */
        if (g->nodes[i].up != NOWHERE)
            g->nodes[g->nodes[i].up].n_below += g->nodes[i].n_below + 1;
    *ret = (struct thread){.nodes = arena_alloc(g->a, (g->n + 1) * sizeof *ret->nodes),
                           .cut = g->rows > g->max};
    for (size_t at = link_kids(g); at != NOWHERE; at = after(g, at))
        ret->nodes[ret->n++] = (struct thread_node){
            .it = *g->nodes[at].it, .depth = g->nodes[at].depth, .below = g->nodes[at].n_below};
}

enum verdict store_read_thread(struct store *s, struct arena *a, int64_t root, size_t max,
                               struct thread *ret, struct err *e) {
    struct gathering g = {.a = a, .root = root, .max = max};
    enum verdict v =
        db_run(s->db, SQL_READ_THREAD, DB_VALS(DBI(root), DBI((int64_t)max + 1)), take_pair, &g, e);
    if (v == V_OK)
        lay_out(&g, ret);
    free(g.nodes);
    free(g.slots);
    return v;
}
