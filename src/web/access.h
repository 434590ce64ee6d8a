/* The access log and the figures of each request. */
#ifndef TAIN_WEB_ACCESS_H
#define TAIN_WEB_ACCESS_H

#include "web/server_int.h"

/* The request has ended, well or not. On its loop thread. */
void access_note(struct request *r, struct MHD_Connection *connection, int64_t took_us,
                 enum MHD_RequestTerminationCode why);

#endif
