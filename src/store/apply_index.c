/* What the search index has to look at again, noted in the writer's own transaction: items that are
 * new or say something else now. Points, comments and kids are read from the items themselves. */
#include "store/apply_int.h"

enum { RUN_GAP = 64 }; /* looking at so many ids in vain costs less than another row */

static bool is_news(const struct work *w) {
    return w->action == ACT_INSERT ||
           (w->action == ACT_UPDATE && w->old_content != w->item->content_hash);
}

enum verdict apply_note_index(struct apply *a) {
    int64_t *los = apply_ints(a, a->n + 1), *his = apply_ints(a, a->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        int64_t id = a->works[i].item->id;
        if (!is_news(&a->works[i]))
            continue;
        if (n && id - his[n - 1] <= RUN_GAP) {
            his[n - 1] = id;
            continue;
        }
        los[n] = his[n] = id;
        n++;
    }
    if (n == 0)
        return V_OK;
    const struct db_col cols[] = {DB_INTS(los), DB_INTS(his)};
    return db_each(a->s->db, SQL_INDEX_NOTE, cols, 2, n, NULL, NULL, a->e);
}
