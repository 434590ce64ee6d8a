#include "mirror/recent.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "policy/id_clock.h"
#include "store/live.h"

#define DAY_S 86400.0

static enum verdict sample(void *ctx, int64_t id, int64_t *ret_times, size_t max, size_t *ret_n,
                           int64_t *ret_last_id, struct err *e) {
    return store_item_times(ctx, id, ret_times, max, ret_n, ret_last_id, e);
}

static void tell(struct recent *r, int64_t age_s) {
    bool here = (double)age_s >= r->days * DAY_S || r->from <= r->floor;
    if (!here)
        r->short_of = true;
    if (!here || r->told || r->days <= 0)
        return;
    r->told = true;
    if (r->short_of)
        log_info("the newest days are here; history follows", LI("from_id", r->from),
                 LI("hours", age_s / 3600));
}

enum verdict recent_look(struct recent *r, struct store *s, int64_t from, int64_t now_db,
                         struct err *e) {
    int64_t given_out;
    if (from == 0 || from == r->from)
        return V_OK;
    enum verdict v = id_clock_at(from, sample, s, &given_out, e);
    if (v != V_OK)
        return v;
    r->from = from;
    metric_set(&m_recent_from, 0, from);
    if (given_out == ID_CLOCK_UNKNOWN) {
        r->short_of = true;
        return V_OK;
    }
    int64_t age_s = now_db / 1000 - given_out;
    metric_set(&m_recent_age, 0, age_s > 0 ? age_s : 0);
    tell(r, age_s);
    return V_OK;
}
