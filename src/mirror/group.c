#include "mirror/group.h"

#define GROUP_ITEMS 500 /* with so many it takes no more */

void group_init(struct group *g) {
    *g = (struct group){.whole = batch_new()};
}

void group_release(struct group *g) {
    batch_free(g->whole);
}

void group_begin(struct group *g) {
    batch_reset(g->whole);
    g->n = 0;
}

bool group_takes(const struct group *g, const struct job *j) {
    if (j->kind != JOB_BATCH || j->batch->segment_id || g->n == GROUP_MAX)
        return false;
    return g->n == 0 || (g->whole->n_items + g->whole->n_exceptions < GROUP_ITEMS &&
                         j->batch->lease_token == g->whole->lease_token);
}

void group_add(struct group *g, struct job *j) {
    const struct batch *b = j->batch;
    g->jobs[g->n++] = j;
    g->whole->lease_token = b->lease_token;
    for (size_t i = 0; i < b->n_items; i++)
        *batch_add_item(g->whole) = b->items[i];
    for (size_t i = 0; i < b->n_exceptions; i++)
        *batch_add_exception(g->whole) = b->exceptions[i];
    for (int i = 0; i < BATCH_AGES; i++)
        g->whole->ages[i] += b->ages[i];
}

/* What the store has found out about each item. */
static size_t copy_back(const struct batch *whole, size_t at, struct batch *b) {
    for (size_t i = 0; i < b->n_items; i++, at++) {
        b->items[i].ret_inserted = whole->items[at].ret_inserted;
        b->items[i].ret_story = whole->items[at].ret_story;
    }
    return at;
}

void group_answer(struct group *g, const struct job *whole) {
    size_t at = 0;
    for (size_t i = 0; i < g->n; i++) {
        struct job *j = g->jobs[i];
        at = copy_back(whole->batch, at, j->batch);
        j->verdict = whole->verdict;
        j->err = whole->err;
        j->stats = i == 0 ? whole->stats : (struct apply_stats){0};
        mailbox_put(j->reply, j);
    }
    g->n = 0;
}
