#include "web/routes.h"

#include "web/events.h"
#include "web/hn_api.h"
#include "web/page_routes.h"
#include "web/server_int.h"

#include <string.h>

/* Where one more table is added. */
static const struct route_table *const tables[] = {
    &hn_api_routes,                           /* /v0/... */
    &cdc_routes,                              /* /cdc */
    &health_routes,                           /* /metrics, /healthz, /readyz */
    &asset_routes,                            /* /assets/... */
    &page_list_routes,                        /* /, /newest, ... */
    &page_item_routes,                        /* /item */
    &page_user_routes,                        /* /user */
    &page_search_routes, &page_status_routes, /* /search */
    &page_add_routes,                         /* /add */
    &page_link_routes,                        /* /link/ID */
    &page_links_routes,                       /* /links */
    &search_api_routes,                       /* /api/v1/search, ..., /api/v1/users/NAME */
    &events_routes,                           /* /events */
    &thread_routes, /* /api/v1/items/ID, /api/stories/ID/tree, /api/discussions */
    &link_routes,   /* /api/link/ID/processing, /api/link/ID/retry, /api/links, /api/check */
};

/* Does the path fit, and what does the star stand for? */
static bool fits(const char *pattern, struct str path, struct str *ret_rest) {
    size_t n = strlen(pattern);
    const char *star = memchr(pattern, '*', n);
    if (!star) {
        *ret_rest = STR_NONE;
        return path.n == n && memcmp(path.p, pattern, n) == 0;
    }
    size_t before = (size_t)(star - pattern), after = n - before - 1;
    if (path.n <= before + after || memcmp(path.p, pattern, before) != 0 ||
        memcmp(path.p + path.n - after, star + 1, after) != 0)
        return false;
    *ret_rest = (struct str){path.p + before, path.n - before - after};
    return memchr(ret_rest->p, '/', ret_rest->n) == NULL;
}

static const struct route *find_in(const struct route_table *const *all, size_t n, struct str path,
                                   struct str *ret_rest, int *ret_area) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i]->n; k++)
            if (fits(all[i]->routes[k].pattern, path, ret_rest)) {
                *ret_area = (int)all[i]->area;
                return &all[i]->routes[k];
            }
    *ret_area = AREA_N;
    return NULL;
}

const struct route *route_find(const struct web *w, struct str path, struct str *ret_rest,
                               int *ret_area) {
    const struct route *r = find_in(w->o.tables, w->o.n_tables, path, ret_rest, ret_area);
    return r ? r : find_in(tables, ARRAY_LEN(tables), path, ret_rest, ret_area);
}

const char *route_methods(const struct route *r) {
    return !r || !r->post ? "GET, HEAD" : r->fn ? "GET, HEAD, POST" : "POST";
}

bool path_is_api(struct str path) {
    return str_starts(path, "/v0/") || str_starts(path, "/api/") || str_eqc(path, "/cdc");
}
