#include "web/access.h"

#include "base/log.h"
#include "web/web_metrics.h"

#include <stdio.h>
#include <string.h>

/* Of parameters only the names: a query may hold a key, and says what someone looked for. */
static void write_line(struct request *r, struct MHD_Connection *connection, int64_t took_us,
                       bool cut) {
    char client[64], path[CALL_PATH_MAX + 1];
    const struct sockaddr *a =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    address_print(a, client, sizeof client);
    struct str p = r->call.path.p ? r->call.path : STR("-");
    snprintf(path, sizeof path, "%.*s", STR_FMT(p));
    const struct log_field fields[] = {
        LS("method", r->head                 ? "HEAD"
                     : r->call.post          ? "POST"
                     : r->call.status == 405 ? "other"
                                             : "GET"),
        LS("path", path),
        LI("status", r->call.status),
        LI("bytes", r->body_bytes),
        LI("ms", took_us / 1000),
        LS("client", client),
        LS("end", "cut"),
    };
    log_write_always(LOG_INFO, "request", fields, ARRAY_LEN(fields) - (cut ? 0 : 1));
}

void access_note(struct request *r, struct MHD_Connection *connection, int64_t took_us,
                 enum MHD_RequestTerminationCode why) {
    bool cut = why != MHD_REQUEST_TERMINATED_COMPLETED_OK || r->state != REQUEST_SENT;
    web_metrics_note(r->area, r->call.status, r->streaming ? -1 : took_us);
    enum access_log mode = r->loop->web->o.access_log;
    if (mode == ACCESS_ALL || (mode == ACCESS_ERRORS && r->call.status >= 400))
        write_line(r, connection, took_us, cut);
}
