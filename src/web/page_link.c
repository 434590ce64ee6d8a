/* "/link/ID": what is known of one link, and how far its tasks are. With script the page asks every
 * two seconds how they stand and takes what is new from the same page; without it the page comes
 * again by itself. Once it is known which article a discussion is about, it is the article's page
 * that is shown. */
#include "web/link_gate.h"
#include "web/link_parts.h"
#include "web/page.h"
#include "web/page_routes.h"

#include <stdio.h>

#define AGAIN_S 2

static enum verdict no_link(struct call *c, struct err *e) {
    c->status = 404;
    c->cache = "no-store";
    page_open(c, &(struct page_head){.title = STR("No such link"), .no_index = true});
    strbuf_adds(&c->body, "<section class=\"oops\"><p class=\"code\">404</p><h1>No such link</h1>"
                          "<p><a href=\"/links\">All links</a> <a href=\"/add\">Add one</a></p>"
                          "</section>\n");
    return page_close(c, e);
}

static enum verdict move_to(struct call *c, int status, int64_t id) {
    char path[32];
    int n = snprintf(path, sizeof path, "/link/%lld", (long long)id);
    c->status = status;
    c->cache = "no-store";
    c->location = arena_str(c->arena, (struct str){path, (size_t)n});
    strbuf_addf(&c->body, "<a href=\"%s\">%s</a>\n", path, path);
    return V_OK;
}

static bool id_of(const struct call *c, int64_t *ret) {
    return str_to_i64(c->rest, ret) && *ret > 0;
}

static void show(struct call *c, const struct link_view *v) {
    page_open(c, &(struct page_head){.title = link_name(&v->link),
                                     .script = "links.js",
                                     .again_s = link_is_pending(v) ? AGAIN_S : 0});
    link_article(&c->body, v);
}

static enum verdict page_link(struct call *c, struct err *e) {
    struct link_view v = {0};
    int64_t id;
    if (!id_of(c, &id))
        return no_link(c, e);
    enum verdict verdict = store_link_get(c->store, c->arena, id, &v.link, e);
    if (verdict == V_NOT_FOUND)
        return no_link(c, e);
    if (verdict == V_OK && v.link.id != id)
        return move_to(c, 302, v.link.id);
    if (verdict == V_OK)
        verdict = link_view_read(c, true, &v, e);
    if (verdict != V_OK)
        return verdict;
    if (v.has_tasks && v.tasks.target_id && v.tasks.target_id != id)
        return move_to(c, 302, v.tasks.target_id);
    show(c, &v);
    return page_close(c, e);
}

/* The script of an open page says so: that a page was fetched says nothing of who reads it. */
static enum verdict wait_for(struct call *c, struct err *e) {
    int64_t id;
    if (!id_of(c, &id))
        return no_link(c, e);
    int status = link_gate_pass(c, e);
    if (status) {
        c->status = status;
        page_error(&c->body, status, "Not now", str_of(e->msg));
        return V_OK;
    }
    c->status = 204;
    c->type = NULL;
    c->cache = "no-store";
    return store_link_wait(c->store, id, e);
}

static const struct route routes[] = {
    {"/link/*", page_link, ROUTE_QUERY, DIALECT_PAGE},
    {"/link/*/wait", NULL, ROUTE_QUERY, DIALECT_PAGE, .post = wait_for},
};

const struct route_table page_link_routes = {routes, ARRAY_LEN(routes)};
