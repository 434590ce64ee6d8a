#include "mirror/refresh.h"

#include "mirror/metrics.h"

static void refresh(struct keyqueue *ids, int64_t id) {
    enum key_offer o = keyqueue_offer(ids, (struct key_ticket){.key = id}, true);
    if (o == KEY_FULL || o == KEY_CLOSED)
        metric_add(&m_refresh_skipped, 0, 1);
}

void refresh_above(struct keyqueue *ids, const struct batch *b, int64_t above) {
    for (size_t i = 0; i < b->n_items; i++) {
        const struct batch_item *bi = &b->items[i];
        int64_t parent = bi->item.parent, story = bi->ret_story;
        if (!bi->ret_inserted || bi->item.id <= above || parent <= 0) /* I64_NONE is below 0 */
            continue;
        refresh(ids, parent);
        if (story > 0 && story != bi->item.id && story != parent)
            refresh(ids, story);
    }
}
