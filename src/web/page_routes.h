/* The tables of routes of the pages, for the server to join. Static, read-only. */
#ifndef TAIN_WEB_PAGE_ROUTES_H
#define TAIN_WEB_PAGE_ROUTES_H

#include "web/call.h"

extern const struct route_table page_list_routes;   /* "/", "/newest", ..., "/discussions" */
extern const struct route_table page_item_routes;   /* "/item", "/item/revisions" */
extern const struct route_table page_user_routes;   /* "/user" */
extern const struct route_table page_search_routes; /* "/search" */
extern const struct route_table page_status_routes; /* "/status" */
extern const struct route_table page_add_routes;    /* "/add" */
extern const struct route_table page_link_routes;   /* "/link/ID" */
extern const struct route_table page_links_routes;  /* "/links" */

#endif
