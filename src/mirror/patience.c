#include "mirror/patience.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "policy/backoff.h"

#include <poll.h>

#define STOP_DB_GRACE_MS 3000 /* a database that is down does not delay a stop for longer */
#define TELL_AFTER_TRIES 3

int64_t patience_down_ms(const struct patience *p) {
    int64_t since = atomic_load(&p->down_since);
    return since ? clock_mono(p->clock) - since : 0;
}

static bool gave_up(const struct patience *p) {
    int64_t down = patience_down_ms(p);
    return down > p->max_outage_ms || (stop_raised(p->stop) && down > STOP_DB_GRACE_MS);
}

static void pause_for(const struct patience *p, int64_t ms) {
    struct pollfd stop = {.fd = p->stop->fd, .events = POLLIN};
    poll(&stop, stop_raised(p->stop) ? 0 : 1, (int)ms); /* a stop ends the pause */
}

enum verdict patience_bear(struct patience *p, struct err *e) {
    static const struct backoff pace = {.initial_ms = 50, .max_ms = 2000, .jitter_ms = 50};
    metric_add(&m_db_retries, 0, 1);
    if (!atomic_load(&p->down_since))
        atomic_store(&p->down_since, clock_mono(p->clock));
    if (++p->tries == TELL_AFTER_TRIES)
        log_warn(store_rolled_back(e) ? "the database ends our transactions; repeating them"
                                      : "the database does not answer; trying on",
                 LE(e));
    if (gave_up(p) && stop_raised(p->stop))
        return err_wrap(e, V_STOPPED, "stopped while the database was away");
    if (gave_up(p))
        return err_wrap(e, V_FATAL, "the database was away for too long");
    struct err why;
    if (store_recover(p->store, &why) == V_OK && p->tries == 1)
        return V_OK; /* a conflict or a short hiccup: again at once */
    pause_for(p, backoff_wait_ms(&pace, p->tries, &p->rng));
    if (p->waiting)
        p->waiting(p->waiting_arg, patience_down_ms(p));
    enum verdict v = store_recover(p->store, &why);
    if (v != V_OK)
        *e = why;
    return v == V_RETRY ? V_OK : v;
}

void patience_well(struct patience *p) {
    if (p->tries >= TELL_AFTER_TRIES)
        log_info("the database answers again", LI("tries", p->tries));
    p->tries = 0;
    atomic_store(&p->down_since, 0);
}
