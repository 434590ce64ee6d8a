/* The HN API under /v0, answered from the archive: items, profiles, lists, maxitem and updates in
 * the upstream's shapes. Its event streams are opened by the server, which knows the connection. */
#ifndef TAIN_WEB_HN_API_H
#define TAIN_WEB_HN_API_H

#include "web/call.h"

extern const struct route_table hn_api_routes;

#endif
