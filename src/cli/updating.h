/* What `tain updater` and `tain up` share: the updater's options from the settings, and what is
 * said while it runs. Main thread only. */
#ifndef TAIN_CLI_UPDATING_H
#define TAIN_CLI_UPDATING_H

#include "cli/monitor.h"
#include "cli/notify.h"
#include "cli/settings.h"
#include "mirror/updater.h"

/* A busy database is waited for at a stop: named ids are to be written down. */
#define UPDATING_STOP_SECONDS 45

/* What was logged last, so that only changes are. */
struct updating {
    const char *illness;
    bool db_down, connected;
    struct notify *notify;
    struct monitor *monitor;
};

/* A tick of the updater: logs what has changed, tells systemd and the monitor. `arg` is a struct
 * updating. */
void updating_tick(void *arg, const struct updater_view *v);

/* `store` and `stop` outlive it; the tick is updating_tick() with `u`. */
struct updater_options updating_options(const struct settings *s, struct store *store,
                                        struct stop_token *stop, struct updating *u);

#endif
