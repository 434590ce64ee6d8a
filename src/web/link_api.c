/* Links for programs: the state of their tasks, whether there is one for a URL, trying again, and
 * adding by bots. Everything is answered from the database; what a provider has to be asked for is
 * the workers' affair. */
#include "hn/url_key.h"
#include "web/json_fields.h"
#include "web/link_body.h"
#include "web/link_gate.h"
#include "web/link_json.h"
#include "web/link_pages.h"
#include "web/routes.h"
#include "web/server.h"

#define JSON_TYPE "application/json; charset=utf-8"

static enum verdict refuse(struct call *c, int status, const char *message) {
    c->status = status;
    c->cache = "no-store";
    c->type = JSON_TYPE;
    strbuf_clear(&c->body);
    json_str(&c->body, "{\"message\":", str_of(message));
    strbuf_addc(&c->body, '}');
    return V_OK;
}

static enum verdict id_of(const struct call *c, int64_t *ret, struct err *e) {
    if (str_to_i64(c->rest, ret) && *ret > 0)
        return V_OK;
    return err_set(e, V_INVALID, "http", 0, "'%.*s' is not the id of a link",
                   (int)(c->rest.n < 40 ? c->rest.n : 40), c->rest.p);
}

static enum verdict processing(struct call *c, struct err *e) {
    struct link_processing p;
    int64_t id;
    enum verdict v = id_of(c, &id, e);
    if (v == V_OK)
        v = store_link_processing(c->store, c->arena, id, &p, e);
    if (v != V_OK && v != V_NOT_FOUND && v != V_INVALID)
        return v;
    c->type = JSON_TYPE;
    if (v == V_OK)
        link_json_processing(&c->body, &p);
    else
        strbuf_adds(&c->body, "{\"status\":\"not_found\"}");
    return V_OK;
}

static enum verdict know(struct call *c, struct link_known *k, struct link *link,
                         struct link_processing *p, struct err *e) {
    enum verdict v = store_link_find(c->store, c->arena, k->key, link, e);
    if (v != V_OK)
        return v == V_NOT_FOUND ? V_OK : v;
    k->link = link;
    v = store_link_discussions(c->store, c->arena, link->id, &k->discussions, &k->n_discussions, e);
    if (v != V_OK)
        return v;
    v = store_link_processing(c->store, c->arena, link->id, p, e);
    k->processing = v == V_OK ? p : NULL;
    return v == V_NOT_FOUND ? V_OK : v;
}

static enum verdict check(struct call *c, struct err *e) {
    struct link link;
    struct link_processing p;
    struct link_known k = {.url = call_param(c, "url")};
    struct str domain;
    if (!k.url.n)
        return err_set(e, V_INVALID, "http", 0, "url: give the address of a page");
    if (k.url.n > LINK_URL_MAX)
        return err_set(e, V_INVALID, "http", 0, "url: it has %zu bytes; %d are the most", k.url.n,
                       LINK_URL_MAX);
    if (!url_key(c->arena, k.url, &k.key, &domain))
        return err_set(e, V_INVALID, "http", 0, "url: not an http or https address with a host");
    enum verdict v = know(c, &k, &link, &p, e);
    if (v != V_OK)
        return v;
    c->type = JSON_TYPE;
    link_json_known(&c->body, &k);
    return V_OK;
}

/* A button of a page without script wants to see the page again; a program wants to know. */
static enum verdict retry(struct call *c, struct err *e) {
    size_t n;
    int64_t id;
    int status = link_gate_pass(c, e);
    if (status)
        return refuse(c, status, e->msg);
    enum verdict v = id_of(c, &id, e);
    if (v == V_OK)
        v = store_link_retry(c->store, id, &n, e);
    if (v != V_OK)
        return v;
    web_wrote(c->web);
    if (call_accepts(c, "text/html")) {
        link_redirect(c, id);
        return V_OK;
    }
    c->type = JSON_TYPE;
    c->cache = "no-store";
    json_num(&c->body, "{\"id\":", id);
    json_num(&c->body, ",\"retried\":", (int64_t)n);
    strbuf_addc(&c->body, '}');
    return V_OK;
}

static enum verdict add(struct call *c, struct err *e) {
    struct link_add add;
    struct link_added added;
    int status = link_gate_token(c, e);
    if (status)
        return refuse(c, status, e->msg);
    if (!c->json)
        return refuse(c, 415, "Content-Type: application/json");
    enum verdict v = link_body_read(c->arena, c->upload, &add, e);
    if (v == V_OK)
        v = store_link_add(c->store, &add, &added, e);
    if (v != V_OK)
        return v;
    web_wrote(c->web);
    link_redirect(c, added.id);
    c->status = added.created ? 201 : 200;
    c->type = JSON_TYPE;
    json_num(&c->body, "{\"id\":", added.id);
    strbuf_adds(&c->body, added.created ? ",\"created\":true" : ",\"created\":false");
    json_str(&c->body, ",\"page\":", c->location);
    strbuf_addc(&c->body, '}');
    return V_OK;
}

static const struct route routes[] = {
    {"/api/link/*/processing", processing, ROUTE_QUERY, DIALECT_API},
    {"/api/link/*/retry", NULL, ROUTE_QUERY, DIALECT_API, .post = retry},
    {"/api/links", NULL, ROUTE_QUERY, DIALECT_API, .post = add},
    {"/api/check", check, ROUTE_QUERY, DIALECT_API},
};
const struct route_table link_routes = {routes, ARRAY_LEN(routes), AREA_LINKS};
