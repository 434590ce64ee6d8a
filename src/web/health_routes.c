/* What watches a process, on the port of the pages too. */
#include "web/process_metrics.h"
#include "web/routes.h"
#include "web/server.h"
#include "web/web_metrics.h"

#include <microhttpd.h>

static const char plain[] = "text/plain; charset=utf-8";

static enum verdict metrics(struct call *c, struct err *e UNUSED) {
    const struct web_options *o = web_options(c->web);
    c->type = "text/plain; version=0.0.4; charset=utf-8";
    c->cache = "no-store";
    process_metrics_render(&c->body);
    metrics_render(o->families, o->n_families, &c->body);
    return V_OK;
}

static enum verdict vitals(struct call *c,
                           bool (*ask)(const struct vitals *v, bool json, struct strbuf *out)) {
    struct str format = call_param(c, "format");
    bool json = format.p ? str_eqc(format, "json") : call_accepts(c, "application/json");
    c->type = json ? "application/json" : plain;
    c->cache = "no-store";
    const struct vitals *v = web_options(c->web)->vitals;
    if (v && !ask(v, json, &c->body))
        c->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    return V_OK;
}

static enum verdict healthz(struct call *c, struct err *e UNUSED) {
    return vitals(c, vitals_alive);
}

static enum verdict readyz(struct call *c, struct err *e UNUSED) {
    return vitals(c, vitals_ready);
}

static const struct route routes[] = {
    {"/metrics", metrics, ROUTE_STATIC, DIALECT_PAGE, NULL},
    {"/healthz", healthz, ROUTE_STATIC, DIALECT_PAGE, NULL},
    {"/readyz", readyz, ROUTE_STATIC, DIALECT_PAGE, NULL},
};
const struct route_table health_routes = {routes, ARRAY_LEN(routes), AREA_HEALTH};
