#include "base/log.h"
#include "mirror/metrics.h"
#include "mirror/updater_int.h"
#include "store/live.h"

#include <poll.h>

#define STANDBY_LOOK_MS 1000

static void show_role(const struct updater *u, enum updater_role role) {
    metric_set(&m_role, UPDATER_STANDBY, role == UPDATER_STANDBY);
    metric_set(&m_role, UPDATER_ACTIVE, role == UPDATER_ACTIVE);
    const struct updater_view view = {.role = role,
                                      .workers = u->o->realtime_workers,
                                      .db_down_ms = patience_down_ms(&u->patience),
                                      .stopping = stop_raised(u->o->stop)};
    if (role == UPDATER_STANDBY && u->o->tick)
        u->o->tick(u->o->tick_arg, &view);
}

static enum verdict try_once(struct updater *u, struct err *e) {
    char holder[200];
    int64_t token;
    process_identity(holder, sizeof holder);
    enum verdict v = store_updater_acquire(u->o->store, holder, u->o->updater_lease_ms, &token, e);
    if (v == V_OK)
        atomic_store(&u->token, token);
    return v;
}

enum verdict updater_wait_for_lease(struct updater *u, struct err *e) {
    bool told = false;
    for (;;) {
        enum verdict v = try_once(u, e);
        if (v == V_RETRY)
            v = patience_bear(&u->patience, e);
        else
            patience_well(&u->patience);
        if (v == V_OK && atomic_load(&u->token)) {
            log_info("this updater is active");
            show_role(u, UPDATER_ACTIVE);
            return V_OK;
        }
        if (v != V_OK && v != V_CONFLICT)
            return v;
        if (v == V_CONFLICT && !told)
            log_info("another updater is active; standing by", LE(e));
        told = told || v == V_CONFLICT;
        show_role(u, UPDATER_STANDBY);
        struct pollfd stop = {.fd = u->o->stop->fd, .events = POLLIN};
        if (v == V_CONFLICT)
            poll(&stop, 1, STANDBY_LOOK_MS);
        if (stop_raised(u->o->stop))
            return err_set(e, V_STOPPED, "updater", 0, "stopped while standing by");
    }
}

void updater_release_lease(struct updater *u) {
    struct err e;
    if (store_updater_release(u->o->store, atomic_load(&u->token), &e) != V_OK)
        log_warn("the updater's lease could not be given back; it runs out by itself", LE(&e));
}
