/* Shapes and answers follow the upstream: `null` with 200 for what is not there, 301 for a path
 * that lacks its .json. Only what can never be an id is refused. */
#include "web/hn_api.h"

#include "hn/updates.h"
#include "store/read.h"
#include "web/hn_json.h"
#include "web/json_pretty.h"
#include "web/server.h"
#include "web/stream.h"

#define JSON_TYPE "application/json; charset=utf-8"
#define LIST_MAX 500 /* ids of a story list, as upstream */

/* The body as it was written, or in the layout that was asked for. */
static enum verdict finish(struct call *c, struct err *e) {
    c->type = JSON_TYPE;
    if (str_eqc(call_param(c, "print"), "pretty")) {
        struct strbuf pretty;
        strbuf_init(&pretty, c->body.max);
        json_pretty(strbuf_str(&c->body), &pretty);
        strbuf_release(&c->body);
        c->body = pretty;
    }
    if (c->body.overflow)
        return err_set(e, V_LIMIT, "api", 0, "the answer is too large");
    return V_OK;
}

static enum verdict answer_null(struct call *c, struct err *e) {
    strbuf_clear(&c->body);
    strbuf_adds(&c->body, "null");
    return finish(c, e);
}

/* V_NOT_FOUND: a number that can be no item's. */
static enum verdict read_id(const struct call *c, int64_t *ret, struct err *e) {
    if (!str_to_i64(c->rest, ret))
        return err_set(e, V_INVALID, "api", 0, "'%.*s' is not the id of an item", STR_FMT(c->rest));
    return *ret > 0 ? V_OK : V_NOT_FOUND;
}

static enum verdict answer_item(struct call *c, const struct item *it, struct err *e) {
    item_render(it, &c->body);
    return finish(c, e);
}

/* Nothing is stored: was it looked for? */
static enum verdict answer_no_item(struct call *c, int64_t id, struct err *e) {
    bool missing = true;
    enum verdict v = id > 0 ? store_read_missing(c->store, id, &missing, e) : V_OK;
    if (v != V_OK)
        return v;
    c->unknown = !missing;
    return answer_null(c, e);
}

static enum verdict get_item(struct call *c, struct err *e) {
    int64_t id;
    struct read_item it;
    enum verdict v = read_id(c, &id, e);
    if (v == V_OK)
        v = store_read_item(c->store, c->arena, id, &it, e);
    if (v == V_NOT_FOUND)
        return answer_no_item(c, id, e);
    return v == V_OK ? answer_item(c, &it.item, e) : v;
}

/* Many at once: one read for all of them. Answers come in the order of the ids asked for, without
 * those that are not there. */
static void get_items(struct call *const *calls, size_t n, struct call_result *results) {
    struct read_items found = {0};
    int64_t ids[CALL_BATCH_MAX] = {0};
    size_t asked = 0, at = 0;
    struct err e;
    for (size_t i = 0; i < n; i++) {
        results[i].v = read_id(calls[i], &ids[asked], &results[i].e);
        asked += results[i].v == V_OK;
    }
    enum verdict v = store_read_items(calls[0]->store, calls[0]->arena, ids, asked, &found, &e);
    const int64_t *id = ids;
    for (size_t i = 0; i < n; i++) {
        struct call_result *r = &results[i];
        if (r->v == V_NOT_FOUND) {
            r->v = answer_no_item(calls[i], 0, &r->e);
        } else if (r->v == V_OK) {
            if (v != V_OK)
                *r = (struct call_result){v, e};
            else if (at < found.n && found.items[at].item.id == *id)
                r->v = answer_item(calls[i], &found.items[at++].item, &r->e);
            else
                r->v = answer_no_item(calls[i], *id, &r->e);
            id++;
        }
    }
}

static enum verdict get_user(struct call *c, struct err *e) {
    struct read_user u;
    enum verdict v = c->rest.n <= PROFILE_NAME_MAX
                         ? store_read_user(c->store, c->arena, c->rest, &u, e)
                         : V_NOT_FOUND;
    c->unknown = v == V_NOT_FOUND;
    if (v == V_NOT_FOUND || (v == V_OK && u.gone))
        return answer_null(c, e);
    if (v != V_OK)
        return v;
    user_write_json(&u.user, &c->body);
    return finish(c, e);
}

static enum verdict get_maxitem(struct call *c, struct err *e) {
    int64_t maxitem;
    enum verdict v = store_read_maxitem(c->store, &maxitem, e);
    if (v != V_OK)
        return v;
    strbuf_addf(&c->body, "%lld", (long long)maxitem);
    return finish(c, e);
}

static enum verdict get_updates(struct call *c, struct err *e) {
    struct recent recent;
    int64_t mark;
    enum verdict v = store_read_recent(c->store, c->arena, HN_UPDATES_ITEMS, HN_UPDATES_NAMES,
                                       &recent, &mark, e);
    if (v != V_OK)
        return v;
    hn_add_updates(&c->body, &recent);
    return finish(c, e);
}

