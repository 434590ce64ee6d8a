/* Every table of routes; routes.c joins them, the first route that fits a path is taken. */
#ifndef TAIN_WEB_ROUTES_H
#define TAIN_WEB_ROUTES_H

#include "web/call.h"

extern const struct route_table health_routes;     /* health_routes.c */
extern const struct route_table cdc_routes;        /* ws_door.c */
extern const struct route_table asset_routes;      /* assets.c */
extern const struct route_table search_api_routes; /* search_api.c */
extern const struct route_table thread_routes;     /* thread_routes.c */
extern const struct route_table link_routes;       /* link_api.c */

#endif
