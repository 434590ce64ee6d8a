/* What `tain status` says of the updater: who is active, when it last heard of the upstream, how
 * old items are when they change, and the rescan window that follows from it. Main thread. */
#ifndef TAIN_CLI_STATUS_UPDATER_H
#define TAIN_CLI_STATUS_UPDATER_H

#include "policy/ages.h"
#include "store/live.h"

struct updater_status {
    struct updater_row row;
    struct ages ages;
    int64_t failed, rechecks; /* of the live stream */
};

MUST_CHECK enum verdict updater_status_read(struct store *s, struct updater_status *ret,
                                            struct err *e);
/* `now` is the database's. */
void updater_status_text(const struct updater_status *u, int64_t now);
/* "updater":{...} without a comma around it. */
void updater_status_json(const struct updater_status *u);

#endif