/* `limitToFirst`, which many clients add for a short list, is honoured. */
static enum verdict get_list(struct call *c, const char *name, struct err *e) {
    const int64_t *ids;
    size_t n;
    int64_t seen_at, limit;
    enum verdict v = call_param_int(c, "limitToFirst", 1, INT32_MAX, LIST_MAX, &limit, e);
    if (v == V_OK)
        v = store_read_list(c->store, c->arena, name, &ids, &n, &seen_at, e);
    if (v != V_OK)
        return v;
    hn_add_ids(&c->body, ids, n < (size_t)limit ? n : (size_t)limit);
    return finish(c, e);
}

static enum verdict get_top(struct call *c, struct err *e) {
    return get_list(c, "top", e);
}
static enum verdict get_new(struct call *c, struct err *e) {
    return get_list(c, "new", e);
}
static enum verdict get_best(struct call *c, struct err *e) {
    return get_list(c, "best", e);
}
static enum verdict get_ask(struct call *c, struct err *e) {
    return get_list(c, "ask", e);
}
static enum verdict get_show(struct call *c, struct err *e) {
    return get_list(c, "show", e);
}
static enum verdict get_job(struct call *c, struct err *e) {
    return get_list(c, "job", e);
}

static void add_path(struct strbuf *out, struct str path) {
    for (size_t at = 0, end; at < path.n; at = end + 1) {
        for (end = at; end < path.n && path.p[end] != '/'; end++) {
        }
        strbuf_add_urlencoded(out, (struct str){path.p + at, end - at});
        if (end < path.n)
            strbuf_addc(out, '/');
    }
}

static enum verdict add_json(struct call *c, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf to;
    strbuf_init(&to, 4 * CALL_PATH_MAX + 4 * CALL_QUERY_MAX);
    add_path(&to, c->path);
    strbuf_adds(&to, ".json");
    for (size_t i = 0; i < c->n_params; i++) {
        strbuf_addc(&to, i ? '&' : '?');
        strbuf_add_urlencoded(&to, c->params[i].name);
        strbuf_addc(&to, '=');
        strbuf_add_urlencoded(&to, c->params[i].value);
    }
    c->status = 301;
    c->location = arena_str(c->arena, strbuf_str(&to));
    return answer_null(c, e);
}

static ssize_t read_stream(void *client, char *buf, size_t max) {
    return stream_read(client, buf, max);
}

static void close_stream(void *client) {
    stream_leave(client);
}

static enum verdict open_stream(struct call *c, enum stream_topic topic, struct err *e) {
    struct stream_client *client =
        web_has_room(c->web) ? stream_join(web_streams(c->web), topic, c) : NULL;
    if (!client) {
        c->status = 503;
        strbuf_adds(&c->body, "{\"message\":\"too many event streams are open\"}");
        return finish(c, e);
    }
    c->type = "text/event-stream; charset=utf-8";
    c->stream = (struct call_stream){read_stream, close_stream, client};
    return V_OK;
}

static enum verdict stream_updates(struct call *c, struct err *e) {
    return open_stream(c, TOPIC_UPDATES, e);
}
static enum verdict stream_maxitem(struct call *c, struct err *e) {
    return open_stream(c, TOPIC_MAXITEM, e);
}

#define API(path, function, how) \
    { path, function, how, DIALECT_API, .batch = NULL }

static const struct route routes[] = {
    {"/v0/item/*.json", get_item, ROUTE_QUICK, DIALECT_API, .batch = get_items},
    API("/v0/user/*.json", get_user, ROUTE_QUICK),
    {"/v0/maxitem.json", get_maxitem, ROUTE_QUICK, DIALECT_API, .stream = stream_maxitem},
    {"/v0/updates.json", get_updates, ROUTE_QUERY, DIALECT_API, .stream = stream_updates},
    {"/v0/maxitem", add_json, ROUTE_STATIC, DIALECT_API, .stream = stream_maxitem},
    {"/v0/updates", add_json, ROUTE_STATIC, DIALECT_API, .stream = stream_updates},
    API("/v0/topstories.json", get_top, ROUTE_QUERY),
    API("/v0/newstories.json", get_new, ROUTE_QUERY),
    API("/v0/beststories.json", get_best, ROUTE_QUERY),
    API("/v0/askstories.json", get_ask, ROUTE_QUERY),
    API("/v0/showstories.json", get_show, ROUTE_QUERY),
    API("/v0/jobstories.json", get_job, ROUTE_QUERY),
    API("/v0/item/*", add_json, ROUTE_STATIC),
    API("/v0/user/*", add_json, ROUTE_STATIC),
    API("/v0/topstories", add_json, ROUTE_STATIC),
    API("/v0/newstories", add_json, ROUTE_STATIC),
    API("/v0/beststories", add_json, ROUTE_STATIC),
    API("/v0/askstories", add_json, ROUTE_STATIC),
    API("/v0/showstories", add_json, ROUTE_STATIC),
    API("/v0/jobstories", add_json, ROUTE_STATIC),
};

const struct route_table hn_api_routes = {routes, ARRAY_LEN(routes), AREA_HN_API};
