/* What is done for links now and then, by whichever process comes to it: in small steps between
 * calls, so that no lane waits for it. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/enrich_metrics.h"
#include "enrich/link_int.h"
#include "enrich/link_metrics.h"

#define STEP_ROWS 100
#define SWEEP_MS 60000
#define PURSE_MS 30000
#define SKIP_MS 250
#define REKEY_MS 3600000
#define REPAIR_MS 600000
#define WATCH_MS 5000
#define COUNT_MS 5000
#define FOLLOW_MS 1000
#define WALK_MS 50

/* Each answers in *ret_more whether there is more to do at once. */
typedef enum verdict upkeep_fn(struct link_engine *g, bool *ret_more, struct err *e);

static enum verdict sweep(struct link_engine *g, bool *ret_more, struct err *e) {
    size_t n = 0;
    enum verdict v = store_link_sweep(g->store, STEP_ROWS, &n, e);
    *ret_more = n == STEP_ROWS;
    if (v == V_OK && n) {
        log_info("tasks of links that nobody finished were freed", LI("tasks", n));
        for (size_t i = 0; i < LINK_LANES; i++)
            g->lanes[i].due = true;
    }
    return v;
}

static enum verdict rescan(struct link_engine *g, bool *ret_more, struct err *e) {
    size_t n = 0;
    enum verdict v = store_link_rescan(g->store, STEP_ROWS, &n, e);
    *ret_more = n > 0;
    return v;
}

/* Who has a key says so: then those who have none leave the summaries to it. */
static enum verdict purse(struct link_engine *g, bool *ret_more UNUSED, struct err *e) {
    if (g->o.anthropic.key.n > 0) {
        enum verdict v =
            store_link_keyed(g->store, str_of(link_lane_provider(LINK_LANE_SUMMARY)), e);
        if (v != V_OK)
            return v;
        g->unskip_key = true;
    }
    return purse_look(g, e);
}

/* Among workers without a key: is there one that has it, or was a moment ago? */
static enum verdict look_for_key(struct link_engine *g, bool *ret, struct err *e) {
    int64_t ms = DB_NULL;
    enum verdict v =
        store_link_keyed_ms(g->store, str_of(link_lane_provider(LINK_LANE_SUMMARY)), &ms, e);
    *ret = v == V_OK && ms != DB_NULL && ms < LINK_KEYED_MS;
    return v;
}

/* Summaries that cannot be made now are skipped; those that were are pending again once they can.
 */
static enum verdict skip(struct link_engine *g, bool *ret_more, struct err *e) {
    bool has_key = g->o.anthropic.key.n > 0, spent = has_key && g->purse == PURSE_SPENT;
    struct link_lane_state *l = &g->lanes[LINK_LANE_SUMMARY];
    enum verdict v = V_OK;
    size_t n = 0;
    bool other_has = false;
    if (!has_key && l->due)
        v = look_for_key(g, &other_has, e);
    if (v != V_OK || other_has)
        return v;
    if ((!has_key || spent) && l->due) {
        v = store_link_skip(g->store, LINK_SUMMARY, has_key ? LINK_WHY_BUDGET : LINK_WHY_NO_KEY,
                            STEP_ROWS, &n, e);
        if (v == V_OK && n < STEP_ROWS)
            l->due = false;
    } else if (has_key && g->unskip_key) {
        v = store_link_unskip(g->store, LINK_SUMMARY, LINK_WHY_NO_KEY, STEP_ROWS, &n, e);
        g->unskip_key = v != V_OK || n > 0;
    } else if (has_key && !spent && g->unskip_budget) {
        v = store_link_unskip(g->store, LINK_SUMMARY, LINK_WHY_BUDGET, STEP_ROWS, &n, e);
        g->unskip_budget = v != V_OK || n > 0;
    }
    *ret_more = n > 0;
    return v;
}

static enum verdict backfill(struct link_engine *g, bool *ret_more, struct err *e) {
    size_t n;
    enum verdict v = store_link_backfill(g->store, &g->backfill_after, STEP_ROWS, &n, e);
    *ret_more = v == V_OK;
    if (v != V_NOT_FOUND)
        return v;
    g->backfill_after = 0;
    return V_OK;
}

static enum verdict repair(struct link_engine *g, bool *ret_more, struct err *e) {
    size_t n = 0;
    enum verdict v = store_link_repair(g->store, STEP_ROWS, &n, e);
    *ret_more = n > 0;
    if (v == V_OK && n)
        log_info("links without their article, or claims without their link, were mended",
                 LI("rows", n));
    return v;
}

