#include "web/assets.h"

#include "web/routes.h"

#include <stdlib.h>
#include <string.h>

const struct asset *asset_find(const char *name, size_t n) {
    for (size_t i = 0; i < assets_n; i++)
        if (strlen(assets_all[i].name) == n && memcmp(assets_all[i].name, name, n) == 0)
            return &assets_all[i];
    return NULL;
}

const char *asset_url(const char *name) {
    const struct asset *a = asset_find(name, strlen(name));
    if (!a)
        abort(); /* a page names a file that is not on board */
    return a->url;
}

static enum verdict send_asset(struct call *c, struct str name, struct err *e) {
    const struct asset *a = asset_find(name.p, name.n);
    if (!a)
        return err_set(e, V_NOT_FOUND, "http", 0, "There is no such file.");
    c->type = a->type;
    if (str_eqc(call_param(c, "v"), a->hash))
        c->cache = "public, max-age=31536000, immutable";
    strbuf_add(&c->body, a->bytes, a->n);
    return V_OK;
}

static enum verdict asset(struct call *c, struct err *e) {
    return send_asset(c, c->rest, e);
}

static enum verdict robots(struct call *c, struct err *e) {
    return send_asset(c, STR("robots.txt"), e);
}

static const struct route routes[] = {
    {"/assets/*", asset, ROUTE_STATIC, DIALECT_PAGE, NULL},
    {"/robots.txt", robots, ROUTE_STATIC, DIALECT_PAGE, NULL},
};
const struct route_table asset_routes = {routes, ARRAY_LEN(routes), AREA_ASSETS};
