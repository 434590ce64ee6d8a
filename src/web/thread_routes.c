/* /api/v1/items/ID, /api/stories/ID/tree and /api/discussions: whole threads, and who discussed
 * what. Answers are written straight into the body and not flushed, so that each has its entity
 * tag. */
#include "hn/url_key.h"
#include "web/routes.h"
#include "web/search_api_items.h"
#include "web/thread_api.h"

#define THREAD_MAX 100000    /* nodes of one answer */
#define DISCUSSIONS_MAX 1000 /* of one article */
#define JSON_TYPE "application/json; charset=utf-8"

static enum verdict finish(struct call *c, struct err *e) {
    c->type = JSON_TYPE;
    if (c->body.overflow)
        return err_set(e, V_LIMIT, "http", 0, "the answer is larger than this server gives");
    return V_OK;
}

/* The item of the path, and all that is below it. */
static enum verdict read_tree(struct call *c, struct search_api_tree *t, struct err *e) {
    int64_t id;
    *t = (struct search_api_tree){0};
    if (!str_to_i64(c->rest, &id) || id <= 0)
        return err_set(e, V_INVALID, "http", 0, "'%.*s' is not the id of an item",
                       (int)(c->rest.n < 40 ? c->rest.n : 40), c->rest.p);
    enum verdict v = store_read_item(c->store, c->arena, id, &t->root, e);
    if (v == V_NOT_FOUND)
        return err_set(e, v, "http", 0, "item %lld is not in this archive", (long long)id);
    if (v == V_OK)
        v = store_read_thread(c->store, c->arena, id, THREAD_MAX, &t->below, e);
    size_t parts = t->root.item.n_parts;
    if (v == V_OK && parts)
        v = store_read_items(c->store, c->arena, t->root.item.parts,
                             parts < READ_IDS_MAX ? parts : READ_IDS_MAX, &t->options, e);
    return v;
}

static enum verdict item(struct call *c, struct err *e) {
    struct search_api_tree t;
    enum verdict v = read_tree(c, &t, e);
    if (v != V_OK)
        return v;
    search_api_tree(&c->body, c->arena, &t);
    return finish(c, e);
}

static enum verdict tree(struct call *c, struct err *e) {
    struct search_api_tree t;
    enum verdict v = read_tree(c, &t, e);
    if (v != V_OK)
        return v;
    thread_api_tree(&c->body, c->arena, &t.root, &t.below);
    return finish(c, e);
}

static enum verdict discussions(struct call *c, struct err *e) {
    struct str key, domain, url = call_param(c, "url");
    struct read_items found;
    if (!url.n)
        return err_set(e, V_INVALID, "http", 0, "url: give the address of an article");
    if (!url_key(c->arena, url, &key, &domain))
        return err_set(e, V_INVALID, "http", 0, "url: not an http or https address with a host");
    enum verdict v = store_read_discussions(c->store, c->arena, key, DISCUSSIONS_MAX, &found, e);
    if (v != V_OK)
        return v;
    thread_api_discussions(&c->body, url, key, &found);
    return finish(c, e);
}

static const struct route routes[] = {
    {"/api/v1/items/*", item, ROUTE_QUERY, DIALECT_API, NULL},
    {"/api/stories/*/tree", tree, ROUTE_QUERY, DIALECT_API, NULL},
    {"/api/discussions", discussions, ROUTE_QUERY, DIALECT_API, NULL},
};
const struct route_table thread_routes = {routes, ARRAY_LEN(routes), AREA_SEARCH_API};
