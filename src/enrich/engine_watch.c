/* The shared state of the lanes, looked at now and then also when there is nothing to call for: for
 * whoever watches. */
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"

#define LOOK_MS 5000

enum verdict watch_lanes(struct engine *g, struct err *e) {
    const struct lane_row *rows;
    size_t n;
    int64_t now = engine_now(g);
    int refused = 0;
    if (now < g->watch_at)
        return V_OK;
    enum verdict v = store_lane_list(g->store, &g->scratch, &rows, &n, e);
    if (v != V_OK)
        return v;
    g->watch_at = now + LOOK_MS;
    for (size_t i = 0; i < g->o.plan->n_providers; i++)
        for (size_t k = 0; k < n; k++)
            if (str_eq(rows[k].name, g->o.plan->providers[i].name)) {
                enrich_lane_seen((int)i, &rows[k]);
                if (!refused && rows[k].state.pause == LANE_PAUSED_AUTH)
                    refused = (int)i + 1;
            }
    atomic_store(&g->refused, refused);
    return V_OK;
}

const char *engine_refused(const struct engine *g) {
    int lane = atomic_load(&g->refused);
    return lane ? enrich_lane_name(lane - 1) : NULL;
}
