/* "/status": how the mirror is. With script the figures are asked for again every two seconds
 * ("/status/figures" is the same without the page around it); without it a reload does. */
#include "feed/hub.h"
#include "web/page.h"
#include "web/page_routes.h"
#include "web/server.h"
#include "web/status.h"

static enum verdict figures(struct call *c, struct err *e) {
    struct status *s = arena_alloc(c->arena, sizeof *s);
    const struct web_options *o = web_options(c->web);
    enum verdict v = status_read(c->store, s, e);
    if (v == V_OK)
        v = store_lane_list(c->store, c->arena, &s->lanes, &s->n_lanes, e);
    if (v != V_OK)
        return v;
    status_of_process(s, o->families, o->n_families);
    if (web_feed(c->web)) {
        struct feed_counts counts;
        feed_hub_count(web_feed(c->web), &counts);
        s->feed_clients = (int64_t)counts.clients;
    }
    status_render(&c->body, s);
    return V_OK;
}

static enum verdict page_figures(struct call *c, struct err *e) {
    c->cache = "no-store";
    return figures(c, e);
}

static enum verdict page_status(struct call *c, struct err *e) {
    page_open(c, &(struct page_head){.title = STR("Status"), .here = "/status", .no_index = true});
    strbuf_adds(&c->body, "<div class=\"headline\"><h1>Status</h1></div>\n"
                          "<div id=\"figures\" data-live=\"/status/figures\">\n");
    enum verdict v = figures(c, e);
    strbuf_adds(&c->body, "</div>\n");
    return v == V_OK ? page_close(c, e) : v;
}

static const struct route routes[] = {
    {"/status", page_status, ROUTE_QUERY, DIALECT_PAGE},
    {"/status/figures", page_figures, ROUTE_QUERY, DIALECT_PAGE},
};

const struct route_table page_status_routes = {routes, ARRAY_LEN(routes)};
