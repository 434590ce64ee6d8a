#include "store/apply_int.h"

struct comparing {
    struct apply *a;
    size_t at; /* rows come by id, as the works do */
};

static bool same_as_stored(const struct work *w) {
    const struct item *it = w->item;
    return w->old_content == it->content_hash && w->old_kids == it->kids_hash &&
           w->old_score == it->score && w->old_descendants == it->descendants;
}

static enum verdict compare_row(void *ctx, const struct db_row *row) {
    struct comparing *c = ctx;
    struct apply *a = c->a;
    int64_t id = db_row_int(row, 0);
    while (c->at < a->n && a->works[c->at].item->id < id)
        c->at++;
    if (c->at == a->n || a->works[c->at].item->id != id)
        return V_OK;
    struct work *w = &a->works[c->at];
    w->old_content = db_row_int(row, 1);
    w->old_kids = db_row_int(row, 2);
    w->old_score = db_row_int(row, 3);
    w->old_descendants = db_row_int(row, 4);
    w->old_fetched_at = db_row_int(row, 5);
    w->old_story = db_row_int(row, 6);
    w->story_id = w->old_story;
    bool future = w->old_fetched_at > a->now_ms + CLOCK_SLACK_MS;
    if (w->old_fetched_at > w->fetched_at && !future)
        w->action = ACT_STALE;
    else
        w->action = same_as_stored(w) ? ACT_TOUCH : ACT_UPDATE;
    return V_OK;
}

enum verdict apply_compare(struct apply *a) {
    if (a->n == 0)
        return V_OK;
    struct comparing c = {.a = a};
    if (apply_is_dense(a))
        return db_run(a->s->db, SQL_ITEMS_EXISTING_RANGE, DB_VALS(DBI(a->lo), DBI(a->hi)),
                      compare_row, &c, a->e);
    int64_t *ids = apply_ints(a, a->n);
    for (size_t i = 0; i < a->n; i++)
        ids[i] = a->works[i].item->id;
    const struct db_col cols[] = {DB_INTS(ids)};
    return db_each(a->s->db, SQL_ITEMS_EXISTING, cols, 1, a->n, compare_row, &c, a->e);
}
