#include "enrich/outage.h"

#include "base/log.h"

#define AGAIN_MS 500

enum verdict outage_bear(struct outage *o, struct store *s, enum verdict v, struct err *e) {
    if (v != V_RETRY)
        return v;
    if (store_rolled_back(e)) {
        log_warn("the database ended a transaction; it is repeated", LE(e));
        v = store_recover(s, e);
        if (v != V_RETRY)
            return v;
    }
    int64_t now = clock_mono(o->clock);
    if (!atomic_load(&o->since)) {
        atomic_store(&o->since, now ? now : 1);
        log_warn("the database does not answer; waiting for it", LE(e));
    }
    o->again_at = now + AGAIN_MS;
    return V_OK;
}

enum verdict outage_look(struct outage *o, struct store *s, bool *ret_there, struct err *e) {
    int64_t since = atomic_load(&o->since), now = clock_mono(o->clock);
    *ret_there = since == 0;
    if (*ret_there || now < o->again_at)
        return V_OK;
    enum verdict v = store_recover(s, e);
    if (v != V_OK)
        return outage_bear(o, s, v, e);
    log_info("the database answers again", LI("after_ms", now - since));
    atomic_store(&o->since, 0);
    o->back_at = now ? now : 1;
    *ret_there = true;
    return V_OK;
}

int64_t outage_ms(const struct outage *o) {
    int64_t since = atomic_load(&o->since);
    return since ? clock_mono(o->clock) - since : 0;
}
