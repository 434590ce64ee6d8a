/* Reads what a page shows of a link. */
#include "web/link_parts.h"

#include "hn/url_key.h"
#include "store/read.h"
#include "web/link_gate.h"
#include "web/page.h"

/* Which of the threads on HN the mirror has a page of. */
static enum verdict read_here(struct call *c, struct link_view *v, struct err *e) {
    int64_t *ids = arena_alloc(c->arena, (v->n_talks + 1) * sizeof *ids);
    bool *here = arena_alloc(c->arena, (v->n_talks + 1) * sizeof *here);
    struct read_items found = {0};
    size_t n = 0;
    for (size_t i = 0; i < v->n_talks; i++) {
        int64_t id;
        here[i] = false;
        if (v->talks[i].site == LINK_SITE_HN && str_to_i64(v->talks[i].external_id, &id) && id > 0)
            ids[n++] = id;
    }
    v->here = here;
    enum verdict verdict = n ? store_read_items(c->store, c->arena, ids, n, &found, e) : V_OK;
    for (size_t i = 0; verdict == V_OK && i < v->n_talks; i++) {
        int64_t id = 0;
        if (v->talks[i].site != LINK_SITE_HN || !str_to_i64(v->talks[i].external_id, &id))
            continue;
        for (size_t k = 0; k < found.n && !here[i]; k++)
            here[i] = found.items[k].item.id == id;
    }
    return verdict;
}

static const struct lane_row *lane_of(const struct lane_row *all, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (str_eqc(all[i].name, name))
            return &all[i];
    return NULL;
}

/* Where the pending tasks stand. One that has come to its end meanwhile stands nowhere. */
static enum verdict read_places(struct call *c, struct link_view *v, struct err *e) {
    const struct lane_row *lanes;
    size_t n;
    if (!link_is_pending(v))
        return V_OK;
    enum link_site site = link_site_of_key(v->link.url_key);
    enum verdict verdict = store_lane_list(c->store, c->arena, &lanes, &n, e);
    for (int i = 0; verdict == V_OK && i < LINK_TASKS; i++) {
        enum link_task t = (enum link_task)i;
        if (v->tasks.tasks[t].status != LINK_PENDING)
            continue;
        v->lanes[t] = lane_of(lanes, n, link_task_provider(t, site));
        verdict = store_link_place(c->store, v->link.id, t, &v->places[t], e);
        if (verdict == V_NOT_FOUND)
            verdict = V_OK;
    }
    return verdict;
}

enum verdict link_view_read(struct call *c, bool places, struct link_view *v, struct err *e) {
    struct str key;
    v->now = page_now(c);
    v->may_ask = link_gate_is_open(c);
    v->link.url = url_whole(c->arena, v->link.url); /* it may have come without its scheme */
    if (!url_key(c->arena, v->link.url, &key, &v->domain))
        v->domain = STR_NONE;
    enum verdict verdict = store_link_processing(c->store, c->arena, v->link.id, &v->tasks, e);
    v->has_tasks = verdict == V_OK;
    if (verdict == V_NOT_FOUND)
        verdict = V_OK;
    if (verdict == V_OK)
        verdict = store_link_discussions(c->store, c->arena, v->link.id, &v->talks, &v->n_talks, e);
    if (verdict == V_OK)
        verdict = read_here(c, v, e);
    return verdict == V_OK && places ? read_places(c, v, e) : verdict;
}