static enum verdict rekey(struct link_engine *g, bool *ret_more, struct err *e) {
    struct link_rekeyed done = {0};
    enum verdict v = store_link_rekey(g->store, STEP_ROWS, &done, e);
    *ret_more = done.looked_at > 0;
    if (v == V_OK && done.merged)
        log_info("links whose URLs have one key now became one", LI("links", done.merged));
    return v;
}

/* The archive's stories are found by their keys, too. */
static enum verdict rekey_items(struct link_engine *g, bool *ret_more, struct err *e) {
    struct item_keys keys;
    enum verdict v = store_items_rekey(g->store, &keys, e);
    if (v != V_OK)
        return v;
    *ret_more = !keys.done;
    if (*ret_more && !g->rekeying)
        log_info("keys of the archive's stories are made anew", LI("last_id", keys.last));
    else if (g->rekeying && !*ret_more)
        log_info("all keys of the archive's stories are of the present rules");
    g->rekeying = *ret_more;
    enrich_link_keys(&keys);
    return V_OK;
}

static enum verdict follow(struct link_engine *g, bool *ret_more, struct err *e) {
    struct link_followed done;
    enum verdict v = store_link_follow(g->store, g->o.stories, &done, e);
    if (v != V_OK)
        return v;
    *ret_more = done.more;
    if (done.gap)
        log_warn("changes of items are missing from the change feed: stories among them are looked "
                 "for in the archive");
    enrich_link_followed(&done);
    if (done.made)
        for (size_t i = 0; i < LINK_LANES; i++)
            g->lanes[i].due = true;
    return V_OK;
}

/* The shared state of the lanes, also when there is nothing to call for: for whoever watches. */
static enum verdict watch(struct link_engine *g, bool *ret_more UNUSED, struct err *e) {
    const struct lane_row *rows;
    size_t n;
    int refused = 0;
    enum verdict v = store_lane_list(g->store, &g->scratch, &rows, &n, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < LINK_LANES; i++)
        for (size_t k = 0; k < n; k++)
            if (str_eq(rows[k].name, g->lanes[i].turnstile.name)) {
                enrich_lane_seen(g->lanes[i].turnstile.index, &rows[k]);
                if (!refused && rows[k].state.pause == LANE_PAUSED_AUTH)
                    refused = (int)i + 1;
            }
    atomic_store(&g->refused, refused);
    return V_OK;
}

/* What is due first is done first; `every` is how long one rests when it has nothing to do, `pace`
 * when it has. */
static const struct {
    upkeep_fn *work;
    int64_t every, pace;
} chores[] = {
    {purse, PURSE_MS, 0},   {skip, SKIP_MS, 0},    {sweep, SWEEP_MS, 0},
    {watch, WATCH_MS, 0},   {rescan, SWEEP_MS, 0}, {backfill, SWEEP_MS, 0},
    {repair, REPAIR_MS, 0}, {rekey, REKEY_MS, 0},  {rekey_items, REKEY_MS, WALK_MS},
    {follow, FOLLOW_MS, 0},
};
_Static_assert(sizeof chores / sizeof chores[0] == LINK_CHORES, "one time for each");

static enum verdict count(struct link_engine *g, struct err *e) {
    struct link_counts counts;
    int64_t began = link_now(g);
    if (began < g->count_at)
        return V_OK;
    enum verdict v = store_link_count(g->store, &counts, e);
    if (v != V_OK)
        return v;
    int64_t now = link_now(g), rest = 100 * (now - began);
    g->count_at = now + (rest > COUNT_MS ? rest : COUNT_MS);
    enrich_link_counts(&counts);
    return V_OK;
}

/* What some row spoils is told, and left for the next time: the lanes go on. */
static enum verdict tolerate(enum verdict v, const struct err *e) {
    if (v != V_CONFLICT && v != V_INVALID && v != V_LIMIT && v != V_NOT_FOUND)
        return v;
    log_error("a link hinders the upkeep of links", LE(e));
    enrich_link_hindered();
    return V_OK;
}

enum verdict upkeep_work(struct link_engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < LINK_CHORES; i++) {
        int64_t now = link_now(g);
        bool more = false;
        if (now < g->upkeep_at[i])
            continue;
        fault_hit("links_before_chore");
        v = chores[i].work(g, &more, e);
        fault_hit("links_after_chore");
        bool fine = v == V_OK;
        v = tolerate(v, e);
        if (v == V_OK)
            g->upkeep_at[i] = now + (fine && more ? chores[i].pace : chores[i].every);
    }
    return v == V_OK ? count(g, e) : v;
}

int64_t upkeep_next_at(const struct link_engine *g) {
    int64_t next = g->count_at;
    for (size_t i = 0; i < LINK_CHORES; i++)
        if (g->upkeep_at[i] < next)
            next = g->upkeep_at[i];
    return next;
}
