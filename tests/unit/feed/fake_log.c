#include "fake_log.h"

struct fake_log fake_log;

void fake_log_begin(int64_t epoch, int64_t head) {
    fake_log = (struct fake_log){.state = {.epoch = epoch, .head = head, .oldest = 1}};
}

struct feed_change fake_change(int64_t pos) {
    return (struct feed_change){
        .pos = pos,
        .at = pos,
        .table = pos % 2 ? 2 : 1,
        .schema = STR("tain"),
        .name = pos % 2 ? STR("users") : STR("items"),
        .action = FEED_UPDATE,
        .key = STR("{}"),
        .data = STR("{}"),
        .is_public = true,
    };
}

void fake_log_write(struct feed_hub *h, int64_t n) {
    for (; n > 0; n--) {
        struct feed_change c = fake_change(++fake_log.state.head);
        struct feed_event *ev = feed_event_new(fake_log.state.epoch, &c);
        feed_hub_add(h, ev);
        feed_event_drop(ev);
    }
    feed_hub_flush(h);
}

enum verdict store_feed_state(struct store *s UNUSED, struct feed_state *ret, struct err *e) {
    if (fake_log.answer != V_OK)
        return err_set(e, fake_log.answer, "test", 0, "ill");
    *ret = fake_log.state;
    return V_OK;
}

enum verdict store_feed_resolve(struct store *s UNUSED, struct feed_id since, int64_t *ret_pos,
                                bool *ret_gap, struct err *e) {
    if (fake_log.answer != V_OK)
        return err_set(e, fake_log.answer, "test", 0, "ill");
    const struct feed_state *st = &fake_log.state;
    int64_t limit = since.epoch == st->epoch ? st->head : fake_log.common;
    *ret_gap = since.pos > limit || since.pos + 1 < st->oldest;
    *ret_pos = since.pos > limit ? limit : since.pos + 1 < st->oldest ? st->oldest - 1 : since.pos;
    return V_OK;
}

enum verdict store_feed_read(struct store *s UNUSED, struct arena *a, int64_t pos, size_t max,
                             size_t max_bytes UNUSED, const struct feed_change **ret, size_t *ret_n,
                             struct err *e) {
    if (fake_log.answer != V_OK)
        return err_set(e, fake_log.answer, "test", 0, "ill");
    if (fake_log.before)
        fake_log.before();
    const struct feed_state *st = &fake_log.state;
    int64_t from = pos + 1 < st->oldest ? st->oldest : pos + 1, to = st->head;
    if (to - from >= (int64_t)max)
        to = from + (int64_t)max - 1;
    *ret_n = to < from ? 0 : (size_t)(to - from + 1);
    struct feed_change *changes = arena_alloc(a, *ret_n * sizeof *changes);
    for (size_t i = 0; i < *ret_n; i++)
        changes[i] = fake_change(from + (int64_t)i);
    *ret = changes;
    fake_log.reads++;
    return V_OK;
}
